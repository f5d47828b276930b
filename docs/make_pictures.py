"""Draws terminal.svg: commands that are really run against the practice site, as a terminal shows them; run by `make docs`."""

from __future__ import annotations

import re
import runpy
import tempfile
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

HERE = Path(__file__).resolve().parent
TRANSCRIPTS: dict[str, Any] = runpy.run_path(str(HERE / "transcripts.py"))
PICTURE = "terminal.svg"

SETTINGS = """\
[tools.webfetch.security]
allow_insecure_overrides = true
block_loopback = false
allowed_ports = [80, 443, 8000]
"""
NOTES = """\
[otters](http://127.0.0.1:8000/otters) [old](http://127.0.0.1:8000/old-otters)
[report](http://127.0.0.1:8000/report-2024)
"""
COMMANDS = (
    "spaniel fetch http://127.0.0.1:8000/old-otters | head -3",
    "spaniel fetch http://127.0.0.1:8000/inside    # redirects into the network",
    "spaniel check notes.md",
)
COLUMNS, CHARACTER, LINE, MARGIN, BAR = 92, 8.43, 20, 18, 34
STYLES = (  # the first that matches a line; the group is drawn in this class
    (re.compile(r"^(spaniel: \w+:)"), "bad"),
    (re.compile(r"^ +\d+:\d+ {2}(moved)"), "warn"),
    (re.compile(r"^ +\d+:\d+ {2}(failing[^h]*?)(?= {2})"), "bad"),
    (re.compile(r"^(# .*)"), "head"),
    (re.compile(r"^( {2}Only .*)"), "dim"),
)


def session(port: int, folder: Path, programs: Path) -> list[str]:
    """What a terminal shows of the commands, line by line."""
    local = SETTINGS.replace("8000", str(port))
    (folder / "local.toml").write_text(local, encoding="utf-8")
    (folder / "notes.md").write_text(NOTES.replace("8000", str(port)), encoding="utf-8")
    lines: list[str] = []
    for command in COMMANDS:
        shown = TRANSCRIPTS["output_of"](command, port, folder, programs, {"SPANIEL_CONFIG": "local.toml"})
        lines += [f"$ {command}", *TRANSCRIPTS["PROTECTION_OFF"].sub("", shown).splitlines(), ""]
    return [part for line in lines[:-1] for part in _wrapped(line)]


def _wrapped(line: str) -> list[str]:
    return [line[start : start + COLUMNS] for start in range(0, len(line), COLUMNS)] or [""]


def drawn(lines: list[str]) -> str:
    """The lines as SVG, in the fonts of the reader's system."""
    width, height = round(COLUMNS * CHARACTER + 2 * MARGIN), BAR + len(lines) * LINE + MARGIN
    rows = [
        f'<text x="{MARGIN}" y="{BAR + LINE * (number + 1) - 4}">{_colored(line)}</text>'
        for number, line in enumerate(lines)
        if line
    ]
    dots = [
        f'<circle cx="{MARGIN + 18 * place}" cy="18" r="6" fill="{color}"/>'
        for place, color in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    ]
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        "<title>A terminal: Spaniel fetches a page, refuses a private address and checks links</title>",
        "<style>text { font: 14px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #d6deeb; white-space: pre }",
        ".prompt { fill: #7fdbca } .command { fill: #ffffff; font-weight: 600 } .bad { fill: #ff7b72 } .warn { fill: #f2cc60 }",
        ".head { fill: #82aaff; font-weight: 600 } .dim { fill: #8b949e }</style>",
        f'<rect width="{width}" height="{height}" rx="10" fill="#0d1b2a"/>',
    ]
    return "\n".join([*head, *dots, *rows, "</svg>"]) + "\n"


def _colored(line: str) -> str:
    if line.startswith("$ "):
        return f'<tspan class="prompt">$ </tspan><tspan class="command">{escape(line[2:])}</tspan>'
    for pattern, style in STYLES:
        if found := pattern.search(line):
            before, part, after = line[: found.start(1)], found[1], line[found.end(1) :]
            return f'{escape(before)}<tspan class="{style}">{escape(part)}</tspan>{escape(after)}'
    return escape(line)


def picture(port: int, folder: Path, programs: Path = TRANSCRIPTS["PROGRAMS"]) -> str:
    return drawn(session(port, folder, programs))


if __name__ == "__main__":
    with TRANSCRIPTS["demo_site"]() as port, tempfile.TemporaryDirectory() as folder:
        (HERE / PICTURE).write_text(picture(port, Path(folder)), encoding="utf-8")
