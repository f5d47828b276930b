"""A robots.txt as a value: which group is ours, what it says about a path, and on which line (RFC 9309, D2-13)."""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

# A rule as the parser leaves it: line number, is it an Allow, its value, the line as it stands. A plain tuple, because
# most are never looked at again: only the group that is asked for is laid out.
Line = tuple[int, bool, bytes, bytes]

# A rule with `*` in it: rank, what stands before the first star, the pieces after it, the last of them, its line.
_Pattern = tuple[int, str, list[str], str, Line]

_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"  # RFC 3986 §2.3

# Octets that are spelled one way only. `*` and `$` are not among them: a rule that means them literally writes %2A and
# %24 (§2.2.3), so a path's own are written likewise. Nor is `%`, which must be looked at with what follows it.
_PLAIN = _UNRESERVED + b":/?#[]@!&'()+,;="
_PLAIN_IN_RULES = _PLAIN + b"*"

# Every other octet, but for `%`, is written as its escape.
_ESCAPES = {octet: f"%{octet:02X}" for octet in range(256) if octet not in _PLAIN + b"%"}
_ESCAPES_IN_RULES = {octet: escape for octet, escape in _ESCAPES.items() if octet != ord("*")}

# An escape that is broken, in small letters or needless; the look-ahead names the good ones. It holds no repetition
# that could be tried in two ways, so there is nothing to backtrack over.
_BAD_ESCAPE = re.compile("%(?![0189A-F][0-9A-F]|2[0-9A-CF]|3[A-F]|40|5[B-E]|60|7[BCDF])(?:[0-9A-Fa-f]{2})?")

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


def spell(path: str) -> str:
    """A URL's path and query as rules are compared with it. What is spelled so already stays as it is."""
    octets = path.encode("utf-8", "surrogatepass")
    if not octets.translate(None, _PLAIN):
        return path
    return _BAD_ESCAPE.sub(_mend, octets.decode("latin-1")).translate(_ESCAPES)


def _spell_rule(value: bytes) -> str:
    """The same for a rule, whose stars and final `$` keep their meaning."""
    text = value.decode("latin-1")  # one character an octet, whatever encoding the file is in
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
    """The rules of one group, laid out so that the most specific match is found without trying them all.

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
        """The rule that decides about a path, which is spelled already."""
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
            # Most patterns fall at the first question, which is cheap: has the path their last piece at all?
            if last in path and path.startswith(head) and _follow(path, len(head), pieces):
                return line
        return best


def _follow(path: str, at: int, pieces: list[str]) -> bool:
    """Do the pieces follow one another from `at` on? The first place where one fits leaves the most room for the rest,
    so no place is tried twice: at most pattern × path steps, where a regular expression would try every split."""
    for piece in pieces:
        at = path.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True


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
