"""JSON Schemas of the tools' arguments and results; the arguments of `web_fetch` are in pipeline/request.py."""

from __future__ import annotations

from spaniel.defaults import CHUNK_TOKENS

_TEXT: dict[str, object] = {"type": "string"}
_CHUNK: dict[str, object] = {
    "heading": {"type": "string", "description": "The heading above this chunk, or empty"},
    "text": {"type": "string", "description": "Markdown"},
    "token_count": {"type": "integer", "minimum": 0},
}
_MORE: dict[str, object] = {
    "type": "object",
    "description": "For a truncated answer: where web_fetch_more continues. Chunks are numbered from 1",
    "properties": {
        "next_chunk": {"type": "integer", "minimum": 1},
        "total_chunks": {"type": "integer", "minimum": 1},
        "next_offset": {"type": "integer", "minimum": 1, "description": "Characters of that chunk already returned"},
    },
    "required": ["next_chunk", "total_chunks"],
    "additionalProperties": False,
}


def _answer(chunk: dict[str, object], required: list[str], more: dict[str, object]) -> dict[str, object]:
    """FR-WF-03, with the fields that a tool adds."""
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
            "note": {"type": "string", "description": "Remarks about the fetch, such as cache_hit"},
            "served_at": {"type": "string", "format": "date-time", "description": "When a cached answer was served"},
            **more,
        },
        "required": ["requested_url", "final_url", "fetched_at", "chunks", "rendering_method", "truncated", *required],
        "additionalProperties": False,
    }


OUTPUT_SCHEMA = _answer(_CHUNK, [], {})
MORE_OUTPUT_SCHEMA = _answer(
    {**_CHUNK, "number": {"type": "integer", "minimum": 1, "description": "The number of a chunk found by find"}},
    ["total_chunks"],
    {
        "total_chunks": {"type": "integer", "minimum": 0, "description": "Chunks in the whole page"},
        "matches": {"type": "integer", "minimum": 0, "description": "With find: how many chunks contain the words"},
    },
)
MORE_SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "url": {
            "type": "string",
            "minLength": 1,
            "description": "The page: the URL passed to web_fetch, or the final_url of its answer",
        },
        "from_chunk": {
            "type": "integer",
            "minimum": 1,
            "description": "The chunk to continue from: next_chunk of the previous answer. Default: the first",
        },
        "from_offset": {
            "type": "integer",
            "minimum": 0,
            "description": "Where to start in that chunk: next_offset of the previous answer, if it had one",
        },
        "find": {
            "type": "string",
            "description": "Words to search for: the chunks with any of them, best first, instead of all in order. "
            "Words in quotation marks are searched as a phrase",
        },
        "max_chunk_tokens": {
            "type": "integer",
            "minimum": CHUNK_TOKENS.low,
            "maximum": CHUNK_TOKENS.high,
            "description": "As in the previous call; a different size changes the chunk numbers",
        },
    },
    "required": ["url"],
    "additionalProperties": False,
}
