"""Every long command against pages, or files, that are held back until the test releases them."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from select import select
from threading import Event, Thread

from spaniel.queue import Failure, Queue, QueueSettings
from tests import programs

HELD, OTHERS = 2, 28
PAGE = b"<!doctype html><title>A page</title><h1>Title</h1><p>The river carries more water in spring.</p>"
PROFILE = (
    'name = "mine"\nversion = "1"\npolicy = "ingest"\nfallbacks = ["http","queue"]\n[limits]\ntotal_seconds = 90\n'
)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

COMMANDS: dict[str, tuple[str, ...]] = {
    "fetch": ("fetch", "-j", "2", "--timeout", "90", "-"),
    "extract": ("extract", "pages"),
    "extract-2": ("extract", "-j", "2", "pages"),
    "batch": ("batch", "urls.txt", "-o", "out.jsonl", "--workers", "1", "--delay", "0", "--timeout", "90"),
    "check": ("check", "urls.txt", "-f", "jsonl", "--delay", "0", "--timeout", "90"),
    "db-check": ("db", "check", "--db", "urls", "-f", "jsonl", "--delay", "0", "--timeout", "90"),
    "db-fix": ("db", "fix", "--db", "urls", "-f", "jsonl", "-o", "out.jsonl", "--delay", "0", "--timeout", "90"),
    "db-audit": ("db", "audit", "--online", "--all", "-f", "csv", "urls.json", "--policy", "clara", "-j", "2"),
    "db-add": ("db", "add", "--static", "--db", "urls", "-j", "2", "-"),
    "canon": ("canon", "--online", "--policy", "clara", "--timeout", "90", "-j", "2", "-"),
    "queue-retry": ("queue", "retry", "--profile", "mine.toml"),
}
RESUMABLE = ("batch", "check", "db-check", "db-fix")
READS_INPUT = ("fetch", "canon", "db-add")
SILENT = ("batch", "db-fix")  # nothing goes to standard output


class World:
    """A site whose `/hold…` pages wait; and the same as files, of which the first are pipes."""

    def __init__(self, folder: Path, port: int, release: Event) -> None:
        self.folder, self.port, self._release = folder, port, release
        self.requests: list[str] = []
        self._pipes: dict[Path, int] = {}  # files that the command reads
        names = [*(f"hold{n}" for n in range(HELD)), *(f"ok{n:02}" for n in range(OTHERS))]
        self.urls = [f"http://127.0.0.1:{port}/{name}" for name in names]
        (folder / "urls.txt").write_text("".join(f"{url}\n" for url in self.urls))
        (folder / "urls.json").write_text(json.dumps([{"url": url} for url in self.urls]))
        (folder / "mine.toml").write_text(PROFILE)
        (folder / "local.toml").write_text(
            f'[tools.webfetch]\ncache_dir = "{folder}/cache"\n[tools.webfetch.browser]\nenabled = false\n'
            "[tools.webfetch.security]\nallow_insecure_overrides = true\nblock_loopback = false\n"
            f'allowed_ports = [{port}]\n[spaniel.archive]\navailable = ""\n'
        )
        (folder / "pages").mkdir()
        for name in names:
            if name.startswith("hold"):
                os.mkfifo(folder / "pages" / f"{name}.html")
            else:
                (folder / "pages" / f"{name}.html").write_bytes(PAGE)

    def argv(self, name: str, *more: str) -> list[str]:
        words = COMMANDS[name]
        if words[0] == "db":
            (self.folder / "urls").mkdir(exist_ok=True)
        if name in ("db-check", "db-fix"):
            records = "".join(f"---\n_path: /{url.rpartition('/')[2]}\n" for url in self.urls)
            (self.folder / "urls" / f"127.0.0.1%3A{self.port}.yaml").write_text(f"---\n{records}")
        if name == "queue-retry":
            queue = Queue(QueueSettings(f"{self.folder}/cache/queue"))
            for url in self.urls:
                queue.add(Failure(url, url, "mine", "", "http_5xx", "busy", []), 1_800_000_000)
            queue.close()
        config = () if words[0] == "extract" else ("--config", "local.toml")
        words = (*words[:-1], *config, *more, words[-1]) if name in READS_INPUT else (*words, *config, *more)
        return [sys.executable, "-m", "spaniel", *words]

    @property
    def environment(self) -> dict[str, str]:
        own = {f"XDG_{name}_HOME": str(self.folder / name.lower()) for name in ("CACHE", "CONFIG", "STATE")}
        return {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")} | own | {"TERM": "xterm"}

    def is_held(self) -> bool:
        """Whether the command waits for a page, or for a file."""
        for path in () if self.requests else sorted((self.folder / "pages").glob("hold*")):
            with suppress(OSError):  # the reader is gone
                if path not in self._pipes:
                    self._pipes[path] = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        return any("/hold" in path for path in self.requests) or bool(self._pipes)

    def release(self) -> None:
        self._release.set()
        for path in sorted((self.folder / "pages").glob("hold*")):
            Thread(target=self._fill, args=(path,), daemon=True).start()

    def _fill(self, path: Path) -> None:
        """Write a file, now or when the command opens it."""
        pipe = self._pipes.pop(path, None)
        with suppress(OSError):  # the command was stopped
            pipe = os.open(path, os.O_WRONLY) if pipe is None else pipe
            os.write(pipe, PAGE)
        if pipe is not None:
            os.close(pipe)

    def output(self) -> str:
        files = (self.folder / name for name in ("stdout", "out.jsonl"))
        return "".join(file.read_text() for file in files if file.exists())

    def others_done(self) -> int:
        return sum(f"ok{n:02}" in self.output() for n in range(OTHERS))


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_: object) -> None:
        """A command that was stopped breaks its connections off."""


@contextmanager
def world(folder: Path) -> Iterator[World]:
    release = Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            made.requests.append(self.path)
            if self.path.startswith("/hold"):
                release.wait(120)
            status = 200 if self.path.startswith(("/ok", "/hold")) else 404
            with suppress(OSError):  # the command was stopped
                self.send_response(status)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(PAGE)))
                self.end_headers()
                self.wfile.write(PAGE if self.command == "GET" else b"")

        do_HEAD = do_GET  # noqa: N815  as the server calls it

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with Server(("127.0.0.1", 0), Handler) as server:
        made = World(folder, server.server_port, release)
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield made
        finally:
            release.set()
            server.shutdown()


class Running:
    """A command whose standard error is a terminal of some width; standard output goes to a file."""

    def __init__(self, world: World, argv: Sequence[str], columns: int, *, on_terminal: bool = False) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.seen = b""

        with (world.folder / "stdout").open("wb") as out, (world.folder / "urls.txt").open("rb") as listed:
            self.process = programs.Popen(
                argv, cwd=world.folder, env=world.environment, stdin=listed,
                stdout=theirs if on_terminal else out, stderr=theirs,
                terminal=2,
            )  # fmt: skip
        os.close(theirs)
        self._hung_up = False
        self._reading = Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        with suppress(OSError):  # the other end is closed
            while not self._hung_up:
                if select([self._ours], [], [], 0.05)[0]:
                    self.seen += os.read(self._ours, 65_536)
        os.close(self._ours)

    def hang_up(self) -> None:
        """Close the terminal."""
        self._hung_up = True
        self._reading.join()

    @property
    def text(self) -> str:
        return ESCAPES.sub("", self.seen.decode(errors="replace"))

    @property
    def lines(self) -> list[str]:
        """What was drawn or written, but for the warning that protection is off."""
        return [line for line in re.split(r"[\r\n]+", self.text) if line and "SSRF protection" not in line]

    def send(self, number: signal.Signals) -> None:
        """Ctrl-C is pressed at the terminal, so that it goes to the whole group."""
        if number == signal.SIGINT:
            os.write(self._ours, b"\x03")
        else:
            self.process.send_signal(number)

    def wait_for(self, condition: Callable[[], bool]) -> None:
        wait_for(self.process, condition)

    def wait_until_held(self, world: World) -> None:
        """Until the command waits for a page, or sleeps in the read of a pipe.

        A signal that arrives just before that read would not interrupt it.
        """
        self.wait_for(world.is_held)
        self.wait_for(lambda: Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "S")

    def end(self) -> int:
        code = self.process.wait(40)
        self._reading.join(10)
        return code


def wait_for(process: subprocess.Popen[bytes], condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 40
    while not condition():
        assert process.poll() is None, process.returncode
        assert time.monotonic() < end
        time.sleep(0.01)


@contextmanager
def running(world: World, argv: Sequence[str], columns: int = 80, *, on_terminal: bool = False) -> Iterator[Running]:
    run = Running(world, argv, columns, on_terminal=on_terminal)
    try:
        yield run
    finally:
        run.process.kill()
        run.process.wait()
