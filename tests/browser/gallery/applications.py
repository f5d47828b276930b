"""Applications made with real frameworks: what a server gives out is a shell, and the content comes from an API.

`set_up.py` brings the frameworks; the pages in apps/ take them from /npm/, and what was bundled from /built/.
"""

from __future__ import annotations

from pathlib import Path

from tests.browser.gallery.waiting import ARRIVED

HERE = Path(__file__).parent
MENU = "<nav>" + " ".join(f"<a href='/chapter/{n}'>Chapter {n}: a part of the river</a>" for n in range(14)) + "</nav>"
ELEMENTS = ("lit", "haunted", "hybrids")  # those whose page is an element of their own


def _bundled(name: str) -> str:
    place = "<x-page></x-page>" if name in ELEMENTS else "<div id=root></div>"
    return f"<!doctype html><title>{name}</title>{place}<script type=module src='/built/{name}.js'></script>"


def _written(path: Path) -> str:
    return path.read_text(encoding="utf-8").replace("<!-- menu -->", MENU)


APPLICATIONS: dict[str, str] = {
    path.stem: _bundled(path.stem)
    for path in sorted((HERE / "bundled").glob("*.js"))
    if not path.stem.startswith("part-")
} | {f"{path.stem} page": _written(path) for path in sorted((HERE / "apps").glob("*.html"))}

SERVED = {
    "/part": ("text/html", f"<turbo-frame id=part><p id=part>{ARRIVED}</p></turbo-frame>"),
    "/docs/README.md": ("text/markdown", f"# Otters\n\n{ARRIVED}\n"),
    "/openapi.json": (
        "application/json",
        '{"openapi": "3.0.0", "info": {"title": "Otters", "version": "1", "description": "' + ARRIVED + '"},'
        '"paths": {"/otters": {"get": {"summary": "All otters", "responses": {"200": {"description": "ok"}}}}}}',
    ),
}
