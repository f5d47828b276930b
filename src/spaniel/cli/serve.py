"""`spaniel serve`: the HTTP service."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from spaniel.cli.options import add_log_options, add_settings_options, configure_logs, new_parser, settings_from

if TYPE_CHECKING:
    import argparse

HANDLES_SIGNALS = True
MOST_WORKERS = 64


def parser() -> argparse.ArgumentParser:
    from spaniel.defaults import SERVE_PORT

    p = new_parser(
        "spaniel serve",
        "Serve pages over HTTP: Spaniel's own API, MCP at /mcp, and the APIs of Firecrawl, Jina Reader, Tavily and\n"
        "Open WebUI's loader at the root: change their base URL.",
        "Without --host only this machine can reach it. With another address it needs a token: set\n"
        "SPANIEL_SERVE_TOKEN, or name a file in spaniel.serve.tokens_file.\n"
        "Exit code: 0 stopped by SIGTERM; 130 stopped by Ctrl-C; 2 wrong options, or the port is taken.",
        examples=[
            ("spaniel serve", "on this machine"),
            ("curl localhost:8766/https://example.com/", "a page as Markdown"),
            ("SPANIEL_SERVE_TOKEN=… spaniel serve --host 0.0.0.0", "for others, with a token"),
        ],
    )
    p.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (default: 127.0.0.1)")
    p.add_argument(
        "--port", type=int, default=SERVE_PORT.default, metavar="N", help=f"the port (default: {SERVE_PORT.default})"
    )
    p.add_argument("--workers", type=int, default=1, metavar="N", help="how many processes serve (default: 1)")
    p.add_argument(
        "--writable", action="store_true", help="let callers add links to the link database (default: read only)"
    )
    p.add_argument("--listen-fd", type=int, metavar="N", help="serve on this open socket (used by --workers)")
    add_settings_options(p)
    add_log_options(p)
    return p


def main(args: argparse.Namespace) -> int:
    import socket

    from spaniel.errors import Code, SpanielError, install_command

    configure_logs(args)
    try:
        import prometheus_client  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        reason = f"what the service needs is not installed; install it with: {install_command('serve')}"
        raise SpanielError(Code.BAD_ARGS, field="spaniel serve", reason=reason) from None
    from spaniel.api.app import build
    from spaniel.api.server import listen, serve, serve_workers
    from spaniel.app.serving import TOKEN, serve_settings, tokens

    if not 1 <= args.workers <= MOST_WORKERS:
        raise SpanielError(Code.BAD_ARGS, field="--workers", reason=f"must be 1 to {MOST_WORKERS}")
    settings = settings_from(args)
    own = serve_settings(settings, args.host, args.port, writable=args.writable)
    if own.is_public and not tokens(settings, own.limits):
        inside = (
            " In a container, publish the port on the host's loopback: -p 127.0.0.1:8766:8766." if _container() else ""
        )
        reason = (
            f"{args.host} can be reached by other machines, so a token is required; set {TOKEN}, or"
            f" spaniel.serve.tokens_file.{inside}"
        )
        raise SpanielError(Code.BAD_ARGS, field="--host", reason=reason)
    if args.listen_fd is not None:
        sock = socket.socket(fileno=args.listen_fd)
        return serve(build(settings, own, workers=2), sock)
    sock = listen(args.host, args.port)

    def started() -> None:
        if not args.quiet:
            host = f"[{args.host}]" if ":" in args.host else args.host
            sys.stderr.write(f"spaniel: serving on http://{host}:{sock.getsockname()[1]}/ (Ctrl-C stops it)\n")
            sys.stderr.flush()

    if args.workers == 1:
        return serve(build(settings, own), sock, started)
    return serve_workers(["-m", "spaniel", *_arguments(sys.argv[1:])], sock, args.workers, started)


def _arguments(given: list[str]) -> list[str]:
    """The same options for each worker, which needs no socket of its own."""
    kept: list[str] = []
    skip = False
    for each in given:
        if skip:
            skip = False
        elif each == "--workers":
            skip = True
        elif not each.startswith("--workers="):
            kept.append(each)
    return kept


def _container() -> bool:
    return os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv")
