"""The way to an answer, hop by hop: guard and manners at each, robots.txt where asked, a cookie where it is needed."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError
from spaniel.hosts import Manners, led_by_another
from spaniel.net.http import Options
from spaniel.url.domains import ANYWHERE, Domains
from spaniel.url.parsing import parse
from spaniel.verdicts import Hop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from spaniel.net.deadline import Deadline
    from spaniel.net.guard import Target
    from spaniel.net.http import Page
    from spaniel.pipeline.ports import Door
    from spaniel.url.value import Url

    Ask = Callable[[Url, Target, Deadline, Options], Awaitable[Page]]

MOST_COOKIES, LONGEST_COOKIE = 8, 2048  # of one origin; characters


class Ways(NamedTuple):
    """How links are asked: the same for all of a run."""

    options: Options = Options()
    manners: Manners = Manners(at_once=4, spacing_seconds=0.0, heeds_delays=True)
    domains: Domains = ANYWHERE
    max_redirects: int = 10
    seconds: float = 20.0  # for an answer, with all its redirects; and for each pause in a body that is measured
    head_seconds: float = 10.0  # for HEAD: some servers never answer it
    content_seconds: float = 3600.0  # for a whole body that is measured, of any size
    heed_robots: bool = False
    soft_404: bool = False  # ask for a page that cannot exist, too, and compare: takes GET, and one more request
    use_head: bool = True
    confirm_head: bool = True  # see whether HEAD tells the truth at a host before it is believed there


class Trip:
    """How far an attempt has come: for whoever tells how it ended, also where that is a refusal."""

    __slots__ = (
        *("_answered_by", "_target", "certificate_ends", "chain", "cookies", "deadline", "fragment", "is_asked"),
        *("status", "url", "visited"),
    )

    def __init__(self, url: Url, deadline: Deadline) -> None:
        self.url, self.deadline = url, deadline
        self.chain: list[Hop] = []
        self.visited: set[Url] = set()
        self.cookies: dict[str, dict[str, str]] = {}  # by origin; forgotten with the trip
        self.status: int | None = None
        self.fragment = ""  # that the last redirect with one named
        self.is_asked = False  # whether any request went out
        self._target: Target | None = None  # where the last hop goes
        self._answered_by = ""
        self.certificate_ends: float | None = None  # the first to end of all on the way

    def arrived(self, page: Page) -> None:
        if page.certificate_ends is not None:
            self.certificate_ends = min(page.certificate_ends, self.certificate_ends or page.certificate_ends)
        self.status, self._answered_by = page.status, page.address

    def go_to(self, target: Target) -> None:
        self._target, self._answered_by = target, ""

    @property
    def address(self) -> str:
        """That answered, or was to."""
        return self._answered_by or (str(self._target.addresses[0]) if self._target is not None else "")

    def move(self, page: Page) -> None:
        """Go where a redirect leads."""
        self.visited.add(self.url)
        self._keep_cookies(page)
        self.chain.append(Hop(self.url.href, page.status))
        target = parse(page.location or "", base=self.url)
        self.fragment = target.fragment or self.fragment
        self.url = target._replace(fragment=None)

    def refresh(self, page: Page, target: Url) -> None:
        """Go where a page sends its reader by itself: as a redirect, which nobody calls permanent."""
        self.visited.add(self.url)
        self.chain.append(Hop(self.url.href, page.status))
        self.url = target

    def _keep_cookies(self, page: Page) -> None:
        jar = self.cookies.setdefault(self.url.origin, {})
        for line in page.headers.get("set-cookie", "").split("\n"):
            name, mark, value = line.partition(";")[0].strip().partition("=")
            sendable = (name + value).isascii() and (name + value).isprintable()
            if mark and name and sendable and len(name) + len(value) <= LONGEST_COOKIE and len(jar) < MOST_COOKIES:
                jar[name] = value

    def cookie(self) -> str:
        """What is sent to a page that redirected to itself: what its own origin has set meanwhile. Else nothing is."""
        jar = self.cookies.get(self.url.origin) if self.url in self.visited else None
        return "; ".join(f"{name}={value}" for name, value in jar.items()) if jar else ""


async def follow(trip: Trip, door: Door, ask: Ask, ways: Ways, most: int) -> Page:
    """The answer at the end of at most so many redirects, whatever its status. `ask` makes one hop."""
    with trip.deadline.guarding("start"):
        while True:
            page = await _hop(trip, door, ask, ways)
            trip.arrived(page)
            if page.location is None or not most:
                return page
            if len(trip.chain) == most:
                raise SpanielError(Code.REDIRECT_LIMIT, count=most + 1, max=most)
            trip.move(page)


async def _hop(trip: Trip, door: Door, ask: Ask, ways: Ways) -> Page:
    url, deadline, manners = trip.url, trip.deadline, ways.manners
    target = await door.guard.vet_page(url, deadline, ways.domains)
    _leave_alone(door, url.origin, manners)
    trip.go_to(target)
    if ways.heed_robots:
        permission = await door.robots.require(url, target, deadline, ways.options.headers)
        if permission.crawl_delay:
            manners = manners._replace(spacing_seconds=max(manners.spacing_seconds, permission.crawl_delay))
    turn = door.hosts.turn(url.host, deadline, _at_a_host(manners))
    async with turn:
        if deadline.phase == "queue":  # it may have asked for time meanwhile; to look again takes as long as to parse
            _leave_alone(door, url.origin, manners)
        options, cookie = ways.options._replace(before_repeat=turn.again), trip.cookie()
        if cookie:
            options = options._replace(more={**options.more, "Cookie": cookie})
        trip.is_asked = True
        page = await ask(url, target, deadline, options)
    led = bool(trip.chain) and led_by_another((hop.url for hop in trip.chain), url)
    door.hosts.answered(url.origin, page.status, page.headers, led=led)
    return page


@lru_cache(maxsize=64)
def _at_a_host(manners: Manners) -> Manners:
    """What a host asked for is told to the run, which waits: a turn that waited for it would hold its place so long.
    Waiting in line is nobody's fault, and not on the clock."""
    return manners._replace(heeds_delays=False, waits_count=False)


def _leave_alone(door: Door, origin: str, manners: Manners) -> None:
    if manners.heeds_delays and (asked := door.hosts.asked(origin)) is not None:
        raise asked.refusal()
