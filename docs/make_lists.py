"""Lists of pages, decisions, requirements and layers, made from what they list; run by make.py."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

REQUIREMENTS = """\
# Requirements

<!-- Made from tests/requirements.toml and the marks of the tests by `make docs`. -->

Spaniel was built after five documents that are not part of its repository. Comments and tests refer to them by id. This page says, in
our own words, what each id asks for, and which folders of `tests/` have tests that carry it: `@pytest.mark.req("FR-WF-05a")`.

| prefix | comes from | became |
|---|---|---|
| `CP` | a policy for canonical URLs of public administrations | policy `clara`, link classes, citations |
| `D2` | decisions where the documents are silent or disagree | everywhere |
| `DB` | a format for a database of URLs | the link database |
| `FG` | guidelines for fetching lists of URLs | policy and profile `ingest` |
| `FR-WF`, `NFR-WF` | the requirements of a fetch tool for models, "the SRD" | policy `exact`, profile `web_fetch`, the tool |
| `IT-WF`, `T-WF` | the tests that the SRD asks for | tests that carry the id |
| `LH` | decisions about link health | `check`, `db check` |
| `UN` | a first version of URL normalization | policy `curious` |
"""


def requirements_page() -> str:
    """Every requirement id, what it asks for, and where it is tested."""
    groups = tomllib.loads((ROOT / "tests" / "requirements.toml").read_text(encoding="utf-8"))["groups"]
    tested = marks()
    lines = [REQUIREMENTS.rstrip()]
    for title, ids in groups.items():
        lines += ["", f"## {title}", ""]
        lines += [f"- **{number}** {text} *{_folders(tested[number])}*" for number, text in ids.items()]
    return "\n".join(lines) + "\n"


def _folders(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "no test yet"


def marks() -> defaultdict[str, set[str]]:
    """The folders of tests that carry each id."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in sorted((ROOT / "tests").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if ".req(" not in source:
            continue
        folder = path.relative_to(ROOT / "tests").parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "req":
                for part in (part for argument in node.args for part in ast.walk(argument)):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        found[part.value].add(folder)
    return found


DECISIONS = """\
# Decisions

<!-- Made from docs/adr/ by `make docs`. -->

Each page says what was decided, why, and what was measured. The measurements are of the day of the decision.

| | decision |
|---|---|
"""


def decisions_page() -> str:
    pages = sorted((HERE / "adr").glob("0*.md"))
    return DECISIONS + "".join(f"| {page.name[:4]} | [{_title(page)}]({page.name}) |\n" for page in pages)


def _title(page: Path) -> str:
    heading = page.read_text(encoding="utf-8").partition("\n")[0]
    return re.sub(r"^# (?:\d+[.:]? ?·? ?)?", "", heading)


LLMS = """\
# Spaniel

> Spaniel fetches the web for programs that read it: URL in, clean token-counted Markdown out, or one precise reason why not. It never
> connects to private addresses unless its owner allows it. A command line, a Python library and an MCP server.

Fetch a page: `spaniel fetch URL`. Python: `spaniel.fetch(url).markdown`. MCP server: `spaniel mcp`. Check links: `spaniel check docs`.
"""


def llms_text() -> str:
    """llms.txt: every page of the site with its first sentence."""
    lines = [LLMS.rstrip()]
    for section in navigation():
        for title, inside in section.items():
            if isinstance(inside, list):
                lines += ["", f"## {title}", ""]
                lines += [f"- [{name}]({page}): {_summary(HERE / page)}" for name, page in _leaves(inside)]
    return "\n".join(lines) + "\n"


def navigation() -> list[dict[str, Any]]:
    """The sections of the site."""
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    sections: list[dict[str, Any]] = site["project"]["nav"]
    return sections


def _leaves(entries: list[dict[str, Any]]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for entry in entries:
        for title, inside in entry.items():
            found += _leaves(inside) if isinstance(inside, list) else [(title, inside)]
    return found


def _summary(page: Path) -> str:
    """The first sentence of prose."""
    text = re.sub(
        r"^```.*?^```\n|<!--.*?-->\n|^\|.*\n|^!\[.*\n",
        "",
        page.read_text(encoding="utf-8"),
        flags=re.DOTALL | re.MULTILINE,
    )
    prose = next(block for block in text.split("\n\n")[1:] if re.match(r"[\w`*\[]", block.strip()))
    plain = re.sub(r"\[([^\]]+)\]\([^)]+\)|\*\*", r"\1", " ".join(prose.split()))
    return re.split(r"(?<=[.?!])(?: |$)", plain)[0].removesuffix(":")


# -- The picture of the layers

WHAT = {  # one line for each package and module at the top of the package
    "cli": "command line",
    "demo": "a short tour",
    "testing": "for your tests",
    "mcp": "tools over MCP",
    "tool": "what a model calls",
    "app": "settings, wiring",
    "batch": "very many pages",
    "health": "link checks",
    "online": "canonical links online",
    "sources": "lists of URLs",
    "pipeline": "one fetch: fallbacks, outcome, record",
    "robots": "robots.txt",
    "hosts": "politeness",
    "browser": "Chromium",
    "cache": "pages kept",
    "queue": "failed pages",
    "registry": "link database",
    "runs": "run store",
    "net": "guard, resolver, HTTP, redirects, browser proxy: opens all sockets",
    "reading": "bytes to Markdown",
    "learnt": "facts about hosts",
    "url": "URLs, policies",
    "chunking": "tokens, chunks",
    "database": "small SQLite files",
}
WIDTH, HEIGHT, GAP, LEFT = 720, 44, 8, 16
COLORS = ("#e8f0fe", "#e6f4ea", "#fef7e0", "#fce8e6", "#f3e8fd", "#e0f2f1")


def layers() -> list[list[str]]:
    """The layers of the package, from the top, as import-linter checks them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [contract] = [each for each in project["tool"]["importlinter"]["contracts"] if each["type"] == "layers"]
    return [[name.strip() for name in re.split(r"[|:]", layer)] for layer in contract["layers"]]


def picture() -> str:
    """The layers as boxes, one row each."""
    rows = layers()
    shapes: list[str] = []
    y = LEFT
    for number, names in enumerate(rows):
        width = (WIDTH - 2 * LEFT - GAP * (len(names) - 1)) / len(names)
        for place, name in enumerate(names):
            x = LEFT + place * (width + GAP)
            shapes.append(
                f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{HEIGHT}" rx="6" fill="{COLORS[number % len(COLORS)]}"/>'
            )
            middle, what = x + width / 2, WHAT.get(name, "")
            shapes.append(f'<text class="name" x="{middle:.0f}" y="{y + (19 if what else 27)}">{escape(name)}</text>')
            if what:
                shapes.append(f'<text class="what" x="{middle:.0f}" y="{y + 35}">{escape(what)}</text>')
        y += HEIGHT + GAP
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + LEFT - GAP}" role="img">',
        "<title>The layers of the package spaniel; each imports only from those below it</title>",
        "<style>text { text-anchor: middle; fill: #202124 } .name { font: 600 15px ui-monospace, Menlo, Consolas, monospace }",
        ".what { font: 12px system-ui, sans-serif; fill: #3c4043 }</style>",
        f'<rect width="{WIDTH}" height="{y + LEFT - GAP}" rx="10" fill="#ffffff" stroke="#dadce0"/>',
        *shapes,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


PAGES = {
    "explanation/requirements.md": requirements_page,
    "adr/index.md": decisions_page,
    "explanation/architecture.svg": picture,
    "llms.txt": llms_text,
}
