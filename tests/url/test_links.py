"""Link classes, citations, and what the network would add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from spaniel.errors import SpanielError
from spaniel.url import canonicalize, load
from spaniel.url.canonical import RedirectHop
from spaniel.url.links import LinkWords, cite, classify
from spaniel.url.policy import Policy
from spaniel.url.questions import RedirectWalk, Web
from spaniel.url.rules.query import Names

WORDS = LinkWords([".pdf", ".html"], Names(["id"]), ["trámite", "prestación"])


@pytest.mark.req("CP-13")
@pytest.mark.parametrize(
    ("url", "link_type"),
    [
        ("https://www.sepe.es", "homepage"),
        ("https://www.sepe.es/inicio", "homepage"),
        ("https://www.sepe.es/home", "homepage"),
        ("https://www.sepe.es/es", "homepage"),
        ("https://www.sepe.es/HomeSepe/Personas", "section"),
        (
            "https://www.sepe.es/HomeSepe/Personas/Distribucion-Prestaciones/he-dejado-de-trabajar.html",
            "informative",
        ),
        ("https://www.boe.es/buscar/act.php?id=BOE-A-2023-12345", "informative"),
        ("https://e.es/prestacion-desempleo", "informative"),
        ("https://e.es/guia.pdf", "informative"),
        ("https://e.es/12345", "informative"),
        ("https://e.es/a/65850d68-0d06-4645-bde7-05374ee42ac7", "informative"),
        ("https://e.es/es/tramits/tramit-12345", "informative"),
        ("https://e.es/buscar?id=", "homepage"),
    ],
)
def test_links_are_classified_by_the_first_rule_that_fits(url: str, link_type: str) -> None:
    assert canonicalize(url, "clara").link_type == link_type


@pytest.mark.req("CP-13")
@pytest.mark.parametrize(
    ("url", "link_type"),
    [
        ("https://e.es/Cat%C3%A1logo-de-Tr%C3%A1mites", "informative"),
        ("https://e.es/Catálogo-de-Trámites", "informative"),
        ("https://e.es/%C3%B1u-%C3%A1rea", "informative"),
        ("https://e.es/tra%CC%81mites-le%CC%81rida", "informative"),  # accents as signs of their own
        ("https://e.es/renovar%20dni", "informative"),
        ("https://e.es/gu%C3%ADa.pdf", "informative"),
        ("https://e.es/tr%C3%A1mites", "homepage"),
        ("https://e.es/a%2Fb", "homepage"),
        ("https://e.es/%C3%B3-%C3%A1", "homepage"),  # letters, not words
        ("https://e.es/%FF%FE-%FF%FE", "homepage"),  # no text at all
        ("https://e.es/secci%C3%B3n/tr%C3%A1mites", "section"),
    ],
)
def test_slugs_are_classed_as_people_read_them(url: str, link_type: str) -> None:
    assert canonicalize(url, "clara").link_type == link_type


@pytest.mark.req("CP-13")
@pytest.mark.parametrize("ending", "pdf html htm xhtml doc docx odt xls xlsx ods rtf txt xml PDF Html".split())
def test_a_document_is_informative_whatever_its_kind(ending: str) -> None:
    """One segment without an identifier, which is a home page unless it is a document."""
    assert canonicalize(f"https://e.es/guia.{ending}", "clara").link_type == "informative"
    assert canonicalize(f"https://e.es/guia.{ending}zz", "clara").link_type == "homepage"


@pytest.mark.req("CP-13")
def test_a_title_that_names_a_procedure_makes_a_section_informative() -> None:
    assert classify("/a/b", (), WORDS) == "section"
    assert classify("/a/b", (), WORDS, title="TRAMITE de renovación") == "informative"
    assert classify("/a/b", (), WORDS, title="Tramitech") == "section"
    assert classify("/a", (), WORDS, title="Trámite") == "homepage"


@pytest.mark.req("CP-14")
def test_informative_links_pass_and_others_get_a_qualifier_and_a_gap() -> None:
    assert cite("https://e.es/a/b-c", "informative", "SEPE").qualifier is None
    citation = cite("https://www.sepe.es", "homepage", "SEPE")
    assert citation.qualifier == "Puedes consultar mas informacion en la web del SEPE (sepe.es)"
    assert citation.gap
    assert not citation.last_resort
    assert cite("https://www.sepe.es/a/b", "section", "SEPE").gap


@pytest.mark.req("CP-14")
def test_a_home_page_is_the_last_resort_where_there_is_nothing_deeper() -> None:
    citation = cite("https://www.sepe.es", "homepage", "SEPE", nothing_deeper=True)
    assert citation.last_resort
    assert not citation.gap


class Known(Web):
    """A web that has been looked up beforehand."""

    def __init__(
        self,
        redirects: Mapping[str, Sequence[str]] | None = None,
        hosts: Mapping[str, str] | None = None,
        languages: Mapping[str, str] | None = None,
        slashes: Sequence[str] = (),
        http_only: Sequence[str] = (),
    ) -> None:
        self._redirects, self._hosts, self._languages = redirects or {}, hosts or {}, languages
        self._slashes, self._http_only = slashes, http_only

    def redirects(self, url: str) -> RedirectWalk | None:
        hops = self._redirects.get(url)
        return None if hops is None else RedirectWalk(tuple(RedirectHop(301, hop) for hop in hops), 200)

    def preferred_host(self, host: str) -> str | None:
        return self._hosts.get(host)

    def languages(self, url: str, proposed: Mapping[str, Sequence[str]]) -> Mapping[str, str] | None:
        return self._languages

    def needs_slash(self, url: str) -> bool | None:
        return url in self._slashes

    def lacks_https(self, host: str) -> bool | None:
        return host in self._http_only


CLARA = load("clara")


class TestOnline:
    """The rules that ask the network, given what it would answer."""

    @pytest.mark.req("CP-09")
    def test_the_final_url_is_stored_with_the_chain_and_is_canonical_itself(self) -> None:
        hops = ["https://www.seg-social.es/imv", "https://www.seg-social.es/wps/portal/?utm_source=x#top"]
        result = CLARA.apply("https://seg-social.es/imv", Known({"https://seg-social.es/imv": hops}))
        assert result.url == "https://www.seg-social.es/wps/portal"
        assert result.redirect_chain == [RedirectHop(301, hop) for hop in hops]

    @pytest.mark.req("CP-09")
    def test_more_than_five_hops_keep_the_original_with_a_flag(self) -> None:
        hops = [f"https://e.es/{i}" for i in range(6)]
        result = CLARA.apply("https://e.es/a", Known({"https://e.es/a": hops}))
        assert result.url == "https://e.es/a"
        assert "redirect-limit" in result.flags

    @pytest.mark.req("CP-09", "CP-21")
    def test_five_hops_are_not_too_many(self) -> None:
        hops = [f"https://e.es/b/{i}" for i in range(5)]
        result = CLARA.apply("https://e.es/a", Known({"https://e.es/a": hops}))
        assert (result.url, result.flags) == ("https://e.es/b/4", [])
        assert [hop.url for hop in result.redirect_chain] == hops

    @pytest.mark.req("CP-09", "CP-18")
    def test_leaving_the_allowlist_is_refused(self) -> None:
        data = {
            "name": "mine",
            "version": "1",
            "apply": [
                {"rule": "parse"},
                {
                    "rule": "follow-redirects",
                    "asks": True,
                    "allowlist": ["*.gob.es", "bücher.example"],
                    "shorteners": ["bit.ly"],
                },
            ],
        }
        policy = Policy(data, "mine.toml")
        web = Known(
            {
                "https://bit.ly/1": ["https://shop.example/"],
                "https://bit.ly/2": ["https://sede.gob.es/a"],
                "https://bit.ly/3": ["https://xn--bcher-kva.example/"],
                "https://bit.ly/4": [],
            }
        )
        for stays in ("https://bit.ly/1", "https://bit.ly/4"):
            with pytest.raises(SpanielError, match="not on the allowlist"):
                policy.apply(stays, web)
        assert policy.apply("https://bit.ly/2", web).url == "https://sede.gob.es/a"
        assert policy.apply("https://bit.ly/3", web).url == "https://xn--bcher-kva.example/"

    @pytest.mark.req("CP-01")
    def test_a_host_without_https_stays_and_is_flagged(self) -> None:
        result = CLARA.apply("http://old.es/a", Known(http_only=["old.es"]))
        assert (result.url, result.flags) == ("http://old.es/a", ["http-only"])

    @pytest.mark.req("CP-02")
    def test_a_slash_that_leads_to_another_page_is_kept_and_noted(self) -> None:
        result = CLARA.apply("https://e.es/a/", Known(slashes=["https://e.es/a/"]))
        assert (result.url, result.flags) == ("https://e.es/a/", ["trailing-slash-kept"])

    @pytest.mark.req("CP-07")
    def test_a_discovered_host_form_is_used(self) -> None:
        assert CLARA.apply("https://e.es/a", Known(hosts={"e.es": "www.e.es"})).url == "https://www.e.es/a"

    @pytest.mark.req("CP-24")
    @pytest.mark.parametrize("discovered", ["sepe.es", "otro.sepe.es"])
    def test_a_shipped_row_beats_a_discovered_form(self, discovered: str) -> None:
        web = Known(hosts={"sepe.es": discovered})
        assert CLARA.apply("https://sepe.es/a", web).url == "https://www.sepe.es/a"
        assert CLARA.apply("https://www.sepe.es/a", web).url == "https://www.sepe.es/a"

    @pytest.mark.req("CP-12")
    def test_a_proved_spanish_version_is_taken_and_the_others_recorded(self) -> None:
        languages = {"es": "https://e.es/es/t", "ca": "https://e.es/ca/t", "fr": "https://e.es/fr/t"}
        result = CLARA.apply("https://e.es/ca/t", Known(languages=languages))
        assert result.url == "https://e.es/es/t"
        assert [(v.lang, v.proved) for v in result.lang_variants] == [("ca", True), ("es", True), ("fr", True)]
        assert next(s.note for s in result.steps if s.rule == "prefer-language") == "also in: fr"

    @pytest.mark.req("CP-12")
    def test_without_a_spanish_version_it_is_stored_as_it_is_and_flagged(self) -> None:
        result = CLARA.apply("https://e.es/eu/t", Known(languages={"eu": "https://e.es/eu/t"}))
        assert (result.url, result.flags) == ("https://e.es/eu/t", ["no-preferred-language"])
