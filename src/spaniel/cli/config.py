"""`spaniel config`: show the settings and their sources, or write a settings file."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from spaniel.cli import options as opt
from spaniel.cli.output import print_json
from spaniel.errors import shown

if TYPE_CHECKING:
    import argparse

    from spaniel.app.settings import Settings
    from spaniel.cli.options import Groups, Parser


def parser() -> Parser:
    return opt.with_commands(
        "spaniel config",
        "Show the settings, or write a settings file to start from.",
        COMMANDS,
        examples=[
            ("spaniel config show", "Every setting and its source"),
            ("spaniel config init --user", "Write your own settings file"),
        ],
    )


def main(args: argparse.Namespace) -> int:
    return opt.chosen(args, COMMANDS)(args)


def show(args: argparse.Namespace) -> int:
    settings = opt.settings_from(args)
    _show_files(settings)
    if args.json:
        from spaniel.app.settings import describe

        for row in describe(settings):
            print_json(row)
        return 0
    from spaniel.app.keys import toml

    for path, (value, source) in settings.items():
        print(f"{path} = {toml(value)}  # {shown(source)}")
    return 0


def _show_files(settings: Settings) -> None:
    """The settings files, on standard error: they are not settings."""
    sys.stderr.write("Settings files. A later one overrides an earlier one:\n")
    for whose, path, found in settings.looked_for:
        sys.stderr.write(f"  {whose:8} {shown(path)} ({'found' if found else 'not found'})\n")
    if settings.looked_for[-1].whose != "named":
        sys.stderr.write("  named    none (--config, SPANIEL_CONFIG)\n")


def init(args: argparse.Namespace) -> int:
    from spaniel.app.keys import sample
    from spaniel.app.paths import user_file

    if args.user and args.path:
        raise opt.bad_argument("--user", "writes your own file; name no other")
    path = user_file() if args.user else args.path or "spaniel.toml"
    if path == "-":
        print(json.dumps({"path": None, "text": sample()}) if args.json else sample().removesuffix("\n"))
        return 0
    try:
        _write(path, sample().encode(), force=args.force)
    except FileExistsError:
        raise opt.bad_argument(path, "already exists; add --force to replace it") from None
    except OSError as error:
        raise opt.bad_argument(path, f"cannot be written: {error.strerror}") from None
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


def _for_show() -> Groups:
    return {"Options": [opt.json_flag()], opt.SHARED: opt.settings_options()}


COMMANDS = {
    "show": opt.Command(
        "Show every setting, its value and its source", show, _for_show,
        [
            ("spaniel config show", "Every setting"),
            ("spaniel config show --json --config mine.toml", "With another settings file"),
        ],
    ),
    "init": opt.Command(
        "Write a file with every setting; uncomment a line to set it", init,
        {
            "Arguments": [opt.argument("path", "FILE", "File to write, or '-' [default: spaniel.toml]", nargs="?")],
            "Options": [
                opt.flag("--user", "Write your own file, which may contain every setting"),
                opt.flag("--force", "Replace an existing file"),
                opt.json_flag("Print the path of the file as JSON (with '-': its text)"),
            ],
        },
        [
            ("spaniel config init", "Write spaniel.toml here"),
            ("spaniel config init --user", "Write your own file, for all projects"),
            ("spaniel config init -", "Print it"),
        ],
    ),
}  # fmt: skip
