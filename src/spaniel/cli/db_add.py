"""`spaniel db add` and `import`: URLs become records; --online and --static make requests first."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from spaniel.cli import options as opt
from spaniel.cli.db import SOME_FAILED, Failures, opened
from spaniel.cli.inputs import Inputs, incoming, list_options, report_problems
from spaniel.cli.long_run import Display, LongRun, run_async, say
from spaniel.cli.output import print_json
from spaniel.defaults import FETCH_PER_HOST
from spaniel.errors import SpanielError, shown
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

    Report = Callable[[NewLink, Added], None]

BATCH = 32  # records that are written together, so that an interruption loses few


def run_add(args: argparse.Namespace) -> int:
    opt.configure_logs(args)
    opt.require(args, "--static", "--type")
    opt.require(args, "--online", "--refresh", "--learnt")
    registry = opened(args, args.policy)
    several = opt.is_several(args.urls)
    failed = Failures(several=several)
    count = 0

    def count_and_report(link: NewLink, added: Added) -> None:
        nonlocal count
        count += 1
        report_added(link, added, args)

    if args.static or args.online:
        problems = Problems()
        code = add_online(args, registry, failed, incoming_links(args, problems), count_and_report)
        report_problems(problems)
        if several and not args.quiet:
            done = f"{count:,} {'measured' if args.static else 'looked up'}"
            say(f"{done}{f', {failed.count:,} failed' if failed.count else ''}")
        return code or (SOME_FAILED if problems.lost else 0)
    urls = Inputs(args.urls, list_options(args))
    links: Iterable[NewLink] = (NewLink(place, url) for place, url in urls)
    if args.explain:
        links = explained(registry, links, failed)
    for link, added in add_links(registry, links, args.category, failed, shows_progress=several and not args.quiet):
        report_added(link, added, args)
    return urls.exit_code(failed.exit_code)


async def incoming_links(args: argparse.Namespace, problems: Problems) -> AsyncIterator[NewLink]:
    async for item in incoming(args.urls, opt.settings_from(args), list_options(args), problems, may_be_empty=True):
        yield NewLink(f"{item.where}: " if item.where else "", item.url)


def run_import(args: argparse.Namespace) -> int:
    opt.configure_logs(args)
    opt.require(args, "--online", "--refresh", "--learnt")
    registry = opened(args, args.policy)
    failed = Failures(several=True)
    counts = {True: 0, False: 0}

    def count_and_report(link: NewLink, added: Added) -> None:
        counts[added.is_new] += 1
        if args.explain or args.json:
            report_added(link, added, args)
        elif link.found is not None and not args.quiet:
            report_notes(link, added)

    problems = Problems()
    links = _links(args, failed, problems)
    if args.online:
        code = add_online(args, registry, failed, links, count_and_report)
    else:
        from spaniel.app.sources import in_lots

        listed: Iterable[NewLink] = in_lots(links)
        listed = explained(registry, listed, failed) if args.explain else listed
        for link, added in add_links(registry, listed, args.category, failed, shows_progress=not args.quiet):
            count_and_report(link, added)
        code = failed.exit_code
    report_problems(problems)
    say(
        f"{counts[True]:,} added, {counts[False]:,} already in the database"
        f"{f', {failed.count:,} refused' if failed.count else ''}"
    )
    return code or (SOME_FAILED if problems.lost else 0)


async def _links(args: argparse.Namespace, failed: Failures, problems: Problems) -> AsyncGenerator[NewLink, None]:
    """The links of every file, with their places. A file that cannot be read does not stop the others."""
    from spaniel.app.sources import read_lists

    options, settings = list_options(args), opt.settings_from(args)
    for name in args.files:
        try:
            async for item in read_lists([name], options, problems, settings):
                yield NewLink(f"{item.source}: {item.where}: ", item.raw_url, known_facts(item.columns))
        except SpanielError as error:
            failed(error)


def add_links(
    registry: Registry,
    links: Iterable[NewLink],
    categories: list[str],
    failed: Failures,
    *,
    shows_progress: bool = False,
) -> list[tuple[NewLink, Added]]:
    """The result of each, once all is written. A refused one does not stop the others."""
    done = []
    links = list(links)  # standard input may be slow: do not hold the lock while reading it
    files = 0
    display = Display(lambda: [[f"{files:,} files written"]], quiet=not shows_progress)

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


def _add(editor: Editor, link: NewLink, categories: list[str]) -> Added:
    """The link's own keys replace those of the record, except categories, which are added."""
    keys = {**link.keys}
    own = keys.pop("categories", [])
    wanted = {*categories, *(map(str, own) if isinstance(own, list) else ())}
    url = link.url if link.found is None else link.found.url
    return editor.add(url, keys, categories=wanted, canonical=link.found is not None)


def explained(registry: Registry, links: Iterable[NewLink], failed: Failures) -> Iterable[NewLink]:
    """The same links with every step to their canonical form; makes no requests."""
    for link in links:
        try:
            yield link._replace(found=registry.rules.explain(link.url))
        except SpanielError as error:
            failed(error, place_of(link, error))


def place_of(link: NewLink, error: SpanielError) -> str:
    """Where a link is written; else the link itself, unless the message contains it."""
    url = shown(link.url, LONGEST)
    return link.where or ("" if url in error.message else f"{url}: ")


