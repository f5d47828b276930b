"""`spaniel cache`: what is in the cache of pages, and how to remove it."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spaniel.cli.options import add_command, add_config_option, add_json, duration, new_parser
from spaniel.errors import Code, SpanielError, shown
from spaniel.url.parsing import typed
from spaniel.url.value import LONGEST

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from spaniel.cache.index import IndexRow
    from spaniel.cache.maintenance import CacheMaintenance

FOUND_NOTHING = 1  # `show`: not there; `verify`: not sound
EXAMPLES = {
    "stats": [
        ("spaniel cache stats", "pages, hosts, size"),
        ("spaniel cache stats --dir other/cache --json", "of another folder, as JSON"),
    ],
    "ls": [("spaniel cache ls", "time, state, size and URL"), ("spaniel cache ls --json", "as a JSON array")],
    "show": [
        ("spaniel cache show https://example.com/a", "metadata and text"),
        ("spaniel cache show --json https://example.com/a", "as a JSON array, one item for each copy"),
    ],
    "clear": [
        ("spaniel cache clear", "remove everything"),
        ("spaniel cache clear --older-than 7d --host example.com", "old pages of one host"),
    ],
    "verify": [
        ("spaniel cache verify", "read every file, and list problems"),
        ("spaniel cache verify --repair", "remove damaged files"),
    ],
}


def parser() -> argparse.ArgumentParser:
    p = new_parser(
        "spaniel cache",
        "Show the cache of fetched pages, clear it, check it.",
        "Exit code: 0 done; 1 'show' found nothing, or 'verify' found problems; 7 the cache cannot be read.",
        examples=[
            ("spaniel cache stats", "how many pages, and their size"),
            ("spaniel cache show https://example.com/a", "what is kept of a page"),
            ("spaniel cache clear --older-than 7d", "remove old pages"),
        ],
    )
    commands = p.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (what, _) in COMMANDS.items():
        sub = add_command(commands, name, what, EXAMPLES[name])
        add_json(sub, "print JSON" + (": an array" if name in ("ls", "show") else ": one object"))
        if name == "show":
            sub.add_argument("url", type=typed, metavar="URL", help="the page")
        if name == "clear":
            sub.add_argument(
                "--older-than", metavar="AGE", type=duration, help="only pages fetched longer ago: 30m, 12h, 7d, 2w"
            )
            sub.add_argument("--host", metavar="HOST", help="only pages of this host (not of its subdomains)")
        if name == "verify":
            sub.add_argument("--repair", action="store_true", help="remove damaged files and correct the index")
        sub.add_argument("--dir", metavar="DIR", help="the folder of the cache (default: from the settings)")
        add_config_option(sub)
    return p


def main(args: argparse.Namespace) -> int:
    from spaniel.app.settings import load
    from spaniel.cache.maintenance import CacheMaintenance

    if args.dir and not looks_like_a_cache(args.dir):
        raise SpanielError(Code.CACHE_READ_FAILED, path=args.dir, error="there is no page cache in that folder")
    folder = args.dir or load(args.config).cache.folder
    with CacheMaintenance(
        folder, create=not args.dir
    ) as upkeep:  # the user's cache may not have been used yet; that is not an error
        return COMMANDS[args.command][1](upkeep, args)


def looks_like_a_cache(folder: str) -> bool:
    """Whether a folder has an index or a shard; nothing is written into one that has neither."""
    try:
        return any(name == "index.sqlite3" or (len(name) == 2 and is_hex(name)) for name in os.listdir(folder))
    except OSError as error:
        raise SpanielError(Code.CACHE_READ_FAILED, path=folder, error=error.strerror or str(error)) from None


def is_hex(text: str) -> bool:
    return set(text) <= set("0123456789abcdef")


def stats(upkeep: CacheMaintenance, args: argparse.Namespace) -> int:
    found = upkeep.stats()
    facts = found._asdict() | {"oldest": moment(found.oldest), "newest": moment(found.newest)}
    if args.json:
        print(json.dumps(facts, ensure_ascii=False))
        return 0
    print(f"{found.folder}\n  {found.entries:,} entries of {found.hosts:,} hosts, {readable(found.bytes)}")
    if found.entries:
        print(f"  {found.expired:,} expired; fetched from {facts['oldest']} to {facts['newest']}")
        print("  " + ", ".join(f"{count:,} by {method or '?'}" for method, count in found.renderings.items()))
    return 0


def ls(upkeep: CacheMaintenance, args: argparse.Namespace) -> int:
    now = datetime.now(UTC).timestamp()
    if args.json:
        print_array(described(row, now) for row in upkeep.entries())
        return 0
    for row in upkeep.entries():
        state = "fresh" if row.fetched <= now < row.expires else "expired"
        print(
            f"{moment(row.fetched)}  {state:7}  {row.method:7}  {row.size:>10,}  {shown(row.url, LONGEST) or row.key}"
        )
    return 0


def show(upkeep: CacheMaintenance, args: argparse.Namespace) -> int:
    now = datetime.now(UTC).timestamp()
    found = list(upkeep.find(canonical_forms(args.url)))
    if not found:
        sys.stderr.write(f"spaniel: {shown(args.url)} is not in the cache\n")
        return FOUND_NOTHING
    whole = [
        described(row, now)
        | {"path": upkeep.folder.path(row.key), "etag": entry.etag, "last_modified": entry.last_modified,
           "content_hash": entry.content_hash, "content": json.loads(bytes(entry.content))}
        for row, entry in found
    ]  # fmt: skip
    if args.json:
        print_array(whole)
        return 0
    for facts in whole:
        content = facts.pop("content")
        for name, value in facts.items():
            if value is not None:
                print(f"{name}: {shown(str(value), LONGEST)}")
        for line in json.dumps(content, ensure_ascii=False, indent=2).split("\n"):
            print(shown(line, sys.maxsize))
    return 0


def clear(upkeep: CacheMaintenance, args: argparse.Namespace) -> int:
    gone = upkeep.clear(args.older_than, args.host and args.host.lower().rstrip("."))
    if args.json:
        print(json.dumps(gone._asdict()))
    else:
        print(f"removed {gone.entries:,} entries, {readable(gone.bytes)}")
    return 0


def verify(upkeep: CacheMaintenance, args: argparse.Namespace) -> int:
    problems = []
    for problem in upkeep.verify(args.repair):
        problems.append(problem)
        if not args.json:
            print(f"{problem.kind}: {shown(problem.path, LONGEST)}: {shown(problem.detail)}")
    if args.json:
        facts = {"checked": upkeep.checked, "repaired": args.repair, "problems": [p._asdict() for p in problems]}
        print(json.dumps(facts, ensure_ascii=False))
    else:
        ending = ", repaired" if args.repair and problems else ""
        print(f"{upkeep.checked:,} entries read, {len(problems):,} problems{ending}")
    left = [p for p in problems if not args.repair or p.kind == "stranger"]
    return FOUND_NOTHING if left else 0


COMMANDS: dict[str, tuple[str, Callable[[CacheMaintenance, argparse.Namespace], int]]] = {
    "stats": ("show how many pages are in the cache, and their size", stats),
    "ls": ("list the pages in the cache, the last used first", ls),
    "show": ("show what the cache has for a URL", show),
    "clear": ("remove pages from the cache: all, or those that the options choose", clear),
    "verify": ("read every file of the cache, and list problems", verify),
}


def canonical_forms(raw: str) -> set[str]:
    """A profile keys the cache by its own policy, so the URL is looked for under every policy that is shipped."""
    from spaniel.url import canonicalize, load

    forms = {canonicalize(raw).url}
    for name in ("ingest", "clara", "curious"):
        try:
            forms.add(load(name).apply(raw).url)
        except SpanielError:  # stricter than `exact`: under this policy it was never fetched
            continue
    return forms


def described(row: IndexRow, now: float) -> dict[str, object]:
    return {
        "url": row.url,
        "rendering_method": row.method,
        "profile": row.profile,
        "fetched_at": moment(row.fetched),
        "expires_at": moment(row.expires),
        "fresh": row.fetched <= now < row.expires,
        "bytes": row.size,
        "key": row.key,
    }


def print_array(items: Iterator[dict[str, object]] | list[dict[str, object]]) -> None:
    """A JSON array, one item a line, written as items arrive."""
    lead = "[\n"
    for item in items:
        sys.stdout.write(lead + json.dumps(item, ensure_ascii=False))
        lead = ",\n"
    sys.stdout.write("\n]\n" if lead != "[\n" else "[]\n")


def moment(seconds: int | None) -> str | None:
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):  # no moment: the index is damaged, and `verify` says so
        return None


def readable(size: int) -> str:
    if size < 1024:
        return f"{size} bytes"
    power = min(3, (int(size).bit_length() - 1) // 10)
    return f"{size / 1024**power:,.1f} {('KiB', 'MiB', 'GiB')[power - 1]}"
