"""Observations of a request: complete for a response, and for an error."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.health.hops import LinkHops
from spaniel.health.links import Link
from spaniel.health.pages import CheckedPage
from spaniel.health.requests import LinkCheck, answered, asked_to_wait, failed
from spaniel.net.deadline import Deadline
from spaniel.net.http import Page
from spaniel.testing import FakeClock
from spaniel.url import parse
from spaniel.verdicts import Content, Evidence, Fragment, Hop, Observation

START = datetime(2026, 11, 16, 23, 59, 59, 500_000, tzinfo=UTC)
URL = "http://a.test/1"


def page(status: int = 200, **headers: str) -> Page:
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return Page(parse(URL), status, "", fields, b"", "127.0.0.1", None)


def check(attempts: int = 2, clock: FakeClock | None = None) -> LinkCheck:
    return LinkCheck(Link(URL), clock or FakeClock(START), attempts)


def refused(error: SpanielError, hops: LinkHops | None = None, method: str = "GET") -> Observation:
    return failed(check(), hops, method, error)


@pytest.mark.req("FG-22")
@pytest.mark.parametrize(
    ("status", "value", "seconds"),
    [
        *((429, "120", 120.0), (503, "120", 120.0), (429, "0", 0.0), (503, "0", 0.0)),
        *((429, None, 10.0), (429, "soon", 10.0), (503, None, None), (503, "soon", None)),
        *((200, "5", None), (428, "5", None), (430, "5", None), (502, "5", None), (504, "5", None)),
        (503, format_datetime(START + timedelta(seconds=90), usegmt=True), 90.0),  # half a second less
    ],
)
def test_retry_after_is_read_for_429_and_503_only(status: int, value: str | None, seconds: float | None) -> None:
    headers = {} if value is None else {"retry_after": value}
    assert asked_to_wait(page(status, **headers), FakeClock(START)) == seconds


def test_challenge_is_not_retried_after_a_delay() -> None:
    assert asked_to_wait(page(429, retry_after="5", cf_mitigated="challenge"), FakeClock(START)) is None


async def test_response_becomes_a_complete_observation() -> None:
    clock = FakeClock(START)
    hops = LinkHops(parse(URL), Deadline(20))
    hops.is_asked = True
    hops.arrived(page(302)._replace(certificate_ends=2000.0))
    hops.move(302, hops.resolve(page(302, location="/2#there")))
    hops.arrived(page(503)._replace(certificate_ends=3000.0, address="127.0.0.2"))
    asked = check(3, clock)
    clock.advance(1.23456)
    seen = CheckedPage(
        text="text",
        page_type="login",
        is_parked=True,
        content=Content(3, "a", True, "b"),
        fragments=(Fragment("x", True),),
        soft_404=False,
    )
    answer = page(503, content_type=" Text/HTML ; charset=utf-8", retry_after="7")
    assert answered(asked, hops, "GET", answer, seen) == Observation(
        at=START.timestamp(),
        evidence=Evidence(
            "GET",
            503,
            (Hop(URL, 302),),
            "http://a.test/2",
            "",
            3,
            "127.0.0.2",
            "2026-11-16T23:59:59Z",
            1.235,
        ),
        content_type="text/html",
        content=seen.content,
        page_type="login",
        is_parked=True,
        soft_404=False,
        fragments=seen.fragments,
        certificate_ends=2000.0,
        retry_after=7.0,
    )


async def test_long_content_type_is_shortened() -> None:
    hops = LinkHops(parse(URL), Deadline(20))
    for value, expected in (("x" * 100, "x" * 100), ("x" * 101, "x" * 100 + "…"), ("", "")):
        assert answered(check(), hops, "GET", page(content_type=value), CheckedPage()).content_type == expected
    assert answered(check(), hops, "GET", page(), CheckedPage()).content_type == ""


async def test_method_is_recorded_only_if_a_request_was_sent() -> None:
    hops = LinkHops(parse(URL), Deadline(20))
    for asked, method in ((False, ""), (True, "HEAD")):
        hops.is_asked = asked
        observed = refused(SpanielError(Code.DNS_FAILED, host="a.test", cause="nxdomain"), hops, "HEAD")
        assert (observed.evidence.method, observed.evidence.phase, observed.cause) == (method, "dns", "nxdomain")


def test_invalid_url_is_observed_with_its_error_only() -> None:
    error = SpanielError(Code.INVALID_URL, url="x", reason="odd")
    assert refused(error) == Observation(
        at=START.timestamp(),
        evidence=Evidence(at="2026-11-16T23:59:59Z", attempts=2),
        code="invalid_url",
        error=error.message,
    )


@pytest.mark.parametrize(
    ("details", "cause", "phase"),
    [
        ({"cause": "certificate"}, "certificate", "tls"),
        ({"cause": "tls"}, "tls", "tls"),
        ({"cause": "connect"}, "connect", "connect"),
        ({"cause": "connect", "refused": True}, "refused", "connect"),
        ({}, "", "head"),
    ],
)
async def test_network_error_has_its_phase(details: dict[str, object], cause: str, phase: str) -> None:
    hops = LinkHops(parse(URL), Deadline(20))
    hops.deadline.phase = "headers"
    for code in (Code.NETWORK, Code.ROBOTS_UNAVAILABLE):
        more = {"reason": "x"} if code is Code.ROBOTS_UNAVAILABLE else {"error": "x"}
        observed = refused(SpanielError(code, **more, **details), hops)
        assert (observed.code, observed.cause, observed.evidence.phase) == (str(code), cause, phase)


@pytest.mark.parametrize(
    ("phase", "expected"),
    [("headers", "head"), ("start", ""), ("connect", "connect"), ("body", "body"), ("dns", "dns")],
)
async def test_timeout_has_its_phase(phase: str, expected: str) -> None:
    hops = LinkHops(parse(URL), Deadline(20))
    hops.deadline.phase = "queue"
    late = SpanielError(Code.TIMEOUT, phase=phase, timeout_ms=1)
    assert refused(late, hops).evidence.phase == expected
    assert refused(late).evidence.phase == ""  # no request was started
    hops.deadline.phase = phase
    assert refused(SpanielError(Code.NETWORK, error="x"), hops).evidence.phase == expected
    assert refused(SpanielError(Code.REDIRECT_LIMIT, count=3, max=2), hops).evidence.phase == ""


@pytest.mark.req("FG-22")
@pytest.mark.parametrize(("code", "status"), [(Code.HTTP_4XX, 429), (Code.HTTP_5XX, 503)])
async def test_paused_host_is_observed_with_its_status_and_delay(code: Code, status: int) -> None:
    hops = LinkHops(parse(URL), Deadline(20))
    hops.arrived(page()._replace(certificate_ends=2000.0))
    observed = refused(SpanielError(code, status=status, status_text="x", retry_after="30"), hops)
    assert (observed.code, observed.evidence.status, observed.retry_after, observed.certificate_ends) == (
        str(code),
        status,
        30.0,
        2000.0,
    )
    other = refused(SpanielError(Code.NETWORK, error="x"), hops)
    assert (other.evidence.status, other.retry_after) == (200, None)
