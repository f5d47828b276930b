"""Connections are reused only for the same host and addresses, and closed when idle."""

from __future__ import annotations

import asyncio
import copy
import os
import pickle
from ipaddress import ip_address

import pytest

from spaniel.errors import SpanielError
from spaniel.net import pool, sockets
from spaniel.net.deadline import Deadline
from spaniel.net.guard import Target
from spaniel.net.http import RequestOptions
from spaniel.slots import Slots
from spaniel.url import parse
from tests.net.harness import Harness, open_harness
from tests.net.servers import Behaviour, Wire, answer, answering, serve, silence, site

PAGES = site({"/": (200, [], b"page"), "/gone": (404, [], b""), "/on": (302, ["Location: /"], b"")})


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


async def target_of(harness: Harness, url: str) -> Target:
    return await harness.services.guard.vet(parse(url), Deadline(2))


@pytest.mark.req("FR-WF-06a")
async def test_a_connection_is_used_again_for_the_same_host_and_pin() -> None:
    """The positive control of the tests that follow."""
    async with serve(PAGES) as server, open_harness(server, names={"a.test": "127.0.0.1"}) as harness:
        for path in ("/", "/", "/gone", "/on", "/"):
            await harness.get(server.url(path, "a.test"))
        assert (server.connections, len(server.heard)) == (1, 5)


@pytest.mark.req("FR-WF-06a")
async def test_two_names_on_one_address_never_share_a_connection() -> None:
    async with (
        serve(PAGES) as server,
        open_harness(server, names={"a.test": "127.0.0.1", "b.test": "127.0.0.1"}) as harness,
    ):
        for host in ("a.test", "b.test", "127.0.0.1", "a.test", "b.test"):
            await harness.get(server.url("/", host))
        assert server.connections == 3
        assert [request.header("host") for request in server.heard] == [
            f"{host}:{server.port}" for host in ("a.test", "b.test", "127.0.0.1", "a.test", "b.test")
        ]


@pytest.mark.req("FR-WF-06a", "T-WF-SSRF-10")
async def test_a_name_with_a_new_pin_never_meets_an_old_connection() -> None:
    """An answer that was right a second ago is not proof now: the connection goes where this hop's answer points."""
    async with (
        serve(PAGES, "127.0.0.1") as old,
        serve(PAGES, "127.0.0.2", port=old.port) as new,
        open_harness(old, names={"a.test": "127.0.0.1"}) as harness,
    ):
        await harness.get(old.url("/", "a.test"))
        harness.resolver.names["a.test"] = "127.0.0.2"
        await harness.get(old.url("/", "a.test"))
        harness.resolver.names["a.test"] = ["127.0.0.2", "127.0.0.1"]
        await harness.get(old.url("/", "a.test"))
        assert harness.resolver.asked == ["a.test"] * 3
        assert (old.connections, new.connections) == (1, 2)


@pytest.mark.req("FR-WF-06a")
async def test_an_order_of_answers_is_no_new_pin() -> None:
    async with serve(PAGES, "127.0.0.1") as server, open_harness(server) as harness:
        for addresses in (["127.0.0.1", "127.0.0.2"], ["127.0.0.2", "127.0.0.1"]):
            harness.resolver.names["a.test"] = addresses
            await harness.get(server.url("/", "a.test"))
        assert server.connections == 1


def unsolicited(extra: bytes, said: asyncio.Event, *, together: bool) -> Behaviour:
    """Its first connection sends an unsolicited response after the first one."""
    served = 0

    async def behave(wire: Wire) -> None:
        nonlocal served
        served += 1
        mine = answer(200, b"from connection %d" % served)
        first = served == 1
        while await wire.request():
            await wire.send(mine[:-1])
            await asyncio.sleep(0.02)
            await wire.send(mine[-1:] + (extra if first and together else b""))
            if first and not together:
                await asyncio.sleep(0.05)
                await wire.send(extra)
            said.set()

    return behave


@pytest.mark.req("FR-WF-06a", "NFR-WF-REL-03")
@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("extra", [answer(200, b"poison"), answer(200, b"poison", "Connection: close"), b"junk"])
async def test_what_came_unasked_on_a_kept_connection_is_not_the_next_answer(extra: bytes, together: bool) -> None:
    """A server, or anyone who can make it send an extra response, would choose the response of the next URL."""
    said = asyncio.Event()
    async with serve(unsolicited(extra, said, together=together)) as server, open_harness(server) as harness:
        got = []
        for _ in range(3):
            said.clear()
            got.append((await harness.get(server.url())).body)
            await said.wait()
            await asyncio.sleep(0.1)  # for it to arrive
        assert got == [b"from connection 1", b"from connection 2", b"from connection 2"]


async def test_a_kept_connection_that_the_server_has_closed_is_replaced() -> None:
    async with serve(answering(answer(200, b"page"))) as server, open_harness(server) as harness:
        for _ in range(3):
            assert (await harness.get(server.url())).body == b"page"
            assert await server.all_closed()
        assert server.connections == 3


