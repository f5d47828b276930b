"""What a page says about its own use, and the marks of pages that are not the page: the edges of what is read."""

from __future__ import annotations

import json

import pytest

from spaniel import extract
from spaniel.reading.html.walls import MAX_MARKS_BYTES, find_marks
from spaniel.reading.metadata.signals import directives


def linked(*things: object) -> str:
    return "".join(f'<script type="application/ld+json">{json.dumps(thing)}</script>' for thing in things)


def article(**fields: object) -> dict[str, object]:
    return {"@type": "Article", **fields}


@pytest.mark.req("FG-17")
class TestDirectives:
    def test_each_stands_once_and_in_lower_case(self) -> None:
        assert directives(" NOINDEX, NoAI,,noindex , max-snippet: 5") == ["noindex", "noai", "max-snippet: 5"]
        assert directives("") == []

    def test_one_that_is_too_long_is_none(self) -> None:
        assert directives(f"{'a' * 60},{'b' * 61}") == ["a" * 60]

    def test_twenty_are_told_of_forty_that_are_looked_at(self) -> None:
        assert directives(",".join(f"no{number}" for number in range(30))) == [f"no{number}" for number in range(20)]
        assert directives("noai," * 39 + "noindex") == ["noai", "noindex"]
        assert directives("noai," * 40 + "noindex") == ["noai"]


@pytest.mark.req("FG-17")
class TestPage:
    def test_text_and_data_mining_is_told_as_the_page_has_it(self) -> None:
        page = '<meta name="tdm-reservation" content=" 1 "><meta name="tdm-policy" content="https://a.example/p">'
        assert extract(page).signals == {"tdm_reservation": "1", "tdm_policy": "https://a.example/p"}

    @pytest.mark.parametrize(
        ("html", "licence"),
        [
            (linked(article(license={"@id": "https://a.example/i"})), "https://a.example/i"),
            (linked(article(license={"url": "/u", "@id": "/i"})), "/u"),
            (linked(article(license=" "), article(license="/second")), "/second"),
            (linked(article(license=5)), None),
            (linked(article(license="/data")) + '<a rel=license href="/a">x</a>', "/a"),
            ('<link rel=license href="/link"><body><a rel=license href="/a">x</a>', "/link"),
            ("<a rel=license>no address</a>", None),
        ],
    )
    def test_a_link_names_the_licence_before_linked_data_does(self, html: str, licence: str | None) -> None:
        assert extract(html).signals.get("license") == licence

    @pytest.mark.parametrize(
        ("html", "free"),
        [
            (linked(article(hasPart={"isAccessibleForFree": False})), False),
            (linked(article(isAccessibleForFree=True, hasPart=[{"isAccessibleForFree": "false"}])), False),
            (linked(article(isAccessibleForFree=True), article(isAccessibleForFree=False)), False),
            (linked(article(hasPart=[{}, "text", {"isAccessibleForFree": " True "}])), True),
            (linked(article(hasPart=[{}] * 19 + [{"isAccessibleForFree": False}])), False),
            (linked(article(hasPart=[{}] * 20 + [{"isAccessibleForFree": False}])), None),
            (linked(article(isAccessibleForFree=0)), None),
            (linked(article(isAccessibleForFree="https://schema.org/True")), True),
        ],
    )
    def test_what_is_not_free_in_part_is_not_free(self, html: str, free: bool | None) -> None:
        assert extract(html).signals.get("free") is free


@pytest.mark.req("FG-21")
class TestMarks:
    MARK = b"<input type=password>"

    def test_every_group_of_which_there_is_an_element_is_named(self) -> None:
        assert find_marks(self.MARK) == {"password"}
        assert find_marks(b"<p>Text.</p>") == frozenset()

    def test_only_the_beginning_is_looked_at(self) -> None:
        assert MAX_MARKS_BYTES == 262_144
        pad = MAX_MARKS_BYTES - len(self.MARK)
        assert find_marks(b" " * pad + self.MARK) == {"password"}
        assert find_marks(b" " * (pad + 1) + self.MARK) == frozenset()

    def test_the_charset_is_the_one_that_the_server_names(self) -> None:
        assert find_marks(self.MARK.decode().encode("utf-16le"), "utf-16le") == {"password"}
