"""What a process that is ours alone may leave undone to start sooner."""

from __future__ import annotations

import gc
import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def certificates_unread() -> Iterator[None]:
    """Import aiohttp in here: it would read the system's certificates, twice, for contexts that are never used.

    The door makes its own context when an https page is asked for. aiohttp's then trust nobody, which is why this
    stands in the command line and not in the door: a program that imports Spaniel may use aiohttp for itself.
    """
    read = ssl.SSLContext.set_default_verify_paths
    ssl.SSLContext.set_default_verify_paths = lambda self: None  # type: ignore[method-assign]  # noqa: ARG005
    try:
        yield
    finally:
        ssl.SSLContext.set_default_verify_paths = read  # type: ignore[method-assign]


def leave_garbage() -> None:
    """Loading modules makes little garbage, and looking for it takes a tenth of the start."""
    gc.disable()


def collect_again() -> None:
    """What is loaded by now stays: it need not be looked at any more."""
    gc.freeze()
    gc.enable()
