"""`spaniel mcp`: the `web_fetch` tool for a model's host, over the Model Context Protocol."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spaniel.cli.files import standard_input
from spaniel.cli.options import add_log_options, add_settings_options, configure_logs, new_parser, settings_from

if TYPE_CHECKING:
    import argparse


def parser() -> argparse.ArgumentParser:
    p = new_parser(
        "spaniel mcp",
        "Serve the web_fetch tool over MCP on standard input and output, to a host such as an editor.",
        "The host starts this command. Logs go to standard error.",
    )
    add_settings_options(p)
    add_log_options(p)
    return p


def main(args: argparse.Namespace) -> int:
    from spaniel.mcp.stdio import serve

    configure_logs(args)
    if standard_input().isatty():
        sys.stderr.write("spaniel mcp speaks to a host (an AI application), which starts it. Ctrl-C ends it.\n")
    serve(settings_from(args))
    return 0
