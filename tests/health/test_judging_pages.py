"""Verdicts on pages that came: where they are now, and whether they are what was asserted."""

from __future__ import annotations

import pytest

from spaniel.verdicts import Change, Content, Hop, Move, Past, Verdict
from tests.health.facts import HASH, URL, answer, judged

MOVES = [
    ((301,), "http://site.test/new/page", True, ""),
    ((308, 301), "http://other.test/docs/page", True, ""),
    ((302,), "http://site.test/new/page", False, ""),
    ((301, 302, 308), "http://site.test/new", False, ""),
    ((303,), "http://site.test/new", False, ""),
    ((307,), "http://site.test/new", False, ""),
    ((301,), "http://site.test/", True, "it ends at the front page of a site"),
    ((301,), "http://other.test/Index.html", True, "it ends at the front page of a site"),
    ((301,), "http://site.test/?p=17", True, ""),
    ((302,), "http://site.test/user/Login?next=x", False, "it ends at a login"),
    ((302,), "http://site.test/404.html", False, "it ends at a page for errors"),
    ((302,), "http://www.hugedomains.com/domain_profile.cfm", False, "it ends at a domain that is for sale"),
]


@pytest.mark.parametrize(("statuses", "end", "is_permanent", "why"), MOVES)
def test_a_page_after_redirects_has_moved(statuses: tuple[int, ...], end: str, is_permanent: bool, why: str) -> None:
    hops = tuple(
        Hop(URL if not number else f"http://hop.test/{number}", status) for number, status in enumerate(statuses)
    )
    checked = judged(answer(200, "HEAD", *hops, final=end))
    assert checked.verdict == Verdict.MOVED
    assert checked.move == Move(end, is_permanent, bool(why), why)
    told_why = f"; suspect: {why}" if why else ""
    assert checked.reason == f"It redirects {'permanently' if is_permanent else 'temporarily'} to {end}{told_why}"


def test_an_end_is_suspect_only_where_the_link_did_not_name_it() -> None:
    def why(start: str, end: str, **facts: object) -> str:
        checked = judged(answer(200, "GET", Hop(start, 301), final=end, **facts))
        assert checked.move is not None
        return checked.move.why_suspect

    assert why("http://a.test/login", "http://a.test/account/login") == ""
    assert why("http://a.test/login", "http://a.test/account/login", page_type="login") == ""
    assert why("http://a.test/error", "https://a.test/error") == ""
    assert why("http://a.test/", "https://a.test/") == ""
    assert why("http://a.test/x", "http://a.test/y", page_type="login") == "it ends at a login"
    assert why("http://a.test/x", "http://b.test/y", is_parked=True) == "it ends at a domain that is for sale"


@pytest.mark.parametrize("end", ["http://site.test/new", "http://site.test/login"])
def test_where_a_redirect_was_said_to_be_fine_nothing_has_moved(end: str) -> None:
    assert judged(answer(200, "GET", Hop(URL, 301), final=end), redirect_is_fine=True).verdict is Verdict.OK


def test_a_page_that_came_back_to_itself_has_not_moved() -> None:
    checked = judged(answer(200, "GET", Hop(URL, 302), Hop("http://site.test/welcome", 302), final=URL))
    assert (checked.verdict, checked.move, checked.reason) == (Verdict.OK, None, "")


@pytest.mark.req("DB-07")
def test_what_differs_is_told_with_old_and_new() -> None:
    content = Content(5, HASH)
    same = judged(
        answer(200, content=content, content_type="text/html"), length=5, sha256="A" * 64, content_type="text/HTML; x=y"
    )
    assert (same.verdict, same.changes) == (Verdict.OK, ())
    checked = judged(
        answer(200, content=content, content_type="x/y"), length=6, sha256="b" * 64, content_type="text/html"
    )
    assert checked.verdict == Verdict.CHANGED
    assert checked.changes == (
        Change("length", "6", "5"), Change("sha256", "b" * 64, HASH), Change("content-type", "text/html", "x/y"),
    )  # fmt: skip
    assert checked.reason == "It differs from what is asserted: length, sha256, content-type"
    cut = judged(answer(200, content=Content(9, "", is_whole=False)), length=6, sha256=HASH)
    assert [change.new for change in cut.changes] == ["at least 9", "not read to its end"]


