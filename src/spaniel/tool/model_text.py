"""The text a model reads: a short header, a line of dashes, then only the page's own text (D2-32).

A page can imitate our header, but it cannot put anything above the first line of dashes: the header takes only the
title and the URL from the page, each on one line after our own label. Where several chunks of a page are shown
separately, each starts with a random mark made for this one answer.
"""

from __future__ import annotations

import json
from secrets import token_hex
from typing import TYPE_CHECKING, cast

from spaniel.errors import shown
from spaniel.tool.web_fetch_more import NAME as MORE_TOOL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spaniel.chunking import Chunk
    from spaniel.pipeline.answer import Answer
    from spaniel.tool.framework import PageResult, ToolResult

    Chunks = list[dict[str, object]]

# Characters, chosen so that the header stays a few lines.
LONGEST_TITLE = 200
LONGEST_URL = 1_000
LONGEST_GAP = 40  # white space between two chunks; a longer gap costs more than it does in the JSON
LINE = "---"


def text_of(result: ToolResult, max_bytes: int) -> str:
    """The result as text, in at most `max_bytes` of UTF-8; JSON unless it is part of a page."""
    if (page := result.page) is None:
        from spaniel.chunking import serialize

        return serialize(result.fields)
    chunks = cast("Chunks", result.fields["chunks"])
    if page.find:
        part, body = _found(result.fields, chunks)
    else:
        part = _part(page, result.fields, chunks)
        body = _joined(page.answer, page.from_chunk, chunks)
    head = [*_about(page.answer), *([part] if part else []), LINE]
    return _cut("\n".join([*head, body]) if body else "\n".join(head), max_bytes)


def _about(answer: Answer) -> list[str]:
    title = " ".join((answer.title or "").split())
    lines = [f"Title: {shown(title, LONGEST_TITLE)}"] if title else []
    lines.append(f"URL: {shown(answer.final_url, LONGEST_URL)}")
    return [*lines, f"Note: {answer.note}"] if answer.note else lines


def _part(page: PageResult, fields: Mapping[str, object], chunks: Chunks) -> str:
    """Which chunks these are and how to continue; empty if the page is complete."""
    more = cast("Mapping[str, int] | None", fields.get("more"))
    first, total = page.from_chunk, len(page.answer.chunks)
    if more is None:
        return f"Part: chunks {first} to {total} of {total}, the end" if chunks and first > 1 else ""
    call: dict[str, object] = {"url": page.answer.requested_url, "from_chunk": more["next_chunk"]}
    if "next_offset" in more:
        call["from_offset"] = more["next_offset"]
    if page.request.max_chunk_tokens is not None:
        call["max_chunk_tokens"] = page.request.max_chunk_tokens
    these = f"chunks {first} to {first + len(chunks) - 1}" if chunks else "none"
    how = f"To continue, call {MORE_TOOL} with {json.dumps(call, ensure_ascii=False)}"
    return f"Part: {these} of {total}. {how}; with find it searches the whole page"


def _joined(answer: Answer, first: int, chunks: Chunks) -> str:
    """Consecutive chunks as one text: fences added where a block was split are removed again."""
    parts: list[str] = []
    before: Chunk | None = None
    for chunk, shown_chunk in zip(answer.chunks[first - 1 :], chunks, strict=False):
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


def _found(fields: Mapping[str, object], chunks: Chunks) -> tuple[str, str]:
    matches, total = fields["matches"], fields["total_chunks"]
    if not chunks:
        return f"Found: none of {total} chunks contains these words", ""
    mark = token_hex(3)
    best = "" if len(chunks) == matches else f"the best {len(chunks)} of "
    summary = f"Found: {best}{matches} chunks with these words, of {total}; each starts with [{mark}] and its number"
    return summary, "\n\n".join(_marked(chunk, mark) for chunk in chunks)


def _marked(chunk: Mapping[str, object], mark: str) -> str:
    heading = shown(str(chunk["heading"]), LONGEST_TITLE)
    return f"[{mark}] chunk {chunk['number']}{f', under: {heading}' if heading else ''}\n{chunk['text']}"


def _cut(text: str, max_bytes: int) -> str:
    """What fits as JSON usually fits as text, but escaping can make a heading longer."""
    data = text.encode()
    return text if len(data) <= max_bytes else data[:max_bytes].decode(errors="ignore")
