"""Which elements are open while a page is read from left to right, as far as that decides what is text and what is
markup: a `<title>` of HTML holds text, one of SVG holds elements, and one that closes itself there holds nothing.

It follows the tree construction of the HTML standard (13.2.6), but builds no tree: an element is one name in a list.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

SVG, MATH = "svg:", "math:"  # before the names of foreign elements


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


VOID = _names(
    "area base basefont bgsound br col embed frame hr image img input keygen link meta param source track wbr"
)
# Start tags that end foreign content (13.2.6.5), wherever an author forgot to close it.
BREAKOUT = _names(
    "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta "
    "nobr ol p pre ruby s small span strong strike sub sup table tt u ul var"
)
FONT_ATTRIBUTES = ("color", "face", "size")
TEXT_POINTS = frozenset(f"{MATH}{name}" for name in ("mi", "mo", "mn", "ms", "mtext"))
HTML_ANNOTATION = f"{MATH}annotation-xml+html"  # one whose encoding says that it holds HTML
HTML_POINTS = frozenset({f"{SVG}foreignobject", f"{SVG}desc", f"{SVG}title", HTML_ANNOTATION})
POINTS = TEXT_POINTS | HTML_POINTS
HTML_ENCODINGS = ("text/html", "application/xhtml+xml")
SPECIAL = POINTS | _names(
    "address applet area article aside base basefont bgsound blockquote body br button caption center col colgroup dd "
    "details dir div dl dt embed fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header "
    "hgroup hr html iframe img input keygen li link listing main marquee menu meta nav noembed noframes noscript "
    "object ol p param plaintext pre script search section select source style summary table tbody td template "
    f"textarea tfoot th thead title tr track ul wbr xmp {MATH}annotation-xml"
)
SCOPE = POINTS | _names(f"applet caption html table td th marquee object select template {MATH}annotation-xml")
SCOPES = {"p": SCOPE | {"button"}, "li": SCOPE | {"ol", "ul"}}
TABLE_SCOPE = _names("html table template")
CLOSE_P = _names(
    "address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer header hgroup "
    "main menu nav ol p search section summary ul h1 h2 h3 h4 h5 h6 pre listing form li dd dt plaintext hr xmp"
)
BLOCKS = CLOSE_P - _names("form p li dd dt plaintext hr xmp h1 h2 h3 h4 h5 h6") | _names("button applet marquee object")
HEADINGS = _names("h1 h2 h3 h4 h5 h6")
FORMATTING = _names("a b big code em font i nobr s small strike strong tt u")
CELLS, ROWS, SECTIONS = _names("td th"), _names("tr"), _names("tbody thead tfoot")
# What a start tag within a table closes before it is put there.
TABLE_PARTS = {
    **dict.fromkeys(CELLS, CELLS),
    **dict.fromkeys(ROWS, ROWS | CELLS),
    **dict.fromkeys(SECTIONS | {"caption", "colgroup"}, SECTIONS | ROWS | CELLS | {"caption", "colgroup"}),
}
STRUCTURE = _names("html head body")  # which a page has once, whatever number of tags name them
MOST_ADOPTIONS = 8
DEEPEST_SEARCH = 100  # open elements that an end tag is compared with, so that no page costs the square of its length


class OpenElements:
    """The open elements of a page. `start` and `end` are called for each tag, in the order of the page."""

    def __init__(self) -> None:
        self._open: list[str] = []

    @property
    def is_foreign(self) -> bool:
        """Whether what comes next stands in an element of SVG or MathML (where CDATA sections are possible)."""
        return bool(self._open) and ":" in self._open[-1]

    def start(self, name: str, attributes: dict[str, str], *, closes_itself: bool) -> bool:
        """Take a start tag. True where it opens an element of HTML, in which `<title>` and `<script>` hold text."""
        while self._is_foreign_start(name):
            if name in BREAKOUT or (name == "font" and any(each in attributes for each in FONT_ATTRIBUTES)):
                self._leave_foreign()
                break
            if not closes_itself:
                self._open.append(self._foreign_name(name, attributes))
            return False
        if name in ("svg", "math"):
            if not closes_itself:
                self._open.append(sys.intern(f"{name}:{name}"))
            return False
        self._start_html(name)
        return True

    def _is_foreign_start(self, name: str) -> bool:
        """Whether the rules for foreign content take a start tag (13.2.6, the tree construction dispatcher)."""
        current = self._open[-1] if self._open else ""
        if ":" not in current or current in HTML_POINTS:
            return False
        if current in TEXT_POINTS:
            return name in ("mglyph", "malignmark")
        return not (current == f"{MATH}annotation-xml" and name == "svg")

    def _leave_foreign(self) -> None:
        while self._open and ":" in self._open[-1] and self._open[-1] not in POINTS:
            self._open.pop()

    def _foreign_name(self, name: str, attributes: dict[str, str]) -> str:
        space = SVG if self._open[-1].startswith(SVG) else MATH
        if space == MATH and name == "annotation-xml" and attributes.get("encoding", "").lower() in HTML_ENCODINGS:
            return HTML_ANNOTATION
        return sys.intern(space + name)

    def _start_html(self, name: str) -> None:
        if name in STRUCTURE:
            return
        if name in TABLE_PARTS:
            if not self._has("table", {"html", "template"}):
                return
            self._close_any(TABLE_PARTS[name], TABLE_SCOPE)
        elif name in CLOSE_P:
            if name == "li":
                self._close_item({"li"})
            elif name in ("dd", "dt"):
                self._close_item({"dd", "dt"})
            self._close("p")
            if name in HEADINGS and self._open and self._open[-1] in HEADINGS:
                self._open.pop()
        elif name in ("a", "nobr", "button"):
            self.end_html(name)
        if name not in VOID:
            self._open.append(sys.intern(name))

    def _close_item(self, names: Collection[str]) -> None:
        """An item of a list ends where the next begins, unless a list or a block was opened in between."""
        for at in range(len(self._open) - 1, max(-1, len(self._open) - DEEPEST_SEARCH), -1):
            one = self._open[at]
            if one in names:
                del self._open[at:]
                return
            if one in SPECIAL and one not in ("address", "div", "p"):
                return

    def end(self, name: str) -> None:
        """Take an end tag."""
        if self.is_foreign:
            if name in ("br", "p"):
                self._leave_foreign()
            else:
                for at in range(len(self._open) - 1, max(-1, len(self._open) - DEEPEST_SEARCH), -1):
                    one = self._open[at]
                    if ":" not in one:
                        break
                    if one.partition(":")[2].removesuffix("+html") == name:
                        del self._open[at:]
                        return
        self.end_html(name)

    def end_html(self, name: str) -> None:
        if name in STRUCTURE or not self._open:
            return
        if self._open[-1] == name:
            self._open.pop()
        elif name in ("p", "li", "dd", "dt") or name in BLOCKS:
            self._close(name)
        elif name == "form":  # which alone is closed: what is open in it stays open
            at = self._find({name}, SCOPE)
            if at is not None:
                del self._open[at]
        elif name in HEADINGS:
            self._close_any(HEADINGS, SCOPE)
        elif name in FORMATTING:
            self._close_formatting(name)
        elif name == "table" or name in TABLE_PARTS:
            self._close_any({name}, TABLE_SCOPE)
        elif name == "template":
            self._close_any({name}, ())
        else:
            self._close_any({name}, SPECIAL)

    def _close(self, name: str) -> None:
        self._close_any({name}, SCOPES.get(name, SCOPE))

    def _close_any(self, names: Collection[str], bounds: Collection[str]) -> None:
        """Close the innermost of these and all that is in it, unless one of the bounds stands in between."""
        at = self._find(names, bounds)
        if at is not None:
            del self._open[at:]

    def _has(self, name: str, bounds: Collection[str]) -> bool:
        return self._find({name}, bounds) is not None

    def _find(self, names: Collection[str], bounds: Collection[str]) -> int | None:
        for at in range(len(self._open) - 1, max(-1, len(self._open) - DEEPEST_SEARCH), -1):
            one = self._open[at]
            if one in names:
                return at
            if one in bounds:
                return None
        return None

    def _close_formatting(self, name: str) -> None:
        """A block inside stays open, though the element around it is closed (the adoption agency algorithm)."""
        at = self._find({name}, SCOPE)
        if at is None:
            return
        blocks = [n for n in range(at + 1, len(self._open)) if self._open[n] in SPECIAL][:MOST_ADOPTIONS]
        if not blocks:
            del self._open[at:]
            return
        last = blocks[-1] + 1
        kept = [one for one in self._open[at + 1 : last] if one in SPECIAL or one in FORMATTING]
        self._open[at:] = [*kept, name, *self._open[last:]] if len(blocks) == MOST_ADOPTIONS else kept
