"""A site, a settings file, and what can be seen of a setting: scenarios for test_every_setting.py."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from spaniel.app.client import Spaniel
from spaniel.app.engine import Engine
from spaniel.app.keys import Value, toml
from spaniel.app.settings import Settings, load
from spaniel.browser.rendering import DocumentHead, RenderedPage, RenderRequest
from spaniel.cli.db import main as run_db
from spaniel.cli.db import parser as db_parser
from spaniel.errors import SpanielError
from spaniel.pipeline.outcome import Outcome
from spaniel.pipeline.profile import from_data
from spaniel.pipeline.profile import load as load_profile
from spaniel.pipeline.request import Request
from spaniel.testing import FakeResolver, Page, Reply, Site, html, redirect, text
from spaniel.tool import registry_for
from spaniel.tool.framework import ToolCtx, ToolError
from spaniel.url.value import split
from tests.browser.harness import script
from tests.mcp.harness import at, client_of
from tests.net.servers import authority, proxying, serve, site, tls_for
from tests.tool.harness import LONG

NOWHERE = "/nowhere/chromium"


async def late() -> Reply:
    await asyncio.sleep(1.5)
    return text("late")


PAGES: dict[str, Page] = {
    "/robots.txt": text("User-agent: *\nDisallow: /no\n"),
    "/a": text("hello"),
    "/late": late,
    "/moved": redirect("/a"),
    "/long": text(LONG),
    "/other": text(LONG[::-1]),
    "/shell": html(f"<title>App</title><div id=root>{'a few words ' * 9}</div>"),
    "/empty": html("<title>App</title><div></div><script src=/app.js></script>"),
    "/app": html("<title>App</title><div id=root></div><script src=/app.js></script>"),
    "/app.js": script("fetch('/late').then(r => r.text()).then(t => root.textContent = t + ' words '.repeat(500))"),
}


class Place:
    """A site, a folder, and the settings that a file there holds."""

    def __init__(self, site: Site, folder: Path, given: Mapping[str, Value]) -> None:
        self.site, self.folder, self.file = site, folder, folder / "settings.toml"
        tables: dict[str, list[str]] = defaultdict(list)
        for path, value in given.items():
            table, _, name = path.rpartition(".")
            tables[table].append(f"{name} = {toml(value)}\n")
        self.file.write_text("".join(f"[{table}]\n{''.join(rows)}" for table, rows in tables.items()), "utf-8")

    @property
    def settings(self) -> Settings:
        return load(str(self.file), cwd=str(self.folder))

    @asynccontextmanager
    async def spaniel(self, renderer: Painter | None = None) -> AsyncIterator[Spaniel]:
        async with (
            Engine(self.settings, FakeResolver(), renderer=renderer) as engine,
            Spaniel(engine=engine) as spaniel,
        ):
            yield spaniel

    async def fetched(self, *paths: str, **how: bool) -> list[str]:
        """What became of each, in order, by one Spaniel: the beginning of its text, or the code of the refusal."""
        async with self.spaniel() as spaniel:
            return [await ended(spaniel, self.site.url(path) if path[0] == "/" else path, **how) for path in paths]


async def ended(spaniel: Spaniel, url: str, **how: Any) -> str:
    try:
        return (await spaniel.answer(Request(url, **how))).markdown[:5].strip()
    except SpanielError as error:
        return str(error.code)


class Painter:
    """A browser that shows the same page for every URL, and remembers for which."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def render(self, wanted: RenderRequest) -> RenderedPage:
        self.asked.append(wanted.url.path)
        return RenderedPage(wanted.url, DocumentHead(200), "text/html", b"<p>painted</p>", (), ())


Look = Callable[[Place], Awaitable[object]]


def fetching(path: str) -> Look:
    async def look(place: Place) -> object:
        return (await place.fetched(path))[0]

    return look


def requests(path: str, *visits: str, **how: bool) -> Look:
    """How often a path is asked for in the course of some visits."""

    async def look(place: Place) -> object:
        await place.fetched(*visits, **how)
        return place.site.requests[path]

    return look


def painted(path: str) -> Look:
    """What the browser is asked for when a page is."""

    async def look(place: Place) -> object:
        painter = Painter()
        async with place.spaniel(painter) as spaniel:
            await spaniel.fetch(place.site.url(path))
        return painter.asked

    return look


async def call_the_tool(place: Place) -> object:
    """The text of its first chunk, or the field that is complained of."""
    async with place.spaniel() as client:
        registry = registry_for(client, place.settings)
        try:
            answer = await registry.execute("web_fetch", {"url": place.site.url("/a")}, ToolCtx())
        except ToolError as error:
            return error.error.details["field"]
        return json.loads(answer)["chunks"][0]["text"]


async def call_over_mcp(place: Place) -> tuple[bool, bool]:
    """Whether the answer was cut, and whether the chunks that did not fit are linked."""
    async with client_of(str(place.file)) as client:
        result = await client.call_tool("web_fetch", {"url": at(place.site, "/long")})
        assert result.structured_content is not None
        links = [block for block in result.content if block.type == "resource_link"]
        return bool(result.structured_content["truncated"]), bool(links)


async def largest_chunk(place: Place) -> object:
    async with place.spaniel() as spaniel:
        return max(chunk.token_count for chunk in (await spaniel.fetch(place.site.url("/long"))).chunks) <= 128


async def cache_folder(place: Place) -> object:
    await place.fetched("/a")
    return [str(index.parent.relative_to(place.folder)) for index in place.folder.rglob("index.sqlite3")]


