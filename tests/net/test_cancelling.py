"""A fetch that is cancelled at any moment leaves nothing behind: no descriptor, no transport, no wrong answer."""

from __future__ import annotations

import asyncio
import logging
import socketserver
import ssl
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path

import pytest

from spaniel import Spaniel
from spaniel.app.settings import from_data
from spaniel.errors import SpanielError
from spaniel.net.proxy import Proxies
from spaniel.testing import FakeResolver
from spaniel.url.hostlists import HostList
from tests.net.harness import GOOD_ADDRESS, Harness, open_harness
from tests.net.servers import Wire, answer, proxying, serve, site, tls_for

MAX_STEPS = 400  # of the event loop, after which a fetch on loopback has long ended
NEIGHBOURS = 3  # hosts that are asked right after each cancellation
WAYS = ("plain", "tls", "tls, two addresses", "tls by a proxy")


class Scene:
    """A host whose fetches are cancelled, and neighbours that each need a connection of their own."""

    def __init__(self, harness: Harness, url: str, neighbour: str) -> None:
        self.harness, self.url, self._neighbour = harness, url, neighbour
        self._asked = 0

    async def ask_neighbours(self) -> None:
        """Hosts that were not asked before: their sockets get the numbers that were just freed."""
        urls = [self._neighbour.format(self._asked + number) for number in range(NEIGHBOURS)]
        self._asked += NEIGHBOURS
        for page in await asyncio.gather(*map(self.harness.get, urls)):
            assert page.body == b"neighbour"


@asynccontextmanager
async def scene(way: str, ca_file: str) -> AsyncIterator[Scene]:
    names: dict[str, str | list[str]] = {f"n{n}.test": GOOD_ADDRESS for n in range(MAX_STEPS * NEIGHBOURS)}
    names["a.test"] = ["127.0.0.1", "127.0.0.7"] if "two" in way else "127.0.0.1"
    async with AsyncExitStack() as stack:
        tls = None if way == "plain" else tls_for("a.test")
        server = await stack.enter_async_context(serve(site({"/": (200, [], b"page")}), tls=tls))
        neighbours = await stack.enter_async_context(serve(site({"/": (200, [], b"neighbour")}), GOOD_ADDRESS))
        proxy = await stack.enter_async_context(serve(proxying, "127.0.0.8"))
        proxies = Proxies({"https": proxy.url()}, HostList(())) if "proxy" in way else None
        harness = await stack.enter_async_context(
            open_harness(server, neighbours, names=names, ca_file=ca_file, proxies=proxies)
        )
        yield Scene(harness, server.url("/", "a.test"), neighbours.url("/", "n{}.test"))
        await harness.services.http.close()
        assert await server.all_closed()
        assert await neighbours.all_closed()
        assert await proxy.all_closed()
        sockets = harness.services.http._pool.connector.sockets
        assert sockets.open == 0


async def cancelled(fetch: asyncio.Task[object], steps: int) -> bool:
    """Let it run for so many turns of the event loop, then cancel it. False where it has ended before."""
    for _ in range(steps):
        await asyncio.sleep(0)
    if fetch.done():
        fetch.result()
        return False
    fetch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await fetch
    return True


@pytest.mark.req("NFR-WF-REL-02")
@pytest.mark.parametrize("way", WAYS)
async def test_cancelling_at_any_step_breaks_no_other_connection(
    way: str, ca_file: str, caplog: pytest.LogCaptureFixture
) -> None:
    """From dialling to the last byte of the answer, after each number of turns of the event loop."""
    async with scene(way, ca_file) as made:
        for steps in range(MAX_STEPS):
            if not await cancelled(asyncio.create_task(made.harness.get(made.url)), steps):
                break
            await made.ask_neighbours()
        assert steps > 4  # it was cancelled while it connected, and ended by itself at last
        assert steps < MAX_STEPS - 1
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def echo(wire: Wire) -> None:
    """Answers with the path that was asked for, in pieces, so that there are steps between them."""
    while request := await wire.request():
        said = answer(200, request.target.encode())
        for cut in range(0, len(said), 30):
            await wire.send(said[cut : cut + 30])
            await asyncio.sleep(0)


