"""What a site says about the use of a page: gathered from page, headers and robots.txt, and respected where asked."""

from __future__ import annotations

import pytest

from spaniel import extract
from spaniel.pipeline.page_types import SIGNALS as KNOWN
from spaniel.pipeline.page_types import refusals, respected, signals_of

AGENT = "ContextIngestion/1.0 (compatible)"


@pytest.mark.req("FG-17")
class TestInThePage:
    def test_directives_of_every_robots_element_add_up(self) -> None:
        page = '<meta name="ROBOTS" content="NOINDEX, NoAI"><meta name=robots content="noai,noimageai"><p>Text.</p>'
        assert extract(page).signals["robots"] == ["noindex", "noai", "noimageai"]

    @pytest.mark.parametrize(
        ("html", "licence"),
        [
            ('<link rel="license" href="https://a.example/by">', "https://a.example/by"),
            ('<body><a href="/terms" rel="nofollow License">terms</a>', "/terms"),
            ('<script type="application/ld+json">{"@type":"Article","license":"https://a.example/l"}</script>',
             "https://a.example/l"),
            ('<script type="application/ld+json">{"@type":"Article","license":{"url":"https://a.example/o"}}</script>',
             "https://a.example/o"),
            ("<p>No word of it.</p>", None),
        ],
    )  # fmt: skip
    def test_the_licence_is_named_by_a_link_or_by_linked_data(self, html: str, licence: str | None) -> None:
        assert extract(html).signals.get("license") == licence

    @pytest.mark.parametrize(
        ("value", "free"),
        [("false", False), ('"False"', False), ('"http://schema.org/False"', False), ("true", True), ('"maybe"', None)],
    )
    def test_free_access_as_linked_data_has_it(self, value: str, free: bool | None) -> None:
        data = f'{{"@type": "NewsArticle", "isAccessibleForFree": {value}}}'
        assert extract(f'<script type="application/ld+json">{data}</script>').signals.get("free") is free

    def test_one_part_that_is_not_free_is_enough(self) -> None:
        data = '{"@type":"Article","hasPart":[{"isAccessibleForFree":"False","cssSelector":".x"}]}'
        assert extract(f'<script type="application/ld+json">{data}</script>').signals["free"] is False

    def test_a_page_that_says_nothing_has_no_signals(self) -> None:
        assert extract("<p>Text.</p>").signals == {}

    def test_a_flood_of_directives_is_bounded(self) -> None:
        words = ",".join(f"no{number}" for number in range(10_000))
        found = extract(f'<meta name=robots content="{words}">').signals["robots"]
        assert isinstance(found, list)
        assert len(found) <= 20


