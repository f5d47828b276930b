"""URL lists as commands take them: the same options, the same kinds of files and the same messages in all of them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Iterable

    from spaniel.app.settings import Settings
    from spaniel.sources.rows import Item, Options, Problems

KINDS = ("text", "csv", "tsv", "json", "jsonl", "yaml", "parquet", "sitemap", "feed", "bookmarks")
STANDARD_INPUT = "-"


def add_list_options(p: argparse._ActionsContainer, more: str = "") -> None:
    """How lists are read. `more`: kinds that this command knows in addition."""
    p.add_argument(
        "--kind", metavar="KIND",
        help=f"what the input is: {', '.join(KINDS)}{more} (default: by its content and its name)",
    )  # fmt: skip
    p.add_argument(
        "--column", metavar="NAME", help="the column of a table that holds the URLs: its name, or its number"
    )
    p.add_argument(
        "--field", action="append", default=[], metavar="PATH",
        help="the field of JSON or YAML that holds the URL, for example page.url; of tables, the column; "
        "may be repeated",
    )  # fmt: skip


def list_options(args: argparse.Namespace, *, whole_records: bool = False) -> Options:
    from spaniel.sources.kinds import kind_named
    from spaniel.sources.rows import Options

    kind_named(args.kind)
    return Options(args.kind, args.column, tuple(args.field), whole_records)


def report_problems(problems: Problems) -> None:
    """What could not be read of the lists, on standard error. The rest is used."""
    from spaniel.cli.long_run import say
    from spaniel.errors import shown

    for problem in problems.first:
        say(shown(problem))
    if problems.count > len(problems.first):
        say(f"and {problems.count - len(problems.first):,} more problems in the sources")


class Asked:
    """A URL to work on, and where it is written in the input; "" for an argument."""

    __slots__ = ("url", "where")

    def __init__(self, url: str, where: str = "") -> None:
        self.url, self.where = url, where


async def incoming(
    arguments: Iterable[str], settings: Settings, options: Options | None = None, problems: Problems | None = None
) -> AsyncIterator[Asked]:
    """The URLs of the arguments; `-` is the list on standard input."""
    from spaniel.app.sources import read_lists
    from spaniel.sources.rows import Options, Problems

    for argument in arguments:
        if argument != STANDARD_INPUT:
            yield Asked(argument)
            continue
        options, problems = options or Options(), problems if problems is not None else Problems()
        async for item in read_lists([STANDARD_INPUT], options, problems, settings):
            yield Asked(item.raw_url, place_of(item))


def place_of(item: Item) -> str:
    """Where an item is written, for messages."""
    return item.where if item.source == STANDARD_INPUT else f"{item.source}: {item.where}"
