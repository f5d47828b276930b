"""What can be seen of the settings for the browser's window and its waiting: scenarios for test_every_setting.py."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path

from tests.browser.harness import WORDS, alive, html
from tests.mcp.harness import at, client_of
from tests.pipeline.settings_scenarios import Place

PAGE = html(
    f"<h1>Window</h1><p>{WORDS * 12}</p><p id=size></p><div style='height: 9000px'></div><script>"
    "size.textContent = `It is ${innerWidth} wide and ${innerHeight} high.`;"
    "addEventListener('scroll', () => size.append(' It was scrolled.'))</script>"
)


async def window(place: Place) -> object:
    """The size that the page sees, and whether it was scrolled."""
    place.site.pages["/window"] = PAGE
    async with place.spaniel() as spaniel:
        markdown = (await spaniel.fetch(place.site.url("/window"), force_browser=True)).markdown
    size = markdown.partition("It is ")[2].partition(" high")[0]
    return size.replace(" wide and ", "x"), "was scrolled" in markdown


async def note_of_the_window(place: Place) -> object:
    place.site.pages["/window"] = PAGE
    async with place.spaniel() as spaniel:
        return (await spaniel.fetch(place.site.url("/window"), force_browser=True)).note


async def height_over_mcp(place: Place) -> object:
    """Of a screenshot that a model asks for."""
    place.site.pages["/window"] = PAGE
    async with client_of(str(place.file)) as client:
        result = await client.call_tool("web_fetch", {"url": at(place.site, "/window"), "screenshot": True})
    [picture] = [b64decode(block.data) for block in result.content if block.type == "image"]
    assert "picture_clipped" in (result.structured_content or {})["note"]
    return int.from_bytes(picture[20:24], "big")


async def sandbox(place: Place) -> object:
    """Whether any process of Chromium was started without it."""
    place.site.pages["/window"] = PAGE
    async with place.spaniel() as spaniel:
        await spaniel.fetch(place.site.url("/window"), force_browser=True)
        return any(b"--no-sandbox" in _command(pid) for pid in alive())


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
