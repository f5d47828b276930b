"""`spaniel queue retry`: pages are fetched again by the profiles that failed them."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, NamedTuple

from spaniel.app.engine import Engine
from spaniel.app.settings import load
from spaniel.cli.fetching import host_of
from spaniel.cli.long_run import LongRun
from spaniel.cli.places import Places
from spaniel.defaults import FETCH_JOBS, FETCH_PER_HOST
from spaniel.errors import SpanielError, shown
from spaniel.pipeline.request import Request

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    from spaniel.pipeline.profile import Profile
    from spaniel.queue import Entry, Queue

SOME_FAILED = 1


class Retried(NamedTuple):
    entry: Entry
    error: SpanielError | None
    instead: str = ""  # what came in place of the page: `paywall`, `login`, …

    @property
    def failure(self) -> str:
        return str(self.error.code) if self.error else self.instead


class Retrying:
    """One run of the command."""

    def __init__(self, queue: Queue, engine: Engine, args: argparse.Namespace, run: LongRun) -> None:
        self._queue, self._engine, self._args, self._run = queue, engine, args, run
        self._places = Places(FETCH_JOBS.default, FETCH_PER_HOST)
        self._profiles: dict[str, Profile] = {}

    def place(self, entry: Entry) -> AbstractAsyncContextManager[None]:
        return self._places.at(host_of(entry.url))

    async def fetch(self, entry: Entry) -> Retried:
        """A page that fails again is put into the queue again by the profile's own ladder."""
        try:
            outcome = await self._engine.fetch(Request(entry.requested_url), self._profile(entry))
        except SpanielError as error:  # of the profile: it is no longer there
            retried = Retried(entry, error)
        else:
            retried = Retried(entry, outcome.refusal, "" if outcome.refusal else outcome.failure)
        if retried.failure:
            self._run.fail(retried.failure)
        return retried

    def hand_over(self, retried: Retried) -> None:
        entry, error, _ = retried
        if not retried.failure:
            self._queue.remove([entry])
        ended = retried.failure or "ok"
        if self._args.json:
            told = {"id": entry.id, "url": entry.url, "outcome": ended, "error": error and error.as_dict()}
            print(json.dumps(told, ensure_ascii=False), flush=True)
        else:
            print(f"{entry.id:>6}  {ended:24}  {shown(entry.url, 8192)}", flush=True)
            if error is not None:
                sys.stderr.write(f"spaniel: {shown(entry.url)}: {error.message}\n")

    def _profile(self, entry: Entry) -> Profile:
        name = self._args.profile or entry.profile_file or entry.profile
        if name not in self._profiles:
            self._profiles[name] = self._engine.profile(name)
        return self._profiles[name]


async def fetch_again(queue: Queue, entries: list[Entry], args: argparse.Namespace) -> int:
    """The exit code."""
    several = len(entries) > 1
    run = LongRun("pages", total=len(entries), quiet=args.quiet, several=several)
    async with Engine(load(args.config)) as engine:
        retrying = Retrying(queue, engine, args, run)
        await run.in_order(_each(entries), retrying.fetch, retrying.hand_over, retrying.place)
    if several:
        run.say(run.summary("fetched"))
    return run.exit_code or (SOME_FAILED if run.failed else 0)


async def _each(entries: list[Entry]) -> AsyncIterator[Entry]:
    for entry in entries:
        yield entry
