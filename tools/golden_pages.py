"""Writes the golden pages beside their Markdown as one HTML file, for a person to look through in a minute.

Run by `make pages`. Left: the page as a browser shows it, without its scripts and without the network. Middle: the
Markdown that it becomes now. Right: that Markdown, rendered. Where it is not the Markdown that is wanted, it says so.
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt

from spaniel.reading import extract

GOLDEN = Path(__file__).parent.parent / "tests/reading/golden"
URL = "https://example.org/dir/page.html"
ALONE = "default-src 'none'; style-src 'unsafe-inline'"  # for the frames, too: nothing is fetched
STYLE = """body{font:15px/1.5 system-ui,sans-serif;margin:1.5em}section{border-top:1px solid #bbb;padding:.5em 0}
div{display:grid;grid-template-columns:repeat(3,minmax(0,1fr));gap:1em}iframe{width:100%;height:22em;border:1px solid #ddd}
pre,article{margin:0;height:22em;overflow:auto;border:1px solid #ddd;padding:.5em;box-sizing:border-box}pre{white-space:pre-wrap}
h2{font-size:1em;margin:.3em 0}b{color:#b00}table,td,th{border:1px solid #ccc;border-collapse:collapse;padding:.2em}"""


def section(page: Path) -> str:
    raw = page.read_bytes()
    written = extract(raw, url=URL).markdown
    wanted = page.with_suffix(".md").read_text("utf-8")
    note = "" if written == wanted else " <b>not as wanted</b>"
    shown = escape(raw.decode("utf-8", "replace"))
    return (
        f'<section id="{page.stem}"><h2><a href="#{page.stem}">{escape(page.stem)}</a>{note}</h2><div>'
        f'<iframe sandbox="" srcdoc="{shown}" title="{escape(page.stem)}"></iframe>'
        f"<pre>{escape(written)}</pre><article>{rendered(written)}</article></div></section>"
    )


def rendered(markdown: str) -> str:
    """Without raw HTML, and without loading images."""
    return MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown)


def whole(pages: list[Path]) -> str:
    sections = "\n".join(section(page) for page in pages)
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Golden pages</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{ALONE}"><style>{STYLE}</style></head>'
        f"<body><h1>{len(pages)} golden pages: the page, its Markdown, that Markdown rendered</h1>\n{sections}\n</body></html>\n"
    )


def main() -> None:
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    pages = sorted(GOLDEN.glob("*.html"))
    target.write_text(whole(pages), "utf-8")
    print(f"{len(pages)} pages are in {target}: open it in a browser.")


if __name__ == "__main__":
    main()
