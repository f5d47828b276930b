"""Which way a page is fetched, where no Chromium is needed to know: refusals, notes, signs, keys."""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from spaniel.app.client import Spaniel
from spaniel.app.engine import Engine
from spaniel.browser.find import NAMES, find_path
from spaniel.browser.rendering import PARTIAL, BrowserSettings, DocumentHead, RenderedPage, RenderRequest
from spaniel.errors import Code, SpanielError
from spaniel.pipeline.page_types import shell_in
from spaniel.pipeline.request import Request
from spaniel.pipeline.retrieve import Renders
from spaniel.testing import FakeResolver, Page, Site, settings_for
from spaniel.url.hostlists import domains
from tests.browser.harness import html

SHELL = html("<title>App</title><div id=root></div><p>Please wait</p><script type=module src=/app.js></script>")
MISSING: dict[str, object] = {"chromium_path": "/nowhere/chromium"}


def opened(site: Site, cache: Path, browser: dict[str, object] | None = None, **webfetch: Any) -> Spaniel:
    return Spaniel(settings_for(site, cache=cache, browser=browser or MISSING, **webfetch), FakeResolver())


@asynccontextmanager
async def rendered_by(renderer: Renders, site: Site, cache: Path) -> AsyncIterator[Spaniel]:
    """A Spaniel whose browser is this one."""
    async with (
        Engine(settings_for(site, cache=cache), FakeResolver(), renderer=renderer) as engine,
        Spaniel(engine=engine) as spaniel,
    ):
        yield spaniel


async def refusal(spaniel: Spaniel, url: str) -> SpanielError:
    with pytest.raises(SpanielError) as caught:
        await spaniel.fetch(url, force_browser=True)
    return caught.value


@pytest.mark.req("IT-WF-BR-02", "FR-WF-11a", "FR-WF-12a", "FR-WF-18")
async def test_forced_without_chromium_is_browser_unavailable(tmp_path: Path) -> None:
    async with Site({"/": SHELL}) as site, opened(site, tmp_path) as spaniel:
        error = await refusal(spaniel, site.url("/"))
        assert (str(error.code), error.retryable) == ("browser_unavailable", False)
        assert error.details["chromium_path"] == "/nowhere/chromium"
        assert site.requests["/"] == 0
    async with Site({"/": SHELL}) as site, opened(site, tmp_path, {"enabled": False}) as spaniel:
        error = await refusal(spaniel, site.url("/"))
        assert (str(error.code), error.retryable) == ("browser_unavailable", False)
        assert "disabled" in error.message


@pytest.mark.req("IT-WF-BR-02", "FR-WF-11a")
async def test_each_chromium_that_cannot_be_run_is_browser_unavailable(tmp_path: Path) -> None:
    """A folder, a file without the right to run it, a relative path, a name that is not on the PATH."""
    (tmp_path / "text").write_text("no program", encoding="utf-8")
    for path in (str(tmp_path), str(tmp_path / "text"), "./chromium", "no-such-chromium"):
        async with Site({"/": SHELL}) as site, opened(site, tmp_path / "cache", {"chromium_path": path}) as spaniel:
            error = await refusal(spaniel, site.url("/"))
            assert str(error.code) == "browser_unavailable"
            assert site.requests["/"] == 0


