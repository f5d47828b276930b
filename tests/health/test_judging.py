"""Verdicts from facts: every row of the table, just inside and outside each line; no fact is without a verdict."""

from __future__ import annotations

from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.errors import Code
from spaniel.health import judging
from spaniel.health.judging import judge
from spaniel.health.links import Link, LinkFinding, Remark
from spaniel.verdicts import (
    ANYTHING,
    NOTHING,
    PHRASES,
    Content,
    Evidence,
    Expected,
    Fragment,
    Hop,
    Observation,
    Past,
    Verdict,
    failures_apart,
)
from tests.health.facts import NOW, URL, answer, judged, refusal

DAY = 86_400


@pytest.mark.req("DB-06")
@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (200, "ok"), (201, "ok"), (204, "ok"), (206, "ok"), (299, "ok"), (300, "ok"), (304, "ok"), (399, "ok"),
        (199, "unknown"), (101, "unknown"), (None, "unknown"), (400, "unknown"), (405, "unknown"), (418, "unknown"),
        (401, "blocked"), (402, "blocked"), (403, "blocked"), (407, "blocked"), (451, "blocked"), (999, "blocked"),
        (404, "failing"), (410, "dead"), (429, "rate-limited"), (500, "unknown"), (503, "unknown"), (600, "unknown"),
    ],
)  # fmt: skip
def test_each_status_by_get_has_its_verdict(status: int | None, verdict: str) -> None:
    checked = judged(answer(status))
    assert checked.verdict == verdict
    assert (str(status or 0) in checked.reason) == (verdict != "ok" or status in (300, 304, 399))
    assert checked.evidence == Evidence("GET", status, (), URL)


def test_of_a_link_that_is_new_nothing_is_known() -> None:
    assert Past((), None, (), "", "", False) == NOTHING


@pytest.mark.parametrize("status", sorted(PHRASES))
def test_a_status_is_told_with_its_usual_words(status: int) -> None:
    assert judged(answer(status)).reason.startswith(f"{status} {HTTPStatus(status).phrase}")


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (401, "login required"), (402, "payment required"),
        (403, "the server does not show it to us"),
        (407, "a proxy requires authentication"), (451, "the server may not show it, for legal reasons"),
        (999, "the server does not show it to programs"),
    ],
)  # fmt: skip
def test_what_is_blocked_says_why(status: int, why: str) -> None:
    assert judged(answer(status)).reason.endswith(f": {why}")
    challenged = judged(answer(status, page_type="challenge")).reason
    assert challenged.endswith(": the site asks programs to prove that they are people")
    assert judged(answer(200, page_type="geo_block")).reason == "200: the site does not show it in our region"


def test_gone_for_good_is_dead_at_the_first_check() -> None:
    checked = judged(answer(410))
    assert (checked.verdict, checked.failures) == (Verdict.DEAD, 1)
    assert checked.reason == "410 Gone: the server says that it is gone for good"


@pytest.mark.parametrize("status", [404, 410, 400, 405, 500])
def test_head_alone_condemns_nothing(status: int) -> None:
    checked = judged(answer(status, "HEAD"), Past(failures=(NOW - 30 * DAY, NOW - 20 * DAY)))
    assert (checked.verdict, checked.failures) == (Verdict.UNKNOWN, 0)


def test_a_503_asks_for_time_only_where_it_says_how_long() -> None:
    assert judged(answer(503)).verdict == Verdict.UNKNOWN
    limited = judged(answer(503, retry_after=0.0))
    assert (limited.verdict, limited.reason) == (
        Verdict.RATE_LIMITED,
        "503 Service Unavailable. The host asked us to wait",
    )
    assert "wait 30 s" in judged(answer(429, retry_after=30.0)).reason
    assert judged(refusal(Code.HTTP_5XX, retry_after=9.0)).verdict == Verdict.RATE_LIMITED
    assert "wait 9 s" in judged(refusal(Code.HTTP_5XX, retry_after=9.0)).reason


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [
        ("challenge", "blocked"),
        ("geo_block", "blocked"),
        ("rate_limit", "rate-limited"),
        ("paywall", "blocked"),
        ("login", "blocked"),
        ("unheard-of", "blocked"),
    ],
)
def test_a_page_may_say_otherwise_than_its_status(kind: str, verdict: str) -> None:
    assert judged(answer(200, page_type=kind)).verdict == verdict


