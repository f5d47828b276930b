"""Fits an answer to a byte budget: drops trailing chunks, then cuts the last one left (FR-WF-03a, 15e).

A truncated answer says where to continue (D2-29). Chunks are numbered from 1. `next_chunk` is the first chunk that
was not returned whole: continuing from it returns that chunk from its start, and nothing is lost. A chunk that is
larger than the budget would then be returned, and cut, again and again. So if the first chunk of an answer is cut,
`next_offset` is the number of its characters that were returned: continuing from there always makes progress.
If the budget is too small for a single character, `read_on` refuses instead of returning empty answers.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from itertools import islice
from typing import TYPE_CHECKING, NotRequired, TypedDict

from spaniel.chunking.tokens import cl100k
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from spaniel.chunking.chunks import Chunk
    from spaniel.chunking.tokens import TokenCounter

    Shown = dict[str, object]  # a chunk as returned in an answer
    Ending = Callable[[int, int], Shown]  # (whole chunks, characters of the next) -> extra fields of a truncated answer

REASON = "tool_output_limit"


class Continuation(TypedDict):
    """Where to continue. Chunks count from 1; the offset is in characters of that chunk's text."""

    next_chunk: int
    total_chunks: int
    next_offset: NotRequired[int]


def serialize(value: object) -> str:
    """Return the JSON whose bytes are counted; JSON with compact separators is smaller."""
    return json.dumps(value, ensure_ascii=False)


def fit(
    answer: Mapping[str, object], chunks: Sequence[Chunk], max_bytes: int, counter: TokenCounter | None = None
) -> dict[str, object]:
    """Return the answer with as many chunks as its JSON can contain in `max_bytes` of UTF-8.

    Sets `chunks`, `truncated`, `truncation_reason` and `more`; other fields stay unchanged. Tokens are counted only
    if a chunk has to be cut.
    """
    return _pack(answer, (chunk.answer() for chunk in chunks), max_bytes, counter, _where(len(chunks)))


def read_on(
    answer: Mapping[str, object],
    chunks: Sequence[Chunk],
    max_bytes: int,
    from_chunk: int = 1,
    from_offset: int = 0,
    counter: TokenCounter | None = None,
) -> dict[str, object]:
    """Like `fit`, from a chunk or an offset within it, as in `more` of a truncated answer. Every call makes progress.

    `chunks` are all chunks of the document, the same as in the truncated answer.
    """
    _require(from_chunk in range(1, len(chunks) + 1), "from_chunk", f"{from_chunk} is not between 1 and {len(chunks)}")
    last = len(chunks[from_chunk - 1].text) - 1
    _require(from_offset in range(last + 1), "from_offset", f"{from_offset} is not between 0 and {last}")
    shown = _from(chunks, from_chunk, from_offset, counter)
    fitted = _pack(answer, shown, max_bytes, counter, _where(len(chunks), from_chunk, from_offset))
    _require(bool(fitted["chunks"]), "max_output_bytes", f"{max_bytes} is too small for any of chunk {from_chunk}")
    return fitted


def fit_found(
    answer: Mapping[str, object],
    chunks: Sequence[Chunk],
    numbers: Sequence[int],
    max_bytes: int,
    counter: TokenCounter | None = None,
) -> dict[str, object]:
    """Return the answer with as many of the numbered chunks as fit, in this order, each with its `number`."""
    shown = ({"number": number, **chunks[number - 1].answer()} for number in numbers)
    return _pack(answer, shown, max_bytes, counter, lambda *_: {})


def _require(holds: bool, field: str, reason: str) -> None:
    if not holds:
        raise SpanielError(Code.BAD_ARGS, field=field, reason=reason)


def _from(chunks: Sequence[Chunk], number: int, offset: int, counter: TokenCounter | None) -> Iterator[Shown]:
    for chunk in islice(chunks, number - 1, None):
        shown = chunk.answer()
        if offset:
            text = chunk.text[offset:]
            shown |= {"text": text, "token_count": (counter or cl100k()).count(text)}
            offset = 0
        yield shown


def _where(total: int, first: int = 1, offset: int = 0) -> Ending:
    def more(whole: int, characters: int) -> Shown:
        where: Continuation = {"next_chunk": first + whole, "total_chunks": total}
        given = characters if whole else offset + characters
        if given:
            where["next_offset"] = given
        return {"more": where}

    return more


def _pack(
    answer: Mapping[str, object], chunks: Iterable[Shown], max_bytes: int, counter: TokenCounter | None, ending: Ending
) -> dict[str, object]:
    fitting: list[Shown] = []
    ends = [_size(_whole(answer, []))]  # the bytes of the answer with none, one, two ... chunks
    for shown in chunks:
        ends.append(ends[-1] + _size(shown) + (2 if fitting else 0))  # ", " stands between them
        fitting.append(shown)
        if ends[-1] > max_bytes:
            break
    if ends[-1] <= max_bytes:
        return _whole(answer, fitting)

    def extra(count: int) -> int:
        return _size(_cut_short(answer, [], ending(count, 0))) - ends[0]

    count = bisect_right(range(len(fitting)), max_bytes, key=lambda count: ends[count] + extra(count)) - 1
    if count > 0:
        return _cut_short(answer, fitting[:count], ending(count, 0))
    if count < 0:
        least = ends[0] + (extra(0) if fitting else 0)
        reason = f"{max_bytes} is too small: without any content the answer has {least} bytes"
        raise SpanielError(Code.BAD_ARGS, field="max_output_bytes", reason=reason)
    text = str(fitting[0]["text"])
    room = max_bytes - _size(_cut_short(answer, [], ending(0, len(text))))
    first = _cut(fitting[0], room, counter or cl100k())
    given = len(str(first["text"]))
    return _cut_short(answer, [first] if given else [], ending(0, given))


def _whole(answer: Mapping[str, object], chunks: list[Shown]) -> dict[str, object]:
    fitted = {**answer, "chunks": chunks, "truncated": False}
    fitted.pop("truncation_reason", None)
    fitted.pop("more", None)
    return fitted


def _cut_short(answer: Mapping[str, object], chunks: list[Shown], ending: Shown) -> dict[str, object]:
    return {**answer, "chunks": chunks, "truncated": True, "truncation_reason": REASON, **ending}


def _cut(chunk: Shown, room: int, counter: TokenCounter) -> Shown:
    """Cut the chunk's text so that the chunk has at most `room` bytes.

    Half a word can have more tokens than the word: the cut moves back until the count is not above the original.
    """
    text, tokens = str(chunk["text"]), int(str(chunk["token_count"]))
    room -= _size({**chunk, "text": ""})
    text = text[: max(room, 0)]
    text = text[: bisect_right(range(len(text)), room, key=lambda end: _size(text[: end + 1]) - 2)]
    while (count := counter.count(text)) > tokens and text:
        text = text[:-1]
    return {**chunk, "text": text, "token_count": count}


def _size(value: object) -> int:
    return len(serialize(value).encode())
