"""Words and white space in every script.

Chinese, Japanese, Thai, Lao, Khmer and Burmese put no spaces between words. All word counts come from here, so that a
page in such a script is judged by the same numbers as any other; `native.pyx` does the same in C. White space follows
FR-WF-13b: LF, few blank lines, no trailing spaces, one newline at the end.

A page may be one line of five million characters or five million lines of one: neither is held as a list of all its
words or lines, which would take ten times its size."""

from __future__ import annotations

import re
from itertools import chain, pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


# (first, last): of Han and kana two signs make a word, and one stands for about three letters.
WIDE_RANGES = (
    (0x3005, 0x3007), (0x3041, 0x3096), (0x30A1, 0x30FE), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF), (0xFF66, 0xFF9D), (0x20000, 0x3FFFD),
)  # fmt: skip
# Of these it takes four letters and marks.
CLOSE_RANGES = (
    (0x0E01, 0x0E5B),
    (0x0E81, 0x0EDF),
    (0x0F00, 0x0FDA),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0xA9E0, 0xAA7F),
)
FIRST_UNSPACED = CLOSE_RANGES[0][0]


def _character_class(ranges: tuple[tuple[int, int], ...]) -> str:
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


WIDE = re.compile(f"[{_character_class(WIDE_RANGES)}]+")
CLOSE = re.compile(f"[{_character_class(CLOSE_RANGES)}]+")
UNSPACED = _character_class(WIDE_RANGES + CLOSE_RANGES)
SCRIPT_PIECE = re.compile(f"[{UNSPACED}]|[^ {UNSPACED}]+")


def unspaced_characters(text: str) -> tuple[int, int]:
    """How many signs of wide and of close script a text has."""
    if text.isascii() or max(text) < chr(FIRST_UNSPACED):
        return 0, 0
    return len(text) - len(WIDE.sub("", text)), len(text) - len(CLOSE.sub("", text))


def unspaced_words(wide: int, close: int) -> int:
    """The words of so many signs, beyond the one that blanks alone would show."""
    return max(0, 2 * wide + close - 2) // 4


def measure_text(text: str) -> tuple[int, int]:
    """Words and letters of a text with single blanks, as they would be in a script that has blanks."""
    wide, close = unspaced_characters(text)
    return text.count(" ") + 1 + unspaced_words(wide, close), len(text) + 2 * wide


def count_spaced_words(text: str) -> int:
    """Only the words."""
    return measure_text(text)[0]


def split_words(text: str) -> list[str]:
    """The words of a text with single blanks; a sign of an unspaced script is one of its own, to be compared."""
    return text.split() if text.isascii() or not any(unspaced_characters(text)) else SCRIPT_PIECE.findall(text)


FENCE = re.compile(r"^(?:[ >]|[-*+] |\d{1,9}[.)] )*(`{3,}|~{3,})")
EMPTY_ITEM = re.compile(r"(?:[ >]|[-*+] |\d{1,9}[.)] )*(?:[-*+]|\d{1,9}[.)])")  # marks of items, and nothing in them
ITEM_MARKS = frozenset("-*+.)")
RULE, RULED = "---", "\n---\n"  # and with the blank lines around it
CHUNK = 1 << 16  # characters that are taken apart at a time
JOINED_AT_ONCE = 10_000  # parts that are held before they are joined
SPACE = re.compile(r"\s")
FENCE_RESERVE = 1000  # bytes
OPENING = dict.fromkeys(map(ord, "<`"))


def normalize_newlines(text: str) -> str:
    return text if "\r" not in text else text.replace("\r\n", "\n").replace("\r", "\n")


def tidy_text(text: str) -> str:
    """For plain text (FR-WF-13c): at most two blank lines on end."""
    return _join_lines(_limit_blank_lines((line.rstrip() for line in _lines(normalize_newlines(text))), 2))


def tidy_markdown(markdown: str, mend: Callable[[str, str, str], str], *, rule: str | None = None) -> str:
    """For Markdown: each line is mended with a view to its neighbours, but inside a fence it is code and stays (D2-17).

    What is dropped from a page leaves its blank lines behind: one on end is enough. Lines like `rule` wait, as they do,
    for something that they part from the text before.
    """
    text = normalize_newlines(markdown)
    lines = pairwise(chain(_lines(text), ("",)))
    return _join_lines(_tidy_lines(lines, mend, has_fences="```" in text or "~~~" in text, rule=rule))


def _tidy_lines(
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
        if (whole := _first_item_line(bare, line) if bare else line) is line and behind is not None:
            blank = _shorter(blank, behind)
        line, behind = whole, None  # noqa: PLW2901 - the line as the item has it
        bare = line.rstrip()
        if bare[-1] in ITEM_MARKS and not line[0].isalpha() and EMPTY_ITEM.fullmatch(bare):
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


def _first_item_line(bare: str, line: str) -> str:
    """The first line of an item whose mark stood on a line of its own. With nothing in it, the item is none."""
    within = "".join(c if c == ">" else " " for c in bare) + " "
    return f"{bare} {line[len(within) :]}" if line.startswith(within) else line


def _limit_blank_lines(lines: Iterable[str], most: int) -> Iterator[str]:
    blank = 0
    for line in lines:
        blank = 0 if line else blank + 1
        if blank <= most:
            yield line


def _lines(text: str) -> Iterable[str]:
    return text.split("\n") if len(text) <= CHUNK else _lines_in_chunks(text)


def _lines_in_chunks(text: str) -> Iterator[str]:
    begin = 0
    while begin <= len(text):
        end = text.find("\n", begin + CHUNK)
        end = len(text) if end < 0 else end
        yield from text[begin:end].split("\n")
        begin = end + 1


def _join_lines(lines: Iterable[str]) -> str:
    done: list[str] = []
    some: list[str] = []
    for line in lines:
        some.append(line)
        if len(some) == JOINED_AT_ONCE:
            done.append("\n".join(some))
            some.clear()
    text = "\n".join((*done, *some)).strip("\n")
    return text + "\n" if text else ""


def truncate_markdown(markdown: str, most: int) -> str:
    """As many whole lines as fit into `most` bytes; a fence that is open there is closed."""
    if 4 * len(markdown) <= most or len(data := markdown.encode()) <= most:
        return markdown
    part = data[: most - FENCE_RESERVE].decode("utf-8", "ignore")
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


def collapse_spaces(text: str) -> str:
    """As " ".join(text.split())."""
    if len(text) <= CHUNK:
        return " ".join(text.split())
    return " ".join(filter(None, (" ".join(piece.split()) for piece in _chunks(text))))


def count_words(text: str) -> int:
    """Words between blanks, and those that a script without blanks would have."""
    if not text or text.isspace():
        return 0
    parted = len(text.split()) if len(text) <= CHUNK else sum(len(part.split()) for part in _chunks(text))
    return parted + unspaced_words(*unspaced_characters(text))


def _chunks(text: str) -> Iterator[str]:
    """The text in pieces that end before white space."""
    begin = 0
    while begin < len(text):
        found = SPACE.search(text, begin + CHUNK)
        end = found.start() if found else len(text)
        yield text[begin:end]
        begin = end
