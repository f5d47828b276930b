"""URL lists as commands take them: the same options, the same kinds of files and the same messages in all of them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Iterable, Iterator

    from spaniel.app.settings import Settings
    from spaniel.sources.rows import ListOptions, Problems, SourceItem

KINDS = ("text", "csv", "tsv", "json", "jsonl", "yaml", "parquet", "sitemap", "feed", "bookmarks")
STANDARD_INPUT = "-"
SOME_LOST = 1


def add_list_options(p: argparse._ActionsContainer, more: str = "", *, earlier: str = "") -> None:
    """How lists are read. `more`: kinds that this command knows in addition; `earlier`: an older name of `--kind`."""
    p.add_argument(
        "--kind", metavar="KIND",
        help=f"what the input is: {', '.join(KINDS)}{more} (default: by its content and its name)",
    )  # fmt: skip
    if earlier:
        from argparse import SUPPRESS

        p.add_argument(earlier, dest="kind", help=SUPPRESS)
    p.add_argument(
        "--column", metavar="NAME", help="the column of a table that holds the URLs: its name, or its number"
    )
    p.add_argument(
        "--field", action="append", default=[], metavar="PATH",
        help="the field of JSON or YAML that holds the URL, for example page.url; of tables, the column; "
        "may be repeated",
    )  # fmt: skip


def list_options(args: argparse.Namespace, *, whole_records: bool = False) -> ListOptions:
    from spaniel.sources.rows import ListOptions

    if args.kind:  # a wrong one is an error whatever is read
        from spaniel.sources.kinds import kind_named

        kind_named(args.kind)
    return ListOptions(args.kind, args.column, tuple(args.field), whole_records)


def report_problems(problems: Problems) -> None:
    """What could not be read of the lists, on standard error. The rest is used."""
    from spaniel.cli.long_run import say
    from spaniel.errors import shown

    for problem in problems.first:
        say(shown(problem))
    if problems.count > len(problems.first):
        say(f"and {problems.count - len(problems.first):,} more problems in the sources")


class Asked:
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
) -> AsyncIterator[Asked]:
    """The URLs of the arguments; `-` is the list on standard input."""
    from spaniel.app.sources import read_lists
    from spaniel.sources.rows import ListOptions, Problems

    for argument in arguments:
        if argument != STANDARD_INPUT:
            yield Asked(argument)
            continue
        options, problems = options or ListOptions(), problems if problems is not None else Problems()
        found = read_lists([STANDARD_INPUT], options, problems, settings, may_be_empty=may_be_empty)
        async for item in found:
            yield Asked(item.raw_url, place_of(item))


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
                problems.note(row.url, "is named by a sitemap index; it was not read, since this makes no requests")

    def exit_code(self, code: int) -> int:
        """After the last URL: report what could not be read. `code`, unless that is 0 and something was lost."""
        if self._problems is None:
            return code
        report_problems(self._problems)
        return code or (SOME_LOST if self._problems.lost else 0)
