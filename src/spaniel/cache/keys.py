"""The name of an entry: what was fetched, how it was rendered, for which profile (FR-WF-16, D2-24)."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

from spaniel.errors import Code, SpanielError

RENDERINGS = ("http", "browser")
SRD_PROFILE = "web_fetch"  # the one profile whose keys are exactly the SRD's


class Key(NamedTuple):
    """`hex` names the file; the rest is what it was made of, and is compared with what the file says."""

    canonical_url: str
    rendering_method: str
    profile: str | None  # "name@version"; None for the SRD's own
    hex: str


def key_for(
    canonical_url: str, rendering_method: str = "http", profile: str = SRD_PROFILE, version: str | int = 1
) -> Key:
    """Two different questions never get one key: no part may hold what separates the parts."""
    if rendering_method not in RENDERINGS:
        raise SpanielError(Code.BAD_ARGS, field="rendering_method", reason=f"is none of {', '.join(RENDERINGS)}")
    if "\n" in canonical_url:
        raise SpanielError(Code.BAD_ARGS, field="canonical_url", reason="holds a line break")
    named = None if profile == SRD_PROFILE else f"{profile}@{version}"
    if named and ("@" in profile or "\n" in named):
        raise SpanielError(Code.BAD_ARGS, field="profile", reason="holds '@' or a line break")
    return Key(canonical_url, rendering_method, named, hash_of(canonical_url, rendering_method, named))


def hash_of(canonical_url: str, rendering_method: str, profile: str | None) -> str:
    text = (
        f"{canonical_url}\n{rendering_method}" if profile is None else f"{canonical_url}\n{rendering_method}\n{profile}"
    )
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
