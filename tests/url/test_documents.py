"""Every URL example of the five documents, to the letter. Where one shows a rule alone, the rule is applied alone."""

from __future__ import annotations

from hashlib import sha256
from urllib.parse import unquote_to_bytes

import pytest

from spaniel.errors import SpanielError
from spaniel.url import canonicalize, load
from spaniel.url import overrides as override_files
from spaniel.url.policy import Policy

CLARA = load("clara")


def refused(url: str, policy: str | Policy) -> SpanielError:
    with pytest.raises(SpanielError) as caught:
        canonicalize(url, policy)
    return caught.value


class TestExact:
    """The SRD's Appendix A."""

    @pytest.mark.req("FR-WF-NORM-01", "FR-WF-NORM-02", "FR-WF-NORM-03", "FR-WF-NORM-04", "FR-WF-NORM-05", "T-WF-DET-02")
    @pytest.mark.parametrize(
        ("written", "canonical"),
        [
            ("HTTPS://Example.COM/Page#section", "https://example.com/Page"),
            ("http://example.com:80/", "http://example.com/"),
            ("https://example.com:443/a/../b", "https://example.com/b"),
            ("http://EXAMPLE.com:8080/", "http://example.com:8080/"),
            ("https://example.com/path?b=2&a=1", "https://example.com/path?b=2&a=1"),
            ("https://example.com", "https://example.com/"),
            ("https://example.com/a/", "https://example.com/a/"),
            ("https://example.com/a?", "https://example.com/a?"),
        ],
    )
    def test_the_examples_of_appendix_a(self, written: str, canonical: str) -> None:
        assert canonicalize(written).url == canonical

    @pytest.mark.req("FG-06")
    @pytest.mark.parametrize("policy", ["ingest", "clara"])
    @pytest.mark.parametrize(
        ("written", "canonical"),
        [
            ("/a%zz", "/a%25zz"),
            ("/100%", "/100%25"),
            ("/%%34", "/%25%34"),
            ("/a?q=%zz&r=%", "/a?q=%25zz&r=%25"),
            ("/%41?q=%2f%C3%BC", "/%41?q=%2f%C3%BC"),  # what is encoded is not encoded twice
            ("/%25zz", "/%25zz"),
        ],
    )
    def test_a_percent_sign_that_begins_no_escape_is_encoded(self, policy: str, written: str, canonical: str) -> None:
        found = canonicalize(f"https://example.com{written}", policy)
        assert found.url == f"https://example.com{canonical}"
        assert canonicalize(found.url, policy).url == found.url
        assert load(policy).explain(f"https://example.com{written}").url == found.url

    @pytest.mark.req("FR-WF-NORM-02")
    @pytest.mark.parametrize(
        ("written", "canonical"),
        [
            ("HtTp://WWW.EXAMPLE.Com/PATH/%C3%BC?Q=A&B", "http://www.example.com/PATH/%C3%BC?Q=A&B"),
            ("https://BÜCHER.Example/Ü", "https://xn--bcher-kva.example/%C3%9C"),
            ("https://[2001:DB8::A]/A", "https://[2001:db8::a]/A"),
        ],
    )
    def test_scheme_and_host_are_lower_case_and_nothing_else_is(self, written: str, canonical: str) -> None:
        assert canonicalize(written).url == canonical

    @pytest.mark.req("FR-WF-NORM-03")
    @pytest.mark.parametrize(
        ("written", "canonical"),
        [
            ("http://e.com:443/", "http://e.com:443/"),  # the other scheme's
            ("https://e.com:80/a", "https://e.com:80/a"),
            ("https://e.com:443/a", "https://e.com/a"),
            ("http://e.com:0080/a", "http://e.com/a"),
            ("http://e.com:/a", "http://e.com/a"),
            ("https://e.com:4430/", "https://e.com:4430/"),
            ("http://[2606:2800::1]:80/", "http://[2606:2800::1]/"),
        ],
    )
    def test_only_the_default_port_of_the_scheme_goes(self, written: str, canonical: str) -> None:
        assert canonicalize(written).url == canonical

    @pytest.mark.req("FR-WF-NORM-04")
    @pytest.mark.parametrize(
        ("written", "canonical"),
        [
            ("/a/./b/../c", "/a/c"),
            ("/..", "/"),
            ("/../../a", "/a"),
            ("/a/b/..", "/a/"),
            ("/a/.", "/a/"),
            ("/a//b/", "/a//b/"),
            ("/a/b/../../", "/"),
            ("/.a/..b/c..", "/.a/..b/c.."),
            ("?b=/../c", "/?b=/../c"),
        ],
    )
    def test_dot_segments_go_and_slashes_stay(self, written: str, canonical: str) -> None:
        assert canonicalize(f"https://e.com{written}").url == f"https://e.com{canonical}"

    @pytest.mark.req("FR-WF-NORM-05")
    @pytest.mark.parametrize("query", ["z=1&a=2&z=0", "b&a", "a=&a&=a", "b=1;a=2", "utm_source=x&a=1&ref=y"])
    def test_the_query_keeps_its_order_and_its_parts(self, query: str) -> None:
        assert canonicalize(f"https://e.com/a?{query}").url == f"https://e.com/a?{query}"

    @pytest.mark.req("FR-WF-NORM-06")
    def test_unreserved_escapes_are_decoded_and_others_upper_cased(self) -> None:
        unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
        for octet in range(256):
            right = chr(octet) if chr(octet) in unreserved else f"%{octet:02X}"
            assert canonicalize(f"https://e.com/a%{octet:02x}b").url == f"https://e.com/a{right}b"

    @pytest.mark.req("FR-WF-NORM-06", "D2-16")
    @pytest.mark.parametrize(
        ("path", "canonical"),
        [
            ("/%2f", "/%2F"),
            ("/%7Euser/%41%2d%5F%2e", "/~user/A-_."),
            ("/%3a%40", "/%3A%40"),
            ("/100%", "/100%25"),
            ("/%%34%31", "/%2541"),
            ("/%zz", "/%25zz"),
            ("/ü b", "/%C3%BC%20b"),
            ("/a?%7e=%2f", "/a?%7e=%2f"),
        ],
    )
    def test_escapes_of_the_path_are_normal_and_the_query_is_left(self, path: str, canonical: str) -> None:
        assert canonicalize(f"https://example.com{path}").url == f"https://example.com{canonical}"