def report_added(link: NewLink, added: Added, args: argparse.Namespace) -> None:
    """Print the result for a link."""
    if args.json:
        _print_json(link, added, explain=args.explain)
        if not args.quiet:
            report_notes(link, added)
        return
    if link.found is not None and args.explain:
        from spaniel.cli.canon import write_steps

        write_steps(iter([link.found]), True)
    if args.quiet:
        return
    record = added.record
    url = shown(record.url, LONGEST)
    was = f"  (was {shown(link.url, LONGEST)})" if link.found is not None and link.url.rstrip("/") not in url else ""
    print(f"{'added' if added.is_new else 'known'} {url}  {shown(record.file)}{was}")
    report_notes(link, added)


def _print_json(link: NewLink, added: Added, *, explain: bool) -> None:
    from spaniel.cli.canon import record_of

    record = added.record
    facts: dict[str, object] = {"url": record.url, "given": requested(link.url), "file": record.file}
    facts["added"] = added.is_new
    if link.found is not None:
        facts["canonical"] = record_of(link.found, explain)
    print_json(facts)


def report_notes(link: NewLink, added: Added) -> None:
    """Print notes that need attention."""
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
        say(f"{shown(record.url, LONGEST)}: note: {note}")


# Online


class _Result(NamedTuple):
    link: NewLink
    error: SpanielError | None = None


def add_online(
    args: argparse.Namespace, registry: Registry, failed: Failures, links: AsyncIterator[NewLink], report: Report
) -> int:
    from spaniel.app.engine import Engine

    async def go() -> int:
        async with Engine(opt.settings_from(args)) as engine:
            return await run_online(args, registry, failed, links, report, engine)

    return run_async(go())


async def run_online(
    args: argparse.Namespace,
    registry: Registry,
    failed: Failures,
    links: AsyncIterator[NewLink],
    report: Report,
    engine: Engine,
) -> int:
    """As `add_online`, with an engine that a test may replace."""
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
            return await _OnlineRun(args, registry, failed, engine, canonicalizer, report).run(links)
        finally:
            if canonicalizer is not None:
                canonicalizer.learnt.save()


class _OnlineRun:
    """Many URLs, some concurrently, reported and written in order."""

    def __init__(
        self,
        args: argparse.Namespace,
        registry: Registry,
        failed: Failures,
        engine: Engine,
        canonicalizer: Canonicalizer | None,
        report: Report,
    ) -> None:
        from spaniel.cli.places import Places

        self._args = args
        self._registry = registry
        self._failed = failed
        self._engine = engine
        self._canonicalizer = canonicalizer
        self._report = report
        self._run = LongRun("link", quiet=args.quiet, several="urls" not in args or opt.is_several(args.urls))
        self._places = Places(args.jobs, FETCH_PER_HOST)
        self._results: list[_Result] = []

    async def run(self, links: AsyncIterator[NewLink]) -> int:
        from spaniel.cli.places import host_in

        await self._run.in_order(links, self._work, self._hand_over, lambda link: self._places.at(host_in(link.url)))
        self._write()
        if self._run.stopping:
            self._run.say("stopped; the records added so far are kept")
        return self._run.exit_code or self._failed.exit_code

    async def _work(self, link: NewLink) -> _Result:
        try:
            return _Result(await self._measured(await self._canonical(link)))
        except SpanielError as error:
            self._run.fail(str(error.code))
            return _Result(link, error.about(link.url))

    async def _canonical(self, link: NewLink) -> NewLink:
        if self._canonicalizer is not None:
            return link._replace(found=await self._canonicalizer.canonicalize(link.url))
        return link._replace(found=self._registry.rules.explain(link.url)) if self._args.explain else link

    async def _measured(self, link: NewLink) -> NewLink:
        if not getattr(self._args, "static", False):
            return link
        from spaniel.net.deadline import Deadline
        from spaniel.net.http import RequestOptions
        from spaniel.pipeline.retrieve import ANY_SIZE, FetchOptions, measure
        from spaniel.registry.config import spot_of
        from spaniel.url.parsing import parse

        settings = self._engine.settings
        headers = settings.headers._replace(accept="*/*", accept_encoding="identity")
        options = FetchOptions(RequestOptions(headers, ANY_SIZE), settings.limits.max_redirects)
        rules = self._registry.rules
        spot = rules.admit(link.url) if link.found is None else rules.admitted(spot_of(link.found.url))
        url = parse(spot.url)
        measured = await measure(url, self._engine.services.door, Deadline(settings.limits.timeout_seconds), options)
        keys: dict[str, Written] = {LENGTH: measured.length, SHA256: measured.sha256}
        keys |= {TYPE: measured.content_type} if self._args.type and measured.content_type else {}
        return link._replace(keys={**link.keys, **keys})

    def _hand_over(self, result: _Result) -> None:
        self._results.append(result)
        if len(self._results) >= BATCH:
            self._write()

    def _write(self) -> None:
        results, self._results = self._results, []
        for result in results:
            if result.error is not None:
                self._failed(result.error, place_of(result.link, result.error))
        links = [result.link for result in results if result.error is None]
        if links:
            for link, added in add_links(self._registry, links, self._args.category, self._failed):
                self._report(link, added)
