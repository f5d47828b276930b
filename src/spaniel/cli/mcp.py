"""`spaniel mcp`: the tools for a model's host, over the Model Context Protocol."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spaniel.cli.files import standard_input
from spaniel.cli.options import add_log_options, add_settings_options, configure_logs, new_parser, settings_from

if TYPE_CHECKING:
    import argparse

HANDLES_SIGNALS = True  # a signal before serving starts ends the process at once
AT_A_TERMINAL = """\
This is a server for AI assistants and editors that speak MCP. It now waits for messages on standard input.
You need not start it yourself: put the command 'spaniel mcp' into your assistant's settings for MCP servers.
Press Ctrl-C to stop it.
"""


def parser() -> argparse.ArgumentParser:
    p = new_parser(
        "spaniel mcp",
        "Serve the tools web_fetch and web_fetch_more over MCP, on standard input and output.",
        "An assistant or an editor starts this: put the command into its settings for MCP servers.\n"
        "The log goes to standard error.",
        examples=[
            ("spaniel mcp", "serve until standard input ends"),
            ("spaniel mcp --profile reader", "also Markdown, PDF, JSON and feeds"),
            ("claude mcp add spaniel -- spaniel mcp", "add it to Claude Code"),
        ],
    )
    p.add_argument(
        "--schema",
        choices=("full", "plain"),
        default="full",
        help="how the tools are described: plain is for hosts that reject parts of JSON Schema, as Gemini does "
        "(default: full)",
    )
    p.add_argument(
        "--profile",
        metavar="FILE",
        help="how to fetch: web_fetch (the default), reader (also Markdown, PDF, JSON, feeds), or a TOML file",
    )
    add_settings_options(p)
    add_log_options(p)
    return p


def main(args: argparse.Namespace) -> int:
    from importlib.util import find_spec

    configure_logs(args)
    if find_spec("mcp") is None:
        from spaniel.errors import Code, SpanielError, install_command

        reason = f"the MCP SDK is not installed; install it with: {install_command('mcp')}"
        raise SpanielError(Code.BAD_ARGS, field="spaniel mcp", reason=reason)
    from spaniel.mcp.stdio import serve

    if standard_input().isatty():
        sys.stderr.write(AT_A_TERMINAL)
        sys.stderr.flush()
    return serve(settings_from(args), args.profile, plain_schemas=args.schema == "plain")