@pytest.mark.req("DB-07")
def test_an_assertion_about_content_is_one_about_the_page_after_redirects() -> None:
    hop = Hop(URL, 301)
    same = answer(200, "GET", hop, final="http://site.test/new", content=Content(5, HASH), content_type="text/html")
    assert judged(same, length=5).verdict == Verdict.OK  # and redirects are as good
    assert judged(same, length=5, may_redirect=False).verdict == Verdict.MOVED
    changed = judged(same, length=6)
    assert (changed.verdict, changed.move) == (Verdict.CHANGED, Move("http://site.test/new", True))
    assert judged(same._replace(page_type="login"), length=5).verdict == Verdict.BLOCKED
    assert judged(answer(304), length=5).verdict == Verdict.UNKNOWN
    assert judged(answer(304), may_redirect=False).verdict == Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("asserted", "came", "same"),
    [
        ("application/javascript", "application/x-javascript", True),
        ("text/javascript; charset=utf-8", "application/javascript", True),
        ("text/xml", "application/xml", True),
        ("application/x-zip-compressed", "application/zip", True),
        ("text/html; charset=utf-8", "text/html", True),
        ("application/javascript", "application/zip", False),
        ("text/html", "", False),
        ("text/html", "text/plain", False),
    ],
)
def test_a_type_is_the_same_by_its_old_name_and_without_parameters(asserted: str, came: str, same: bool) -> None:
    assert (judged(answer(200, content_type=came), content_type=asserted).verdict == Verdict.OK) == same
    assert judged(answer(200, content_type=came), content_type=asserted, type_may_change=True).verdict == Verdict.OK


@pytest.mark.parametrize(
    ("asserted", "status", "verdict", "new"),
    [
        ("X-301-Redirect", 301, "ok", ""), ("X-301-Redirect", 308, "ok", ""), ("x-302-redirect", 302, "ok", ""),
        ("X-302-Redirect", 307, "ok", ""), ("X-302-Redirect", 303, "ok", ""),
        ("X-301-Redirect", 302, "changed", "X-302-Redirect"), ("X-302-Redirect", 301, "changed", "X-301-Redirect"),
        ("X-301-Redirect", 200, "changed", "text/html"), ("X-301-Redirect", 404, "failing", ""),
        ("X-301-Redirect", 500, "unknown", ""), ("X-301-Redirect", 403, "blocked", ""),
        ("X-301-Redirect", 199, "unknown", ""),
    ],
)  # fmt: skip
def test_a_record_may_assert_a_redirect(asserted: str, status: int, verdict: str, new: str) -> None:
    checked = judged(answer(status, content_type="text/html"), content_type=asserted, may_redirect=False)
    assert checked.verdict == verdict
    assert checked.changes == ((Change("content-type", asserted, new),) if new else ())
    if new:
        assert checked.reason.startswith(f"It should redirect with {asserted[2:5]}: {status}")


@pytest.mark.parametrize(
    ("status", "verdict"), [(300, "ok"), (302, "ok"), (399, "ok"), (299, "changed"), (400, "unknown")]
)
def test_any_redirect_will_do_where_redirects_are_fine(status: int, verdict: str) -> None:
    assert judged(answer(status), content_type="X-301-Redirect").verdict == verdict


def test_the_text_is_compared_with_the_one_of_last_time() -> None:
    def changed(text: str, before: str) -> tuple[str, bool | None]:
        checked = judged(answer(200, content=Content(5, HASH, text_sha256=text)), Past(text_sha256=before))
        return checked.text_sha256, checked.text_changed

    assert changed("x", "x") == ("x", False)
    assert changed("x", "y") == ("x", True)
    assert changed("x", "") == ("x", None)
    assert changed("", "y") == ("", None)
