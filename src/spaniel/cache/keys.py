"""Cache keys: URL, rendering method, profile (FR-WF-16, D2-24)."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

from spaniel.errors import Code, SpanielError

RENDERINGS = ("http", "browser")
SRD_PROFILE = "web_fetch"  # the one profile whose keys are exactly the SRD's


class CacheKey(NamedTuple):
    """`hex` names the file; the rest is what it was made of, and is compared with the file's content."""

    canonical_url: str
    rendering_method: str
    profile: str | None  # "name@version"; None for the SRD's own
    hex: str
    overrides: str  # of the security settings; "" where none is in force


def key_for(
    canonical_url: str,
    rendering_method: str = "http",
    profile: str = SRD_PROFILE,
    version: str | int = 1,
    overrides: str = "",
) -> CacheKey:
    """Keys are unambiguous: no part may contain the separators.

    `overrides` lists the security settings that are switched off: a strict run must not get cached pages that it could
    not have fetched itself.
    """
    if rendering_method not in RENDERINGS:
        raise SpanielError(Code.BAD_ARGS, field="rendering_method", reason=f"is none of {', '.join(RENDERINGS)}")
    if "\n" in canonical_url:
        raise SpanielError(Code.BAD_ARGS, field="canonical_url", reason="holds a line break")
    named = None if profile == SRD_PROFILE else f"{profile}@{version}"
    if named and ("@" in profile or "\n" in named):
        raise SpanielError(Code.BAD_ARGS, field="profile", reason="holds '@' or a line break")
    if "\n" in overrides:
        raise SpanielError(Code.BAD_ARGS, field="overrides", reason="holds a line break")
    hex_key = hash_of(canonical_url, rendering_method, named, overrides)
    return CacheKey(canonical_url, rendering_method, named, hex_key, overrides)


def hash_of(canonical_url: str, rendering_method: str, profile: str | None, overrides: str = "") -> str:
    """The specified key has two lines; a third has the profile, a fourth the overrides."""
    parts = [canonical_url, rendering_method]
    if overrides:
        parts += [profile or "", overrides]
    elif profile is not None:
        parts.append(profile)
    return sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
