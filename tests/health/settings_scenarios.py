"""Observable effects of the settings of link checks: scenarios for tests/pipeline/test_every_setting.py."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from spaniel.app.checking import documents_history, health_settings
from spaniel.app.client import Spaniel
from spaniel.app.engine import Engine
from spaniel.cli.check import UnreadDocuments, links_of
from spaniel.cli.check import parser as check_parser
from spaniel.cli.db import main as run_db
from spaniel.cli.db import parser as db_parser
from spaniel.errors import SpanielError
from spaniel.health.links import Checked, Link
from spaniel.registry.database import create
from spaniel.testing import FakeClock, FakeResolver, Reply, text
from spaniel.verdicts import Expected
from tests.pipeline.settings_scenarios import Look, Place


async def checked(place: Place, links: Iterable[str | Link]) -> tuple[list[Checked], FakeClock]:
    clock = FakeClock()
    async with Engine(place.settings, FakeResolver(), clock) as engine, Spaniel(engine=engine) as spaniel:
        return [each async for each in spaniel.check(links)], clock


async def _most_at_once(place: Place, links: list[str]) -> int:
    here = most = 0

    async def page() -> Reply:
        nonlocal here, most
        here += 1
        most = max(most, here)
        await asyncio.sleep(0.1)
        here -= 1
        return text("slow")

    place.site.pages |= dict.fromkeys((f"/slow{n}" for n in range(len(links))), page)
    await checked(place, links)
    return most


async def most_at_once(place: Place) -> object:
    """Whether several hosts are requested at a time."""
    return await _most_at_once(place, [place.site.url(f"/slow{n}", f"{n}.example") for n in range(6)]) > 1


async def most_at_one_host(place: Place) -> object:
    """Whether several links of one host are requested at a time."""
    return await _most_at_once(place, [place.site.url(f"/slow{n}") for n in range(6)]) > 1


async def pauses(place: Place) -> object:
    """Whether there is a delay between two requests to a host."""
    _, clock = await checked(place, [place.site.url("/a"), place.site.url("/long")])
    return sum(clock.slept) > 0


async def late_page(place: Place) -> object:
    results, _ = await checked(place, [place.site.url("/late")])
    return str(results[0].verdict)


async def late_content(place: Place) -> object:
    results, _ = await checked(place, [Link(place.site.url("/late"), expected=Expected(length=4))])
    return str(results[0].verdict)


async def busy_host(place: Place) -> object:
    """A host that asks to retry later once."""
    left = iter([text("", 429, {"Retry-After": "30"})])

    async def page() -> Reply:
        return next(left, text("well"))

    place.site.pages["/busy"] = page
    results, _ = await checked(place, [place.site.url("/busy")])
    return str(results[0].verdict)


async def disallowed_page(place: Place) -> object:
    place.site.pages["/no"] = text("here")
    results, _ = await checked(place, [place.site.url("/no")])
    return str(results[0].verdict)


async def where_the_past_is(place: Place) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(place.folder / "state"))
        history = documents_history(health_settings(place.settings))
        list(history.settle("run", lambda *_: [], network=True))
        history.close()
    return [str(file.parent.relative_to(place.folder)) for file in place.folder.rglob("health.sqlite3")]


async def how_often(place: Place) -> object:
    """Whether the priorities are read from the file of the setting."""
    folder = place.folder / "links"
    create(str(folder))
    (folder / "a.example.yaml").write_text("---\n---\n_path: /\n")
    args = db_parser().parse_args(["check", "--db", str(folder), "--due", "--dry-run", "--config", str(place.file)])
    try:
        return run_db(args)
    except SpanielError as error:
        return str(error.details["field"]).partition(" ")[0]


def local_page(link: str) -> Look:
    """The verdict on a link to a page that a documentation generator creates."""

    async def look(place: Place) -> object:
        (place.folder / "y").mkdir()
        for name in ("x.md", "y/README.md"):
            (place.folder / name).write_text("# X\n")
        (place.folder / "a.md").write_text(f"[x]({link})\n")
        args = check_parser().parse_args([str(place.folder / "a.md"), "--offline"])
        [found] = links_of(args, place.settings, UnreadDocuments())
        assert isinstance(found, Checked)
        return str(found.verdict)

    return look
