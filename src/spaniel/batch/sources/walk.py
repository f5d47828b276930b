"""From sources to URLs: files as they are, lists by their address, a site by its sitemaps, an index by its children.

One order, always the same: sources as they are named, the files of a pattern by name, sitemaps as their index has
them, each followed to its end before the next.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from spaniel.batch.sources.beside import beside_the_loop
from spaniel.batch.sources.files import STANDARD_INPUT, About, local_files, read_file, read_stream
from spaniel.batch.sources.kinds import Kind, kind_by_name, kind_named
from spaniel.batch.sources.owners import same_owner
from spaniel.batch.sources.rows import Child, Item, Options, Problems, Row
from spaniel.batch.sources.xml_scan import MOST_BYTES, MOST_URLS
from spaniel.errors import Code, SpanielError
from spaniel.robots.rules import LIMIT
from spaniel.robots.rules import parse as parse_robots
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from spaniel.batch.sources.bring import Bring, Brought

DEEPEST = 4  # indexes within indexes
MOST_LIST_BYTES = 1 << 30  # of a list that is brought and is not a sitemap
_IS_URL = re.compile(r"https?://", re.IGNORECASE)


class _Place(NamedTuple):
    """A list to be brought, and who named it."""

    url: str
    parent: str | None = None  # an index; None: a person, or a site's robots.txt
    depth: int = 0
    asked: bool = False  # by a person, who can put right what is wrong with it


async def items(
    sources: Sequence[str], bring: Bring, options: Options | None = None, problems: Problems | None = None
) -> AsyncIterator[Item]:
    """Every URL of the sources. `problems` says afterwards what could not be read.

    Raises `bad_args` where a source cannot be read at all, or where nothing usable was in any of them.
    """
    problems = problems if problems is not None else Problems()
    before = len(problems.first)
    walk = _Walk(bring, options or Options(), problems)
    ordinal = 0
    named = ["standard input" if source == STANDARD_INPUT else source for source in sources]
    for source in sources:
        async for rows in walk.source(source):
            for url, columns, _ in rows:
                yield Item(ordinal, url, columns)
                ordinal += 1
    if not ordinal:
        own = problems.first[before:]
        reason = f"there is no URL in it ({own[0]})" if own else "there is no URL in it"
        raise SpanielError(Code.BAD_ARGS, field=", ".join(named), reason=reason)


class _Walk:
    """Over all sources of a run; a sitemap is read once. Rows go in lists, which cost less to hand on."""

    def __init__(self, bring: Bring, options: Options, problems: Problems) -> None:
        self._bring = bring
        self._options = options
        self._kind = kind_named(options.kind)
        self._problems = problems
        self._seen: set[str] = set()

    async def source(self, source: str) -> AsyncIterator[list[Row]]:
        if self._is_site(source):
            found = self._lists(await self._sitemaps(source))
        elif _IS_URL.match(source):
            found = self._lists([_Place(source, asked=True)])
        else:
            found = self._files(local_files(source))
        async for rows in found:
            yield rows

    def _is_site(self, source: str) -> bool:
        if self._kind is not None or not _IS_URL.match(source):
            return self._kind == Kind.SITE
        url = parse(source)
        return url.path == "/" and not url.query

    async def _files(self, paths: list[str]) -> AsyncIterator[list[Row]]:
        for path in paths:
            children: list[_Place] = []
            async for taken in beside_the_loop(read_file(path, self._options, self._problems)):
                rows, named = _apart(taken)
                yield rows
                children += [_Place(child.url, None, 1) for child in named]  # a file is the user's, and what it names
            async for rows in self._lists(children):
                yield rows

    async def _sitemaps(self, site: str) -> list[_Place]:
        """Those that robots.txt names, wherever they are; else the one at the usual place."""
        origin = parse(site).origin
        named = await self._named_by_robots(f"{origin}/robots.txt")
        named = [f"{origin}{url}" if url.startswith("/") else url for url in named]  # wrong, frequent, plain
        return [_Place(url) for url in named or [f"{origin}/sitemap.xml"]]

    async def _named_by_robots(self, url: str) -> list[str]:
        try:
            async with self._bring(url, 2 * LIMIT) as brought:
                return list(dict.fromkeys(parse_robots(brought.stream.read(LIMIT + 1)).sitemaps))
        except SpanielError as error:
            if error.code != Code.HTTP_4XX:  # a site without one is no problem
                self._problems.note(url, error.message)
            return []

    async def _lists(self, places: list[_Place]) -> AsyncIterator[list[Row]]:
        """Depth first, by a stack of places: an index's children come before its next neighbour."""
        waiting = places[::-1]
        while waiting:
            place = waiting.pop()
            if not self._may_read(place):
                continue
            children: list[_Place] = []
            async for taken in self._brought(place):
                rows, named = _apart(taken)
                yield rows
                children += [_Place(child.url, place.url, place.depth + 1) for child in named]
            waiting.extend(reversed(children))

    def _may_read(self, place: _Place) -> bool:
        try:
            url = parse(place.url)
            foreign = place.parent is not None and not same_owner(url, parse(place.parent))
        except SpanielError as error:
            self._problems.note(place.url, error.message)
            return False
        reason = None
        if url.href in self._seen:
            reason = "is named more than once; it was read once"
        elif place.depth > DEEPEST:
            reason = f"is an index within more than {DEEPEST} others; it was not read"
        elif foreign:
            reason = f"is a sitemap on another site than the index that names it ({place.parent}); it was not read"
        elif len(self._seen) >= MOST_URLS:
            reason = f"is one of more than {MOST_URLS:,} sitemaps; it was not read"
        if reason:
            self._problems.note(place.url, reason, lost=url.href not in self._seen)
            return False
        self._seen.add(url.href)
        return True

    async def _brought(self, place: _Place) -> AsyncIterator[list[Row | Child]]:
        options = self._options if place.asked else Options()  # what was said is of what was named
        kind = kind_named(options.kind) or kind_by_name(parse(place.url).path)
        most = MOST_BYTES if kind in (None, Kind.SITEMAP, Kind.FEED) else MOST_LIST_BYTES
        try:
            async with self._bring(place.url, most) as brought:
                async for taken in beside_the_loop(self._read(brought, options)):
                    yield [_absolute(row, brought.url) if isinstance(row, Row) else row for row in taken]
        except SpanielError as error:
            if error.code == Code.BAD_ARGS and place.asked:
                raise
            self._problems.note(place.url, error.message)

    def _read(self, brought: Brought, options: Options) -> Iterator[Row | Child]:
        about = About(brought.url, parse(brought.url).path, brought.content_type)
        return read_stream(brought.stream, about, options, self._problems)


def _apart(taken: list[Row | Child]) -> tuple[list[Row], list[Child]]:
    return [row for row in taken if isinstance(row, Row)], [row for row in taken if isinstance(row, Child)]


def _absolute(row: Row, base: str) -> Row:
    """Feeds may name pages by their path alone; no list of URLs does."""
    if not row.url.startswith(("/", "./", "../", "?")):
        return row
    try:
        return row._replace(url=parse(row.url, base=parse(base)).href)
    except SpanielError:
        return row
