"""From URL to page: the redirect loop, with guard and robots at every hop (SRD Appendix B)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError
from spaniel.hosts import Manners, led_by_another
from spaniel.net.http import Options
from spaniel.pipeline.trace import Step, Trace
from spaniel.url.domains import ANYWHERE, Domains
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from spaniel.net.deadline import Deadline
    from spaniel.net.guard import Target
    from spaniel.net.http import Page
    from spaniel.pipeline.conditional import Conditional
    from spaniel.pipeline.ports import Door
    from spaniel.url.value import Url

    Ask = Callable[[Url, Target, Deadline, Options], Awaitable[Page]]

HTTPS_DOWNGRADE = "https_downgrade"


class Way(NamedTuple):
    """How hops are made: a profile's, and where they may lead: the request's."""

    options: Options = Options()
    max_redirects: int = 5
    manners: Manners = Manners()
    domains: Domains = ANYWHERE
    conditional: Conditional | None = None  # asked of the hop that a stored copy came from, and of no other


USUAL_WAY = Way()


class Retrieved(NamedTuple):
    """A page, how it was reached, and what is to be noted about that."""

    page: Page
    chain: tuple[str, ...]  # the URLs before the final one
    notes: tuple[str, ...]
    picture: bytes | None = None  # of a rendered page, where one was asked for
    archive_url: str = ""  # of a copy: where it was
    archive_date: str = ""  # and when it was taken
    content_signal: str | None = None  # what robots.txt says about the use of the page


class Trail:
    """Where an attempt has been: for its trace, and for whoever tells how it ended."""

    __slots__ = ("_shown", "_trace", "answer", "attempt", "chain", "status", "url")

    def __init__(self, url: Url, trace: Trace | None = None, attempt: int = 1) -> None:
        self.url = url
        self._shown = url.redacted
        self.chain: list[str] = []
        self.status: int | None = None
        self.answer: Page | None = None  # the last one, whatever its status
        self.attempt = attempt
        self._trace = trace or Trace()

    @property
    def is_led(self) -> bool:
        """Whether another site's redirect led to where it is."""
        return bool(self.chain) and led_by_another(self.chain, self.url)

    def step(self, name: str) -> Step:
        return self._trace.step(name, self._shown, self.attempt, len(self.chain))

    def move(self, url: Url) -> None:
        self.chain.append(self.url.href)
        self.arrive(url)

    def arrive(self, url: Url) -> None:
        self.url, self._shown = url, url.redacted


async def retrieve(
    url: Url, door: Door, deadline: Deadline, way: Way = USUAL_WAY, trail: Trail | None = None
) -> Retrieved:
    """The page behind a URL, or the refusal that its status means; or a 304 that was asked for."""
    trail = trail or Trail(url)
    found = await follow(url, door, door.http.get, deadline, way, trail)
    if way.conditional is None or not way.conditional.answered_by(found.page):
        return found._replace(page=successful(found.page))
    if way.conditional.agrees_with(found.page):
        return found
    again = await follow(found.page.url, door, door.http.get, deadline, way._replace(conditional=None), trail)
    return again._replace(page=successful(again.page), notes=tuple(dict.fromkeys((*found.notes, *again.notes))))


async def follow(url: Url, door: Door, ask: Ask, deadline: Deadline, way: Way, trail: Trail | None = None) -> Retrieved:
    """Follow redirects to an answer, whatever its status: who called judges it. `ask` makes one hop."""
    trail = trail or Trail(url)
    notes: list[str] = []
    with deadline.guarding("start"):
        for _ in range(way.max_redirects + 1):
            with trail.step("guard"):
                door.guard.check_page(url, way.domains)
                if way.manners.heeds_delays:
                    await door.hosts.heed(url.origin, deadline, way.manners)
                target = await door.guard.vet(url, deadline)
            with trail.step("robots"):
                permission = await door.robots.require(url, target, deadline, way.options.headers)
                _add(notes, permission.note)
                if permission.crawl_delay:
                    door.hosts.told_crawl_delay(url.host, permission.crawl_delay)
            with trail.step("fetch") as step:
                page = await _hop(trail, target, door, ask, deadline, way)
                trail.answer, trail.status, step.text = page, page.status, str(page.status)
            if page.location is None:
                return Retrieved(page, tuple(trail.chain), tuple(notes), content_signal=permission.content_signal)
            following = parse(page.location, base=url)._replace(fragment=None)
            _add(notes, HTTPS_DOWNGRADE if url.scheme == "https" and following.scheme == "http" else None)
            trail.move(following)
            url = following
    raise SpanielError(Code.REDIRECT_LIMIT, count=way.max_redirects + 1, max=way.max_redirects)


async def _hop(trail: Trail, target: Target, door: Door, ask: Ask, deadline: Deadline, way: Way) -> Page:
    url, led = trail.url, trail.is_led
    turn = door.hosts.turn(url.origin, deadline, way.manners, led=led)
    async with turn:
        if target.stale:  # the wait for this turn was longer than a name's addresses may be kept (D2-39)
            target = await door.guard.vet(url, deadline)
        options = way.options if way.conditional is None else way.conditional.options_for(url, way.options)
        page = await ask(url, target, deadline, options._replace(before_repeat=turn.again))
        door.hosts.answered(url.origin, page.status, page.headers, led=led)  # before the next one has its turn
    return page


def _add(notes: list[str], note: str | None) -> None:
    if note is not None and note not in notes:
        notes.append(note)


def successful(page: Page) -> Page:
    """A status that has no code of its own is `network` (D2-27)."""
    if page.ok:
        return page
    details = {"status": page.status, "status_text": page.reason}
    if 400 <= page.status <= 499:
        price = page.headers.get("crawler-price") if page.status == 402 else None
        raise SpanielError(
            Code.HTTP_4XX, **details, retry_after=page.headers.get("retry-after"), crawler_price=price or None
        )
    if 500 <= page.status <= 599:
        raise SpanielError(Code.HTTP_5XX, **details, retry_after=page.headers.get("retry-after"))
    raise SpanielError(Code.NETWORK, **details, error=f"status {page.status} brings no page")
