"""Fitting an answer to a byte budget: trailing chunks go first, then the end of the only one left (FR-WF-03a, 15e)."""

from __future__ import annotations

import json
from bisect import bisect_right
from typing import TYPE_CHECKING

from spaniel.chunking.tokens import cl100k
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spaniel.chunking.chunks import Chunk
    from spaniel.chunking.tokens import TokenCounter

REASON = "tool_output_limit"


def serialize(value: object) -> str:
    """The JSON whose bytes are counted here; what is written with narrower separators is smaller still."""
    return json.dumps(value, ensure_ascii=False)


def fit(
    answer: Mapping[str, object], chunks: Iterable[Chunk], max_bytes: int, counter: TokenCounter | None = None
) -> dict[str, object]:
    """The answer with as many of the chunks as its JSON has room for in `max_bytes` of UTF-8.

    `chunks`, `truncated` and `truncation_reason` are set here, where the answer has them or at its end; the rest is
    kept. A tokenizer is asked only if a chunk has to be cut.
    """
    whole = _with(answer, [], truncated=False)
    cut_short = _with(answer, [], truncated=True)
    fitting: list[dict[str, object]] = []
    ends = [_size(whole)]  # the bytes of the answer with none, one, two ... chunks
    extra = _size(cut_short) - ends[0]
    for chunk in chunks:
        shown = chunk.answer()
        ends.append(ends[-1] + _size(shown) + (2 if fitting else 0))  # ", " stands between them
        fitting.append(shown)
        if ends[-1] > max_bytes:
            break
    if ends[-1] <= max_bytes:
        return _with(answer, fitting, truncated=False)
    count = bisect_right(ends, max_bytes - extra) - 1
    if count < 0:
        least = ends[0] + (extra if fitting else 0)
        reason = f"{max_bytes} is too small: without any content the answer has {least} bytes"
        raise SpanielError(Code.BAD_ARGS, field="max_output_bytes", reason=reason)
    if not count and fitting:
        first = _cut(fitting[0], max_bytes - extra - ends[0], counter or cl100k())
        return _with(answer, [first] if first["text"] else [], truncated=True)
    return _with(answer, fitting[:count], truncated=True)


def _with(answer: Mapping[str, object], chunks: list[dict[str, object]], *, truncated: bool) -> dict[str, object]:
    fitted = {**answer, "chunks": chunks, "truncated": truncated}
    if truncated:
        fitted["truncation_reason"] = REASON
    else:
        fitted.pop("truncation_reason", None)
    return fitted


def _cut(chunk: dict[str, object], room: int, counter: TokenCounter) -> dict[str, object]:
    """The chunk with as much of its text as leaves it at most `room` bytes.

    Half a word can have more tokens than the word: the cut goes back until the count is not over what it was.
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
