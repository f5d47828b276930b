"""White space as FR-WF-13b wants it: LF, few blank lines, no trailing blanks, one newline at the end.

A page may be one line of five million characters or five million lines of one: neither is held as a list of all its
words or lines, which would take ten times its size.
"""

from __future__ import annotations

import re
from itertools import chain, pairwise

from spaniel.reading.scripts import more_words, unspaced

FENCE = re.compile(r"^(?:[ >]|[-*+] |\d{1,9}[.)] )*(`{3,}|~{3,})")
BARE = re.compile(r"(?:[ >]|[-*+] |\d{1,9}[.)] )*(?:[-*+]|\d{1,9}[.)])")  # marks of items, and nothing in them
MARKS = frozenset("-*+.)")
RULE, RULED = "---", "\n---\n"  # and with the blank lines around it
PIECE = 1 << 16  # characters that are taken apart at a time
SOME = 10_000  # parts that are held before they are joined
BLANK = re.compile(r"\s")
ROOM_FOR_A_FENCE = 1000  # bytes
OPENING = dict.fromkeys(map(ord, "<`"))


def unix_lines(text: str) -> str:
    return text if "\r" not in text else text.replace("\r\n", "\n").replace("\r", "\n")


def tidy_text(text: str) -> str:
    """For plain text (FR-WF-13c): at most two blank lines on end."""
    return _joined(_squeezed((line.rstrip() for line in _lines(unix_lines(text))), 2))


def tidy_markdown(markdown: str, mend: Callable[[str, str, str], str], *, rule: str | None = None) -> str:
    """For Markdown: each line is mended with a view to its neighbours, but inside a fence it is code and stays (D2-17).

    What is dropped from a page leaves its blank lines behind: one on end is enough. Lines like `rule` wait, as they do,
    for something that they part from the text before.
    """
    text = unix_lines(markdown)
    lines = pairwise(chain(_lines(text), ("",)))
    return _joined(_mended(lines, mend, has_fences="```" in text or "~~~" in text, rule=rule))


def _mended(
    lines: Iterable[tuple[str, str]], mend: Callable[[str, str, str], str], *, has_fences: bool, rule: str | None
) -> Iterator[str]:
    fence = before = bare = ""
    blank: str | None = ""  # the one that waits: it is written when something follows it
    behind: str | None = None  # one that waits behind the mark of an item
    begun = False
    for line, following in lines:
        if fence:
            mark = FENCE.match(line) if "``" in line or "~~" in line else None
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
            yield line
            continue
        if _is_blank(line) or line == rule:
            if bare:
                behind = _shorter(behind, line.rstrip())
            else:
                blank = _shorter(blank, line.rstrip())
            before = ""
            continue
        if (whole := _beginning(bare, line) if bare else line) is line and behind is not None:
            blank = _shorter(blank, behind)
        line, behind = whole, None  # noqa: PLW2901 - the line as the item has it
        bare = line.rstrip()
        if bare[-1] in MARKS and not line[0].isalpha() and BARE.fullmatch(bare):
            continue
        whole, bare = bare, ""
        mark = FENCE.match(line) if has_fences and ("``" in line or "~~" in line) else None
        fence = mark[1] if mark else ""
        mended = line if fence else mend(line, before, following)
        whole = whole if mended is line else mended.rstrip()
        before = line
        if (mended is not line or line[0] in "> ") and _is_blank(whole):
            blank = _shorter(blank, whole)
            continue
        if begun and blank is not None:
            yield blank
        begun, blank = True, None
        yield whole


def _is_blank(line: str) -> bool:
    """Whether there is nothing on it but the marks of quotes."""
    return not line or line.isspace() or (line[0] in "> " and not line.strip("> "))


def _shorter(waiting: str | None, line: str) -> str:
    """Of blank lines on end the one that is in the fewest quotes; a rule counts more than they do."""
    if line == RULE or waiting == RULED:
        return RULED
    return line if waiting is None else min(waiting, line, key=len)


def _beginning(bare: str, line: str) -> str:
    """The first line of an item whose mark stood on a line of its own. With nothing in it, the item is none."""
    within = "".join(c if c == ">" else " " for c in bare) + " "
    return f"{bare} {line[len(within) :]}" if line.startswith(within) else line


def _squeezed(lines: Iterable[str], most: int) -> Iterator[str]:
    blank = 0
    for line in lines:
        blank = 0 if line else blank + 1
        if blank <= most:
            yield line


def _lines(text: str) -> Iterable[str]:
    return text.split("\n") if len(text) <= PIECE else _lines_of_many(text)


def _lines_of_many(text: str) -> Iterator[str]:
    begin = 0
    while begin <= len(text):
        end = text.find("\n", begin + PIECE)
        end = len(text) if end < 0 else end
        yield from text[begin:end].split("\n")
        begin = end + 1


def _joined(lines: Iterable[str]) -> str:
    done: list[str] = []
    some: list[str] = []
    for line in lines:
        some.append(line)
        if len(some) == SOME:
            done.append("\n".join(some))
            some.clear()
    text = "\n".join((*done, *some)).strip("\n")
    return text + "\n" if text else ""


def shortened(markdown: str, most: int) -> str:
    """As many whole lines as fit into `most` bytes; a fence that is open there is closed."""
    if 4 * len(markdown) <= most or len(data := markdown.encode()) <= most:
        return markdown
    part = data[: most - ROOM_FOR_A_FENCE].decode("utf-8", "ignore")
    lines, found, _ = part.rpartition("\n")
    if not found:  # one line: what began in it must not stay open
        return part.translate(OPENING) + "\n"
    fence = prefix = ""
    for line in _lines(lines):
        mark = FENCE.match(line) if "``" in line or "~~" in line else None
        if mark and not fence:
            fence, prefix = mark[1], re.sub("[^>]", " ", line[: mark.start(1)])
        elif mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
            fence = ""
    return f"{lines}\n{prefix}{fence}\n" if fence else lines.rstrip("\n") + "\n"


def one_spaced(text: str) -> str:
    """As " ".join(text.split())."""
    if len(text) <= PIECE:
        return " ".join(text.split())
    return " ".join(filter(None, (" ".join(piece.split()) for piece in _parts(text))))


def count_words(text: str) -> int:
    """Words between blanks, and those that a script without blanks would have."""
    if not text or text.isspace():
        return 0
    parted = len(text.split()) if len(text) <= PIECE else sum(len(part.split()) for part in _parts(text))
    return parted + more_words(*unspaced(text))


def _parts(text: str) -> Iterator[str]:
    """The text in pieces that end before white space."""
    begin = 0
    while begin < len(text):
        found = BLANK.search(text, begin + PIECE)
        end = found.start() if found else len(text)
        yield text[begin:end]
        begin = end


TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
