"""The links of a run and their results: one shard of the run store.

With a history the shard is in a folder of its own beside it, found by what is checked; a run that was stopped or killed
is resumed by opening it. A result is committed before it is reported. Without a history the shard is a temporary file,
in which only bad results are kept until the end.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from spaniel.errors import Code, SpanielError
from spaniel.files import locked
from spaniel.health.history import ABANDONED_AFTER, HostCounts, facts_of
from spaniel.health.links import Checked, Link, by_fragment, plain
from spaniel.runs.store import Shard, ShardResult, host_number, host_of
from spaniel.verdicts import ANYTHING, BAD, NOTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from spaniel.health.history import History, HostReach, PastResult
    from spaniel.health.links import Place
    from spaniel.verdicts import Past

    Address = Callable[[str], tuple[str, str]]

MOST_PLACES = 1000  # of one link that are kept; a link in a site's footer may be in every page of a tree
BLOCK = 200  # rows that are read at once
LOCK = "run.lock"
NOT_KEPT = "the history cannot be used; results are shown but not recorded"
FAILURES = (OSError, sqlite3.Error, SpanielError)

_encode = msgspec.msgpack.Encoder().encode
_link = msgspec.msgpack.Decoder(Link).decode
_checked = msgspec.msgpack.Decoder(Checked).decode


class LinkTask:
    """A link to check."""

    __slots__ = ("attempts", "id", "link", "past", "url")

    def __init__(self, ordinal: int, url: str, link: Link, past: Past = NOTHING) -> None:
        self.id = ordinal
        self.url = url  # that is requested, which may differ from the link's
        self.link = link
        self.past = past
        self.attempts = 0  # that ended with the wish of its host to wait


class LinkResult(NamedTuple):
    task: LinkTask
    checked: Checked
    reach: HostReach | None  # how far the request came; None where there was none
    at: float  # seconds since 1970
    head_differs: bool = False


class LinkStore:
    """To be closed. `address`: the URL that is requested for a link's, in one spelling, and its host."""

    def __init__(self, address: Address, run: _RunFolder | None = None, remarks: Sequence[str] = ()) -> None:
        self._address, self._run = address, run
        self._shard = Shard.temporary() if run is None else run.plan()
        self._is_planned = False
        self._next = 0
        self._unstored: list[Checked] = []  # bad ones, where they cannot be written
        self.history = None if run is None else run.history
        self.remarks = [*remarks]  # for people
        self.trouble = ""  # why results are not recorded
        self.total = 0  # links to be requested, those of the earlier part of a resumed run included
        self.known_count = 0  # links that are reported without being requested

    def close(self) -> None:
        if self._is_planned:
            self._shard.close()
        else:
            self._shard.discard()
        if self._run is not None:
            self._run.close(is_planned=self._is_planned)

    # planning

    def take(self, links: Iterable[Link | Checked]) -> None:
        """All of them; those whose result is known already (skipped, or looked up on disk) are reported as they are."""
        self._shard.add_stored(map(self._row, links))
        resumes = self._run is not None and self._run.is_resumed
        self._shard.finish_planning(self._carry_over if resumes else None)
        self._is_planned = True
        if self._run is not None:
            self._shard.close()
            self._shard = self._run.open()
        self._shard.read("CREATE TEMP TABLE before AS SELECT ordinal FROM results")
        query = "SELECT COUNT(refusal), COUNT(*) - COUNT(refusal) FROM items WHERE same_as IS NULL"
        ((self.known_count, self.total),) = self._shard.read(query)

    def _row(self, link: Link | Checked) -> tuple[object, ...]:
        try:
            return self._known_row(link) if isinstance(link, Checked) else self._link_row(link)
        except UnicodeEncodeError:  # half characters are stored as their escapes
            return self._row(plain(link))

    def _link_row(self, link: Link) -> tuple[object, ...]:
        url, host = self._address(link.url)
        number = host_number(host)
        variant = None if link.expected == ANYTHING else _encode(link.expected)
        return self._ordinal(), number, hash((number, url)), url, variant, None, _encode(_bounded(link)), None

    def _known_row(self, checked: Checked) -> tuple[object, ...]:
        link = checked.link
        variant = _encode((link.fragments, checked.verdict, checked.reason))
        refusal = _encode(checked._replace(link=_bounded(link)))
        return self._ordinal(), 0, hash((0, link.url)), link.url, variant, None, _encode(_bounded(link)), refusal

    def _ordinal(self) -> int:
        self._next += 1
        return self._next

    def _carry_over(self, plan: sqlite3.Connection) -> None:
        """Results of the earlier part of the run, for links that are still to be checked, and assert the same."""
        query = (
            "SELECT ordinal, host, url, reach, at, head_differs, is_held, results.data FROM earlier_results AS results"
        )
        query += " JOIN earlier USING (ordinal) ORDER BY ordinal"
        same = "SELECT ordinal, data, copies FROM items WHERE page = ? AND url = ? AND same_as IS NULL"
        answered = gone = 0
        for _, number, url, *rest, data in plan.execute(query).fetchall():
            checked = _checked(data)
            for ordinal, link_data, copies in plan.execute(same, (hash((number, url)), url)).fetchall():
                link = _joined(_link(link_data), (row[0] for row in plan.execute(COPIES, (ordinal,))) if copies else ())
                if link.expected == checked.link.expected and set(link.fragments) <= set(checked.link.fragments):
                    plan.execute("INSERT INTO results VALUES (?, ?, ?, ?, ?, ?)", (ordinal, *rest, data))
                    plan.execute("UPDATE items SET is_open = 0 WHERE ordinal = ?", (ordinal,))
                    answered += 1
                    break
            else:
                gone += 1
        count = "SELECT COUNT(*) FROM items WHERE same_as IS NULL AND refusal IS NULL"
        ((total,),) = plan.execute(count).fetchall()
        self.remarks.append(f"resuming: {answered:,} of {total:,} links were checked before")
        links = "SELECT url, variant FROM {} WHERE same_as IS NULL AND refusal IS NULL"
        new = f"SELECT COUNT(*) FROM ({links.format('items')} EXCEPT {links.format('earlier')})"  # noqa: S608
        old = f"SELECT COUNT(*) FROM ({links.format('earlier')} EXCEPT {links.format('items')})"  # noqa: S608
        if plan.execute(new).fetchone()[0] or plan.execute(old).fetchone()[0]:
            self.remarks.append(
                f"the links are not the same as when the run began: {gone:,} of those that were checked are no longer"
                " wanted, or assert something else; new ones are checked"
            )

    # what is left to do

    def hosts(self) -> Iterator[tuple[str, int]]:
        """Hosts, and how many links are left at each: the most first. Links that are not URLs have the host ''."""
        yield from self._shard.hosts()
        query = "SELECT COUNT(*) FROM items WHERE is_open = 1 AND host = 0 AND refusal IS NULL"
        if others := self._shard.read(query)[0][0]:
            yield "", others

    def of_host(self, host: str, after: int, count: int, /) -> list[LinkTask]:
        """The next links of a host, in the order of the input."""
        rows = self._shard.rows_of_host(host, after, count)
        tasks = [LinkTask(ordinal, url, self._link_of(ordinal, data, copies)) for ordinal, url, _, data, copies in rows]
        if self.history is not None and tasks:
            try:
                pasts = self.history.pasts(host, [task.url for task in tasks])
                for task in tasks:
                    task.past = pasts.get(task.url, NOTHING)
            except FAILURES as error:
                self._stop_recording(error)
        return tasks

    def _link_of(self, ordinal: int, data: bytes, copies: int) -> Link:
        return _joined(_link(data), self._copies(ordinal) if copies else ())

    def _copies(self, first: int) -> Iterator[bytes]:
        after = 0
        query = "SELECT ordinal, data FROM items WHERE same_as = ? AND ordinal > ? ORDER BY ordinal LIMIT ?"
        while rows := self._shard.read(query, first, after, BLOCK):
            for after, data in rows:  # noqa: B007  the last one's
                yield data

    # results

    @property
    def is_recording(self) -> bool:
        """Whether all results are written."""
        return self.history is not None

    def commit(self, results: Sequence[LinkResult]) -> None:
        """Write results, before they are reported."""
        try:
            self._shard.commit_results([_stored(result) for result in results])
        except FAILURES as error:
            self._stop_recording(error)
            self._unstored += [result.checked for result in results if is_held(result.checked)]

    def _stop_recording(self, error: Exception) -> None:
        self.history, self.trouble = None, trouble_with(error)

    def known(self) -> Iterator[Checked]:
        """Results that were known before the run."""
        after = 0
        query = (
            "SELECT ordinal, refusal, copies FROM items WHERE is_open = 1 AND host = 0 AND refusal IS NOT NULL"
            " AND ordinal > ? ORDER BY ordinal LIMIT ?"
        )
        while rows := self._shard.read(query, after, BLOCK):
            for after, data, copies in rows:
                checked = _checked(data)
                yield checked._replace(link=_joined(checked.link, self._copies(after))) if copies else checked

    def earlier(self) -> Iterator[Checked]:
        """Results of the earlier part of a resumed run."""
        return self._results("ordinal IN (SELECT ordinal FROM temp.before)")

    def held(self) -> Iterator[Checked]:
        """Results that are reported at the end, when it is known whether there was a network."""
        yield from self._results("is_held = 1")
        yield from self._unstored

    def _results(self, which: str) -> Iterator[Checked]:
        """With their links as they are now."""
        after = -1
        query = "SELECT ordinal, results.data, items.data, copies FROM results JOIN items USING (ordinal)"
        query += f" WHERE {which} AND ordinal > ? ORDER BY ordinal LIMIT ?"
        while rows := self._shard.read(query, after, BLOCK):
            for after, data, link, copies in rows:
                yield _checked(data)._replace(link=self._link_of(after, link, copies))

    def reached_before(self) -> tuple[HostCounts, dict[str, int]]:
        """How far requests to hosts came in the earlier part of a resumed run: hosts without links that are left, and
        the others by name."""
        if self._run is None or not self._run.is_resumed:
            return HostCounts(), {}
        left = "EXISTS (SELECT 1 FROM items AS left WHERE left.is_open = 1 AND left.host = items.host)"
        query = f"SELECT url, MAX(reach), {left} FROM results JOIN items USING (ordinal) WHERE reach IS NOT NULL"  # noqa: S608
        rows = self._shard.read(f"{query} GROUP BY host")
        return HostCounts.of(reach for _, reach, left in rows if not left), {
            host_of(url): reach for url, reach, left in rows if left
        }

    def settle(self, *, network: bool) -> Iterator[None]:
        """The run has ended: its results become observations of the history. It yields after each block."""
        if self._run is None or self.history is None:
            return
        try:
            yield from _settle(self.history, self._run, self._shard, network=network)
        except FAILURES as error:
            self._stop_recording(error)


