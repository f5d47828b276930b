"""`spaniel cache`: list, show, clear and verify the page cache."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spaniel.cli import options as opt
from spaniel.cli.output import print_array, written_time
from spaniel.errors import Code, SpanielError, shown
from spaniel.url.parsing import typed
from spaniel.url.value import LONGEST

if TYPE_CHECKING:
    import argparse

    from spaniel.cache.index import IndexRow
    from spaniel.cache.maintenance import CacheMaintenance
    from spaniel.cli.options import Groups, Parser, Row

FOUND_NOTHING = 1  # `show`: not cached; `verify`: problems


def parser() -> Parser:
    return opt.with_commands(
        "spaniel cache",
        "Show, clear or verify the cache of fetched pages.",
        COMMANDS,
        examples=[
            ("spaniel cache stats", "Number of pages and their size"),
            ("spaniel cache show https://example.com/a", "The cached copy of a page"),
            ("spaniel cache clear --older-than 7d", "Remove old pages"),
        ],
        notes="Exit codes: 0 done; 1 'show' found nothing, or 'verify' found problems; 7 the\ncache cannot be read.",
    )


def main(args: argparse.Namespace) -> int:
    from spaniel.app.settings import load
    from spaniel.cache.maintenance import CacheMaintenance

    if args.dir and not looks_like_a_cache(args.dir):
        raise SpanielError(Code.CACHE_READ_FAILED, path=args.dir, error="this folder has no page cache")
    folder = args.dir or load(args.config).cache.folder
    with CacheMaintenance(folder, create=not args.dir) as cache:  # the user's own may not have been used yet
        return opt.chosen(args, COMMANDS)(cache, args)


def looks_like_a_cache(folder: str) -> bool:
    """Whether a folder has an index or a shard; others are not written to."""
    try:
        return any(name == "index.sqlite3" or (len(name) == 2 and is_hex(name)) for name in os.listdir(folder))
    except OSError as error:
        raise SpanielError(Code.CACHE_READ_FAILED, path=folder, error=error.strerror or str(error)) from None


def is_hex(text: str) -> bool:
    return set(text) <= set("0123456789abcdef")


def stats(cache: CacheMaintenance, args: argparse.Namespace) -> int:

    found = cache.stats()
    facts = found._asdict() | {"oldest": written_time(found.oldest), "newest": written_time(found.newest)}
    if args.json:
        print(json.dumps(facts, ensure_ascii=False))
        return 0
    print(f"{found.folder}\n  {found.entries:,} entries of {found.hosts:,} hosts, {readable(found.bytes)}")
    if found.entries:
        print(f"  {found.expired:,} expired; fetched from {facts['oldest']} to {facts['newest']}")
        print("  " + ", ".join(f"{count:,} by {method or '?'}" for method, count in found.renderings.items()))
    return 0


def ls(cache: CacheMaintenance, args: argparse.Namespace) -> int:

    now = datetime.now(UTC).timestamp()
    if args.json:
        print_array(described(row, now) for row in cache.entries())
        return 0
    for row in cache.entries():
        state = "fresh" if row.fetched <= now < row.expires else "expired"
        url = shown(row.url, LONGEST) or row.key
        print(f"{written_time(row.fetched)}  {state:7}  {row.method:7}  {row.size:>10,}  {url}")
    return 0


def show(cache: CacheMaintenance, args: argparse.Namespace) -> int:

    now = datetime.now(UTC).timestamp()
    found = list(cache.find(canonical_forms(args.url)))
    if not found:
        sys.stderr.write(f"spaniel: {shown(args.url)} is not in the cache\n")
        return FOUND_NOTHING
    whole = [
        described(row, now)
        | {"path": cache.folder.path(row.key), "etag": entry.etag, "last_modified": entry.last_modified,
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


def clear(cache: CacheMaintenance, args: argparse.Namespace) -> int:
    gone = cache.clear(args.older_than, args.host and args.host.lower().rstrip("."))
    if args.json:
        print(json.dumps(gone._asdict()))
    else:
        print(f"removed {gone.entries:,} entries, {readable(gone.bytes)}")
    return 0


def verify(cache: CacheMaintenance, args: argparse.Namespace) -> int:
    problems = []
    for problem in cache.verify(args.repair):
        problems.append(problem)
        if not args.json:
            print(f"{problem.kind}: {shown(problem.path, LONGEST)}: {shown(problem.detail)}")
    if args.json:
        facts = {"checked": cache.checked, "repaired": args.repair, "problems": [p._asdict() for p in problems]}
        print(json.dumps(facts, ensure_ascii=False))
    else:
        ending = ", repaired" if args.repair and problems else ""
        print(f"{cache.checked:,} entries read, {len(problems):,} problems{ending}")
    left = [p for p in problems if not args.repair or p.kind == "stranger"]
    return FOUND_NOTHING if left else 0


def _options(*own: Row, json: str, arguments: tuple[Row, ...] = ()) -> Groups:
    folder = opt.value("--dir", "DIR", "Folder of the cache [default: setting tools.webfetch.cache_dir]")
    options = {"Options": [*own, opt.json_flag(json), folder], opt.SHARED: [opt.CONFIG]}
    return {"Arguments": list(arguments), **options} if arguments else options


COMMANDS = {
    "stats": opt.Command(
        "Show the number of cached pages and their size", stats, _options(json="Print one JSON object"),
        [("spaniel cache stats", "Pages, hosts, size"), ("spaniel cache stats --dir other/cache --json", "Elsewhere")],
    ),
    "ls": opt.Command(
        "List the cached pages, the last used first", ls, _options(json="Print a JSON array"),
        [("spaniel cache ls", "Time, state, size and URL"), ("spaniel cache ls --json", "As a JSON array")],
    ),
    "show": opt.Command(
        "Show the cached copies of a URL", show,
        _options(json="Print a JSON array", arguments=(opt.argument("url", "URL", "Page to show", type=typed),)),
        [
            ("spaniel cache show https://example.com/a", "Metadata and text"),
            ("spaniel cache show --json https://example.com/a", "As a JSON array"),
        ],
    ),
    "clear": opt.Command(
        "Remove cached pages: all, or those that the options select", clear,
        _options(
            opt.value("--older-than", "AGE", "Only pages fetched longer ago: 30m, 12h, 7d, 2w", type=opt.duration),
            opt.value("--host", "HOST", "Only pages of this host (not of its subdomains)"),
            json="Print one JSON object",
        ),
        [
            ("spaniel cache clear", "Remove everything"),
            ("spaniel cache clear --older-than 7d --host example.com", "Old pages of one host"),
        ],
    ),
    "verify": opt.Command(
        "Read every file of the cache, and list problems", verify,
        _options(opt.flag("--repair", "Remove damaged files and correct the index"), json="Print one JSON object"),
        [
            ("spaniel cache verify", "List problems"),
            ("spaniel cache verify --repair", "Remove damaged files"),
        ],
    ),
}  # fmt: skip


def canonical_forms(raw: str) -> set[str]:
    """The URL under every shipped policy: a profile's cache keys are made by its own policy."""
    from spaniel.url import canonicalize, load

    forms = {canonicalize(raw).url}
    for name in ("ingest", "clara", "curious"):
        try:
            forms.add(load(name).apply(raw).url)
        except SpanielError:  # stricter than `exact`: never fetched under this policy
            continue
    return forms


def described(row: IndexRow, now: float) -> dict[str, object]:

    return {
        "url": row.url,
        "rendering_method": row.method,
        "profile": row.profile,
        "fetched_at": written_time(row.fetched),
        "expires_at": written_time(row.expires),
        "fresh": row.fetched <= now < row.expires,
        "bytes": row.size,
        "key": row.key,
    }


def readable(size: int) -> str:
    if size < 1024:
        return f"{size} bytes"
    power = min(3, (int(size).bit_length() - 1) // 10)
    return f"{size / 1024**power:,.1f} {('KiB', 'MiB', 'GiB')[power - 1]}"
