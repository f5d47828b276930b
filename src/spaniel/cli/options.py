"""What the commands' parsers share."""

from __future__ import annotations

import argparse
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spaniel.app.settings import Settings


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
    group.add_argument("-v", "--verbose", action="count", default=0, help="log more on standard error (-vv: even more)")
    group.add_argument(
        "-q", "--quiet", action="store_true", help="show errors only (and a warning if protection is off)"
    )


def add_config_option(parser: argparse.ArgumentParser) -> None:
    told = "a settings file; it rules over your own and the project's (or set SPANIEL_CONFIG)"
    parser.add_argument("--config", metavar="FILE", help=told)


def add_settings_options(parser: argparse.ArgumentParser) -> None:
    """`--config`, and a flag for each setting that has one; `settings_from` reads them."""
    from spaniel.app.keys import KEYS

    add_config_option(parser)
    for key in KEYS:
        if key.flag:
            kind, metavar = (int, "N") if isinstance(key.default, int) else (str, "TEXT")
            span = f", {key.range}" if key.range else ""
            told = f"{key.what[0].lower()}{key.what[1:]}{span} (default: from the settings)"
            parser.add_argument(key.flag, type=kind, metavar=metavar, help=told)


def settings_from(args: argparse.Namespace) -> Settings:
    """The settings for one run of a command: those of the files and the environment, and over them its flags."""
    from spaniel.app.keys import KEYS
    from spaniel.app.settings import load

    asked = {key.path: getattr(args, key.flag[2:].replace("-", "_"), None) for key in KEYS if key.flag}
    return load(args.config, flags={path: value for path, value in asked.items() if value is not None})


def configure_logs(args: argparse.Namespace) -> None:
    from spaniel.app.logs import configure

    configure(args.verbose, args.quiet)