@pytest.mark.req("FR-WF-11a")
@pytest.mark.parametrize(
    ("browser", "on_path", "said"),
    [
        ({"chromium_path": ""}, "", "Install chromium"),
        ({"chromium_path": "/nowhere/chromium"}, "", "Correct tools.webfetch.browser.chromium_path"),
        ({"chromium_path": "nowhere"}, "", "Correct tools.webfetch.browser.chromium_path"),
        ({"chromium_path": "./chromium"}, "", "Correct tools.webfetch.browser.chromium_path"),
        ({"enabled": False}, "", "browser.enabled = true"),
        ({"chromium_path": ""}, "echo No usable sandbox >&2; exit 1", "spaniel doctor"),
        ({"chromium_path": ""}, "echo missing library: not found >&2; exit 127", "spaniel doctor"),
    ],
)
async def test_install_chromium_is_the_hint_only_where_there_is_none(
    browser: dict[str, object], on_path: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if on_path:
        program = tmp_path / "chromium"
        program.write_text(f"#!/bin/sh\n{on_path}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path) if on_path else "/nowhere")
    async with Site({"/": SHELL}) as site, opened(site, tmp_path / "cache", browser) as spaniel:
        error = await refusal(spaniel, site.url("/"))
    assert str(error.code) == "browser_unavailable"
    assert said in error.hint
    assert ("nstall" in error.hint) is (said == "Install chromium")


@pytest.mark.req("FR-WF-12d", "FR-WF-12c", "D2-05")
async def test_without_chromium_the_http_page_is_returned_and_not_cached(tmp_path: Path) -> None:
    async with Site({"/": SHELL}) as site, opened(site, tmp_path) as spaniel:
        for _ in range(2):
            answer = await spaniel.fetch(site.url("/"))
            assert (answer.rendering_method, answer.note) == ("http", "browser_unavailable_used_http")
        assert site.requests["/"] == 2


@pytest.mark.req("FR-WF-12d", "FR-WF-12")
async def test_http_page_is_returned_if_the_browser_fails(tmp_path: Path) -> None:
    whole = html(
        f"<title>Text</title><div id=root></div><p>{'Words of the page. ' * 30}</p><script type=module></script>"
    )
    async with Site({"/": SHELL, "/whole": whole}) as site, opened(site, tmp_path) as spaniel:
        answer = await spaniel.fetch(site.url("/"))
        assert "Please wait" in answer.markdown
        assert answer.as_dict()["note"] == "browser_unavailable_used_http"
        assert (await spaniel.fetch(site.url("/whole"))).note is None


@pytest.mark.req("FR-WF-12e", "FR-WF-12c")
@pytest.mark.parametrize(
    ("page", "webfetch", "note"),
    [
        (SHELL, {"rendering": {"spa_fallback_enabled": False}}, None),
        (SHELL, {"rendering": {"min_extracted_chars": 0, "empty_fallback": False}}, None),
        (SHELL, {"browser": {"enabled": False}}, None),
        (html("<p>short, and no sign of a script that would make it longer</p>"), {}, None),
        ((200, {"Content-Type": "text/plain"}, b'id="root"'), {}, "browser_unavailable_used_http"),
        (html("<div id=root></div>", 203), {}, "no_text"),
    ],
)
async def test_without_need_or_leave_there_is_no_fallback(
    tmp_path: Path, page: Page, webfetch: dict[str, dict[str, object]], note: str | None
) -> None:
    browser = {**MISSING, **webfetch.get("browser", {})}
    rest = {name: table for name, table in webfetch.items() if name != "browser"}
    async with Site({"/": page}) as site, opened(site, tmp_path, browser, **rest) as spaniel:
        assert (await spaniel.fetch(site.url("/"))).note == note


class Failing:
    """A browser in which everything goes wrong."""

    def __init__(self, outcome: SpanielError | RenderedPage) -> None:
        self._outcome = outcome
        self.asked: list[RenderRequest] = []

    async def render(self, wanted: RenderRequest) -> RenderedPage:
        self.asked.append(wanted)
        if isinstance(self._outcome, SpanielError):
            raise self._outcome
        return self._outcome._replace(url=wanted.url)


async def test_a_fallback_that_fails_gives_the_http_result_too(tmp_path: Path) -> None:
    failing = Failing(SpanielError(Code.BROWSER_CRASHED, error="x"))
    async with Site({"/": SHELL}) as site, rendered_by(failing, site, tmp_path) as spaniel:
        answer = await spaniel.fetch(site.url("/"))
        assert (answer.rendering_method, answer.note) == ("http", "browser_failed_used_http")
        assert str((await refusal(spaniel, site.url("/"))).code) == "browser_crashed"


@pytest.mark.req("FR-WF-11f", "FR-WF-19")
async def test_partial_page_is_noted_and_not_cached(tmp_path: Path) -> None:
    for notes, cache_info in (((PARTIAL,), PARTIAL), ((), "cache_hit")):
        page = RenderedPage(None, DocumentHead(200), "text/html", b"<h1>x</h1>", (), notes)  # type: ignore[arg-type]
        async with Site({}) as site, rendered_by(Failing(page), site, tmp_path) as spaniel:
            url = site.url("/")
            assert (await spaniel.fetch(url, force_browser=True)).note == (PARTIAL if notes else None)
            assert (await spaniel.fetch(url, force_browser=True)).note == cache_info


@pytest.mark.req("FR-WF-08", "FR-WF-05")
async def test_guard_and_robots_are_asked_before_the_browser_is(tmp_path: Path) -> None:
    pages: dict[str, Page] = {"/robots.txt": (200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /no")}
    async with Site(pages) as site, opened(site, tmp_path) as spaniel:
        assert str((await refusal(spaniel, site.url("/no"))).code) == "robots_disallowed"
        assert str((await refusal(spaniel, "http://10.0.0.1/")).code) == "ssrf_blocked"
        assert str((await refusal(spaniel, "http://site.example:22/")).code) == "port_blocked"


@pytest.mark.req("FR-WF-12c")
@pytest.mark.parametrize(
    "page",
    [
        '<script type="module" src="/a.js">', "<SCRIPT SRC=a TYPE=module>", "<script crossorigin type='module'>",
        '<div id="__next">', "<div id='app'>", "<div id=root>", '<main class=x id = "root" data-y>',
        "<script>window.__NUXT__={}</script>", "<script>window.__INITIAL_STATE__ = 1</script>",
    ],
)  # fmt: skip
def test_the_signs_of_a_page_that_scripts_make(page: str) -> None:
    assert shell_in(page.encode(), "x" * 399, 400, empty_counts=False)
    assert not shell_in(page.encode(), "x" * 400, 400, empty_counts=False)


@pytest.mark.parametrize("page", ['<div id="apple">', "<div id=rooted>", "<script type=modules>", "<p>window.NUXT"])
def test_what_only_looks_like_a_sign(page: str) -> None:
    assert not shell_in(page.encode(), "", 400, empty_counts=False)


@pytest.mark.req("FR-WF-12b")
def test_js_heavy_domain_includes_subdomains() -> None:
    listed = domains(["example.com", "Bücher.example"])
    assert "example.com" in listed
    assert "www.example.com" in listed
    assert "xn--bcher-kva.example" in listed
    assert "badexample.com" not in listed


@pytest.mark.req("FR-WF-11g", "FR-WF-CFG-01")
def test_unknown_resource_type_in_settings_is_refused() -> None:
    assert BrowserSettings(block_resources=("Image", "XHR")).blocked() == {"image", "xhr"}
    with pytest.raises(SpanielError) as caught:
        BrowserSettings(block_resources=("images",)).blocked()
    assert "did you mean 'image'?" in caught.value.message


@pytest.mark.req("FR-WF-11")
async def test_an_old_or_broken_chromium_is_unavailable_and_says_why(tmp_path: Path) -> None:
    reply = '{"id":1,"result":{"product":"Chrome/99.0.1"}}'
    speaks = f"import os\nos.read(3, 999)\nos.write(4, b'{reply}\\0')\nos.read(3, 9)"
    programs = {
        "old": (f"#!/usr/bin/env python3\n{speaks}\n", "version 99.0 is older than 100"),
        "broken": ("#!/bin/sh\necho 'error while loading shared libraries: libnss3.so' >&2\nexit 127\n", "libnss3.so"),
        "silent": ("#!/bin/sh\nexit 0\n", "ended without a word"),
        "no program": ("not a program", ""),
    }
    for name, (text, fields) in programs.items():
        program = Path("/tmp") / f"spaniel-fake-{os.getpid()}-{name.replace(' ', '-')}"  # noqa: S108  nobody must be able to run it
        program.write_text(text, encoding="utf-8")
        program.chmod(stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
        try:
            async with (
                Site({"/": SHELL}) as site,
                opened(site, tmp_path, {"chromium_path": str(program)}) as spaniel,
            ):
                error = await refusal(spaniel, site.url("/"))
        finally:
            program.unlink()
        assert (str(error.code), fields in error.message) == ("browser_unavailable", True), error.message


def test_the_shell_is_preferred_and_a_path_without_any_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SpanielError) as caught:
        find_path()
    assert "on the PATH" in caught.value.message
    for name in ("chromium", NAMES[0]):
        program = tmp_path / name
        program.write_text("#!/bin/sh\n", encoding="utf-8")
        program.chmod(0o755)
        assert find_path() == str(program)


async def test_screenshot_uses_the_browser_and_bypasses_the_cache(tmp_path: Path) -> None:
    page = RenderedPage(None, DocumentHead(200), "text/html", b"<h1>x</h1>", (), (), b"PNG")  # type: ignore[arg-type]
    camera = Failing(page)
    async with Site({}) as site, rendered_by(camera, site, tmp_path) as spaniel:
        for _ in range(2):
            outcome = await spaniel.outcome(Request(site.url("/"), picture=True))
            assert outcome.require().picture == b"PNG"
        assert [wanted.picture for wanted in camera.asked] == [True, True]
