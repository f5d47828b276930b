"""The entry point: imports only the command that was named, and turns every failure into a message and an exit code."""

from __future__ import annotations

import sys
from errno import EIO, ENOSPC, EPIPE

from spaniel.cli.long_run import end_on_signals, interrupt_on_signals, signal_code, stopped_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn, TextIO

    from spaniel.cli.options import Parser, Row
    from spaniel.errors import SpanielError

# A command's module is cli/<command>.py with `parser()` and `main(args) -> exit code`.
COMMANDS = {
    "fetch": "Fetch pages as Markdown or JSON",
    "batch": "Fetch many pages politely, and resume if stopped",
    "extract": "Convert HTML, PDF and other files to Markdown",
    "check": "Check links: which are ok, moved, blocked, failing or dead",
    "canon": "Print the canonical form of URLs",
    "chunk": "Split Markdown into token-counted chunks",
    "mcp": "Serve the web_fetch tool to an AI application (MCP)",
    "serve": "Serve pages over HTTP, also as Firecrawl or Jina Reader do",
    "db": "Manage a database of links in YAML files",
    "may-i": "Check whether robots.txt allows a URL",
    "config": "Show the settings, or write a settings file",
    "cache": "Show, clear or verify the page cache",
    "queue": "Show and retry pages that could not be fetched",
    "hosts": "Show or forget what is remembered about hosts",
    "doctor": "Check whether this machine has what Spaniel needs",
    "completion": "Print a completion script for your shell",
    "demo": "Take a short tour with built-in examples",
}

STDERR = 2


def run(argv: Sequence[str] | None = None) -> NoReturn:
    """The entry point: ends the process, never with a traceback."""
    try:
        end_on_signals()
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
        top().parse_args(argv)
        top().print_help()
        return 0
    name, rest = argv[0], argv[1:]
    if name not in COMMANDS:
        from difflib import get_close_matches

        from spaniel.cli.options import bad_argument

        close = get_close_matches(name, COMMANDS, 1)
        suggestion = f"; did you mean '{close[0]}'?" if close else ""
        raise bad_argument(name, f"unknown command{suggestion}", "spaniel")
    from importlib import import_module

    command = import_module(f"spaniel.cli.{name.replace('-', '_')}")
    args = command.parser().parse_args(rest)
    if not getattr(command, "HANDLES_SIGNALS", False):
        interrupt_on_signals()
    code: int = command.main(args)
    return code


def top() -> Parser:
    from spaniel import __version__
    from spaniel.cli.options import Parser, laid_out

    version: Row = ["--version"], {"action": "version", "version": f"spaniel {__version__}", "help": "Show the version"}
    parser = Parser(
        "spaniel",
        "Fetch web pages as clean Markdown, check links, canonicalize URLs.",
        {"Options": [version]},
        examples=[
            ("spaniel fetch https://example.com/", "A page as Markdown"),
            ("spaniel check README.md docs", "The links of documents"),
            ("spaniel mcp", "Tools for AI applications"),
        ],
        notes=f"Commands:\n{laid_out(list(COMMANDS.items()), '  ')}\n"
        "'spaniel COMMAND --help' shows the options and examples of a command.",
    )
    parser.usage = "spaniel [OPTIONS] COMMAND"
    return parser


def report(error: SpanielError, where: str = "", *, hint: bool = True) -> None:
    """Print an error on standard error: code, message, hint; for a line of the input, with its URL."""
    is_listed = where.startswith(("line ", "entry ", "row ", "bookmark ", "["))
    text = str(error) if is_listed else f"{error.code}: {error.message}"
    sys.stderr.write(f"spaniel: {where}{text}\n")
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
    """Write UTF-8, whatever the locale; a lone surrogate as its escape.

    Commands that stream flush. With `PYTHONUNBUFFERED`, which many containers set, each line would be a system call.
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
    """Standard error that ignores a closed terminal or pipe: messages may be lost, the work and its output must not."""
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
