"""`spaniel db add`: URLs become records; with --online and --static the web is asked first."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spaniel.cli.db_adding import add_links, check, explained, tell
from spaniel.cli.db_folder import Failures, is_several, opened
from spaniel.cli.lines import inputs
from spaniel.cli.options import configure_logs, settings_from

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Iterable

    from spaniel.registry.database import Registry
    from spaniel.registry.editor import Added
    from spaniel.registry.links import Link


def run_add(args: argparse.Namespace) -> int:
    configure_logs(args)
    check(args)
    registry = opened(args, args.policy)
    failed = Failures(several=is_several(args.urls))
    if args.static or args.online:
        return _add_with_web(args, registry, failed)
    from spaniel.registry.links import Link

    links: Iterable[Link] = (Link(place, url) for place, url in inputs(args.urls))
    if args.explain:
        links = explained(registry, links, failed)
    drawn = is_several(args.urls) and not args.quiet
    for link, added in add_links(registry, links, args.category, failed, drawn=drawn):
        tell(link, added, args)
    return failed.exit_code


def _add_with_web(args: argparse.Namespace, registry: Registry, failed: Failures) -> int:
    from spaniel.cli.db_web import add_with_web, tell_all

    count = 0
    show = tell_all(args)

    def told(link: Link, added: Added) -> None:
        nonlocal count
        count += 1
        show(link, added)

    code = add_with_web(args, registry, failed, incoming_links(args), told)
    if is_several(args.urls) and not args.quiet:
        done = f"{count} {'measured' if args.static else 'looked up'}"
        sys.stderr.write(f"spaniel: {done}{f', {failed.count} failed' if failed.count else ''}\n")
    return code


async def incoming_links(args: argparse.Namespace) -> AsyncIterator[Link]:
    from spaniel.cli.lists import incoming
    from spaniel.registry.links import Link

    async for asked in incoming(args.urls, settings_from(args)):
        yield Link(f"{asked.where}: " if asked.where else "", asked.url)
