"""Reads an idle page: a snapshot as HTML, the presence of a selector, a screenshot."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from spaniel.browser.cdp import CdpError
from spaniel.defaults import WINDOW_HEIGHT, WINDOW_WIDTH
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from spaniel.browser.cdp import CdpSession, Params
    from spaniel.browser.navigation import Navigation
    from spaniel.browser.rendering import RenderOptions

MAX_ELEMENTS = 150_000
DECLARATION = "shadowrootmode"  # the attribute that declares a shadow root in markup
MAX_SEARCHED = 20_000  # elements that are searched one by one
MAX_ANIMATIONS = 300  # that are finished: each recomputes the styles of the page
SOME_TEXT = 200  # characters; a page with less is not one that fades in
LONGEST_DATA = 2_048  # characters of a data: URL that stay in the page
SMALLEST_FRAME = 40  # pixels; smaller frames of other origins have nothing to read
TRIES = 3  # a page may navigate while it is read
TALLEST, WIDEST = WINDOW_HEIGHT.high, WINDOW_WIDTH.high  # pixels of a picture
PICTURE_SECONDS = 15.0
POLL_SECONDS = 0.05  # between two checks for a selector
# Whether the page, or an open shadow root in it (nested ones too), has an element that a selector matches.
LOOK = """(selector) => {
  try { if (document.querySelector(selector)) return {found: true}; } catch { return {}; }
  const roots = [document];
  for (const root of roots) {
    for (const one of root.querySelectorAll("*")) {
      if (!one.shadowRoot) continue;
      if (one.shadowRoot.querySelector(selector)) return {found: true};
      roots.push(one.shadowRoot);
    }
  }
  return {found: false};
}"""
NO_PICTURE, CLIPPED = "picture_failed", "picture_clipped"


class PageSnapshot(NamedTuple):
    """A page as HTML."""

    url: str
    content_type: str
    body: bytes  # in UTF-8
    cut: bool


class PageReader:
    """Works in an isolated world, where the page cannot redefine anything."""

    def __init__(self, session: CdpSession, frame: str, navigation: Navigation) -> None:
        self._session, self._frame, self._navigation = session, frame, navigation

    async def copy(self, most_bytes: int) -> PageSnapshot:
        limits = {
            "bytes": most_bytes, "elements": MAX_ELEMENTS, "some": SOME_TEXT, "url": LONGEST_DATA,
            "frame": SMALLEST_FRAME, "animations": MAX_ANIMATIONS,
        }  # fmt: skip
        found = await self._evaluate(f"({script()})({msgspec.json.encode(limits).decode()})")
        body, cut = found["html"].encode("utf-8", "replace"), bool(found["cut"])
        if cut or len(body) > most_bytes:
            body, cut = body[:most_bytes].decode("utf-8", "ignore").encode(), True
        return PageSnapshot(found["url"], f"{found['type']}; charset=utf-8", body, cut)

    async def appears(self, selector: str, seconds: float) -> bool:
        """Whether an element that a selector matches appears in time. `bad_args` for an invalid selector."""
        look = f"({LOOK})({msgspec.json.encode(selector).decode()})"
        try:
            async with asyncio.timeout(seconds):
                while not (await self._found(look, selector)):  # noqa: ASYNC110  there is no event for it
                    await asyncio.sleep(POLL_SECONDS)
        except TimeoutError:
            return False
        return True

    async def _found(self, look: str, selector: str) -> bool:
        await self._navigation.ready()
        answer = await self._evaluate(look)
        if "found" not in answer:
            raise SpanielError(Code.BAD_ARGS, field="wait_for", reason=f"'{selector}' is no CSS selector")
        return bool(answer["found"])

    async def scroll(self) -> int:
        """Scroll to the end of the page; return its height."""
        found = await self._evaluate(
            "(() => { const all = document.scrollingElement || document.documentElement;"
            "all.scrollTo(0, all.scrollHeight); return {height: all.scrollHeight} })()"
        )
        return int(found["height"])

    async def has_closed_roots(self, documents: list[str], *, written: bool) -> bool:
        """Whether markup declared closed shadow roots.

        The page is searched only if the source of a document mentions them, or a script has written some.
        """
        if not written and not await self._source_has(DECLARATION, documents):
            return False
        size = await self._evaluate("({count: document.getElementsByTagName('*').length})")
        if size["count"] > MAX_SEARCHED:
            return True  # too large to search: assume so
        try:
            found = await self._session.call("DOM.getDocument", depth=-1, pierce=True)
        except CdpError:
            return True
        left: list[Params] = [found["root"]]
        while left:
            node = left.pop()
            if node.get("shadowRootType") == "closed":
                return True
            left += [*node.get("children", ()), *node.get("shadowRoots", ())]
            left += [node["contentDocument"]] if "contentDocument" in node else []
        return False

    async def _source_has(self, text: str, documents: list[str]) -> bool:
        search = "Network.searchInResponseBody"
        calls = (self._session.call(search, requestId=document, query=text) for document in documents)
        found = await asyncio.gather(*calls, return_exceptions=True)  # errors: documents that are gone or have no body
        return any(isinstance(each, dict) and each["result"] for each in found)

    async def picture(self, display: RenderOptions, most_height: int = 0) -> tuple[bytes | None, tuple[str, ...]]:
        """A PNG, and notes on it. A failure is a note, not an error."""
        call = self._session.call
        tallest = min(most_height, TALLEST) if most_height else TALLEST
        try:
            async with asyncio.timeout(PICTURE_SECONDS):
                # In a window of a usual height: in a tall one, `100vh` elements would be mostly empty.
                await call(
                    "Emulation.setDeviceMetricsOverride",
                    width=display.width, height=min(display.height, 900), deviceScaleFactor=1, mobile=False,
                )  # fmt: skip
                size = (await call("Page.getLayoutMetrics"))["cssContentSize"]
                area = {"x": 0, "y": 0, "width": min(size["width"], WIDEST), "height": min(size["height"], tallest)}
                shot = await call(
                    "Page.captureScreenshot", format="png", captureBeyondViewport=True, clip={**area, "scale": 1}
                )
        except (CdpError, TimeoutError):
            return None, (NO_PICTURE,)
        clipped = size["width"] > WIDEST or size["height"] > tallest
        return b64decode(shot["data"]), (CLIPPED,) if clipped else ()

    async def _evaluate(self, expression: str) -> Params:
        for attempt in range(TRIES):
            try:
                world = await self._session.call("Page.createIsolatedWorld", frameId=self._frame, worldName="spaniel")
                done = await self._session.call(
                    "Runtime.evaluate",
                    expression=expression,
                    contextId=world["executionContextId"],
                    returnByValue=True,
                )
            except CdpError:
                if attempt == TRIES - 1:
                    raise
                await self._navigation.ready()
                continue
            if "exceptionDetails" in done:
                text = done["exceptionDetails"].get("exception", {}).get("description", "a script failed")
                raise SpanielError(Code.EXTRACTION_FAILED, error=text)
            value: Params = done["result"]["value"]
            return value
        raise AssertionError("the last attempt raises or returns")


@cache
def script() -> str:
    return (files("spaniel.browser") / "snapshot.js").read_text(encoding="utf-8")
