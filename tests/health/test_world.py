"""Three hundred hosts that play every verdict and every trap: no wrong word about any of them, and nobody held up."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from spaniel.health.hops import LinkOptions
from spaniel.health.judging import judge
from spaniel.health.links import Checked, Link
from spaniel.health.requests import Hints, LinkClient
from spaniel.verdicts import NOTHING, Past, Verdict
from tests.health.plays import ELSEWHERE, by_method, elsewhere, fine, from_day, hang, missing, says
from tests.health.truth import PATIENT, TRUTH, Row
from tests.health.world import Host, Play, World, open_world

HOSTS = 300
LONGEST_WAIT = 120.0  # seconds at a host


def numbered() -> list[tuple[str, Row]]:
    """Each kind of host as often as it takes to make three hundred."""
    return [(f"{TRUTH[n % len(TRUTH)].name}-{n // len(TRUTH)}.test", TRUTH[n % len(TRUTH)]) for n in range(HOSTS - 1)]


class Checker:
    """The least that a run does: ask, wait where a host asks for it and it is not long, ask again, judge."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._askers: dict[int, LinkClient] = {}

    async def check(self, link: Link, options: LinkOptions = PATIENT, past: Past = NOTHING) -> Checked:
        client = self._askers.setdefault(id(options), self._world.client(options))
        observed = await client.check(link, Hints(head_differs=past.head_differs))
        if observed.retry_after is not None and observed.retry_after <= LONGEST_WAIT:
            await self._world.clock.sleep(observed.retry_after)
            observed = await client.check(link, Hints(attempts=observed.evidence.attempts))
        return judge(observed, link, past)


def wrong(name: str, row: Row, checked: Checked) -> Iterable[str]:
    """What is not as the table has it."""
    evidence = checked.evidence
    if checked.verdict != row.verdict:
        yield f"{name} is {row.verdict}, not {checked.verdict}: {checked.reason}"
    if row.says not in checked.reason:
        yield f"{name}: '{row.says}' is not in '{checked.reason}'"
    if tuple(finding.remark for finding in checked.findings) != row.findings:
        yield f"{name} has these findings: {checked.findings}"
    if not row.also(checked):
        yield f"{name}: {checked}"
    if not (evidence.at and evidence.attempts and evidence.final_url):
        yield f"{name} lacks evidence: {evidence}"
    if evidence.status is not None and not (evidence.method and evidence.address):
        yield f"{name}: {evidence}"


@pytest.mark.req("DB-06", "DB-07", "DB-09")
async def test_no_verdict_in_a_world_of_traps_is_wrong() -> None:
    rows = numbered()
    hosts = [Host(name, row.play, row.tls, row.where) for name, row in rows]
    async with open_world([Host(ELSEWHERE, elsewhere), *hosts]) as world:
        checker = Checker(world)
        links = [Link(world.url(name, row.path), row.fragments, expected=row.expected) for name, row in rows]
        checked = await asyncio.gather(
            *(checker.check(link, row.options, row.past) for link, (_, row) in zip(links, rows, strict=True))
        )
    faults = [fault for (name, row), one in zip(rows, checked, strict=True) for fault in wrong(name, row, one)]
    assert faults == [], "\n".join(faults)
    assert len(world.hosts) == HOSTS
    assert max(world.clock.slept) <= LONGEST_WAIT


async def test_who_never_answers_holds_up_nobody() -> None:
    """Two hundred others are done while one still hangs, and while another is to be left alone for an hour."""
    busy_ = says(429, b"", "Retry-After: 3600")
    good = [Host(f"good-{number}.test", fine) for number in range(200)]
    async with open_world([Host("hangs.test", hang), Host("busy.test", busy_), *good]) as world:
        client = world.client(PATIENT._replace(seconds=3600, head_seconds=3600))
        hanging = asyncio.create_task(client.check(Link(world.url("hangs.test"))))
        first = await client.check(Link(world.url("busy.test", "/a")))
        again = await client.check(Link(world.url("busy.test", "/b")))
        seen = await asyncio.gather(*(client.check(Link(world.url(host.name))) for host in good))
        assert not hanging.done()
        hanging.cancel()
        assert [observed.evidence.status for observed in seen] == [200] * 200
        assert (first.retry_after, again.retry_after) == (3600, 3600)
        assert world.hosts["busy.test"].asked == ["HEAD /a"]  # no request was made a second time
        assert world.clock.slept == []


class Memory:
    """What a history keeps of one link, as far as a verdict needs it."""

    def __init__(self) -> None:
        self.past = NOTHING

    def note(self, checked: Checked, at: float) -> None:
        if checked.verdict in (Verdict.FAILING, Verdict.DEAD):
            self.past = self.past._replace(failures=(*self.past.failures, at))
        elif checked.verdict in (Verdict.OK, Verdict.MOVED, Verdict.CHANGED):
            self.past = Past(last_good=at)


WEEKS: dict[str, dict[float, str]] = {  # day of each check -> what is said then; what plays is in `over_weeks`
    "gone": {0: "failing 1", 3: "failing 2", 6: "dead 3", 13: "dead 4"},
    "gone-checked-hourly": {0: "failing 1", 0.04: "failing 1", 0.08: "failing 1", 2.9: "failing 1", 3.0: "failing 2"},
    "never-rarely": {0: "failing 1", 2: "failing 1", 4: "failing 2", 6: "failing 2", 7: "dead 3"},
    "away-for-days": {0: "failing 1", 3: "failing 2", 5: "ok 0", 8: "failing 1", 11: "failing 2", 13: "ok 0"},
    "down-between": {0: "failing 1", 3: "unknown 0", 6: "blocked 0", 9: "failing 2", 12: "dead 3"},
    "5xx-for-weeks": {0: "unknown 0", 7: "unknown 0", 14: "unknown 0", 21: "unknown 0", 28: "ok 0"},
    "said-so": {0: "ok 0", 3: "dead 1"},
    "head-only": {0: "ok 0", 3: "ok 0", 6: "ok 0", 9: "ok 0"},
}


def over_weeks() -> dict[str, Play]:
    gone, down, closed, said = missing, says(500), says(403), says(410)
    return {
        "gone": gone,
        "gone-checked-hourly": gone,
        "never-rarely": gone,
        "away-for-days": from_day((0, gone), (4, fine), (7, gone), (12, fine)),
        "down-between": from_day((0, gone), (2, down), (5, closed), (8, gone)),
        "5xx-for-weeks": from_day((0, down), (25, fine)),
        "said-so": from_day((0, fine), (1, said)),
        "head-only": by_method(gone, fine),
    }


@pytest.mark.req("LH-02")
async def test_three_checks_that_are_three_days_apart_make_a_link_dead_and_nothing_less() -> None:
    hosts = [Host(f"{name}.test", play) for name, play in over_weeks().items()]
    async with open_world(hosts) as world:
        for name, expected in WEEKS.items():
            memory = Memory()
            said: dict[float, str] = {}
            world.begin_again()
            for day in expected:
                world.clock.advance(day * 86_400 - world.day * 86_400)
                checked = await Checker(world).check(Link(world.url(f"{name}.test", "/docs")), past=memory.past)
                memory.note(checked, world.clock.time())
                said[day] = f"{checked.verdict} {checked.failures}"
            assert said == expected, name
