"""`spaniel completion SHELL`: a script that completes commands and options, made from the parsers."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import TYPE_CHECKING, Any

from spaniel.cli.main import COMMANDS, top
from spaniel.cli.options import Parser, argument

if TYPE_CHECKING:
    from collections.abc import Iterator

FILES = {"DIR", "FILE", "PATH"}  # the metavars of options and arguments that take a file
SHELLS = ("bash", "zsh", "fish", "tcsh")


def parser() -> Parser:
    return Parser(
        "spaniel completion",
        "Print a script that lets your shell complete Spaniel's commands and options.",
        {"Arguments": [argument("shell", "SHELL", ", ".join(SHELLS), choices=SHELLS)]},
        examples=[
            ("spaniel completion bash > ~/.local/share/bash-completion/completions/spaniel", "bash"),
            ("spaniel completion zsh > ~/.zfunc/_spaniel", "zsh"),
            ("spaniel completion fish > ~/.config/fish/completions/spaniel.fish", "fish"),
            ("spaniel completion tcsh > ~/.spaniel.csh", "tcsh"),
        ],
        notes="bash needs the package bash-completion. For zsh, the folder must be in $fpath.\n"
        "For tcsh, add 'source ~/.spaniel.csh' to ~/.tcshrc.",
    )


def main(args: argparse.Namespace) -> int:
    if args.shell == "fish":  # which shtab does not know
        print("\n".join(["complete -c spaniel -f", *_fish(whole_parser(), ())]))
        return 0
    import shtab

    print(shtab.complete(whole_parser(), args.shell))
    return 0


def _fish(parser: argparse.ArgumentParser, words: tuple[str, ...]) -> Iterator[str]:
    """A line for each command and option. A command is offered while none of its level has been written."""
    here = " && ".join(f"__fish_seen_subcommand_from {word}" for word in words) or "true"
    for action in parser._actions:  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            texts = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001
            names = " ".join(action.choices)
            for name, inner in action.choices.items():
                when = f"{here} && not __fish_seen_subcommand_from {names}"
                yield f"complete -c spaniel -n {_quoted(when)} -a {name} -d {_quoted(texts.get(name, ''))}"
                yield from _fish(inner, (*words, name))
            continue
        if action.help == argparse.SUPPRESS:
            continue
        spelled = [f"-{'l' if option[:2] == '--' else 's'} {option.lstrip('-')}" for option in action.option_strings]
        takes = "" if action.nargs == 0 else " -r" if spelled else ""
        offers = f" -a {_quoted(' '.join(map(str, action.choices)))}" if action.choices else ""
        files = " -F" if action.metavar in FILES or (not spelled and not action.choices) else ""
        if spelled or offers or files:
            what = _quoted((action.help or "").replace("%%", "%").split("\n")[0]) if spelled else "''"
            yield " ".join(["complete -c spaniel -n", _quoted(here), *spelled]) + takes + offers + files + f" -d {what}"


def _quoted(text: str) -> str:
    """As fish reads single quotes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def whole_parser() -> Parser:
    """All commands under one parser."""
    whole = top()
    made: Any = lambda prog, **_: _command(prog.split()[-1])  # noqa: E731  what argparse calls to make each
    commands = whole.add_subparsers(parser_class=made)
    for name, what in COMMANDS.items():
        commands.add_parser(name, help=what)
    return whole


def _command(name: str) -> Parser:
    made: Parser = import_module(f"spaniel.cli.{name.replace('-', '_')}").parser()
    _complete_files(made)
    return made


def _complete_files(parser: argparse.ArgumentParser) -> None:
    import shtab

    for action in parser._actions:  # noqa: SLF001  argparse has no other way to look at them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for inner in action.choices.values():
                _complete_files(inner)
        elif action.metavar in FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
