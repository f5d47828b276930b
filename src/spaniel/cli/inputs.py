"""What commands read: files, and lists of URLs, with the same options, kinds of files and messages in all of them."""

from __future__ import annotations

import sys

from spaniel.cli.options import repeated, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Iterable, Iterator
    from typing import BinaryIO

    from spaniel.app.settings import Settings
    from spaniel.cli.options import Row
    from spaniel.sources.rows import ListOptions, Problems, SourceItem

KINDS = ("text", "csv", "tsv", "json", "jsonl", "yaml", "parquet", "sitemap", "feed", "bookmarks")
STANDARD_INPUT = "-"
SOME_LOST = 1
LIST = "List on standard input"  # the group of these options


def list_rows(more: str = "", *, earlier: str = "") -> list[Row]:
    """Options that say how a list is read. `more`: kinds of this command; `earlier`: a former name of `--kind`."""
    import argparse

    rows = [
        value("--kind", "KIND", f"Format of the input: {', '.join(KINDS)}{more} [default: detected]"),
        value("--column", "NAME", "Column of a table that holds the URLs, by name or number"),
        repeated("--field", "PATH", "Field of JSON or YAML (or column) that holds the URL, such as page.url"),
    ]
    return [*rows, ([earlier], {"dest": "kind", "help": argparse.SUPPRESS})] if earlier else rows


def list_options(args: argparse.Namespace, *, whole_records: bool = False) -> ListOptions:
    from spaniel.sources.rows import ListOptions

    if args.kind:  # a wrong one is an error whatever is read
        from spaniel.sources.kinds import kind_named

        kind_named(args.kind)
    return ListOptions(args.kind, args.column, tuple(args.field), whole_records)


def report_problems(problems: Problems) -> None:
    """Print what could not be read of the lists. The rest is used."""
    from spaniel.cli.long_run import say
    from spaniel.errors import shown

    for problem in problems.first:
        say(shown(problem))
    if problems.count > len(problems.first):
        say(f"and {problems.count - len(problems.first):,} more problems in the sources")


class InputUrl:
    """A URL and its position in the input; "" for an argument."""

    __slots__ = ("url", "where")

    def __init__(self, url: str, where: str = "") -> None:
        self.url, self.where = url, where


async def incoming(
    arguments: Iterable[str],
    settings: Settings,
    options: ListOptions | None = None,
    problems: Problems | None = None,
    *,
    may_be_empty: bool = False,
) -> AsyncIterator[InputUrl]:
    """The URLs of the arguments; `-` is the list on standard input."""
    from spaniel.app.sources import read_lists
    from spaniel.sources.rows import ListOptions, Problems

    for argument in arguments:
        if argument != STANDARD_INPUT:
            yield InputUrl(argument)
            continue
        options, problems = options or ListOptions(), problems if problems is not None else Problems()
        items = read_lists([STANDARD_INPUT], options, problems, settings, may_be_empty=may_be_empty)
        async for item in items:
            yield InputUrl(item.raw_url, place_of(item))


def place_of(item: SourceItem) -> str:
    """Where an item is written, for messages."""
    return item.where if item.source == STANDARD_INPUT else f"{item.source}: {item.where}"


class Inputs:
    """The URLs of the arguments, `-` being the list on standard input, for commands that make no requests.

    An empty list is fine: these commands are filters.
    """

    def __init__(self, arguments: Iterable[str], options: ListOptions | None = None) -> None:
        self._arguments, self._options = arguments, options
        self._problems: Problems | None = None

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """The place for messages, such as "line 3: ", and the URL."""
        for argument in self._arguments:
            if argument == STANDARD_INPUT:
                yield from self._listed()
            else:
                yield "", argument

    def _listed(self) -> Iterator[tuple[str, str]]:
        from spaniel.sources.files import read_file
        from spaniel.sources.rows import ListOptions, Problems, SourceRow

        self._problems = problems = self._problems or Problems()
        for row in read_file(STANDARD_INPUT, self._options or ListOptions(), problems):
            if type(row) is SourceRow:
                place = row.place
                yield f"line {place}: " if type(place) is int else f"{place}: " if place else "", row.url
            else:
                problems.note(row.url, "is listed in a sitemap index; it was not read, since this makes no requests")

    def exit_code(self, code: int) -> int:
        """After the last URL: report what could not be read. `code`, unless that is 0 and something was lost."""
        if self._problems is None:
            return code
        report_problems(self._problems)
        return code or (SOME_LOST if self._problems.lost else 0)


def standard_input() -> BinaryIO:
    if sys.stdin is None:  # closed by the parent process
        from spaniel.errors import Code, SpanielError

        raise SpanielError(Code.BAD_ARGS, field="-", reason="standard input is closed")
    return sys.stdin.buffer


def read_bytes(path: str) -> bytes:
    """A whole file, or standard input for `-`."""
    try:
        if path == STANDARD_INPUT:
            return standard_input().read()
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        from spaniel.errors import Code, SpanielError

        raise SpanielError(Code.BAD_ARGS, field=path, reason=f"cannot be read: {error.strerror}") from None


def read_text(path: str) -> str:
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        from spaniel.errors import Code, SpanielError

        reason = f"not UTF-8 text (byte {error.start})"
        raise SpanielError(Code.BAD_ARGS, field=path, reason=reason) from None
