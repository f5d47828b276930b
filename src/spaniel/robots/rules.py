"""Parses robots.txt: which group applies, what it says about a path, and on which line (RFC 9309, D2-13)."""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

# A parsed rule: line number, whether it is an Allow, its value, the line itself. A plain tuple, since most are never
# used: only the group that applies is indexed.
Line = tuple[int, bool, bytes, bytes]

# A rule with `*`: rank, the part before the first star, the pieces after it, the last of them, its line.
_Pattern = tuple[int, str, list[str], str, Line]

_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"  # RFC 3986 §2.3

# Octets that are never percent-encoded. `*` and `$` are not among them: a rule that means them literally writes %2A and
# %24 (§2.2.3), so they are encoded in paths as well. Nor is `%`, which depends on what follows it.
_PLAIN = _UNRESERVED + b":/?#[]@!&'()+,;="
_PLAIN_IN_RULES = _PLAIN + b"*"

# All other octets except `%` are percent-encoded.
_ESCAPES = {octet: f"%{octet:02X}" for octet in range(256) if octet not in _PLAIN + b"%"}
_ESCAPES_IN_RULES = {octet: escape for octet, escape in _ESCAPES.items() if octet != ord("*")}

# An escape that is broken, in lower case or unnecessary; the look-ahead excludes the valid ones. No repetition can
# match in two ways, so there is no backtracking.
_BAD_ESCAPE = re.compile("%(?![0189A-F][0-9A-F]|2[0-9A-CF]|3[A-F]|40|5[B-E]|60|7[BCDF])(?:[0-9A-Fa-f]{2})?")

LIMIT = 524_288  # octets that are parsed; the rest is ignored (§2.5, D2-06)

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
# Keys are case-insensitive (§2.2); these spellings take the fast path, since nearly every line has one.
_USUAL = {form(key): kind for key, kind in _KINDS.items() for form in (bytes.lower, bytes.title, bytes.capitalize)}

# A product token is letters, `_` and `-` (§2.2.1). Digits and dots are read too, or `W3C-checklink` would be a group
# for `W`, which many names contain (FR-WF-08e). A version (`Foo/2.1`) or a second word ends it.
_TOKEN = re.compile(rb"[A-Za-z0-9_.-]+")


def spell(path: str) -> str:
    """Normalize the percent-encoding of a path and query, for the comparison with rules. Idempotent."""
    octets = path.encode("utf-8", "surrogatepass")
    if not octets.translate(None, _PLAIN):
        return path
    return _BAD_ESCAPE.sub(_mend, octets.decode("latin-1")).translate(_ESCAPES)


def _spell_rule(value: bytes) -> str:
    """Normalize a rule, whose stars and final `$` keep their meaning."""
    text = value.decode("latin-1")  # one character per octet, in any encoding
    if not value.translate(None, _PLAIN_IN_RULES):
        return text
    bare = text.removesuffix("$")
    return _BAD_ESCAPE.sub(_mend, bare).translate(_ESCAPES_IN_RULES) + text[len(bare) :]


def _mend(escape: re.Match[str]) -> str:
    text = escape[0]
    if text == "%":
        return "%25"
    octet = int(text[1:], 16)
    return chr(octet) if octet in _UNRESERVED else text.upper()