class TestIngest:
    """Document 1."""

    @pytest.mark.req("FG-14", "FG-07", "FG-08", "FG-09", "FG-10", "FG-12", "FG-13")
    def test_the_documents_own_example(self) -> None:
        written = "HTTP://Example.COM:80/docs/../api/v2/?ref=twitter&utm_source=blog&format=json"
        assert canonicalize(written, "ingest").url == "https://example.com/api/v2?format=json"

    @pytest.mark.req("FG-01")
    @pytest.mark.parametrize(
        ("written", "canonical"),
        [
            ("example.com/a", "https://example.com/a"),
            ("example.com:8080/a", "https://example.com:8080/a"),
            ("//example.com/a", "https://example.com/a"),
            ("example.com", "https://example.com/"),
        ],
    )
    def test_a_missing_scheme_is_put_in_front(self, written: str, canonical: str) -> None:
        assert canonicalize(written, "ingest").url == canonical

    @pytest.mark.req("FG-01")
    @pytest.mark.parametrize("written", ["javascript:alert(1)", "ftp://example.com/", "mailto:a@example.com"])
    def test_another_scheme_is_never_repaired(self, written: str) -> None:
        assert refused(written, "ingest").code == "invalid_scheme"

    @pytest.mark.req("FG-03")
    def test_credentials_are_stripped_with_a_warning(self) -> None:
        result = canonicalize("https://user:pass@example.com/a", "ingest")
        assert result.url == "https://example.com/a"
        assert result.warnings == ["credentials were removed from the URL"]
        assert "pass" not in str(result.as_dict())

    @pytest.mark.req("FG-04")
    def test_2048_characters_are_too_many(self) -> None:
        head = "https://example.com/"
        assert len(canonicalize(head + "a" * (2047 - len(head)), "ingest").url) == 2047
        error = refused(head + "a" * (2048 - len(head)), "ingest")
        assert error.code == "invalid_url"
        assert error.details["length"] == 2048

    @pytest.mark.req("FG-06")
    def test_what_needs_encoding_is_encoded_once(self) -> None:
        assert canonicalize("https://example.com/a b/%20ü", "ingest").url == "https://example.com/a%20b/%20%C3%BC"

    @pytest.mark.req("FG-06")
    @pytest.mark.parametrize(
        ("written", "canonical"),
        [
            ("/%2520", "/%2520"),
            ('/a"<b>`', "/a%22%3Cb%3E%60"),
            ("/a?q=x y&r=%26%20é", "/a?q=x%20y&r=%26%20%C3%A9"),
            ("/日本?k=語", "/%E6%97%A5%E6%9C%AC?k=%E8%AA%9E"),
        ],
    )
    def test_encoding_is_a_fixed_point(self, written: str, canonical: str) -> None:
        assert canonicalize(f"https://e.com{written}", "ingest").url == f"https://e.com{canonical}"
        assert canonicalize(f"https://e.com{canonical}", "ingest").url == f"https://e.com{canonical}"

    @pytest.mark.req("FG-09")
    def test_tracking_names_are_matched_without_regard_to_case(self) -> None:
        written = "https://example.com/?UTM_Source=1&FBclid=2&Ref=3&SOURCE=4&gclid=5&utm%5Fx=6&keep=7"
        assert canonicalize(written, "ingest").url == "https://example.com/?keep=7"

    @pytest.mark.req("FG-10", "FG-12")
    def test_slashes_go_after_dots_so_that_the_result_stays(self) -> None:
        assert canonicalize("https://example.com/a/../b/", "ingest").url == "https://example.com/b"
        assert canonicalize("https://example.com/a/b/..", "ingest").url == "https://example.com/a"
        assert canonicalize("https://example.com/", "ingest").url == "https://example.com/"

    @pytest.mark.req("FG-11")
    def test_parameters_are_sorted_by_name_and_equal_names_keep_their_order(self) -> None:
        assert canonicalize("https://e.com/?b=2&a=9&b=1&a=3", "ingest").url == "https://e.com/?a=9&a=3&b=2&b=1"

    @pytest.mark.req("FG-11")
    @pytest.mark.parametrize(
        ("query", "sorted_query"),
        [
            ("a=10&a=9&a&a=", "a=10&a=9&a&a="),  # the values are not looked at
            ("ab=1&a=2&B=3", "B=3&a=2&ab=1"),
            ("a!=1&a=2", "a=2&a!=1"),  # by the name, not by the text of the pair
            ("b=1&utm_x=2&a=3", "a=3&b=1"),
        ],
    )
    def test_parameters_are_sorted_by_name_alone(self, query: str, sorted_query: str) -> None:
        assert canonicalize(f"https://e.com/?{query}", "ingest").url == f"https://e.com/?{sorted_query}"

    @pytest.mark.req("FG-07")
    def test_the_path_and_the_query_keep_their_case(self) -> None:
        assert (
            canonicalize("HTTPS://API.Example.COM/V2/Get?Key=A", "ingest").url == "https://api.example.com/V2/Get?Key=A"
        )

    @pytest.mark.req("FG-08", "FG-13")
    @pytest.mark.parametrize(
        ("written", "canonical"),
        [
            ("https://e.com:443/a", "https://e.com/a"),
            ("http://e.com:80/a", "https://e.com/a"),
            ("https://e.com:80/a", "https://e.com:80/a"),
            ("http://e.com:443/a", "http://e.com:443/a"),
            ("http://e.com:8080/a", "http://e.com:8080/a"),
            ("https://e.com:8443/a", "https://e.com:8443/a"),
        ],
    )
    def test_another_port_stays_and_keeps_its_scheme(self, written: str, canonical: str) -> None:
        assert canonicalize(written, "ingest").url == canonical

    @pytest.mark.req("FG-14")
    @pytest.mark.parametrize("fragment", ["#", "#top", "#/route?utm_source=a&b=1", "#a#b"])
    def test_fragments_are_dropped_whatever_is_in_them(self, fragment: str) -> None:
        assert canonicalize(f"https://e.com/a?b=1{fragment}", "ingest").url == "https://e.com/a?b=1"

    @pytest.mark.req("FG-04")
    def test_what_is_trimmed_does_not_count_and_what_is_dropped_does(self) -> None:
        head = "https://example.com/?utm_source="
        assert canonicalize(f"  {head}{'a' * (2047 - len(head))} ", "ingest").url == "https://example.com/"
        assert refused(f"{head}{'a' * (2048 - len(head))}", "ingest").code == "invalid_url"

    @pytest.mark.req("FG-13")
    def test_an_explicit_port_is_never_upgraded(self) -> None:
        assert canonicalize("http://example.com:8080/", "ingest").url == "http://example.com:8080/"
        assert canonicalize("http://example.com:443/", "ingest").url == "http://example.com:443/"

    @pytest.mark.req("FG-13")
    def test_a_host_that_is_listed_as_http_only_stays(self) -> None:
        rule = {"rule": "upgrade-scheme", "http_only": ["Bücher.example", "*.old.example"]}
        policy = Policy({"name": "mine", "version": "1", "apply": [{"rule": "parse"}, rule]}, "mine.toml")
        for host in ("xn--bcher-kva.example", "a.old.example"):
            assert canonicalize(f"http://{host}/", policy).url == f"http://{host}/"
        assert canonicalize("http://old.example/", policy).url == "https://old.example/"


