"""Prints the way of one fetch, or of one `canon`, through the packages; for docs/explanation/architecture.md.

python tools/walk.py fetch | browser | canon
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from typing import TYPE_CHECKING

import spaniel

if TYPE_CHECKING:
    from types import FrameType

ROOT = os.path.dirname(spaniel.__file__)
GROUND = {
    "clock",
    "errors",
    "files",
    "private_folder",
    "tables",
    "testing",
}  # used from everywhere, or no part of a walk


class Walk:
    """The calls of Spaniel's own functions, and where one package calls another."""

    def __init__(self) -> None:
        self.functions: dict[tuple[str, str], None] = {}
        self.changes: dict[tuple[str, str], tuple[str, str]] = {}  # from function to function, by their packages

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or (here := place(frame)) is None:
            return
        self.functions.setdefault((here, frame.f_code.co_qualname))
        caller = frame.f_back
        while caller is not None and place(caller) is None:
            caller = caller.f_back
        before = place(caller) if caller else None
        if (
            before is None
            or caller is None
            or package(before) == package(here)
            or not GROUND.isdisjoint((package(before), package(here)))
        ):
            return
        way = f"{before}:{caller.f_code.co_qualname}", f"{here}:{frame.f_code.co_qualname}"
        self.changes[way] = package(before), package(here)


def place(frame: FrameType) -> str | None:
    """The file of a frame, if it is one of ours."""
    name = frame.f_code.co_filename
    return os.path.relpath(name, ROOT) if name.startswith(ROOT) else None


def package(file: str) -> str:
    return file.partition(os.sep)[0].removesuffix(".py")


async def fetched(walk: Walk, *, browser: bool) -> None:
    """The second page of a site that is known: what is loaded on first use is loaded."""
    from spaniel import Spaniel
    from spaniel.testing import FakeResolver, Site, html, settings_for

    page = html("<title>Otters</title><h1>Otters</h1>" + "<p>The otter swims in the river and eats fish.</p>" * 20)
    with tempfile.TemporaryDirectory() as cache:
        async with (
            Site({"/a": page, "/b": page}) as site,
            Spaniel(settings_for(site, cache=cache), FakeResolver()) as client,
        ):
            await client.fetch(site.url("/a"), force_browser=browser)
            sys.setprofile(walk)
            await client.fetch(site.url("/b"), force_browser=browser)
            sys.setprofile(None)


def canonicalized(walk: Walk) -> None:
    from spaniel import canonicalize

    canonicalize("https://a.example/", "clara")
    sys.setprofile(walk)
    canonicalize("https://Example.com:443/b/../c/?utm_source=x&page=2", "clara")
    sys.setprofile(None)


def main(what: str) -> None:
    walk = Walk()
    if what == "canon":
        canonicalized(walk)
    else:
        asyncio.run(fetched(walk, browser=what == "browser"))
    print("functions, as they are met:")
    for file, function in walk.functions:
        if package(file) not in GROUND:
            print(f"  {file:34} {function}")
    print("calls from one package into another:")
    for one, other in walk.changes:
        print(f"  {one:50} -> {other}")
    files = {file for file, _ in walk.functions if package(file) not in GROUND}
    print(f"{len(walk.changes)} such calls, {len(files)} files")


if __name__ == "__main__":
    main(sys.argv[1])
