"""A short memory for names opens no way around the guard: what is kept is judged, and what was judged is dialled."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from ipaddress import ip_address

import pytest

from spaniel.errors import SpanielError
from spaniel.net.addresses import Address
from spaniel.net.deadline import Deadline
from spaniel.net.guard import AddressValidator, Guard, Security
from spaniel.net.http import Http
from spaniel.net.resolver import MAX_KEPT, CachingResolver
from spaniel.pipeline.retrieve import retrieve
from spaniel.robots.gate import RobotsPermission
from spaniel.testing import FakeResolver
from spaniel.url.parsing import parse
from tests.loopback import Services
from tests.net.harness import Anyone
from tests.net.servers import serve, site

NAME = "a.example"
PUBLIC, PRIVATE = "93.184.216.34", "10.0.0.1"
PAGE = parse(f"http://{NAME}/")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def addresses(guard: Guard) -> list[str]:
    return [str(address) for address in (await guard.vet(PAGE, Deadline(5))).addresses]


@pytest.mark.req("D2-39")
async def test_a_name_is_asked_for_once_in_a_while() -> None:
    resolver, clock = FakeResolver({NAME: PUBLIC}), Clock()
    guard = Guard(CachingResolver(resolver, clock=clock))
    for clock.now in (0.0, 10.0, 29.0, 31.0, 60.0):
        assert await addresses(guard) == [PUBLIC]
    assert resolver.asked == [NAME, NAME]


@pytest.mark.req("D2-39")
async def test_a_name_is_kept_for_thirty_seconds_and_not_a_moment_longer() -> None:
    """Unless it says otherwise, and every client of ours says nothing."""
    resolver, clock = FakeResolver({NAME: PUBLIC}), Clock()
    guard = Guard(CachingResolver(resolver, clock=clock), clock=clock)
    asked = []
    for clock.now in (0.0, 29.99, 30.0, 59.99, 60.0):
        await addresses(guard)
        asked.append(len(resolver.asked))
    assert asked == [1, 1, 2, 2, 3]


@pytest.mark.req("D2-39")
@pytest.mark.parametrize(("wait", "asked"), [(29.9, 1), (30.0, 2)])
async def test_a_hop_that_waited_too_long_for_its_turn_is_judged_again(wait: float, asked: int) -> None:
    """A crawl delay may be longer than a name's addresses are kept: it is not dialled where it was a minute ago."""
    clock, deadline = Clock(), Deadline(30)

    class Slow(Anyone):
        async def require(self, *_: object) -> RobotsPermission:
            clock.now += wait
            resolver.names[NAME] = PRIVATE
            return RobotsPermission()

    async with serve(site({"/": (200, [], b"page")})) as server:
        resolver = FakeResolver({NAME: "127.0.0.1"})
        security = Security(block_loopback=False, allow_insecure_overrides=True, allowed_ports=(server.port,))
        async with Services(Guard(resolver, security, clock=clock), Http()) as services:
            door = services.door._replace(robots=Slow())
            hop = retrieve(parse(server.url("/", NAME)), door, deadline)
            if asked == 1:
                assert (await hop).page.body == b"page"
            else:
                with pytest.raises(SpanielError, match="ssrf_blocked"):
                    await hop
        assert len(resolver.asked) == asked


async def test_a_name_that_rebinds_is_met_at_the_judged_address_or_not_at_all() -> None:
    resolver, clock = FakeResolver({NAME: PUBLIC}), Clock()
    guard = Guard(CachingResolver(resolver, 30, clock))
    assert await addresses(guard) == [PUBLIC]
    resolver.names[NAME] = PRIVATE
    assert await addresses(guard) == [PUBLIC]  # the target names it, and nothing but its target can be dialled
    clock.now = 31
    with pytest.raises(SpanielError, match="ssrf_blocked"):
        await addresses(guard)
    open_guard = Guard(resolver, Security(block_private_ips=False, allow_insecure_overrides=True))
    assert await addresses(open_guard) == [PRIVATE]  # the positive control: it does lead there


@pytest.mark.req("D2-39")
async def test_what_is_kept_is_judged_each_time() -> None:
    remembering = CachingResolver(FakeResolver({NAME: PRIVATE}))
    loose = Guard(remembering, Security(block_private_ips=False, allow_insecure_overrides=True))
    assert await addresses(loose) == [PRIVATE]
    with pytest.raises(SpanielError, match="ssrf_blocked"):
        await addresses(Guard(remembering))


