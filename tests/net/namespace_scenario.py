"""A small Internet in a network namespace of its own, for what loopback cannot show; run by test_rebinding.py.

In here 93.184.215.14 is a real server on port 80, 127.0.0.1 a victim on port 80, and the system's resolver asks a name
server of ours. Spaniel runs with its default settings, as it would outside. Prints what happened, as JSON.
"""

from __future__ import annotations

import asyncio
import ctypes
import fcntl
import json
import socket
import struct
import tempfile
import threading
import urllib.request
from pathlib import Path

from dnslib import AAAA, CNAME, QTYPE, RCODE, RR, A, DNSRecord
from dnslib.server import BaseResolver, DNSServer

from spaniel.errors import SpanielError
from spaniel.net.deadline import Deadline
from spaniel.net.guard import Guard
from spaniel.net.http import Http
from spaniel.net.resolver import SystemResolver
from spaniel.pipeline.retrieve import retrieve
from spaniel.url import parse
from tests.loopback import Services

PUBLIC, VICTIM = "93.184.215.14", "127.0.0.1"
SIOCSIFFLAGS, SIOCSIFADDR, IFF_UP = 0x8914, 0x8916, 1
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18


def raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))
        address = struct.pack("16sHH4s8x", b"lo:1", socket.AF_INET, 0, socket.inet_aton(PUBLIC))
        fcntl.ioctl(s, SIOCSIFADDR, address)


def use_own_name_server(folder: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    for name, text in {
        "resolv.conf": f"nameserver {VICTIM}\noptions timeout:3 attempts:1\n",
        "nsswitch.conf": "hosts: files dns\n",
    }.items():
        ours = Path(folder) / name
        ours.write_text(text, encoding="ascii")
        if libc.mount(str(ours).encode(), f"/etc/{name}".encode(), None, MS_BIND, None) != 0:
            raise OSError(ctypes.get_errno(), f"cannot put {name} in place")


class NameServer(BaseResolver):  # type: ignore[misc]
    """Rebinds, loops, lies, or says nothing, by the name that is asked for."""

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}

    def resolve(self, request: DNSRecord, _handler: object) -> DNSRecord:
        name, kind = str(request.q.qname).rstrip("."), QTYPE[request.q.qtype]
        reply = request.reply()
        how = name.partition(".")[0]
        if how == "silent":
            threading.Event().wait(5)
        elif how == "servfail":
            reply.header.rcode = RCODE.SERVFAIL
        elif how == "nothing":
            reply.header.rcode = RCODE.NXDOMAIN
        elif how == "loop":
            reply.add_answer(RR(name, QTYPE.CNAME, rdata=CNAME(name), ttl=0))
        elif kind == "A":
            count = self.asked[name] = self.asked.get(name, 0) + 1
            for address in self.answers(how, count):
                reply.add_answer(RR(name, QTYPE.A, rdata=A(address), ttl=0))
        elif how == "inner6" and kind == "AAAA":
            reply.add_answer(RR(name, QTYPE.AAAA, rdata=AAAA("::1"), ttl=0))
        return reply

    def answers(self, how: str, count: int) -> list[str]:
        if how == "many":
            return [f"93.184.{i >> 8}.{i & 255}" for i in range(1000)]
        if how in ("rebind", "control"):
            return [PUBLIC if count == 1 else VICTIM]
        return {"good": [PUBLIC], "inner": [VICTIM], "mixed": [PUBLIC, VICTIM], "inner6": [PUBLIC]}.get(how, [])


class Server:
    """Answers everything with its name, and counts connections."""

    def __init__(self, address: str, text: str) -> None:
        self.text, self.connections = text, 0
        self._socket = socket.create_server((address, 80))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            self.connections += 1
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            while data := connection.recv(65536):
                missing = b"GET /robots.txt" in data
                body = b"" if missing else self.text.encode()
                status = b"404 Not Found" if missing else b"200 OK"
                connection.sendall(
                    b"HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s"
                    % (status, len(body), body)
                )


async def fetch(url: str) -> str:
    async with Services(Guard(SystemResolver(seconds=5.0)), Http()) as services:
        try:
            return (await retrieve(parse(url), services.door, Deadline(10))).page.body.decode()
        except SpanielError as error:
            return str(error.code)


def check_then_connect(host: str) -> str:
    """What must not be done: judge the name's address, then hand the name to a client that looks it up again."""
    socket.getaddrinfo(host, 80)
    with urllib.request.urlopen(f"http://{host}/", timeout=60) as answer:
        return str(answer.read().decode())


def main() -> None:
    raise_loopback()
    with tempfile.TemporaryDirectory() as folder:
        use_own_name_server(folder)
        names = NameServer()
        for tcp in (False, True):
            DNSServer(names, address=VICTIM, port=53, tcp=tcp).start_thread()
        public, victim = Server(PUBLIC, "public page"), Server(VICTIM, "SECRET")
        outcome: dict[str, object] = {"first": asyncio.run(fetch("http://rebind.example/"))}
        outcome["lookups of the first"] = names.asked["rebind.example"]
        outcome["second"] = asyncio.run(fetch("http://rebind.example/"))
        for how in ("good", "inner", "inner6", "mixed", "many", "nothing", "servfail", "loop", "silent"):
            outcome[how] = asyncio.run(fetch(f"http://{how}.example/"))
        outcome["victim"] = victim.connections
        outcome["public"] = public.connections
        outcome["control"] = check_then_connect("control.example")
        outcome["victim after the control"] = victim.connections
    print(json.dumps(outcome))


if __name__ == "__main__":
    main()
