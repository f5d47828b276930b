"""`spaniel config`: the settings and their sources; a file to start from."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from spaniel.cli.options import add_command, add_json, add_settings_options, new_parser, settings_from
from spaniel.errors import Code, SpanielError, shown

if TYPE_CHECKING:
    import argparse

    from spaniel.app.settings import Settings


def parser() -> argparse.ArgumentParser:
    p = new_parser(
        "spaniel config",
        "Show the settings, or write a settings file to start from.",
        examples=[
            ("spaniel config show", "every setting, and where it comes from"),
            ("spaniel config init --user", "write your own settings file"),
        ],
    )
    commands = p.add_subparsers(dest="action", required=True, metavar="show|init")
    show = add_command(
        commands,
        "show",
        "show every setting, its value, and where it comes from",
        [
            ("spaniel config show", "every setting"),
            ("spaniel config show --json --config mine.toml", "as JSON, with another settings file"),
        ],
    )
    add_json(show)
    add_settings_options(show)
    init = add_command(
        commands,
        "init",
        "write a file with every setting; uncomment a line to set it",
        [
            ("spaniel config init", "write spaniel.toml here"),
            ("spaniel config init --user", "write your own file, for all projects"),
            ("spaniel config init -", "print it"),
        ],
    )
    place = init.add_mutually_exclusive_group()
    place.add_argument(
        "path",
        nargs="?",
        default="spaniel.toml",
        metavar="FILE",
        help="the file to write (default: spaniel.toml here); '-' prints it",
    )
    place.add_argument("--user", action="store_true", help="write your own file, which may set everything")
    init.add_argument("--force", action="store_true", help="replace a file that is there already")
    add_json(init, "print the path of the file as JSON (with '-': its text)")
    return p


def main(args: argparse.Namespace) -> int:
    return _show(args) if args.action == "show" else _init(args)


def _show(args: argparse.Namespace) -> int:
    settings = settings_from(args)
    _tell_files(settings)
    if args.json:
        from spaniel.app.settings import describe

        for row in describe(settings):
            print(json.dumps(row))
        return 0
    from spaniel.app.keys import toml

    for path, (value, source) in settings.items():
        print(f"{path} = {toml(value)}  # {shown(source)}")
    return 0


def _tell_files(settings: Settings) -> None:
    """Where settings were looked for, on standard error: it is not a setting."""
    sys.stderr.write("Settings files. A later one overrides an earlier one:\n")
    for whose, path, found in settings.looked_for:
        sys.stderr.write(f"  {whose:8} {shown(path)} ({'found' if found else 'not found'})\n")
    if settings.looked_for[-1].whose != "named":
        sys.stderr.write("  named    none (--config, $SPANIEL_CONFIG)\n")


def _init(args: argparse.Namespace) -> int:
    from spaniel.app.keys import sample
    from spaniel.app.paths import user_file

    path = user_file() if args.user else args.path
    if path == "-":
        print(json.dumps({"path": None, "text": sample()}) if args.json else sample().removesuffix("\n"))
        return 0
    try:
        _write(path, sample().encode(), force=args.force)
    except FileExistsError:
        raise SpanielError(
            Code.BAD_ARGS, field=path, reason="the file is there already; add --force to replace it"
        ) from None
    except OSError as error:
        raise SpanielError(Code.BAD_ARGS, field=path, reason=f"cannot be written: {error.strerror}") from None
    print(json.dumps({"path": path}) if args.json else f"wrote {path}")
    return 0


def _write(path: str, data: bytes, *, force: bool) -> None:
    folder = os.path.dirname(path)
    if folder and not os.path.exists(folder):
        os.makedirs(folder)
    if force:
        from spaniel.files import write_atomically

        write_atomically(path, data, None)
        return
    with open(path, "xb") as file:  # never through a link
        file.write(data)
