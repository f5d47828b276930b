"""What is behind a URL, measured as it comes: its length and its hash, of any size in the memory of a few pieces."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from spaniel.pipeline.retrieve import follow, successful

if TYPE_CHECKING:
    from spaniel.net.deadline import Deadline
    from spaniel.net.guard import Target
    from spaniel.net.http import Page, RequestOptions
    from spaniel.pipeline.ports import Door
    from spaniel.pipeline.retrieve import Way
    from spaniel.url.value import Url

ANY_SIZE = 1 << 40  # bytes: the deadline ends what does not


class Measured(NamedTuple):
    """The content of a page after redirects (DB-07). The page itself has no body."""

    length: int
    sha256: str  # lower-case hex
    page: Page
    chain: tuple[str, ...]  # the URLs before the final one

    @property
    def content_type(self) -> str:
        """Without its parameters."""
        return self.page.headers.get("content-type", "").partition(";")[0].strip().lower()


async def measure(url: Url, door: Door, deadline: Deadline, way: Way) -> Measured:
    """Guarded, allowed by robots.txt and polite at every hop; a status that is no success is a refusal."""
    digest = sha256()
    length = 0

    def take(piece: bytes) -> None:
        nonlocal length
        length += len(piece)
        digest.update(piece)

    async def ask(url: Url, target: Target, deadline: Deadline, options: RequestOptions) -> Page:
        return await door.http.stream(url, target, deadline, take, options)

    found = await follow(url, door, ask, deadline, way)
    page = successful(found.page)
    return Measured(length, digest.hexdigest(), page, found.chain)
