"""`spaniel completion SHELL`: a script that completes commands and options, made from the parsers themselves."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Any

from spaniel.cli.main import COMMANDS, top
from spaniel.cli.options import new_parser

FILES = {"DIR", "FILE", "PATH"}  # the metavars of options and arguments that take a file


def parser() -> argparse.ArgumentParser:
    p = new_parser(
        "spaniel completion",
        "Print a script that lets your shell complete Spaniel's commands and options.",
        "bash:  spaniel completion bash > ~/.local/share/bash-completion/completions/spaniel\n"
        "zsh:   spaniel completion zsh > DIR/_spaniel, where DIR is a folder of your $fpath\n"
        "tcsh:  spaniel completion tcsh > ~/.spaniel.csh; then add 'source ~/.spaniel.csh' to ~/.tcshrc",
    )
    p.add_argument("shell", choices=("bash", "zsh", "tcsh"), metavar="bash|zsh|tcsh")
    return p


def main(args: argparse.Namespace) -> int:
    import shtab

    print(shtab.complete(whole_parser(), args.shell))
    return 0


def whole_parser() -> argparse.ArgumentParser:
    """All commands under one parser; only here are they all loaded."""
    whole = top()
    made: Any = lambda prog, **_: _command(prog.split()[-1])  # noqa: E731  what argparse calls to make each
    commands = whole.add_subparsers(parser_class=made)
    for name, what in COMMANDS.items():
        commands.add_parser(name, help=what)
    return whole


def _command(name: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = import_module(f"spaniel.cli.{name.replace('-', '_')}").parser()
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
