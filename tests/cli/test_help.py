"""What the command line says of itself: plain words, and nothing that an installed package does not have."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

import pytest

from spaniel.cli.completion import whole_parser
from spaniel.cli.main import COMMANDS
from spaniel.cli.notes import NOTES
from spaniel.cli.options import SHARED, Parser
from tests.cli.commands import WrongCommandError, commands_in, parse, parsers
from tests.programs import spaniel
from tests.test_errors import REQUIREMENT
from tests.test_package import imported_by

ODD = re.compile(
    r"\ba line\b|\bis no\b|look whether|comment out|rules? of the SRD|\bSRD\b|\btold\b|\btells?\b|\b(go|goes|gone) on\b"
    r"|rules? over|\bnobody\b|whoever|is well\b|come to rest|\bbesides\b|\bbrought\b|\bat hand\b|\bold debts\b"
    r"|for good\b|\bladder\b|\brungs?\b|come to its end|say of|\bof use\b",
    re.IGNORECASE,
)


def texts_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Every text of a command and of those below it."""
    yield from (text for text in (parser.description, parser.epilog) if text)
    for action in parser._actions:
        if action.help and action.help != argparse.SUPPRESS:
            yield action.help
        if isinstance(action, argparse._SubParsersAction):
            yield from (choice.help or "" for choice in action._choices_actions)
            for inner in action.choices.values():
                yield from texts_of(inner)


def test_help_names_only_what_a_wheel_contains() -> None:
    for text in texts_of(whole_parser()):
        assert not re.search(r"\bdocs/|README|CHANGELOG|Makefile|\bmake (?!no |the )\w|\btests/", text), text


def test_help_has_no_requirement_ids_and_no_odd_words() -> None:
    for text in [*texts_of(whole_parser()), *NOTES.values()]:
        assert not REQUIREMENT.search(text), text
        assert not ODD.search(text.replace("uncomment a line", "")), text


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_and_argument_says_what_it_does(command: str) -> None:
    done = spaniel(command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    whole = whole_parser()
    [commands] = [action for action in whole._actions if isinstance(action, argparse._SubParsersAction)]
    for action in commands.choices[command]._actions:
        if not isinstance(action, argparse._SubParsersAction) and not action.choices:
            assert action.help, (command, action.dest)


def test_each_note_that_a_fetch_may_carry_has_a_sentence() -> None:
    from spaniel.browser import rendering
    from spaniel.cache.store import WRITE_FAILED
    from spaniel.net import redirects
    from spaniel.pipeline import fallbacks, outcome
    from spaniel.robots.gate import FAIL_OPEN_NOTE

    known = {
        rendering.PARTIAL, rendering.TRUNCATED, WRITE_FAILED, outcome.NO_TEXT, outcome.CACHE_HIT,
        redirects.HTTPS_DOWNGRADE, fallbacks.UNAVAILABLE, fallbacks.FAILED, FAIL_OPEN_NOTE,
        fallbacks.HTTP_ONLY, outcome.FROM_ARCHIVE, outcome.CREDENTIALS_DROPPED,
        fallbacks.FROM_SEARCH_CACHE, fallbacks.FROM_MIRROR,
    }  # fmt: skip
    assert known <= set(NOTES)
    assert all(sentence.endswith(".") for sentence in NOTES.values())


ALL = dict(parsers())


@pytest.mark.parametrize("name", ALL)
def test_every_command_has_a_description_and_examples_that_parse(name: str) -> None:
    parser = ALL[name]
    assert isinstance(parser, Parser)
    assert parser.description
    assert 10 < len(parser.description.split("\n")[0]) <= 80
    assert 2 <= len(parser.examples) <= 4
    shown = parser.format_help()
    assert shown.startswith(parser.description)
    assert shown.index("Usage: ") < shown.index("Examples:\n") < shown.index("Options:\n")
    assert max(map(len, shown.split("\n"))) <= 80
    for line, what in parser.examples:
        assert line in shown
        assert what in shown
        started = list(commands_in(line))
        assert any(arguments[: len(name.split())] == name.split() for arguments in started), line
        for arguments in started:
            parse(arguments)


def test_wrong_example_is_detected() -> None:
    for wrong in ("spaniel fetch --nonsense URL", "spaniel db frob", "spaniel db mv", "spaniel check -f pdf x"):
        [arguments] = commands_in(wrong)
        with pytest.raises(WrongCommandError):
            parse(arguments)
    assert list(commands_in("A=b spaniel canon - < x 2>&1 | sort | xargs -r spaniel check -q # c")) == [
        ["canon", "-"], ["check", "-q"],
    ]  # fmt: skip


@pytest.mark.parametrize("name", ALL)
def test_many_options_are_in_named_groups(name: str) -> None:
    sizes = {
        group.title: sum(bool(a.option_strings) and a.dest != "help" for a in group._group_actions)
        for group in ALL[name]._action_groups
    }
    assert None not in sizes
    assert max(sizes.values()) <= 9, sizes
    if sum(sizes.values()) > 8:
        assert sum(map(bool, sizes.values())) > 1, sizes
    titles = [title for title, size in sizes.items() if size]
    assert SHARED not in titles[:-1], sizes  # what is rarely needed comes last
    assert "Options" not in titles[1:], sizes


def test_the_first_page_has_examples() -> None:
    text = spaniel("--help").stdout
    lines = [line for line in text.partition("Examples:\n")[2].splitlines() if line.startswith("  spaniel ")]
    assert len(lines) >= 2
    for line in lines:
        for arguments in commands_in(line):
            parse(arguments)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_imports_nothing_heavy(command: str) -> None:
    script = (
        "import sys\nfrom spaniel.cli.main import main\nsys.stdout = sys.stderr\n"
        f"try:\n    main([{command!r}, '--help'])\nexcept SystemExit:\n    pass\n"
        "sys.stdout = sys.__stdout__"
    )
    loaded = imported_by(script)
    assert not loaded & {"asyncio", "rich", "msgspec", "dataclasses", "ada_url", "sqlite3", "tomllib", "ssl", "lxml"}
