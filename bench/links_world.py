"""The world of `bench.links`: many named hosts on loopback, a name server for them, in a network namespace of its own.

`python -m bench.links_world` serves it: every host has its `/pN` and, as real ones do, nothing else but
`/index-N-HOSTS.html`, which links to N of them.
"""

from __future__ import annotations

import asyncio
import ctypes
import fcntl
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import cast

MOST_HOSTS = 200
PORT = 8080
DOMAIN = "links.lan"  # not `.test`, which some checkers leave alone
UNSHARE = ["unshare", "--user", "--map-root-user", "--net", "--mount"]
SIOCSIFFLAGS, IFF_UP, MS_BIND = 0x8914, 1, 4096
INDEX = re.compile(rb"(?:GET|HEAD) /index-(\d+)-(\d+)\.html ")
PATH = re.compile(rb"(?:GET|HEAD) /(?:p\d+|asked) ")
HEAD = (
    b"HTTP/1.1 %s\r\nServer: nginx/1.26.2\r\nDate: Mon, 16 Nov 2026 12:00:00 GMT\r\n"
    b"Content-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\nLast-Modified: Sun, 15 Nov 2026 12:00:00 GMT\r\n"
    b'Connection: keep-alive\r\nETag: "6913d2c0-1400"\r\nAccept-Ranges: bytes\r\n\r\n'
)
PAGE = b"<p>" + b"x" * 5_113 + b"</p>"


def possible() -> bool:
    """Whether namespaces are to be had: without them there are no names that other programs would resolve."""
    if not shutil.which("unshare"):
        return False
    return subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode == 0


def urls(count: int, hosts: int) -> list[str]:
    return [f"http://h{number % hosts}.{DOMAIN}:{PORT}/p{number}" for number in range(count)]


def address(host: int) -> str:
    return f"127.0.1.{1 + host}"


def enter() -> None:
    """Raise loopback, and have the system's resolver ask our name server. For a process in a namespace alone."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))
    libc = ctypes.CDLL(None, use_errno=True)
    folder = Path(tempfile.mkdtemp())
    for name, text in {"resolv.conf": "nameserver 127.0.0.1\n", "nsswitch.conf": "hosts: files dns\n"}.items():
        (folder / name).write_text(text, encoding="ascii")
        if libc.mount(str(folder / name).encode(), f"/etc/{name}".encode(), None, MS_BIND, None) != 0:
            raise OSError(ctypes.get_errno(), f"cannot put {name} in place")


class World:
    """The hosts and their name server, in a process of their own, for the length of a block."""

    def __enter__(self) -> World:
        self._process = subprocess.Popen([sys.executable, "-m", "bench.links_world"], stdout=subprocess.PIPE)
        assert self._process.stdout
        self._process.stdout.readline()
        return self

    @property
    def pid(self) -> int:
        return self._process.pid

    def asked(self) -> int:
        """How many links were asked for since this was called last."""
        with urllib.request.urlopen(f"http://{address(0)}:{PORT}/asked", timeout=60) as answer:
            return int(answer.read())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait()
        assert self._process.stdout
        self._process.stdout.close()


class Site(asyncio.Protocol):
    """Any host."""

    asked = 0  # links, since somebody wanted to know

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport, self.heard = transport, b""

    def data_received(self, data: bytes) -> None:
        self.heard += data
        while (end := self.heard.find(b"\r\n\r\n")) >= 0:
            request, self.heard = self.heard[:end], self.heard[end + 4 :]
            found = INDEX.match(request)
            body = _index(int(found[1]), int(found[2])) if found else PAGE
            if request.startswith(b"GET /asked "):
                body, Site.asked = b"%d" % Site.asked, 0
            elif not found:
                Site.asked += 1
            status = b"200 OK" if found or PATH.match(request) else b"404 Not Found"
            self.transport.write(HEAD % (status, len(body)) + (b"" if request.startswith(b"HEAD") else body))


def _index(count: int, hosts: int) -> bytes:
    return "\n".join(f'<a href="{url}">link</a>' for url in urls(count, hosts)).encode()


class Names(asyncio.DatagramProtocol):
    """An address for each host, none for everything else; of IPv6 there is none."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        label = data[13 : 13 + data[12]].decode("latin-1")
        end = data.index(0, 12) + 5
        known = label[:1] == "h" and label[1:].isdigit() and int(label[1:]) < MOST_HOSTS
        answers = b""
        if known and data[end - 4 : end - 2] == b"\0\1":
            answers = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(address(int(label[1:])))
        flags = b"\x85\x80" if known else b"\x85\x83"
        counts = b"\0\1" + (b"\0\1" if answers else b"\0\0") + b"\0\0\0\0"
        self.transport.sendto(data[:2] + flags + counts + data[12:end] + answers, addr)


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    await loop.create_datagram_endpoint(Names, ("127.0.0.1", 53))
    for host in range(MOST_HOSTS):
        await loop.create_server(Site, address(host), PORT, backlog=1024)
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve())
