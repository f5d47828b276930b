"""Servers and files that mean harm: each ends in a canonical URL with a flag or in one typed refusal."""

from __future__ import annotations

import asyncio

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.online import visits
from spaniel.online.visits import _ended
from spaniel.testing import redirect
from tests.net.servers import Wire, answer
from tests.online.sites import CATALAN, page, versions
from tests.online.world import Web, open_world, sleeping

START = "http://malo.es/a/b"
NO_TLS = {"malo.es": "refuses"}


@pytest.mark.req("CP-21")
@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("http://10.0.0.1/", Code.SSRF_BLOCKED),
        ("http://169.254.169.254/latest/meta-data/", Code.SSRF_BLOCKED),
        ("http://[::ffff:10.0.0.1]/", Code.SSRF_BLOCKED),
        ("http://dentro.es/", Code.SSRF_BLOCKED),  # a name with a private address
        ("http://malo.es:22/", Code.PORT_BLOCKED),
    ],
)
async def test_a_redirect_to_where_nobody_goes_is_refused(ca_file: str, target: str, code: Code) -> None:
    web = Web({START: redirect(target), "http://malo.es/": page()}, NO_TLS)
    async with open_world(web, ca_file, {"dentro.es": "10.1.2.3"}) as world:
        with pytest.raises(SpanielError) as caught:
            await world.canonicalizer().canonicalize(START)
        assert caught.value.code is code
        assert caught.value.details["redirect"] == 1
        web.pages[START] = redirect("http://malo.es/a/c")  # the control: the same, to a public page
        web.pages["http://malo.es/a/c"] = page()
        assert (await world.canonicalizer().canonicalize(START)).url == "http://malo.es/a/c"


@pytest.mark.parametrize(
    "target",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "http://a\\b/",
        "http://",
        "ftp://x/",
        "http://b.es/" + "a" * 8192,
        "?" + "a" * 8190,
    ],
)
async def test_a_redirect_to_what_is_no_address_keeps_the_url(ca_file: str, target: str) -> None:
    web = Web({START: redirect(target), "http://malo.es/": page()}, NO_TLS)
    async with open_world(web, ca_file) as world:
        result = await world.canonicalizer().canonicalize(START)
    assert (result.url, "no-answer" in result.flags) == (START, True)


async def test_of_an_endless_page_no_more_is_read_than_is_needed(ca_file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visits, "MAX_BYTES", 1 << 16)
    sent: list[int] = []

    async def behave(wire: Wire) -> None:
        head = await wire.reader.readuntil(b"\r\n\r\n")
        if head.startswith(b"GET /robots.txt"):
            await wire.send(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        elif head.startswith(b"HEAD "):
            await wire.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n")
        else:
            await wire.send(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html lang=es><title>Tr\xc3\xa1mite</title>"
            )
            while True:
                await wire.send(b"<p>y sigue</p>" * 1000)
                sent.append(14_000)

    async with open_world(Web({}, NO_TLS), ca_file, http=behave) as world:
        result = await world.canonicalizer().canonicalize(START)
    assert (result.url, result.link_type) == (START, "informative")  # its title was read
    assert sum(sent) < 32 << 20  # what the system's buffers take besides


@pytest.mark.req("CP-21")
async def test_a_server_that_says_nothing_keeps_the_url_flagged_and_ends_in_time(ca_file: str) -> None:
    async with open_world(Web({}, NO_TLS), ca_file, http=sleeping) as world:
        result = await world.canonicalizer(seconds=2).canonicalize(START)
    assert "no-answer" in result.flags
    assert result.url == START.replace("http:", "https:")


async def silent_but_for_robots(wire: Wire) -> None:
    while (request := await wire.request()) is not None:
        if request.target != "/robots.txt":
            await asyncio.sleep(3600)
        await wire.send(answer(404))


@pytest.mark.req("CP-21")
async def test_server_that_answers_robots_txt_alone_is_asked_in_part(ca_file: str) -> None:
    async with open_world(Web({}, NO_TLS), ca_file, http=silent_but_for_robots) as world:
        result = await world.canonicalizer(seconds=2).canonicalize(START)
    assert "asked-in-part" in result.flags


@pytest.mark.req("CP-25")
async def test_a_hundred_thousand_versions_are_a_page_like_others(ca_file: str) -> None:
    many = "".join(f'<link rel=alternate hreflang="q{i % 26:c}" href="/{i}/x">' for i in range(97, 97 + 100_000))
    links = "".join(f'<a href="/l/{i}">x</a>' for i in range(50_000))
    web = Web(
        {"https://malo.es/ca/a/b": page(CATALAN, head=many, more=links), "https://malo.es/es/a/b": page(lang="es")}
    )
    async with open_world(web, ca_file) as world:
        result = await world.canonicalizer().canonicalize("https://malo.es/ca/a/b")
    assert len(result.lang_variants) <= visits_bound()
    assert len(web.asked) < 20


def visits_bound() -> int:
    from spaniel.reading.metadata.page_facts import MAX_VERSIONS

    return MAX_VERSIONS + 2


@pytest.mark.req("CP-25")
async def test_a_version_at_a_private_address_is_never_asked_for(ca_file: str) -> None:
    head = versions(es="http://10.0.0.1/es")
    web = Web({"https://malo.es/ca/a/b": page(CATALAN, head=head, lang="ca")})
    async with open_world(web, ca_file) as world:
        result = await world.canonicalizer("malo.es\n=10.0.0.1").canonicalize("https://malo.es/ca/a/b")
    assert result.url == "https://malo.es/ca/a/b"


async def test_a_header_that_never_ends_in_time_is_read_in_a_moment() -> None:
    from spaniel.reading.metadata.page_facts import page_facts
    from spaniel.url import parse

    for evil in (
        "<" * 20_000,
        "<a>;" * 5_000,
        "<a>" + ";a" * 9_000,
        '<a>;a="' * 2_000,
        "<a>" + " " * 20_000,
        "<a>" + "; " * 9000 + "x",
    ):
        assert page_facts(b"<title>t</title>", parse("https://e.es/"), None, evil).title == "t"


def test_walk_that_ran_out_of_time_has_no_answer() -> None:
    """The caller, whose time it is, decides what that means."""
    with pytest.raises(SpanielError, match="timeout"):
        _ended([], SpanielError(Code.TIMEOUT, seconds=1, phase="head"))
    assert _ended([], SpanielError(Code.REDIRECT_LIMIT, count=6, max=5)).endless
