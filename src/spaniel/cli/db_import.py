"""`spaniel db import`: the links of lists, sitemaps and bookmarks become records."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spaniel.cli.db_adding import add_links
from spaniel.cli.db_folder import Failures, opened
from spaniel.errors import SpanielError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from spaniel.registry.sources import Link


def run_import(args: argparse.Namespace) -> int:
    registry = opened(args, args.policy)
    failed = Failures(several=True)
    done = add_links(registry, _links(args, failed), args.category, failed, drawn=True)
    new = sum(added.is_new for added in done)
    told = f"{new:,} added, {len(done) - new:,} known already"
    sys.stderr.write(f"spaniel: {told}{f', {failed.count:,} refused' if failed.count else ''}\n")
    return failed.exit_code


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