async def robots_files_in_memory(place: Place) -> object:
    """Two hosts, then the first again, when the copy on disk is gone."""
    async with place.spaniel() as spaniel:
        for host in ("one.example", "two.example", "one.example"):
            shutil.rmtree(Path(place.settings.cache.folder) / "robots", ignore_errors=True)
            await spaniel.fetch(place.site.url("/a", host), no_cache=True)
    return place.site.requests["/robots.txt"]


async def without_robots_txt(place: Place) -> object:
    place.site.pages = {**PAGES, "/robots.txt": text("", 503)}
    return (await place.fetched("/a"))[0]


async def through_a_proxy(place: Place) -> object:
    async with serve(proxying, "127.0.0.8") as proxy:
        with pytest.MonkeyPatch.context() as patch:
            for name in ("no_proxy", "NO_PROXY", "http_proxy"):
                patch.delenv(name, raising=False)
            patch.setenv("HTTP_PROXY", proxy.url())
            assert await place.fetched("/a") == ["hello"]
        return [request.target.rpartition("/")[2] for request in proxy.heard]


def elsewhere(fallback: str) -> Look:
    """Where a fallback looks for a page whose host name no longer resolves, or why it does not."""

    async def look(place: Place) -> object:
        usual = {**given(place), "tools.webfetch.security.allowed_ports": (80, 443)}
        settings = Place(place.site, place.folder, usual).settings
        outcome = await _outcome_with(
            settings, FakeResolver(elsewhere=None), ["http", fallback], "http://gone.example/docs/a"
        )
        if outcome.left_out:
            return outcome.left_out[0].why
        return split(outcome.attempts[-1].url).host

    return look


async def where_copies_are(place: Place) -> object:
    """The archive knows a copy; where it is fetched from."""
    copy = {"closest": {"available": True, "timestamp": "20200102030405"}}
    place.site.pages["/available"] = text(json.dumps({"archived_snapshots": copy}))
    available = {"spaniel.archive.available": place.site.url("/available?url={url}", "api.example")}
    settings = Place(place.site, place.folder, {**given(place), **available}).settings
    outcome = await _outcome_with(settings, FakeResolver(), ["http", "archive"], place.site.url("/gone"))
    return split(outcome.attempts[-1].url).host


async def queue_two(place: Place) -> object:
    """What becomes of the second page that fails."""
    for path in ("/gone", "/lost"):
        outcome = await _outcome_with(place.settings, FakeResolver(), ["http", "queue"], place.site.url(path))
    return outcome.attempts[-1].outcome


async def _outcome_with(settings: Settings, resolver: FakeResolver, fallbacks: list[str], url: str) -> Outcome:
    profile = from_data({"name": "profile_with", "version": "1", "fallbacks": fallbacks}, "test")
    async with Engine(settings, resolver) as engine, Spaniel(engine=engine, profile=profile) as spaniel:
        return await spaniel.outcome(url)


async def over_tls(place: Place) -> object:
    async with serve(site({"/": (200, ["Content-Type: text/plain"], b"hello")}), tls=tls_for("site.example")) as secure:
        place = Place(
            place.site, place.folder, {**given(place), "tools.webfetch.security.allowed_ports": (secure.port,)}
        )
        return (await place.fetched(secure.url("/", "site.example")))[0] == "hello"


def freshness_rules(folder: Path) -> Value:
    file = folder / "freshness.toml"
    file.write_text('[classes]\nours = 3\n[[rules]]\nclass = "ours"\npaths = ["/a"]\n', "utf-8")
    return str(file)


async def class_of_a_page(place: Place) -> object:
    async with place.spaniel() as spaniel:
        view = spaniel.with_profile(load_profile("ingest")._replace(freshness=True))
        return (await view.outcome(place.site.url("/a"))).require().page.freshness


async def where_links_are_kept(place: Place) -> object:
    """The folder that `spaniel db init` makes, seen from the working folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place.folder)
        run_db(db_parser().parse_args(["init", "--config", str(place.file)]))
    return [found.parent.name for found in place.folder.glob("*/registry.toml")]


async def what_is_learnt(place: Place) -> object:
    """Whether canonicalizing online leaves a file behind: here is a page that is gone without its slash."""
    place.site.pages["/needs/"] = text("slash")
    async with place.spaniel() as spaniel:
        assert str(await spaniel.canonicalize(place.site.url("/needs/"), "clara")).endswith("/needs/")
    return (place.folder / "learnt.toml").exists()


def given(place: Place) -> dict[str, Value]:
    return {path: setting.value for path, setting in place.settings.items() if setting.source != "default"}


async def the_browsers_refusal(place: Place) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(place.folder))  # nothing to be found there
        async with place.spaniel() as spaniel:
            with pytest.raises(SpanielError) as caught:
                await spaniel.fetch(place.site.url("/a"), force_browser=True)
    details = caught.value.details
    return details["chromium_path"], str(details["error"]).startswith("it is disabled")


async def note_of_the_browser(place: Place) -> object:
    """Of a real Chromium."""
    async with place.spaniel() as spaniel:
        notes = (await spaniel.fetch(place.site.url("/app"), force_browser=True)).notes
        return notes[0] if notes else None  # what else there is to say of a page cut short follows


async def user_agent(place: Place) -> object:
    await place.fetched("/a")
    return {seen["user-agent"] for seen in place.site.seen}  # for robots.txt too


async def may_open(place: Place) -> object:
    try:
        return await place.fetched("/a") == ["hello"]
    except SpanielError as error:
        assert "allow_insecure_overrides" in error.message
        return False


def certificates(folder: Path) -> Value:
    authority().cert_pem.write_to_path(str(folder / "ca.pem"))
    return str(folder / "ca.pem")
