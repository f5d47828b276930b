"""A host that cannot be reached is reported as that, not as a missing robots.txt."""

from __future__ import annotations

import socket

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.net.deadline import Deadline
from spaniel.net.guard import Security
from spaniel.net.resolver import NXDOMAIN
from spaniel.pipeline.retrieve import FetchedPage, retrieve
from spaniel.robots.gate import RobotsSettings
from spaniel.testing import FakeResolver, Reply, Site, redirect, text
from spaniel.url import parse
from tests.loopback import Services, open_rooms, rooms_for
from tests.net.servers import Wire, serve, site, tls_for


def closed_port() -> int:
    """A port without a listener."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def rooms_at(*ports: int, fail_open: bool = False) -> Services:
    security = Security(block_loopback=False, allow_insecure_overrides=True, allowed_ports=ports)
    unknown = SpanielError(Code.DNS_FAILED, host="unknown.example", error="no such name", cause=NXDOMAIN)
    names = FakeResolver({"unknown.example": unknown})
    return open_rooms(security, names, robots=RobotsSettings(fail_open=fail_open))


async def refusal(url: str, services: Services) -> SpanielError:
    with pytest.raises(SpanielError) as caught:
        await retrieve(parse(url), services.door, Deadline(10))
    return caught.value


@pytest.mark.req("D2-45")
@pytest.mark.parametrize("fail_open", [False, True])
async def test_a_refused_connection_is_told_as_that(fail_open: bool) -> None:
    port = closed_port()
    async with rooms_at(port, fail_open=fail_open) as services:
        for _ in range(2):  # the second time from memory
            error = await refusal(f"http://site.example:{port}/a", services)
            assert (error.code, error.details["cause"]) == (Code.NETWORK, "connect")
            assert "fail_open" not in error.hint


@pytest.mark.req("D2-45")
@pytest.mark.parametrize("path", ["/a", "/robots.txt"])
async def test_untrusted_certificate_is_reported_with_the_setting_that_helps(path: str) -> None:
    pages = {"/robots.txt": (200, ["Content-Type: text/plain"], b""), "/a": (200, ["Content-Type: text/plain"], b"a")}
    async with serve(site(pages), tls=tls_for("site.example")) as server, rooms_at(server.port) as services:
        error = await refusal(server.url(path, "site.example"), services)
        assert (error.code, error.details["cause"]) == (Code.NETWORK, "certificate")
        assert "ca_file" in error.hint
        assert "fail_open" not in error.hint


@pytest.mark.req("D2-45")
async def test_a_server_that_speaks_no_tls_is_told_as_that() -> None:
    async def plain_only(wire: Wire) -> None:
        await wire.reader.read(100)
        await wire.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with serve(plain_only) as plain, rooms_at(plain.port) as services:
        error = await refusal(f"https://site.example:{plain.port}/a", services)
        assert (error.code, error.details["cause"]) == (Code.NETWORK, "tls")
        assert "http://" in error.hint


@pytest.mark.req("D2-06", "FR-WF-09a")
async def test_what_concerns_robots_txt_alone_is_still_told_as_robots_txt() -> None:
    """The host answers; only its robots.txt is not to be had."""

    async def reset() -> Reply:
        raise ConnectionError

    port = closed_port()
    async with Site({"/a": text("a")}) as there:
        elsewhere = redirect(f"http://other.example:{port}/robots.txt")
        unknown = redirect(f"http://unknown.example:{port}/robots.txt")
        troubles = (text("", 503), "503"), (reset, "closed"), (elsewhere, "refused"), (unknown, "unknown.example")
        for trouble, result in troubles:
            there.pages["/robots.txt"] = trouble
            async with rooms_at(there.port, port) as services:
                error = await refusal(there.url("/a"), services)
                assert error.code is Code.ROBOTS_UNAVAILABLE
                assert "cause" not in error.details
                assert result in error.message
            async with rooms_at(there.port, port, fail_open=True) as services:  # the control: the page itself is there
                found: FetchedPage = await retrieve(parse(there.url("/a")), services.door, Deadline(10))
                assert found.page.body == b"a"


@pytest.mark.req("D2-27", "D2-45")
@pytest.mark.parametrize(
    ("status", "headers", "again"),
    [
        (429, {"Retry-After": "30"}, True),
        (429, {}, False),
        (404, {"Retry-After": "30"}, False),
        (503, {}, True),
        (503, {"Retry-After": "30"}, True),
    ],
)
async def test_a_server_that_says_when_to_come_back_may_be_asked_again(
    status: int, headers: dict[str, str], again: bool
) -> None:
    async with Site({"/a": text("later", status, headers)}) as busy, rooms_for(busy) as services:
        error = await refusal(busy.url("/a"), services)
        assert (error.retryable, error.as_dict()["retryable"]) == (again, again)
        assert ("Retry-After" in error.hint) is (again and bool(headers))
