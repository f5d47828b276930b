"""Python programs as real processes without the cold start: `Popen` and `run` as those of `subprocess`.

A process that has imported Spaniel and runs nothing else, one for each process of pytest, forks them. A program is a
child of the test's own process, with its own pid, streams, environment, working folder, session, signals and exit code.
`[sys.executable, "-m", module, …]` and `[sys.executable, "-c", code, …]` are forked; anything else, and what an
interpreter must see at its start (`PYTHON…` variables, the locale), is a fresh process. Tests of the start itself, of
what is imported and of memory use `subprocess`.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import io
import marshal
import os
import pkgutil
import platform
import runpy
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

DEVNULL, PIPE, STDOUT = subprocess.DEVNULL, subprocess.PIPE, subprocess.STDOUT

ROOT = Path(__file__).resolve().parents[1]
LAUNCHER = Path(__file__).with_name("launcher.py")
SPANIEL = [sys.executable, "-m", "spaniel"]
PACKAGES = ("app", "batch", "cli", "health", "pipeline", "registry", "testing")  # what most commands import
AT_THE_START = ("PYTHON", "LANG", "LC_")  # what the names of such variables begin with
CLONE = {"x86_64": 56, "aarch64": 220}.get(platform.machine()) if sys.platform == "linux" else None
CLONE_PARENT = 0x8000  # the new process is a child of the caller's parent
SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
SIZE = struct.Struct("!Q")
STREAMS: Sequence[Any] = (sys.__stdin__, sys.__stdout__, sys.__stderr__)  # of the process that forks


class _Server(NamedTuple):
    environment: dict[str, str]  # as far as it was read at the start
    socket: socket.socket


_lock = threading.Lock()  # one program is started at a time
_servers: dict[int, _Server] = {}  # by the process that started it: a fork of pytest has none


class Program(NamedTuple):
    """What the process that forks is sent, with descriptors for standard input, output and error."""

    form: str  # -m or -c
    what: str
    arguments: list[str]
    folder: str
    environment: dict[str, str]
    ignored: Sequence[int]  # signals
    blocked: Sequence[int]
    new_session: bool
    process_group: int
    terminal: int | None
    closed: Sequence[int]


class Popen(subprocess.Popen[Any]):
    """`terminal`: the standard stream, 0 to 2, that is the controlling terminal of a session of its own.

    `closed` are standard streams that it does not have; `ignored` are signals that it ignores, as if by `nohup`.
    """

    def __init__(
        self,
        args: Sequence[str],
        *more: Any,
        terminal: int | None = None,
        closed: Sequence[int] = (),
        ignored: Sequence[int] = (),
        **options: Any,
    ) -> None:
        self._terminal, self._closed, self._ignored = terminal, closed, ignored
        if terminal is not None:
            options["start_new_session"] = True
        super().__init__(args, *more, **options)

    def _execute_child(  # noqa: PLR0917  as it is called
        self, args: Any, executable: Any, preexec_fn: Any, close_fds: bool, pass_fds: Any, cwd: Any, env: Any,
        startupinfo: Any, creationflags: int, shell: bool,
        p2cread: int, p2cwrite: int, c2pread: int, c2pwrite: int, errread: int, errwrite: int,
        restore_signals: bool, gid: Any, gids: Any, uid: Any, umask: int, start_new_session: bool, process_group: int,
    ) -> None:  # fmt: skip
        special = executable or preexec_fn or pass_fds or shell or not close_fds or not restore_signals
        special = special or gid is not None or gids is not None or uid is not None or umask >= 0
        special = special or not os.path.isdir(cwd or ".")
        environment = dict(os.environ if env is None else env)
        streams = (p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)
        given = [stream if stream != -1 else number for number, stream in enumerate((p2cread, c2pwrite, errwrite))]
        if not special and _can_fork(args, environment):
            words = [os.fspath(word) for word in args]
            program = Program(
                words[1], words[2], words[3:], os.path.abspath(cwd or "."), environment,
                [int(n) for n in SIGNALS if n in self._ignored or signal.getsignal(n) is signal.SIG_IGN],
                [int(n) for n in signal.pthread_sigmask(signal.SIG_BLOCK, ())],
                start_new_session, process_group, self._terminal, list(self._closed),
            )  # fmt: skip
            if pid := _forked(program, given):
                self.pid, self._child_created = pid, True
                self._close_pipe_fds(*streams)  # type: ignore[attr-defined]
                return
        if self._terminal is not None or self._closed or self._ignored:
            preexec_fn = self._prepare_fresh
        super()._execute_child(  # type: ignore[misc]
            args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo, creationflags, shell,
            *streams, restore_signals, gid, gids, uid, umask, start_new_session, process_group,
        )  # fmt: skip

    def _prepare_fresh(self) -> None:
        """In a fresh process, before its program."""
        if self._terminal is not None:
            _take_terminal(self._terminal)
        for number in self._ignored:
            signal.signal(number, signal.SIG_IGN)
        for stream in self._closed:
            os.close(stream)


def run(
    args: Sequence[str],
    *,
    input: str | bytes | None = None,  # noqa: A002  as `subprocess.run` calls it
    capture_output: bool = False,
    timeout: float | None = None,
    check: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """As `subprocess.run`."""
    if input is not None:
        options["stdin"] = PIPE
    if capture_output:
        options["stdout"] = options["stderr"] = PIPE
    with Popen(args, **options) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


def spaniel(*args: str, stdin: bytes = b"", cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """A command, run to its end."""
    done = run([*SPANIEL, *args], input=stdin, capture_output=True, timeout=60, cwd=cwd, env={**os.environ, **env})
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


@contextmanager
def forked_in_asyncio() -> Iterator[None]:
    """Programs that asyncio starts, also for a library, are forked too."""
    import asyncio.unix_events as where

    before, where.subprocess = where.subprocess, sys.modules[__name__]  # type: ignore[attr-defined]
    try:
        yield
    finally:
        where.subprocess = before  # type: ignore[attr-defined]


@contextmanager
def launcher(folder: Path) -> Iterator[Path]:
    """A folder with a `spaniel` for shells, whose commands are forked. It has no signals and no terminal of its own."""
    command, where = folder / "bin" / "spaniel", folder / "socket"
    command.parent.mkdir()
    command.write_text(f"#!/bin/sh\nexec '{sys.executable}' -IS '{LAUNCHER}' '{where}' \"$@\"\n")
    command.chmod(0o755)
    code = f"from tests.programs import serve_launchers; serve_launchers({str(where)!r})"
    with Popen([sys.executable, "-c", code], cwd=ROOT, stdout=PIPE) as server:
        assert server.stdout
        server.stdout.readline()
        try:
            yield command.parent
        finally:
            server.kill()


def _can_fork(args: Any, environment: dict[str, str]) -> bool:
    words = [] if isinstance(args, str | bytes | os.PathLike) else list(args)
    return (
        bool(CLONE)
        and len(words) > 2
        and words[0] == sys.executable
        and words[1] in ("-m", "-c")
        and read_at_the_start(environment) == _running_server().environment
    )


def read_at_the_start(environment: Mapping[str, str]) -> dict[str, str]:
    """Of these variables, those that an interpreter reads once."""
    return {name: value for name, value in environment.items() if name.startswith(AT_THE_START)}


def _forked(program: Program, streams: list[int]) -> int:
    """Have the program started; returns its pid, or 0 where the system has no such fork."""
    data, ours = marshal.dumps([*program]), _running_server().socket
    with _lock:
        socket.send_fds(ours, [SIZE.pack(len(data))], streams)
        ours.sendall(data)
        pid = SIZE.unpack(_received(ours, SIZE.size))[0]
    return int(pid)


def _running_server() -> _Server:
    with _lock:
        if os.getpid() not in _servers:
            _servers[os.getpid()] = _start_server()
        return _servers[os.getpid()]


def _start_server() -> _Server:
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, "-c", "from tests.programs import serve; serve()", str(theirs.fileno())]
        process = subprocess.Popen(command, cwd=ROOT, pass_fds=[theirs.fileno()], stdin=DEVNULL)

    def end() -> None:
        if os.getpid() == parent:
            ours.close()
            process.wait()

    parent = os.getpid()
    atexit.register(end)
    return _Server(read_at_the_start(os.environ), ours)


def _received(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size and (piece := connection.recv(size - len(data))):
        data += piece
    if len(data) < size:
        raise EOFError
    return bytes(data)


def serve() -> None:
    """The process that forks: imports, then starts what it is sent, until the other end is closed."""
    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is for pytest
    for package in PACKAGES:
        _import_all(f"spaniel.{package}")
    gc.collect()
    gc.freeze()
    _serve(socket.socket(fileno=int(sys.argv[1])))


def _serve(connection: socket.socket) -> None:
    while True:
        data, streams, _, _ = socket.recv_fds(connection, SIZE.size, 3)
        if not data:
            return
        program = Program(*marshal.loads(_received(connection, SIZE.unpack(data)[0])))  # noqa: S302  our own
        if _command(program) == "mcp":
            _import_all("spaniel.mcp")
        assert len(os.listdir("/proc/self/task")) == 1, "a process of several threads must not be forked"
        pid = _clone()
        if pid == 0:
            _prepare(program, streams)
            if _command(program) == "batch":
                _fork_workers()
            _run(program)
            return
        connection.sendall(SIZE.pack(max(pid, 0)))
        for stream in streams:
            os.close(stream)


def serve_launchers(where: str) -> None:
    """For each `tests/launcher.py` a process that starts its program, waits for it, and sends its status."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(where)
    listening.listen()
    print("listening", flush=True)
    while True:
        connection = listening.accept()[0]
        if not os.fork():
            break
        connection.close()
        with suppress(ChildProcessError):  # all have been waited for
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    data, streams, _, _ = socket.recv_fds(connection, SIZE.size, 3)
    program = Program(*marshal.loads(_received(connection, SIZE.unpack(data)[0])))  # noqa: S302  our own
    if read_at_the_start(program.environment) != read_at_the_start(os.environ):
        os._exit(0)  # it starts a fresh one
    if pid := os.fork():
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        connection.sendall(str(status).encode())
        os._exit(0)
    _prepare(program, streams)
    _run(program)


