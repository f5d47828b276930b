"""Addresses that simply stand in a text: where they end is a guess that readers and GitHub make alike.

They begin with a scheme or with `www.`, and end at white space or `<`; punctuation behind them belongs to the sentence,
and so does a bracket that was not opened in them (GFM 6.9).
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from spaniel.health.documents.mention import Found

if TYPE_CHECKING:
    from collections.abc import Iterator

BEGINS = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:https?|ftp)://(?=[\w\[%])|(?<![^\s*_~(])www\.(?=\w[\w-]*+\.\w))", re.IGNORECASE
)
# Up to white space, signs of Markdown and HTML, quotes, marks of other scripts. What is longer is data.
REST = re.compile(r"[^\s<>`\"\x00-\x1f\x7f“”«»„。，、；：！？（）「」『』【】《》]{0,16384}+")
# Most stand alone and end with a letter, a digit or a slash: nothing there belongs to a sentence.
PLAIN = re.compile(r"[A-Za-z0-9/._~%=&?+#:,;@!$-]{0,500}[A-Za-z0-9/](?=\s|\Z)")
BRACKET = re.compile(r"[()\[\]{}]")
PAIRS = {")": "(", "]": "[", "}": "{"}
TRAILING = frozenset("?!.,:;*_~'\\|")
NEXT_CELL = re.compile(r"\|(?=https?://)", re.IGNORECASE)
ENTITY = re.compile(r"&[A-Za-z0-9]{1,32};\Z")


def links(text: str) -> Iterator[Found]:
    """The addresses in plain text."""
    return scan(text, 0, len(text))


def scan(text: str, start: int, end: int) -> Iterator[Found]:
    while found := BEGINS.search(text, start, end):
        stop = end_of(text, found, end)
        if stop is None:
            start = found.end()
            continue
        for begin, end_ in _cells(text, found.start(), stop):
            yield made(text, begin, _before_label(text, begin, end_))
        start = stop


def _cells(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Addresses with nothing but a bar between them, as in a table."""
    for bar in NEXT_CELL.finditer(text, start, stop):
        yield start, bar.start()
        start = bar.end()
    yield start, stop


def _before_label(text: str, start: int, stop: int) -> int:
    """AsciiDoc has the text of a link in brackets behind its address: `https://a.example/x[text]`."""
    at = text.rfind("[", start, stop)
    if at < 0 or text[at - 1] in "/?&=":
        return stop
    return at if text.find("]", at, stop) in (-1, stop - 1) else stop


def made(text: str, start: int, end: int) -> Found:
    written = text[start:end]
    is_www = written[:4].lower() == "www."
    return Found(f"http://{written}" if is_www else written, start, end, "www" if is_www else "bare")


def end_of(text: str, found: re.Match[str], limit: int) -> int | None:
    """Where the address ends that BEGINS found; None where it is none after all."""
    if plain := PLAIN.match(text, found.end(), limit):
        return plain.end()
    rest = REST.match(text, found.end(), limit)
    stop = rest.end() if rest else found.end()
    stop = _before_unopened(text, found.start(), stop)
    stop = _without_punctuation(text, found.end(), stop)
    return stop if stop > found.end() else None


def _before_unopened(text: str, start: int, stop: int) -> int:
    """An address ends before a bracket that closes what was opened before it."""
    opened = dict.fromkeys(PAIRS.values(), 0)
    for found in BRACKET.finditer(text, start, stop):
        bracket = found[0]
        if bracket in opened:
            opened[bracket] += 1
        elif opened[PAIRS[bracket]]:
            opened[PAIRS[bracket]] -= 1
        else:
            return found.start()
    return stop


def _without_punctuation(text: str, start: int, stop: int) -> int:
    while stop > start:
        last = text[stop - 1]
        if last == ";" and (entity := ENTITY.search(text, max(start, stop - 34), stop)):
            stop = entity.start()
        elif last in TRAILING or (last in "([{") or (last > "\x7f" and unicodedata.category(last)[0] == "P"):
            stop -= 1
        else:
            break
    return stop
