"""The log: structured, on standard error, and nothing in it that should not be."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from spaniel.app.logs import configure
from spaniel.errors import SpanielError
from spaniel.net.guard import Guard, Security
from spaniel.net.resolver import SystemResolver
from spaniel.pipeline.request import Request
from spaniel.testing import Page, Site, redirect, spaniel_for, text
from tests import programs


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    configure(verbose=2, stream=stream)
    yield stream
    logger = logging.getLogger("spaniel")
    logger.handlers.clear()
    logger.propagate = True
    logger.setLevel(logging.NOTSET)


def records(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.mark.req("FR-WF-19c")
async def test_each_fetch_writes_one_log_line(logged: io.StringIO, tmp_path: Path) -> None:
    pages: dict[str, Page] = {"/r": redirect("/a"), "/a": text("hello"), "/gone": text("", 410)}
    asked = [  # (what, event, host, redirects, from the cache)
        ("/r", "fetch_complete", "site.example", 1, False),
        ("/r", "fetch_complete", "site.example", 1, True),
        ("/gone", "http_4xx", "site.example", 0, False),
        ("http://10.0.0.1/", "ssrf_blocked", "10.0.0.1", 0, False),
        ("http://site.example:22/", "port_blocked", "site.example", 0, False),
        ("ftp://site.example/", "invalid_scheme", "", 0, False),
        ("", "bad_args", "", 0, False),
    ]
    async with Site(pages) as site, spaniel_for(site, cache=tmp_path) as spaniel:
        for what, *_ in asked:
            await spaniel.outcome(Request(site.url(what) if what.startswith("/") else what))
    warning, *found = records(logged)
    assert warning["event"] == "SSRF protection disabled for: block_loopback"
    for record, (_, event, host, redirects, hit) in zip(found, asked, strict=True):
        assert (record["event"], record["requested_host"], record["redirects"]) == (event, host, redirects)
        assert record["cache_hit"] is hit
        assert record.get("error_code") == (None if event == "fetch_complete" else event)
    assert [record["rendering_method"] for record in found] == ["http", "http", "http", None, None, None, None]


@pytest.mark.req("FR-WF-19c")
async def test_whoever_joins_a_fetch_leaves_a_record_too(logged: io.StringIO, tmp_path: Path) -> None:
    async with Site({"/a": text("hello")}) as site, spaniel_for(site, cache=tmp_path) as spaniel:
        await asyncio.gather(*(spaniel.fetch(site.url("/a")) for _ in range(3)))
    assert [record["event"] for record in records(logged)[1:]] == ["fetch_complete"] * 3
    assert site.requests["/a"] == 1


@pytest.mark.req("FR-WF-19b", "NFR-WF-SEC-06", "T-WF-ERR-03", "D2-15")
async def test_nothing_that_a_hostile_run_brings_gets_into_the_log(logged: io.StringIO, tmp_path: Path) -> None:
    """Secrets in queries and credentials, terminal escapes in redirects, reasons, headers and robots.txt."""
    steer = "\x1b]0;owned\x07\x9b31m\u202e"
    pages = {
        "/robots.txt": text(f"User-agent: *\nDisallow: /no {steer}\n"),
        "/away": redirect("/b?token=SECRET#SECRET"),
        "/creds": redirect("http://user:SECRET@site.example:1/"),
        "/b": text("hello"),
        "/bad": redirect(f"http://{steer}.example/"),
        "/type": (200, {"Content-Encoding": f"x{steer}"}, b"x"),
        "/gone": text(steer, 410),
    }
    starts = ["/away?key=SECRET", "/creds?SECRET", "/bad", "/type?SECRET=1", "/gone?SECRET", "/no?SECRET", "/b?SECRET"]
    starts += ["http://user:SECRET@[bad/", "http://user:SECRET@10.0.0.1/?SECRET"]
    async with Site({**pages}) as site, spaniel_for(site, cache=tmp_path) as spaniel:
        for start in starts:
            raw = site.url(start).replace("://", "://user:SECRET@") if start.startswith("/") else start
            outcome = await spaniel.outcome(Request(raw))
            assert outcome.refusal is None or "SECRET" not in outcome.refusal.as_json()
    written = logged.getvalue()
    assert written.count('"requested_host"') == len(starts)  # the control: every fetch did write a record
    assert "SECRET" not in written
    assert not [c for c in written if unicodedata.category(c)[0] == "C" and c != "\n"]


@pytest.mark.req("T-WF-ERR-03", "FR-WF-19b")
@pytest.mark.parametrize("query", ["?SECRET", "?a=1&b=SECRET", "?%53ECRET=%53ECRET", "?a=b?SECRET", "?#SECRET"])
async def test_log_has_the_path_and_not_the_query(logged: io.StringIO, tmp_path: Path, query: str) -> None:
    """Of a page, of one that is missing, and of a cache hit."""
    async with Site({"/a": text("hello")}) as site, spaniel_for(site, cache=tmp_path) as spaniel:
        for path in ("/a", "/a", "/gone"):
            await spaniel.outcome(Request(site.url(f"{path}{query}")))
    found = records(logged)[1:]
    assert [record["event"] for record in found] == ["fetch_complete", "fetch_complete", "http_4xx"]
    assert [record["cache_hit"] for record in found] == [False, True, False]
    written = logged.getvalue()
    assert "SECRET" not in written
    assert "53ECRET" not in written


def test_a_careless_caller_cannot_break_a_line(logged: io.StringIO) -> None:
    logging.getLogger("spaniel.x").warning(
        "two\nlines %s", "\x1b[2J", extra={"fields": {"value": "a\r\nb\x00", "n": 1}}
    )
    (record,) = records(logged)
    assert record["event"] == "two\\nlines \\x1b[2J"
    assert record["value"] == "a\\r\\nb\\x00"
    assert record["n"] == 1


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_plain_lines() -> None:
    stream = Terminal()
    configure(verbose=1, stream=stream)
    logging.getLogger("spaniel.fetch").info("fetch_complete", extra={"fields": {"url": "https://example.com/a"}})
    logging.getLogger("spaniel").handlers.clear()
    assert "info    fetch_complete url=https://example.com/a" in stream.getvalue()


@pytest.mark.parametrize(
    ("level", "options", "seen"),
    [
        ("", {}, ["warning", "error"]),
        ("debug", {}, ["debug", "info", "warning", "error"]),
        ("off", {}, []),
        ("off", {"verbose": 1}, ["info", "warning", "error"]),
        ("debug", {"quiet": True}, ["error"]),
    ],
)
def test_options_beat_the_environment(
    level: str, options: dict[str, int], seen: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPANIEL_LOG", level) if level else monkeypatch.delenv("SPANIEL_LOG", raising=False)
    stream = io.StringIO()
    configure(**options, stream=stream)  # type: ignore[arg-type]
    logger = logging.getLogger("spaniel.x")
    for name in ("debug", "info", "warning", "error"):
        getattr(logger, name)(name)
    logging.getLogger("spaniel").handlers.clear()
    assert [json.loads(line)["level"] for line in stream.getvalue().splitlines()] == seen


@pytest.mark.req("FR-WF-05b")
@pytest.mark.parametrize(("level", "quiet"), [("off", False), ("off", True), ("error", False), ("debug", True)])
def test_that_protection_is_off_is_said_at_every_level(
    level: str, quiet: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPANIEL_LOG", level)
    stream = io.StringIO()
    configure(quiet=quiet, stream=stream)
    Guard(SystemResolver(), Security(block_reserved=False, allow_insecure_overrides=True))
    logging.getLogger("spaniel.net").warning("something else")
    logging.getLogger("spaniel").handlers.clear()
    assert [record["event"] for record in records(stream)] == ["SSRF protection disabled for: block_reserved"]


def test_an_unknown_level_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANIEL_LOG", "loud")
    with pytest.raises(SpanielError, match="SPANIEL_LOG: 'loud' is not one of debug, info, warning, error, off"):
        configure()


def test_the_log_of_a_command_is_on_standard_error() -> None:
    done = programs.run(
        [sys.executable, "-m", "spaniel", "may-i", "-v", "http://127.0.0.1/?SECRET"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert done.stdout == ""
    assert "SECRET" not in done.stderr
