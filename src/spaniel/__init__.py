"""Spaniel fetches the web for programs that read it.

The names below load on first use (PEP 562), so that importing the package costs nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spaniel.app.client import Spaniel, afetch
    from spaniel.app.client import fetch_now as fetch
    from spaniel.app.settings import Settings
    from spaniel.app.settings import from_data as settings_from
    from spaniel.app.settings import load as load_settings
    from spaniel.chunking import chunk
    from spaniel.errors import SpanielError
    from spaniel.reading import extract
    from spaniel.url import canonicalize

__version__ = "0.1.0"

__all__ = [
    "Settings",
    "Spaniel",
    "SpanielError",
    "afetch",
    "canonicalize",
    "chunk",
    "extract",
    "fetch",
    "load_settings",
    "settings_from",
]

_HOME = {
    "Settings": "spaniel.app.settings:Settings",
    "Spaniel": "spaniel.app.client:Spaniel",
    "SpanielError": "spaniel.errors:SpanielError",
    "afetch": "spaniel.app.client:afetch",
    "canonicalize": "spaniel.url:canonicalize",
    "chunk": "spaniel.chunking:chunk",
    "extract": "spaniel.reading:extract",
    "fetch": "spaniel.app.client:fetch_now",
    "load_settings": "spaniel.app.settings:load",
    "settings_from": "spaniel.app.settings:from_data",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'spaniel' has no attribute {name!r}")
    from importlib import import_module

    module, _, attribute = _HOME[name].partition(":")
    value: object = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