class TestTogether:
    def test_headers_and_robots_txt_add_to_the_page(self) -> None:
        headers = {
            "x-robots-tag": "noarchive, googlebot: noindex, nosnippet",
            "content-signal": "ai-train=no",
            "tdm-reservation": "1",
        }
        found = signals_of({"robots": ["noai"]}, headers, "search=yes, ai-train=yes", AGENT)
        assert found == {
            "robots": ["noai", "noarchive"],  # what is said to another robot is not said to us
            "content_signal": {"search": "yes", "ai-train": "no"},  # a no is not taken back
            "tdm_reservation": "1",
        }

    def test_what_is_said_to_us_by_name_counts(self) -> None:
        found = signals_of({}, {"x-robots-tag": "otherbot: noindex, contextingestion: noai"}, None, AGENT)
        assert found == {"robots": ["noai"]}

    def test_the_robot_of_one_line_is_not_meant_by_the_next(self) -> None:
        found = signals_of({}, {"x-robots-tag": "otherbot: noindex, nofollow\nnoai, otherbot: noarchive"}, None, AGENT)
        assert found == {"robots": ["noai"]}

    def test_a_directive_with_a_value_is_no_name_of_a_robot(self) -> None:
        found = signals_of({}, {"x-robots-tag": "unavailable_after: 25 Jun 2030, noai"}, None, AGENT)
        robots = found["robots"]
        assert isinstance(robots, list)
        assert "noai" in robots

    @pytest.mark.parametrize("name", ["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"])
    def test_what_follows_a_value_is_still_said_to_everybody(self, name: str) -> None:
        found = signals_of({}, {"x-robots-tag": f"{name}: 5, noai"}, None, AGENT)
        assert found == {"robots": [f"{name}: 5", "noai"]}

    @pytest.mark.parametrize("agent", ["Otter/1.0 (a b)", "otter swims/1.0", "OTTER"])
    def test_our_name_is_the_first_word_of_the_agent(self, agent: str) -> None:
        tag = {"x-robots-tag": "swims: noindex, Otter : NOAI"}
        assert signals_of({}, tag, None, agent) == {"robots": ["noai"]}

    def test_each_directive_is_told_once_and_only_so_many(self) -> None:
        page = [f"no{number}" for number in range(15)]
        tag = ", ".join(f"no{number}" for number in range(10, 30))
        assert signals_of({"robots": page}, {"x-robots-tag": tag}, None, AGENT) == {
            "robots": [f"no{number}" for number in range(20)]
        }

    def test_a_header_without_end_is_read_as_far_as_forty_parts(self) -> None:
        fields = {last: signals_of({}, {"x-robots-tag": "noai," * last + "noindex"}, None, AGENT) for last in (39, 40)}
        assert fields == {39: {"robots": ["noai", "noindex"]}, 40: {"robots": ["noai"]}}

    def test_uses_are_read_in_any_case_and_spacing(self) -> None:
        found = signals_of({}, {"content-signal": "AI-Train = NO; Search=Yes, ai-input=nobody"}, None, AGENT)
        assert found == {"content_signal": {"ai-train": "no", "search": "yes"}}

    def test_a_yes_is_taken_back_by_a_no_and_never_the_other_way(self) -> None:
        assert signals_of({}, {}, "ai-train=yes, ai-train=no, ai-train=yes", AGENT) == {
            "content_signal": {"ai-train": "no"}
        }

    def test_uses_are_looked_for_in_the_first_two_thousand_characters(self) -> None:
        said = {pad: signals_of({}, {}, " " * pad + "ai-train=no", AGENT) for pad in (1989, 2000)}
        assert said == {1989: {"content_signal": {"ai-train": "no"}}, 2000: {}}

    def test_the_policy_of_mining_is_told_and_cut(self) -> None:
        found = signals_of({}, {"tdm-policy": f" https://a.example/{'p' * 300}"}, None, AGENT)
        assert found == {"tdm_policy": f"https://a.example/{'p' * 182}"}

    def test_nothing_is_said_by_empty_headers(self) -> None:
        assert (
            signals_of({}, {"x-robots-tag": "", "content-signal": "nonsense", "tdm-reservation": " "}, "", AGENT) == {}
        )


class TestRespect:
    def test_these_are_the_names_that_a_profile_may_respect(self) -> None:
        assert KNOWN == (
            "noindex", "noarchive", "nosnippet", "noai", "noimageai", "search", "ai-input", "ai-train",
            "tdm-reservation",
        )  # fmt: skip

    def test_the_first_that_the_profile_names_is_told(self) -> None:
        signals: dict[str, object] = {"robots": ["noai", "noindex"]}
        assert respected(signals, ["noarchive", "noindex", "noai"]) == "noindex"

    @pytest.mark.parametrize(
        ("signals", "name"),
        [
            ({"robots": ["noai"]}, "noai"),
            ({"robots": ["none"]}, "noindex"),
            ({"content_signal": {"ai-train": "no"}}, "ai-train"),
            ({"tdm_reservation": "1"}, "tdm-reservation"),
        ],
    )
    def test_each_form_of_no_has_its_name(self, signals: dict[str, object], name: str) -> None:
        assert name in KNOWN
        assert refusals(signals) == {name}
        assert respected(signals, [name]) == name
        assert respected(signals, [other for other in KNOWN if other != name]) == ""
        assert respected(signals, []) == ""

    def test_a_yes_refuses_nothing(self) -> None:
        signals = {"robots": ["index"], "content_signal": {"ai-train": "yes"}, "tdm_reservation": "0"}
        assert refusals(signals) == frozenset()
