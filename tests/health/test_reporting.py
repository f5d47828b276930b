"""What is told of an attempt: all that is known of it, whether it brought an answer or a refusal, and nothing else."""

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
        (503, format_datetime(START + timedelta(seconds=90), usegmt=True), 90.0),  # which is half a second less
    ],
)
def test_for_how_long_a_host_asks_to_be_left_alone(status: int, value: str | None, seconds: float | None) -> None:
    headers = {} if value is None else {"retry_after": value}
    assert asked_to_wait(page(status, **headers), FakeClock(START)) == seconds


def test_who_asks_for_a_proof_is_not_waited_for() -> None:
    assert asked_to_wait(page(429, retry_after="5", cf_mitigated="challenge"), FakeClock(START)) is None


async def test_an_answer_is_told_with_all_that_was_seen_of_it() -> None:
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


async def test_a_type_is_told_as_far_as_it_may_be_one() -> None:
    hops = LinkHops(parse(URL), Deadline(20))
    for value, told in (("x" * 100, "x" * 100), ("x" * 101, "x" * 100 + "…"), ("", "")):
        assert answered(check(), hops, "GET", page(content_type=value), CheckedPage()).content_type == told
    assert answered(check(), hops, "GET", page(), CheckedPage()).content_type == ""


async def test_nothing_is_said_to_have_been_asked_before_it_was() -> None:
    hops = LinkHops(parse(URL), Deadline(20))
    for asked, method in ((False, ""), (True, "HEAD")):
        hops.is_asked = asked
        told = refused(SpanielError(Code.DNS_FAILED, host="a.test", cause="nxdomain"), hops, "HEAD")
        assert (told.evidence.method, told.evidence.phase, told.cause) == (method, "dns", "nxdomain")


def test_of_what_is_no_url_only_the_refusal_is_told() -> None:
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
async def test_a_failure_of_the_network_says_where_it_came(details: dict[str, object], cause: str, phase: str) -> None:
    hops = LinkHops(parse(URL), Deadline(20))
    hops.deadline.phase = "headers"
    for code in (Code.NETWORK, Code.ROBOTS_UNAVAILABLE):
        more = {"reason": "x"} if code is Code.ROBOTS_UNAVAILABLE else {"error": "x"}
        told = refused(SpanielError(code, **more, **details), hops)
        assert (told.code, told.cause, told.evidence.phase) == (str(code), cause, phase)


@pytest.mark.parametrize(
    ("phase", "told"), [("headers", "head"), ("start", ""), ("connect", "connect"), ("body", "body"), ("dns", "dns")]
)
async def test_a_deadline_says_what_was_waited_for(phase: str, told: str) -> None:
    hops = LinkHops(parse(URL), Deadline(20))
    hops.deadline.phase = "queue"
    late = SpanielError(Code.TIMEOUT, phase=phase, timeout_ms=1)
    assert refused(late, hops).evidence.phase == told
    assert refused(late).evidence.phase == ""  # nobody had set out
    hops.deadline.phase = phase
    assert refused(SpanielError(Code.NETWORK, error="x"), hops).evidence.phase == told
    assert refused(SpanielError(Code.REDIRECT_LIMIT, count=3, max=2), hops).evidence.phase == ""


@pytest.mark.req("FG-22")
@pytest.mark.parametrize(("code", "status"), [(Code.HTTP_4XX, 429), (Code.HTTP_5XX, 503)])
async def test_a_host_that_is_left_alone_is_told_with_what_it_said(code: Code, status: int) -> None:
    hops = LinkHops(parse(URL), Deadline(20))
    hops.arrived(page()._replace(certificate_ends=2000.0))
    told = refused(SpanielError(code, status=status, status_text="x", retry_after="30"), hops)
    assert (told.code, told.evidence.status, told.retry_after, told.certificate_ends) == (
        str(code),
        status,
        30.0,
        2000.0,
    )
    other = refused(SpanielError(Code.NETWORK, error="x"), hops)
    assert (other.evidence.status, other.retry_after) == (200, None)
