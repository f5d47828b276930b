"""The table of refusals: whole, stable, and safe to print."""

from __future__ import annotations

import json
import pickle
import runpy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.errors import TABLE, Code, SpanielError, shown

ROOT = Path(__file__).resolve().parent.parent

REGISTRY = {  # SRD §3.7.2: code -> retryable, details
    "bad_args": (False, {"field", "reason"}),
    "invalid_url": (False, {"url"}),
    "invalid_scheme": (False, {"scheme"}),
    "invalid_host": (False, {"host"}),
    "port_blocked": (False, {"port", "allowed_ports"}),
    "ssrf_blocked": (False, {"blocked_ip", "cidr", "toggle"}),
    "dns_failed": (True, {"host", "error"}),
    "robots_disallowed": (False, {"path", "origin"}),
    "robots_unavailable": (True, {"origin", "error"}),
    "redirect_limit": (False, {"count", "max"}),
    "timeout": (True, {"timeout_ms", "phase"}),
    "network": (True, {"error"}),
    "response_too_large": (False, {"size", "max_bytes"}),
    "unsupported_content_type": (False, {"content_type"}),
    "http_4xx": (False, {"status", "status_text"}),
    "http_5xx": (True, {"status", "status_text"}),
    "browser_unavailable": (False, {"chromium_path", "error"}),
    "browser_crashed": (True, {"error"}),
    "extraction_failed": (False, {"error"}),
    "cache_read_failed": (True, {"path", "error"}),
    "internal": (True, {"error"}),
}


@pytest.mark.req("FR-WF-18")
def test_the_table_is_the_registry_of_the_srd() -> None:
    assert {str(code) for code in TABLE} == set(REGISTRY) == {str(code) for code in Code}
    for code, (retryable, details) in REGISTRY.items():
        row = TABLE[Code(code)]
        assert row.retryable is retryable
        assert details <= set(row.details)


def test_every_row_tells_people_programs_and_shells_what_to_do() -> None:
    for row in TABLE.values():
        assert row.meaning
        assert row.hint.endswith(".")
        assert row.exit not in (0, 1)
        assert 400 <= row.status <= 599


@pytest.mark.req("FR-WF-18", "FR-WF-18a", "FR-WF-18b", "T-WF-ERR-01")
def test_the_envelope_is_the_srds_json() -> None:
    error = SpanielError(Code.SSRF_BLOCKED, blocked_ip="10.0.0.5", cidr="10.0.0.0/8", toggle="block_private_ips")
    assert json.loads(error.as_json()) == {
        "code": "ssrf_blocked",
        "message": "Connection to 10.0.0.5 is blocked: it lies in 10.0.0.0/8",
        "retryable": False,
        "details": {"blocked_ip": "10.0.0.5", "cidr": "10.0.0.0/8", "toggle": "block_private_ips"},
    }


@pytest.mark.req("FR-WF-18b")
def test_details_are_left_out_when_there_are_none() -> None:
    assert set(SpanielError(Code.INTERNAL).as_dict()) == {"code", "message", "retryable"}


def test_a_message_stands_even_when_a_detail_is_missing() -> None:
    assert SpanielError(Code.DNS_FAILED, host="example.com").message == "DNS resolution failed (host: example.com)"


@given(st.text())
def test_no_foreign_text_can_steer_a_terminal(text: str) -> None:
    error = SpanielError(Code.NETWORK, error=f"\x1b[31m{text}\x9b0m\u202e")
    assert error.message.replace(" ", "").isprintable()
    error.as_json().encode()


@pytest.mark.parametrize(
    "sign",
    ["\x00", "\x1b", "\x7f", "\x85", "\x9b", "\u00ad", "\u061c", "\u200b", "\u200f", "\u202a", "\u202e", "\u2028"]
    + ["\u2029", "\u2066", "\u2069", "\ufeff", "\ufff9", "\ufffe", "\U0001bca0", "\U000e0041", "\U0010ffff", "\udcff"],
    ids=ascii,
)
def test_what_steers_or_hides_is_shown_by_its_number(sign: str) -> None:
    escape = ascii(sign)[1:-1]
    assert shown(f"https://example.com/a{sign}b") == f"https://example.com/a{escape}b"
    error = SpanielError(Code.INVALID_URL, url=f"http://{sign}/", reason="why")
    assert (error.details["url"], sign in error.as_json()) == (f"http://{escape}/", False)


def test_an_error_survives_a_process_boundary() -> None:
    error = pickle.loads(pickle.dumps(SpanielError(Code.TIMEOUT, timeout_ms=20, phase="connect")))  # noqa: S301
    assert error.as_dict() == SpanielError(Code.TIMEOUT, timeout_ms=20, phase="connect").as_dict()


def test_the_page_of_errors_is_what_the_table_says() -> None:
    page = runpy.run_path(str(ROOT / "docs" / "make.py"))["errors_page"]()
    assert (ROOT / "docs" / "errors.md").read_text(encoding="utf-8") == page, "run `make docs`"