COPIES = "SELECT data FROM items WHERE same_as = ? ORDER BY ordinal"


def is_held(checked: Checked) -> bool:
    """Whether a result, or a part of it, is reported at the end only."""
    if not checked.findings:
        return checked.verdict in BAD
    return any(part.verdict in BAD for part in by_fragment(checked))


def _stored(result: LinkResult) -> ShardResult:
    checked = result.checked
    link = checked.link
    bare = checked._replace(link=Link(link.url, link.fragments, expected=link.expected))
    try:
        data = _encode(bare)
    except UnicodeEncodeError:
        data = _encode(plain(bare))
    return ShardResult(result.task.id, result.reach, result.at, result.head_differs, is_held(checked), data)


def _bounded(link: Link) -> Link:
    return link if len(link.places) <= MOST_PLACES else link._replace(places=_some(link.places))


def _joined(link: Link, copies: Iterable[bytes]) -> Link:
    """The same URL in several places."""
    for data in copies:
        other = _link(data)
        link = link._replace(
            fragments=tuple(dict.fromkeys((*link.fragments, *other.fragments))),
            places=_some(tuple(dict.fromkeys((*link.places, *other.places)))),
            expected=other.expected if link.expected == ANYTHING else link.expected,
            priority=link.priority or other.priority,
        )
    return link


