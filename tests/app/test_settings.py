"""Settings: the SRD's file to the letter, strict about names, lenient about ranges, honest about sources."""

from __future__ import annotations

import logging
import tempfile
import tomllib
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spaniel.app.keys import KEYS, sample, toml
from spaniel.app.settings import Settings, describe, from_data, load
from spaniel.errors import SpanielError

# SRD §5.3, in its own order; D2-21 adds max_cache_bytes and leaves cache_dir unset
REFERENCE = """
[tools.webfetch]
enabled = false
user_agent = "forge-webfetch/1.0"
timeout_seconds = 20
max_redirects = 5
default_max_chunk_tokens = 600
cache_ttl_days = 7
max_cache_entries = 10000
max_download_bytes = 5242880
robots_cache_entries = 1024
robots_cache_ttl_hours = 24
allow_auto_execution = false

[tools.webfetch.http]
use_system_proxy = false

[tools.webfetch.browser]
enabled = true
chromium_path = ""
network_idle_ms = 20000
max_rendered_dom_bytes = 5242880
block_resources = ["image", "font", "media"]

[tools.webfetch.security]
block_private_ips = true
block_loopback = true
block_link_local = true
block_reserved = true
allowed_ports = [80, 443]
allow_insecure_overrides = false

[tools.webfetch.rendering]
js_heavy_domains = []
spa_fallback_enabled = true
min_extracted_chars = 400

[tools.webfetch.robots]
fail_open = false
"""


def settings(text: str, **environ: str) -> Settings:
    return from_data(tomllib.loads(text), "spaniel.toml", environ)


def refusal(text: str, **environ: str) -> str:
    with pytest.raises(SpanielError) as caught:
        settings(text, **environ)
    return caught.value.message


@pytest.mark.req("FR-WF-CFG-01")
def test_the_srds_reference_is_our_default() -> None:
    defaults = dict(Settings().items())
    for path, setting in settings(REFERENCE).items():
        if setting.source != "default":
            assert setting.value == defaults[path].value, path
    assert sum(s.source != "default" for _, s in settings(REFERENCE).items()) == 27


def test_the_sample_file_is_the_settings_at_their_defaults() -> None:
    uncommented = "\n".join(line.removeprefix("# ") if " = " in line else line for line in sample().splitlines()[1:])
    loaded = settings(uncommented)
    assert [(path, s.value) for path, s in loaded.items()] == [(path, s.value) for path, s in Settings().items()]
    assert all(s.source == "spaniel.toml" for _, s in loaded.items())
    assert settings(sample()).items() == Settings().items()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[tools.webfetch]\ntimeout_second = 3", "tools.webfetch.timeout_second: unknown setting; did you mean"),
        ("[tools.webfecth]\nenabled = true", "[tools.webfecth]: unknown table; did you mean 'tools.webfetch'?"),
        ("timeout_seconds = 3", "timeout_seconds: unknown setting"),
        ("[tools.webfetch]\nenabled = 1", "tools.webfetch.enabled: must be true or false"),
        ("[tools.webfetch]\ntimeout_seconds = true", "must be a whole number"),
        ("[tools.webfetch]\ntimeout_seconds = 2.5", "must be a whole number"),
        ("[tools.webfetch]\nuser_agent = 3", "must be text"),
        ("[tools.webfetch.security]\nallowed_ports = [0]", "a port is a number from 1 to 65535"),
        ('[tools.webfetch.security]\nallowed_ports = ["80"]', "must be a list of ports"),
        ("[tools.webfetch.rendering]\njs_heavy_domains = [1]", "must be a list of texts"),
        ('[tools]\nmode = "on"', "must be one of enabled, parse_only, disabled"),
        ('[tools.webfetch]\nuser_agent = ""', "spaniel.toml: tools.webfetch.user_agent: must be printable ASCII"),
        ('[tools.webfetch]\nuser_agent = "  "', "tools.webfetch.user_agent: must be printable ASCII"),
        ('[tools.webfetch]\nuser_agent = "b\u00f6t/1"', "tools.webfetch.user_agent: must be printable ASCII"),
        (
            '[tools.webfetch.browser]\nblock_resources = ["image", "fonts"]',
            "spaniel.toml: tools.webfetch.browser.block_resources: unknown resource type 'fonts'; did you mean",
        ),
        (
            '[tools.webfetch.rendering]\njs_heavy_domains = ["http://x"]',
            "spaniel.toml: tools.webfetch.rendering.js_heavy_domains: 'http://x' is not a domain",
        ),
        ('[tools.webfetch.rendering]\njs_heavy_domains = ["a.example/x"]', "js_heavy_domains: 'a.example/x' is not"),
        ('[tools.webfetch.rendering]\njs_heavy_domains = [""]', "js_heavy_domains: '' is not a domain"),
        ('[tools.webfetch]\ncache_dir = "a\\u0000b"', "tools.webfetch.cache_dir: a path has no control characters"),
        ('[spaniel.archive]\navailable = "https://a.example/{timestamp}/{url}"', "nothing else in braces"),
        ('[tools.webfetch]\ncache_dir = "${NOWHERE}/x"', "the variable NOWHERE is not set"),
    ],
)
def test_a_wrong_file_is_refused_with_key_and_reason(text: str, expected: str) -> None:
    assert expected in refusal(text)


