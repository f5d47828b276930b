"""What came instead of the page: every sign holds where it should, and not on pages that only look alike."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spaniel import extract
from spaniel.errors import SpanielError
from spaniel.net.http import Page
from spaniel.pipeline.page_types import PageEvidence, page_type_of, region_of
from spaniel.pipeline.page_types import page_patterns as signs
from spaniel.reading.document import Document, Metadata
from spaniel.url.parsing import parse

ARTICLE = "<p>" + "The river rose again in March, and the town was ready for it this time. " * 60 + "</p>"
TYPES = {"paywall", "login", "rate_limit", "geo_block", "challenge", "forbidden"}


def page_type(
    html: str, status: int = 200, path: str = "/a", redirected: bool = False, headers: dict[str, str] | None = None
) -> str:
    body = html.encode()
    fields = {"content-type": "text/html; charset=utf-8"} | (headers or {})
    page = Page(parse(f"https://a.example{path}"), status, "", fields, body)
    return page_type_of(PageEvidence(page, extract(body) if body else None, redirected))


def linked(data: str) -> str:
    return f'<script type="application/ld+json">{data}</script>'


NOT_FREE = linked('{"@type":"NewsArticle","isAccessibleForFree":false}')


@pytest.mark.req("FG-21")
class TestPaywall:
    def test_402_says_so_itself(self) -> None:
        assert page_type("", 402) == "paywall"

    def test_a_page_that_calls_itself_not_free_and_shows_a_wall(self) -> None:
        assert page_type(f'{NOT_FREE}{ARTICLE}<div class="site-paywall">Subscribe</div>') == "paywall"

    @pytest.mark.req("FG-47")
    def test_linked_data_alone_blocks_nothing(self) -> None:
        assert page_type(f"{NOT_FREE}<p>The first lines of it.</p>") == ""

    def test_a_wall_with_its_words_on_a_short_page(self) -> None:
        wall = '<div id="Paywall"><p>Subscribe to continue reading.</p></div>'
        assert page_type(f"<p>The first lines.</p>{wall}") == "paywall"

    @pytest.mark.parametrize(
        "html",
        [
            ARTICLE,
            f'{ARTICLE}<div class="paywall"></div>',  # an empty frame that scripts never fill
            f"{NOT_FREE}{ARTICLE}",  # all of it is there, and no wall: metered, or simply wrong data
            linked('{"@type":"NewsArticle","isAccessibleForFree":true}') + "<p>Short, and free.</p>",
            "<p>How newspapers built their paywall: subscribe to read more of this series.</p>",
        ],
    )
    def test_pages_that_only_look_alike_are_pages(self, html: str) -> None:
        assert page_type(html) == ""


class TestLogin:
    FORM = "<form><input name=user><input type=PASSWORD></form><p>Sign in</p>"

    @pytest.mark.req("FG-21")
    def test_a_redirect_to_a_login_form(self) -> None:
        assert page_type(self.FORM, path="/accounts/login", redirected=True) == "login"

    def test_the_login_page_itself_when_it_was_asked_for(self) -> None:
        assert page_type(self.FORM, path="/accounts/login") == ""

    def test_a_redirect_to_a_page_about_logging_in(self) -> None:
        assert page_type(ARTICLE, path="/blog/login", redirected=True) == ""

    @pytest.mark.parametrize("status", [401, 407])
    def test_the_status_says_so_itself(self, status: int) -> None:
        assert page_type("", status) == "login"


class TestOthers:
    @pytest.mark.req("FG-22")
    def test_too_many_requests(self) -> None:
        assert page_type("", 429) == "rate_limit"
        assert page_type("<title>429 Too Many Requests</title><p>Slow down.</p>") == "rate_limit"
        assert page_type(f"<title>Too many requests, too few clerks</title>{ARTICLE}") == ""

    @pytest.mark.req("FG-27")
    @pytest.mark.parametrize(
        "words",
        [
            "This video is not available in your country.",
            "Sorry, this page isn’t available in your region.",
            "Ce contenu n'est pas disponible dans votre pays.",
            "Dieser Inhalt ist in Ihrem Land nicht verfügbar.",
        ],
    )
    def test_403_with_words_about_the_place(self, words: str) -> None:
        html = f"<title>Error</title><p>Hello.</p><p>{words}</p>"
        assert page_type(html, 403) == "geo_block"
        assert region_of(extract(html)) in {words, words.replace("’", "'")}

    @pytest.mark.req("FG-27")
    def test_403_without_such_words_is_only_forbidden(self) -> None:
        assert page_type("<p>You shall not pass.</p>", 403) == "forbidden"
        assert page_type("", 451) == "geo_block"

    @pytest.mark.req("FG-27")
    @pytest.mark.parametrize("words", ["protected in the European Economic Area", "subject to geographic restrictions"])
    def test_words_that_any_page_has_count_with_the_status_alone(self, words: str) -> None:
        html = f"<title>Otters</title><h1>Otters</h1><p>The otter is {words}. It eats fish.</p>"
        assert page_type(html) == ""
        assert page_type(html, 403) == "geo_block"

    def test_common_header_counts_only_with_the_status(self) -> None:
        headers = {"x-datadome": "protected"}
        assert page_type("<p>The otter eats fish.</p>", headers=headers) == ""
        assert page_type("<p>Wait.</p>", 403, headers=headers) == "challenge"

    def test_a_long_page_about_regions_is_a_page(self) -> None:
        assert page_type(f"{ARTICLE}<p>The film is not available in your country.</p>") == ""

    @pytest.mark.parametrize(
        ("html", "status", "headers"),
        [
            ("<title>Just a moment...</title><p>Checking</p>", 403, {}),
            ("<title>Just a moment...</title>", 503, {}),
            ("<p>Wait.</p>", 403, {"cf-mitigated": "challenge"}),
            ("<div id=px-captcha></div><p>Press &amp; hold to go on</p>", 200, {}),
            ("<title>Just a moment...</title><noscript>Enable JavaScript</noscript>", 200, {}),
            ("<title>Making sure you&#39;re not a bot!</title><h1>Making sure you&#39;re not a bot!</h1>", 200, {}),
            ("<iframe src='/_Incapsula_Resource?SWUDNSAI=31'>Request unsuccessful.</iframe>", 200, {}),
            ("<div id=sec-if-cpt-container></div>", 200, {}),
            ("<title>Vercel Security Checkpoint</title>", 429, {"x-vercel-mitigated": "challenge"}),
            ("<script src='/149e/2d20/ips.js?x-kpsdk-im=1'></script>", 429, {"x-kpsdk-ct": "a"}),
        ],
    )
    def test_challenges_for_robots(self, html: str, status: int, headers: dict[str, str]) -> None:
        assert page_type(html, status, headers=headers) == "challenge"

    def test_who_asks_for_time_is_heard_whatever_is_drawn(self) -> None:
        assert page_type("<form id=challenge-form></form>", 429) == "rate_limit"

    def test_a_page_with_much_to_say_is_none_whatever_it_loads(self) -> None:
        assert page_type(f"{ARTICLE}<iframe src='/_Incapsula_Resource?x'></iframe>") == ""

    def test_redirect_to_a_password_form_is_a_login_by_title(self) -> None:
        form = "<title>Sign in to Otters</title><form><input name=user><input type=password></form>"
        assert [page_type(form, path="/enter", redirected=redirected) for redirected in (True, False)] == ["login", ""]

    def test_a_contact_form_with_a_captcha_is_a_page(self) -> None:
        assert page_type(f'{ARTICLE}<form><div class="g-recaptcha"></div></form>') == ""
        assert page_type('<p>Write to us.</p><form><div class="g-recaptcha"></div></form>') == ""

    def test_just_a_moment_is_also_the_title_of_a_poem(self) -> None:
        assert page_type("<title>Just a moment</title><p>Just a moment, said the sea.</p>") == ""


class TestEvidence:
    """The edges of what is looked at."""

    def test_a_header_counts_by_its_value(self) -> None:
        assert page_type("<p>Wait.</p>", 403, headers={"cf-mitigated": "Challenge"}) == "challenge"
        assert page_type("<p>Wait.</p>", 403, headers={"cf-mitigated": "none"}) == "forbidden"

    @pytest.mark.req("FG-27")
    @pytest.mark.parametrize("name", ["x-amz-cf-pop-restriction", "x-geo-block", "x-country-blocked"])
    def test_some_headers_count_by_their_presence(self, name: str) -> None:
        assert page_type("", 403, headers={name: "DE"}) == "geo_block"
        assert page_type("", 403) == "forbidden"

    def test_a_title_in_the_metadata_alone_is_a_title(self) -> None:
        page = Page(parse("https://a.example/"), 403, "", {}, b"")
        document = Document("Wait.", None, metadata=Metadata(title=" Just a moment..."))
        assert page_type_of(PageEvidence(page, document, False)) == "challenge"
        other = replace(document, title="Otters")
        assert page_type_of(PageEvidence(page, other, False)) == "forbidden"

    def test_only_the_first_8000_characters_are_searched(self) -> None:
        page = Page(parse("https://a.example/"), 403, "", {}, b"")
        words = "Not available in your country"
        seen = {
            pad: page_type_of(PageEvidence(page, Document("x" * pad + words), False))
            for pad in (8000 - len(words), 8001 - len(words))
        }
        assert list(seen.values()) == ["geo_block", "forbidden"]

    def test_a_path_is_compared_without_case(self) -> None:
        form = "<form><input type=password></form>"
        assert page_type(form, path="/Accounts/LogIn", redirected=True) == "login"

    def test_marks_are_found_in_the_charset_of_the_page(self) -> None:
        page = Page(
            parse("https://a.example/"), 403, "", {"content-type": "text/html; charset=utf-16le"},
            "<form id=challenge-form></form>".encode("utf-16le"),
        )  # fmt: skip
        assert page_type_of(PageEvidence(page, None, False)) == "challenge"


@pytest.mark.req("FG-27")
class TestRegion:
    @pytest.mark.parametrize(
        "word",
        ["country", "region", "location", "European", "Land ", "pays", "país", "paese", "стране", "регионе"],
    )
    def test_the_first_line_that_names_a_place_is_told(self, word: str) -> None:
        assert region_of(Document(f"Hello.\n  Not in your {word} today \nThe country is large.")) == (
            f"Not in your {word} today"
        )

    def test_nothing_is_told_without_such_a_line(self) -> None:
        assert region_of(None) == region_of(Document("You shall not pass.")) == ""

    def test_a_line_without_end_is_cut(self) -> None:
        assert region_of(Document("country " * 100)) == ("country " * 25)

    def test_only_the_beginning_is_looked_at(self) -> None:
        assert region_of(Document("\n" * 7993 + "country")) == "country"
        assert region_of(Document("\n" * 7994 + "country")) == ""


def test_each_pattern_has_a_known_type_and_a_condition() -> None:
    assert {sign.type for sign in signs()} == TYPES
    assert all(any((s.status, s.header, s.title, s.text, s.mark, s.path, s.wall)) for s in signs())


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ({"marks": {}, "sign": [{"type": "login", "statuses": [401]}]}, "page_types.toml.sign[0].statuses"),
        ({"marks": {}, "sign": [], "signs": []}, "page_types.toml.signs"),
        ({"marks": {"a": 1}, "sign": []}, "page_types.toml.marks"),
        ({"marks": {}, "sign": [{"type": "login", "redirected": "yes"}]}, "page_types.toml.sign[0].redirected"),
    ],
)
def test_unknown_key_is_refused_with_its_place(
    data: dict[str, object], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spaniel.pipeline.page_types.data_file", lambda _: data)
    with pytest.raises(SpanielError) as caught:
        signs.__wrapped__()
    assert str(caught.value.details["field"]).startswith(place)
