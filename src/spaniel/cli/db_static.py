"""`spaniel db add --static`: each URL is fetched as it comes, measured, and written down in small lots."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, NamedTuple

from spaniel.cli.db_adding import add_links, tell
from spaniel.cli.db_folder import Failures, is_several
from spaniel.cli.ending import run_until_asked, stopped_code
from spaniel.cli.in_order import in_order
from spaniel.cli.incoming import Asked, incoming
from spaniel.cli.options import settings_from
from spaniel.cli.progress import Progress
from spaniel.errors import SpanielError
from spaniel.registry.record import LENGTH, SHA256, TYPE
from spaniel.registry.sources import Link

if TYPE_CHECKING:
    import argparse

    from spaniel.app.engine import Engine
    from spaniel.registry.database import Registry
    from spaniel.registry.scalars import Written

LOT = 32  # records that are written together; what was written stays, whatever stops the rest


class _Result(NamedTuple):
    asked: Asked
    keys: dict[str, Written]
    error: SpanielError | None = None


def add_measured(args: argparse.Namespace, registry: Registry, failed: Failures) -> int:
    from spaniel.app.engine import Engine

    async def go() -> int:
        async with Engine(settings_from(args)) as engine:
            return await Measuring(args, registry, failed, engine).run()

    return run_until_asked(go())


class Measuring:
    """Many URLs, some at once, told and written in their order."""

    def __init__(self, args: argparse.Namespace, registry: Registry, failed: Failures, engine: Engine) -> None:
        self._args = args
        self._registry = registry
        self._failed = failed
        self._engine = engine
        self._progress = Progress(None if "-" in args.urls else len(args.urls), drawn=not args.quiet)
        self._places = asyncio.Semaphore(args.jobs)
        self._lot: list[_Result] = []

    async def run(self) -> int:
        whole = await in_order(incoming(self._args.urls), self._work, self._hand_over)
        self._write()
        if is_several(self._args.urls) and not self._args.quiet:
            told = f"{self._progress.done} measured"
            if self._failed.count:
                told += f", {self._failed.count} failed"
            sys.stderr.write(f"spaniel: {told}{'' if whole else '; stopped'}\n")
        return self._failed.exit_code if whole else stopped_code()

    async def _work(self, asked: Asked) -> _Result:
        async with self._places:
            self._progress.begin()
            try:
                result = _Result(asked, await self._keys(asked.url))
            except SpanielError as error:
                result = _Result(asked, {}, error.about(asked.url))
            self._progress.end(str(result.error.code) if result.error else "", cached=False)
        return result

    async def _keys(self, raw: str) -> dict[str, Written]:
        from spaniel.net.deadline import Deadline
        from spaniel.net.http import Options
        from spaniel.pipeline.measure import ANY_SIZE, measure
        from spaniel.pipeline.retrieve import Way
        from spaniel.url.parsing import parse

        settings = self._engine.settings
        headers = settings.headers._replace(accept="*/*", accept_encoding="identity")
        way = Way(Options(headers, ANY_SIZE), settings.limits.max_redirects)
        url = parse(self._registry.rules.admit(raw).url)
        found = await measure(url, self._engine.rooms.door, Deadline(settings.limits.timeout_seconds), way)
        keys: dict[str, Written] = {LENGTH: found.length, SHA256: found.sha256}
        return keys | ({TYPE: found.content_type} if self._args.type and found.content_type else {})

    def _hand_over(self, result: _Result) -> None:
        self._lot.append(result)
        if len(self._lot) >= LOT:
            self._write()

    def _write(self) -> None:
        lot, self._lot = self._lot, []
        self._progress.clear()
        for result in lot:
            if result.error is not None:
                self._failed(result.error, _place(result.asked))
        links = [Link(_place(result.asked), result.asked.url, result.keys) for result in lot if result.error is None]
        if links:
            for added in add_links(self._registry, links, self._args.category, self._failed):
                tell(added, quiet=self._args.quiet)


def _place(asked: Asked) -> str:
    return f"line {asked.line}: " if asked.line else ""
