"""Options that commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def add_log_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "-v", "--verbose", action="count", default=0, help="log more, on standard error (-vv: still more)"
    )
    group.add_argument("-q", "--quiet", action="store_true", help="log errors only")


def configure_logs(args: argparse.Namespace) -> None:
    from spaniel.app.logs import configure

    configure(args.verbose, args.quiet)
