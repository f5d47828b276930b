"""What a model reads: a short head, a line of dashes, and below it the page's own words, to the end (D2-32).

A page may print whatever it likes, a head like ours too. What it cannot do is stand above the first line of dashes: no
line of the head has anything of the page's but the title and the URL, each on one line behind our word. Where several
pieces of a page follow each other, each begins behind a mark that was made up for this one answer.
"""

from __future__ import annotations

import json
from secrets import token_hex
from typing import TYPE_CHECKING, cast

from spaniel.errors import shown
from spaniel.tool.web_fetch_more import NAME as READS_ON
from spaniel.tool.web_fetch_more import ReadOn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spaniel.chunking import Chunk
    from spaniel.pipeline.answer import Answer
    from spaniel.tool.web_fetch import Fetched

    Given = list[dict[str, object]]

LONGEST_TITLE = 200
LONGEST_URL = 1_000
LONGEST_GAP = 40  # characters of white space between two chunks; in JSON, what stands between them is longer
LINE = "---"


def text_of(result: Fetched | ReadOn, max_bytes: int) -> str:
    """The answer as text, in at most `max_bytes` of UTF-8."""
    first, find = (result.asked.from_chunk, result.asked.find) if isinstance(result, ReadOn) else (1, "")
    given = cast("Given", result.fields["chunks"])
    if find:
        left, body = _found(result.fields, given)
    else:
        left = _part(result, first, given)
        body = _joined(result.answer, first, given)
    head = [*_about(result.answer), *([left] if left else []), LINE]
    return _cut("\n".join([*head, body]) if body else "\n".join(head), max_bytes)


def _about(answer: Answer) -> list[str]:
    title = " ".join((answer.title or "").split())
    lines = [f"Title: {shown(title, LONGEST_TITLE)}"] if title else []
    lines.append(f"URL: {shown(answer.final_url, LONGEST_URL)}")
    return [*lines, f"Note: {answer.note}"] if answer.note else lines


def _part(result: Fetched | ReadOn, first: int, given: Given) -> str:
    """Which chunks these are and how to go on; nothing for a page that is whole."""
    more = cast("Mapping[str, int] | None", result.fields.get("more"))
    total = len(result.answer.chunks)
    if more is None:
        return f"Part: chunks {first} to {total} of {total}, the end" if given and first > 1 else ""
    call: dict[str, object] = {"url": result.answer.requested_url, "from_chunk": more["next_chunk"]}
    if "next_offset" in more:
        call["from_offset"] = more["next_offset"]
    if result.request.max_chunk_tokens is not None:
        call["max_chunk_tokens"] = result.request.max_chunk_tokens
    these = f"chunks {first} to {first + len(given) - 1}" if given else "none"
    how = f"To go on call {READS_ON} with {json.dumps(call, ensure_ascii=False)}"
    return f"Part: {these} of {total}. {how}; with find it looks for words in the whole page"


def _joined(answer: Answer, first: int, given: Given) -> str:
    """Chunks in order as the page has them: what was put between the pieces of a split block is taken out again."""
    parts: list[str] = []
    before: Chunk | None = None
    for chunk, shown_chunk in zip(answer.chunks[first - 1 :], given, strict=False):
        text = str(shown_chunk["text"])
        if before is not None:
            parts[-1] = parts[-1].removesuffix(before.closed)
            parts.append(_gap(answer.markdown, before, chunk))
            text = text.removeprefix(chunk.opened)
        parts.append(text)
        before = chunk
    return "".join(parts)


def _gap(markdown: str, before: Chunk, after: Chunk) -> str:
    between = markdown[before.end : after.start]
    return between if len(between) <= LONGEST_GAP else "\n\n"


def _found(fields: Mapping[str, object], given: Given) -> tuple[str, str]:
    matches, total = fields["matches"], fields["total_chunks"]
    if not given:
        return f"Found: none of {total} chunks has these words", ""
    mark = token_hex(3)
    best = "" if len(given) == matches else f"the best {len(given)} of "
    told = (
        f"Found: {best}{matches} chunks with these words, of {total}; each begins with a line [{mark}] and its number"
    )
    return told, "\n\n".join(_marked(chunk, mark) for chunk in given)


def _marked(chunk: Mapping[str, object], mark: str) -> str:
    heading = shown(str(chunk["heading"]), LONGEST_TITLE)
    return f"[{mark}] chunk {chunk['number']}{f', under: {heading}' if heading else ''}\n{chunk['text']}"


def _cut(text: str, max_bytes: int) -> str:
    """What fits in the JSON fits here as a rule; but a heading that is made safe to show can be longer than it was."""
    data = text.encode()
    return text if len(data) <= max_bytes else data[:max_bytes].decode(errors="ignore")
