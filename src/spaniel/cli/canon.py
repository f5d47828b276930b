"""`spaniel canon`: URLs in, canonical URLs out; a stream, in order, in constant memory."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from spaniel.cli.lists import Inputs, add_list_options, list_options
from spaniel.cli.main import report
from spaniel.cli.options import add_config_option, add_log_options, new_parser
from spaniel.defaults import CANON_JOBS, TIMEOUT_SECONDS
from spaniel.errors import Code, SpanielError
from spaniel.url.parsing import typed
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
        "Exit code: 0 all done; 1 some were refused, or differ (--diff). For a single URL that is refused: 2\n"
        "(or 3, if --online finds that it leads to an address that is blocked).",
        examples=[
            ("spaniel canon 'https://Example.com/a/../b'", "https://example.com/b"),
            ("spaniel canon --policy ingest - < urls.txt | sort -u", "each page once"),
            ("spaniel canon --policy clara --explain https://example.com/a", "each step, before and after"),
        ],
    )
    p.add_argument(
        "urls", nargs="*", type=typed, metavar="URL", help="URLs; '-' reads a list of them from standard input"
    )
    p.add_argument(
        "--policy", default="exact", metavar="FILE", help="exact (the default), ingest, clara, curious, or a TOML file"
    )
    form = p.add_mutually_exclusive_group()
    for name, what in FORMATS.items():
        form.add_argument(f"--{name}", dest="form", action="store_const", const=name, help=what)
    p.add_argument("--explain", action="store_true", help="show each step: the URL before it and after it")
    p.add_argument("--diff", nargs=2, metavar=("A", "B"), help="show the URLs that two policies treat differently")
    p.add_argument("--fail-fast", action="store_true", help="stop at the first URL that is refused")
    files = p.add_argument_group("files that a policy uses")
    files.add_argument("--overrides", metavar="FILE", help="an overrides file, for a policy that takes one")
    files.add_argument(
        "--allowlist", metavar="FILE", help="refuse URLs that are not on this list of hosts, or redirect away from it"
    )
    files.add_argument("--learnt", metavar="FILE", help="use what was learned about hosts; with --online, add to it")
    web = p.add_argument_group("online")
    web.add_argument("--online", action="store_true", help="let the rules of the policy use the web (clara has some)")
    web.add_argument("--refresh", action="store_true", help="with --online: check again what was learned before")
    web.add_argument(
        "-j",
        "--jobs",
        type=int,
        default=CANON_JOBS,
        metavar="N",
        help=f"with --online: URLs at once (default: {CANON_JOBS})",
    )
    web.add_argument(
        "--timeout", type=int, metavar="N",
        help=f"with --online: seconds for one URL (default: {TIMEOUT_SECONDS.default})",
    )  # fmt: skip
    add_list_options(p.add_argument_group("a list on standard input"))
    add_config_option(p)
    add_log_options(p)
    return p


FORMATS = {
    "json": "print JSON: indented for one URL, else one object per line",
    "jsonl": "print one JSON object per line",
    "table": "print a table",
}


def main(args: argparse.Namespace) -> int:
    if not args.urls:
        if sys.stdin is None or sys.stdin.isatty():
            raise SpanielError(Code.BAD_ARGS, field="URL", reason="give URLs, or '-' to read them from standard input")
        args.urls = ["-"]
    _check(args)
    if args.diff:
        from spaniel.cli.canon_diff import show_differences

        old, new = (_policy(name, args.overrides) for name in args.diff)
        return show_differences(old, new, args)
    policy = _policy(args.policy, args.overrides)
    if args.online:
        from spaniel.cli.canon_online import canonicalize_online

        return canonicalize_online(policy, args)
    return _canonicalize(policy, args)


def _check(args: argparse.Namespace) -> None:
    if args.refresh and not args.online:
        raise SpanielError(Code.BAD_ARGS, field="--refresh", reason="asks again, so it needs --online")
    if args.diff and (args.online or args.allowlist or args.learnt):
        raise SpanielError(Code.BAD_ARGS, field="--diff", reason="compares policies offline, without other files")
    if args.jobs < 1:
        raise SpanielError(Code.BAD_ARGS, field="--jobs", reason="must be 1 or more")


def _policy(name: str, overrides: str | None) -> Policy:
    policy = load(name)
    file = overrides or policy.overrides_file
    if not overrides and not (file and os.path.isfile(file)):
        return policy
    from spaniel.url import overrides as files

    return policy.with_overrides(files.load(file))


def _canonicalize(policy: Policy, args: argparse.Namespace) -> int:
    from spaniel.cli.canon_show import writer_for

    refused: list[int] = []
    urls = Inputs(args.urls, list_options(args))
    writer_for(args)(_accepted(policy, args, urls, refused), args.explain)
    if not refused:
        return urls.exit_code(0)
    urls.exit_code(SOME_REFUSED)
    return refused[0] if len(args.urls) == 1 and args.urls != ["-"] else SOME_REFUSED


def _accepted(policy: Policy, args: argparse.Namespace, urls: Inputs, refused: list[int]) -> Iterator[Canonical]:
    """The canonical URLs, in order; the refused are reported, and the first one's exit code remembered."""
    apply = _with_files(policy, args) or (policy.explain if args.explain else policy.apply)
    for place, raw in urls:
        try:
            yield apply(raw)
        except SpanielError as error:
            sys.stdout.flush()
            report(error, place)
            if not refused:
                refused.append(error.row.exit)
            if args.fail_fast:
                return


def _with_files(policy: Policy, args: argparse.Namespace) -> Callable[[str], Canonical] | None:
    """The policy with an allowlist and what was learnt, offline; None where neither is given."""
    if not args.allowlist and not args.learnt:
        return None
    from spaniel.learnt import Learnt

    if args.allowlist:
        from spaniel.url.allowlist import load as load_allowlist

        policy = policy.with_allowlist(load_allowlist(args.allowlist))
    web = (Learnt.load(args.learnt) if args.learnt else Learnt()).web()
    return lambda raw: policy.explain(raw, web)
