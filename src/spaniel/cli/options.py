"""How commands declare their arguments: rows of one table for each command, read by one parser.

    Parser("spaniel chunk", "Cut Markdown into chunks", {
        "Arguments": [argument("file", "FILE", "Markdown file, or '-' for standard input")],
        "Options": [number("--max-tokens", "Largest chunk in tokens", CHUNK_TOKENS), flag("--table", "Print a table")],
    })

A list inside a group holds options that exclude each other. Values out of range, unknown options and options that do
not go together all end in the same error.
"""

from __future__ import annotations

import argparse
import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, NoReturn

    from spaniel.app.settings import Settings
    from spaniel.defaults import Number
    from spaniel.errors import SpanielError

    Row = tuple[list[str], dict[str, Any]]  # names, and what argparse takes
    Groups = Mapping[str, Sequence[Row | list[Row]]]
    Examples = Sequence[tuple[str, str]]  # a command, and what it does

WIDTH = 80
SHARED = "Settings and logging"
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}  # of durations
EACH_LINE = "Print one JSON object per line"
_OF_ONE = re.compile(r"argument (?:[^ /]+/)?([^ ]+): (.*)", re.DOTALL)
_MISSING = "the following arguments are required: "


# The rows


def argument(name: str, metavar: str, what: str, **more: Any) -> Row:
    return [name], {"metavar": metavar, "help": what, **more}


def flag(*names_and_help: str) -> Row:
    *names, what = names_and_help
    return names, {"action": "store_true", "help": what}


def value(*texts: str, **more: Any) -> Row:
    """`texts`: the names, the placeholder of the value, and the help."""
    *names, metavar, what = texts
    if more.get("default") not in (None, ""):
        what += f" [default: {more['default']}]"
    return names, {"metavar": metavar, "help": what, **more}


def repeated(*texts: str, **more: Any) -> Row:
    *names, metavar, what = texts
    return names, {"action": "append", "default": [], "metavar": metavar, "help": f"{what} (repeatable)", **more}


def number(*texts: str, of: Number, setting: str = "", kind: Callable[[str], float] = int) -> Row:
    """A number with its bounds. Not given, it is the default; with `setting` it is None, and the setting counts."""
    *names, what = texts
    source = f"setting {setting}, or {of.default}" if setting else str(of.default)
    what = f"{what}, {of.range} [default: {source}]"
    default = None if setting else kind(str(of.default))
    return names, {"type": within(of, kind), "default": default, "metavar": "N", "help": what}


def within(of: Number, kind: Callable[[str], float] = int) -> Callable[[str], float]:
    """A type for argparse: a number that the bounds allow."""

    def read(text: str) -> float:
        amount = kind(text)
        if not of.allows(amount):
            raise argparse.ArgumentTypeError(f"must be {of.range}")
        return amount

    read.__name__ = kind.__name__  # argparse names the type by it
    return read


def duration(text: str) -> float:
    """Seconds of `90s`, `30m`, `12h`, `7d` or `2w`; a type for argparse."""
    amount, unit = text[:-1], text[-1:]
    if unit not in UNITS or not amount.replace(".", "", 1).isdecimal():
        from spaniel.errors import shown

        raise argparse.ArgumentTypeError(f"invalid duration '{shown(text)}'; write 90s, 30m, 12h, 7d or 2w")
    return float(amount) * UNITS[unit]


def json_flag(what: str = EACH_LINE) -> Row:
    return flag("--json", what)


def formats(choices: Sequence[str], what: str, json: str, printed: str = EACH_LINE) -> list[Row]:
    """`--format`, the first of which is the default, and `--json`, a short name of the format `json`."""
    what = f"{what} [default: {choices[0]}]"
    return [
        (["-f", "--format"], {"choices": choices, "default": choices[0], "metavar": "FORMAT", "help": what}),
        (["--json"], {"dest": "format", "action": "store_const", "const": json, "default": argparse.SUPPRESS,
                      "help": f"{printed} (same as --format {json})"}),
    ]  # fmt: skip


