"""Text to Url: what is refused, what is repaired, and that nothing else ever happens."""

from __future__ import annotations

import json
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.errors import Code, SpanielError
from spaniel.url import Url, parse
from tests.url.attacks import OK, TABLE

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpora" / "attack_urls.json"


def verdict(raw: str | bytes, base: Url | None = None) -> str:
    try:
        parse(raw, base)
    except SpanielError as error:
        return str(error.code)
    return OK


def test_the_table_of_attacks_is_large_enough() -> None:
    assert len(TABLE) == len({url for url, _ in TABLE}) >= 200


@pytest.mark.req("FR-WF-04", "FR-WF-04a", "FR-WF-04b", "D2-12", "D2-14", "T-WF-SSRF-01", "T-WF-SSRF-06")
@pytest.mark.parametrize(("url", "right"), TABLE, ids=lambda value: ascii(value)[:60])
def test_every_attack_gets_its_one_verdict(url: str, right: str) -> None:
    assert verdict(url) == right


NAMES_HAVE = set(string.ascii_letters + string.digits + "-_.")
ENDS_A_HOST = set("/?#:@")  # what stands after it is something else


@pytest.mark.req("FR-WF-04a", "D2-14")
@pytest.mark.parametrize("name", ["a{}b.example.com", "{}b.example.com", "b{}.example.com", "ü{}b.example.com"])
def test_of_all_ascii_only_what_names_have_gets_into_a_host(name: str) -> None:
    signs = set(map(chr, range(128))) - ENDS_A_HOST
    through = {sign for sign in signs if verdict(f"http://{name.replace('{}', sign)}/") == OK}
    assert through | {"."} == NAMES_HAVE  # a dot makes an empty label at either end


@pytest.mark.req("FR-WF-04a", "D2-14")
@given(st.text(st.characters(exclude_characters="/\\?#@:[]"), min_size=1, max_size=12))
def test_parsed_host_has_only_valid_characters(name: str) -> None:
    try:
        host = parse(f"http://{name}.example/").host
    except SpanielError:
        return
    assert set(host) <= NAMES_HAVE
    assert parse(f"http://{host}/").host == host


@pytest.mark.req("FR-WF-04a", "D2-14")
@given(st.text("abcdefghijklmnopqrstuvwxyz0123456789-", max_size=20).map("xn--".__add__))
def test_punycode_is_accepted_only_in_its_canonical_form(label: str) -> None:
    """The other way round: whatever passes is what the parser makes of the name that a reader would be shown."""
    try:
        host = parse(f"http://{label}.example/").host
    except SpanielError:
        return
    shown = label[4:].encode().decode("punycode")
    assert not shown.isascii()
    assert parse(f"http://{shown}.example/").host == host == f"{label}.example"


@pytest.mark.req("FR-WF-04", "D2-12", "D2-14")
@pytest.mark.skipif(not CORPUS.exists(), reason="the shared corpus is not here")
def test_the_shared_attack_urls_get_their_verdicts() -> None:
    """What needs no resolver; an address or a port is judged later, so those may pass the parser."""
    wrong = []
    for row in json.loads(CORPUS.read_text(encoding="utf-8")):
        right = {row["expect"].replace("accept", OK), *(v.replace("accept", OK) for v in row.get("also_ok", ()))}
        if row["expect"] in ("ssrf_blocked", "ssrf_blocked_extra", "port_blocked"):
            right.add(OK)
        got = verdict(row["url"])
        if got not in right or (
            got == OK and parse(row["url"]).host != row.get("canonical_host", parse(row["url"]).host)
        ):
            wrong.append((row["id"], got, right))
    assert not wrong


@pytest.mark.req("D2-15", "FG-03")
@pytest.mark.parametrize(
    "url", ["http://user:secret@example.com/", "http://secret@example.com/", "http://:secret@example.com/"]
)
def test_credentials_never_get_past_the_parser(url: str) -> None:
    assert parse(url).href == "http://example.com/"


@pytest.mark.req("D2-15", "FG-03")
@pytest.mark.parametrize(
    "url",
    [
        "http://user:secret@exa mple.com/",
        "http://user:secret@@example.com/",
        "http://user:secret@0x7f.1/",
        "http://user:se/cret@example.com/",
        "http://user:se?cret@example.com/\x00",
        "http://user:secret@example.com/" + "a" * 9000,
        "user:secret@example.com",
        "ftp://user:secret@example.com/",
    ],
)
def test_credentials_are_not_in_the_errors_either(url: str) -> None:
    with pytest.raises(SpanielError) as caught:
        parse(url)
    assert "cret" not in caught.value.as_json()


