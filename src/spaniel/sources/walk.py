"""Yields the URLs of sources: local files, lists on the web, a site by its sitemaps, an index by its children.

The order is reproducible: sources as given, files of a pattern by name, sitemaps as in their index, depth first.
"""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from functools import cache
from ipaddress import ip_address
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from spaniel.errors import Code, SpanielError
from spaniel.net.deadline import Deadline
from spaniel.pipeline.retrieve import DEFAULT_OPTIONS, follow, successful
from spaniel.robots.rules import LIMIT
from spaniel.robots.rules import parse as parse_robots
from spaniel.sources.files import STANDARD_INPUT, StreamInfo, local_files, read_file, read_stream
from spaniel.sources.kinds import FileKind, kind_by_name, kind_named
from spaniel.sources.rows import ChildSitemap, ListOptions, Problems, SourceItem, SourceRow
from spaniel.sources.streams import read_in_thread
from spaniel.sources.xml_lists import MAX_BYTES, MAX_URLS
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from contextlib import AbstractAsyncContextManager
    from typing import BinaryIO

    from publicsuffixlist import PublicSuffixList

    from spaniel.net.guard import Target
    from spaniel.net.http import Http, Page, RequestOptions
    from spaniel.pipeline.retrieve import Door, FetchOptions
    from spaniel.url.value import Url


DEEPEST = 4  # nested sitemap indexes (chosen; sitemaps.org allows one level)
MAX_LIST_BYTES = 1 << 30  # of a fetched list that is not a sitemap (chosen)
_IS_URL = re.compile(r"https?://", re.IGNORECASE)
Named = tuple[str, list[SourceRow]]  # the file or URL of a list, and rows from it


class FetchedList(NamedTuple):
    """The decoded body of a response in a seekable local file."""

    url: str  # after redirects
    content_type: str
    stream: BinaryIO


class ListFetcher(Protocol):
    """Fetches a list of any content type, guarded and polite like every other fetch.

    A body of more than `most` bytes is refused (`response_too_large`); every failure is a `SpanielError`.
    Also fetches robots.txt itself. The file may be removed when the block ends.
    """

    def __call__(self, url: str, most: int) -> AbstractAsyncContextManager[FetchedList]: ...


class _Place(NamedTuple):
    """A list to be fetched, and where its URL comes from."""

    url: str
    parent: str | None = None  # the sitemap index; None: the user or robots.txt
    depth: int = 0
    by_user: bool = False  # given by the user, who can correct it


async def items(
    sources: Sequence[str],
    fetch: ListFetcher,
    options: ListOptions | None = None,
    problems: Problems | None = None,
    *,
    may_be_empty: bool = False,
) -> AsyncIterator[SourceItem]:
    """Yield every URL of the sources. `problems` contains afterwards what could not be read.

    Raises `bad_args` if a source cannot be read at all, or, unless `may_be_empty`, if the sources contain no URL.
    """
    problems = problems if problems is not None else Problems()
    before = len(problems.first)
    walk = _Walk(fetch, options or ListOptions(), problems)
    ordinal = 0
    named = ["standard input" if source == STANDARD_INPUT else source for source in sources]
    for source in sources:
        async for name, rows in walk.source(source):
            for url, columns, _, place, record in rows:
                yield SourceItem(ordinal, url, columns, name, place, record)
                ordinal += 1
    if not ordinal and not may_be_empty:
        own = problems.first[before:]
        reason = f"there is no URL in it ({own[0]})" if own else "there is no URL in it"
        raise SpanielError(Code.BAD_ARGS, field=", ".join(named), reason=reason)


