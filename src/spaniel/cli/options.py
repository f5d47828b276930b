"""What the commands' parsers share."""

from __future__ import annotations

import argparse
import os


def new_parser(prog: str, description: str, epilog: str = "") -> argparse.ArgumentParser:
    """A parser that knows the terminal's width; argparse would load shutil, and every archive format, to ask."""
    try:
        width = os.get_terminal_size().columns - 2
    except OSError:
        width = 98
    return argparse.ArgumentParser(
        prog=prog,
        description=description,
        epilog=epilog,
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=width),
    )


def add_log_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument("-v", "--verbose", action="count", default=0, help="log more, on standard error (-vv: more)")
    group.add_argument("-q", "--quiet", action="store_true", help="log errors only")


def add_config_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="F", help="the settings file ($SPANIEL_CONFIG, ./spaniel.toml, the user's)")


def configure_logs(args: argparse.Namespace) -> None:
    from spaniel.app.logs import configure

    configure(args.verbose, args.quiet)
