"""`spaniel db add`: URLs become records; with --online and --static the web is asked first."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spaniel.cli.db_adding import add_links, check, explained, tell
from spaniel.cli.db_folder import SOME_FAILED, Failures, is_several, opened
from spaniel.cli.lists import Inputs, incoming, list_options, report_problems
from spaniel.cli.options import configure_logs, settings_from
from spaniel.sources.rows import Problems

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Iterable

    from spaniel.registry.database import Added, Registry
    from spaniel.registry.links import NewLink


def run_add(args: argparse.Namespace) -> int:
    configure_logs(args)
    check(args)
    registry = opened(args, args.policy)
    failed = Failures(several=is_several(args.urls))
    if args.static or args.online:
        return _add_with_web(args, registry, failed)
    from spaniel.registry.links import NewLink

    urls = Inputs(args.urls, list_options(args))
    links: Iterable[NewLink] = (NewLink(place, url) for place, url in urls)
    if args.explain:
        links = explained(registry, links, failed)
    drawn = is_several(args.urls) and not args.quiet
    for link, added in add_links(registry, links, args.category, failed, drawn=drawn):
        tell(link, added, args)
    return urls.exit_code(failed.exit_code)


def _add_with_web(args: argparse.Namespace, registry: Registry, failed: Failures) -> int:
    from spaniel.cli.db_web import add_with_web, tell_all

    count = 0
    show = tell_all(args)

    def told(link: NewLink, added: Added) -> None:
        nonlocal count
        count += 1
        show(link, added)

    problems = Problems()
    code = add_with_web(args, registry, failed, incoming_links(args, problems), told)
    report_problems(problems)
    if is_several(args.urls) and not args.quiet:
        done = f"{count} {'measured' if args.static else 'looked up'}"
        sys.stderr.write(f"spaniel: {done}{f', {failed.count} failed' if failed.count else ''}\n")
    return code or (SOME_FAILED if problems.lost else 0)


async def incoming_links(args: argparse.Namespace, problems: Problems) -> AsyncIterator[NewLink]:
    from spaniel.registry.links import NewLink

    async for asked in incoming(args.urls, settings_from(args), list_options(args), problems, may_be_empty=True):
        yield NewLink(f"{asked.where}: " if asked.where else "", asked.url)