class TestClara:
    """Document 3, rule by rule, then whole."""

    @pytest.mark.req("CP-01")
    def test_rule_1_always_https(self) -> None:
        assert canonicalize("http://www.boe.es/buscar/", CLARA.only("CP-01")).url == "https://www.boe.es/buscar/"

    @pytest.mark.req("CP-02")
    @pytest.mark.parametrize(
        ("written", "canonical"),
        [
            ("https://sepe.es/HomeSepe/Personas/", "https://sepe.es/HomeSepe/Personas"),
            ("https://boe.es/", "https://boe.es"),
            ("https://boe.es/?id=1", "https://boe.es/?id=1"),
        ],
    )
    def test_rule_2_trailing_slashes(self, written: str, canonical: str) -> None:
        assert canonicalize(written, CLARA.only("CP-02")).url == canonical

    @pytest.mark.req("CP-02", "CP-07")
    def test_the_whole_policy_at_the_root(self) -> None:
        assert canonicalize("https://boe.es/", "clara").url == "https://www.boe.es"
        assert canonicalize("https://boe.es/?page=2", "clara").url == "https://www.boe.es"

    @pytest.mark.req("CP-03", "CP-04")
    @pytest.mark.parametrize(
        ("written", "canonical"),
        [
            ("https://sepe.es/page?utm_source=twitter&lang=es", "https://sepe.es/page?lang=es"),
            ("https://boe.es/buscar?id=BOE-A-2023-12345", "https://boe.es/buscar?id=BOE-A-2023-12345"),
            (
                "https://sede.seg-social.gob.es/page?lang=es&utm_source=google",
                "https://sede.seg-social.gob.es/page?lang=es",
            ),
        ],
    )
    def test_rule_3_tracking_parameters(self, written: str, canonical: str) -> None:
        assert canonicalize(written, CLARA.only("CP-03")).url == canonical

    @pytest.mark.req("CP-03")
    def test_every_parameter_of_the_table_is_dropped(self) -> None:
        names = (
            "utm_source utm_medium utm_campaign utm_term utm_content fbclid gclid gad_source ref source origin "
            "mc_cid mc_eid _ga _gl hsCtaTracking mkt_tok"
        ).split()
        query = "&".join(f"{name}=1&{name.upper()}=2" for name in names)
        assert canonicalize(f"https://example.es/a?{query}", "clara").url == "https://example.es/a"

    @pytest.mark.req("CP-03")
    def test_explicit_port_keeps_its_scheme_and_default_port_is_dropped(self) -> None:
        assert canonicalize("http://example.es:8080/a", "clara").url == "http://example.es:8080/a"
        assert canonicalize("http://example.es:80/a", "clara").url == "https://example.es/a"

    @pytest.mark.req("CP-04", "CP-05")
    def test_content_parameters_are_kept_in_place_and_unknown_ones_listed(self) -> None:
        query = "zeta=1&lang=es&idioma=ca&locale=es&id=1&codigo=2&expediente=3&tipo=a&category=b&seccion=c&alfa="
        result = canonicalize(f"https://example.es/a?{query}", "clara")
        assert result.url == f"https://example.es/a?{query}"
        assert result.review == ["zeta", "alfa"]

    @pytest.mark.req("CP-05")
    def test_an_unknown_parameter_stays_between_those_that_go(self) -> None:
        result = canonicalize("https://e.es/a?b=2&utm_source=x&A=1&fbclid=y&b=3&id=4", "clara")
        assert result.url == "https://e.es/a?b=2&A=1&b=3&id=4"
        assert set(result.review) == {"b", "A"}
        assert canonicalize("https://e.es/a?id=4&gclid=1", "clara").review == []

    @pytest.mark.req("CP-06")
    def test_rule_4_fragments_are_noted(self) -> None:
        result = canonicalize("https://inclusion.gob.es/extranjeria#requisitos", "clara")
        assert result.url == "https://inclusion.gob.es/extranjeria"
        assert result.fragment_note == "#requisitos"

    @pytest.mark.req("CP-06")
    def test_a_fragment_is_noted_whole_and_where_there_is_none_nothing_is(self) -> None:
        result = canonicalize("https://e.es/a?id=1#/b?utm_source=x&Id=2#c", "clara")
        assert (result.url, result.fragment_note) == ("https://e.es/a?id=1", "#/b?utm_source=x&Id=2#c")
        assert result.as_dict()["fragment_note"] == "#/b?utm_source=x&Id=2#c"
        assert canonicalize("https://e.es/a", "clara").fragment_note is None

    @pytest.mark.req("CP-07")
    @pytest.mark.parametrize(
        ("domain", "form"),
        [
            ("boe.es", "www.boe.es"),
            ("sepe.es", "www.sepe.es"),
            ("seg-social.es", "www.seg-social.es"),
            ("agenciatributaria.es", "sede.agenciatributaria.gob.es"),
            ("comunidad.madrid", "www.comunidad.madrid"),
        ],
    )
    def test_rule_5_the_table_of_canonical_hosts(self, domain: str, form: str) -> None:
        result = canonicalize(f"https://{domain}/a", "clara")
        assert result.url == f"https://{form}/a"
        assert ("host-form-unsure" in result.flags) == (domain == "comunidad.madrid")
        assert canonicalize(f"https://sub.{domain}/a", "clara").url == f"https://sub.{domain}/a"

    @pytest.mark.req("CP-08")
    def test_rule_6_case(self) -> None:
        written = "https://SEPE.ES/HomeSepe/Personas"
        assert canonicalize(written, CLARA.only("CP-08")).url == "https://sepe.es/HomeSepe/Personas"

    @pytest.mark.req("CP-08")
    def test_rule_6_in_the_whole_policy(self) -> None:
        written = "https://Sede.AYTO.Es/Tramites/ALTA%2fB.PDF?Codigo=AB"
        assert canonicalize(written, "clara").url == "https://sede.ayto.es/Tramites/ALTA%2fB.PDF?Codigo=AB"

    @pytest.mark.req("CP-10")
    @pytest.mark.parametrize(
        ("written", "canonical"),
        [
            ("tramite;jsessionid=ABC123?id=456", "tramite?id=456"),
            ("tramite;JSESSIONID=A;v=1/b", "tramite;v=1/b"),
            ("a?PHPSESSID=1&sid=2&session_id=3&ASPSESSIONIDQQ=4&cfid=5&CFTOKEN=6&mySessionKey=7&x=8", "a?x=8"),
            ("a?obsession2=1&sidebar=2", "a?obsession2=1&sidebar=2"),
            ("a?session=1&UserSessionToken=2&sessions=3", "a"),
            ("a?aspsessionid=1&ASPSESSIONIDABC=2&x=ASPSESSIONID", "a?x=ASPSESSIONID"),
            ("a?sids=1&cfid2=2&session_ids=3&my-session=4", "a?sids=1&cfid2=2&session_ids=3&my-session=4"),
            ("a;sid=1;phpsessid=2/b;jsessionid", "a/b"),
            ("a/..;jsessionid=1/b", "b"),
        ],
    )
    def test_rule_8_session_parameters(self, written: str, canonical: str) -> None:
        base = "https://sede.example.gob.es/"
        assert canonicalize(base + written, CLARA.only("CP-10")).url == base + canonical

    @pytest.mark.req("CP-10")
    @pytest.mark.parametrize("name", ["jsessionid", "phpsessid", "sid", "session_id", "cfid", "cftoken", "sessionKey"])
    def test_rule_8_session_names_in_any_case_and_at_any_place(self, name: str) -> None:
        for written in (name, name.upper(), name.title(), name.swapcase()):
            url = f"https://sede.example.gob.es/a;{written}=1/b?{written}=2&id=3&{written}"
            assert canonicalize(url, "clara").url == "https://sede.example.gob.es/a/b?id=3"
        kept = f"https://sede.example.gob.es/a/{name}?id={name}"  # a segment and a value are not parameters
        assert canonicalize(kept, "clara").url == kept

    @pytest.mark.req("CP-11")
    def test_rule_9_pagination(self) -> None:
        result = canonicalize("https://boe.es/buscar?tipo=leyes&p=7", CLARA.only("CP-11"))
        assert result.url == "https://boe.es/buscar?tipo=leyes"
        assert result.as_dict()["pagination"] == {"paginated": True, "page_param": "p", "total_pages": None}

    @pytest.mark.req("CP-11")
    @pytest.mark.parametrize(
        ("written", "canonical", "flags"),
        [
            ("https://e.es/a?page=99999", "https://e.es/a", []),
            ("https://e.es/a?page=123456", "https://e.es/a?page=123456", []),
            ("https://e.es/a?pagina=dos", "https://e.es/a?pagina=dos", []),
            ("https://e.es/?p=4711", "https://e.es/?p=4711", ["post-number-kept"]),
            ("https://e.es/?p=4711&lang=es", "https://e.es/?lang=es", []),
        ],
    )
    def test_only_page_numbers_are_pagination(self, written: str, canonical: str, flags: list[str]) -> None:
        result = canonicalize(written, "clara")
        assert (result.url, result.flags) == (canonical, flags)

    @pytest.mark.req("CP-12")
    @pytest.mark.parametrize(
        ("written", "proposed"),
        [
            ("https://web.gencat.cat/ca/tramits/tramit-12345", "https://web.gencat.cat/es/tramits/tramit-12345"),
            ("https://euskadi.eus/tramite/eu/12345", "https://euskadi.eus/tramite/es/12345"),
            ("https://e.es/a?lang=ca_ES", "https://e.es/a?lang=es"),
            ("https://ca.example.es/a", "https://es.example.es/a"),
        ],
    )
    def test_rule_10_offline_the_spanish_version_is_proposed_never_assumed(self, written: str, proposed: str) -> None:
        result = canonicalize(written, "clara")
        assert result.url == written
        assert result.as_dict()["lang_variants"] == [{"lang": "es", "url": proposed, "proved": False}]
        assert "language-unproved" in result.flags

    @pytest.mark.req("CP-12")
    @pytest.mark.parametrize("path", ["es/a", "cas/a", "castellano/a", "a"])
    def test_rule_10_spanish_needs_nothing(self, path: str) -> None:
        result = canonicalize(f"https://web.gencat.cat/{path}", "clara")
        assert not result.lang_variants
        assert not result.flags

    @pytest.mark.req("CP-12")
    @pytest.mark.parametrize("word", ["es", "cas", "castellano", "Castellano"])
    @pytest.mark.parametrize("url", ["https://e.es/{}/ca/a", "https://e.es/{}/a?lang=eu", "https://ca.e.es/{}"])
    def test_rule_10_each_word_for_spanish_is_known(self, word: str, url: str) -> None:
        """Each URL names another language later: a word that is not known would not hide it."""
        result = canonicalize(url.format(word), "clara")
        assert not result.lang_variants
        assert "language-unproved" not in result.flags
        assert canonicalize(url.format("latin"), "clara").lang_variants

    @pytest.mark.req("CP-12")
    @pytest.mark.parametrize("word", ["es", "cas", "castellano"])
    def test_rule_10_a_parameter_in_spanish_beats_the_subdomain(self, word: str) -> None:
        assert not canonicalize(f"https://ca.e.es/a?idioma={word}", "clara").lang_variants
        assert canonicalize("https://ca.e.es/a?idioma=latin", "clara").lang_variants

    @pytest.mark.req("CP-16")
    def test_the_thirteen_steps_run_in_the_documents_order(self) -> None:
        steps = canonicalize("HTTP://SEPE.ES/A/;jsessionid=1?utm_source=x&page=2#f", "clara").steps
        assert [step.rule for step in steps] == [
            "parse",
            "upgrade-scheme",
            "lower-host",
            "drop-session-params",
            "drop-params",
            "drop-fragment",
            "drop-trailing-slash",
            "follow-redirects",
            "map-host",
            "prefer-language",
            "strip-pagination",
            "classify-link",
            "store",
        ]
        changed = {step.rule: (step.before, step.after) for step in steps if step.before != step.after}
        assert changed["lower-host"] == (
            "https://SEPE.ES/A/;jsessionid=1?utm_source=x&page=2#f",
            "https://sepe.es/A/;jsessionid=1?utm_source=x&page=2#f",
        )
        assert changed["strip-pagination"] == ("https://www.sepe.es/A?page=2", "https://www.sepe.es/A")
        assert [s.before for s in steps[1:]] == [s.after for s in steps[:-1]]

    @pytest.mark.req("CP-17")
    @pytest.mark.parametrize(
        "url",
        [
            "https://www.boe.es/buscar/act.php?id=BOE-A-2023-12345",
            "https://www.boe.es/diario_boe/txt.php?id=BOE-A-2023-12345",
            "https://sede.seg-social.gob.es/wps/portal/wss/internet/Trabajadores/PrestacionesPensionesTrabajadores"
            "/65850d68-0d06-4645-bde7-05374ee42ac7",
        ],
    )
    def test_identifiers_are_left_alone(self, url: str) -> None:
        assert canonicalize(url, "clara").url == url

    @pytest.mark.req("CP-17")
    @pytest.mark.parametrize("identifier", ["BOE-A-2023-12345", "12345", "es", "boe-b-2024-1&id=BOE-A-2023-2", ""])
    def test_the_gazettes_id_stays_among_those_that_go(self, identifier: str) -> None:
        url = f"https://www.boe.es/buscar/act.php?id={identifier}"
        assert canonicalize(f"{url}&utm_source=x&sid=1#p", "clara").url == url

    @pytest.mark.req("CP-17")
    def test_a_uuid_in_a_path_keeps_its_case_and_its_slashes_inside(self) -> None:
        url = "https://sede.seg-social.gob.es/wps/65850D68-0d06-4645-BDE7-05374ee42ac7/!ut/p//z1/aA=="
        assert canonicalize(f"{url}?utm_medium=x", "clara").url == url

    @pytest.mark.req("CP-18")
    def test_offline_a_shortener_is_flagged(self) -> None:
        assert "shortener-unresolved" in canonicalize("https://bit.ly/3abc", "clara").flags

    @pytest.mark.req("CP-19")
    @pytest.mark.parametrize(
        ("written", "canonical"),
        [
            ("https://example.gob.es/tramite con espacios", "https://example.gob.es/tramite%20con%20espacios"),
            (b"https://example.gob.es/tr\xe1mite", "https://example.gob.es/tr%E1mite"),
            ("https://example.gob.es/tr\udce1mite", "https://example.gob.es/tr%E1mite"),
            ("https://example.gob.es/trámite", "https://example.gob.es/tr%C3%A1mite"),
            (b"https://example.gob.es/a\x80\xbf\xc0\xff", "https://example.gob.es/a%80%BF%C0%FF"),
            (b"https://example.gob.es/a?q=\x93b c\x94", "https://example.gob.es/a?q=%93b%20c%94"),
        ],
    )
    def test_broken_encoding_is_repaired(self, written: str | bytes, canonical: str) -> None:
        result = canonicalize(written, "clara")
        assert result.url == result.steps[-1].after == canonical

    @pytest.mark.req("CP-19")
    @pytest.mark.parametrize("tail", ["a%20b", "a%20%20b?q=c%20d", "a%E1", "%C3%A1"])
    def test_what_is_encoded_already_is_not_encoded_twice(self, tail: str) -> None:
        """And what is repaired becomes the same URL."""
        url = f"https://example.gob.es/{tail}"
        assert canonicalize(url, "clara").url == url
        assert canonicalize(unquote_to_bytes(url), "clara").url == url

    @pytest.mark.req("CP-20", "UN-06")
    def test_the_result_has_the_documents_fields(self) -> None:
        record = canonicalize("https://sepe.es/a#b", "clara").as_dict()
        assert list(record) == [
            "url", "original", "canonical_hash", "policy", "policy_version", "dropped", "review", "fragment_note",
            "redirect_chain", "lang_variants", "pagination", "link_type", "flags", "warnings",
        ]  # fmt: skip
        assert record["original"] == "https://sepe.es/a#b"
        assert record["redirect_chain"] == []
        assert record["canonical_hash"] == sha256(b"https://www.sepe.es/a").hexdigest()


