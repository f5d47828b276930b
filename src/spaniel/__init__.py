"""Spaniel fetches the web for programs that read it.

The names below load on first use (PEP 562), so that importing the package costs nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spaniel.chunking import chunk
    from spaniel.errors import SpanielError
    from spaniel.reading import extract
    from spaniel.url import canonicalize

__version__ = "0.1.0"

__all__ = ["SpanielError", "canonicalize", "chunk", "extract"]

_HOME = {
    "SpanielError": "spaniel.errors",
    "canonicalize": "spaniel.url",
    "chunk": "spaniel.chunking",
    "extract": "spaniel.reading",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'spaniel' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
