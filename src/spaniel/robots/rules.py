"""A robots.txt as a value: which group is ours, what it says about a path, and on which line (RFC 9309, D2-13)."""

from __future__ import annotations

import re
from typing import NamedTuple

from spaniel.robots.paths import Line, RuleIndex, spell

LIMIT = 524_288  # octets that are read; the rest is as if it were not there (§2.5, D2-06)

_BOM = b"\xef\xbb\xbf"
_ALLOW, _DISALLOW, _AGENT, _DELAY, _SIGNAL, _SITEMAP, _OTHER = range(7)
_KINDS = {
    b"user-agent": _AGENT,
    b"allow": _ALLOW,
    b"disallow": _DISALLOW,
    b"crawl-delay": _DELAY,
    b"content-signal": _SIGNAL,
    b"sitemap": _SITEMAP,
}
# Keys are found in any case (§2.2); these are found at once, because nearly every line is written so.
_USUAL = {form(key): kind for key, kind in _KINDS.items() for form in (bytes.lower, bytes.title, bytes.capitalize)}

# A product token is letters, `_` and `-` (§2.2.1). Digits and dots are read too, or `W3C-checklink` would be a group
# for `W`, which is contained in many a name (FR-WF-08e). A version (`Foo/2.1`) or a second word ends it.
_TOKEN = re.compile(rb"[A-Za-z0-9_.-]+")


class RobotsRule(NamedTuple):
    """The line that decided, as it stands in the file: text from outside, to be shown with care."""

    line: int
    text: str


class RobotsDecision(NamedTuple):
    """May I? And who says so: without a rule, nothing in the file speaks of the path."""

    allowed: bool
    rule: RobotsRule | None
    group: str | None
    crawl_delay: float | None
    content_signal: str | None


class _Block(NamedTuple):
    """What stands under some user-agent lines."""

    rules: list[Line]
    delays: list[bytes]
    signals: list[bytes]


class _Group:
    """Everything the file says to one agent: its blocks merged (§2.2.1), laid out when first asked for."""

    __slots__ = ("_index", "_said", "_silence")

    def __init__(self, token: str | None, blocks: list[_Block]) -> None:
        # Neighbours may share one list of rules (see `parse`): each list counts once.
        rules = {id(block.rules): block.rules for block in blocks}.values()
        self._index = RuleIndex(line for lines in rules for line in lines)
        delays = [delay for block in blocks for value in block.delays if (delay := _seconds(value)) is not None]
        signals = [_text(value) for block in blocks for value in block.signals]
        self._silence = RobotsDecision(True, None, token, max(delays, default=None), ", ".join(signals) or None)
        self._said: dict[int, RobotsDecision] = {}

    def decide(self, path: str) -> RobotsDecision:
        path = spell(path if path.startswith("/") else "/" + path)
        line = self._index.find(path)
        if line is None or path == "/robots.txt":  # which is implicitly allowed (§2.2.2)
            return self._silence
        number = line[0]
        said = self._said.get(number)
        if said is None:
            said = self._silence._replace(allowed=line[1], rule=RobotsRule(number, _text(line[3])))
            self._said[number] = said
        return said


class RobotsFile:
    """A parsed robots.txt."""

    __slots__ = ("_blocks", "_groups", "_last", "sitemaps")

    def __init__(self, blocks: dict[str, list[_Block]], sitemaps: list[bytes]) -> None:
        self._blocks = blocks
        self._groups: dict[str | None, _Group] = {}
        self._last: tuple[str, _Group] | None = None
        self.sitemaps = tuple(map(_text, sitemaps))

    def decide(self, agent: str, path: str) -> RobotsDecision:
        """May `agent`, a whole User-Agent, fetch `path`, its query included?"""
        last = self._last
        if last is None or last[0] != agent:
            self._last = last = agent, self._group(self._choose(agent))
        return last[1].decide(path)

    def _choose(self, agent: str) -> str | None:
        """D2-13: the group of our very token, else of the longest token contained in it (FR-WF-08e), else of `*`."""
        ours = agent.partition("/")[0].partition(" ")[0].lower()
        if ours in self._blocks:
            return ours
        contained = [token for token in self._blocks if token in ours]
        return max(contained, key=len) if contained else "*" if "*" in self._blocks else None

    def _group(self, token: str | None) -> _Group:
        group = self._groups.get(token)
        if group is None:
            group = self._groups[token] = _Group(token, self._blocks[token] if token else [])
        return group


def parse(body: bytes) -> RobotsFile:
    """Read a robots.txt. There are no errors: a line that says nothing we know is passed over (D2-13, FR-WF-09b)."""
    named: dict[str, list[_Block]] = {}
    sitemaps: list[bytes] = []
    block = _Block([], [], [])  # what stands before any user-agent line is said to nobody
    naming = False
    for number, line in enumerate(_readable(body).splitlines(), 1):
        if not line:
            continue
        key, colon, value = line.partition(b":")
        kind = _USUAL.get(key) if colon else None
        if kind is None:
            kind, value = _unusual(line)
        if kind == _OTHER:
            continue
        value = (value.partition(b"#")[0] if b"#" in value else value).strip()
        if kind <= _DISALLOW:
            block.rules.append((number, kind == _ALLOW, value, line))
            naming = False
        elif kind == _AGENT:
            if not naming:
                # Only a rule ends the list of agents: other records must not interfere (§2.2.4). Until one comes,
                # agents share the rules to come; a Crawl-delay between them is for those above it.
                block = _Block([] if block.rules else block.rules, [], [])
                naming = True
            _name(named, value, block)
        elif kind == _SITEMAP:
            sitemaps.append(value)
        else:
            (block.delays if kind == _DELAY else block.signals).append(value)
            naming = False
    return RobotsFile(named, sitemaps)


def _readable(body: bytes) -> bytes:
    """The lines that lie whole within the limit, without a byte order mark, cut short though it may be."""
    if len(body) > LIMIT:
        # One octet more, to see whether the last line ends right there.
        body = body[: max(body.rfind(b"\n", 0, LIMIT + 1), body.rfind(b"\r", 0, LIMIT + 1)) + 1]
    for size in (3, 2, 1):
        if body.startswith(_BOM[:size]):
            return body[size:]
    return body


def _unusual(line: bytes) -> tuple[int, bytes]:
    """A key in unusual letters or spaces, or with its colon forgotten (`Disallow /x`: obeyed, as what it must mean)."""
    text = line.partition(b"#")[0]
    key, colon, value = text.partition(b":")
    if not colon:
        words = text.split(None, 2)
        if len(words) != 2:
            return _OTHER, b""
        key, value = words
    return _KINDS.get(key.strip().lower(), _OTHER), value


def _name(named: dict[str, list[_Block]], value: bytes, block: _Block) -> None:
    """Let a block speak to the agent of a user-agent line; if the line names none, nobody is spoken to."""
    found = _TOKEN.match(value)
    token = found[0].decode().lower() if found else "*" if value.split()[:1] == [b"*"] else ""
    if token:
        blocks = named.setdefault(token, [])
        if not blocks or blocks[-1] is not block:
            blocks.append(block)


def _seconds(value: bytes) -> float | None:
    try:
        seconds = float(value)
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _text(octets: bytes) -> str:
    return octets.strip().decode("utf-8", "replace")
