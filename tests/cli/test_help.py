"""What the command line says of itself: plain words, and nothing that an installed package does not have."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

import pytest

from spaniel.cli.completion import whole_parser
from spaniel.cli.main import COMMANDS
from spaniel.cli.notes import NOTES
from tests.cli.test_canon import spaniel
from tests.test_errors import REQUIREMENT

ODD = re.compile(r"\ba line\b|\bis no\b|look whether|comment out|rules? of the SRD|\bSRD\b", re.IGNORECASE)


def told_by(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Every text of a command and of those below it."""
    yield from (text for text in (parser.description, parser.epilog) if text)
    for action in parser._actions:
        if action.help and action.help != argparse.SUPPRESS:
            yield action.help
        if isinstance(action, argparse._SubParsersAction):
            yield from (choice.help or "" for choice in action._choices_actions)
            for inner in action.choices.values():
                yield from told_by(inner)


def test_help_names_nothing_that_a_wheel_does_not_have() -> None:
    for text in told_by(whole_parser()):
        assert not re.search(r"\bdocs/|README|CHANGELOG|Makefile|\bmake \w|\btests/", text), text


def test_help_has_no_requirement_ids_and_no_odd_words() -> None:
    for text in [*told_by(whole_parser()), *NOTES.values()]:
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
    from spaniel.browser import rendered
    from spaniel.cache.store import WRITE_FAILED
    from spaniel.net import redirects
    from spaniel.pipeline import outcome
    from spaniel.pipeline.rungs import browser, copies, site
    from spaniel.robots.gate import FAIL_OPEN_NOTE

    known = {
        rendered.PARTIAL, rendered.TRUNCATED, WRITE_FAILED, outcome.NO_TEXT, outcome.CACHE_HIT,
        redirects.HTTPS_DOWNGRADE, browser.UNAVAILABLE, browser.FAILED, FAIL_OPEN_NOTE,
        site.HTTP_ONLY, outcome.FROM_ARCHIVE, outcome.CREDENTIALS_DROPPED, copies.FROM_SEARCH_CACHE, copies.FROM_MIRROR,
    }  # fmt: skip
    assert known <= set(NOTES)
    assert all(sentence.endswith(".") for sentence in NOTES.values())