class _Walk:
    """Walks over all sources of a run; a sitemap is read once. Rows are passed on in lists, which is faster."""

    def __init__(self, fetch: ListFetcher, options: ListOptions, problems: Problems) -> None:
        self._fetch = fetch
        self._options = options
        self._kind = kind_named(options.kind)
        self._problems = problems
        self._seen: set[str] = set()

    async def source(self, source: str) -> AsyncIterator[Named]:
        if self._is_site(source):
            found = self._lists(await self._sitemaps(source))
        elif _IS_URL.match(source):
            found = self._lists([_Place(source, by_user=True)])
        else:
            found = self._files(local_files(source))
        async for named in found:
            yield named

    def _is_site(self, source: str) -> bool:
        if self._kind is not None or not _IS_URL.match(source):
            return self._kind == FileKind.SITE
        url = parse(source)
        return url.path == "/" and not url.query

    async def _files(self, paths: list[str]) -> AsyncIterator[Named]:
        for path in paths:
            children: list[_Place] = []
            async for taken in read_in_thread(read_file(path, self._options, self._problems)):
                rows, named = _split(taken)
                yield path, rows
                children += [_Place(child.url, None, 1) for child in named]  # trusted like the user's own file
            async for found in self._lists(children):
                yield found

    async def _sitemaps(self, site: str) -> list[_Place]:
        """Return the sitemaps in robots.txt, on any host; else `/sitemap.xml`."""
        origin = parse(site).origin
        named = await self._named_by_robots(f"{origin}/robots.txt")
        named = [f"{origin}{url}" if url.startswith("/") else url for url in named]  # wrong, but frequent and clear
        return [_Place(url) for url in named or [f"{origin}/sitemap.xml"]]

    async def _named_by_robots(self, url: str) -> list[str]:
        try:
            async with self._fetch(url, 2 * LIMIT) as fetched:
                return list(dict.fromkeys(parse_robots(fetched.stream.read(LIMIT + 1)).sitemaps))
        except SpanielError as error:
            if error.code != Code.HTTP_4XX:  # a site without one is no problem
                self._problems.note(url, error.message)
            return []

    async def _lists(self, places: list[_Place]) -> AsyncIterator[Named]:
        """Fetch and read lists depth first: the children of an index come before its next sibling."""
        waiting = places[::-1]
        while waiting:
            place = waiting.pop()
            if not self._may_read(place):
                continue
            children: list[_Place] = []
            async for taken in self._fetched(place):
                rows, named = _split(taken)
                yield place.url, rows
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
        elif len(self._seen) >= MAX_URLS:
            reason = f"is one of more than {MAX_URLS:,} sitemaps; it was not read"
        if reason:
            self._problems.note(place.url, reason, lost=url.href not in self._seen)
            return False
        self._seen.add(url.href)
        return True

    async def _fetched(self, place: _Place) -> AsyncIterator[list[SourceRow | ChildSitemap]]:
        # The options apply only to sources that the user gave
        options = self._options if place.by_user else ListOptions(whole_records=self._options.whole_records)
        kind = kind_named(options.kind) or kind_by_name(parse(place.url).path)
        most = MAX_BYTES if kind in (None, FileKind.SITEMAP, FileKind.FEED) else MAX_LIST_BYTES
        try:
            async with self._fetch(place.url, most) as fetched:
                async for taken in read_in_thread(self._read(fetched, options)):
                    yield [_absolute(row, fetched.url) if isinstance(row, SourceRow) else row for row in taken]
        except SpanielError as error:
            if error.code == Code.BAD_ARGS and place.by_user:
                raise
            self._problems.note(place.url, error.message)

    def _read(self, fetched: FetchedList, options: ListOptions) -> Iterator[SourceRow | ChildSitemap]:
        about = StreamInfo(fetched.url, parse(fetched.url).path, fetched.content_type)
        return read_stream(fetched.stream, about, options, self._problems)


def _split(taken: list[SourceRow | ChildSitemap]) -> tuple[list[SourceRow], list[ChildSitemap]]:
    children = [row for row in taken if type(row) is ChildSitemap]
    rows = [row for row in taken if type(row) is SourceRow] if children else cast("list[SourceRow]", taken)
    return rows, children


def _absolute(row: SourceRow, base: str) -> SourceRow:
    """Resolve a relative URL, which feeds may contain."""
    if not row.url.startswith(("/", "./", "../", "?")):
        return row
    try:
        return row._replace(url=parse(row.url, base=parse(base)).href)
    except SpanielError:
        return row


def same_owner(one: Url, other: Url) -> bool:
    """Whether two URLs belong to the same registrable domain by the public suffix list."""
    return one.host == other.host or _owner(one.host) == _owner(other.host)


def _owner(host: str) -> str:
    """Return the registrable domain: `example.co.uk` for `docs.example.co.uk`; IP addresses and `a.github.io` as is."""
    bare = host.rstrip(".")
    if _is_address(bare.strip("[]")):
        return bare
    return _suffixes().privatesuffix(bare) or bare


@cache
def _suffixes() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()  # the bundled list; takes about 10 MB and 0.3 s


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


SECONDS = 300.0  # for one list (chosen), which may have a gigabyte


def fetch_lists(door: Door, http: Http, way: FetchOptions = DEFAULT_OPTIONS, seconds: float = SECONDS) -> ListFetcher:
    """Return a fetcher that downloads each list into a temporary file."""

    @asynccontextmanager
    async def fetch(url: str, most: int) -> AsyncIterator[FetchedList]:
        with TemporaryFile(prefix="spaniel-") as file:

            async def ask(url: Url, target: Target, deadline: Deadline, options: RequestOptions) -> Page:
                return await http.stream(url, target, deadline, file.write, options)

            options = way.options._replace(max_bytes=most)
            found = await follow(parse(url), door, ask, Deadline(seconds), way._replace(options=options))
            page = successful(found.page)
            file.seek(0)
            yield FetchedList(page.url.href, page.headers.get("content-type", ""), cast("BinaryIO", file))

    return fetch
