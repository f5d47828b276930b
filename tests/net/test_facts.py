"""What the door tells besides a page: who answered, until when the certificate holds, why there was no connection."""

from __future__ import annotations

import socket
import time

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.net.deadline import Deadline
from spaniel.net.http import DEFAULT_OPTIONS, Page
from spaniel.net.resolver import NXDOMAIN, SystemResolver
from spaniel.url.parsing import parse
from tests.net.harness import Harness, open_harness
from tests.net.servers import Wire, answer, answering, serve, tls_for

DAY = 86_400


async def glance(harness: Harness, url: str, seconds: float = 30.0, size: int = 1000) -> Page:
    parsed, deadline = parse(url), Deadline(seconds)
    target = await harness.services.guard.vet(parsed, deadline)
    options = DEFAULT_OPTIONS._replace(glance=lambda kind: kind != "image/png", error_bytes=size)
    return await harness.services.http.get(parsed, target, deadline, options)


async def test_a_page_says_which_address_answered() -> None:
    async with serve(answering(answer(200, b"x")), "127.0.0.7") as server, open_harness(server) as harness:
        page = await harness.get(server.url())
    assert (page.address, page.certificate_ends) == ("127.0.0.7", None)


async def test_a_page_over_tls_says_until_when_its_certificate_holds(ca_file: str) -> None:
    async with (
        serve(answering(answer(200, b"x")), tls=tls_for("site.test")) as server,
        open_harness(server, names={"site.test": "127.0.0.1"}, ca_file=ca_file) as harness,
    ):
        page = await harness.get(server.url("/", "site.test"))
    assert page.certificate_ends is not None
    assert page.certificate_ends > time.time() + 14 * DAY


@pytest.mark.parametrize(
    ("number", "cause"), [(socket.EAI_NONAME, NXDOMAIN), (socket.EAI_AGAIN, None), (socket.EAI_FAIL, None)]
)
async def test_a_name_that_is_unknown_is_told_from_one_that_nobody_could_look_up(
    monkeypatch: pytest.MonkeyPatch, number: int, cause: str | None
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise socket.gaierror(number, "the system's words")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(SpanielError) as caught:
        await SystemResolver().resolve("name.test")
    assert caught.value.code is Code.DNS_FAILED
    assert caught.value.details.get("cause") == cause


async def test_a_refused_connection_is_told_from_a_broken_one() -> None:
    async def reset(wire: Wire) -> None:
        wire.reset()

    async with serve(reset) as server, open_harness(server) as harness:
        broken = await harness.refuses(server.url(), "network")
        with socket.socket() as closed:  # bound, and not listening
            closed.bind(("127.0.0.11", server.port))
            refused = await harness.refuses(f"http://127.0.0.11:{server.port}/", "network")
    assert "refused" not in broken.details
    assert refused.details["refused"] is True


async def test_a_glance_takes_the_beginning_whatever_becomes_of_the_rest() -> None:
    async def endless(wire: Wire) -> None:
        await wire.request()
        await wire.send(answer(200, length=False))
        await wire.pour(b"x" * 700)

    async def silent(wire: Wire) -> None:
        await wire.request()
        await wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
        await wire.reader.read()

    async with (
        serve(endless) as server,
        serve(silent) as other,
        serve(answering(answer(404, b"no" * 900))) as third,
        serve(answering(answer(200, b"png", "Content-Type: image/png"))) as fourth,
        open_harness(server, other, third, fourth) as harness,
    ):
        cut = await glance(harness, server.url())
        short = await glance(harness, other.url())
        error = await glance(harness, third.url())
        picture = await glance(harness, fourth.url())
        await harness.still_serves()
    assert (cut.status, cut.body) == (200, b"x" * 1000)
    assert (short.status, short.body) == (200, b"abc")
    assert (error.status, len(error.body)) == (404, 1000)
    assert (picture.status, picture.body) == (200, b"")


async def test_a_stream_brings_what_an_error_says() -> None:
    taken: list[bytes] = []
    async with serve(answering(answer(403, b"not for you"))) as server, open_harness(server) as harness:
        url, deadline = parse(server.url()), Deadline(30)
        target = await harness.services.guard.vet(url, deadline)
        options = DEFAULT_OPTIONS._replace(error_bytes=5)
        page = await harness.services.http.stream(url, target, deadline, taken.append, options)
    assert (page.status, page.body, taken) == (403, b"not f", [])


async def test_cookies_are_not_mixed_up() -> None:
    date = "Wed, 21 Oct 2037 07:28:00 GMT"
    said = answer(200, b"", f"Set-Cookie: a=1; Expires={date}", "Set-Cookie: b=2")
    async with serve(answering(said)) as server, open_harness(server) as harness:
        page = await harness.get(server.url())
    assert page.headers["set-cookie"].split("\n") == [f"a=1; Expires={date}", "b=2"]
