"""The request, options and result of a rendering."""

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

# The protocol's resource types, without `document`, which is the page itself.
RESOURCES = (
    "stylesheet", "image", "media", "font", "script", "texttrack", "xhr", "fetch", "prefetch", "eventsource",
    "websocket", "manifest", "signedexchange", "ping", "cspviolationreport", "preflight", "fedcm", "other",
)  # fmt: skip


class RenderOptions(NamedTuple):
    """The viewport, and what to wait for."""

    width: int = WINDOW_WIDTH.default
    height: int = WINDOW_HEIGHT.default
    idle_ms: int = IDLE_MS.default  # the longest wait until it is idle
    wait_for: str = ""  # a CSS selector that must match before the page is read
    scrolls: int = SCROLLS.default  # to the end of the page, as long as it grows

    @property
    def metrics(self) -> dict[str, object]:
        """Arguments of setDeviceMetricsOverride. The layout has the full size; it is painted small, which is faster."""
        return {"width": self.width, "height": self.height, "deviceScaleFactor": 1, "mobile": False, "scale": 0.1}


class BrowserSettings(NamedTuple):
    """The settings `[tools.webfetch.browser]`."""

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
        """The names in lower case; `bad_args` for one that the protocol does not have."""
        for name in self.block_resources:
            if name.lower() not in RESOURCES:
                raise SpanielError(
                    Code.BAD_ARGS,
                    field="tools.webfetch.browser.block_resources",
                    reason=f"there is no resource type '{name}'; {nearest(name.lower(), RESOURCES)}",
                )
        return frozenset(name.lower() for name in self.block_resources)


class Gate(Protocol):
    """Called before each document of the page itself: the first, and every navigation."""

    async def __call__(self, url: Url, target: Target, /) -> str | None:
        """Raises a refusal; otherwise returns a note for the result, if any."""


class RenderRequest(NamedTuple):
    """A page to render."""

    url: Url
    target: Target  # of the URL, vetted already: its host is not resolved again
    gate: Gate
    timeout_seconds: float = TIMEOUT_SECONDS.default
    max_redirects: int = MAX_REDIRECTS.default
    picture: bool = False
    user_agent: str = ""  # empty: Chromium's own
    types: frozenset[str] = loadable_types()  # the content types of documents that are rendered
    languages: str = ""  # Accept-Language
    display: RenderOptions | None = None  # None: those of the settings
    picture_height: int = 0  # the maximum height of a screenshot in pixels; 0: no limit
    max_document_bytes: int = 0  # of the page's own document; 0: the limit of the egress proxy


class DocumentHead(NamedTuple):
    """The response head of the current document."""

    status: int = 0
    reason: str = ""
    headers: Mapping[str, str] = MappingProxyType({})  # names in lower case


class RenderedPage(NamedTuple):
    """A rendered page."""

    url: Url
    head: DocumentHead
    content_type: str
    body: bytes  # in UTF-8
    chain: tuple[str, ...]  # the URLs before the final one
    notes: tuple[str, ...]
    picture: bytes | None = None
