"""`spaniel db add`: URLs become records; with --static, what they bring is measured first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.cli.db_adding import add_links, tell
from spaniel.cli.db_folder import Failures, is_several, opened
from spaniel.cli.lines import inputs
from spaniel.cli.options import configure_logs
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    import argparse


def run_add(args: argparse.Namespace) -> int:
    configure_logs(args)
    _check(args)
    registry = opened(args, args.policy)
    failed = Failures(several=is_several(args.urls))
    if args.static:
        from spaniel.cli.db_static import add_measured

        return add_measured(args, registry, failed)
    from spaniel.registry.sources import Link

    links = (Link(place, url) for place, url in inputs(args.urls))
    for added in add_links(registry, links, args.category, failed, drawn=is_several(args.urls)):
        tell(added, quiet=args.quiet)
    return failed.exit_code


def _check(args: argparse.Namespace) -> None:
    from spaniel.cli.db_options import MOST_JOBS

    if args.type and not args.static:
        raise SpanielError(Code.BAD_ARGS, field="--type", reason="is for --static")
    if not 1 <= args.jobs <= MOST_JOBS:
        raise SpanielError(Code.BAD_ARGS, field="--jobs", reason=f"must be 1 to {MOST_JOBS}")
