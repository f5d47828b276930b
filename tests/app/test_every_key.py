"""Every setting there is, from TOML to the typed options that somebody acts on; and the table's own laws."""

from __future__ import annotations

import re
import runpy
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import spaniel
from spaniel.app.batch_wiring import limits
from spaniel.app.checking import documents_history, health_settings
from spaniel.app.keys import BY_PATH, KEYS, Key
from spaniel.app.serving import ServeSettings, serve_settings, tokens
from spaniel.app.settings import NO_SETTINGS, Settings, from_data, load
from spaniel.errors import SpanielError


class Case(NamedTuple):
    """A value that is not the default, and where it must come out."""

    given: str  # in TOML
    taken: Callable[[Settings], object]
    value: object


def served(settings: Settings) -> ServeSettings:
    return serve_settings(settings, "127.0.0.1", 1)


def tokens_file(settings: Settings) -> str | None:
    """The file that was looked for, by the error that names it."""
    try:
        tokens(settings, served(settings).limits, {})
    except SpanielError as error:
        return str(error.details["field"])
    return None


CASES = {
    "tools.mode": Case('"parse_only"', lambda s: s.tool.mode, "parse_only"),
    "tools.webfetch.enabled": Case("true", lambda s: s.tool.enabled, True),
    "tools.webfetch.user_agent": Case('"x/1"', lambda s: s.headers.user_agent, "x/1"),
    "tools.webfetch.timeout_seconds": Case("7", lambda s: s.limits.timeout_seconds, 7),
    "tools.webfetch.max_redirects": Case("2", lambda s: s.limits.max_redirects, 2),
    "tools.webfetch.default_max_chunk_tokens": Case("200", lambda s: s.limits.default_max_chunk_tokens, 200),
    "tools.webfetch.cache_dir": Case('"/c"', lambda s: s.cache.folder, "/c"),
    "tools.webfetch.cache_ttl_days": Case("3", lambda s: (s.cache.ttl_days, s.limits.cache_ttl_days), (3, 3)),
    "tools.webfetch.max_cache_entries": Case("9", lambda s: s.cache.max_entries, 9),
    "tools.webfetch.max_cache_bytes": Case("0", lambda s: s.cache.max_bytes, None),
    "tools.webfetch.max_download_bytes": Case("2048", lambda s: s.limits.max_download_bytes, 2048),
    "tools.webfetch.robots_cache_entries": Case("5", lambda s: s.robots.cache_entries, 5),
    "tools.webfetch.robots_cache_ttl_hours": Case("6", lambda s: s.robots.cache_ttl_hours, 6),
    "tools.webfetch.allow_auto_execution": Case("true", lambda s: s.tool.allow_auto_execution, True),
    "tools.webfetch.http.use_system_proxy": Case("true", lambda s: s.uses_system_proxy, True),
    "tools.webfetch.browser.enabled": Case("false", lambda s: s.uses_browser, False),
    "tools.webfetch.browser.chromium_path": Case('"/b/c"', lambda s: s.browser.chromium_path, "/b/c"),
    "tools.webfetch.browser.network_idle_ms": Case("50", lambda s: s.browser.network_idle_ms, 50),
    "tools.webfetch.browser.max_rendered_dom_bytes": Case("4096", lambda s: s.browser.max_rendered_dom_bytes, 4096),
    "tools.webfetch.browser.block_resources": Case('["script"]', lambda s: s.browser.block_resources, ("script",)),
    "tools.webfetch.browser.viewport_width": Case("900", lambda s: s.browser.viewport_width, 900),
    "tools.webfetch.browser.viewport_height": Case("700", lambda s: s.browser.viewport_height, 700),
    "tools.webfetch.browser.scrolls": Case("3", lambda s: s.browser.scrolls, 3),
    "tools.webfetch.browser.wait_for": Case('".a"', lambda s: s.browser.display.wait_for, ".a"),
    "tools.webfetch.browser.no_sandbox": Case("true", lambda s: s.browser.no_sandbox, True),
    "tools.webfetch.security.block_private_ips": Case(
        "false", lambda s: (s.security.block_private_ips, s.protection_off), (False, ("block_private_ips",))
    ),
    "tools.webfetch.security.block_loopback": Case(
        "false", lambda s: (s.security.block_loopback, s.protection_off), (False, ("block_loopback",))
    ),
    "tools.webfetch.security.block_link_local": Case(
        "false", lambda s: (s.security.block_link_local, s.protection_off), (False, ("block_link_local",))
    ),
    "tools.webfetch.security.block_reserved": Case(
        "false", lambda s: (s.security.block_reserved, s.protection_off), (False, ("block_reserved",))
    ),
    "tools.webfetch.security.allowed_ports": Case("[8080, 81]", lambda s: s.security.allowed_ports, (8080, 81)),
    "tools.webfetch.security.allow_insecure_overrides": Case(
        "true", lambda s: s.security.allow_insecure_overrides, True
    ),
    "tools.webfetch.security.allowed_domains": Case(
        '["*.A.example"]', lambda s: s.security.allowed_domains, ("a.example",)
    ),
    "tools.webfetch.security.blocked_domains": Case(
        '["bücher.example"]', lambda s: s.security.blocked_domains, ("xn--bcher-kva.example",)
    ),
    "tools.webfetch.rendering.js_heavy_domains": Case(
        '["a.example"]',
        lambda s: ("x.a.example" in s.rendering.js_heavy_domains, "a.example" in s.tool.js_heavy),
        (True, True),
    ),
    "tools.webfetch.rendering.spa_fallback_enabled": Case("false", lambda s: s.rendering.spa_fallback_enabled, False),
    "tools.webfetch.rendering.min_extracted_chars": Case("1", lambda s: s.rendering.min_extracted_chars, 1),
    "tools.webfetch.rendering.empty_fallback": Case("false", lambda s: s.rendering.empty_fallback, False),
    "tools.webfetch.robots.fail_open": Case("true", lambda s: s.robots.fail_open, True),
    "spaniel.freshness.file": Case('"/f.toml"', lambda s: s.freshness_file, "/f.toml"),
    "spaniel.mcp.max_output_bytes": Case("1025", lambda s: s.mcp.max_output_bytes, 1025),
    "spaniel.mcp.max_screenshot_height": Case("500", lambda s: s.mcp.max_screenshot_height, 500),
    "spaniel.mcp.resource_links": Case("true", lambda s: s.mcp.resource_links, True),
    "spaniel.registry.folder": Case('"/links"', lambda s: s.registry_folder, "/links"),
    "spaniel.canon.learnt_file": Case('"/learnt.toml"', lambda s: s.learnt_file, "/learnt.toml"),
    "spaniel.net.ca_file": Case('"/ca.pem"', lambda s: s.ca_file, "/ca.pem"),
    "spaniel.archive.available": Case(
        '"http://a.example/?u={url}"', lambda s: s.copies.archive_available, "http://a.example/?u={url}"
    ),
    "spaniel.archive.snapshot": Case(
        '"http://a.example/{timestamp}/{url}"',
        lambda s: s.copies.archive_snapshot,
        "http://a.example/{timestamp}/{url}",
    ),
    "spaniel.search_cache.template": Case(
        '"http://c.example/{url}"', lambda s: s.copies.search_cache, "http://c.example/{url}"
    ),
    "spaniel.mirrors.prefixes": Case(
        '["http://A.example/x/ https://b.example/"]',
        lambda s: s.copies.mirrors,
        (("http://a.example/x/", "https://b.example/"),),
    ),
    "spaniel.health.jobs": Case("3", lambda s: health_settings(s).jobs, 3),
    "spaniel.health.per_host": Case("2", lambda s: health_settings(s).per_host, 2),
    "spaniel.health.delay_ms": Case("7", lambda s: health_settings(s).delay_ms, 7),
    "spaniel.health.timeout_seconds": Case("9", lambda s: health_settings(s).timeout_seconds, 9),
    "spaniel.health.content_seconds": Case("8", lambda s: health_settings(s).content_seconds, 8),
    "spaniel.health.host_wait_seconds": Case("0", lambda s: health_settings(s).host_wait_seconds, 0),
    "spaniel.health.robots": Case("true", lambda s: health_settings(s).robots, True),
    "spaniel.health.history_folder": Case('"/past"', lambda s: documents_history(health_settings(s)).folder, "/past"),
    "spaniel.health.priorities_file": Case('"/p.toml"', lambda s: health_settings(s).priorities_file, "/p.toml"),
    "spaniel.health.fallback_extensions": Case(
        '["adoc", ".rst"]', lambda s: health_settings(s).fallback_extensions, ("adoc", ".rst")
    ),
    "spaniel.health.index_files": Case('["home.md"]', lambda s: health_settings(s).index_files, ("home.md",)),
    "spaniel.batch.max_retry_after_seconds": Case("30", lambda s: limits(s).retry_after, 30.0),
    "spaniel.batch.max_crawl_delay_seconds": Case("9", lambda s: limits(s).crawl_delay, 9.0),
    "spaniel.batch.host_seconds": Case("8", lambda s: limits(s).host_time, 8.0),
    "spaniel.batch.total_seconds": Case("7", lambda s: limits(s).total_time, 7.0),
    "spaniel.queue.max_entries": Case("3", lambda s: s.queue.max_entries, 3),
    "spaniel.serve.profile": Case('"ingest"', lambda s: served(s).profile, "ingest"),
    "spaniel.serve.profiles": Case('["reader"]', lambda s: served(s).profiles, ("reader",)),
    "spaniel.serve.requests_per_minute": Case("7", lambda s: served(s).limits.requests_per_minute, 7),
    "spaniel.serve.concurrent": Case("3", lambda s: served(s).limits.concurrent, 3),
    "spaniel.serve.waiting": Case("2", lambda s: served(s).limits.waiting, 2),
    "spaniel.serve.streams": Case("4", lambda s: served(s).limits.streams, 4),
    "spaniel.serve.jobs": Case("5", lambda s: served(s).limits.jobs, 5),
    "spaniel.serve.max_body_bytes": Case("2048", lambda s: served(s).max_body_bytes, 2048),
    "spaniel.serve.max_list_bytes": Case("4096", lambda s: served(s).max_list_bytes, 4096),
    "spaniel.serve.allowed_hosts": Case('["A.example"]', lambda s: served(s).allowed_hosts, ("a.example",)),
    "spaniel.serve.allowed_origins": Case(
        '["https://a.example"]', lambda s: served(s).allowed_origins, ("https://a.example",)
    ),
    "spaniel.serve.trusted_proxies": Case('["10.0.0.1"]', lambda s: served(s).trusted_proxies, ("10.0.0.1",)),
    "spaniel.serve.tokens_file": Case('"/t.toml"', tokens_file, "/t.toml"),
    "spaniel.serve.jobs_folder": Case('"/j"', lambda s: served(s).jobs_folder, "/j"),
}


