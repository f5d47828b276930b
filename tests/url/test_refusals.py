"""The code, reason and offending part of refused URLs."""

from __future__ import annotations

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.url import Url, parse
from spaniel.url.parsing import is_ipv4, judge_host, judge_name


def found(raw: str | bytes, base: Url | None = None) -> tuple[str, dict[str, object]]:
    with pytest.raises(SpanielError) as caught:
        parse(raw, base)
    return str(caught.value.code), caught.value.details


HOSTS = {
    "0x7f.1": (Code.INVALID_HOST, "a number that is not four plain octets"),
    "127.0.0.1.": (Code.INVALID_HOST, "a number that is not four plain octets"),
    "127.0.0.１": (Code.INVALID_HOST, "a number that is not four plain octets"),
    "example。1": (Code.INVALID_HOST, "a number that is not four plain octets"),
    "a.1x": (Code.INVALID_HOST, "a number that is not four plain octets"),
    "a.一": (Code.INVALID_HOST, "a number that is not four plain octets"),
    "%31.1": (Code.INVALID_HOST, "a number written with percent-escapes"),
    "a.%31": (Code.INVALID_HOST, "a number written with percent-escapes"),
    "a.%31.": (Code.INVALID_HOST, "a number written with percent-escapes"),
    "1.%61": (Code.INVALID_URL, "percent-escapes in the host"),
    "a..b": (Code.INVALID_URL, "an empty label in the host"),
    ".a": (Code.INVALID_URL, "an empty label in the host"),
    ".": (Code.INVALID_URL, "an empty label in the host"),
    "a._b": (Code.INVALID_URL, "the host's last label is not a name"),
    "a.b-": (Code.INVALID_URL, "the host's last label is not a name"),
    "a b": (Code.INVALID_URL, "white space in the host"),
}


@pytest.mark.req("FR-WF-04a", "FR-WF-18b", "D2-12", "D2-14")
@pytest.mark.parametrize("host", HOSTS, ids=ascii)
def test_a_refused_host_is_named_with_its_reason(host: str) -> None:
    code, reason = HOSTS[host]
    assert found(f"http://{host}/") == (code, {"host" if code is Code.INVALID_HOST else "url": host, "reason": reason})


@pytest.mark.req("D2-12")
@pytest.mark.parametrize("host", ["a.x1", "a.b.", "localhost.", "a-b.c-d", "1.a", "a.xn--p1ai", "例え。jp"])
def test_what_only_looks_like_one_of_these_is_a_name(host: str) -> None:
    assert parse(f"http://{host}/").host.endswith(host[-2:].rstrip(".").lower())


@pytest.mark.req("D2-14")
@pytest.mark.parametrize(
    ("labels", "right"), [((63,), True), ((64,), False), ((63, 63, 63, 61), True), ((63, 63, 63, 62), False)]
)
def test_a_name_is_as_long_as_dns_can_carry_and_no_longer(labels: tuple[int, ...], right: bool) -> None:
    name = ".".join("a" * length for length in labels)
    for host in (name, f"{name}."):
        if right:
            assert parse(f"http://{host}/").host == name
        else:
            reason = "the host or one of its labels is too long"
            assert found(f"http://{host}/") == ("invalid_url", {"url": name, "reason": reason})


@pytest.mark.req("D2-14")
def test_a_name_that_grows_too_long_when_it_is_encoded_is_refused() -> None:
    assert parse(f"http://{'é' * 30}.example/")
    code, details = found(f"http://{'é' * 62}.example/")
    assert (code, details["reason"]) == ("invalid_url", "the host or one of its labels is too long")


@pytest.mark.req("D2-12")
def test_four_octets_are_four_plain_octets() -> None:
    assert all(map(is_ipv4, ("0.0.0.0", "1.2.3.4", "255.255.255.255", "199.209.249.250")))  # noqa: S104
    wrong = ("256.1.1.1", "1.1.1", "1.1.1.1.1", "01.1.1.1", "1.1.1.１", "1.1.1.1 ", "a1.1.1.1", "1.1.1.300")
    assert not any(map(is_ipv4, wrong))


@pytest.mark.req("D2-12", "D2-14")
@pytest.mark.parametrize(
    ("name", "code", "reason"),
    [
        ("a.1", Code.INVALID_HOST, "it reads as a number"),
        ("a..b", Code.INVALID_URL, "an empty label in the host"),
    ],
)
def test_what_a_parser_makes_of_a_name_is_judged_again(name: str, code: Code, reason: str) -> None:
    """No text is known of which ada-url makes such a host after the first judgement; so it is judged alone."""
    with pytest.raises(SpanielError) as caught:
        judge_name(name, "written")
    key = "host" if code is Code.INVALID_HOST else "url"
    assert (caught.value.code, caught.value.details) == (code, {key: "written", "reason": reason})
    judge_name("a.b1", "written")


def test_no_host_at_all_is_refused_like_any_other() -> None:
    with pytest.raises(SpanielError, match="an empty label"):
        judge_host("")


