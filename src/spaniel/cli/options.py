"""What the commands' parsers share: how help is laid out, and the options that many commands take."""

from __future__ import annotations

import argparse
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from spaniel.app.settings import Settings

    Example = tuple[str, str]  # a command, and what it does
    Group = argparse._ArgumentGroup  # noqa: SLF001  argparse has no public name for it

SHARED = "settings and logging"
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}  # of durations
EACH_LINE = "print one JSON object per line"


def new_parser(
    prog: str, description: str, epilog: str = "", *, examples: Sequence[Example] = ()
) -> argparse.ArgumentParser:
    """A command's parser. Its help ends with examples and then the epilog."""
    return argparse.ArgumentParser(
        prog=prog, description=description, epilog=_ending(examples, epilog), formatter_class=_layout
    )


def add_command(
    commands: Any, name: str, what: str, examples: Sequence[Example], epilog: str = ""
) -> argparse.ArgumentParser:
    """The parser of a subcommand, with help as `new_parser` has it."""
    made: argparse.ArgumentParser = commands.add_parser(
        name,
        help=what,
        description=f"{what[0].upper()}{what[1:]}.",
        epilog=_ending(examples, epilog),
        formatter_class=_layout,
    )
    return made


def _layout(prog: str) -> argparse.HelpFormatter:
    """Knows the terminal's width; argparse would load shutil, and every archive format, to find it."""
    try:
        width = os.get_terminal_size().columns - 2
    except OSError:
        width = 98
    return argparse.RawDescriptionHelpFormatter(prog, width=width)


def _ending(examples: Sequence[Example], epilog: str) -> str:
    width = max((len(command) for command, _ in examples), default=0)
    lines = "".join(f"  {command:{width}}  # {what}\n" for command, what in examples)
    return f"examples:\n{lines}\n{epilog}".rstrip("\n") if examples else epilog


def group(parser: argparse.ArgumentParser, title: str) -> Group:
    """The group of options with this title; created if needed."""
    for known in parser._action_groups:  # noqa: SLF001  argparse has no other way to look at them
        if known.title == title:
            return known
    return parser.add_argument_group(title)


def duration(text: str) -> float:
    """Seconds of `90s`, `30m`, `12h`, `7d` or `2w`; a type for argparse."""
    number, unit = text[:-1], text[-1:]
    if unit not in UNITS or not number.replace(".", "", 1).isdecimal():
        from spaniel.errors import shown

        raise argparse.ArgumentTypeError(f"invalid duration '{shown(text)}'; write 90s, 30m, 12h, 7d or 2w")
    return float(number) * UNITS[unit]


def add_json(parser: argparse.ArgumentParser | Group, what: str = EACH_LINE) -> None:
    parser.add_argument("--json", action="store_true", help=what)


def add_format(
    parser: argparse.ArgumentParser | Group,
    formats: Sequence[str],
    default: str,
    what: str,
    json: tuple[str, str],
) -> None:
    """`--format`, and `--json` as a short name of one of the formats: `json` has its name and what it prints."""
    either = parser.add_mutually_exclusive_group()
    either.add_argument("-f", "--format", choices=formats, default=default, metavar="FORMAT", help=what)
    name, printed = json
    either.add_argument(
        "--json", dest="format", action="store_const", const=name, default=argparse.SUPPRESS,
        help=f"{printed} (same as --format {name})",
    )  # fmt: skip


def add_log_options(parser: argparse.ArgumentParser) -> None:
    either = group(parser, SHARED).add_mutually_exclusive_group()
    either.add_argument(
        "-v", "--verbose", action="count", default=0, help="log more on standard error (-vv: even more)"
    )
    either.add_argument(
        "-q", "--quiet", action="store_true", help="show errors only (and a warning if protection is off)"
    )


def add_config_option(parser: argparse.ArgumentParser) -> None:
    group(parser, SHARED).add_argument(
        "--config", metavar="FILE",
        help="a settings file; it overrides your own and the project's (or set SPANIEL_CONFIG)",
    )  # fmt: skip


def add_settings_options(parser: argparse.ArgumentParser) -> None:
    """`--config`, and a flag for each setting that has one; `settings_from` reads them."""
    from spaniel.app.keys import KEYS

    add_config_option(parser)
    for key in KEYS:
        if key.flag:
            kind, metavar = (int, "N") if isinstance(key.default, int) else (str, "TEXT")
            span = f", {key.range}" if key.range else ""
            what = f"{key.what[0].lower()}{key.what[1:]}{span} (default: from the settings)"
            group(parser, SHARED).add_argument(key.flag, type=kind, metavar=metavar, help=what)


def settings_from(args: argparse.Namespace) -> Settings:
    """The settings for one run of a command: those of the files and the environment, and over them its flags."""
    from spaniel.app.keys import KEYS
    from spaniel.app.settings import load

    asked = {key.path: getattr(args, key.flag[2:].replace("-", "_"), None) for key in KEYS if key.flag}
    return load(args.config, flags={path: value for path, value in asked.items() if value is not None})


def configure_logs(args: argparse.Namespace) -> None:
    from spaniel.app.logs import configure

    configure(args.verbose, args.quiet)