@pytest.mark.req("D2-15")
def test_one_trailing_dot_of_a_name_is_dropped() -> None:
    assert parse("http://example.com./a").host == "example.com"
    assert verdict("http://example.com../a") == "invalid_url"


@pytest.mark.req("D2-15")
@pytest.mark.parametrize("host", ["93.184.215.14.", "127.0.0.1.", "1.", "0x7f.1."])
def test_a_trailing_dot_of_a_numeric_host_is_refused(host: str) -> None:
    assert verdict(f"http://{host}/") == "invalid_host"


@pytest.mark.req("D2-14")
def test_surrounding_white_space_is_trimmed() -> None:
    assert parse("\n\t https://example.com/a \r\n").href == "https://example.com/a"


@pytest.mark.req("D2-14")
@pytest.mark.parametrize(("length", "right"), [(8192, OK), (8193, "invalid_url")])
def test_the_length_limit_is_exact(length: int, right: str) -> None:
    head = "http://example.com/"
    assert verdict(head + "a" * (length - len(head))) == right


def test_the_parts_of_a_url_have_names() -> None:
    url = parse("HTTPS://Example.COM:8443/a/../b?x=1#y")
    assert url == Url("https", "example.com", 8443, "/b", "x=1", "y")
    assert url.href == "https://example.com:8443/b?x=1#y"
    assert url.origin == "https://example.com:8443"
    assert url.target == "/b?x=1"
    assert parse("http://example.com").effective_port == 80
    assert (parse("http://example.com/a?").href, parse("http://example.com/a?").target) == (
        "http://example.com/a?",
        "/a?",
    )


@pytest.mark.req("FR-WF-19b")
def test_the_redacted_form_has_no_query() -> None:
    assert parse("https://example.com/a?token=1#x").redacted == "https://example.com/a"


BASE = parse("https://example.com/dir/page?old=1#frag")


@pytest.mark.req("FR-WF-07b")
@pytest.mark.parametrize(
    ("reference", "right"),
    [
        ("other", "https://example.com/dir/other"),
        ("../up", "https://example.com/up"),
        ("/root", "https://example.com/root"),
        ("?q=2", "https://example.com/dir/page?q=2"),
        ("#new", "https://example.com/dir/page?old=1#new"),
        ("", "https://example.com/dir/page?old=1"),
        ("//other.example/x", "https://other.example/x"),
        ("http://other.example/x", "http://other.example/x"),
        ("///a", "invalid_url"),
        ("//0x7f.1/", "invalid_host"),
        ("//user@127.1/", "invalid_host"),
        ("\\\\evil.example/", "invalid_url"),
        ("/\\evil.example/", "invalid_url"),
        ("a\\b", "invalid_url"),
        ("https:evil.example", "invalid_url"),
        ("https:/evil", "invalid_url"),
        ("localhost:80/", "invalid_url"),
        ("javascript:alert(1)", "invalid_scheme"),
        ("/a\r\nSet-Cookie: x", "invalid_url"),
    ],
)
def test_a_reference_is_resolved_and_judged_like_any_url(reference: str, right: str) -> None:
    if right.startswith("http"):
        assert parse(reference, BASE).href == right
    else:
        assert verdict(reference, BASE) == right


@pytest.mark.req("FR-WF-04a")
@given(st.one_of(st.text(), st.binary(), st.text().map("http://".__add__), st.text().map("https://h.example/".__add__)))
def test_nothing_but_a_spaniel_error_escapes(raw: str | bytes) -> None:
    for base in (None, BASE):
        try:
            parse(raw, base)
        except SpanielError as error:
            error.as_json().encode()


@pytest.mark.parametrize(
    "raw", ["\x00", "\ud800", "http://\udcff/", "a" * 10**6, "http://" + "a." * 10**6, b"\xff\xfe\x00"]
)
def test_hostile_text_is_refused_not_fatal(raw: str | bytes) -> None:
    assert verdict(raw) == "invalid_url"


@pytest.mark.parametrize("raw", [None, 7, ["http://example.com"]])
def test_what_is_not_text_is_a_bad_argument(raw: object) -> None:
    with pytest.raises(SpanielError) as caught:
        parse(raw)  # type: ignore[arg-type]
    assert caught.value.code is Code.BAD_ARGS
