"""Links within a paragraph of Markdown: brackets, angles, bare addresses, tags; not in code.

CommonMark's second phase, for links alone. From left to right, each character a few times at most: brackets wait on a
stack, runs of back-ticks are counted beforehand, and what is looked for to the end in vain is looked for once.
"""

from __future__ import annotations

import re
from array import array
from typing import TYPE_CHECKING, NamedTuple

from spaniel.health.documents import bare
from spaniel.health.documents.html_tags import MARKDOWN_TAG, Seeker, links_of
from spaniel.health.documents.mention import Found
from spaniel.health.documents.quoting import from_markdown

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

LONGEST = 16_384  # characters of an address, while there is work left for hopeless ones
MOST_OPEN = 10_000  # brackets that wait for their ends; further ones are text
SHORT = 200  # when there is not
LABEL = re.compile(r"\[((?:[^\[\]\\]|\\.){0,999}+)\]", re.DOTALL)
WHITE = re.compile(r"\s+")
SPECIAL = re.compile(rf"\\.|`+|!?\[|\]|<|{bare.BEGINS.pattern}", re.IGNORECASE | re.DOTALL)
AUTOLINK = re.compile(r"<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>\x00-\x1f]*+)>")
EMAIL = re.compile(r"<([\w.!#$%&'*+/=?^`{|}~-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})*+)>", re.ASCII)
BLANKS = re.compile(r"[ \t]*+\n?[ \t]*+")
ANGLED = re.compile(r"<((?:[^<>\\\n]|\\.){0,16384}+)>")
PLAIN = re.compile(r"(?:[^\s()\\\x00-\x1f\x7f]++|\\.?)++")  # between two brackets
TITLE = re.compile(r"\"(?:[^\"\\]|\\.){0,2000}+\"|'(?:[^'\\]|\\.){0,2000}+'|\((?:[^()\\]|\\.){0,2000}+\)", re.DOTALL)
DEFINED = re.compile(r"[ \t]*+(?:\n|\Z)")
OTHER_TAGS = tuple(
    (re.compile(begins), ends)
    for begins, ends in ((r"<!--(?!-?>)", "-->"), (r"<\?", "?>"), (r"<!\[CDATA\[", "]]>"), (r"<![A-Za-z]", ">"))
)


def label(written: str) -> str:
    """Labels are the same however they are spaced and cased."""
    return WHITE.sub(" ", written).strip().casefold()


class Target(NamedTuple):
    """A destination in a text, and where what belongs to it ends."""

    found: Found | None  # None for an empty one
    end: int


