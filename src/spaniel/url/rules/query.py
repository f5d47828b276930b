"""Rules on parameters: of the query, and of the path (`;jsessionid=…`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.errors import SpanielError
from spaniel.patterns import matcher
from spaniel.tables import complaint
from spaniel.url.canonical import Pagination
from spaniel.url.value import whatwg_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spaniel.tables import Table
    from spaniel.url.draft import Draft
    from spaniel.url.rules.rule import Act

MEMO = 4096  # parameter names repeat; a hostile stream of new ones must not grow the table


def name_of(pair: str) -> str:
    """A parameter's name as a server reads it: decoded, in lower case."""
    name = pair.partition("=")[0]
    if "%" in name or "+" in name:
        from urllib.parse import unquote_plus

        name = unquote_plus(name)
    return name.lower()


class Names(dict[str, str]):
    """Which parameters a list means: `gclid` by name, `utm_*` by prefix, case ignored, and a pattern if there is one.

    Looked up by a name as it is written, it answers with the entry that matched (so that it can be given as the
    reason), or "" for a parameter that is not meant. The dictionary is the memo of what was looked up.
    """

    def __init__(self, entries: Iterable[str], pattern: str = "") -> None:
        super().__init__()
        lowered = [entry.lower() for entry in entries]
        self._exact = frozenset(e for e in lowered if not e.endswith("*"))
        self._prefixes = tuple(e[:-1] for e in lowered if e.endswith("*"))
        self._pattern = pattern  # of a policy's file, which may be a stranger's: matched in linear time
        self._matches = matcher(f"(?i)^(?:{pattern})$", "pattern") if pattern else None

    def __missing__(self, written: str) -> str:
        if len(self) >= MEMO:
            self.clear()
        found = self[written] = self._look_up(name_of(written))
        return found

    def match(self, pair: str) -> str:
        return self[pair.partition("=")[0]]

    def _look_up(self, name: str) -> str:
        if name in self._exact:
            return name
        for prefix in self._prefixes:
            if name.startswith(prefix):
                return f"{prefix}*"
        if self._matches is not None and self._matches(name):
            return self._pattern
        return ""

    def __reduce__(self) -> tuple[object, ...]:
        entries = [*self._exact, *(f"{p}*" for p in self._prefixes)]
        return Names, (entries, self._pattern)


def drop_params(options: Table) -> Act:
    """Tracking parameters go, and empty pairs with them; with `review`, what is on neither list is listed for it."""
    names = Names(options.texts("names"))
    keep = Names(options.texts("keep", ()))
    reviewing = options.truth("review", default=False)
    reason = options.text("reason", "tracking parameter")

    def act(draft: Draft) -> None:
        if draft.params is None:
            return
        kept = [pair for pair in draft.params if pair and not names[pair.partition("=")[0]]]
        if draft.notes is not None:
            _tell(draft, names, reason)
            if reviewing:
                unknown = (pair.partition("=")[0] for pair in kept if not keep.match(pair))
                draft.notes.review += [name for name in unknown if name not in draft.notes.review]
        draft.params = kept or None

    return act


def _tell(draft: Draft, names: Names, reason: str) -> None:
    for pair in draft.params or ():
        if pair and (entry := names.match(pair)):
            draft.drop(pair, f"{reason} ({entry})")


def drop_session_params(options: Table) -> Act:
    """Session identifiers, in the query and behind a `;` in the path (CP-10)."""
    try:
        names = Names(options.texts("names"), options.text("pattern", ""))
    except SpanielError as error:
        raise complaint(f"{options.place}.pattern", str(error.details["reason"])) from None

    def act(draft: Draft) -> None:
        if ";" in draft.path:
            _strip_path(draft, names)
        if draft.params is not None:
            _tell(draft, names, "session parameter")
            draft.params = [pair for pair in draft.params if not (pair and names.match(pair))] or None

    return act


def _strip_path(draft: Draft, names: Names) -> None:
    segments = []
    for segment in draft.path.split("/"):
        name, *params = segment.split(";")
        kept = [p for p in params if not names.match(p)]
        for param in params:
            if names.match(param):
                draft.drop(param, "session parameter in the path")
        segments.append(";".join([name, *kept]))
    # "/a/..;jsessionid=1/b" must not become a path that the next reader resolves otherwise
    draft.path = whatwg_path("/".join(segments))


def sort_params(options: Table) -> Act:
    """By name, then (where `by_value`) by value, on the serialized text; empty pairs go (FG-11, UN-05)."""
    key = _name_then_value if options.truth("by_value", default=False) else _name

    def act(draft: Draft) -> None:
        if draft.params is None:
            return
        if "" in draft.params:
            draft.params = [pair for pair in draft.params if pair] or None
        if draft.params is not None and len(draft.params) > 1:
            draft.params.sort(key=key)

    return act


def _name(pair: str) -> str:
    return pair.partition("=")[0]


def _name_then_value(pair: str) -> str:
    # NUL sorts before every character of a URL, so that "a" < "a=" < "a=1" < "a!=1", as names and values would
    return pair.replace("=", "\0", 1)


def _is_page_number(value: str) -> bool:
    return len(value) <= 5 and value.isascii() and value.isdigit()


def strip_pagination(options: Table) -> Act:
    """A page of a list is the list (CP-11, CP-26); but a lone `p` at the root is a post's number."""
    names = Names(options.texts("names"))

    def act(draft: Draft) -> str | None:
        if draft.params is None:
            return None
        if draft.path == "/" and len(draft.params) == 1 and name_of(draft.params[0]) == "p" and names.match("p"):
            draft.flag("post-number-kept")
            return "a lone p at the root names a post"
        kept, whole = [], draft.text()
        for pair in draft.params:
            name, _, value = pair.partition("=")
            if not (names.match(pair) and _is_page_number(value)):
                kept.append(pair)
            elif draft.notes is not None:
                draft.drop(pair, "page of a list")
                total = None if draft.web is None else draft.web.total_pages(whole, name)
                draft.notes.pagination = Pagination(True, name, total)
        draft.params = kept or None
        return None

    return act
