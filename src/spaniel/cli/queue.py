"""`spaniel queue`: pages that could not be fetched, for a person to look at."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from spaniel.cli import options as opt
from spaniel.cli.long_run import LongRun, run_async, say
from spaniel.cli.output import as_line, print_json, write_bytes, write_csv, written_time
from spaniel.defaults import FETCH_JOBS, FETCH_PER_HOST
from spaniel.errors import SpanielError, shown
from spaniel.url.parsing import typed
from spaniel.url.value import LONGEST

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Iterable
    from contextlib import AbstractAsyncContextManager
    from typing import TextIO

    from spaniel.app.engine import Engine
    from spaniel.cli.options import Groups, Parser, Row
    from spaniel.pipeline.profile import Profile
    from spaniel.queue import Entry, Queue


SOME_FAILED = 1
COLUMNS = ("id", "url", "requested_url", "profile", "code", "message", "added", "tried", "times", "attempts")
LONGEST_URL = 8192


def parser() -> Parser:
    return opt.with_commands(
        "spaniel queue",
        "Show and retry pages that could not be fetched, or remove them from the queue.\n"
        "Profiles whose fallbacks end with 'queue' put them there.",
        COMMANDS,
        examples=[
            ("spaniel queue ls", "Pages that need a person"),
            ("spaniel queue show 12", "What was tried for one of them"),
            ("spaniel queue retry", "Fetch all of them again"),
        ],
        notes="A page is named by its number or its URL.\n\n"
        "Exit codes: 0 done; 1 some were not fetched, or a page is not in the queue.",
    )


def main(args: argparse.Namespace) -> int:
    from spaniel.app.settings import load
    from spaniel.queue import Queue

    queue = Queue(load(args.config).queue)
    try:
        return opt.chosen(args, COMMANDS)(queue, args)
    finally:
        queue.close()


def ls(queue: Queue, args: argparse.Namespace) -> int:
    entries = queue.entries()
    if args.json:
        print_lines(entries)
        return 0
    for entry in entries:
        tried = described(entry)["tried"]
        print(f"{entry.id:>6}  {tried}  {entry.times:>3}  {entry.code:24}  {shown(entry.url, LONGEST)}")
    return 0


def show(queue: Queue, args: argparse.Namespace) -> int:
    entries, code = named(queue, args.names)
    if args.json:
        print_lines(entries)
        return code
    for entry in entries:
        facts = described(entry)
        attempts = facts.pop("attempts")
        for name, value in facts.items():
            print(f"{name}: {shown(str(value), LONGEST)}")
        for attempt in attempts if isinstance(attempts, list) else []:
            print("  " + "  ".join(f"{key} {shown(str(value))}" for key, value in attempt.items() if value is not None))
    return code


def retry(queue: Queue, args: argparse.Namespace) -> int:
    opt.configure_logs(args)
    entries, code = named(queue, args.names) if args.names else (queue.entries(), 0)
    return run_async(fetch_again(queue, entries, args)) or code


def done(queue: Queue, args: argparse.Namespace) -> int:
    if bool(args.names) == args.all:
        raise opt.bad_argument("PAGE", "name the pages to remove, or use --all")
    entries, code = (queue.entries(), 0) if args.all else named(queue, args.names)
    removed = queue.remove(entries)
    if args.json:
        print_lines(entries)
    else:
        print(f"removed: {removed:,}")
    return code


def export(queue: Queue, args: argparse.Namespace) -> int:
    entries = queue.entries()
    if not args.output:
        WRITERS[args.format](entries, sys.stdout)
        return 0
    import io

    text = io.StringIO()
    WRITERS[args.format](entries, text)
    write_bytes(args.output, text.getvalue().encode("utf-8", "backslashreplace"))
    return 0


def described(entry: Entry) -> dict[str, object]:
    return {**entry._asdict(), "added": written_time(entry.added), "tried": written_time(entry.tried)}


def print_lines(entries: Iterable[Entry]) -> None:
    as_json_lines(entries, sys.stdout)


def as_json_lines(entries: Iterable[Entry], out: TextIO) -> None:
    out.writelines(as_line(described(entry)) for entry in entries)


def as_csv(entries: Iterable[Entry], out: TextIO) -> None:
    def row(entry: Entry) -> dict[str, object]:
        attempts = " ".join(f"{attempt.get('fallback')}:{attempt.get('outcome')}" for attempt in entry.attempts)
        return {**described(entry), "attempts": attempts}

    write_csv(out, COLUMNS, map(row, entries))


def as_urls(entries: Iterable[Entry], out: TextIO) -> None:
    out.writelines(f"{entry.requested_url}\n" for entry in entries)


WRITERS = {"jsonl": as_json_lines, "csv": as_csv, "text": as_urls}


def _options(*own: Row | list[Row], pages: str = "", logs: tuple[list[Row], ...] = ()) -> Groups:
    arguments = (
        {"Arguments": [opt.argument("names", "PAGE", "Number or URL of the page", nargs=pages)]} if pages else {}
    )
    return {**arguments, "Options": list(own), opt.SHARED: [opt.CONFIG, *logs]}


COMMANDS = {
    "ls": opt.Command(
        "List the pages in the queue, the oldest first", ls, _options(opt.json_flag()),
        [("spaniel queue ls", "Number, time, tries, error and URL"), ("spaniel queue ls --json", "As JSON lines")],
    ),
    "show": opt.Command(
        "Show what is known about a page, and what was tried", show, _options(opt.json_flag(), pages="+"),
        [
            ("spaniel queue show 12", "By its number"),
            ("spaniel queue show --json https://example.com/a", "By its URL"),
        ],
    ),
    "retry": opt.Command(
        "Fetch pages again (all, if none is named), and remove those that work", retry,
        _options(
            opt.value("--profile", "FILE", "Use this profile instead of the one that failed"),
            opt.json_flag(), pages="*", logs=(opt.LOG_OPTIONS,),
        ),
        [
            ("spaniel queue retry", "All pages"),
            ("spaniel queue retry --profile reader 12 15", "Two pages, by another profile"),
        ],
    ),
    "done": opt.Command(
        "Remove pages from the queue", done,
        _options(opt.flag("--all", "Remove all pages"), opt.json_flag(), pages="*"),
        [
            ("spaniel queue done 12 https://example.com/a", "By number or URL"),
            ("spaniel queue done --all", "Empty the queue"),
        ],
    ),
    "export": opt.Command(
        "Write the queue for another program", export,
        _options(
            opt.formats(tuple(WRITERS), "jsonl, csv, or text: only the URLs", "jsonl"),
            opt.value("-o", "--output", "FILE", "Write to this file"),
        ),
        [
            ("spaniel queue export -f csv -o queue.csv", "A table"),
            ("spaniel queue export -f text > urls.txt", "Only the URLs"),
        ],
    ),
}  # fmt: skip


def named(queue: Queue, names: Iterable[str]) -> tuple[list[Entry], int]:
    """The pages, each once, and the exit code: 1 if one is not in the queue."""
    found: dict[int, Entry] = {}
    code = 0
    for name in names:
        entries = queue.find(name) or queue.find(typed(name)) or queue.find(f"{typed(name)}/")
        if not entries:
            say(f"{shown(name)} is not in the queue")
            code = SOME_FAILED
        found |= {entry.id: entry for entry in entries}
    return list(found.values()), code


class RetryResult(NamedTuple):
    entry: Entry
    error: SpanielError | None
    instead: str = ""  # the type of page that was returned instead: `paywall`, `login`, ...

    @property
    def failure(self) -> str:
        return str(self.error.code) if self.error else self.instead


class RetryRun:
    """One run of `spaniel queue retry`."""

    def __init__(self, queue: Queue, engine: Engine, args: argparse.Namespace, run: LongRun) -> None:
        from spaniel.cli.places import Places

        self._queue, self._engine, self._args, self._run = queue, engine, args, run
        self._places = Places(FETCH_JOBS.default, FETCH_PER_HOST)
        self._profiles: dict[str, Profile] = {}

    def place(self, entry: Entry) -> AbstractAsyncContextManager[None]:
        from spaniel.cli.fetch import host_of

        return self._places.at(host_of(entry.url))

    async def fetch(self, entry: Entry) -> RetryResult:
        """A page that fails again is put into the queue again by the profile's own fallbacks."""
        from spaniel.pipeline.request import Request

        try:
            outcome = await self._engine.fetch(Request(entry.requested_url), self._profile(entry))
        except SpanielError as error:  # of the profile: it no longer exists
            retried = RetryResult(entry, error)
        else:
            retried = RetryResult(entry, outcome.refusal, "" if outcome.refusal else outcome.failure)
        if retried.failure:
            self._run.fail(retried.failure)
        return retried

    def hand_over(self, retried: RetryResult) -> None:
        entry, error, _ = retried
        if not retried.failure:
            self._queue.remove([entry])
        outcome = retried.failure or "ok"
        if self._args.json:
            print_json({"id": entry.id, "url": entry.url, "outcome": outcome, "error": error and error.as_dict()})
            sys.stdout.flush()
        else:
            print(f"{entry.id:>6}  {outcome:24}  {shown(entry.url, LONGEST_URL)}", flush=True)
            if error is not None:
                say(f"{shown(entry.url)}: {error.message}")

    def _profile(self, entry: Entry) -> Profile:
        name = self._args.profile or entry.profile_file or entry.profile
        if name not in self._profiles:
            self._profiles[name] = self._engine.profile(name)
        return self._profiles[name]


async def fetch_again(queue: Queue, entries: list[Entry], args: argparse.Namespace) -> int:
    """Fetch pages again, by the profiles that failed them; the exit code."""
    from spaniel.app.engine import Engine
    from spaniel.app.settings import load

    several = len(entries) > 1
    run = LongRun("page", total=len(entries), quiet=args.quiet, several=several)
    async with Engine(load(args.config)) as engine:
        retrying = RetryRun(queue, engine, args, run)
        await run.in_order(_each(entries), retrying.fetch, retrying.hand_over, retrying.place)
    if several:
        run.say(run.summary("fetched"))
    return run.exit_code or (SOME_FAILED if run.failed else 0)


async def _each(entries: list[Entry]) -> AsyncIterator[Entry]:
    for entry in entries:
        yield entry
