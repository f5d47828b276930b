"""Sites on loopback for `spaniel check` in this process.

Names are resolved by a stub in place of the system's resolver. A site runs in its own thread, because the command runs
its own event loop.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from spaniel.cli import main as cli

HTML = "Content-Type: text/html; charset=utf-8"


class SiteRequest(NamedTuple):
    """One request."""

    method: str
    path: str
    host: str
    nth: int  # on its connection, from 1


class Reply(NamedTuple):
    status: int = 200
    body: bytes | str = b""
    fields: tuple[str, ...] = (HTML,)
    action: str = ""  # instead of the reply: 'reset' resets the connection, 'hang' sends nothing


Replies = Callable[[SiteRequest], Reply] | Mapping[str, Reply]
MISSING = Reply(404, "<h1>Not found</h1>")


def page(text: str, title: str = "A page") -> Reply:
    return Reply(body=f"<!doctype html><html><head><title>{title}</title></head><body>{text}</body></html>")


def to(location: str, status: int = 302) -> Reply:
    return Reply(status, b"", (f"Location: {location}",))


class Site:
    """A server at one port of an address. `requests` lists them in order."""

    def __init__(self, replies: Replies, address: str = "127.0.0.1") -> None:
        self._replies, self._address = replies, address
        self.requests: list[SiteRequest] = []
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def url(self, path: str = "/", host: str = "") -> str:
        return f"http://{host or self._address}:{self.port}{path}"

    def methods(self, prefix: str = "") -> list[str]:
        return [f"{each.method} {each.path}" for each in self.requests if each.path.startswith(prefix)]

    def __enter__(self) -> Site:
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, self._address, 0))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.run_until_complete(asyncio.sleep(0))  # lets the last of them close
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nth = 0
        try:
            while line := await reader.readline():
                nth += 1
                host = ""
                while (field := (await reader.readline()).strip()) != b"":
                    if field.lower().startswith(b"host:"):
                        host = field[5:].strip().decode().rpartition(":")[0]
                method, path = line.decode().split()[:2]
                request = SiteRequest(method, path, host, nth)
                self.requests.append(request)
                reply = self._replies(request) if callable(self._replies) else self._replies.get(path, MISSING)
                if reply.action == "hang":
                    await asyncio.Event().wait()
                if reply.action == "reset":
                    sock = writer.get_extra_info("socket")
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                    writer.transport.abort()
                    return
                body = reply.body.encode() if isinstance(reply.body, str) else reply.body
                head = "\r\n".join(
                    [f"HTTP/1.1 {reply.status} S", *reply.fields, f"Content-Length: {len(body)}", "", ""]
                )
                writer.write(head.encode() + (b"" if method == "HEAD" else body))
                await writer.drain()
        except (ConnectionError, ValueError):
            pass
        finally:
            writer.close()


class Done(NamedTuple):
    code: int
    out: str
    err: str

    def rows(self) -> dict[str, dict[str, Any]]:
        """JSON lines by URL; fails if a URL is reported twice."""
        rows = [json.loads(line) for line in self.out.splitlines()]
        found = {row["url"]: row for row in rows}
        assert len(found) == len(rows)
        return found


Check = Callable[..., Done]


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Check:
    """`spaniel …` in this process, with loopback allowed and nothing else changed."""
    settings = tmp_path / "local.toml"
    settings.write_text(
        f'[tools.webfetch]\ncache_dir = "{tmp_path}/cache"\n[tools.webfetch.browser]\nenabled = false\n'
        "[tools.webfetch.security]\nallow_insecure_overrides = true\nblock_loopback = false\n"
    )
    for name in ("CACHE", "CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*args: str, command: tuple[str, ...] = ("check",), delay: tuple[str, ...] = ("--delay", "0")) -> Done:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.run([*command, *args, *delay, "--config", str(settings)])
        return Done(int(ended.value.code or 0), *capsys.readouterr())

    return run


@contextmanager
def names(monkeypatch: pytest.MonkeyPatch, known: Mapping[str, str]) -> Iterator[None]:
    """The system's resolver as a stub: an address; 'nxdomain'; 'nodata'; anything else gets no answer."""

    def getaddrinfo(host: str, port: object, *_: object, **__: object) -> list[tuple[Any, ...]]:
        found = known.get(host, "no answer")
        if found == "nxdomain":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        if found == "nodata":
            raise socket.gaierror(socket.EAI_NODATA, "No address associated with hostname")
        if found == "no answer":
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (found, 0))]

    with monkeypatch.context() as patched:
        patched.setattr(socket, "getaddrinfo", getaddrinfo)
        yield
