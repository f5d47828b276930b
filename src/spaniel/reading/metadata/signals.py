"""The page's declarations about its use: robots directives, text and data mining, license, free access."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.reading.text.scrub import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turbohtml import Document

MAX_DIRECTIVES = 20  # directives, and parts of a page, that are examined (chosen)
LICENSE_LINKS = ("link[rel~=license i][href]", "a[rel~=license i][href]")


def usage_signals(doc: Document, meta: Mapping[str, str], objects: list[dict[str, object]]) -> dict[str, object]:
    """Return the signals that the page contains; others are absent."""
    found = {
        "robots": directives(meta.get("robots", "")),
        "tdm_reservation": one_line(meta.get("tdm-reservation")),
        "tdm_policy": one_line(meta.get("tdm-policy")),
        "license": _license(doc, objects),
        "free": _is_free(objects),
    }
    return {name: value for name, value in found.items() if value not in (None, [])}


def directives(text: str) -> list[str]:
    """`NOINDEX, NoAI` -> noindex, noai, each once."""
    words = (word.strip().lower() for word in text.split(",")[: MAX_DIRECTIVES * 2])
    kept = [line for word in words if (line := one_line(word)) and len(line) <= 60]
    return list(dict.fromkeys(kept))[:MAX_DIRECTIVES]


def _license(doc: Document, objects: list[dict[str, object]]) -> str | None:
    for where in LICENSE_LINKS:
        if (link := doc.select_one(where)) is not None:
            return one_line(link.attr("href"))
    for thing in objects:
        value = thing.get("license")
        value = value.get("url") or value.get("@id") if isinstance(value, dict) else value
        if isinstance(value, str) and value.strip():
            return one_line(value)
    return None


def _is_free(objects: list[dict[str, object]]) -> bool | None:
    """Whether linked data marks the page and its parts as free to read; None if it says nothing."""
    directives = [
        free
        for thing in objects
        for free in (_is_accessible(thing), *map(_is_accessible, _has_part(thing)))
        if free is not None
    ]
    return all(directives) if directives else None


def _has_part(thing: dict[str, object]) -> list[dict[str, object]]:
    parts = thing.get("hasPart")
    parts = parts if isinstance(parts, list) else [parts]
    return [part for part in parts[:MAX_DIRECTIVES] if isinstance(part, dict)]


def _is_accessible(thing: dict[str, object]) -> bool | None:
    """`isAccessibleForFree` as people write it: false, "False", "http://schema.org/False"."""
    value = thing.get("isAccessibleForFree")
    if isinstance(value, bool):
        return value
    text = value.rpartition("/")[2].strip().lower() if isinstance(value, str) else ""
    return {"true": True, "false": False}.get(text)