def test_no_setting_is_left_out_here() -> None:
    assert set(CASES) == set(BY_PATH)


@pytest.mark.req("FR-WF-CFG-01")
@pytest.mark.parametrize("key", KEYS, ids=[key.path for key in KEYS])
def test_a_setting_reaches_the_options_of_its_room(key: Key) -> None:
    case = CASES[key.path]
    settings = from_data(tomllib.loads(f"[{key.table}]\n{key.name} = {case.given}"), "a test")
    assert case.taken(settings) == case.value
    assert case.taken(Settings()) != case.value  # the control: it was the file that did it
    others = [(path, s) for path, s in settings.items() if path != key.path]
    assert others == [(path, s) for path, s in Settings().items() if path != key.path]


@pytest.mark.req("D2-31")
@pytest.mark.parametrize("key", KEYS, ids=[key.path for key in KEYS])
def test_a_setting_can_be_given_by_its_variable(key: Key, tmp_path_factory: pytest.TempPathFactory) -> None:
    case, nowhere = CASES[key.path], str(tmp_path_factory.getbasetemp())
    text = case.given.strip('[]"').replace('"', "")
    settings = load(None, {"XDG_CONFIG_HOME": nowhere, key.variable: text}, cwd=nowhere)
    assert case.taken(settings) == case.value
    assert settings.source(key.path) == key.variable


