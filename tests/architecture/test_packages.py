"""What the page about architecture claims: which packages are pure, open sockets, read the environment, run programs.

Each rule is shown a module that breaks it, and then the package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.architecture.source import Module, Use, calls, forget, imports, mentions, module, modules, within

PURE = {"url", "chunking", "reading", "errors"}
OUTSIDE = frozenset(
    "socket ssl asyncio selectors select subprocess multiprocessing threading concurrent signal aiohttp anyio http "
    "urllib.request urllib.error urllib.robotparser ftplib smtplib imaplib poplib xmlrpc socketserver webbrowser "
    "sqlite3 dbm shelve mmap fcntl tempfile shutil ctypes io time random secrets uuid logging "
    "spaniel.files spaniel.clock".split()
)  # what comes from there is not the same twice, or changes something
FILE_READERS = frozenset("os.PathLike os.fspath os.listdir os.path os.stat os".split())  # of shipped and named files
WRITERS = frozenset(
    "write_text write_bytes unlink rmdir mkdir makedirs touch rename symlink_to hardlink_to chmod rmtree".split()
)
CONSOLE = frozenset("print input breakpoint exec eval __import__".split())

NETWORK = frozenset(
    "socket _socket ssl aiohttp http urllib.request ftplib smtplib imaplib poplib telnetlib xmlrpc socketserver "
    "selectors select httpx httpx2 httpcore httpcore2 requests urllib3 websockets uvicorn starlette".split()
)
DIALLERS = frozenset(
    "open_connection open_unix_connection create_connection create_unix_connection create_datagram_endpoint "
    "connect_tcp connect_unix getaddrinfo getnameinfo sock_connect sock_sendto".split()
)
LISTENERS = frozenset(
    "start_server start_unix_server create_server create_unix_server create_tcp_listener create_unix_listener".split()
)
SOCKETS_BY_EXCEPTION = {
    "spaniel.browser.launch": {"socket"},  # a pair of pipes to Chromium, which lead nowhere else
    "spaniel.demo.server": {"start_server"},  # serves the demonstration, on loopback
    "spaniel.testing.site": {"start_server"},  # serves a test's pages, on loopback
    "spaniel.api.server": {"socket", "uvicorn", "getaddrinfo"},  # listens; nothing is sent from here but answers
    "spaniel.cli.serve": {"socket", "uvicorn", "starlette"},  # the socket that a worker gets; are they installed?
}

ENVIRONMENT = frozenset("environ environb getenv getenvb putenv unsetenv expandvars expanduser home".split())
ENVIRONMENT_BY_EXCEPTION = {
    "spaniel.browser.home": {"os.environ"},  # hands a few variables on to Chromium; none changes what we do
    "spaniel.cli.long_run": {"os.environ"},  # NO_COLOR: how a terminal is written to
    "spaniel.cli.serve": {"os.environ"},  # the socket that its supervisor passes to a worker
    "spaniel.api.server": {"os.environ"},  # hands its own on to workers
    "spaniel.api.metrics": {"os.environ"},  # the folder in which workers add up, as prometheus-client reads it
}

PROGRAMS = frozenset("subprocess pty multiprocessing".split())
RUNNERS = frozenset(
    "system popen fork forkpty execv execve execvp spawnv spawnve posix_spawn create_subprocess_exec "
    "create_subprocess_shell subprocess_exec subprocess_shell open_process run_process".split()
)
PROGRAMS_BY_EXCEPTION = {  # Chromium, and whatever empties its folder in its name
    "spaniel.browser.launch",
    "spaniel.browser.find",
    "spaniel.browser.home",
    "spaniel.browser.certificates",  # itself, to have NSS, which is C, write whom Chromium trusts
    "spaniel.batch.launching",  # itself, more than once, to fetch with every core
    "spaniel.cli.extract",  # itself, more than once, for `extract -j`
    "spaniel.api.jobs",  # itself, for each job
    "spaniel.api.server",  # itself, for each worker
    "spaniel.pipeline.readers",  # itself, to read a long page where the deadline can end it
}

Rule = Callable[[Module], Iterator[Use]]


@pytest.fixture(scope="module", autouse=True)
def _trees_are_dropped_at_the_end() -> Iterator[None]:
    yield
    forget()


def impure(found: Module) -> Iterator[Use]:
    """A pure package reads only files that it ships or is given; it does not write, connect, wait or run programs."""
    if found.package not in PURE:
        return
    yield from (use for use in imports(found) if within(use.name, OUTSIDE))
    for use in mentions(found):
        _, _, last = use.name.rpartition(".")
        foreign = use.name.startswith("os.") and not within(use.name, FILE_READERS - {"os"})
        if foreign or last in WRITERS or use.name in CONSOLE:
            yield use
    for name, call in calls(found):
        modes = [*call.args[1:2], *(word.value for word in call.keywords if word.arg == "mode")]
        if name == "open" and not all(getattr(mode, "value", "") in ("r", "rb") for mode in modes):
            yield Use("open for writing", call.lineno)


def opens_sockets(found: Module) -> Iterator[Use]:
    """Everything that leaves, leaves by one door: `net`."""
    if found.package == "net":
        return
    allowed = SOCKETS_BY_EXCEPTION.get(found.name, set()) | ({"starlette"} if found.package == "api" else set())
    yield from (u for u in imports(found) if within(u.name, NETWORK) and u.name.split(".")[0] not in allowed)
    for use in mentions(found):
        last = use.name.rpartition(".")[2]
        if last in (DIALLERS | LISTENERS) - allowed and last != use.name:
            yield use


def reads_environment(found: Module) -> Iterator[Use]:
    """Nothing but the wiring depends on who runs it, and where."""
    if found.package == "app":
        return
    allowed = ENVIRONMENT_BY_EXCEPTION.get(found.name, set())
    for use in (*imports(found), *mentions(found)):
        owner, _, last = use.name.rpartition(".")
        if (
            last in ENVIRONMENT
            and use.name not in allowed
            and owner in ("os", "os.path", "posix", "nt", "Path", "pathlib.Path")
        ):
            yield use


def runs_programs(found: Module) -> Iterator[Use]:
    """Only the browser's package runs a program: Chromium."""
    if found.name in PROGRAMS_BY_EXCEPTION:
        return
    yield from (use for use in imports(found) if within(use.name, PROGRAMS))
    for use in mentions(found):
        owner, _, last = use.name.rpartition(".")
        if last in RUNNERS and owner in ("os", "asyncio", "loop", "anyio"):
            yield use


