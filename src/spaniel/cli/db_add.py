"""`spaniel db add` and `import`: URLs become records; --online and --static look them up on the web first."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from spaniel.cli.db_folder import SOME_FAILED, Failures, is_several, opened
from spaniel.cli.lists import Inputs, incoming, list_options, report_problems
from spaniel.cli.long_run import Display, LongRun, run_async
from spaniel.cli.options import configure_logs, settings_from
from spaniel.defaults import FETCH_JOBS, FETCH_PER_HOST
from spaniel.errors import Code, SpanielError, json_safe, shown
from spaniel.registry.links import NewLink, known_facts
from spaniel.registry.record import LENGTH, SHA256, TYPE
from spaniel.sources.rows import Problems
from spaniel.url.parsing import requested
from spaniel.url.value import LONGEST

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable

    from spaniel.app.engine import Engine
    from spaniel.online.canonicalizer import Canonicalizer
    from spaniel.registry.database import Added, Editor, Registry
    from spaniel.registry.yaml_text import Written

    Told = Callable[[NewLink, Added], None]

LOT = 32  # records that are written together, so that an interruption loses few


def run_add(args: argparse.Namespace) -> int:
    configure_logs(args)
    _check(args)
    registry = opened(args, args.policy)
    failed = Failures(several=is_several(args.urls))
    if args.static or args.online:
        return _add_with_web(args, registry, failed)
    urls = Inputs(args.urls, list_options(args))
    links: Iterable[NewLink] = (NewLink(place, url) for place, url in urls)
    if args.explain:
        links = explained(registry, links, failed)
    drawn = is_several(args.urls) and not args.quiet
    for link, added in add_links(registry, links, args.category, failed, drawn=drawn):
        tell(link, added, args)
    return urls.exit_code(failed.exit_code)


def _add_with_web(args: argparse.Namespace, registry: Registry, failed: Failures) -> int:
    count = 0
    show = tell_all(args)

    def told(link: NewLink, added: Added) -> None:
        nonlocal count
        count += 1
        show(link, added)

    problems = Problems()
    code = add_with_web(args, registry, failed, incoming_links(args, problems), told)
    report_problems(problems)
    if is_several(args.urls) and not args.quiet:
        done = f"{count} {'measured' if args.static else 'looked up'}"
        sys.stderr.write(f"spaniel: {done}{f', {failed.count} failed' if failed.count else ''}\n")
    return code or (SOME_FAILED if problems.lost else 0)


async def incoming_links(args: argparse.Namespace, problems: Problems) -> AsyncIterator[NewLink]:
    async for asked in incoming(args.urls, settings_from(args), list_options(args), problems, may_be_empty=True):
        yield NewLink(f"{asked.where}: " if asked.where else "", asked.url)


def _check(args: argparse.Namespace) -> None:
    """RequestOptions that do not go together are refused before anything is done."""

    if args.type and not args.static:
        raise SpanielError(Code.BAD_ARGS, field="--type", reason="is for --static")
    for name in ("refresh", "learnt"):
        if getattr(args, name) and not args.online:
            raise SpanielError(Code.BAD_ARGS, field=f"--{name}", reason="is for --online")
    if not FETCH_JOBS.allows(args.jobs):
        raise SpanielError(Code.BAD_ARGS, field="--jobs", reason=f"must be {FETCH_JOBS.range}")


def add_links(
    registry: Registry, links: Iterable[NewLink], categories: list[str], failed: Failures, *, drawn: bool = False
) -> list[tuple[NewLink, Added]]:
    """The result of each, once all is written. A refused one does not stop the others.

    `drawn`: on a terminal, a line says how many files are written.
    """
    done = []
    links = list(links)  # standard input may be slow: do not hold the lock while reading it
    files = 0
    display = Display(lambda: [[f"{files:,} files written"]], quiet=not drawn)

    def written(_file: str) -> None:
        nonlocal files
        files += 1
        display.update()

    with registry.editing(written=written) as editor:
        for link in links:
            try:
                done.append((link, _add(editor, link, categories)))
            except SpanielError as error:
                failed(error, place_of(link, error))
    display.clear()
    return done


def explained(registry: Registry, links: Iterable[NewLink], failed: Failures) -> Iterable[NewLink]:
    """The same links with every step to their canonical form; makes no requests."""
    for link in links:
        try:
            yield link._replace(found=registry.rules.explain(link.url))
        except SpanielError as error:
            failed(error, place_of(link, error))


def place_of(link: NewLink, error: SpanielError) -> str:
    """Where a link is written; else the link itself, unless the message contains it."""
    told = shown(link.url, LONGEST)
    return link.where or ("" if told in error.message else f"{told}: ")


def _add(editor: Editor, link: NewLink, categories: list[str]) -> Added:
    """What is said of a link rules over what the record says, but for categories, which are added to those it has."""
    keys = {**link.keys}
    said = keys.pop("categories", [])
    wanted = {*categories, *(map(str, said) if isinstance(said, list) else ())}
    url = link.url if link.found is None else link.found.url
    return editor.add(url, keys, categories=wanted, canonical=link.found is not None)


def tell(link: NewLink, added: Added, args: argparse.Namespace) -> None:
    """The result for a link."""
    quiet, explain = args.quiet, args.explain
    if args.json:
        _print_json(link, added, explain=explain)
        if not quiet:
            tell_notes(link, added)
        return
    if link.found is not None and explain:
        from spaniel.cli.canon import write_steps

        write_steps(iter([link.found]), True)
    if quiet:
        return
    record = added.record
    url = shown(record.url, LONGEST)
    was = f"  (was {shown(link.url, LONGEST)})" if link.found is not None and link.url.rstrip("/") not in url else ""
    print(f"{'added' if added.is_new else 'known'} {url}  {shown(record.file)}{was}")
    tell_notes(link, added)


def _print_json(link: NewLink, added: Added, *, explain: bool) -> None:
    import json

    from spaniel.cli.canon import record_of

    record = added.record
    facts: dict[str, object] = {"url": record.url, "given": requested(link.url), "file": record.file}
    facts["added"] = added.is_new
    if link.found is not None:
        facts["canonical"] = record_of(link.found, explain)
    print(json_safe(json.dumps(facts, ensure_ascii=False)))


def tell_notes(link: NewLink, added: Added) -> None:
    """Notes that need attention."""
    record = added.record
    notes = []
    if added.other_scheme:
        notes.append(
            f"its file keeps all records as {record.home.scheme}; 'https: true' or 'https: false' in it changes that"
        )
    if link.found is not None and link.found.flags:
        notes.append(f"flagged {', '.join(link.found.flags)}")
    sys.stdout.flush()
    for note in notes:
        sys.stderr.write(f"spaniel: {shown(record.url, LONGEST)}: note: {note}\n")


def run_import(args: argparse.Namespace) -> int:
    configure_logs(args)
    _check(args)
    registry = opened(args, args.policy)
    failed = Failures(several=True)
    counts = {True: 0, False: 0}

    def told(link: NewLink, added: Added) -> None:
        counts[added.is_new] += 1
        if args.explain or args.json:
            tell(link, added, args)
        elif link.found is not None and not args.quiet:
            tell_notes(link, added)

    problems = Problems()
    links = _links(args, failed, problems)
    if args.online:
        code = add_with_web(args, registry, failed, links, told)
    else:
        from spaniel.app.sources import in_lots

        listed: Iterable[NewLink] = in_lots(links)
        listed = explained(registry, listed, failed) if args.explain else listed
        for link, added in add_links(registry, listed, args.category, failed, drawn=not args.quiet):
            told(link, added)
        code = failed.exit_code
    report_problems(problems)
    said = f"{counts[True]:,} added, {counts[False]:,} known already"
    sys.stderr.write(f"spaniel: {said}{f', {failed.count:,} refused' if failed.count else ''}\n")
    return code or (SOME_FAILED if problems.lost else 0)


async def _links(args: argparse.Namespace, failed: Failures, problems: Problems) -> AsyncGenerator[NewLink, None]:
    """The links of every file, with their places. A file that cannot be read does not stop the others."""
    from spaniel.app.sources import read_lists

    options, settings = list_options(args), settings_from(args)
    for name in args.files:
        try:
            async for item in read_lists([name], options, problems, settings):
                yield NewLink(f"{item.source}: {item.where}: ", item.raw_url, known_facts(item.columns))
        except SpanielError as error:
            failed(error)


class _Result(NamedTuple):
    link: NewLink
    error: SpanielError | None = None


def add_with_web(
    args: argparse.Namespace, registry: Registry, failed: Failures, links: AsyncIterator[NewLink], told: Told
) -> int:
    from spaniel.app.engine import Engine

    async def go() -> int:
        async with Engine(settings_from(args)) as engine:
            return await run_online(args, registry, failed, links, told, engine)

    return run_async(go())


async def run_online(
    args: argparse.Namespace,
    registry: Registry,
    failed: Failures,
    links: AsyncIterator[NewLink],
    told: Told,
    engine: Engine,
) -> int:
    """Look up and write; apart from `add_with_web`, so that it can be tried with an engine of one's own."""
    from spaniel.app.client import Spaniel

    with registry.editing():  # check before going online that something can be written here
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
    """Many URLs, some concurrently, reported and written in order."""

    def __init__(
        self,
        args: argparse.Namespace,
        registry: Registry,
        failed: Failures,
        engine: Engine,
        canonicalizer: Canonicalizer | None,
        told: Told,
    ) -> None:
        from spaniel.cli.places import Places

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

    async def run(self, links: AsyncIterator[NewLink]) -> int:
        from spaniel.cli.places import host_in

        await self._run.in_order(links, self._work, self._hand_over, lambda link: self._places.at(host_in(link.url)))
        self._write()
        if self._run.stopping:
            self._run.say("stopped; what was added so far is kept")
        return self._run.exit_code or self._failed.exit_code

    async def _work(self, link: NewLink) -> _Result:
        try:
            return _Result(await self._measured(await self._found(link)))
        except SpanielError as error:
            self._run.fail(str(error.code))
            return _Result(link, error.about(link.url))

    async def _found(self, link: NewLink) -> NewLink:
        if self._canonicalizer is not None:
            return link._replace(found=await self._canonicalizer.canonicalize(link.url))
        return link._replace(found=self._registry.rules.explain(link.url)) if self._args.explain else link

    async def _measured(self, link: NewLink) -> NewLink:
        if not self._args.static:
            return link
        from spaniel.net.deadline import Deadline
        from spaniel.net.http import RequestOptions
        from spaniel.pipeline.retrieve import ANY_SIZE, FetchOptions, measure
        from spaniel.registry.config import spot_of
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
    """The line of each record, as the options select."""
    return lambda link, added: tell(link, added, args)
