"""`spaniel hosts`: what is remembered about hosts: which asked us to wait, and which have no HTTPS."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from spaniel.cli.options import add_command, add_config_option, add_json, new_parser
from spaniel.errors import Code, SpanielError, shown

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from spaniel.hosts import Memory
    from spaniel.hosts.memory import Known

    Run = Callable[[Memory, argparse.Namespace], int]

NOT_THERE = 1
EXAMPLES = {
    "ls": [("spaniel hosts ls", "hosts, and until when"), ("spaniel hosts ls --json", "as JSON lines")],
    "forget": [
        ("spaniel hosts forget www.example.com", "a host, with all its ports"),
        ("spaniel hosts forget --all --json", "everything; prints what was forgotten"),
    ],
}


def parser() -> argparse.ArgumentParser:
    p = new_parser(
        "spaniel hosts",
        "Show what is remembered about hosts, and forget it.\n"
        "A host that answers 429 or 503 with Retry-After gets no request until that time, by any command.\n"
        "A host without HTTPS is requested over HTTP for a week.",
        "A program that is running keeps what it learned itself until it ends.\n"
        "Exit code: 0 done; 1 nothing was remembered about a host that was named.",
        examples=[
            ("spaniel hosts ls", "what is remembered"),
            ("spaniel hosts forget www.example.com", "request it again immediately"),
        ],
    )
    commands = p.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (what, _) in COMMANDS.items():
        sub = add_command(commands, name, what, EXAMPLES[name])
        add_json(sub)
        add_config_option(sub)
        if name == "forget":
            sub.add_argument("names", nargs="*", metavar="HOST", help="a host, with all its ports, or a URL of it")
            sub.add_argument("--all", action="store_true", help="forget everything")
    return p


def main(args: argparse.Namespace) -> int:
    import sqlite3

    from spaniel.app.settings import load
    from spaniel.hosts import Memory

    folder = load(args.config).hosts_folder
    memory = Memory(folder)
    try:
        return COMMANDS[args.command][1](memory, args)
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SpanielError(Code.BAD_ARGS, field=folder, reason=f"cannot be used: {reason}") from None
    finally:
        memory.close()


def ls(memory: Memory, args: argparse.Namespace) -> int:
    for place, known in memory.entries(_now()):
        _print(place, known, as_json=args.json)
    return 0


def forget(memory: Memory, args: argparse.Namespace) -> int:
    if bool(args.names) == args.all:
        raise SpanielError(Code.BAD_ARGS, field="HOST", reason="name the hosts to forget, or write --all")
    entries, code = memory.entries(_now()), 0
    if args.all:
        found = entries
    else:
        found = []
        for name in args.names:
            named = [entry for entry in entries if _is_meant(name, entry[0])]
            if not named:
                sys.stderr.write(f"spaniel: nothing is remembered about {shown(name)}\n")
                code = NOT_THERE
            found += [entry for entry in named if entry not in found]
    memory.forget(place for place, _ in found)
    for place, known in found if args.json else ():
        _print(place, known, as_json=True)
    if not args.json:
        print(f"forgotten: {len(found):,}")
    return code


COMMANDS: dict[str, tuple[str, Run]] = {
    "ls": ("list what is remembered, and until when", ls),
    "forget": ("forget what is remembered about hosts, so that they are requested again", forget),
}


def _is_meant(name: str, place: str) -> bool:
    """A host means all of its origins; a URL or an origin that one alone, and whether the host has HTTPS."""
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
    from spaniel.cli.cache import moment

    if as_json:
        facts = {
            "host": place,
            "status": known.status or None,
            "not_before": moment(int(known.not_before)) if known.not_before else None,
            "http_only_until": moment(int(known.http_only_until)) if known.http_only_until else None,
        }
        print(json.dumps(facts, ensure_ascii=False))
        return
    if known.not_before:
        print(f"{moment(int(known.not_before))}  asked us to wait ({known.status})  {shown(place)}")
    if known.http_only_until:
        print(f"{moment(int(known.http_only_until))}  has no HTTPS             {shown(place)}")


def _now() -> float:
    import time

    return time.time()
