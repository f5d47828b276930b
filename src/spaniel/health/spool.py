"""Links of a run while it lasts, on disk: each URL once, by host. Memory does not grow with their number.

It is a temporary SQLite file without a name, which is gone when it is closed, whatever ended the program.
"""

from __future__ import annotations

import sqlite3
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError
from spaniel.health.links import Checked, pack, plain, unpack_checked, unpack_link
from spaniel.health.ports import Heard, HostCounts
from spaniel.verdicts import ANYTHING, NOTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from spaniel.health.links import Link, Place
    from spaniel.verdicts import Past

_DONE = 1 - min(Heard)  # added to how far a request came, in an earlier part of the run; 0: not asked yet
MOST_PLACES = 1000  # of one link that are kept; a link in a site's footer may stand in every page of a tree
TABLES = """
CREATE TABLE links (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, asked TEXT NOT NULL, host TEXT NOT NULL,
    data BLOB NOT NULL, done INTEGER NOT NULL DEFAULT 0);
CREATE TABLE told (id INTEGER PRIMARY KEY, data BLOB NOT NULL, key BLOB UNIQUE);
CREATE TABLE held (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
"""


class Queued(NamedTuple):
    """A link that waits for its turn."""

    id: int
    asked: str  # the URL that is asked, which may be another than the link's
    link: Link
    past: Past = NOTHING  # what is known of it from before


