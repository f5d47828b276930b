"""The sample URLs under each shipped policy, side by side."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from spaniel.errors import SpanielError, shown
from spaniel.url.policy import canonicalize, load, shipped

SAMPLES = Path(__file__).parent / "sample_urls.txt"


def show_policies() -> None:
    """One row for each form that a URL takes, and the policies that agree on it."""
    console = Console()
    for name in shipped():
        console.print(f"  [bold]{name:8}[/bold] {load(name).description}")
    table = Table(
        "as written", "policies", "canonical", title="When are two URLs the same page? Four answers", expand=True
    )
    for raw in SAMPLES.read_text(encoding="utf-8").splitlines():
        forms: dict[str, list[str]] = {}
        for name in shipped():
            forms.setdefault(_form(raw, name), []).append(name)
        written = shown(raw)
        for form, names in forms.items():
            style = "red" if form.startswith("refused") else "green"
            table.add_row(Text(written, overflow="fold"), ", ".join(names), Text(form, style, overflow="fold"))
            written = ""
        table.add_section()
    console.print(table)
    console.print("To see each step: [bold]spaniel canon --policy clara --explain URL[/bold]")


def _form(raw: str, policy: str) -> str:
    try:
        return canonicalize(raw, policy).url
    except SpanielError as error:
        return f"refused: {error.code}"
