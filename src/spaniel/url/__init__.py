"""URLs as values, and the policies that canonicalize them."""

from __future__ import annotations

from spaniel.url.canonical import Canonical
from spaniel.url.policy import Policy, canonicalize, load
from spaniel.url.value import Url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spaniel.url.parsing import parse

__all__ = ["Canonical", "Policy", "Url", "canonicalize", "load", "parse"]


def __getattr__(name: str) -> object:
    if name != "parse":
        raise AttributeError(f"module 'spaniel.url' has no attribute {name!r}")
    from spaniel.url.parsing import parse  # loaded when used: canonicalizing a plain URL needs no parser

    return parse
