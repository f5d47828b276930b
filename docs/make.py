"""Writes the pages of this folder that are made from the code. A test fails when one of them has drifted."""

from __future__ import annotations

from pathlib import Path

from spaniel.errors import TABLE

HERE = Path(__file__).resolve().parent


def errors_page() -> str:
    """Every code of the registry with all that a caller may rely on."""
    lines = [
        "# Errors",
        "",
        "<!-- Made from src/spaniel/errors.py by `make docs`. -->",
        "",
        "Every failure is one of these codes: in the exception, in the JSON of every surface, in the logs. `exit`",
        "is the exit code of the command line (2 wrong input, 3 forbidden by policy, 4 not reached, 5 declined by the",
        "server, 6 content that cannot be used, 7 something local, 70 a bug), `HTTP` the status of Spaniel's own API.",
        "",
        "| code | meaning | retryable | exit | HTTP | details | what to do |",
        "|---|---|---|---|---|---|---|",
    ]
    for code, row in TABLE.items():
        details = ", ".join(f"`{name}`" for name in row.details)
        retry = "yes" if row.retryable else "no"
        lines.append(f"| `{code}` | {row.meaning} | {retry} | {row.exit} | {row.status} | {details} | {row.hint} |")
    return "\n".join(lines) + "\n"


PAGES = {"errors.md": errors_page}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")