class Spool:
    """To be closed. `address` says which URL is asked for a link's, in one spelling, and at which host that is."""

    def __init__(self, address: Callable[[str], tuple[str, str]]) -> None:
        self._address = address
        self._db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.executescript(TABLES)
        self.total = 0  # links to be asked
        self.told_before = 0  # that are told without being asked
        self._digest = 0

    def close(self) -> None:
        self._db.close()

    def take(self, links: Iterable[Link | Checked]) -> None:
        """All of them. What is told already (skipped, or looked up on disk) is handed on as it is."""
        with _room_for_it():
            self._db.execute("BEGIN")
            for link in links:
                if isinstance(link, Checked):
                    self.told_before += self._tell_once(link)
                else:
                    self._put(link)
            self._db.execute("CREATE INDEX by_host ON links (host, id)")
            self._db.execute("COMMIT")

    def _tell_once(self, checked: Checked) -> bool:
        """To be told with the rest. False for what is told already of another place, which is added there."""
        link = checked.link
        if len(link.places) > MOST_PLACES:
            checked = checked._replace(link=link._replace(places=link.places[:MOST_PLACES]))
        key = blake2b(pack((link.url, link.fragments, checked.verdict, checked.reason)), digest_size=16).digest()
        new = "INSERT OR IGNORE INTO told (key, data) VALUES (?, ?)"
        if self._db.execute(new, (key, pack(checked))).rowcount:
            return True
        id_, data = self._db.execute("SELECT id, data FROM told WHERE key = ?", (key,)).fetchone()
        known = unpack_checked(data)
        joined = pack(known._replace(link=_joined(known.link, checked.link)))
        self._db.execute("UPDATE told SET data = ? WHERE id = ?", (joined, id_))
        return False

    def _put(self, link: Link) -> None:
        try:
            asked, host = self._address(link.url)
            if not self._insert(asked, host, link):
                self._join(asked, host, link)
        except UnicodeEncodeError:
            self._put(plain(link))

    def _insert(self, asked: str, host: str, link: Link, nth: int = 0) -> bool:
        """False where the URL is there already."""
        if len(link.places) > MOST_PLACES:
            link = link._replace(places=_some(link.places))
        key = _key(asked, nth)
        new = "INSERT OR IGNORE INTO links (key, asked, host, data) VALUES (?, ?, ?, ?)"
        if not self._db.execute(new, (key, asked, host, pack(link))).rowcount:
            return False
        self.total += 1
        self._digest ^= int.from_bytes(key)  # in whatever order they come
        if link.expected != ANYTHING:
            self._digest ^= int.from_bytes(_key(f"{asked} {link.expected}", nth))
        return True

    def _join(self, asked: str, host: str, link: Link) -> None:
        """The same URL again, in another place. Only where the two assert different things is it asked twice."""
        nth = 0
        while row := self._db.execute("SELECT id, data FROM links WHERE key = ?", (_key(asked, nth),)).fetchone():
            known = unpack_link(row[1])
            if known.expected == link.expected or ANYTHING in (known.expected, link.expected):
                self._db.execute("UPDATE links SET data = ? WHERE id = ?", (pack(_joined(known, link)), row[0]))
                return
            nth += 1
        self._insert(asked, host, link, nth)

    @property
    def fingerprint(self) -> str:
        """Of what is asked and what is asserted, in whatever order it came."""
        return f"{self.total}-{self._digest:032x}"

    def hosts(self) -> Iterator[tuple[str, int, Heard | None]]:
        """Hosts, how many links are left at each, and what was heard of it in an earlier part of the run.

        The one with most links comes first, since the run lasts as long as it.
        """
        left = "SELECT host, SUM(done = 0) AS left, MAX(done) FROM links GROUP BY host HAVING left"
        for host, count, done in self._db.execute(f"{left} ORDER BY left DESC, MIN(id)"):
            yield host, count, Heard(done - _DONE) if done else None

    def hosts_done_before(self) -> HostCounts:
        """Hosts of which no link is left, and how far requests to them came."""
        counts = HostCounts()
        for (done,) in self._db.execute("SELECT MAX(done) FROM links GROUP BY host HAVING SUM(done = 0) = 0"):
            counts = counts.with_one(done - _DONE)
        return counts

    def of_host(self, host: str, after: int, most: int) -> list[Queued]:
        """The next links of a host, in the order in which they came."""
        wanted = "SELECT id, asked, data FROM links WHERE done = 0 AND host = ? AND id > ? ORDER BY id LIMIT ?"
        rows = self._db.execute(wanted, (host, after, most)).fetchall()
        return [Queued(id_, asked, unpack_link(data)) for id_, asked, data in rows]

    def answered(self, asked: str, checked: Checked, heard: Heard) -> Checked | None:
        """What was told in an earlier part of this run, of the link as it is now; None where it is no longer wanted."""
        nth, wanted = 0, "SELECT id, data FROM links WHERE key = ? AND done = 0"
        while row := self._db.execute(wanted, (_key(asked, nth),)).fetchone():
            link = unpack_link(row[1])
            if link.expected == checked.link.expected and set(link.fragments) <= set(checked.link.fragments):
                self._db.execute("UPDATE links SET done = ? WHERE id = ?", (heard + _DONE, row[0]))
                return checked._replace(link=link)
            nth += 1
        return None

    def tell(self, checked: Checked) -> None:
        """To be told with the rest."""
        self._db.execute("INSERT INTO told (data) VALUES (?)", (pack(checked),))

    def told(self) -> Iterator[Checked]:
        """What was told before, or in an earlier part of the run."""
        for (data,) in self._db.execute("SELECT data FROM told ORDER BY id"):
            yield unpack_checked(data)

    def hold(self, checked: Checked) -> None:
        """Until the end of the run shows whether there was a network."""
        with _room_for_it():
            self._db.execute("INSERT INTO held (data) VALUES (?)", (pack(checked),))

    def held(self) -> Iterator[Checked]:
        for (data,) in self._db.execute("SELECT data FROM held ORDER BY id"):
            yield unpack_checked(data)


def _key(asked: str, nth: int) -> bytes:
    """Sixteen bytes, in place of a URL of any length; of one that is asked more than once, for each time others."""
    return blake2b(asked.encode(), digest_size=16, salt=nth.to_bytes(4)).digest()


def _joined(known: Link, link: Link) -> Link:
    return known._replace(
        fragments=tuple(dict.fromkeys((*known.fragments, *link.fragments))),
        places=_some(tuple(dict.fromkeys((*known.places, *link.places)))),
        expected=link.expected if known.expected == ANYTHING else known.expected,
        priority=known.priority or link.priority,
    )


def _some(places: tuple[Place, ...]) -> tuple[Place, ...]:
    """Not more than a report can use, but one for each fragment at least."""
    if len(places) <= MOST_PLACES:
        return places
    first = {place.fragment: place for place in reversed(places)}
    kept = places[:MOST_PLACES]
    return kept + tuple(place for place in first.values() if place not in kept)


class _room_for_it:  # noqa: N801  read as words
    """A full disk is told as what it is."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, sqlite3.OperationalError):
            reason = f"the list of links cannot be kept there: {error}; make room, or name another folder as TMPDIR"
            raise SpanielError(Code.BAD_ARGS, field="the folder for temporary files", reason=reason) from None