class RuleIndex:
    """An index of the rules of one group, which finds the most specific match without trying them all.

    Plain prefixes, which most rules are, stand in a dictionary that is asked once for each length that occurs, longest
    first; patterns stand in a list, most specific first. `rank` orders both: octets, then Allow (§2.2.2, FR-WF-08c).

    `$` needs no case of its own: no spelled path holds one, so it is given one at its end, and `/a$` is a prefix like
    any other, which only the whole of `/a` has.
    """

    __slots__ = ("_patterns", "_plain", "_sizes")

    def __init__(self, lines: Iterable[Line]) -> None:
        plain: dict[str, Line] = {}
        patterns: list[_Pattern] = []
        for line in lines:
            text = _spell_rule(line[2])
            if "*" in text:
                head, *pieces = text.split("*")
                patterns.append((2 * len(text) + line[1], head, pieces, pieces[-1], line))
            elif plain.setdefault(text, line)[1] < line[1]:
                plain[text] = line
        plain.pop("", None)  # an empty value matches nothing (§2.2.2)
        patterns.sort(key=itemgetter(0), reverse=True)
        self._plain = plain
        self._sizes = sorted(set(map(len, plain)), reverse=True)
        self._patterns = patterns

    def find(self, path: str) -> Line | None:
        """The rule that decides about a normalized path."""
        path += "$"
        length = len(path)
        best, rank = None, 0
        for size in self._sizes:
            if size <= length:
                best = self._plain.get(path[:size])
                if best is not None:
                    rank = 2 * size + best[1]
                    break
        for its_rank, head, pieces, last, line in self._patterns:
            if its_rank <= rank:
                break
            # A cheap check excludes most patterns: whether the path contains their last piece.
            if last in path and path.startswith(head) and _follow(path, len(head), pieces):
                return line
        return best


def _follow(path: str, at: int, pieces: list[str]) -> bool:
    """Whether the pieces follow one another from `at` on. Each is matched at its first position, which leaves the most
    for the rest, so there is no backtracking: at most pattern × path steps."""
    for piece in pieces:
        at = path.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True


class RobotsRule(NamedTuple):
    """The line that decided, verbatim: untrusted text."""

    line: int
    text: str


class RobotsDecision(NamedTuple):
    """The decision and the rule for it; without a rule, nothing in the file applies to the path."""

    allowed: bool
    rule: RobotsRule | None
    group: str | None
    crawl_delay: float | None
    content_signal: str | None


class _Block(NamedTuple):
    """The records under some user-agent lines."""

    rules: list[Line]
    delays: list[bytes]
    signals: list[bytes]


class _Group:
    """All rules for one agent: its blocks merged (§2.2.1), indexed on first use."""

    __slots__ = ("_index", "_said", "_silence")

    def __init__(self, token: str | None, blocks: list[_Block]) -> None:
        # Adjacent blocks can share one list of rules (see `parse`): each list counts once.
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
        """Whether `agent`, a full User-Agent, may fetch `path`, including its query."""
        last = self._last
        if last is None or last[0] != agent:
            self._last = last = agent, self._group(self._choose(agent))
        return last[1].decide(path)

    def _choose(self, agent: str) -> str | None:
        """D2-13: the group of our exact token, else of the longest token contained in it (FR-WF-08e), else of `*`."""
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
    """Parse a robots.txt. There are no errors: unknown lines are skipped (D2-13, FR-WF-09b)."""
    named: dict[str, list[_Block]] = {}
    sitemaps: list[bytes] = []
    block = _Block([], [], [])  # records before any user-agent line apply to no agent
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
                # Only a rule ends the list of agents: other records must not interfere (§2.2.4). Until then, agents
                # share the following rules; a Crawl-delay between them applies to those above it.
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
    """The complete lines within the limit, without a (possibly truncated) byte order mark."""
    if len(body) > LIMIT:
        # One more octet shows whether the last line ends at the limit.
        body = body[: max(body.rfind(b"\n", 0, LIMIT + 1), body.rfind(b"\r", 0, LIMIT + 1)) + 1]
    for size in (3, 2, 1):
        if body.startswith(_BOM[:size]):
            return body[size:]
    return body


def _unusual(line: bytes) -> tuple[int, bytes]:
    """A key in unusual case or spacing, or without a colon (`Disallow /x` is obeyed)."""
    text = line.partition(b"#")[0]
    key, colon, value = text.partition(b":")
    if not colon:
        words = text.split(None, 2)
        if len(words) != 2:
            return _OTHER, b""
        key, value = words
    return _KINDS.get(key.strip().lower(), _OTHER), value


def _name(named: dict[str, list[_Block]], value: bytes, block: _Block) -> None:
    """Add a block to the agent of a user-agent line, if the line names one."""
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
