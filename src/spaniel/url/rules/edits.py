"""The rules that change a URL without the web: scheme, host, path, fragment and query."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

from spaniel.errors import SpanielError
from spaniel.patterns import matcher
from spaniel.tables import Table, complaint
from spaniel.url.canonical import Draft, Pagination
from spaniel.url.hostlists import HostList, host_key
from spaniel.url.value import whatwg_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


Act = Callable[[Draft], str | None]  # what it returns is a remark for --explain
Build = Callable[[Table], Act]  # reads the rule's options out of a policy file


def idle(_draft: Draft) -> None:
    """A rule without an effect."""


class UrlRule(NamedTuple):
    """A rule settles, edits or notes.

    *settle*: it takes over the parser's form of a part; nothing is left to do, but `--explain` shows it where the
    policy has it. *edit*: it may change the canonical URL. *note*: offline it annotates
    and changes nothing.
    """

    name: str
    part: str
    kind: Literal["settle", "edit", "note"]
    build: Build
    what: str  # what it does, in a sentence: for --explain and the reference
    may_ask: bool = False  # whether it can ask the web, where a policy says `asks = true`
    moves: bool = False  # whether it may lead to another URL, for which the rules before it run again


def settled(_options: Table) -> Act:
    """The parser has done it already (lower-case host, no default port, no dot segments)."""
    return idle


def apply_overrides(_options: Table) -> Act:
    """The place in a policy where an overrides file is applied (overrides.py); without one it does nothing."""
    return idle


def upgrade_scheme(options: Table) -> Act:
    """HTTP becomes HTTPS, but for hosts known to lack it and for explicit ports (FG-13, CP-01, CP-03)."""
    http_only = HostList(options.texts("http_only", ()))

    def act(draft: Draft) -> str | None:
        if draft.scheme != "http" or draft.port:
            return "an explicit port keeps its scheme" if draft.port else None
        if draft.host in http_only or (draft.web is not None and draft.web.lacks_https(draft.host)):
            draft.flag("http-only")
            return "this host has no HTTPS"
        draft.scheme = "https"
        return None

    return act


def map_host(options: Table) -> Act:
    """The form of its name that a domain itself prefers: from a table, or as it was discovered (CP-07, CP-24)."""
    known = {host_key(bare): host_key(form) for bare, form in options.text_map("hosts").items()}
    unsure = HostList(options.texts("unsure", ()))

    def act(draft: Draft) -> str | None:
        bare = draft.host
        form = known.get(bare)
        if form is None:
            return None if draft.web is None else take_discovered_host(draft, known)
        draft.host = form
        if bare in unsure:
            draft.flag("host-form-unsure")
            return "the table marks this form as still to be checked"
        return None

    return act


def take_discovered_host(draft: Draft, known: Mapping[str, str]) -> str | None:
    """The host that the bare domain leads to, for the domain and its www form; other hosts are what they are."""
    from spaniel.url.hostlists import registrable

    host, domain = draft.host, registrable(draft.host)
    if draft.web is None or draft.port or domain in known or host not in (domain, f"www.{domain}"):
        return None
    form = draft.web.preferred_host(domain)
    if form is None or form == host:
        return None
    draft.host = form
    there = draft.web.redirects(draft.text())
    if there is None or (there.arrived and not there.hops):
        return f"the domain itself prefers {form}"
    draft.host = host  # a form under which this page is not there is no form of it
    draft.flag("host-form-unproved")
    return f"the domain prefers {form}, but this page is not there"


def drop_fragment(_options: Table) -> Act:
    """Fragments never reach a server; what was there is noted (CP-06)."""

    def act(draft: Draft) -> str | None:
        if draft.fragment is None:
            return None
        if draft.notes is not None:
            draft.notes.fragment_note = f"#{draft.fragment}"
        draft.fragment = None
        return None

    return act


def collapse_slashes(_options: Table) -> Act:
    runs = re.compile("//+")

    def act(draft: Draft) -> None:
        if "//" in draft.path:
            draft.path = runs.sub("/", draft.path)

    return act


def drop_trailing_slash(options: Table) -> Act:
    """All of them, so that the result is a fixed point; at the root only where the policy says so (CP-02)."""
    at_root = options.truth("at_root", default=False)

    def act(draft: Draft) -> str | None:
        path = draft.path
        if path[-1] == "/":
            if draft.web is not None and path != "/" and draft.web.needs_slash(draft.text()):
                draft.flag("trailing-slash-kept")
                return "kept: without it the server has another page"
            draft.path = path.rstrip("/") or "/"
            draft.bare_root = at_root
        return None

    return act


_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def _normal_escape(found: re.Match[str]) -> str:
    if found[1] is None:
        return "%25"  # D2-16: else "%%34%31" would need two passes
    char = chr(int(found[1], 16))
    return char if char in _UNRESERVED else found[0].upper()


def normalize_escapes(_options: Table) -> Act:
    """Upper-case hex, unreserved characters decoded, reserved ones left (FR-WF-NORM-06)."""
    escapes = re.compile("%([0-9A-Fa-f]{2})?")

    def act(draft: Draft) -> None:
        if "%" in draft.path:
            draft.path = escapes.sub(_normal_escape, draft.path)

    return act


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
