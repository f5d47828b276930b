"""Which parts of an HTML page are read, where a caller decides that instead of us."""

from __future__ import annotations

from typing import Any, NamedTuple

from spaniel.errors import Code, SpanielError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from turbohtml import Element

MOST_SELECTORS = 50
LONGEST_SELECTOR = 1_000


class PageParts(NamedTuple):
    """CSS selectors, and whether the main content is looked for."""

    select: tuple[str, ...] = ()  # only elements that match one of these are read
    remove: tuple[str, ...] = ()  # elements that match one of these are left out
    whole: bool = False  # everything in the page is read, menus and footers too

    @classmethod
    def from_json(cls, fields: list[Any]) -> PageParts:
        """The parts that were sent to another process as a list."""
        select, remove, whole = fields
        return cls(tuple(select), tuple(remove), whole)

    @property
    def chooses_content(self) -> bool:
        """Whether the main content is still to be chosen by us."""
        return not self.whole and not self.select

    def require_valid(self) -> None:
        """`bad_args` for a selector that cannot be used."""
        from turbohtml import parse

        page = parse(b"<html></html>", positions=False)
        if len(self.select) + len(self.remove) > MOST_SELECTORS:
            raise _bad(f"at most {MOST_SELECTORS} selectors are taken")
        for selector in (*self.select, *self.remove):
            if len(selector) > LONGEST_SELECTOR or not selector.strip():
                raise _bad(f"a selector has 1 to {LONGEST_SELECTOR} characters")
            try:
                page.select(selector)
            except Exception as error:  # noqa: BLE001  whatever the parser raises for a selector, it is the caller's
                raise _bad(f"'{selector[:100]}' is not a CSS selector ({type(error).__name__})") from None

    def apply(self, root: Element) -> None:
        """Remove from the tree what is not to be read."""
        for element in root.select(", ".join(self.remove)) if self.remove else ():
            element.decompose()
        if self.select:
            kept = _outermost(root, ", ".join(self.select))
            for element in kept:
                element.extract()
            root.clear()
            for element in kept:
                root.append(element)


def _outermost(root: Element, selector: str) -> list[Element]:
    """The matching elements that are in no other one, in document order."""
    kept: list[Element] = []
    inside = 0
    for element in root.select(selector):
        if inside:
            inside -= 1
        else:
            kept.append(element)
            inside = len(element.select(selector))
    return kept


def _bad(reason: str) -> SpanielError:
    return SpanielError(Code.BAD_ARGS, field="selector", reason=reason)
