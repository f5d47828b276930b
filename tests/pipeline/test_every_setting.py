"""Every setting, from a settings file to what a fetch, the tool, MCP or the browser does differently for it.

A case is looked at twice: with the key in the file, and without it. A key without a case fails a test.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

from spaniel.app.keys import BY_PATH, Value
from spaniel.browser.rendering import MISSING, PARTIAL, TRUNCATED
from spaniel.testing import Site
from tests.api import settings_scenarios as service
from tests.batch import settings_scenarios as batches
from tests.browser.harness import chromium_path
from tests.health import settings_scenarios as links
from tests.pipeline import display_scenarios as display
from tests.pipeline import settings_scenarios as scene
from tests.pipeline.settings_scenarios import NOWHERE, PAGES, Look, Place, elsewhere, fetching, painted, requests

FETCH, OWN = "tools.webfetch", "spaniel"


class Case(NamedTuple):
    """A value that is not the default; what is seen with it, and what without."""

    value: Value | Callable[[Path], Value]
    look: Look
    seen: object
    otherwise: object
    besides: Mapping[str, Value] = MappingProxyType({})
    proves: tuple[str, ...] = ()


ON, AUTO = {f"{FETCH}.enabled": True}, {f"{FETCH}.allow_auto_execution": True}
PATIENT: dict[str, Value] = {f"{FETCH}.timeout_seconds": 120}  # Chromium may have to wait for its turn on this machine
BROKEN = {f"{FETCH}.browser.chromium_path": NOWHERE}
SECURITY = f"{FETCH}.security"
CASES = {
    "tools.mode": Case("parse_only", scene.call_the_tool, "tools.mode", "hello", ON | AUTO),
    f"{FETCH}.enabled": Case(True, scene.call_the_tool, "hello", f"{FETCH}.enabled", AUTO),
    f"{FETCH}.allow_auto_execution": Case(True, scene.call_the_tool, "hello", "approval", ON),
    f"{FETCH}.timeout_seconds": Case(1, fetching("/late"), "timeout", "late", proves=("FR-WF-10a",)),
    f"{FETCH}.max_redirects": Case(0, fetching("/moved"), "redirect_limit", "hello", proves=("FR-WF-07",)),
    f"{FETCH}.default_max_chunk_tokens": Case(128, scene.largest_chunk, True, False, proves=("FR-WF-15",)),
    f"{FETCH}.cache_dir": Case(lambda folder: f"{folder}/named", scene.cache_folder, ["named"], ["user/spaniel"]),
    f"{FETCH}.cache_ttl_days": Case(0, requests("/a", "/a", "/a"), 2, 1),
    f"{FETCH}.max_cache_entries": Case(1, requests("/a", "/a", "/other", "/a"), 2, 1, proves=("FR-WF-16e",)),
    f"{FETCH}.max_cache_bytes": Case(
        40_000, requests("/long", "/long", "/other", "/long"), 2, 1, proves=("FR-WF-16f",)
    ),
    f"{FETCH}.max_download_bytes": Case(2048, fetching("/long"), "response_too_large", "## Pa", proves=("FR-WF-10e",)),
    f"{FETCH}.robots_cache_entries": Case(1, scene.robots_files_in_memory, 3, 2, proves=("FR-WF-08g",)),
    f"{FETCH}.robots_cache_ttl_hours": Case(
        0, requests("/robots.txt", "/a", "/a", no_cache=True), 2, 1, proves=("FR-WF-08f",)
    ),
    f"{FETCH}.robots.fail_open": Case(
        True, scene.without_robots_txt, "hello", "robots_unavailable", proves=("FR-WF-09a",)
    ),
    f"{FETCH}.http.use_system_proxy": Case(
        True, scene.through_a_proxy, ["robots.txt", "a"], [], proves=("FR-WF-10d", "D2-20")
    ),
    f"{FETCH}.browser.enabled": Case(False, scene.the_browsers_refusal, ("", True), (NOWHERE, False), BROKEN),
    f"{FETCH}.browser.chromium_path": Case(NOWHERE, scene.the_browsers_refusal, (NOWHERE, False), ("", False)),
    f"{FETCH}.browser.network_idle_ms": Case(10, scene.note_of_the_browser, PARTIAL, None, PATIENT, ("FR-WF-11f",)),
    f"{FETCH}.browser.max_rendered_dom_bytes": Case(
        1024, scene.note_of_the_browser, TRUNCATED, None, PATIENT, ("FR-WF-11d",)
    ),
    f"{FETCH}.browser.block_resources": Case(
        ("script",), requests("/app.js", "/app", force_browser=True), 0, 1, PATIENT, ("FR-WF-11g",)
    ),
    f"{FETCH}.browser.viewport_width": Case(900, display.window, ("900x8000", False), ("1280x8000", False), PATIENT),
    f"{FETCH}.browser.viewport_height": Case(700, display.window, ("1280x700", False), ("1280x8000", False), PATIENT),
    f"{FETCH}.browser.scrolls": Case(1, display.window, ("1280x8000", True), ("1280x8000", False), PATIENT),
    f"{FETCH}.browser.wait_for": Case(
        "#never", display.note_of_the_window, MISSING, None, {**PATIENT, f"{FETCH}.browser.network_idle_ms": 4_000}
    ),
    f"{FETCH}.browser.no_sandbox": Case(True, display.sandbox, True, False, PATIENT),
    f"{FETCH}.rendering.js_heavy_domains": Case(("example",), painted("/a"), ["/a"], [], proves=("FR-WF-12b",)),
    f"{FETCH}.rendering.spa_fallback_enabled": Case(False, painted("/shell"), [], ["/shell"], proves=("FR-WF-12e",)),
    f"{FETCH}.rendering.min_extracted_chars": Case(5, painted("/shell"), [], ["/shell"], proves=("FR-WF-12c",)),
    f"{FETCH}.rendering.empty_fallback": Case(False, painted("/empty"), [], ["/empty"], proves=("D2-34",)),
    f"{SECURITY}.block_private_ips": Case(False, fetching("http://10.0.0.1:9/"), "port_blocked", "ssrf_blocked"),
    f"{SECURITY}.block_loopback": Case(False, fetching("/a"), "hello", "ssrf_blocked"),
    f"{SECURITY}.block_link_local": Case(False, fetching("http://169.254.0.1:9/"), "port_blocked", "ssrf_blocked"),
    f"{SECURITY}.block_reserved": Case(False, fetching("http://192.0.2.1:9/"), "port_blocked", "ssrf_blocked"),
    f"{SECURITY}.allowed_ports": Case(lambda _: (), fetching("/a"), "hello", "port_blocked", proves=("FR-WF-05d",)),
    f"{SECURITY}.allow_insecure_overrides": Case(True, scene.may_open, True, False, proves=("FR-WF-05b",)),
    f"{FETCH}.user_agent": Case(
        "otter/1", scene.user_agent, {"otter/1"}, {"forge-webfetch/1.0"}, proves=("FR-WF-10b",)
    ),
    f"{SECURITY}.allowed_domains": Case(("other.example",), fetching("/a"), "invalid_host", "hello"),
    f"{SECURITY}.blocked_domains": Case(("site.example",), fetching("/a"), "invalid_host", "hello"),
    f"{OWN}.freshness.file": Case(scene.freshness_rules, scene.class_of_a_page, "ours", "other", proves=("FG-38",)),
    f"{OWN}.mcp.max_output_bytes": Case(2000, scene.call_over_mcp, (True, False), (False, False)),
    f"{OWN}.mcp.max_screenshot_height": Case(500, display.height_over_mcp, 500, 8_000, PATIENT),
    f"{OWN}.mcp.resource_links": Case(
        True, scene.call_over_mcp, (True, True), (True, False), {f"{OWN}.mcp.max_output_bytes": 2000}
    ),
    f"{OWN}.registry.folder": Case(lambda folder: f"{folder}/links", scene.where_links_are_kept, ["links"], ["urls"]),
    f"{OWN}.canon.learnt_file": Case(lambda folder: f"{folder}/learnt.toml", scene.what_is_learnt, True, False),
    f"{OWN}.net.ca_file": Case(scene.certificates, scene.over_tls, True, False),
    f"{OWN}.archive.available": Case(
        "http://api.example/?url={url}", elsewhere("archive"), "api.example", "archive.org", proves=("FG-32",)
    ),
    f"{OWN}.archive.snapshot": Case(
        "http://copies.example/{timestamp}/{url}",
        *(scene.where_copies_are, "copies.example", "web.archive.org"),
        proves=("FG-32",),
    ),
    f"{OWN}.search_cache.template": Case(
        "http://search.example/{url}",
        *(elsewhere("search_cache"), "search.example", "off: no template is set"),
        proves=("FG-33",),
    ),
    f"{OWN}.mirrors.prefixes": Case(
        ("http://gone.example/docs/ http://mirror.example/",),
        *(elsewhere("mirrors"), "mirror.example", "off: no mirror is set"),
        proves=("FG-34",),
    ),
    f"{OWN}.health.jobs": Case(1, links.most_at_once, False, True, proves=("DB-09",)),
    f"{OWN}.health.per_host": Case(3, links.most_at_one_host, True, False, {f"{OWN}.health.delay_ms": 0}),
    f"{OWN}.health.delay_ms": Case(0, links.pauses, False, True, proves=("DB-09",)),
    f"{OWN}.health.timeout_seconds": Case(1, links.late_page, "unknown", "ok"),
    f"{OWN}.health.content_seconds": Case(1, links.late_content, "unknown", "ok", proves=("DB-07",)),
    f"{OWN}.health.host_wait_seconds": Case(0, links.busy_host, "rate-limited", "ok"),
    f"{OWN}.health.robots": Case(True, links.disallowed_page, "blocked", "ok"),
    f"{OWN}.health.history_folder": Case(
        lambda folder: f"{folder}/past", links.where_the_past_is, ["past"], ["state/spaniel/health"]
    ),
    f"{OWN}.health.priorities_file": Case("/nowhere.toml", links.how_often, "priorities", 0),
    f"{OWN}.health.fallback_extensions": Case(
        ("adoc",), links.local_page("x.html"), "failing", "ok", proves=("LH-04",)
    ),
    f"{OWN}.health.index_files": Case(("home",), links.local_page("y.html"), "failing", "ok", proves=("LH-04",)),
    f"{OWN}.batch.max_retry_after_seconds": Case(
        10, batches.long_retry_after, "spaniel.batch.max_retry_after_seconds", "ok", proves=("FG-46",)
    ),
    f"{OWN}.batch.max_crawl_delay_seconds": Case(
        10, batches.long_crawl_delay, "spaniel.batch.max_crawl_delay_seconds", "ok", proves=("FG-46",)
    ),
    f"{OWN}.batch.host_seconds": Case(10, batches.slow_host, "--host-time", "ok", proves=("FG-46",)),
    f"{OWN}.batch.total_seconds": Case(10, batches.slow_host, "--total-time", "ok", proves=("FG-46",)),
    f"{OWN}.queue.max_entries": Case(1, scene.queue_two, "bad_args", "ok", proves=("FG-35",)),
    f"{OWN}.serve.profile": Case("ingest", service.usual_profile, ["ingest"], ["reader"]),
    f"{OWN}.serve.profiles": Case(("reader",), service.profile_of_a_call, 400, 200),
    f"{OWN}.serve.requests_per_minute": Case(1, service.second_request, 429, 200),
    f"{OWN}.serve.concurrent": Case(1, service.two_at_once, [200, 429], [200, 200], {f"{OWN}.serve.waiting": 0}),
    f"{OWN}.serve.waiting": Case(0, service.two_at_once, [200, 429], [200, 200], {f"{OWN}.serve.concurrent": 1}),
    f"{OWN}.serve.streams": Case(0, service.stream, 429, 200),
    f"{OWN}.serve.jobs": Case(0, service.job, 429, 202),
    f"{OWN}.serve.max_body_bytes": Case(1024, service.body_of_two_kilobytes, 413, 200),
    f"{OWN}.serve.max_list_bytes": Case(1024, service.list_of_two_kilobytes, 413, 202),
    f"{OWN}.serve.allowed_hosts": Case(("spaniel.example",), service.other_host, 200, 421),
    f"{OWN}.serve.allowed_origins": Case(("https://a.example",), service.other_origin, 200, 403),
    f"{OWN}.serve.trusted_proxies": Case(
        ("127.0.0.1",), service.two_forwarded, 200, 429, {f"{OWN}.serve.requests_per_minute": 1}
    ),
    f"{OWN}.serve.tokens_file": Case(service.tokens, service.without_token, 401, 200),
    f"{OWN}.serve.jobs_folder": Case(lambda folder: f"{folder}/named", service.where_jobs_are, True, False),
}


@asynccontextmanager
async def place_with(key: str, folder: Path, *, is_set: bool) -> AsyncIterator[Place]:
    """A file that opens loopback and, unless it is to be without, has the key."""
    case = CASES[key]
    os.mkdir(folder)
    async with Site(dict(PAGES)) as site:
        given: dict[str, Value] = {
            f"{SECURITY}.block_loopback": False,
            f"{SECURITY}.allow_insecure_overrides": True,
            f"{SECURITY}.allowed_ports": (site.port,),
            f"{FETCH}.browser.chromium_path": chromium_path(),
            **case.besides,
        }
        value = case.value(folder) if callable(case.value) else case.value
        if key != f"{SECURITY}.allowed_ports":  # which only the site knows
            given[key] = value
        if not is_set:
            del given[key]
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_CACHE_HOME", str(folder / "user"))
            yield Place(site, folder, given)


def test_every_setting_has_a_case() -> None:
    assert set(CASES) == set(BY_PATH)
    assert all(case.seen != case.otherwise for case in CASES.values())


@pytest.mark.req("FR-WF-CFG-01")
@pytest.mark.parametrize("key", [pytest.param(key, marks=pytest.mark.req(*case.proves)) for key, case in CASES.items()])
async def test_a_setting_in_a_file_does_what_it_says(key: str, tmp_path: Path) -> None:
    async with place_with(key, tmp_path / "with", is_set=True) as place:
        assert await CASES[key].look(place) == CASES[key].seen
    async with place_with(key, tmp_path / "without", is_set=False) as place:
        assert await CASES[key].look(place) == CASES[key].otherwise