class Destinations:
    """Reads destinations; hopeless ones use up a measure of work, after which only short ones are tried."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._work = 8 * len(text) + 100_000

    def read(self, start: int) -> Target | None:
        text = self._text
        if text.startswith("<", start):
            angled = ANGLED.match(text, start)
            if angled is None:
                return None
            url = from_markdown(angled[1])
            return Target(Found(url, *angled.span(1), "markdown-angled") if url else None, angled.end())
        end = self._plain_end(start)
        if end is None or end == start:
            return None if end is None else Target(None, start)
        return Target(Found(from_markdown(text[start:end]), start, end, "markdown"), end)

    def _plain_end(self, start: int) -> int | None:
        """Up to white space, or to a bracket that closes more than was opened."""
        text, at, depth = self._text, start, 0
        limit = start + (LONGEST if self._work > 0 else SHORT)
        while at < limit:
            if run := PLAIN.match(text, at, limit):
                at = run.end()
            if text.startswith("(", at) and depth < 32:
                depth += 1
            elif text.startswith(")", at) and depth:
                depth -= 1
            else:
                break
            at += 1
        return at if not depth and at < limit else None

    def resource(self, start: int) -> Target | None:
        """What stands in the round brackets behind a text, from `(` on."""
        target = self.read(at := _past(BLANKS, self._text, start + 1))
        if target is None:
            self._work -= LONGEST
            return None
        end = _past(BLANKS, self._text, target.end)
        if end > target.end and (title := TITLE.match(self._text, end)):
            end = _past(BLANKS, self._text, title.end())
        if self._text.startswith(")", end):
            return Target(target.found, end + 1)
        self._work -= end - at
        return None

    def definition(self, start: int) -> tuple[str, Target] | None:
        """`[label]: destination "title"`, alone in its lines."""
        name = LABEL.match(self._text, start)
        if name is None or not name[1].strip() or not self._text.startswith(":", name.end()):
            return None
        target = self.read(_past(BLANKS, self._text, name.end() + 1))
        if target is None or (target.found is None and self._text[target.end - 1 : target.end] != ">"):
            return None
        begin = _past(BLANKS, self._text, target.end)
        title = TITLE.match(self._text, begin) if begin > target.end else None
        end = (title and DEFINED.match(self._text, title.end())) or DEFINED.match(self._text, target.end)
        return (label(name[1]), Target(target.found, end.end())) if end else None


def _past(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return found.end() if found else start


class Ticks:
    """Which run of back-ticks closes which; asked from left to right."""

    def __init__(self, text: str) -> None:
        self._runs: dict[int, array[int]] = {}
        for run in re.finditer("`+", text):
            length = run.end() - run.start()
            if length not in self._runs:
                self._runs[length] = array("I")
            self._runs[length].append(run.start())
        for starts in self._runs.values():
            starts.reverse()

    def end_of(self, start: int, length: int) -> int | None:
        starts = self._runs.get(length)
        while starts and starts[-1] <= start:
            starts.pop()
        return starts[-1] + length if starts else None


class _Opening(NamedTuple):
    at: int  # of the bracket
    is_image: bool
    found: int  # how many links there were before it


class Inline:
    """The links of one paragraph, heading or cell."""

    def __init__(self, text: str, labels: Container[str]) -> None:
        self._text, self._labels = text, labels
        self._ticks, self._seek, self._destinations = Ticks(text), Seeker(text), Destinations(text)
        self._open: list[_Opening] = []
        self._dead = 0  # so many of the brackets that are open begin no link: one within them is a link already
        self.found: list[Found] = []

    def read(self, start: int = 0) -> Iterator[Found]:
        text = self._text
        while special := SPECIAL.search(text, start):
            start = self._step(special)
            if self.found and not self._open:  # with no bracket open nothing changes them any more
                yield from self.found
                self.found.clear()
        yield from self.found

    def _step(self, special: re.Match[str]) -> int:
        sign, start = special[0], special.start()
        if sign[0] == "\\":
            return special.end()
        if sign[0] == "`":
            return self._ticks.end_of(start, len(sign)) or special.end()
        if sign[0] == "<":
            return self._angle(start)
        if sign in ("[", "!["):
            if len(self._open) < MOST_OPEN:
                self._open.append(_Opening(special.end() - 1, sign == "![", len(self.found)))
            return special.end()
        if sign == "]":
            return self._close(start)
        end = bare.end_of(self._text, special, len(self._text))
        if end is None:
            return special.end()
        self.found.append(bare.made(self._text, start, end))
        return end

    def _angle(self, start: int) -> int:
        text = self._text
        if link := AUTOLINK.match(text, start):
            self.found.append(Found(_resolved(link[1]), *link.span(1), "autolink"))
            return link.end()
        if mail := EMAIL.match(text, start):
            return mail.end()
        if tag := MARKDOWN_TAG.match(text, start):
            if tag["name"]:
                self.found += links_of(tag)
                if tag["name"].lower() == "code":
                    return self._seek.after("</code>", tag.end()) or tag.end()
            return tag.end()
        for begins, ends in OTHER_TAGS:
            if begins.match(text, start):
                return self._seek.after(ends, start) or start + 1
        return start + 1

    def _close(self, at: int) -> int:
        """A bracket closes: what it and its opening make is a link, an image, or nothing."""
        if not self._open:
            return at + 1
        opening = self._open.pop()
        is_dead = len(self._open) < self._dead
        self._dead = min(self._dead, len(self._open))
        if is_dead and not opening.is_image:
            return at + 1
        found, end = self._link(opening, at)
        if end is None:
            return at + 1
        inside = [] if opening.is_image else self.found[opening.found :]
        self.found[opening.found :] = [one for one in inside if one.syntax not in ("bare", "www")]
        if found is not None:
            self.found.append(found)
        if not opening.is_image:
            self._dead = len(self._open)
        return end

    def _link(self, opening: _Opening, at: int) -> tuple[Found | None, int | None]:
        """The address, and where the link ends: None where there is none."""
        text = self._text
        if text.startswith("(", at + 1) and (target := self._destinations.resource(at + 1)):
            return target.found, target.end
        if text.startswith("[", at + 1) and (name := LABEL.match(text, at + 1)) and name[1].strip():
            return None, name.end() if label(name[1]) in self._labels else None
        end = at + 3 if text.startswith("[]", at + 1) else at + 1
        if at - opening.at > 1000:
            return None, None
        return None, end if label(text[opening.at + 1 : at]) in self._labels else None


def _resolved(written: str) -> str:
    from spaniel.health.documents.quoting import decode

    return decode(written, "autolink")
