"""What sources need of the world: whoever can fetch brings them a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from typing import BinaryIO


class Brought(NamedTuple):
    """The decoded body of an answer, as a local file that can be read from its start and go back."""

    url: str  # where it came from in the end, after redirects
    content_type: str
    stream: BinaryIO


class Bring(Protocol):
    """Fetches a list: guarded and polite like any other fetch, its content type no matter.

    A body of more than `most` bytes is refused (`response_too_large`); whatever fails is a `SpanielError`.
    robots.txt itself is brought too. The file may go when the block ends.
    """

    def __call__(self, url: str, most: int) -> AbstractAsyncContextManager[Brought]: ...