CONFIG = value("--config", "FILE", "Settings file that overrides your own and the project's [env: SPANIEL_CONFIG=]")
QUIET = flag("-q", "--quiet", "Show errors only")
LOG_OPTIONS: list[Row] = [
    (["-v", "--verbose"], {"action": "count", "default": 0, "help": "Log more on standard error (-vv: even more)"}),
    QUIET,
]


def settings_options() -> list[Row | list[Row]]:
    """`--config`, and an option for each setting that has one; `settings_from` reads them."""
    from spaniel.app.keys import KEYS

    rows: list[Row | list[Row]] = [CONFIG]
    for key in KEYS:
        if key.flag:
            kind, metavar = (int, "N") if isinstance(key.default, int) else (str, "TEXT")
            what = f"{key.what}{f', {key.range}' if key.range else ''} [default: setting {key.path}]"
            rows.append(value(key.flag, metavar, what, type=kind))
    return rows


def shared_options() -> dict[str, list[Row | list[Row]]]:
    """The last group of every command that fetches."""
    return {SHARED: [*settings_options(), LOG_OPTIONS]}


# The parser


class Parser(argparse.ArgumentParser):
    """Help in the order description, usage, examples, options; every mistake is a `bad_args` error."""

    def __init__(
        self, prog: str = "", what: str = "", groups: Groups | None = None, *, examples: Examples = (), notes: str = ""
    ) -> None:
        """`notes`: text after the options, such as exit codes."""
        super().__init__(prog, description=what, epilog=notes, formatter_class=_Layout, add_help=False)
        self.examples = examples
        groups = groups or {}
        if all(title == "Arguments" for title in groups):
            groups = {**groups, "Options": []}
        help_option: Row = ["-h", "--help"], {"action": "help", "help": "Show this help"}
        for title, rows in groups.items():
            group = self.add_argument_group(title)
            for row in [*rows, *([help_option] if title == list(groups)[-1] else [])]:
                if isinstance(row, list):
                    either = group.add_mutually_exclusive_group()
                    for names, how in row:
                        either.add_argument(*names, **how)
                else:
                    group.add_argument(*row[0], **row[1])

    def format_help(self) -> str:
        layout = self._get_formatter()
        layout.add_text(self.description)
        layout.add_usage(self._usage_line(), [], [])
        if self.examples:
            layout.add_text(f"Examples:\n{laid_out(self.examples)}")
        for group in self._action_groups:
            layout.start_section(group.title)
            layout.add_text(group.description)
            layout.add_arguments(group._group_actions)  # noqa: SLF001  as argparse does itself
            layout.end_section()
        layout.add_text(self.epilog)
        return layout.format_help()

    def _usage_line(self) -> str:
        if self.usage:
            return self.usage
        words = [self.prog, "[OPTIONS]"]
        for action in self._get_positional_actions():
            name = str(action.metavar)
            name = f"[{name}]" if action.nargs in ("?", "*") else name
            words.append(f"{name}..." if action.nargs in ("+", "*") else name)
        return " ".join(words)

    def error(self, message: str) -> NoReturn:
        found = _OF_ONE.fullmatch(message)
        if message.startswith(_MISSING):
            missing = message.removeprefix(_MISSING)
            raise bad_argument(missing.partition(",")[0], f"is missing; usage: {self._usage_line()}", self.prog)
        raise bad_argument(found[1] if found else self.prog, found[2] if found else message, self.prog)


def bad_argument(name: str, reason: str, prog: str = "") -> SpanielError:
    """The error for an argument; `prog` is named in its hint."""
    from spaniel.errors import Code, SpanielError

    return SpanielError(Code.BAD_ARGS, field=name, reason=reason, prog=prog or None)


def given(args: argparse.Namespace, names: Iterable[str]) -> str:
    """The first of these options that was given a value; else ''."""
    return next((name for name in names if getattr(args, name[2:].replace("-", "_"))), "")


def require(args: argparse.Namespace, needed: str, *names: str) -> None:
    """Refuse options that have no effect without another."""
    if not given(args, [needed]) and (name := given(args, names)):
        raise bad_argument(name, f"needs {needed}")


