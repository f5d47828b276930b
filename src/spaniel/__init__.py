"""Spaniel fetches web pages and returns clean, token-counted Markdown, or one precise reason why not.

    import spaniel

    answer = spaniel.fetch("https://example.com/")
    print(answer.markdown)

The public names load on first use (PEP 562), so that importing the package costs nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spaniel.app.batching import batch
    from spaniel.app.client import Spaniel, afetch, fetch
    from spaniel.chunking import chunk
    from spaniel.errors import SpanielError
    from spaniel.pipeline.answer import Answer
    from spaniel.pipeline.extraction import extract
    from spaniel.pipeline.outcome import Outcome
    from spaniel.url import canonicalize

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Outcome",
    "Spaniel",
    "SpanielError",
    "afetch",
    "batch",
    "canonicalize",
    "chunk",
    "extract",
    "fetch",
]

_HOME = {
    "Answer": "spaniel.pipeline.answer:Answer",
    "Outcome": "spaniel.pipeline.outcome:Outcome",
    "Spaniel": "spaniel.app.client:Spaniel",
    "SpanielError": "spaniel.errors:SpanielError",
    "afetch": "spaniel.app.client:afetch",
    "batch": "spaniel.batch",  # the package itself, which can be called
    "canonicalize": "spaniel.url:canonicalize",
    "chunk": "spaniel.chunking:chunk",
    "extract": "spaniel.pipeline.extraction:extract",
    "fetch": "spaniel.app.client:fetch",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'spaniel' has no attribute {name!r}")
    from importlib import import_module

    module, _, attribute = _HOME[name].partition(":")
    home = import_module(module)
    value: object = getattr(home, attribute) if attribute else home
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