def _command(program: Program) -> str:
    ours = program.form == "-m" and program.what == "spaniel"
    return program.arguments[0] if ours and program.arguments else ""


def _take_terminal(stream: int) -> None:
    import fcntl
    import termios

    fcntl.ioctl(stream, termios.TIOCSCTTY, 0)


def _above_streams(end: socket.socket) -> socket.socket:
    """The same socket, but not in the place of a standard stream that is closed."""
    import fcntl

    with end:
        return socket.socket(fileno=fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 3))


def _fork_workers() -> None:
    """Have the workers of this process forked too: by a child of it, so that they are its own."""
    from spaniel.batch import launching

    ours, theirs = map(_above_streams, socket.socketpair())
    if os.fork():
        theirs.close()
        _servers[os.getpid()] = _Server(read_at_the_start(os.environ), ours)
        setattr(launching, "subprocess", sys.modules[__name__])  # noqa: B010
        return
    ours.close()
    os.setsid()  # what is sent to the group of the program is not for this process
    for number in range(3):
        os.dup2(os.open(os.devnull, os.O_RDWR), number)
    _serve(theirs)
    os._exit(0)


@cache
def _import_all(package: str) -> None:
    found = importlib.import_module(package)
    for module in pkgutil.walk_packages(found.__path__, f"{package}."):
        if "ray" not in module.name and not module.name.endswith("__main__"):
            with suppress(Exception):  # the program that needs it fails by itself
                importlib.import_module(module.name)


