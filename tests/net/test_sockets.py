"""Sockets are counted for as long as they are open, and go to judged addresses alone."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from ipaddress import ip_address

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.net import sockets
from spaniel.net.deadline import Deadline
from spaniel.net.guard import Guard, Security, Target
from spaniel.net.sockets import (
    MAX_AT_ONCE,
    MAX_OPEN,
    NEXT_SECONDS,
    SocketLimits,
    connect,
    connect_to,
    descriptors,
    interleave,
    raise_descriptors,
    require_judged,
    stop_accepting,
)
from spaniel.testing import FakeResolver
from spaniel.url import parse
from tests.net.servers import black_hole, serve, silence

HERE = ip_address("127.0.0.1")


async def test_a_socket_counts_until_it_is_closed_and_only_once() -> None:
    count = SocketLimits(1024)
    async with serve(silence) as server:
        made = await connect([HERE], server.port, count)
        assert count.open == 1
        made.close()
        made.close()
        assert count.open == 0


async def test_a_socket_that_could_not_connect_does_not_count() -> None:
    count = SocketLimits(1024)
    with pytest.raises(ConnectionRefusedError):
        await connect([ip_address("127.0.0.5")], 1, count)
    assert count.open == 0


async def vetted(port: int, *addresses: str) -> Target:
    security = Security(block_loopback=False, allow_insecure_overrides=True, allowed_ports=(port,))
    guard = Guard(FakeResolver({"site.example": list(addresses)}), security)
    return await guard.vet(parse(f"http://site.example:{port}/"), Deadline(5))


@pytest.mark.req("FR-WF-06a")
async def test_an_address_that_passed_is_dialled_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    count = SocketLimits(1024)
    async with serve(silence) as server, serve(silence, "127.0.0.2", port=server.port) as victim:
        target = await vetted(server.port, "127.0.0.1")
        (await connect_to(target, count)).close()  # the control
        monkeypatch.setattr(sockets, "interleave", lambda _: [ip_address("127.0.0.2")])
        with pytest.raises(SpanielError) as caught:
            await connect_to(target, count)
        assert caught.value.code is Code.SSRF_BLOCKED
        assert await server.sees(lambda: server.connections == 1)
        assert (victim.connections, count.open) == (0, 0)


@pytest.mark.req("FR-WF-06a")
async def test_the_other_end_is_looked_at_once_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the system made of the address, a connection to another one is never used."""
    count = SocketLimits(1024)
    async with serve(silence) as server:
        target = await vetted(server.port, "127.0.0.1")
        monkeypatch.setattr(sockets.CountedSocket, "getpeername", lambda _: ("127.0.0.2", server.port))
        with pytest.raises(SpanielError) as caught:
            await connect_to(target, count)
        assert caught.value.code is Code.SSRF_BLOCKED
        assert caught.value.details == {"blocked_ip": "127.0.0.2", "cidr": "unvetted", "toggle": "none"}
        assert count.open == 0
        assert await server.all_closed()


@pytest.mark.parametrize(
    ("given", "turns"),
    [
        (["127.0.0.1"], ["127.0.0.1"]),
        (["127.0.0.1", "127.0.0.2", "::1"], ["127.0.0.1", "::1", "127.0.0.2"]),
        (["::1", "::2", "::3", "127.0.0.1"], ["::1", "127.0.0.1", "::2", "::3"]),
        (["::1", "127.0.0.1", "127.0.0.2"], ["::1", "127.0.0.1", "127.0.0.2"]),
    ],
)
def test_both_versions_of_ip_have_their_turn(given: list[str], turns: list[str]) -> None:
    assert [str(address) for address in interleave([ip_address(text) for text in given])] == turns


async def test_of_two_that_answer_one_is_used_and_the_other_closed() -> None:
    count = SocketLimits(1024)
    with black_hole("127.0.0.5") as port:
        async with serve(silence, port=port) as server, serve(silence, "127.0.0.2", port=port) as other:
            silent, here, there = map(ip_address, ("127.0.0.5", "127.0.0.1", "127.0.0.2"))
            made = await connect([silent, here, there], port, count)
            assert made.getpeername()[0] in ("127.0.0.1", "127.0.0.2")
            await asyncio.sleep(0)
            made.close()
            assert await server.all_closed()
            assert await other.all_closed()
        await asyncio.sleep(0)
        assert count.open == 0


async def test_where_nobody_answers_it_is_the_first_failure_that_is_told() -> None:
    count = SocketLimits(1024)
    with pytest.raises(ConnectionRefusedError):
        await connect([ip_address("127.0.0.5"), ip_address("127.0.0.6")], 1, count)
    assert count.open == 0