@pytest.mark.req("D2-01", "FR-WF-CFG-01")
@pytest.mark.parametrize(
    ("name", "given", "used"),
    [
        ("timeout_seconds", 0, 1),
        ("timeout_seconds", 999, 300),
        ("max_redirects", 21, 20),
        ("max_redirects", -1, 0),
        ("default_max_chunk_tokens", 1, 128),
        ("default_max_chunk_tokens", 5000, 2048),
        ("max_download_bytes", 1, 1024),
        ("max_download_bytes", 10**12, 104857600),
        ("timeout_seconds", 300, 300),
    ],
)
def test_numbers_are_brought_into_their_range_with_a_warning(
    name: str, given: int, used: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "spaniel"):
        loaded = settings(f"[tools.webfetch]\n{name} = {given}")
    assert loaded[f"tools.webfetch.{name}"] == used
    assert bool(caplog.messages) == (given != used)


@pytest.mark.req("FR-WF-CFG-03", "D2-21")
def test_variables_are_expanded_in_the_two_paths() -> None:
    text = '[tools.webfetch]\ncache_dir = "${CACHES}/$ME"\n[tools.webfetch.browser]\nchromium_path = "$BIN/chromium"'
    loaded = settings(text, CACHES="/c", ME="me", BIN="/b")
    assert loaded["tools.webfetch.cache_dir"] == "/c/me"
    assert loaded["tools.webfetch.browser.chromium_path"] == "/b/chromium"
    temp = settings('[tools.webfetch]\ncache_dir = "${TEMP}/forge-webfetch"')
    assert temp["tools.webfetch.cache_dir"] == f"{tempfile.gettempdir()}/forge-webfetch"


def test_a_relative_path_is_left_as_it_is_where_there_is_no_file() -> None:
    assert settings('[tools.webfetch]\ncache_dir = "caches"')["tools.webfetch.cache_dir"] == "caches"


def test_a_text_that_would_break_a_header_is_refused() -> None:
    assert "one line of text" in refusal('[tools.webfetch]\nuser_agent = "x/1\\r\\nEvil: 1"')


@pytest.mark.req("FR-WF-05d")
def test_the_rooms_get_their_parts() -> None:
    loaded = settings(
        '[tools.webfetch]\nuser_agent = "x/1"\nmax_download_bytes = 2048\nrobots_cache_ttl_hours = 2\n'
        "[tools.webfetch.security]\nallowed_ports = [8080]\nblock_loopback = false\n"
        "[tools.webfetch.robots]\nfail_open = true"
    )
    assert loaded.security.allowed_ports == (8080,)
    assert not loaded.security.block_loopback
    assert (loaded.headers.user_agent, loaded.number("tools.webfetch.max_download_bytes")) == ("x/1", 2048)
    assert (loaded.robots.fail_open, loaded.robots.cache_ttl_hours) == (True, 2)
    assert settings("[tools.webfetch.security]\nallowed_ports = []").security.allowed_ports == (80, 443)


def test_a_named_file_that_is_not_there_or_broken_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SpanielError, match="cannot be read"):
        load(str(tmp_path / "none.toml"))
    broken = tmp_path / "broken.toml"
    broken.write_text("[tools", encoding="utf-8")
    with pytest.raises(SpanielError, match="not TOML"):
        load(str(broken))


def test_every_value_knows_where_it_came_from() -> None:
    rows = {row["key"]: row for row in describe(settings("[tools.webfetch]\ntimeout_seconds = 30"))}
    assert rows["tools.webfetch.timeout_seconds"] == {
        "key": "tools.webfetch.timeout_seconds",
        "value": 30,
        "source": "spaniel.toml",
    }
    assert rows["tools.webfetch.max_redirects"]["source"] == "default"
    assert rows["tools.webfetch.security.allowed_ports"]["value"] == [80, 443]
    assert len(rows) == len(KEYS)


@given(st.text())
def test_text_is_written_as_safe_toml(text: str) -> None:
    assume(text.isascii() or text.encode("utf-8", "replace").decode() == text)  # a lone surrogate is in no TOML
    written = toml(text)
    assert tomllib.loads(f"x = {written}")["x"] == text
    assert written.isprintable()
