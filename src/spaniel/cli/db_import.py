"""`spaniel db import`: the links of lists, sitemaps and bookmarks become records."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spaniel.cli.db_adding import add_links, check, explained, tell, tell_notes
from spaniel.cli.db_folder import Failures, opened
from spaniel.cli.options import configure_logs
from spaniel.errors import SpanielError

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Iterable, Iterator

    from spaniel.registry.editor import Added
    from spaniel.registry.sources import Link


def run_import(args: argparse.Namespace) -> int:
    configure_logs(args)
    check(args)
    registry = opened(args, args.policy)
    failed = Failures(several=True)
    counts = {True: 0, False: 0}

    def told(link: Link, added: Added) -> None:
        counts[added.is_new] += 1
        if args.explain or args.json:
            tell(link, added, args)
        elif link.found is not None and not args.quiet:
            tell_notes(link, added)

    links: Iterable[Link] = _links(args, failed)
    if args.online:
        from spaniel.cli.db_web import add_with_web

        code = add_with_web(args, registry, failed, _one_by_one(links), told)
    else:
        links = explained(registry, links, failed) if args.explain else links
        for link, added in add_links(registry, links, args.category, failed, drawn=not args.quiet):
            told(link, added)
        code = failed.exit_code
    said = f"{counts[True]:,} added, {counts[False]:,} known already"
    sys.stderr.write(f"spaniel: {said}{f', {failed.count:,} refused' if failed.count else ''}\n")
    return code


def _links(args: argparse.Namespace, failed: Failures) -> Iterator[Link]:
    """The links of every file, with their places. A file that cannot be read does not stop the others."""
    from spaniel.cli.files import read_bytes
    from spaniel.registry.sources import read_links

    for name in args.files:
        try:
            for link in read_links(name, read_bytes(name), args.kind, args.field):
                yield link._replace(where=f"{name}: {link.where}: ")
        except SpanielError as error:
            failed(error)


async def _one_by_one(links: Iterable[Link]) -> AsyncIterator[Link]:
    for link in links:
        yield link
