"""What goes into a rendering and what comes out."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from spaniel.defaults import (
    BLOCKED_RESOURCES,
    IDLE_MS,
    MAX_REDIRECTS,
    RENDERED_BYTES,
    SCROLLS,
    TIMEOUT_SECONDS,
    WINDOW_HEIGHT,
    WINDOW_WIDTH,
)
from spaniel.errors import Code, SpanielError
from spaniel.reading.kinds import loadable_types
from spaniel.tables import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spaniel.net.guard import Target
    from spaniel.url.value import Url

PARTIAL = "browser_timeout_dom_partial"
TRUNCATED = "browser_dom_truncated"
CLOSED = "closed_shadow_roots"
MISSING = "wait_for_missing"

# The protocol's names for what a request is for; a document is what was asked for, and is not among them.
RESOURCES = (
    "stylesheet", "image", "media", "font", "script", "texttrack", "xhr", "fetch", "prefetch", "eventsource",
    "websocket", "manifest", "signedexchange", "ping", "cspviolationreport", "preflight", "fedcm", "other",
)  # fmt: skip


class RenderOptions(NamedTuple):
    """How a page is shown, and what is waited for."""

    width: int = WINDOW_WIDTH.default
    height: int = WINDOW_HEIGHT.default
    idle_ms: int = IDLE_MS.default  # the longest wait for its rest
    wait_for: str = ""  # a CSS selector: the page is not read before something matches it
    scrolls: int = SCROLLS.default  # times that it is scrolled to its end, as long as it grows

    @property
    def metrics(self) -> dict[str, object]:
        """As the protocol wants to know it. The page is laid out as large as it is, and painted small: nobody looks."""
        return {"width": self.width, "height": self.height, "deviceScaleFactor": 1, "mobile": False, "scale": 0.1}


class BrowserSettings(NamedTuple):
    """The SRD's `[tools.webfetch.browser]`."""

    chromium_path: str = ""
    network_idle_ms: int = IDLE_MS.default
    max_rendered_dom_bytes: int = RENDERED_BYTES.default
    block_resources: tuple[str, ...] = BLOCKED_RESOURCES
    viewport_width: int = WINDOW_WIDTH.default
    viewport_height: int = WINDOW_HEIGHT.default
    wait_for: str = ""
    scrolls: int = SCROLLS.default
    no_sandbox: bool = False

    @property
    def display(self) -> RenderOptions:
        return RenderOptions(
            self.viewport_width, self.viewport_height, self.network_idle_ms, self.wait_for, self.scrolls
        )

    def blocked(self) -> frozenset[str]:
        """The names in small letters; one that the protocol does not have is a mistake in the settings."""
        for name in self.block_resources:
            if name.lower() not in RESOURCES:
                raise SpanielError(
                    Code.BAD_ARGS,
                    field="tools.webfetch.browser.block_resources",
                    reason=f"there is no resource type '{name}'; {nearest(name.lower(), RESOURCES)}",
                )
        return frozenset(name.lower() for name in self.block_resources)


class Gate(Protocol):
    """Asked before each document of the page itself, the first and every one that it moves on to."""

    async def __call__(self, url: Url, target: Target, /) -> str | None:
        """Raises a refusal; else the note that the answer should carry, if any."""


class RenderRequest(NamedTuple):
    """One rendering, as it is asked for."""

    url: Url
    target: Target  # of the URL, judged already: its host is not looked up again
    gate: Gate
    timeout_seconds: float = TIMEOUT_SECONDS.default
    max_redirects: int = MAX_REDIRECTS.default
    picture: bool = False
    user_agent: str = ""  # empty: Chromium's own
    types: frozenset[str] = loadable_types()  # the content types of documents that are worth rendering
    languages: str = ""  # Accept-Language
    display: RenderOptions | None = None  # None: as the settings say
    picture_height: int = 0  # pixels of the tallest picture; 0: as tall as it can be made
    max_document_bytes: int = 0  # of the page's own document; 0: as much as the way out lets in


class DocumentHead(NamedTuple):
    """How the server answered for the document that is shown."""

    status: int = 0
    reason: str = ""
    headers: Mapping[str, str] = MappingProxyType({})  # names in lower case


class RenderedPage(NamedTuple):
    """A page as Chromium shows it."""

    url: Url
    head: DocumentHead
    content_type: str
    body: bytes  # in UTF-8
    chain: tuple[str, ...]  # the URLs before the final one
    notes: tuple[str, ...]
    picture: bytes | None = None