@pytest.mark.parametrize(
    ("code", "cause", "verdict", "reason"),
    [
        (
            Code.DNS_FAILED,
            "nxdomain",
            "failing",
            "its host has no address: the name is not known (1 of 3 checks failed)",
        ),
        (Code.DNS_FAILED, "", "unknown", "The sentence of it"),
        (Code.NETWORK, "refused", "failing", "its host refuses connections (1 of 3 checks failed)"),
        (Code.NETWORK, "connect", "unknown", "The sentence of it"),
        (Code.NETWORK, "certificate", "unknown", "The sentence of it"),
        (Code.NETWORK, "tls", "unknown", "The sentence of it"),
        (Code.NETWORK, "", "unknown", "The sentence of it"),
        (Code.TIMEOUT, "", "unknown", "The sentence of it"),
        (Code.REDIRECT_LIMIT, "", "unknown", "The sentence of it"),
        (Code.INVALID_URL, "", "unknown", "The sentence of it"),
        (Code.INVALID_SCHEME, "", "skipped", "The sentence of it"),
        (Code.ROBOTS_UNAVAILABLE, "", "unknown", "The sentence of it"),
        (Code.ROBOTS_DISALLOWED, "", "blocked", "The sentence of it"),
        (Code.SSRF_BLOCKED, "", "blocked", "Spaniel's own guard refused it: The sentence of it"),
        (Code.PORT_BLOCKED, "", "blocked", "Spaniel's own guard refused it: The sentence of it"),
        (Code.INVALID_HOST, "", "blocked", "Spaniel's own guard refused it: The sentence of it"),
    ],
)
def test_each_failure_has_its_verdict_and_its_reason(code: Code, cause: str, verdict: str, reason: str) -> None:
    checked = judged(refusal(code, cause))
    assert (checked.verdict, checked.reason, checked.code) == (verdict, reason, str(code))


def test_what_fails_after_a_redirect_says_where() -> None:
    hop = Hop(URL, 301)
    for code in (Code.SSRF_BLOCKED, Code.TIMEOUT, Code.ROBOTS_DISALLOWED, Code.INVALID_SCHEME):
        assert "(after a redirect, at http://end.test/)" in judged(refusal(code, "", hop)).reason
    assert judged(refusal(Code.INVALID_SCHEME, "", hop)).verdict == Verdict.UNKNOWN
    assert "end.test" in judged(refusal(Code.DNS_FAILED, "nxdomain", hop)).reason


def test_what_failed_by_head_alone_is_unknown() -> None:
    assert judged(refusal(Code.NETWORK, "refused", method="HEAD")).verdict == Verdict.UNKNOWN
    assert judged(refusal(Code.DNS_FAILED, "nxdomain", method="")).verdict == Verdict.FAILING


@pytest.mark.parametrize(
    ("days_ago", "verdict", "failures"),
    [
        ((), "failing", 1),
        ((3,), "failing", 2),
        ((2.999,), "failing", 1),
        ((6, 3), "dead", 3),
        ((3, 6), "dead", 3),
        ((6, 3.001), "failing", 2),  # the second is less than three days from the first… but not from this one
        ((5.999, 3), "failing", 2),
        ((0.1, 0.2, 0.3, 0.4), "failing", 1),
        ((9, 6, 3), "dead", 4),
        ((9, 6, 3, 0.5), "dead", 4),
        ((6, 5, 4, 3, 2, 1), "dead", 3),
        ((60,), "failing", 2),
    ],
)
def test_three_failures_three_days_apart_are_a_death(days_ago: tuple[float, ...], verdict: str, failures: int) -> None:
    past = Past(failures=tuple(NOW - days * DAY for days in days_ago))
    for observation in (answer(404), refusal(Code.DNS_FAILED, "nxdomain"), refusal(Code.NETWORK, "refused")):
        checked = judged(observation, past)
        assert (checked.verdict, checked.failures) == (verdict, failures)
        how = (
            f"{failures} checks, at least three days apart, failed" if verdict == "dead" else f"{failures} of 3 checks"
        )
        assert how in checked.reason


@given(st.lists(st.floats(0, 100 * DAY)))
def test_counted_failures_are_as_many_as_can_be_three_days_apart(times: list[float]) -> None:
    counted = failures_apart(tuple(times))
    assert counted == failures_apart(tuple(reversed(times)))
    assert counted <= len(times)
    assert bool(counted) == bool(times)
    if times:
        assert counted <= (max(times) - min(times)) // (3 * DAY) + 1


