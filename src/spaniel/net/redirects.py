"""The redirect loop: from a URL to the response at the end of its redirects, guarded at every hop.

It is security code and exists once: pages, links, robots.txt, archives, canonical links, sitemaps and lists use it.
At every hop it judges port, domain and address, resolves `Location` against the current URL, drops the fragment, and
judges the addresses again if waiting for a turn has made them stale (D2-39). One deadline and one limit hold for all
hops. What differs between its users is in their `Visitor`: robots.txt, the host's turn, and the request itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from spaniel.errors import Code, SpanielError
from spaniel.url.parsing import parse
from spaniel.verdicts import Hop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    from spaniel.net.deadline import Deadline
    from spaniel.net.guard import Target
    from spaniel.net.http import Page, RequestOptions
    from spaniel.url.allowlist import DomainRules
    from spaniel.url.value import Url

    Ask = Callable[[Url, Target, Deadline, RequestOptions], Awaitable[Page]]  # makes one request
    Wait = Callable[[Url], Awaitable[None]]

HTTPS_DOWNGRADE = "https_downgrade"  # the note of D2-09


class Hops:
    """The hops of a request so far. It remains readable when the request is refused."""

    __slots__ = ("chain", "fragment", "notes", "redirects", "status", "url")

    def __init__(self, url: Url) -> None:
        self.url = url
        self.chain: list[Hop] = []  # the redirects before `url`
        self.redirects = 0  # that count towards the limit
        self.status: int | None = None  # of the last response
        self.fragment = ""  # named by the last redirect that had one
        self.notes: tuple[str, ...] = ()

    @property
    def urls(self) -> tuple[str, ...]:
        """The URLs before the current one."""
        return tuple([hop.url for hop in self.chain])

    def start(self, url: Url) -> None:
        """Begin another request of the same attempt, with the full redirect limit."""
        self.url, self.redirects, self.notes = url, 0, ()

    def begin(self, step: str) -> None:
        """Called when a step of a hop begins (guard, robots, fetch), for a trace."""

    def arrived(self, page: Page) -> None:
        self.status = page.status

    def resolve(self, page: Page) -> Url:
        """The target of a redirect, without its fragment. An override can refuse it before it is followed."""
        url = parse(page.location or "", base=self.url)
        if url.fragment is None:
            return url
        self.fragment = url.fragment or self.fragment
        return url._replace(fragment=None)

    def move(self, status: int, url: Url) -> None:
        """Follow a redirect."""
        if self.url.scheme == "https" and url.scheme == "http":
            self.note(HTTPS_DOWNGRADE)
        self.chain.append(Hop(self.url.href, status))
        self.redirects += 1
        self.url = url

    def note(self, note: str | None) -> None:
        if note is not None and note not in self.notes:
            self.notes = (*self.notes, note)


H = TypeVar("H", bound=Hops)
H_contra = TypeVar("H_contra", bound=Hops, contravariant=True)


class Judge(Protocol):
    """The part of the guard that is used here; tests replace it."""

    def check_page(self, url: Url, asked: DomainRules, /) -> None: ...

    def vet(self, url: Url, deadline: Deadline, /) -> Awaitable[Target]: ...

    def vet_page(self, url: Url, deadline: Deadline, asked: DomainRules, /) -> Awaitable[Target]: ...


class Visitor(Protocol[H_contra]):
    """What is done at each hop, in this order. Each method can raise a refusal, which ends the loop."""

    @property
    def deadline(self) -> Deadline:
        """Of all hops together."""

    @property
    def wait(self) -> Wait | None:
        """Awaited for a URL of an allowed form before its name is resolved; None if there is no wait."""

    async def admit(self, hops: H_contra, target: Target, /) -> AbstractAsyncContextManager[object]:
        """Check whether the request is allowed (robots.txt), and return the turn in which it is made."""

    def request(self, hops: H_contra, target: Target, /) -> Awaitable[Page]:
        """Make the request, in the turn. `target` can be newer than the one that was admitted."""

    def answered(self, hops: H_contra, page: Page, /) -> None:
        """Record a response, still in the turn."""


async def follow(
    hops: H,
    guard: Judge,
    visitor: Visitor[H],
    domains: DomainRules | None,
    limit: int | None,
    target: Target | None = None,
) -> Page:
    """The response at the end of the redirects, whatever its status.

    `domains` are the domains that the request allows for pages; None for other resources, to which only the blocked
    domains of the settings apply. With `limit` None redirects are not followed. `target` is the first hop's, if it has
    been vetted already.
    """
    deadline = visitor.deadline
    with deadline.guarding("start"):
        while True:
            url = hops.url
            if target is None or target.stale:
                hops.begin("guard")
                target = await _vetted(url, deadline, guard, visitor.wait, domains)
            hops.begin("robots")
            turn = await visitor.admit(hops, target)
            hops.begin("fetch")
            async with turn:
                if target.stale:  # waiting for the turn took longer than addresses may be kept (D2-39)
                    target = await guard.vet(url, deadline)
                page = await visitor.request(hops, target)
                visitor.answered(hops, page)
            hops.arrived(page)
            if limit is None or page.location is None:
                return page
            following = hops.resolve(page)
            if hops.redirects >= limit:
                raise SpanielError(Code.REDIRECT_LIMIT, count=limit + 1, max=limit)
            hops.move(page.status, following)
            target = None


def _vetted(
    url: Url, deadline: Deadline, guard: Judge, wait: Wait | None, domains: DomainRules | None
) -> Awaitable[Target]:
    if domains is None:
        return guard.vet(url, deadline)
    if wait is None:
        return guard.vet_page(url, deadline, domains)
    return _waited_for(url, deadline, guard, wait, domains)


async def _waited_for(url: Url, deadline: Deadline, guard: Judge, wait: Wait, domains: DomainRules) -> Target:
    guard.check_page(url, domains)
    await wait(url)
    return await guard.vet(url, deadline)
