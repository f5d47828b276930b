"""What the two tools take and answer, as JSON Schema; what `web_fetch` takes stands in pipeline/request.py."""

from __future__ import annotations

from spaniel.defaults import CHUNK_TOKENS

_TEXT: dict[str, object] = {"type": "string"}
_CHUNK: dict[str, object] = {
    "heading": {"type": "string", "description": "The heading in force, or nothing"},
    "text": {"type": "string", "description": "Markdown"},
    "token_count": {"type": "integer", "minimum": 0},
}
_MORE: dict[str, object] = {
    "type": "object",
    "description": "Of a truncated answer: where web_fetch_more reads on. Chunks are numbered from 1",
    "properties": {
        "next_chunk": {"type": "integer", "minimum": 1},
        "total_chunks": {"type": "integer", "minimum": 1},
        "next_offset": {"type": "integer", "minimum": 1, "description": "Characters of that chunk given so far"},
    },
    "required": ["next_chunk", "total_chunks"],
    "additionalProperties": False,
}


def _answer(chunk: dict[str, object], required: list[str], more: dict[str, object]) -> dict[str, object]:
    """FR-WF-03, and what a tool has besides."""
    return {
        "type": "object",
        "properties": {
            "requested_url": _TEXT,
            "final_url": {"type": "string", "description": "The address after redirects"},
            "fetched_at": {"type": "string", "format": "date-time"},
            "title": _TEXT,
            "language": {"type": "string", "description": "As the page states it (BCP 47)"},
            "chunks": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": chunk,
                    "required": list(_CHUNK),
                    "additionalProperties": False,
                },
            },
            "rendering_method": {"type": "string", "enum": ["http", "browser"]},
            "truncated": {"type": "boolean", "description": "Whether the end was left out to fit the budget"},
            "truncation_reason": _TEXT,
            "more": _MORE,
            "note": {"type": "string", "description": "What is to be known about the fetch, such as cache_hit"},
            "served_at": {"type": "string", "format": "date-time", "description": "Of an answer from the cache"},
            **more,
        },
        "required": ["requested_url", "final_url", "fetched_at", "chunks", "rendering_method", "truncated", *required],
        "additionalProperties": False,
    }


OUTPUT_SCHEMA = _answer(_CHUNK, [], {})
MORE_OUTPUT_SCHEMA = _answer(
    {**_CHUNK, "number": {"type": "integer", "minimum": 1, "description": "Of a chunk that was found"}},
    ["total_chunks"],
    {
        "total_chunks": {"type": "integer", "minimum": 0, "description": "Of the whole page"},
        "matches": {"type": "integer", "minimum": 0, "description": "With find: how many chunks have the words"},
    },
)
MORE_SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "url": {
            "type": "string",
            "minLength": 1,
            "description": "The page: the URL that was given to web_fetch, or the final_url of its answer",
        },
        "from_chunk": {
            "type": "integer",
            "minimum": 1,
            "description": "The chunk to read on from: next_chunk of the answer before. Without it, the first",
        },
        "from_offset": {
            "type": "integer",
            "minimum": 0,
            "description": "Where to begin in that chunk: next_offset of the answer before, if it had one",
        },
        "find": {
            "type": "string",
            "description": "Words to look for: the chunks that have any of them, best first, instead of all in order. "
            "Words in quotation marks are looked for together",
        },
        "max_chunk_tokens": {
            "type": "integer",
            "minimum": CHUNK_TOKENS.low,
            "maximum": CHUNK_TOKENS.high,
            "description": "As in the call before; another size has other chunk numbers",
        },
    },
    "required": ["url"],
    "additionalProperties": False,
}