def test_variable_names_follow_one_rule() -> None:
    variables = [key.variable for key in KEYS]
    assert len(set(variables)) == len(variables)
    assert not set(variables) & set(NO_SETTINGS)
    assert {"SPANIEL_USER_AGENT", "SPANIEL_TIMEOUT_SECONDS", "SPANIEL_CACHE_DIR"} <= set(variables)
    assert BY_PATH["tools.webfetch.security.block_loopback"].variable == "SPANIEL_SECURITY_BLOCK_LOOPBACK"
    assert BY_PATH["tools.mode"].variable == "SPANIEL_TOOLS_MODE"
    assert BY_PATH["spaniel.net.ca_file"].variable == "SPANIEL_NET_CA_FILE"


@pytest.mark.req("D2-31")
def test_what_runs_trusts_or_opens_is_marked_as_such() -> None:
    marked = {key.path for key in KEYS if key.trusted}
    named = {
        "tools.webfetch.browser.chromium_path",
        "spaniel.freshness.file",
        "spaniel.net.ca_file",
        "spaniel.registry.folder",
        "spaniel.canon.learnt_file",
        "spaniel.health.history_folder",
        "spaniel.health.priorities_file",
        "tools.webfetch.cache_dir",
        "tools.webfetch.http.use_system_proxy",
        "tools.webfetch.allow_auto_execution",
        "tools.webfetch.browser.no_sandbox",
        # Who may call the service, and where its jobs are.
        "spaniel.serve.allowed_hosts",
        "spaniel.serve.allowed_origins",
        "spaniel.serve.trusted_proxies",
        "spaniel.serve.tokens_file",
        "spaniel.serve.jobs_folder",
        # Whoever sets these learns which pages are fetched, and what is said to be in them.
        "spaniel.archive.available",
        "spaniel.archive.snapshot",
        "spaniel.search_cache.template",
        "spaniel.mirrors.prefixes",
    }
    assert marked == named | {key.path for key in KEYS if ".security." in key.path}
    # Only these are expanded: a project's file, which may set none of them, reads no variable of the environment.
    assert {key.path for key in KEYS if key.kind in ("path", "program")} <= marked


def test_the_page_of_settings_is_what_the_table_says() -> None:
    docs = Path(__file__).resolve().parents[2] / "docs"
    page = runpy.run_path(str(docs / "make.py"))["settings_page"]()
    assert (docs / "reference" / "settings.md").read_text(encoding="utf-8") == page, "run `make docs`"
    for key in KEYS:
        assert f"| `{key.name}` |" in page
        assert f"`{key.variable}`" in page


def test_nobody_else_knows_a_setting_by_its_name() -> None:
    """The other rooms take typed groups: a name that is wrong would be found by a user."""
    root = Path(spaniel.__file__).parent
    by_name = re.compile(r"settings\[|settings\.(?:number|given|source|asked_for)\(")
    found = {path.parent.name for path in root.rglob("*.py") if by_name.search(path.read_text("utf-8"))}
    assert found == {"app"}