@pytest.mark.req("FR-WF-10a")
async def test_a_fetch_that_is_cancelled_closes_its_connection() -> None:
    async def first_bytes(wire: Wire) -> None:
        await wire.request()
        await wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
        await silence(wire)

    for behaviour in (silence, first_bytes):
        async with serve(behaviour) as server, open_harness(server) as harness:
            fetch = asyncio.create_task(harness.get(server.url()))
            assert await server.sees(lambda: server.open == 1)
            fetch.cancel()
            with pytest.raises(asyncio.CancelledError):
                await fetch
            assert await server.all_closed()
            await harness.still_serves()


@pytest.mark.req("FR-WF-10a")
async def test_a_fetch_that_is_cancelled_in_the_handshake_closes_its_connection() -> None:
    async with serve(silence) as server, open_harness(server) as harness:
        fetch = asyncio.create_task(harness.get(server.url().replace("http:", "https:")))
        assert await server.sees(lambda: server.open == 1)
        fetch.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fetch
        assert await server.all_closed()
        await harness.still_serves()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="descriptors are counted in /proc")
async def test_more_targets_than_pools_leave_no_descriptor_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "MAX_HOSTS", 4)
    names = {f"host{i}.test": "127.0.0.1" for i in range(40)}
    async with serve(PAGES) as server:
        before = descriptors()
        async with open_harness(server, names=names) as harness:
            for host in names:
                assert (await harness.get(server.url("/", host))).body == b"page"
            assert server.connections == 40
            assert await server.sees(lambda: server.open <= 4)
            await harness.get(server.url("/", "host39.test"))
            assert server.connections == 40  # the youngest is still there
            await harness.get(server.url("/", "host0.test"))
            assert server.connections == 41  # the oldest is not
            await harness.still_serves()
        assert await server.all_closed()
        assert descriptors() <= before


async def test_a_busy_pool_is_never_evicted_not_even_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """With every older pool busy, the newest was the only idle one, and was closed under the hands of its request."""
    monkeypatch.setattr(pool, "MAX_HOSTS", 2)

    async def slow(wire: Wire) -> None:
        while await wire.request():
            await asyncio.sleep(0.2)
            await wire.send(answer(200, b"page"))

    names = {f"host{i}.test": "127.0.0.1" for i in range(12)}
    async with serve(slow) as server, open_harness(server, names=names) as harness:
        pages = await asyncio.gather(*(harness.get(server.url("/", host)) for host in names))
        assert [page.body for page in pages] == [b"page"] * 12
        await harness.still_serves()
        assert await server.sees(lambda: server.open <= 2)


@pytest.mark.req("FR-WF-06a")
async def test_proof_cannot_be_made_by_hand() -> None:
    with pytest.raises(TypeError, match="Guard"):
        Target("a.test", 80, [ip_address("127.0.0.1")])
    with pytest.raises(TypeError, match="Guard"):
        Target("a.test", 80, [ip_address("127.0.0.1")], object())
    async with open_harness(names={"a.test": "127.0.0.1"}, ports=(80,)) as harness:
        real = await target_of(harness, "http://a.test/")
        with pytest.raises((TypeError, AttributeError)):
            copy.copy(real)
        with pytest.raises((TypeError, AttributeError)):
            pickle.loads(pickle.dumps(real))  # noqa: S301


@pytest.mark.req("FR-WF-06a", "NFR-WF-SEC-01")
@pytest.mark.parametrize("other", ["http://b.test:{}/", "http://a.test:1/", "http://127.0.0.1:{}/"])
async def test_proof_of_one_place_opens_no_other(other: str) -> None:
    async with serve(PAGES) as server, open_harness(server, names={"a.test": "127.0.0.1"}) as harness:
        target = await target_of(harness, server.url("/", "a.test"))
        with pytest.raises(SpanielError) as refused:
            await harness.services.http.get(parse(other.format(server.port)), target, Deadline(1))
        assert str(refused.value.code) == "internal"
        assert "is not the target of http://" in str(refused.value.details["error"])
        assert server.connections == 0