def _clone() -> int:
    """Fork; but that the parent of the new process is that of this one, which can wait for it."""
    python = ctypes.pythonapi
    python.PyOS_BeforeFork()
    pid: int = ctypes.PyDLL(None).syscall(CLONE, CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    return pid


def _stream(number: int, like: io.TextIOWrapper) -> io.TextIOWrapper | None:
    """A standard stream as an interpreter opens it; none where it is closed."""
    at_once = like.write_through  # PYTHONUNBUFFERED
    try:
        binary: Any = open(number, "wb" if number else "rb", 0 if at_once and number else -1, closefd=False)  # noqa: SIM115
    except OSError:
        return None
    getattr(binary, "raw", binary).name = like.name
    lines = not at_once and (number == 2 or binary.isatty())
    opened = io.TextIOWrapper(
        binary, like.encoding, like.errors, newline="\n", line_buffering=lines, write_through=at_once
    )
    opened.mode = "w" if number else "r"  # type: ignore[misc]
    return opened


def _prepare(program: Program, streams: Sequence[int]) -> None:
    """In the new process: make it what a fresh interpreter is when it begins to run a program."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    if program.new_session:
        os.setsid()
    elif program.process_group >= 0:
        os.setpgid(0, program.process_group)
    if program.terminal is not None:
        _take_terminal(program.terminal)
    for number in program.closed:
        os.close(number)
    os.chdir(program.folder)
    os.environ.clear()
    os.environ.update(program.environment)
    time.tzset()
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        opened = _stream(number, STREAMS[number])
        setattr(sys, name, opened)
        setattr(sys, f"__{name}__", opened)
    for number in SIGNALS:
        usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, signal.SIG_IGN if number in program.ignored else usual)
    signal.pthread_sigmask(signal.SIG_SETMASK, program.blocked)
    sys.argv = [program.form, *program.arguments]
    sys.path[0] = program.folder if program.form == "-m" else ""
    sys.modules["__main__"] = types.ModuleType("__main__")


def _run(program: Program) -> None:
    """Run it, and end as an interpreter does, but for freeing all modules, which takes longer than most commands."""
    try:
        if program.form == "-m":
            runpy._run_module_as_main(program.what)  # type: ignore[attr-defined]
        else:
            exec(compile(program.what, "<string>", "exec"), vars(sys.modules["__main__"]))  # noqa: S102
        code: object = 0
    except SystemExit as end:
        code = end.code or 0
    if not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, ValueError):  # there is none, or it is closed
            pass
        except OSError:
            code = 120
    os._exit(code & 0xFF)