RULES: tuple[Rule, ...] = (impure, opens_sockets, reads_environment, runs_programs)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_no_package_breaks_a_rule(rule: Rule) -> None:
    broken = [f"{found.name}:{use.line}: {use.name}" for found in modules() for use in rule(found)]
    assert not broken, f"{rule.__doc__}\n" + "\n".join(broken)


@pytest.mark.parametrize(
    ("rule", "name", "text"),
    [
        (impure, "spaniel.url.x", "import socket"),
        (impure, "spaniel.url.x", "def f():\n    from asyncio import sleep"),
        (impure, "spaniel.reading.x", "from urllib import request"),
        (impure, "spaniel.reading.x", "import urllib.request"),
        (impure, "spaniel.chunking.x", "import sqlite3"),
        (impure, "spaniel.errors", "import http.client"),
        (impure, "spaniel.url.x", "from spaniel.files import write_atomically"),
        (impure, "spaniel.url.x", "open('f', 'w')"),
        (impure, "spaniel.url.x", "open('f', mode='ab')"),
        (impure, "spaniel.url.x", "open('f', chosen)"),
        (impure, "spaniel.url.x", "Path('f').write_text('')"),
        (impure, "spaniel.url.x", "import os\nos.remove('f')"),
        (impure, "spaniel.reading.x", "print('here')"),
        (impure, "spaniel.reading.x", "import time"),
        (opens_sockets, "spaniel.robots.gate", "import aiohttp"),
        (opens_sockets, "spaniel.pipeline.fetch", "if TYPE_CHECKING:\n    import ssl"),
        (opens_sockets, "spaniel.app.client", "from socket import create_connection"),
        (opens_sockets, "spaniel.browser.tab", "asyncio.open_connection('h', 1)"),
        (opens_sockets, "spaniel.mcp.server", "loop.create_server(f)"),
        (opens_sockets, "spaniel.demo.server", "asyncio.open_connection('h', 1)"),
        (opens_sockets, "spaniel.cli.fetch", "import urllib.request"),
        (opens_sockets, "spaniel.cli.canon", "import ssl"),
        (reads_environment, "spaniel.net.proxy", "import os\nos.environ['HTTP_PROXY']"),
        (reads_environment, "spaniel.cache.folder", "from os import environ"),
        (reads_environment, "spaniel.robots.gate", "os.getenv('X')"),
        (reads_environment, "spaniel.cli.fetch", "os.path.expanduser('~')"),
        (reads_environment, "spaniel.cli.fetch", "from os.path import expandvars"),
        (reads_environment, "spaniel.browser.launch", "os.getenv('X')"),
        (reads_environment, "spaniel.net.pool", "Path.home()"),
        (runs_programs, "spaniel.net.pool", "import subprocess"),
        (runs_programs, "spaniel.app.client", "os.system('curl')"),
        (runs_programs, "spaniel.app.client", "asyncio.create_subprocess_exec('curl')"),
    ],
)
def test_each_rule_sees_who_breaks_it(rule: Rule, name: str, text: str) -> None:
    assert list(rule(module(name, text)))


@pytest.mark.parametrize(
    ("rule", "name", "text"),
    [
        (impure, "spaniel.url.x", "import os\nwith open(os.path.join('a', 'b'), 'rb') as file: file.read()"),
        (impure, "spaniel.url.x", "open('f')\nfrom urllib.parse import unquote"),
        (impure, "spaniel.reading.x", "out.open(element)"),
        (impure, "spaniel.net.x", "import socket"),
        (opens_sockets, "spaniel.net.x", "import socket, ssl, aiohttp"),
        (opens_sockets, "spaniel.demo.server", "asyncio.start_server(f, '127.0.0.1', 0)"),
        (opens_sockets, "spaniel.pipeline.fetch", "import asyncio\nhttp.get()"),
        (reads_environment, "spaniel.app.settings", "import os\nos.environ"),
        (reads_environment, "spaniel.cli.fetch", "environ['X']"),
        (runs_programs, "spaniel.browser.launch", "import subprocess"),
    ],
)
def test_a_rule_lets_alone_who_keeps_it(rule: Rule, name: str, text: str) -> None:
    assert not list(rule(module(name, text)))


@pytest.mark.parametrize(
    ("rule", "excepted"),
    [
        (opens_sockets, SOCKETS_BY_EXCEPTION),
        (reads_environment, ENVIRONMENT_BY_EXCEPTION),
        (runs_programs, PROGRAMS_BY_EXCEPTION),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_every_exception_is_still_needed(rule: Rule, excepted: dict[str, set[str]] | set[str]) -> None:
    """A module that no longer needs its exception loses it."""
    there = {found.name: found for found in modules()}
    idle = [name for name in excepted if not list(rule(there[name]._replace(name="spaniel.cli.other")))]
    assert not idle