def _some(places: tuple[Place, ...]) -> tuple[Place, ...]:
    """Not more than a report can use, but one for each fragment at least."""
    if len(places) <= MOST_PLACES:
        return places
    first = {place.fragment: place for place in reversed(places)}
    kept = places[:MOST_PLACES]
    return kept + tuple(place for place in first.values() if place not in kept)


# Runs that have not ended


class _RunFolder:
    """The folder of one run, which is locked: its name begins with a hash of what is checked."""

    def __init__(self, history: History, path: str, *, is_resumed: bool) -> None:
        self.history, self.path, self.is_resumed = history, path, is_resumed
        self._lock = ExitStack()
        self._lock.enter_context(locked(os.path.join(path, LOCK), wait=0))

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    def plan(self) -> Shard:
        return Shard.plan_again(self.path, 0) if self.is_resumed else Shard.create(self.path, 0)

    def open(self) -> Shard:
        return Shard.open(self.path, 0, is_durable=False)

    def remove(self) -> None:
        for name in os.listdir(self.path):
            with suppress(FileNotFoundError):  # SQLite removes its log
                os.unlink(os.path.join(self.path, name))
        os.rmdir(self.path)

    def close(self, *, is_planned: bool = True) -> None:
        if not is_planned and not self.is_resumed:
            with suppress(OSError):
                self.remove()
        self._lock.close()


