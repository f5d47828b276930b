"""Finds the command, imports only that one, and turns every failure into a line and an exit code."""

from __future__ import annotations

import sys
from errno import EIO, ENOSPC, EPIPE

from spaniel.cli.long_run import end_at_once, interrupt_on_signals, signal_code, stopped_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence
    from typing import Any, NoReturn, TextIO

    from spaniel.errors import SpanielError

# What each command does; its module is cli/<command>.py with `parser()` and `main(args) -> exit code`.
COMMANDS = {
    "fetch": "fetch pages as Markdown or JSON",
    "batch": "fetch very many pages, each once, and resume if stopped",
    "extract": "turn HTML files into Markdown",
    "canon": "print the canonical form of URLs, and explain each step",
    "check": "check links: which are ok, moved, blocked, failing or dead",
    "db": "keep a database of links in a folder of YAML files",
    "chunk": "cut Markdown into token-counted chunks",
    "mcp": "serve the web_fetch tool to an AI application (MCP)",
    "serve": "serve pages over HTTP, also as a drop-in for Firecrawl, Jina Reader, Tavily",
    "may-i": "check whether robots.txt allows a URL",
    "config": "show the settings, or write a settings file",
    "cache": "show the cache of pages, clear it, check it",
    "queue": "show pages that could not be fetched, and fetch them again",
    "hosts": "show what is remembered about hosts, and forget it",
    "doctor": "check whether this machine has what Spaniel needs",
    "completion": "print a script that completes commands in your shell",
    "demo": "a short tour with built-in examples",
}

STDERR = 2


def run(argv: Sequence[str] | None = None) -> NoReturn:
    """The entry point: ends the process, never with a traceback."""
    try:
        end_at_once()
        argv = sys.argv[1:] if argv is None else argv
        _prepare_output()
        code = main(argv)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = stopped_code()
    except SystemExit:
        raise
    except OSError as error:
        if error.filename is None and error.errno in (EPIPE, EIO):  # the reader of our output, or the terminal, is gone
            _close_quietly()
            code = signal_code()
        else:
            code = _explain_failure(error)
    except Exception as error:  # noqa: BLE001  the one place where a bug becomes `internal`
        code = _explain_failure(error)
    sys.exit(code)


def main(argv: Sequence[str]) -> int:
    if not argv or argv[0].startswith("-"):
        _parse(top(), argv)
        top().print_help()
        return 0
    name, rest = argv[0], argv[1:]
    if name not in COMMANDS:
        from difflib import get_close_matches

        close = get_close_matches(name, COMMANDS, 1)
        hint = f"did you mean '{close[0]}'?" if close else "see 'spaniel --help'"
        sys.stderr.write(f"spaniel: unknown command {name!r}; {hint}\n")
        return 2
    from importlib import import_module

    command = import_module(f"spaniel.cli.{name.replace('-', '_')}")
    args = _parse(command.parser(), rest)
    if not getattr(command, "HANDLES_SIGNALS", False):
        interrupt_on_signals()
    code: int = command.main(args)
    return code


def _parse(parser: ArgumentParser, argv: Sequence[str]) -> Namespace:
    """As `parse_args` does, but that what it does not know is shown without what could steer a terminal."""
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        from spaniel.errors import shown

        parser.error(f"unrecognized arguments: {shown(' '.join(unknown))}")
    return args


def top() -> ArgumentParser:
    from spaniel.cli.options import new_parser

    width = max(map(len, COMMANDS)) + 2
    parser = new_parser(
        "spaniel",
        "Fetch web pages as clean Markdown, check links, canonicalize URLs.",
        "commands:\n"
        + "".join(f"  {name:{width}}{what}\n" for name, what in COMMANDS.items())
        + "\n'spaniel COMMAND --help' shows options and examples of a command.",
        examples=[
            ("spaniel fetch https://example.com/", "a page as Markdown"),
            ("spaniel check README.md docs", "the links of documents"),
            ("spaniel mcp", "a tool for AI applications"),
        ],
    )
    parser.usage = "spaniel [--help] [--version] COMMAND …"
    from spaniel import __version__

    parser.add_argument("--version", action="version", version=f"spaniel {__version__}")
    return parser


def report(error: SpanielError, where: str = "", *, hint: bool = True) -> None:
    """Print one refusal on standard error: the code, the message, the hint. For a line of the input, with its URL."""
    told = (
        str(error)
        if where.startswith(("line ", "entry ", "row ", "bookmark ", "["))
        else f"{error.code}: {error.message}"
    )
    sys.stderr.write(f"spaniel: {where}{told}\n")
    if hint:
        sys.stderr.write("".join(f"  {line}".rstrip() + "\n" for line in error.hint.split("\n")))


def _explain_failure(error: Exception) -> int:
    from spaniel.errors import Code, SpanielError

    if isinstance(error, OSError) and error.filename is None and error.errno == ENOSPC:
        error = SpanielError(Code.BAD_ARGS, field="standard output", reason=f"cannot be written: {error.strerror}")
        _close_quietly()
    if not isinstance(error, SpanielError):
        error = SpanielError(Code.INTERNAL, error=f"{type(error).__name__}: {error}")
    report(error)
    return error.row.exit


def _prepare_output() -> None:
    """Text goes out as UTF-8, whatever the terminal's or the pipe's habit; a lone surrogate as its escape.

    Whoever streams flushes. `PYTHONUNBUFFERED`, which many containers set, would make each line a call of the system.
    """
    if sys.stderr is None:  # closed by the caller
        import os

        if (null := os.open(os.devnull, os.O_WRONLY)) != STDERR:  # so that no file of ours gets its descriptor
            os.dup2(null, STDERR)
        os.set_inheritable(STDERR, True)  # workers have one too
        sys.stderr = open(STDERR, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  open as long as the process
    elif sys.stderr is sys.__stderr__:
        sys.stderr = _lenient_stderr()
    if sys.stdout is None:
        from spaniel.errors import Code, SpanielError

        raise SpanielError(Code.BAD_ARGS, field="standard output", reason="is closed")
    if reconfigure := getattr(sys.stdout, "reconfigure", None):
        reconfigure(encoding="utf-8", errors="backslashreplace", write_through=False)


def _lenient_stderr() -> TextIO:
    """Messages may be lost if the terminal is gone or its reader has ended; the work and its output must not."""
    import io

    class Lenient(io.FileIO):
        def write(self, data: Any) -> int:
            try:
                return super().write(data)
            except OSError:
                return len(data)

    stream = sys.stderr
    binary = io.BufferedWriter(Lenient(stream.fileno(), "wb", closefd=False))
    return io.TextIOWrapper(binary, encoding=stream.encoding, errors=stream.errors, line_buffering=True)


def _close_quietly() -> None:
    """The reader of our output is gone; keep the interpreter from complaining about it at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
