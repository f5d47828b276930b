"""`spaniel config`: what the settings are and where they came from; a file to start from."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spaniel.cli.options import add_config_option, new_parser
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    import argparse


def parser() -> argparse.ArgumentParser:
    p = new_parser("spaniel config", "Show the settings, or write a commented file to start from.")
    commands = p.add_subparsers(dest="action", required=True, metavar="show|init")
    show = commands.add_parser("show", help="every value, and where it came from")
    show.add_argument("--json", action="store_true", help="a JSON object a line")
    add_config_option(show)
    init = commands.add_parser("init", help="write a file with every key, commented out")
    init.add_argument(
        "path", nargs="?", default="spaniel.toml", metavar="FILE", help="where to (./spaniel.toml); '-' prints it"
    )
    init.add_argument("--force", action="store_true", help="write over a file that is there")
    return p


def main(args: argparse.Namespace) -> int:
    return _show(args) if args.action == "show" else _init(args)


def _show(args: argparse.Namespace) -> int:
    import json

    from spaniel.app.settings import describe, load

    settings = load(args.config)
    if args.json:
        for row in describe(settings):
            print(json.dumps(row))
        return 0
    sys.stderr.write(f"settings file: {settings.file or 'none; defaults only'}\n")
    for row in describe(settings):
        print(f"{row['key']} = {row['value']}  # {row['source']}")
    return 0


def _init(args: argparse.Namespace) -> int:
    from spaniel.app.keys import sample

    if args.path == "-":
        print(sample(), end="")
        return 0
    try:
        with open(args.path, "w" if args.force else "x", encoding="utf-8") as file:
            file.write(sample())
    except FileExistsError:
        raise SpanielError(
            Code.BAD_ARGS, field=args.path, reason="it is there already; --force writes over it"
        ) from None
    except OSError as error:
        raise SpanielError(Code.BAD_ARGS, field=args.path, reason=f"cannot be written: {error.strerror}") from None
    print(f"wrote {args.path}")
    return 0
