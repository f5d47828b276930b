"""Whether a page has the anchors that links name: by id and name, as browsers look for them (HTML 7.4.6.3)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from spaniel.reading.html.parse import parse_html
from spaniel.reading.kinds import parse_type
from spaniel.verdicts import Fragment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turbohtml import Document

MARKUP = frozenset({"text/html", "application/xhtml+xml"})
DIRECTIVE = ":~:"  # text to be marked, by a browser alone; what stands before it is the fragment
PREFIXES = ("user-content-",)  # of ids, which a script of the site leaves out
_HEADINGS = tuple(f"h{level}" for level in range(1, 7))
ANCHORED = ", ".join(
    [f"{tag}[id]" for tag in _HEADINGS] + [f"{tag} [id], {tag} a[name]" for tag in _HEADINGS] + ["section[id]"]
)
# What only a script understands: a route of an application, lines of a file, parameters.
_FOR_SCRIPTS = re.compile(r"[!/]|L\d+(-L?\d+)?$|.*=")
_DATA = ("application/json", "application/ld+json", "importmap", "speculationrules")


def look_for(names: Sequence[str], body: bytes, content_type: str, *, is_whole: bool) -> tuple[Fragment, ...]:
    """Each name, and whether it is there. None where only whoever runs the page's scripts could tell."""
    essence, charset = parse_type(content_type)
    if essence not in MARKUP:
        return tuple(Fragment(name, True if _is_the_top(name) else None) for name in names)
    tree, cut, *_ = parse_html(body, charset)
    anchors = _anchors(tree)
    may_be_made = cut or not is_whole or _may_be_made(tree)
    return tuple(Fragment(name, _found(name, anchors, may_be_made)) for name in names)


def _found(name: str, anchors: frozenset[str], may_be_made: bool) -> bool | None:
    plain = _plain(name)
    decoded = unquote(plain)
    if _is_the_top(name) or plain in anchors or decoded in anchors:
        return True
    return None if may_be_made or _FOR_SCRIPTS.match(decoded) else False


def _plain(name: str) -> str:
    return name.removeprefix("#").partition(DIRECTIVE)[0]


def _is_the_top(name: str) -> bool:
    """Which every page has."""
    return _plain(name).lower() in ("", "top")


def _anchors(tree: Document) -> frozenset[str]:
    ids = [element.attr("id") for element in tree.select("[id]")]
    names = [element.attr("name") for element in tree.select("a[name]")]
    given = {name for name in (*ids, *names) if name}
    bare = {name.removeprefix(prefix) for name in given for prefix in PREFIXES}
    return frozenset(given | bare)


def _may_be_made(tree: Document) -> bool:
    """Whether a script may make anchors: there is one, and no heading has an anchor already, as pages that bring theirs
    along would."""
    if tree.select_one(ANCHORED) is not None:
        return False
    return any((script.attr("type") or "").lower() not in _DATA for script in tree.select("script"))
