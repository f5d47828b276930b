"""Page patterns: logins, front pages, parked domains, challenges; certificates that end soon; trust in HEAD."""

from __future__ import annotations

import pytest

from spaniel.health import requests
from spaniel.health.judging import ending
from spaniel.health.links import Remark
from spaniel.health.page_patterns import load_patterns
from spaniel.health.requests import HeadTrust, Trust
from spaniel.url.parsing import parse
from tests.health.plays import WORDS

NOW, DAY = 1_800_000_000.0, 86_400


@pytest.mark.parametrize(
    ("path", "login", "root", "error"),
    [
        ("/", False, True, False), ("/Index.HTML", False, True, False), ("/?a=1", False, False, False),
        ("/home/", False, True, False), ("/docs/", False, False, False), ("/user/Sign-In", True, False, False),
        ("/logins", False, False, False), ("/wp-login.php?x", True, False, False), ("/a/404", False, False, True),
        ("/errors-in-python", False, False, False), ("/4040", False, False, False),
    ],
)  # fmt: skip
def test_login_front_and_error_pages_are_recognized_by_path(path: str, login: bool, root: bool, error: bool) -> None:
    url = parse(f"http://a.test{path}")
    assert (load_patterns().is_login(url), load_patterns().is_root(url), load_patterns().is_error(url)) == (
        login,
        root,
        error,
    )


@pytest.mark.parametrize(
    ("first", "last", "why"),
    [
        ("/x/y", "/?from=old", "front page"), ("/x/y", "/Index.PHP?lang=en", "front page"), ("/?p=4", "/", "front"),
        ("/x/y", "/?p=4", ""), ("/x", "/.html", ""),
        ("/x", "/errors/Not-Found.aspx", "errors"), ("/x", "/login.txt", ""),
        ("/x", "http://accounts.b.test/ServiceLogin?a=x", "login"), ("/x", "http://login.b.test/realms", "login"),
        ("http://login.b.test/x", "http://login.b.test/y", ""), ("/x", "http://b.test/y", ""),
        ("/x", "http://www.sedo.com/y", "for sale"),
    ],
)  # fmt: skip
def test_suspect_redirect_target_is_recognized(first: str, last: str, why: str) -> None:
    here = parse("http://a.test/")
    reason = load_patterns().why_suspect(parse(first, base=here), parse(last, base=here))
    assert (why in reason, bool(why)) == (True, bool(reason))


def test_parked_domain_is_recognized_in_short_text_only() -> None:
    sale = "example.test: This Domain Is For Sale. Make an offer."
    assert load_patterns().looks_parked(sale)
    assert load_patterns().looks_parked("Diese Domain steht zum Verkauf")
    assert not load_patterns().looks_parked(f"{sale} {WORDS * 15}")  # an article about it
    assert not load_patterns().looks_parked(WORDS)
    assert load_patterns().is_parking_host("www.sedoparking.com")
    assert not load_patterns().is_parking_host("notsedo.com")


def test_challenge_is_recognized_by_its_header() -> None:
    assert load_patterns().is_challenge({"cf-mitigated": "Challenge"})
    assert load_patterns().is_challenge({"x-amzn-waf-action": "captcha"})
    assert load_patterns().is_challenge({"x-vercel-mitigated": "challenge"})
    assert not load_patterns().is_challenge({"cf-mitigated": "no", "server": "challenge"})


@pytest.mark.parametrize(
    ("days", "text"),
    [
        (14.0, "Its certificate ends in 14 days."), (13.99, "in 13 days."), (2.0, "in 2 days."), (1.9, "in 1 day."),
        (1.0, "Its certificate ends in 1 day."), (0.5, "Its certificate ends in less than a day."),
        (-1.0, "in less than a day."), (14.01, None), (400, None),
    ],
)  # fmt: skip
def test_certificate_finding_starts_fourteen_days_before_the_end(days: float, text: str | None) -> None:
    finding = ending(NOW + days * DAY, NOW)
    assert (finding is None) == (text is None)
    if finding is not None and text is not None:
        assert finding.text.endswith(text)
        assert finding.remark is Remark.CERTIFICATE_ENDING


def test_no_certificate_finding_without_tls() -> None:
    assert ending(None, NOW) is None


def test_distrust_of_head_is_permanent() -> None:
    trust = HeadTrust(tries=True)
    assert trust.of("http://a.test") is Trust.UNTRIED
    trust.learn("http://a.test", Trust.TRUSTED)
    trust.learn("http://a.test", Trust.UNTRIED)
    assert trust.of("http://a.test") is Trust.TRUSTED
    trust.learn("http://a.test", Trust.DISTRUSTED)
    trust.learn("http://a.test", Trust.TRUSTED)
    assert trust.of("http://a.test") is Trust.DISTRUSTED
    assert trust.of("https://a.test") is Trust.UNTRIED
    assert HeadTrust(tries=False).of("http://a.test") is Trust.TRUSTED


def test_head_trust_table_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert requests.MOST_KNOWN == 100_000
    monkeypatch.setattr(requests, "MOST_KNOWN", 3)
    trust = HeadTrust(tries=True)
    for number in range(10):
        trust.learn(f"http://{number}.test", Trust.TRUSTED)
    assert len(trust._known) <= 3
    assert trust.of("http://9.test") is Trust.TRUSTED