class TestCurious:
    """Document 4."""

    @pytest.mark.req("UN-01", "UN-02", "UN-03", "UN-04", "UN-05")
    @pytest.mark.parametrize(
        ("written", "canonical"),
        [
            ("HTTPS://EXAMPLE.COM", "https://example.com/"),
            ("http://example.com:80/", "http://example.com/"),
            ("https://example.com:443/a#x", "https://example.com/a"),
            ("https://example.com//a///b//", "https://example.com/a/b"),
            ("https://example.com/?", "https://example.com/"),
            ("https://example.com/a?b&a&&b=&a=2&a=10&a!=1", "https://example.com/a?a&a=10&a=2&a!=1&b&b="),
            ("https://example.com/?B=1&a=2", "https://example.com/?B=1&a=2"),
        ],
    )
    def test_the_seven_steps(self, written: str, canonical: str) -> None:
        assert canonicalize(written, "curious").url == canonical

    @pytest.mark.req("UN-02", "UN-08")
    @pytest.mark.parametrize(
        ("path", "canonical"),
        [
            ("//", "/"),
            ("///", "/"),
            ("/a////", "/a"),
            ("/a/////b", "/a/b"),
            ("/a?u=b//c/", "/a?u=b//c/"),
            ("/%2f//", "/%2f"),
        ],
    )
    def test_slashes_collapse_at_once(self, path: str, canonical: str) -> None:
        assert canonicalize(f"https://e.com{path}", "curious").url == f"https://e.com{canonical}"
        assert canonicalize(f"https://e.com{canonical}", "curious").url == f"https://e.com{canonical}"

    @pytest.mark.req("UN-03")
    @pytest.mark.parametrize("url", ["http://e.com/a", "http://e.com:443/a", "https://e.com:80/a", "https://e.com/a"])
    def test_the_scheme_is_kept(self, url: str) -> None:
        assert canonicalize(url, "curious").url == url

    @pytest.mark.req("UN-05")
    @pytest.mark.parametrize(
        ("query", "canonical"),
        [
            ("a=b&a=B&a=%62", "a=%62&a=B&a=b"),
            ("b=1&b=&b&a=9", "a=9&b&b=&b=1"),
            ("ab=1&a=2&a.=3", "a=2&a.=3&ab=1"),
            ("&&a=1&", "a=1"),
            ("page=2&id=1&lang=x&sid=3", "id=1&lang=x&page=2&sid=3"),
        ],
    )
    def test_parameters_are_sorted_by_name_then_value_and_none_is_lost(self, query: str, canonical: str) -> None:
        assert canonicalize(f"https://e.com/?{query}", "curious").url == f"https://e.com/?{canonical}"

    @pytest.mark.req("UN-04")
    def test_the_ten_patterns_are_dropped_without_regard_to_case(self) -> None:
        names = "utm_anything GCLID fbclid mc_cid mc_eid ref ref_src cmpid icid OCID".split()
        result = canonicalize("https://example.com/a?keep=1&" + "&".join(f"{n}=x" for n in names), "curious")
        assert result.url == "https://example.com/a?keep=1"
        assert [d.name for d in result.dropped] == names
        assert all(d.reason.startswith("tracking parameter") for d in result.dropped)

    @pytest.mark.req("UN-06")
    def test_the_hash_is_that_of_the_normalized_url(self) -> None:
        assert canonicalize("https://example.com/a/", "curious").canonical_hash == (
            sha256(b"https://example.com/a").hexdigest()
        )

    @pytest.mark.req("UN-07")
    def test_the_documents_overrides_file(self) -> None:
        data = {
            "overrides": [
                {
                    "match": {"host": "example.com"},
                    "drop_query_params": ["src", "partner"],
                    "rewrite_rules": [{"from_prefix": "https://example.com/amp/", "to_prefix": "https://example.com/"}],
                }
            ]
        }
        policy = load("curious").with_overrides(override_files.from_data(data))
        assert canonicalize("https://Example.com/amp/story/?SRC=x&id=1", policy).url == "https://example.com/story?id=1"
        assert canonicalize("https://www.example.com/amp/story?src=x", policy).url == (
            "https://www.example.com/amp/story?src=x"
        )
