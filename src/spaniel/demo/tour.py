"""A guided tour: fetches pages of the packaged site through the real pipeline, good ones and bad ones."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import sys
import tempfile
from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console
from rich.markdown import Markdown
from rich.panel import Panel
from rich.text import Text

from spaniel.app.client import Spaniel
from spaniel.app.settings import Settings, from_data
from spaniel.demo.server import serve
from spaniel.errors import SpanielError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spaniel.net.addresses import Address
    from spaniel.pipeline.answer import Answer

HOST = "demo.example"


class Stop(NamedTuple):
    """A stop of the tour."""

    path: str
    what: str
    whole: bool = False  # show the page, not only what became of it


STOPS = (
    Stop(
        "/otters",
        "A news page with navigation, a cookie banner, and an instruction to models that people cannot see",
        whole=True,
    ),
    Stop("/guide", "Documentation: code and lists keep their form", whole=True),
    Stop("/old-otters", "A redirect: the guard checks each step of it"),
    Stop("/otters", "The first page again, from the cache"),
    Stop("/private/diary", "A page that robots.txt forbids"),
    Stop("/inside", "A page that redirects to an address inside the network"),
)


def show_tour() -> None:
    asyncio.run(_tour(Console(highlight=False)))


async def _tour(console: Console) -> None:
    logging.getLogger("spaniel").setLevel(logging.ERROR)  # the demo opens loopback for itself, and says so below
    with tempfile.TemporaryDirectory() as folder:
        async with serve() as port, Spaniel(_settings(port, folder), _DemoResolver()) as spaniel:
            console.print("A small site that comes with Spaniel runs on this machine, for the length of this tour.\n")
            for number, stop in enumerate(STOPS, 1):
                console.print(Text(f"{number}. {stop.what}", style="bold"))
                await _visit(f"http://{HOST}:{port}{stop.path}", stop, spaniel, console)
    for what, rest in (
        ("Now fetch a page of your own:  ", "fetch URL"),
        ("To see every step of it:  ", "fetch --explain URL"),
    ):
        console.print(Text.assemble(what, (f"{own_command()} {rest}", "bold")), soft_wrap=True)  # to be copied whole


def own_command() -> str:
    """The command that starts Spaniel from the current directory, even if it is not on the PATH."""
    started = sys.argv[0]
    if os.path.basename(started) == "__main__.py":
        return f"{_near(sys.executable)} -m spaniel"
    found = shutil.which("spaniel")
    return "spaniel" if found and os.path.realpath(found) == os.path.realpath(started) else _near(started)


def _near(path: str) -> str:
    """A path as short as it gets from here, that a shell runs."""
    here = os.getcwd() + os.sep
    return path.removeprefix(here)


async def _visit(url: str, stop: Stop, spaniel: Spaniel, console: Console) -> None:
    console.print(Text(f"   spaniel fetch {url}", style="dim"))
    try:
        answer = await spaniel.fetch(url)
    except SpanielError as error:
        console.print(Text(f"   {error.code}: {error.message}\n", style="red"))
        return
    if stop.whole:
        console.print(Panel(Markdown(answer.markdown), title=answer.title, width=min(console.width, 100)))
    console.print(Text(f"   {_summary(answer)}\n", style="green"))


def _summary(answer: Answer) -> str:
    tokens = sum(chunk.token_count for chunk in answer.chunks)
    ms = sum(step.ms for step in answer.trace)
    note = f", {answer.note}" if answer.note else ""
    return f"{len(answer.markdown)} characters, {tokens} tokens, {len(answer.chunks)} chunk(s), {ms:.0f} ms{note}"


def _settings(port: int, folder: str) -> Settings:
    """Settings that allow loopback for the site of this tour, in this process only."""
    security = {"block_loopback": False, "allow_insecure_overrides": True, "allowed_ports": [port, 80]}
    return from_data({"tools": {"webfetch": {"cache_dir": f"{folder}/cache", "security": security}}}, "the demo")


class _DemoResolver:
    """Resolves the demo's own name only."""

    async def resolve(self, host: str) -> Sequence[Address]:
        return [ip_address("127.0.0.1")] if host == HOST else []
