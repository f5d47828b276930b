"""The log: structured, on standard error, and nothing in it that should not be."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
import unicodedata
from collections.abc import Iterator

import pytest

from spaniel.app.logs import configure
from spaniel.errors import SpanielError
from spaniel.net.deadline import Deadline
from spaniel.pipeline.retrieve import retrieve
from spaniel.testing import Site, redirect, text
from spaniel.url import parse
from tests.loopback import rooms_for


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
async def test_a_fetch_leaves_one_record_with_the_fields_of_the_srd(logged: io.StringIO) -> None:
    async with Site({"/r": redirect("/a"), "/a": text("hello")}) as site, rooms_for(site) as rooms:
        await retrieve(parse(site.url("/r")), rooms.door, Deadline(5))
    warning, record = records(logged)
    assert warning["event"] == "SSRF protection disabled for: block_loopback"
    assert record["event"] == "fetch_complete"
    assert record["requested_host"] == "site.example"
    assert record["rendering_method"] == "http"
    assert record["cache_hit"] is False
    assert record["redirects"] == 1
    assert "error_code" not in record


@pytest.mark.req("FR-WF-19c")
async def test_a_refusal_leaves_its_code_in_the_record(logged: io.StringIO) -> None:
    async with Site({}) as site, rooms_for(site) as rooms:
        with pytest.raises(SpanielError):
            await retrieve(parse("http://10.0.0.1/"), rooms.door, Deadline(5))
    record = records(logged)[-1]
    assert (record["event"], record["error_code"]) == ("ssrf_blocked", "ssrf_blocked")
    assert record["requested_host"] == "10.0.0.1"


@pytest.mark.req("FR-WF-19b", "NFR-WF-SEC-06", "T-WF-ERR-03", "D2-15")
async def test_nothing_that_a_hostile_run_brings_gets_into_the_log(logged: io.StringIO) -> None:
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
    async with Site({**pages}) as site, rooms_for(site) as rooms:
        for start in starts:
            try:
                raw = site.url(start).replace("://", "://user:SECRET@")
                await retrieve(parse(raw), rooms.door, Deadline(5))
            except SpanielError as error:
                assert "SECRET" not in error.as_json()
    written = logged.getvalue()
    assert written.count('"requested_host"') == len(starts)  # the control: every fetch did write a record
    assert "SECRET" not in written
    assert not [c for c in written if unicodedata.category(c)[0] == "C" and c != "\n"]


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


def test_an_unknown_level_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANIEL_LOG", "loud")
    with pytest.raises(SpanielError, match="SPANIEL_LOG: 'loud' is none of debug, info, warning, error, off"):
        configure()


def test_the_log_of_a_command_is_on_standard_error() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "spaniel", "may-i", "-v", "http://127.0.0.1/?SECRET"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert done.stdout == ""
    assert "SECRET" not in done.stderr
