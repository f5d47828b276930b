"""Links of a run while it lasts, on disk: each URL once, by host. Memory does not grow with their number.

It is a temporary SQLite file without a name, which is gone when it is closed, whatever ended the program.
"""

from __future__ import annotations

import sqlite3
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError
from spaniel.health.packing import pack, plain, unpack_checked, unpack_link
from spaniel.health.verdict import ANYTHING, Checked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from spaniel.health.verdict import Link

SILENT, REACHED = 1, 2  # of a link that was asked in an earlier part of the run: whether any answer came
MOST_PLACES = 1000  # of one link that are kept; a link in a site's footer may stand in every page of a tree
TABLES = """
CREATE TABLE links (id INTEGER PRIMARY KEY, asked TEXT NOT NULL, nth INTEGER NOT NULL, host TEXT NOT NULL,
    data BLOB NOT NULL, done INTEGER NOT NULL DEFAULT 0, UNIQUE (asked, nth));
CREATE TABLE told (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE held (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
"""


class Queued(NamedTuple):
    """A link that waits for its turn."""

    id: int
    asked: str  # the URL that is asked, which may be another than the link's
    link: Link


class Spool:
    """To be closed. `address` says which URL is asked for a link's, in one spelling, and at which host that is."""

    def __init__(self, address: Callable[[str], tuple[str, str]]) -> None:
        self._address = address
        self._db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.executescript(TABLES)
        self.total = 0
        self._digest = 0

    def close(self) -> None:
        self._db.close()

    def take(self, links: Iterable[Link | Checked]) -> None:
        """All of them. What is told already (skipped, or looked up on disk) is handed on as it is."""
        with _room_for_it():
            self._db.execute("BEGIN")
            for link in links:
                if isinstance(link, Checked):
                    self.tell(link)
                else:
                    self._put(link)
            self._db.execute("CREATE INDEX by_host ON links (host, id)")
            self._db.execute("COMMIT")

    def _put(self, link: Link) -> None:
        try:
            asked, host = self._address(link.url)
            self._insert(asked, host, link)
        except sqlite3.IntegrityError:
            self._join(asked, host, link)
        except UnicodeEncodeError:
            self._put(plain(link))

    def _insert(self, asked: str, host: str, link: Link, nth: int = 0) -> None:
        row = (asked, nth, host, pack(link._replace(places=link.places[:MOST_PLACES])))
        self._db.execute("INSERT INTO links (asked, nth, host, data) VALUES (?, ?, ?, ?)", row)
        self.total += 1
        self._digest ^= int.from_bytes(sha256(pack((asked, nth, link.expected))).digest())  # in whatever order

    def _join(self, asked: str, host: str, link: Link) -> None:
        """The same URL again, in another place. Only where the two assert different things is it asked twice."""
        rows = self._db.execute("SELECT id, nth, data FROM links WHERE asked = ? ORDER BY nth", (asked,)).fetchall()
        for id_, _, data in rows:
            known = unpack_link(data)
            if known.expected == link.expected or ANYTHING in (known.expected, link.expected):
                merged = known._replace(
                    fragments=tuple(dict.fromkeys((*known.fragments, *link.fragments))),
                    places=tuple(dict.fromkeys((*known.places, *link.places)))[:MOST_PLACES],
                    expected=link.expected if known.expected == ANYTHING else known.expected,
                    priority=known.priority or link.priority,
                )
                self._db.execute("UPDATE links SET data = ? WHERE id = ?", (pack(merged), id_))
                return
        self._insert(asked, host, link, len(rows))

    @property
    def fingerprint(self) -> str:
        """Of what is asked and what is asserted, in whatever order it came."""
        return f"{self.total}-{self._digest:064x}"

    def hosts(self) -> Iterator[tuple[str, int, int]]:
        """Hosts, how many links are left at each, and what was heard of it in an earlier part of the run.

        The one with most links comes first, since the run lasts as long as it.
        """
        left = "SELECT host, SUM(done = 0) AS left, MAX(done) FROM links GROUP BY host HAVING left"
        yield from self._db.execute(f"{left} ORDER BY left DESC, MIN(id)")

    def hosts_done_before(self) -> tuple[int, int]:
        """Hosts of which no link is left, and how many of them answered."""
        heard = "SELECT MAX(done) AS heard FROM links GROUP BY host HAVING SUM(done = 0) = 0"
        hosts, reached = self._db.execute(f"SELECT COUNT(*), SUM(heard = {REACHED}) FROM ({heard})").fetchone()  # noqa: S608
        return hosts, reached or 0

    def of_host(self, host: str, after: int, most: int) -> list[Queued]:
        """The next links of a host, in the order in which they came."""
        wanted = "SELECT id, asked, data FROM links WHERE done = 0 AND host = ? AND id > ? ORDER BY id LIMIT ?"
        rows = self._db.execute(wanted, (host, after, most)).fetchall()
        return [Queued(id_, asked, unpack_link(data)) for id_, asked, data in rows]

    def answered(self, asked: str, checked: Checked, *, reached: bool) -> Checked | None:
        """What was told in an earlier part of this run, of the link as it is now; None where it is no longer wanted."""
        rows = self._db.execute("SELECT id, data FROM links WHERE asked = ? AND done = 0", (asked,)).fetchall()
        for id_, data in rows:
            link = unpack_link(data)
            if link.expected == checked.link.expected:
                self._db.execute("UPDATE links SET done = ? WHERE id = ?", (REACHED if reached else SILENT, id_))
                return checked._replace(link=link)
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


class _room_for_it:  # noqa: N801  read as words
    """A full disk is told as what it is."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, sqlite3.OperationalError):
            reason = f"the list of links cannot be kept there: {error}; make room, or name another folder as TMPDIR"
            raise SpanielError(Code.BAD_ARGS, field="the folder for temporary files", reason=reason) from None
