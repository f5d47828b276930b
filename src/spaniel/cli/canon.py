"""`spaniel canon`: URLs in, canonical URLs out; a stream, in order, in constant memory."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from spaniel.cli.lines import inputs
from spaniel.cli.main import report
from spaniel.cli.options import new_parser
from spaniel.errors import Code, SpanielError
from spaniel.url.policy import Policy, load

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from spaniel.url.canonical import Canonical

SOME_REFUSED = 1


def parser() -> argparse.ArgumentParser:
    p = new_parser(
        "spaniel canon",
        "Print the canonical form of each URL, one per line, in the order of the input.",
        "A URL that is refused is reported on standard error. The others are still printed.\n"
        "Exit code: 0 all done; 1 some were refused, or differ (--diff). For a single URL that is refused: 2.",
    )
    p.add_argument("urls", nargs="*", metavar="URL", help="URLs; '-' reads them from standard input, one per line")
    p.add_argument(
        "--policy", default="exact", metavar="FILE", help="exact (the default), ingest, clara, curious, or a TOML file"
    )
    p.add_argument("--overrides", metavar="FILE", help="an overrides file, for a policy that takes one")
    p.add_argument("--explain", action="store_true", help="show each step: the URL before it and after it")
    p.add_argument("--diff", nargs=2, metavar=("A", "B"), help="show the URLs that two policies treat differently")
    p.add_argument("--fail-fast", action="store_true", help="stop at the first URL that is refused")
    form = p.add_mutually_exclusive_group()
    for name, what in FORMATS.items():
        form.add_argument(f"--{name}", dest="form", action="store_const", const=name, help=what)
    return p


FORMATS = {
    "json": "one JSON object for each URL, indented",
    "jsonl": "one JSON object per line",
    "table": "a table for people",
}


def main(args: argparse.Namespace) -> int:
    if not args.urls:
        if sys.stdin is None or sys.stdin.isatty():
            raise SpanielError(Code.BAD_ARGS, field="URL", reason="give URLs, or '-' to read them from standard input")
        args.urls = ["-"]
    if args.diff:
        from spaniel.cli.canon_diff import show_differences

        old, new = (_policy(name, args.overrides) for name in args.diff)
        return show_differences(old, new, args)
    return _canonicalize(_policy(args.policy, args.overrides), args)


def _policy(name: str, overrides: str | None) -> Policy:
    policy = load(name)
    file = overrides or policy.overrides_file
    if not overrides and not (file and os.path.isfile(file)):
        return policy
    from spaniel.url import overrides as files

    return policy.with_overrides(files.load(file))


def _canonicalize(policy: Policy, args: argparse.Namespace) -> int:
    from spaniel.cli import canon_show as show

    writers: dict[str | None, Callable[[Iterator[Canonical], bool], None]] = {
        None: show.explained if args.explain else show.lines,
        "json": show.json_documents,
        "jsonl": show.json_lines,
        "table": show.table,
    }
    refused: list[int] = []
    writers[args.form](_accepted(policy, args, refused), args.explain)
    if not refused:
        return 0
    return refused[0] if len(args.urls) == 1 and args.urls != ["-"] else SOME_REFUSED


def _accepted(policy: Policy, args: argparse.Namespace, refused: list[int]) -> Iterator[Canonical]:
    """The canonical URLs, in order; the refused are reported, and the first one's exit code remembered."""
    apply = policy.explain if args.explain else policy.apply
    for place, raw in inputs(args.urls):
        try:
            yield apply(raw)
        except SpanielError as error:
            sys.stdout.flush()
            report(error, place)
            if not refused:
                refused.append(error.row.exit)
            if args.fail_fast:
                return