class _Layout(argparse.RawDescriptionHelpFormatter):
    """80 columns, or the terminal's if it has fewer; argparse would load shutil, and every archive format, for that."""

    def __init__(self, prog: str, **more: Any) -> None:
        try:
            columns = os.get_terminal_size().columns
        except OSError:
            columns = WIDTH
        super().__init__(prog, max_help_position=26, width=min(columns or WIDTH, WIDTH), **more)

    def add_usage(self, usage: str | None, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, "Usage: " if prefix is None else prefix)

    def _format_action(self, action: argparse.Action) -> str:
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001  the heading of the group is enough
            return "".join(map(self._format_action, action._choices_actions))  # noqa: SLF001
        return super()._format_action(action)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """`-o, --output PATH`, and long names below each other."""
        if not action.option_strings:
            return super()._format_action_invocation(action)
        names = ", ".join(action.option_strings)
        taken = "" if action.nargs == 0 else f" {self._format_args(action, action.dest.upper())}"
        return f"{'' if names[1] != '-' else '    '}{names}{taken}"


def laid_out(rows: Examples, mark: str = "# ") -> str:
    """Two columns, or two lines for each row if that is too wide."""
    width = max(len(left) for left, _ in rows)
    if all(width + len(mark) + len(right) + 4 <= WIDTH for _, right in rows):
        return "".join(f"  {left:{width}}  {mark}{right}\n" for left, right in rows)
    return "".join(f"  {mark}{right}\n  {left}\n" for left, right in rows)


# Subcommands


class Command:
    """A subcommand: its help, options, and the function that runs it, as `module:function` if the module is heavy."""

    def __init__(
        self, what: str, run: Callable[..., int] | str, groups: Callable[[], Groups] | Groups,
        examples: Examples, notes: str = "",
    ) -> None:  # fmt: skip
        self.what, self.run, self.groups, self.examples, self.notes = what, run, groups, examples, notes


def with_commands(
    prog: str, what: str, commands: Mapping[str, Command], *, examples: Examples, notes: str = ""
) -> Parser:
    """The parser of a command that has subcommands; `args.command` names the one that was chosen."""
    parser = Parser(prog, what, {"Options": []}, examples=examples, notes=notes)

    def made(name: str) -> Parser:
        command = commands[name]
        groups = command.groups() if callable(command.groups) else command.groups
        return Parser(f"{prog} {name}", f"{command.what}.", groups, examples=command.examples, notes=command.notes)

    make: Any = lambda prog, **_: made(prog.split()[-1])  # noqa: E731  what argparse calls to make each
    subparsers = parser.add_subparsers(
        title="Commands", dest="command", metavar="COMMAND", required=True, parser_class=make
    )
    parser._action_groups.insert(0, parser._action_groups.pop())  # noqa: SLF001  before the options
    for name, command in commands.items():
        subparsers.add_parser(name, help=command.what)
    return parser


def chosen(args: argparse.Namespace, commands: Mapping[str, Command]) -> Callable[..., int]:
    """The function of the subcommand."""
    run = commands[args.command].run
    if isinstance(run, str):
        from importlib import import_module

        module, _, name = run.partition(":")
        run = getattr(import_module(f"spaniel.cli.{module}"), name)
    return run


# From options to settings


def settings_from(args: argparse.Namespace) -> Settings:
    """The settings for one run of a command: those of the files and the environment, and over them its options."""
    from spaniel.app.keys import KEYS
    from spaniel.app.settings import load

    values = {key.path: getattr(args, key.flag[2:].replace("-", "_"), None) for key in KEYS if key.flag}
    return load(args.config, flags={path: value for path, value in values.items() if value is not None})


def configure_logs(args: argparse.Namespace) -> None:
    from spaniel.app.logs import configure

    configure(args.verbose, args.quiet)


def is_several(arguments: Sequence[str]) -> bool:
    """Whether there may be more than one item: a `-` stands for a list."""
    return len(arguments) > 1 or "-" in arguments