@pytest.mark.req("FR-WF-06a", "NFR-WF-SEC-01")
@pytest.mark.parametrize("host", ["a.test", "127.0.0.1"])
async def test_the_socket_refuses_an_address_that_was_not_judged(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Should anything between the guard and the socket go wrong, the last look is at what is really dialled."""
    names = {"a.test": "127.0.0.1"}
    async with serve(PAGES, "127.0.0.2") as victim, open_harness(victim, names=names) as harness:
        monkeypatch.setattr(sockets, "interleave", lambda _: [ip_address("127.0.0.2")])
        with pytest.raises(SpanielError) as refused:
            await harness.get(victim.url("/", host))
        assert (str(refused.value.code), refused.value.details["blocked_ip"]) == ("ssrf_blocked", "127.0.0.2")
        assert victim.connections == 0
        monkeypatch.setattr(sockets, "require_judged", lambda *_: None)  # the positive control
        harness.resolver.names["a.test"] = ["127.0.0.1", "127.0.0.3"]
        assert (await harness.get(victim.url("/", "a.test"))).body == b"page"
        assert victim.connections == 1


@pytest.mark.parametrize(("idle", "connections"), [(14.9, 1), (15.1, 2)])
async def test_a_connection_is_kept_for_fifteen_seconds(
    idle: float, connections: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    real, ahead = loop.time, 0.0
    async with serve(PAGES) as server, open_harness(server) as harness:
        await harness.get(server.url())
        kept = harness.services.http._pool
        (wires,) = kept._idle.values()
        wires[0].idle_since = now = real()
        monkeypatch.setattr(loop, "time", lambda: now + ahead)
        ahead = idle
        await harness.get(server.url(), seconds=60)
        assert server.connections == connections


async def test_a_host_whose_connections_are_all_in_use_is_not_counted_as_kept() -> None:
    async with serve(PAGES) as server, open_harness(server) as harness:
        kept = harness.services.http._pool
        await harness.get(server.url())
        (key,) = kept._idle
        wire = kept.take(key)
        assert wire is not None
        assert not kept._idle
        wire.close()


async def test_host_that_was_used_last_is_kept_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "MAX_HOSTS", 2)
    names = {f"{name}.test": "127.0.0.1" for name in "abc"}
    async with serve(PAGES) as server, open_harness(server, names=names) as harness:
        a, b, c = (server.url("/", host) for host in names)
        await asyncio.gather(harness.get(a), harness.get(a))  # of which one stays idle while the other is used again
        for url in (b, a, c, a, c):
            await harness.get(url)
        assert server.connections == 4
        await harness.get(b)
        assert server.connections == 5


def stalling(slow: float = 0.0) -> Behaviour:
    """Answers the first request of a connection, the first one of all without delay, and never a second."""
    connections = 0

    async def behave(wire: Wire) -> None:
        nonlocal connections
        connections += 1
        first = connections == 1
        await wire.request()
        await asyncio.sleep(0 if first else slow)
        await wire.send(answer(200, b"page"))
        await wire.request()
        await (silence(wire) if first or not slow else wire.send(answer(200, b"page")))

    return behave


async def test_target_that_stalls_a_kept_connection_gets_a_fresh_one_each_time() -> None:
    repeats = []

    async def before_repeat() -> None:
        repeats.append(len(server.heard))

    options = RequestOptions(stalled_after=0.3, before_repeat=before_repeat)
    async with serve(stalling()) as server, open_harness(server, options=options) as harness:
        every = harness.services.http._pool.connector.sockets
        every.slots = Slots(2)
        await asyncio.gather(harness.get(server.url()), harness.get(server.url()))  # two connections, both idle now
        for _ in range(3):
            assert (await harness.get(server.url())).body == b"page"
        assert repeats == [3]  # the third request alone was sent once more
        assert (len(server.heard), server.connections) == (6, 5)
        assert [every.slots.take() for _ in range(3)] == [True, True, False]  # all given back


async def test_slow_target_is_not_one_that_stalls() -> None:
    """Its fresh connection takes as long as the kept one did: that one is kept."""
    options = RequestOptions(stalled_after=0.1)
    async with serve(stalling(slow=0.3)) as server, open_harness(server, options=options) as harness:
        for _ in range(3):
            assert (await harness.get(server.url())).body == b"page"
        assert (len(server.heard), server.connections) == (4, 2)


async def test_stalled_connection_leaves_time_for_a_fresh_one() -> None:
    options = RequestOptions(stalled_after=60.0)
    async with serve(stalling()) as server, open_harness(server, options=options) as harness:
        await harness.get(server.url())
        assert (await harness.get(server.url(), seconds=1.0)).body == b"page"


async def test_targets_that_stall_are_remembered_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "MAX_HOSTS", 2)
    names = {f"{name}.test": "127.0.0.1" for name in "abc"}
    async with serve(PAGES) as server, open_harness(server, names=names) as harness:
        kept = harness.services.http._pool
        keys = []
        for host in names:
            await harness.get(server.url("/", host))
            keys.append(next(reversed(kept._idle)))
        for key in keys[:2]:
            kept.add_stalling(key)
        connections = server.connections
        for host in ("a.test", "a.test", "b.test", "b.test"):  # each time a fresh connection
            await harness.get(server.url("/", host))
        assert server.connections == connections + 4
        kept.add_stalling(keys[2])  # one more than is remembered
        for host in ("a.test", "a.test"):
            await harness.get(server.url("/", host))
        assert server.connections == connections + 5


async def test_head_is_asked_again_on_the_same_connection() -> None:
    """An answer to HEAD names the length of a body that does not come."""

    async def behave(wire: Wire) -> None:
        while await wire.request():
            await wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 400\r\nContent-Type: text/html\r\n\r\n")

    async with serve(behave) as server, open_harness(server) as harness:
        url, deadline = parse(server.url()), Deadline(30.0)
        for _ in range(3):
            target = await harness.services.guard.vet(url, deadline)
            assert (await harness.services.http.head(url, target, deadline)).status == 200
        assert server.connections == 1
