"""`spaniel queue`: pages that could not be fetched, for a person to look at."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, NamedTuple

from spaniel.cli.long_run import LongRun, run_async
from spaniel.cli.options import (
    add_command,
    add_config_option,
    add_format,
    add_json,
    add_log_options,
    configure_logs,
    new_parser,
)
from spaniel.defaults import FETCH_JOBS, FETCH_PER_HOST
from spaniel.errors import Code, SpanielError, shown
from spaniel.url.parsing import typed
from spaniel.url.value import LONGEST

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable

    from spaniel.app.engine import Engine
    from spaniel.queue import Entry, Queue

    Run = Callable[[Queue, argparse.Namespace], int]
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    from spaniel.pipeline.profile import Profile


SOME_FAILED = 1
FORMATS = ("jsonl", "csv", "text")
COLUMNS = ("id", "url", "requested_url", "profile", "code", "message", "added", "tried", "times", "attempts")
LONGEST_URL = 8192
EXAMPLES = {
    "ls": [("spaniel queue ls", "number, time, tries, error and URL"), ("spaniel queue ls --json", "as JSON lines")],
    "show": [
        ("spaniel queue show 12", "by its number"),
        ("spaniel queue show --json https://example.com/a", "by its URL, as JSON"),
    ],
    "retry": [
        ("spaniel queue retry", "all pages"),
        ("spaniel queue retry --profile reader 12 15", "two of them, by another profile"),
    ],
    "done": [
        ("spaniel queue done 12 https://example.com/a", "by number or URL"),
        ("spaniel queue done --all", "empty the queue"),
    ],
    "export": [
        ("spaniel queue export -f csv -o queue.csv", "a table"),
        ("spaniel queue export -f text > urls.txt", "only the URLs"),
    ],
}


def parser() -> argparse.ArgumentParser:
    p = new_parser(
        "spaniel queue",
        "Show the pages that could not be fetched, fetch them again, or remove them from the queue.\n"
        "Profiles whose fallbacks end with 'queue' put them there.",
        "A page is named by its number, or by its URL.\n"
        "Exit code: 0 done; 1 some were not fetched, or a page that was named is not in the queue.",
        examples=[
            ("spaniel queue ls", "pages that wait for a person"),
            ("spaniel queue show 12", "what was tried for one of them"),
            ("spaniel queue retry", "fetch all of them again"),
        ],
    )
    commands = p.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (what, _) in COMMANDS.items():
        sub = add_command(commands, name, what, EXAMPLES[name])
        if name != "export":
            add_json(sub)
        if name in ("show", "retry", "done"):
            sub.add_argument("names", nargs="+" if name == "show" else "*", metavar="PAGE", help="its number or URL")
        if name == "retry":
            sub.add_argument("--profile", metavar="FILE", help="use this profile, not the one that failed")
            add_log_options(sub)
        if name == "done":
            sub.add_argument("--all", action="store_true", help="remove all pages")
        if name == "export":
            formats = "jsonl (the default), csv, or text: only the URLs, one per line"
            add_format(sub, FORMATS, "jsonl", formats, ("jsonl", "print one JSON object per line"))
            sub.add_argument("-o", "--output", metavar="FILE", help="write to this file")
        add_config_option(sub)
    return p


def main(args: argparse.Namespace) -> int:
    from spaniel.app.settings import load
    from spaniel.queue import Queue

    queue = Queue(load(args.config).queue)
    try:
        return COMMANDS[args.command][1](queue, args)
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
            told = "  ".join(f"{name} {shown(str(value))}" for name, value in attempt.items() if value is not None)
            print(f"  {told}")
    return code


def retry(queue: Queue, args: argparse.Namespace) -> int:

    configure_logs(args)
    entries, code = named(queue, args.names) if args.names else (queue.entries(), 0)
    return run_async(fetch_again(queue, entries, args)) or code


def done(queue: Queue, args: argparse.Namespace) -> int:
    if bool(args.names) == args.all:
        raise SpanielError(Code.BAD_ARGS, field="PAGE", reason="name the pages to remove, or write --all")
    entries, code = (queue.entries(), 0) if args.all else named(queue, args.names)
    removed = queue.remove(entries)
    if args.json:
        print_lines(entries)
    else:
        print(f"removed: {removed:,}")
    return code


def export(queue: Queue, args: argparse.Namespace) -> int:
    write = {"jsonl": as_json_lines, "csv": as_csv, "text": as_urls}[args.format]
    text = write(queue.entries())
    if not args.output:
        sys.stdout.write(text)
        return 0
    from spaniel.files import write_atomically

    try:
        write_atomically(args.output, text.encode("utf-8", "backslashreplace"), None)
    except OSError as error:
        raise SpanielError(Code.BAD_ARGS, field=args.output, reason=f"cannot be written: {error.strerror}") from None
    return 0


COMMANDS: dict[str, tuple[str, Run]] = {
    "ls": ("list the pages in the queue, the oldest first", ls),
    "show": ("show everything that is known about a page, and what was tried", show),
    "retry": ("fetch pages again (all, if none is named), and remove those that work", retry),
    "done": ("remove pages from the queue", done),
    "export": ("write the queue for another program", export),
}


def named(queue: Queue, names: Iterable[str]) -> tuple[list[Entry], int]:
    """The selected pages, each once; and the exit code, which shows whether one is missing."""
    found: dict[int, Entry] = {}
    code = 0
    for name in names:
        entries = queue.find(name) or queue.find(typed(name)) or queue.find(f"{typed(name)}/")
        if not entries:
            sys.stderr.write(f"spaniel: {shown(name)} is not in the queue\n")
            code = SOME_FAILED
        found |= {entry.id: entry for entry in entries}
    return list(found.values()), code


def described(entry: Entry) -> dict[str, object]:
    from spaniel.cli.cache import moment

    return {**entry._asdict(), "added": moment(entry.added), "tried": moment(entry.tried)}


def print_lines(entries: Iterable[Entry]) -> None:
    sys.stdout.write(as_json_lines(entries))


def as_json_lines(entries: Iterable[Entry]) -> str:
    return "".join(json.dumps(described(entry), ensure_ascii=False) + "\n" for entry in entries)


def as_csv(entries: Iterable[Entry]) -> str:
    import csv
    import io

    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for entry in entries:
        attempts = " ".join(f"{attempt.get('fallback')}:{attempt.get('outcome')}" for attempt in entry.attempts)
        writer.writerow({**described(entry), "attempts": attempts})
    return text.getvalue()


def as_urls(entries: Iterable[Entry]) -> str:
    return "".join(f"{entry.requested_url}\n" for entry in entries)


class RetryResult(NamedTuple):
    entry: Entry
    error: SpanielError | None
    instead: str = ""  # what was returned instead of the page: `paywall`, `login`, …

    @property
    def failure(self) -> str:
        return str(self.error.code) if self.error else self.instead


class RetryRun:
    """One run of the command."""

    def __init__(self, queue: Queue, engine: Engine, args: argparse.Namespace, run: LongRun) -> None:
        from spaniel.cli.places import Places

        self._queue, self._engine, self._args, self._run = queue, engine, args, run
        self._places = Places(FETCH_JOBS.default, FETCH_PER_HOST)
        self._profiles: dict[str, Profile] = {}

    def place(self, entry: Entry) -> AbstractAsyncContextManager[None]:
        from spaniel.cli.fetch_run import host_of

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
    """Fetch pages again, by the profiles that failed them; the exit code."""
    from spaniel.app.engine import Engine
    from spaniel.app.settings import load

    several = len(entries) > 1
    run = LongRun("pages", total=len(entries), quiet=args.quiet, several=several)
    async with Engine(load(args.config)) as engine:
        retrying = RetryRun(queue, engine, args, run)
        await run.in_order(_each(entries), retrying.fetch, retrying.hand_over, retrying.place)
    if several:
        run.say(run.summary("fetched"))
    return run.exit_code or (SOME_FAILED if run.failed else 0)


async def _each(entries: list[Entry]) -> AsyncIterator[Entry]:
    for entry in entries:
        yield entry