def test_findings_stand_beside_the_verdict() -> None:
    fragments = Fragment("a", True), Fragment("#b", False), Fragment("c\x1b", None)
    seen = answer(200, fragments=fragments, soft_404=True, is_parked=True, certificate_ends=NOW + 13.5 * DAY)
    remarks = [(finding.remark, finding.text) for finding in judged(seen).findings]
    assert [remark for remark, _ in remarks] == [
        Remark.SOFT_404, Remark.PARKED, Remark.FRAGMENT_MISSING, Remark.FRAGMENT_UNKNOWN, Remark.CERTIFICATE_ENDING,
    ]  # fmt: skip
    assert "'#b'" in remarks[2][1]
    assert r"'#c\x1b'" in remarks[3][1]
    assert judged(seen).verdict == Verdict.OK
    assert judged(answer(200, soft_404=False)).findings == ()


def test_a_chain_that_is_another_one_is_told() -> None:
    hop, new = Hop(URL, 301), "http://site.test/new"
    seen = answer(200, "GET", hop, final=new)
    assert judged(seen, Past(chain=(hop,), final_url=new)).findings == ()
    assert judged(seen).findings == ()  # nobody knows what it was
    text = "It led to http://site.test/old before; the redirects are others now."
    finding = (LinkFinding(Remark.CHAIN_CHANGED, text),)
    assert judged(seen, Past(chain=(hop,), final_url="http://site.test/old")).findings == finding
    assert judged(seen, Past(chain=(Hop(URL, 302),), final_url=new)).findings != ()
    assert judged(answer(500), Past(final_url="http://site.test/old")).findings == ()
    assert judged(answer(404), Past(final_url="http://site.test/old")).findings == ()
    for status, findings in ((199, ()), (200, finding), (399, finding), (400, ()), (None, ())):
        assert judged(answer(status), Past(final_url="http://site.test/old")).findings == findings
    assert judged(refusal(Code.TIMEOUT), Past(final_url="http://site.test/old")).findings == ()


HOPS = st.lists(st.builds(Hop, st.just("http://a.test/x"), st.integers(0, 999)), max_size=3).map(tuple)
EVIDENCE = st.builds(
    Evidence, st.sampled_from(["", "HEAD", "GET"]), st.none() | st.integers(0, 1000), HOPS, st.just("http://b.test/y?z")
)
OBSERVED = st.builds(
    Observation,
    st.just(NOW),
    EVIDENCE,
    st.sampled_from(["", *map(str, Code)]),
    error=st.just("It failed"),
    cause=st.sampled_from(["", "nxdomain", "refused", "tls"]),
    content=st.none() | st.builds(Content, st.integers(0), st.text()),
    page_type=st.sampled_from(["", "challenge", "login", "geo_block", "rate_limit", "else"]),
    retry_after=st.none() | st.floats(0, 1e9),
    certificate_ends=st.none() | st.floats(0, 4e9),
)
EXPECTED = st.builds(
    Expected,
    length=st.none() | st.integers(0),
    content_type=st.sampled_from([None, "", "x/y", "X-301-Redirect"]),
    may_redirect=st.booleans(),
)


@given(OBSERVED, EXPECTED, st.lists(st.floats(0, 2e9)).map(tuple))
def test_whatever_was_observed_has_a_verdict_that_its_evidence_bears(
    observed: Observation, expected: Expected, failures: tuple[float, ...]
) -> None:
    checked = judge(observed, Link(URL, expected=expected), Past(failures=failures))
    assert checked.evidence is observed.evidence
    assert checked.reason or checked.verdict == Verdict.OK
    if checked.verdict in (Verdict.DEAD, Verdict.FAILING):
        assert observed.evidence.method != "HEAD"
        assert observed.evidence.status == 410 or checked.failures >= 1
    if checked.verdict == Verdict.DEAD:
        assert observed.evidence.status == 410 or failures_apart((*failures, NOW)) >= 3
    if checked.verdict in (Verdict.OK, Verdict.MOVED, Verdict.CHANGED):
        assert not observed.code
        assert 200 <= (observed.evidence.status or 0) <= 399


@given(OBSERVED, st.just(ANYTHING) | EXPECTED, st.sampled_from([NOTHING, Past(final_url=URL, text_sha256="a")]))
def test_what_is_plainly_well_is_told_as_by_the_long_way(observed: Observation, expected: Expected, past: Past) -> None:
    link = Link(URL, expected=expected)
    quick = judge(observed, link, past)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(judging, "_is_plain", lambda *_: False)
        assert judge(observed, link, past) == quick


@pytest.mark.parametrize("status", [199, 200, 204, 299, 300])
def test_a_page_from_where_it_was_asked_is_told_as_by_the_long_way(status: int) -> None:
    observed = answer(status, "HEAD", certificate_ends=NOW + DAY, is_parked=True, content_type="text/html")
    quick = judged(observed, Past(final_url="http://elsewhere.test/"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(judging, "_is_plain", lambda *_: False)
        assert judged(observed, Past(final_url="http://elsewhere.test/")) == quick
