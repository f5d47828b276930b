"""What a failure means for the next fallback, and what is known of hosts without HTTPS."""

from __future__ import annotations

from pathlib import Path

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.hosts import Hosts
from spaniel.pipeline.fallbacks import REFUSED_HERE, failure_label, not_down, not_transient, root_of
from spaniel.pipeline.fetch import KnownWeb
from spaniel.pipeline.fetch import canonical_form as canonical
from spaniel.testing import FakeClock, Site, spaniel_for, text
from spaniel.url.policy import load

CODES = {
    SpanielError(Code.HTTP_5XX, status=503): ("", ""),
    SpanielError(Code.HTTP_4XX, status=429): ("", "not after 429"),
    SpanielError(Code.HTTP_4XX, status=404): ("not after 404", ""),
    SpanielError(Code.HTTP_4XX, status=410): ("not after 410", ""),
    SpanielError(Code.HTTP_4XX, status=401): ("not after 401", "not after 401"),
    SpanielError(Code.HTTP_4XX, status=402): ("not after 402", "not after 402"),
    SpanielError(Code.HTTP_4XX, status=403): ("not after 403", "not after 403"),
    SpanielError(Code.TIMEOUT, timeout_ms=1, phase="body"): ("", ""),
    SpanielError(Code.TIMEOUT, timeout_ms=1, phase="extract"): ("not after timeout", "not after timeout"),
    SpanielError(Code.NETWORK, error="x"): ("", ""),
    SpanielError(Code.NETWORK, error="x", cause="connect"): ("", ""),
    SpanielError(Code.NETWORK, error="x", cause="certificate"): ("not after network", ""),
    SpanielError(Code.NETWORK, error="x", status=304): ("not after 304", "not after 304"),
    SpanielError(Code.DNS_FAILED, host="h", error="x"): ("not after dns_failed", ""),
    SpanielError(Code.SSRF_BLOCKED): ("not after ssrf_blocked", "not after ssrf_blocked"),
    SpanielError(Code.ROBOTS_DISALLOWED): ("not after robots_disallowed", "not after robots_disallowed"),
    SpanielError(Code.ROBOTS_UNAVAILABLE): ("not after robots_unavailable", "not after robots_unavailable"),
    SpanielError(Code.REDIRECT_LIMIT): ("not after redirect_limit", "not after redirect_limit"),
}


@pytest.mark.req("FG-30", "FG-32")
@pytest.mark.parametrize(("error", "whys"), CODES.items(), ids=str)
def test_what_each_failure_says_about_retries_and_copies(error: SpanielError, whys: tuple[str, str]) -> None:
    assert (not_transient(error), not_down(error)) == whys


@pytest.mark.req("FG-30", "FG-32")
@pytest.mark.parametrize(
    ("cause", "whys"),
    [
        (SpanielError(Code.HTTP_5XX, status=503), ("", "not after robots_unavailable")),
        (SpanielError(Code.TIMEOUT, timeout_ms=1, phase="connect"), ("", "")),
        (SpanielError(Code.NETWORK, error="x"), ("", "")),
    ],
)
def test_a_robots_txt_that_cannot_be_read_is_judged_by_why(cause: SpanielError, whys: tuple[str, str]) -> None:
    """It is tried again like the host; but a robots.txt that answers 5xx says no, also to copies."""
    error = SpanielError(Code.ROBOTS_UNAVAILABLE, origin="o", error="x")
    error.__cause__ = cause
    assert (not_transient(error), not_down(error)) == whys


def test_only_of_robots_txt_the_cause_is_looked_at() -> None:
    error = SpanielError(Code.HTTP_4XX, status=403)
    error.__cause__ = SpanielError(Code.TIMEOUT, timeout_ms=1, phase="connect")
    assert not_transient(error) == not_down(error) == "not after 403"


@pytest.mark.req("FG-21", "FG-32")
@pytest.mark.parametrize("page_type", ["paywall", "login", "challenge", "geo_block", "forbidden"])
def test_whoever_has_said_no_in_words_is_not_got_round(page_type: str) -> None:
    for code, status in ((Code.HTTP_5XX, 503), (Code.HTTP_4XX, 404)):
        error = SpanielError(code, status=status, page_type=page_type)
        assert not_transient(error) == not_down(error) == f"access to the page is restricted: {page_type}"


@pytest.mark.req("FG-22")
def test_a_page_that_says_not_now_may_be_asked_for_again() -> None:
    error = SpanielError(Code.HTTP_4XX, status=429, page_type="rate_limit")
    assert (not_transient(error), not_down(error)) == ("", "not after 429")


def test_where_nothing_has_failed_nothing_is_to_be_made_up_for() -> None:
    assert not_transient(None) == not_down(None) == "nothing has failed"


def test_a_failure_is_told_by_its_status_or_else_by_its_code() -> None:
    assert failure_label(SpanielError(Code.HTTP_4XX, status=418)) == "418"
    assert failure_label(SpanielError(Code.TIMEOUT, timeout_ms=1, phase="body")) == "timeout"


def test_the_root_of_what_kept_robots_txt_from_being_read() -> None:
    error, cause = SpanielError(Code.ROBOTS_UNAVAILABLE), SpanielError(Code.DNS_FAILED, host="h", error="x")
    assert root_of(error) is error
    error.__cause__ = OSError()
    assert root_of(error) is error
    error.__cause__ = cause
    assert root_of(error) is cause


def test_these_are_refused_by_our_own_guard() -> None:
    assert {Code.SSRF_BLOCKED, Code.PORT_BLOCKED, Code.INVALID_HOST} == REFUSED_HERE


@pytest.mark.req("FG-13")
@pytest.mark.parametrize(
    ("raw", "url"),
    [
        ("http://old.example/a", "http://old.example/a"),
        (" HTTP://OLD.example/a", "http://old.example/a"),
        ("http://new.example/a", "https://new.example/a"),
        ("https://old.example/a", "https://old.example/a"),  # who asks for HTTPS means it
        ("old.example/a", "https://old.example/a"),
    ],
)
def test_only_http_to_a_host_that_lacks_https_stays_http(raw: str, url: str) -> None:
    hosts = Hosts(FakeClock())
    hosts.set_http_only("old.example")
    assert canonical(load("ingest"), raw, hosts).url == url


@pytest.mark.req("FG-13")
def test_of_other_hosts_it_is_not_known_whether_they_lack_https() -> None:
    hosts = Hosts(FakeClock())
    hosts.set_http_only("old.example")
    known = KnownWeb(hosts)
    assert known.lacks_https("old.example") is True
    assert known.lacks_https("new.example") is None


@pytest.mark.req("FR-WF-18")
@pytest.mark.parametrize(
    ("status", "price", "said"),
    [(402, "USD 0.01", True), (402, "USD 1\x1b[31m", True), (402, None, False), (403, "USD 0.01", False)],
)
async def test_a_price_for_programs_is_named(status: int, price: str | None, said: bool, tmp_path: Path) -> None:
    headers = {"crawler-price": price} if price is not None else {}
    async with Site({"/": text("Pay first", status, headers)}) as site, spaniel_for(site, cache=tmp_path) as spaniel:
        with pytest.raises(SpanielError) as caught:
            await spaniel.fetch(site.url("/"))
    error = caught.value
    assert (str(error.code), error.retryable) == ("http_4xx", False)
    assert ("crawler-price: USD" in error.message, "crawler_price" in error.details) == (said, said)
    assert error.message.isprintable()
    assert ("requires payment" in error.model_hint) is said