def open_store(address: Address, history: History | None, scope: str, *, resume: bool = False) -> LinkStore:
    """A store for the links of a run. `scope` names what is checked: a run is resumed with the same.

    If the history cannot be written, that is reported, and nothing is recorded.
    """
    if history is None:
        return LinkStore(address)
    remarks: Sequence[str] = ()
    try:
        history.take_earlier_version(scope, resume=resume)
        with history.open_runs() as folder:
            path = folder.path
        left = _left(history, path, scope)
        if resume and left is not None:
            return _resumed(address, history, left)
        remarks = ["there is no unfinished run of this to resume; it begins anew"] if resume else _unfinished(left)
        return LinkStore(address, _RunFolder(history, _new_folder(history, path, scope), is_resumed=False), remarks)
    except (OSError, sqlite3.Error) as error:
        return LinkStore(address, remarks=(*remarks, f"{NOT_KEPT}: {trouble_with(error)}"))


def _resumed(address: Address, history: History, path: str) -> LinkStore:
    try:
        return LinkStore(address, _RunFolder(history, path, is_resumed=True))
    except TimeoutError:
        raise SpanielError(Code.BAD_ARGS, field="--resume", reason="the run is still under way") from None
    except SpanielError as error:
        reason = f"the unfinished run cannot be read ({error.details.get('reason')}); leave --resume out"
        raise SpanielError(Code.BAD_ARGS, field="--resume", reason=reason) from None


def _prefix(scope: str) -> str:
    return blake2b(scope.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest() + "-"


def _new_folder(history: History, path: str, scope: str) -> str:
    moment = int(history.now() * 1e6)
    while True:
        new = os.path.join(path, f"{_prefix(scope)}{moment:020}")
        with suppress(FileExistsError):
            os.mkdir(new, 0o700)
            return new
        moment += 1


def _left(history: History, path: str, scope: str) -> str | None:
    """The newest unfinished run of this. Those that were not resumed for a day, or that were killed while they were
    settled, are settled."""
    found = None
    for name in sorted(os.listdir(path)):
        run = os.path.join(path, name)
        is_settling = history.is_settling(name)
        if is_settling or history.now() - int(name.rpartition("-")[2]) / 1e6 > ABANDONED_AFTER:
            _tidy(history, run, is_settling=is_settling)
        if name.startswith(_prefix(scope)) and not is_settling and _is_planned(run):
            found = run
    return found


def _is_planned(path: str) -> bool:
    """A run that was killed before that has no results."""
    return os.path.exists(os.path.join(path, "shard-0000.sqlite3")) and Shard.is_planned(path, 0)


def _tidy(history: History, path: str, *, is_settling: bool) -> None:
    try:
        run = _RunFolder(history, path, is_resumed=True)
    except TimeoutError:  # it is under way
        return
    try:
        shard = run.open()
        ((last,),) = shard.read("SELECT MAX(at) FROM results")
        if last is None:
            shard.close()
            run.remove()
        elif is_settling or history.now() - last > ABANDONED_AFTER:
            reaches = "SELECT MAX(reach) FROM results JOIN items USING (ordinal) WHERE reach IS NOT NULL GROUP BY host"
            counts = HostCounts.of(reach for (reach,) in shard.read(reaches))
            for _ in _settle(history, run, shard, network=counts.had_network):
                pass
        shard.close()
    except SpanielError:  # it was killed while it was planned, or is damaged
        run.remove()
    finally:
        run.close()


def _settle(history: History, run: _RunFolder, shard: Shard, *, network: bool) -> Iterator[None]:
    query = "SELECT ordinal, url, at, head_differs, results.data FROM results JOIN items USING (ordinal)"
    query += " WHERE ordinal > ? ORDER BY ordinal LIMIT ?"

    def read(after: int, count: int) -> list[PastResult]:
        return [
            (ordinal, url, host_of(url), at, facts_of(_checked(data)), bool(head_differs))
            for ordinal, url, at, head_differs, data in shard.read(query, after, count)
        ]

    yield from history.settle(run.name, read, network=network)
    shard.close()
    run.remove()
    history.forget_run(run.name)


def _unfinished(path: str | None) -> list[str]:
    """What is said of a run that was left unfinished and is not resumed."""
    if path is None:
        return []
    with suppress(*FAILURES, TimeoutError), locked(os.path.join(path, LOCK), wait=0):
        shard = Shard.open(path, 0)
        ((count, last),) = shard.read("SELECT COUNT(*), MAX(at) FROM results")
        shard.close()
        if count:
            when = datetime.fromtimestamp(last, UTC).strftime("%Y-%m-%d %H:%M UTC")
            return [f"a run of this was left unfinished at {when} with {count:,} results; --resume would resume it"]
    return []


def trouble_with(error: Exception) -> str:
    """What is wrong with a history, for people."""
    if isinstance(error, SpanielError):
        return error.message
    where = getattr(error, "filename", None)
    what = getattr(error, "strerror", None) or str(error)
    return f"{where}: {what}" if where else what