BEGINNING = "it does not begin with http:// or https://, as in https://example.com/"
SLASHES, BACKSLASH = "exactly '//' must follow the scheme", "a backslash before the query"
MALFORMED, NO_HOST = "its host or port is malformed", "it has no host"
URLS = {
    "example.com": BEGINNING,
    "//example.com/": BEGINNING,
    "localhost:80": BEGINNING,
    "localhost:80/a": BEGINNING,
    "localhost:80?a": BEGINNING,
    "localhost:80#a": BEGINNING,
    "http:example.com": SLASHES,
    "http:/example.com": SLASHES,
    "http:///example.com": SLASHES,
    "HTTP://\\example.com": SLASHES,
    "http://a\\b/": BACKSLASH,
    "http://a/b\\c": BACKSLASH,
    "http://a:b/": MALFORMED,
    "http://a:123456/": MALFORMED,
    "http://a:80:80/": MALFORMED,
    "http://[::1/?\\": MALFORMED,
    "http://a]/#\\": MALFORMED,
    "http:///": SLASHES,
    "http://": NO_HOST,
    "http://:80/": NO_HOST,
    "https://?a": NO_HOST,
    "http://a:65536/": "the port is over 65535",
    "http://[::g]/": "the parser refuses it",
    "http://a/\x00": "control characters, or bytes that are not text",
    "http://a/\x7f": "control characters, or bytes that are not text",
}


@pytest.mark.req("FR-WF-04", "FR-WF-04a", "FR-WF-18b", "D2-14")
@pytest.mark.parametrize("url", URLS, ids=ascii)
def test_a_text_that_is_no_url_is_repeated_with_the_reason(url: str) -> None:
    code, details = found(f" \t{url}\r\n")
    assert (code, details["reason"]) == ("invalid_url", URLS[url])
    assert str(details["url"]) in (url, url.replace("\x00", "\\x00").replace("\x7f", "\\x7f"))


@pytest.mark.req("FR-WF-04", "FR-WF-04a", "D2-14")
@pytest.mark.parametrize(
    "url", ["http://a/?b\\c", "http://a/#b\\c", "http://a:65535/", "http://a:0/", "http://a:/", "HTTPS://A/"]
)
def test_what_is_close_to_these_is_a_url(url: str) -> None:
    assert parse(url).host == "a"


@pytest.mark.req("FR-WF-04b")
@pytest.mark.parametrize("url", ["ftp://a/", "JavaScript:alert(1)", "a+b-c.d:x", "localhost:800000/", "u:p@host"])
def test_another_scheme_is_named(url: str) -> None:
    assert found(url) == ("invalid_scheme", {"scheme": url.partition(":")[0].lower()})


@pytest.mark.req("D2-15", "FR-WF-18b")
@pytest.mark.parametrize(
    ("url", "shown", "reason"),
    [
        ("http://u:p@v@host/", "http://host/", "more than one '@' before the host"),
        ("http://u:p@/", "http:///", NO_HOST),
        ("p@host", "host", BEGINNING),
        ("http:u:p@host", "host", SLASHES),
        ("http://u:p@host:b/c@d", "http://d", MALFORMED),
    ],
)
def test_nothing_before_an_at_sign_is_repeated(url: str, shown: str, reason: str) -> None:
    assert found(url) == ("invalid_url", {"url": shown, "reason": reason})


@pytest.mark.req("D2-14")
def test_a_long_url_is_told_its_length_and_the_limit() -> None:
    url = "http://a/" + "a" * 91
    assert parse(url, max_length=100).path == url[8:]
    assert parse(f"  {url}", max_length=100).path == url[8:]  # what is trimmed does not count
    with pytest.raises(SpanielError) as caught:
        parse(f"{url}b", max_length=100)
    details = caught.value.details
    assert (details["reason"], details["length"]) == ("its 101 characters are more than 100", 101)
    assert str(details["url"]).startswith("http://a/aaa")


@pytest.mark.parametrize("raw", [None, 7])
def test_what_is_no_text_is_told_what_it_is(raw: object) -> None:
    expected = {"field": "url", "reason": f"expected text, got {type(raw).__name__}"}
    assert found(raw) == ("bad_args", expected)  # type: ignore[arg-type]


def test_bytes_are_read_as_utf_8() -> None:
    assert parse("http://a/é".encode()) == parse("http://a/é") == parse("http://a/%C3%A9")
    assert found(b"http://a/\xff")[1]["reason"] == "control characters, or bytes that are not text"


BASE = parse("https://example.com/dir/")


@pytest.mark.req("FR-WF-07b", "FR-WF-18b")
def test_a_refused_reference_is_repeated_as_it_was_written() -> None:
    assert found("a\\b", BASE) == ("invalid_url", {"url": "a\\b", "reason": BACKSLASH})
    assert found("//a..b/", BASE)[1]["url"] == "a..b"
    assert found("\\\\a/", BASE) == ("invalid_url", {"url": "https:\\\\a/", "reason": SLASHES})
    assert found("/\\a/", BASE) == ("invalid_url", {"url": "https:/\\a/", "reason": SLASHES})
    assert parse("a?b\\c", BASE).href == "https://example.com/dir/a?b\\c"


def test_a_reference_that_the_parser_refuses_is_no_url(monkeypatch: pytest.MonkeyPatch) -> None:
    """None is known; so the parser is made to."""

    def refusing(*_: str) -> str:
        raise ValueError

    monkeypatch.setattr("ada_url.join_url", refusing)
    assert found("a", BASE) == ("invalid_url", {"url": "a", "reason": "the parser refuses it"})
