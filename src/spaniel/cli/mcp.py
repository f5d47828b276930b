"""`spaniel mcp`: the tools for AI applications, over the Model Context Protocol."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spaniel.cli import options as opt
from spaniel.cli.inputs import standard_input

if TYPE_CHECKING:
    import argparse

HANDLES_SIGNALS = True  # a signal before serving starts ends the process at once
AT_A_TERMINAL = """\
This is a server for AI assistants and editors that speak MCP. It now waits for messages on standard input.
You need not start it yourself: put the command 'spaniel mcp' into your assistant's settings for MCP servers.
Press Ctrl-C to stop it.
"""


def parser() -> opt.Parser:
    return opt.Parser(
        "spaniel mcp",
        "Serve web_fetch and web_fetch_more over MCP, on standard input and output.",
        {
            "Options": [
                opt.value(
                    "--profile", "FILE", "How to fetch: web_fetch (the default), reader (also Markdown, PDF, JSON, "
                    "feeds), or a TOML file",
                ),
                opt.value(
                    "--schema", "FORM", "full, or plain for hosts that reject parts of JSON Schema, such as Gemini",
                    choices=("full", "plain"), default="full",
                ),
            ],
            **opt.shared_options(),
        },
        examples=[
            ("spaniel mcp", "Serve until standard input ends"),
            ("spaniel mcp --profile reader", "Also Markdown, PDF, JSON and feeds"),
            ("claude mcp add spaniel -- spaniel mcp", "Add it to Claude Code"),
        ],
        notes="Assistants and editors start this command: put it into their settings for MCP\n"
        "servers. The log goes to standard error.",
    )  # fmt: skip


def main(args: argparse.Namespace) -> int:
    from importlib.util import find_spec

    opt.configure_logs(args)
    if find_spec("mcp") is None:
        from spaniel.errors import Code, SpanielError, install_command

        reason = f"the MCP SDK is not installed; install it with: {install_command('mcp')}"
        raise SpanielError(Code.BAD_ARGS, field="spaniel mcp", reason=reason)
    from spaniel.mcp.stdio import serve

    if standard_input().isatty():
        sys.stderr.write(AT_A_TERMINAL)
        sys.stderr.flush()
    return serve(opt.settings_from(args), args.profile, plain_schemas=args.schema == "plain")
