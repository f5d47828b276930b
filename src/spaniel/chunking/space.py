"""Skipping white space, of which hostile text may have megabytes."""

from __future__ import annotations

_NEAR = 16  # characters: most runs are shorter, and a short slice is cheaper than a search


def skip_space(text: str, start: int, end: int) -> int:
    """Where the first character stands that is no white space, or the end."""
    near = text[start : min(end, start + _NEAR)]
    kept = near.lstrip()
    if kept:
        return start + len(near) - len(kept)
    return end - len(text[start:end].lstrip())


def trim_space(text: str, start: int, end: int) -> int:
    """Where the text ends without the white space at its end; the start if there is nothing else."""
    near = text[max(start, end - _NEAR) : end]
    kept = near.rstrip()
    if kept:
        return end - len(near) + len(kept)
    return start + len(text[start:end].rstrip())