@pytest.mark.req("FR-WF-06a")
async def test_target_is_reused_only_for_a_cached_dns_answer() -> None:
    resolver, clock = FakeResolver({NAME: PUBLIC}), Clock()
    guard = Guard(CachingResolver(resolver, 30, clock))
    first = await guard.vet(PAGE, Deadline(5))
    assert await guard.vet(PAGE, Deadline(5)) is first
    assert await guard.vet(parse(f"https://{NAME}/"), Deadline(5)) is not first  # another port
    clock.now, resolver.names[NAME] = 31, "93.184.216.35"
    second = await guard.vet(PAGE, Deadline(5))
    assert [str(address) for address in second.addresses] == ["93.184.216.35"]
    assert str(first.addresses[0]) == PUBLIC  # what was proved stays what it was


@pytest.mark.req("FR-WF-06a")
async def test_a_kept_answer_that_could_be_changed_is_proof_of_nothing() -> None:
    class Shared:
        """A resolver that answers with one list, and changes it."""

        found = [ip_address(PUBLIC)]  # noqa: RUF012

        async def resolve(self, _: str) -> list[Address]:
            return self.found

    resolver = Shared()
    guard = Guard(resolver)
    assert await addresses(guard) == [PUBLIC]
    resolver.found[0] = ip_address("93.184.216.35")
    assert await addresses(guard) == ["93.184.216.35"]


async def test_targets_are_made_for_a_bounded_number_of_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spaniel.net.guard.MAX_TARGETS", 2)
    guard = Guard(CachingResolver(FakeResolver(elsewhere=PUBLIC)))
    urls = [parse(f"http://site{number}.example/") for number in range(3)]
    made = [await guard.vet(url, Deadline(5)) for url in urls]
    assert len(guard._targets) == 2
    assert await guard.vet(urls[2], Deadline(5)) is made[2]
    assert await guard.vet(urls[0], Deadline(5)) is not made[0]


async def test_a_failure_is_not_kept() -> None:
    resolver = FakeResolver({}, elsewhere=None)
    guard = Guard(CachingResolver(resolver))
    with pytest.raises(SpanielError, match="dns_failed"):
        await addresses(guard)
    resolver.names[NAME] = PUBLIC
    assert await addresses(guard) == [PUBLIC]


async def test_the_memory_is_bounded() -> None:
    remembering = CachingResolver(FakeResolver(elsewhere=PUBLIC))
    for number in range(MAX_KEPT + 50):
        await remembering.resolve(f"site{number}.example")
    assert len(remembering._kept) == MAX_KEPT


async def test_deadline_does_not_run_while_paused() -> None:
    deadline = Deadline(0.3)
    with deadline.guarding("start"):
        with deadline.paused():
            await asyncio.sleep(0.5)
        assert deadline.left() > 0
    with pytest.raises(SpanielError, match="timeout"), deadline.guarding("start"):
        await asyncio.sleep(5)


async def test_a_deadline_that_was_held_still_ends_what_it_guards() -> None:
    deadline = Deadline(0.2)

    async def work() -> None:
        with deadline.guarding("start"):
            with deadline.paused():
                await asyncio.sleep(0.3)
            await asyncio.sleep(5)

    with pytest.raises(SpanielError, match="timeout"):
        await work()


async def test_mutable_and_new_address_lists_are_judged_each_time() -> None:
    """Only the same tuple counts as judged, since it is immutable."""
    answers: list[Sequence[Address]] = []

    class Given:
        async def resolve(self, host: str) -> Sequence[Address]:
            return answers[-1]

    validator = AddressValidator(Given())
    public, private = ip_address("93.184.216.34"), ip_address("10.0.0.1")
    answers.append((public,))
    assert await validator.resolve_and_validate("site.example") == await validator.resolve_and_validate("site.example")
    answers.append((public, private))
    with pytest.raises(SpanielError, match="ssrf_blocked"):
        await validator.resolve_and_validate("site.example")
    with pytest.raises(SpanielError, match="ssrf_blocked"):  # what was refused is not remembered as judged
        await validator.resolve_and_validate("site.example")
    changing = [public]
    answers.append(changing)
    await validator.resolve_and_validate("site.example")
    changing.append(private)
    with pytest.raises(SpanielError, match="ssrf_blocked"):
        await validator.resolve_and_validate("site.example")
