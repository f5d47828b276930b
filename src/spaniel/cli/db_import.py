"""`spaniel db import`: the links of lists, sitemaps and bookmarks become records."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spaniel.app.sources import in_lots, read_lists
from spaniel.cli.db_adding import add_links, check, explained, tell, tell_notes
from spaniel.cli.db_folder import SOME_FAILED, Failures, opened
from spaniel.cli.lists import list_options, report_problems
from spaniel.cli.options import configure_logs, settings_from
from spaniel.errors import SpanielError
from spaniel.registry.links import NewLink, known_facts
from spaniel.sources.rows import Problems

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncGenerator, Iterable

    from spaniel.registry.database import Added


def run_import(args: argparse.Namespace) -> int:
    configure_logs(args)
    check(args)
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
        from spaniel.cli.db_web import add_with_web

        code = add_with_web(args, registry, failed, links, told)
    else:
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
    options, settings = list_options(args), settings_from(args)
    for name in args.files:
        try:
            async for item in read_lists([name], options, problems, settings):
                yield NewLink(f"{item.source}: {item.where}: ", item.raw_url, known_facts(item.columns))
        except SpanielError as error:
            failed(error)