async def test_one_that_answers_late_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them have been tried, and one is silent: that is no reason to give up on the others."""
    monkeypatch.setattr(sockets, "NEXT_SECONDS", 0.0)
    count = SocketLimits(1024)
    with black_hole("127.0.0.5") as port:
        async with serve(silence, port=port) as server:
            made = await connect([ip_address("127.0.0.5"), HERE], port, count)
            assert made.getpeername()[0] == "127.0.0.1"
            made.close()
            assert await server.all_closed()
        await asyncio.sleep(0)
        assert count.open == 0


async def test_whoever_gives_up_leaves_no_socket_behind() -> None:
    count = SocketLimits(1024)
    with black_hole("127.0.0.5") as port:
        trying = asyncio.create_task(connect([ip_address("127.0.0.5")] * 3, port, count))
        await asyncio.sleep(0.4)
        assert count.open >= 1
        trying.cancel()
        with pytest.raises(asyncio.CancelledError):
            await trying
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert count.open == 0


async def test_no_more_sockets_are_used_than_the_system_has_to_spare(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    monkeypatch.setattr("resource.getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert descriptors() == 2 * MAX_AT_ONCE
    monkeypatch.setattr("resource.getrlimit", lambda _: (64, 64))
    assert descriptors() == 64
    assert SocketLimits(64).keep == 24
    assert SocketLimits(1 << 20).keep == MAX_OPEN


@pytest.mark.parametrize(
    ("soft", "hard", "right"),
    [
        *((1024, 1 << 20, 4096), (1024, 2048, 2048), (8192, 1 << 20, None), (-1, -1, None)),
        *((1024, -1, 4096), (-1, 1 << 20, None), (4096, 1 << 20, None), (4095, 4096, 4096)),
    ],
)
def test_the_system_is_asked_for_as_many_descriptors_as_are_enough(
    soft: int, hard: int, right: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr("resource.getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr("resource.setrlimit", lambda _, limits: asked.append(limits))
    raise_descriptors()
    assert asked == ([] if right is None else [(right, hard)])


def places_of(count: SocketLimits) -> int:
    taken = 0
    while count.slots.take():
        taken += 1
    return taken


@pytest.mark.parametrize(
    ("descriptors", "places", "keep"),
    [(1, 1, 0), (2, 1, 0), (3, 1, 1), (64, 32, 24), (1024, 512, 384), (1 << 20, 512, 1024)],
)
def test_of_the_systems_descriptors_half_are_used_and_three_eighths_kept(
    descriptors: int, places: int, keep: int
) -> None:
    count = SocketLimits(descriptors)
    assert (places_of(count), count.keep, count.open) == (places, keep, 0)


def test_where_the_system_does_not_say_there_are_enough_for_all_places(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def limit(*given: object) -> tuple[int, int]:
        asked.append(given)
        return 16, 64

    monkeypatch.setattr("resource.getrlimit", limit)
    monkeypatch.setattr("resource.setrlimit", limit)
    monkeypatch.setattr("sys.platform", "win32")
    assert descriptors() == 1024
    raise_descriptors()
    assert not asked
    monkeypatch.setattr("sys.platform", "linux")
    assert descriptors() == 16


async def test_one_that_answers_at_once_leaves_the_others_in_peace(monkeypatch: pytest.MonkeyPatch) -> None:
    assert NEXT_SECONDS == 0.25  # RFC 8305 8: a silent one is given this long
    monkeypatch.setattr(sockets, "NEXT_SECONDS", 30.0)  # a busy machine may need longer
    count = SocketLimits(1024)
    async with serve(silence) as server, serve(silence, "127.0.0.2", port=server.port) as other:
        for _ in range(3):
            (await connect([HERE, ip_address("127.0.0.2")], server.port, count)).close()
        assert await server.sees(lambda: server.connections == 3)
        await asyncio.sleep(0.05)
        assert other.connections == 0


async def test_one_that_refuses_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "NEXT_SECONDS", 600.0)
    async with serve(silence) as server, asyncio.timeout(60):
        (await connect([ip_address("127.0.0.5"), HERE], server.port, SocketLimits(1024))).close()


@pytest.mark.req("FR-WF-06a")
@pytest.mark.parametrize(
    ("order", "wrong"),
    [(["127.0.0.5", "127.0.0.6"], ConnectionRefusedError), (["127.0.0.6", "127.0.0.5"], SpanielError)],
)
async def test_each_is_judged_and_it_is_the_first_failure_that_is_told(
    order: list[str], wrong: type[Exception]
) -> None:
    count = SocketLimits(1024)
    target = await vetted(9, "127.0.0.5")
    with pytest.raises(wrong):
        await connect([ip_address(text) for text in order], 9, count, target)
    assert count.open == 0


@pytest.mark.req("FR-WF-06a")
async def test_an_address_is_judged_without_the_name_of_its_interface() -> None:
    target = await vetted(9, "127.0.0.5")
    require_judged("127.0.0.5%lo", target)
    with pytest.raises(SpanielError):
        require_judged("127.0.0.6%lo", target)


async def test_stopping_server_hands_over_accepted_connections() -> None:
    """Else their connections would never be closed."""
    begun: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda _, writer: begun.append(writer), "127.0.0.1", 0)
    address = server.sockets[0].getsockname()
    with contextlib.ExitStack() as callers:

        def call() -> None:
            callers.enter_context(socket.socket()).connect(address)

        for _ in range(5):
            call()
        for _ in range(2):  # it is seen that they are there, and they are accepted
            await asyncio.sleep(0)
        await stop_accepting(server)
        assert len(begun) == 5
        call()
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(begun) == 5
        server.close()
        for writer in begun:
            writer.close()


async def test_a_server_stops_where_the_loop_has_no_readers_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows."""

    def remove_reader(_: int) -> bool:
        raise NotImplementedError

    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    with monkeypatch.context() as patched:
        patched.setattr(asyncio.get_running_loop(), "remove_reader", remove_reader)
        await stop_accepting(server)
    server.close()
