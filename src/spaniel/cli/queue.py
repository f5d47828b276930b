"""`spaniel queue`: the pages that could not be fetched, for a person to look at."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from spaniel.cli.long_run import run_async
from spaniel.cli.options import add_config_option, add_log_options, configure_logs, new_parser
from spaniel.errors import Code, SpanielError, shown
from spaniel.url.parsing import typed

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable

    from spaniel.queue import Entry, Queue

    Run = Callable[[Queue, argparse.Namespace], int]

SOME_FAILED = 1
FORMATS = ("jsonl", "csv", "text")
COLUMNS = ("id", "url", "requested_url", "profile", "code", "message", "added", "tried", "times", "attempts")
LONGEST_URL = 8192


def parser() -> argparse.ArgumentParser:
    p = new_parser(
        "spaniel queue",
        "Look at the pages that could not be fetched, fetch them again, take them off the list.\n"
        "Profiles whose ladder ends with 'queue' put them there.",
        "A page is named by its number, or by its URL.\n"
        "Exit code: 0 done; 1 some were not fetched, or a page that was named is not in the queue.",
    )
    commands = p.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (what, _) in COMMANDS.items():
        sub = commands.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.")
        add_config_option(sub)
        if name in ("ls", "show", "retry"):
            sub.add_argument("--json", action="store_true", help="print one JSON object per line")
        if name in ("show", "retry", "done"):
            sub.add_argument("names", nargs="+" if name == "show" else "*", metavar="PAGE", help="its number or URL")
        if name == "retry":
            sub.add_argument("--profile", metavar="FILE", help="fetch by this profile, not by the one that failed")
            add_log_options(sub)
        if name == "done":
            sub.add_argument("--all", action="store_true", help="take all pages out")
        if name == "export":
            sub.add_argument(
                "-f", "--format", choices=FORMATS, default="jsonl", help="text: only the URLs, one per line"
            )
            sub.add_argument("-o", "--output", metavar="FILE", help="write to this file")
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
        print(f"{entry.id:>6}  {tried}  {entry.times:>3}  {entry.code:24}  {shown(entry.url, LONGEST_URL)}")
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
            print(f"{name}: {shown(str(value), LONGEST_URL)}")
        for attempt in attempts if isinstance(attempts, list) else []:
            told = "  ".join(f"{name} {shown(str(value))}" for name, value in attempt.items() if value is not None)
            print(f"  {told}")
    return code


def retry(queue: Queue, args: argparse.Namespace) -> int:
    from spaniel.cli.queue_retry import fetch_again

    configure_logs(args)
    entries, code = named(queue, args.names) if args.names else (queue.entries(), 0)
    return run_async(fetch_again(queue, entries, args)) or code


def done(queue: Queue, args: argparse.Namespace) -> int:
    if bool(args.names) == args.all:
        raise SpanielError(Code.BAD_ARGS, field="PAGE", reason="name the pages to take out, or write --all")
    entries, code = (queue.entries(), 0) if args.all else named(queue, args.names)
    print(f"taken out: {queue.remove(entries):,}")
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
    "show": ("show all that is known of a page, and what was tried", show),
    "retry": ("fetch pages again (all, if none is named); what works is taken out", retry),
    "done": ("take pages out of the queue", done),
    "export": ("write the queue for another program", export),
}


def named(queue: Queue, names: Iterable[str]) -> tuple[list[Entry], int]:
    """The pages that are meant, each once; and the exit code, which tells whether one is not there."""
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
        attempts = " ".join(f"{attempt.get('rung')}:{attempt.get('outcome')}" for attempt in entry.attempts)
        writer.writerow({**described(entry), "attempts": attempts})
    return text.getvalue()


def as_urls(entries: Iterable[Entry]) -> str:
    return "".join(f"{entry.requested_url}\n" for entry in entries)
