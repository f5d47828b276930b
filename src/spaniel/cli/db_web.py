"""`spaniel db add` and `import` with the web: URLs are looked up (--online) and measured (--static), then written."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spaniel.cli.db_adding import add_links, place_of, tell
from spaniel.cli.long_run import LongRun, run_async
from spaniel.cli.options import settings_from
from spaniel.cli.places import Places, host_in
from spaniel.defaults import FETCH_PER_HOST
from spaniel.errors import SpanielError
from spaniel.registry.record import LENGTH, SHA256, TYPE

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Callable

    from spaniel.app.engine import Engine
    from spaniel.cli.db_folder import Failures
    from spaniel.online.canonicalizer import Canonicalizer
    from spaniel.registry.database import Registry
    from spaniel.registry.editor import Added
    from spaniel.registry.links import Link
    from spaniel.registry.scalars import Written

    Told = Callable[[Link, Added], None]

LOT = 32  # records that are written together; what was written stays, whatever stops the rest


class _Result(NamedTuple):
    link: Link
    error: SpanielError | None = None


def add_with_web(
    args: argparse.Namespace, registry: Registry, failed: Failures, links: AsyncIterator[Link], told: Told
) -> int:
    from spaniel.app.engine import Engine

    async def go() -> int:
        async with Engine(settings_from(args)) as engine:
            return await run(args, registry, failed, links, told, engine)

    return run_async(go())


async def run(
    args: argparse.Namespace,
    registry: Registry,
    failed: Failures,
    links: AsyncIterator[Link],
    told: Told,
    engine: Engine,
) -> int:
    """Look up and write; apart from `add_with_web`, so that it can be tried with an engine of one's own."""
    from spaniel.app.client import Spaniel

    with registry.editing():  # nobody should wait for the web to learn that nothing can be written here
        pass
    async with Spaniel(engine=engine) as client:
        canonicalizer = None
        if args.online:
            rules = registry.rules
            canonicalizer = client.canonicalizer(
                rules.policy, allowlist=rules.allowlist, learnt=args.learnt or rules.learnt_file(), refresh=args.refresh
            )
        try:
            return await _Lookup(args, registry, failed, engine, canonicalizer, told).run(links)
        finally:
            if canonicalizer is not None:
                canonicalizer.learnt.save()


class _Lookup:
    """Many URLs, some at once, told and written in their order."""

    def __init__(
        self,
        args: argparse.Namespace,
        registry: Registry,
        failed: Failures,
        engine: Engine,
        canonicalizer: Canonicalizer | None,
        told: Told,
    ) -> None:
        self._args = args
        self._registry = registry
        self._failed = failed
        self._engine = engine
        self._canonicalizer = canonicalizer
        self._told = told
        several = "urls" not in args or len(args.urls) > 1 or "-" in args.urls
        self._run = LongRun("links", quiet=args.quiet, several=several)
        self._places = Places(args.jobs, FETCH_PER_HOST)
        self._lot: list[_Result] = []

    async def run(self, links: AsyncIterator[Link]) -> int:
        await self._run.in_order(links, self._work, self._hand_over, lambda link: self._places.at(host_in(link.url)))
        self._write()
        if self._run.stopping:
            self._run.say("stopped; what was added so far is kept")
        return self._run.exit_code or self._failed.exit_code

    async def _work(self, link: Link) -> _Result:
        try:
            return _Result(await self._measured(await self._found(link)))
        except SpanielError as error:
            self._run.fail(str(error.code))
            return _Result(link, error.about(link.url))

    async def _found(self, link: Link) -> Link:
        if self._canonicalizer is not None:
            return link._replace(found=await self._canonicalizer.canonicalize(link.url))
        return link._replace(found=self._registry.rules.explain(link.url)) if self._args.explain else link

    async def _measured(self, link: Link) -> Link:
        if not self._args.static:
            return link
        from spaniel.net.deadline import Deadline
        from spaniel.net.http import RequestOptions
        from spaniel.pipeline.retrieve import ANY_SIZE, measure
        from spaniel.pipeline.retrieve import FetchOptions
        from spaniel.registry.rules import spot_of
        from spaniel.url.parsing import parse

        settings = self._engine.settings
        headers = settings.headers._replace(accept="*/*", accept_encoding="identity")
        way = FetchOptions(RequestOptions(headers, ANY_SIZE), settings.limits.max_redirects)
        rules = self._registry.rules
        spot = rules.admit(link.url) if link.found is None else rules.admitted(spot_of(link.found.url))
        url = parse(spot.url)
        measured = await measure(url, self._engine.services.door, Deadline(settings.limits.timeout_seconds), way)
        keys: dict[str, Written] = {LENGTH: measured.length, SHA256: measured.sha256}
        keys |= {TYPE: measured.content_type} if self._args.type and measured.content_type else {}
        return link._replace(keys={**link.keys, **keys})

    def _hand_over(self, result: _Result) -> None:
        self._lot.append(result)
        if len(self._lot) >= LOT:
            self._write()

    def _write(self) -> None:
        lot, self._lot = self._lot, []
        for result in lot:
            if result.error is not None:
                self._failed(result.error, place_of(result.link, result.error))
        links = [result.link for result in lot if result.error is None]
        if links:
            for link, added in add_links(self._registry, links, self._args.category, self._failed):
                self._told(link, added)


def tell_all(args: argparse.Namespace) -> Told:
    """What is said of each record, as the options want it."""
    return lambda link, added: tell(link, added, args)
