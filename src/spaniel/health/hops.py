"""The hops of a link: what the redirect loop does at each, with robots.txt if asked and cookies where needed."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from spaniel.defaults import CHECK_CONTENT_SECONDS, CHECK_TIMEOUT_SECONDS, MAX_LINK_REDIRECTS
from spaniel.errors import SpanielError
from spaniel.hosts import Politeness, led_by_another
from spaniel.hosts.hosts import ASK_FOR_TIME
from spaniel.net import redirects
from spaniel.net.http import RequestOptions
from spaniel.net.redirects import Hops
from spaniel.url.allowlist import ANYWHERE, DomainRules
from spaniel.verdicts import Hop

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from spaniel.hosts.hosts import HostTurn
    from spaniel.net.deadline import Deadline
    from spaniel.net.guard import Target
    from spaniel.net.http import Page
    from spaniel.net.redirects import Ask
    from spaniel.pipeline.retrieve import Door
    from spaniel.url.value import Url

MOST_COOKIES, LONGEST_COOKIE = 8, 2048  # of one origin; characters


class LinkOptions(NamedTuple):
    """How links are asked: the same for all of a run."""

    request: RequestOptions = RequestOptions()
    politeness: Politeness = Politeness(at_once=4, delay_seconds=0.0, respect_delays=True)
    domains: DomainRules = ANYWHERE
    max_redirects: int = MAX_LINK_REDIRECTS
    # For an answer, with all its redirects; and for each pause in a body that is measured.
    seconds: float = CHECK_TIMEOUT_SECONDS.default
    head_seconds: float = 10.0  # for HEAD: some servers never answer it
    content_seconds: float = CHECK_CONTENT_SECONDS.default  # for a whole body that is measured, of any size
    respect_robots: bool = False
    soft_404: bool = False  # ask for a page that cannot exist, too, and compare: takes GET, and one more request
    use_head: bool = True
    confirm_head: bool = True  # see whether HEAD tells the truth at a host before it is believed there


class LinkHops(Hops):
    """The hops of one attempt at a link, and the evidence gathered on the way."""

    __slots__ = ("_answered_by", "certificate_ends", "cookies", "deadline", "is_asked", "target", "visited")

    def __init__(self, url: Url, deadline: Deadline) -> None:
        super().__init__(url)
        self.deadline = deadline
        self.visited: set[Url] = set()
        self.cookies: dict[str, dict[str, str]] = {}  # by origin; dropped with the attempt
        self.is_asked = False  # whether any request went out
        self.target: Target | None = None  # of the current hop
        self._answered_by = ""
        self.certificate_ends: float | None = None  # the first of all certificates to expire

    def arrived(self, page: Page) -> None:
        if page.certificate_ends is not None:
            self.certificate_ends = min(page.certificate_ends, self.certificate_ends or page.certificate_ends)
        self.status, self._answered_by = page.status, page.address

    def go_to(self, target: Target) -> None:
        self.target, self._answered_by = target, ""

    @property
    def address(self) -> str:
        """That answered, or was to."""
        return self._answered_by or (str(self.target.addresses[0]) if self.target is not None else "")

    def resolve(self, page: Page) -> Url:
        self._keep_cookies(page)
        try:
            return super().resolve(page)
        except SpanielError:
            self.chain.append(Hop(self.url.href, page.status))  # evidence: there was an answer, and it redirected
            raise

    def move(self, status: int, url: Url) -> None:
        self.visited.add(self.url)
        super().move(status, url)

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


async def follow(hops: LinkHops, door: Door, ask: Ask, options: LinkOptions, limit: int) -> Page:
    """The answer at the end of the redirects, whatever its status; a redirect itself if none is to be followed."""
    visitor = _LinkVisitor(hops.deadline, door, ask, options)
    return await redirects.follow(hops, door.guard, visitor, options.domains, limit or None)


class _LinkVisitor:
    """At each hop: leave the host alone if it asked for that, obey robots.txt if asked to, take a turn, ask."""

    __slots__ = ("_ask", "_door", "_options", "_turn", "deadline")
    _turn: HostTurn
    wait = None  # the run waits, with other links meanwhile

    def __init__(self, deadline: Deadline, door: Door, ask: Ask, options: LinkOptions) -> None:
        self.deadline, self._door, self._ask, self._options = deadline, door, ask, options

    async def admit(self, hops: LinkHops, target: Target) -> HostTurn:
        url, door, options, politeness = hops.url, self._door, self._options, self._options.politeness
        _leave_alone(door, url.origin, politeness)
        hops.go_to(target)
        if options.respect_robots:
            permission = await door.robots.require(url, target, self.deadline, options.request.headers)
            if permission.crawl_delay:
                door.hosts.set_crawl_delay(url.host, permission.crawl_delay)
        self._turn = turn = door.hosts.turn(url.host, self.deadline, _at_a_host(politeness))
        return turn

    def request(self, hops: LinkHops, target: Target) -> Awaitable[Page]:
        is_new = target is not hops.target
        if is_new or self.deadline.phase == "queue":  # it waited, and the host may have asked for time meanwhile
            _leave_alone(self._door, hops.url.origin, self._options.politeness)
        if is_new:
            hops.go_to(target)
        options, cookie = self._options.request._replace(before_repeat=self._turn.again), hops.cookie()
        if cookie:
            options = options._replace(more={**options.more, "Cookie": cookie})
        hops.is_asked = True
        return self._ask(hops.url, target, self.deadline, options)

    def answered(self, hops: LinkHops, page: Page) -> None:
        if page.status not in ASK_FOR_TIME:
            return
        url = hops.url
        led = bool(hops.chain) and led_by_another(hops.urls, url)
        self._door.hosts.answered(url.origin, page.status, page.headers, led=led)


@lru_cache(maxsize=64)
def _at_a_host(politeness: Politeness) -> Politeness:
    """The run waits for what a host asked for with Retry-After, with other links meanwhile: so a turn does not.
    Waiting in line is not on the clock of a link."""
    return politeness._replace(waits_for_retry_after=False, waits_count=False)


def _leave_alone(door: Door, origin: str, politeness: Politeness) -> None:
    if politeness.respect_delays and (asked := door.hosts.asked(origin)) is not None:
        raise asked.refusal()
