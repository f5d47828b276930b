"""`spaniel hosts`: what is remembered about hosts: which asked us to wait, and which have no HTTPS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.cli import options as opt
from spaniel.cli.long_run import say
from spaniel.cli.output import print_json, written_time
from spaniel.errors import SpanielError, shown

if TYPE_CHECKING:
    import argparse

    from spaniel.cli.options import Parser
    from spaniel.hosts import Memory
    from spaniel.hosts.memory import Known

NOT_THERE = 1


def parser() -> Parser:
    return opt.with_commands(
        "spaniel hosts",
        "Show or forget what is remembered about hosts.\n"
        "A host that answers 429 or 503 with Retry-After gets no request until that time,\n"
        "by any command. A host without HTTPS is requested over HTTP for a week.",
        COMMANDS,
        examples=[
            ("spaniel hosts ls", "What is remembered"),
            ("spaniel hosts forget www.example.com", "Request it again immediately"),
        ],
        notes="A running program keeps what it learned itself until it ends.\n\n"
        "Exit codes: 0 done; 1 nothing was remembered about a host that was named.",
    )


def main(args: argparse.Namespace) -> int:
    import sqlite3

    from spaniel.app.settings import load
    from spaniel.hosts import Memory

    folder = load(args.config).hosts_folder
    memory = Memory(folder)
    try:
        return opt.chosen(args, COMMANDS)(memory, args)
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise opt.bad_argument(folder, f"cannot be used: {reason}") from None
    finally:
        memory.close()


def ls(memory: Memory, args: argparse.Namespace) -> int:
    for place, known in memory.entries(_now()):
        _print(place, known, as_json=args.json)
    return 0


def forget(memory: Memory, args: argparse.Namespace) -> int:
    if bool(args.names) == args.all:
        raise opt.bad_argument("HOST", "name the hosts to forget, or use --all")
    entries, code = memory.entries(_now()), 0
    if args.all:
        found = entries
    else:
        found = []
        for name in args.names:
            named = [entry for entry in entries if _is_meant(name, entry[0])]
            if not named:
                say(f"nothing is remembered about {shown(name)}")
                code = NOT_THERE
            found += [entry for entry in named if entry not in found]
    memory.forget(place for place, _ in found)
    for place, known in found if args.json else ():
        _print(place, known, as_json=True)
    if not args.json:
        print(f"forgotten: {len(found):,}")
    return code


COMMANDS = {
    "ls": opt.Command(
        "List what is remembered, and until when", ls, {"Options": [opt.json_flag()], opt.SHARED: [opt.CONFIG]},
        [("spaniel hosts ls", "Hosts, and until when"), ("spaniel hosts ls --json", "As JSON lines")],
    ),
    "forget": opt.Command(
        "Forget what is remembered about hosts, so that they are requested again", forget,
        {
            "Arguments": [opt.argument("names", "HOST", "Host with all its ports, or a URL of it", nargs="*")],
            "Options": [opt.flag("--all", "Forget everything"), opt.json_flag()],
            opt.SHARED: [opt.CONFIG],
        },
        [
            ("spaniel hosts forget www.example.com", "One host"),
            ("spaniel hosts forget --all --json", "All, printed as JSON"),
        ],
    ),
}  # fmt: skip


def _is_meant(name: str, place: str) -> bool:
    """Whether a name means this entry: a host all its origins, a URL or an origin only itself."""
    from spaniel.hosts import host_of
    from spaniel.url.parsing import parse

    try:
        url = parse(name if "://" in name else f"http://{name}/")
    except SpanielError:
        return False
    if "://" in name:
        return place in (url.origin, url.host)
    return host_of(place) == url.host and (url.port is None or place.endswith(f":{url.port}"))


def _print(place: str, known: Known, *, as_json: bool) -> None:
    if as_json:
        facts = {
            "host": place,
            "status": known.status or None,
            "not_before": written_time(int(known.not_before)) if known.not_before else None,
            "http_only_until": written_time(int(known.http_only_until)) if known.http_only_until else None,
        }
        print_json(facts)
        return
    if known.not_before:
        print(f"{written_time(int(known.not_before))}  asked us to wait ({known.status})  {shown(place)}")
    if known.http_only_until:
        print(f"{written_time(int(known.http_only_until))}  has no HTTPS             {shown(place)}")


def _now() -> float:
    import time

    return time.time()
