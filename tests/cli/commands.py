"""Commands as pages and help show them, read as a shell would, for the real parsers."""

from __future__ import annotations

import argparse
import contextlib
import re
import shlex
from collections.abc import Iterator

import pytest

from spaniel.cli.completion import whole_parser
from spaniel.cli.main import COMMANDS
from spaniel.cli.options import Parser

ENDS = {"|", "||", "&", "&&", ";", "(", ")"}
REDIRECTED = re.compile(r"(?<=\s)[0-2]?>>?(?:&[0-2]|\s*[^\s;|&]+)|(?<=\s)<\s*[^\s;|&]+")
RUNNERS = ("xargs", "claude", "nohup", "time", "exec")  # they start what comes after the last 'spaniel'


class WrongCommandError(Exception):
    pass


def parsers(parser: argparse.ArgumentParser | None = None) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command and subcommand, by its name: `fetch`, `db`, `db add`."""
    parser = parser or whole_parser()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield inner.prog.removeprefix("spaniel "), inner
                yield from parsers(inner)


def has_commands(parser: argparse.ArgumentParser) -> bool:
    return any(isinstance(action, argparse._SubParsersAction) for action in parser._actions)


def commands_in(line: str) -> Iterator[list[str]]:
    """The arguments of each `spaniel` that a line of shell starts."""
    words = shlex.shlex(REDIRECTED.sub("", line), posix=True, punctuation_chars=True)
    words.whitespace_split, words.commenters = True, ""
    command: list[str] = []
    for word in [*words, ";"]:
        if word in ENDS or word.startswith("#"):
            yield from _arguments(command)
            command = []
            if word.startswith("#"):
                return
        else:
            command.append(word)


def _arguments(command: list[str]) -> Iterator[list[str]]:
    while command and re.fullmatch(r"[A-Z_]+=.*", command[0]):
        command = command[1:]
    ours = [place for place, word in enumerate(command) if word.rpartition("/")[2] == "spaniel"]
    if ours and (ours[0] == 0 or command[0] in RUNNERS):
        yield command[ours[-1] + 1 :]


def parse(arguments: list[str], *, complete: bool = True) -> None:
    """Raises where the real parsers refuse them; `complete`: also where an argument is missing."""

    def refuse(parser: argparse.ArgumentParser, message: str) -> None:
        if complete or not re.search("arguments are required|expected .* argument", message):
            raise WrongCommandError(f"spaniel {shlex.join(arguments)}: {message}")
        raise SystemExit(0)

    if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        raise WrongCommandError(f"there is no command {arguments[0]}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Parser, "error", refuse)
        patch.setattr(argparse.ArgumentParser, "print_help", lambda *_: None)
        with contextlib.suppress(SystemExit):
            whole_parser().parse_args(arguments)