@pytest.mark.req("NFR-WF-REL-03")
@pytest.mark.parametrize("secure", [False, True])
async def test_the_answer_to_a_cancelled_request_is_not_the_next_ones(secure: bool, ca_file: str) -> None:
    tls = tls_for("a.test") if secure else None
    names = {"a.test": "127.0.0.1"}
    async with serve(echo, tls=tls) as server, open_harness(server, names=names, ca_file=ca_file) as harness:
        for steps in range(MAX_STEPS):
            await harness.get(server.url("/kept", "a.test"))  # a connection that is used again
            fetch = asyncio.create_task(harness.get(server.url(f"/cancelled/{steps}", "a.test")))
            ended = not await cancelled(fetch, steps)
            pages = await asyncio.gather(*(harness.get(server.url(f"/{steps}/{n}", "a.test")) for n in range(2)))
            assert [page.body for page in pages] == [f"/{steps}/{n}".encode() for n in range(2)]
            if ended:
                break
        assert 2 < steps < MAX_STEPS - 1


@pytest.mark.req("FR-WF-06a", "NFR-WF-REL-03")
@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize("together", [True, False])
async def test_unsolicited_response_is_not_used_for_the_next_request(
    together: bool, secure: bool, ca_file: str
) -> None:
    """It was sent before the next request, and lies in the socket, in TLS or in the parser when that goes out."""
    said = asyncio.Event()

    async def behave(wire: Wire) -> None:
        while request := await wire.request():
            mine, poison = answer(200, request.target.encode()), answer(200, b"poison")
            await wire.send(mine + poison if together else mine)
            if not together:
                await wire.send(poison)
            said.set()

    tls = tls_for("a.test") if secure else None
    names = {"a.test": "127.0.0.1"}
    async with serve(behave, tls=tls) as server, open_harness(server, names=names, ca_file=ca_file) as harness:
        for steps in range(12):
            said.clear()
            with suppress(SpanielError):  # where both came at once, the answer is longer than it says
                assert (await harness.get(server.url(f"/{steps}", "a.test"))).body == f"/{steps}".encode()
            await said.wait()
            for _ in range(steps):
                await asyncio.sleep(0)
        assert server.connections >= 11  # none was used again


@contextmanager
def late_handshakes(tls: ssl.SSLContext, seconds: float) -> Iterator[int]:
    """A TLS server in threads of its own: each handshake is completed so many seconds after the connection."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            time.sleep(seconds)
            with suppress(OSError), tls.wrap_socket(self.request, server_side=True) as secured:
                secured.recv(1)
                closing.wait(60)

    closing = threading.Event()
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.request_queue_size = 64
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            closing.set()
            server.shutdown()


@pytest.mark.req("NFR-WF-REL-02")
async def test_handshake_at_the_deadline_affects_no_other_request(ca_file: str, tmp_path: Path) -> None:
    hostile, good = [f"h{n}.test" for n in range(20)], [f"g{n}.test" for n in range(40)]
    with late_handshakes(tls_for(*hostile), 0.96) as port:
        async with serve(site({"/": (200, ["Content-Type: text/plain"], b"page")})) as server:
            security = {
                "block_loopback": False,
                "allow_insecure_overrides": True,
                "allowed_ports": [port, server.port],
            }
            table = {"enabled": True, "cache_dir": str(tmp_path), "security": security}
            settings = from_data({"tools": {"webfetch": table}, "spaniel": {"net": {"ca_file": ca_file}}}, "test")
            links = [f"https://{host}:{port}/" for host in hostile] + [server.url("/", host) for host in good]
            async with Spaniel(settings, FakeResolver()) as client:
                found = {c.link.url: c async for c in client.check(links, jobs=20, timeout=1, delay=0)}
    assert {str(found[link].verdict) for link in links[20:]} == {"ok"}
    assert {found[link].code for link in links[:20]} <= {"timeout", "network"}
