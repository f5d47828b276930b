"""`spaniel serve`: the HTTP service."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from spaniel.cli import options as opt
from spaniel.cli.long_run import say
from spaniel.defaults import SERVE_PORT, SERVE_WORKERS

if TYPE_CHECKING:
    import argparse

HANDLES_SIGNALS = True
LISTEN_FD = "SPANIEL_LISTEN_FD"  # the open socket that a worker serves on


def parser() -> opt.Parser:
    return opt.Parser(
        "spaniel serve",
        "Serve pages over HTTP: Spaniel's own API, MCP at /mcp, and the APIs of\n"
        "Firecrawl, Jina Reader, Tavily and Open WebUI's loader. Change their base URL.",
        {
            "Options": [opt.flag("--writable", "Let callers add links to the link database")],
            "Listening": [
                opt.value("--host", "ADDRESS", "Address to listen on", default="127.0.0.1"),
                opt.number("--port", "Port to listen on; 0 chooses a free one", of=SERVE_PORT),
                opt.number("--workers", "Number of processes", of=SERVE_WORKERS),
            ],
            **opt.shared_options(),
        },
        examples=[
            ("spaniel serve", "For this machine only"),
            ("spaniel serve --port 9000 --workers 2", "With two processes"),
            ("SPANIEL_SERVE_TOKEN=… spaniel serve --host 0.0.0.0", "For others, with a token"),
        ],
        notes="On an address that other machines can reach, the service needs a token: set\n"
        "SPANIEL_SERVE_TOKEN, or name a file in the setting spaniel.serve.tokens_file.\n\n"
        "Exit codes: 0 stopped by SIGTERM; 130 stopped by Ctrl-C; 2 invalid options, or\n"
        "the port is taken.",
    )


def main(args: argparse.Namespace) -> int:
    import socket

    from spaniel.errors import Code, SpanielError, install_command

    opt.configure_logs(args)
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

    settings = opt.settings_from(args)
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
    if inherited := os.environ.get(LISTEN_FD, ""):
        return serve(build(settings, own, workers=args.workers), socket.socket(fileno=int(inherited)))
    sock = listen(args.host, args.port)

    def started() -> None:
        if not args.quiet:
            host = f"[{args.host}]" if ":" in args.host else args.host
            say(f"serving on http://{host}:{sock.getsockname()[1]}/ (Ctrl-C stops it)")
            sys.stderr.flush()

    if args.workers == 1:
        return serve(build(settings, own), sock, started)
    command = ["-m", "spaniel", *sys.argv[1:]]
    return serve_workers(command, LISTEN_FD, sock, args.workers, started)


def _container() -> bool:
    return os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv")
