"""`spaniel check`: the links of documents and lists, told honestly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.cli.check_options import EXIT_CODES, add_manners, add_report, add_run
from spaniel.cli.options import add_log_options, add_settings_options, configure_logs, new_parser, settings_from

if TYPE_CHECKING:
    import argparse


def parser() -> argparse.ArgumentParser:
    p = new_parser(
        "spaniel check",
        "Check links: what is well, what moved, what is blocked, failing or dead, and on what evidence.",
        EXIT_CODES,
    )
    p.add_argument(
        "sources",
        nargs="+",
        metavar="SOURCE",
        help="a URL; a file with one URL per line ('#' begins a comment); '-' is standard input",
    )
    add_report(p)
    add_manners(p)
    add_run(p)
    p.add_argument("--fragments", action="store_true", help="look for the anchors (#…) of links in their pages")
    add_settings_options(p)
    add_log_options(p)
    return p


def main(args: argparse.Namespace) -> int:
    configure_logs(args)
    from spaniel.app.checking import documents_history
    from spaniel.cli.check_sources import links_of, scope_of
    from spaniel.cli.checking import Job, own_settings, run_job

    settings = settings_from(args)
    history = None if args.no_history else documents_history(own_settings(args, settings))
    links = links_of(args.sources)
    if not args.fragments:
        links = (link._replace(fragments=()) for link in links)
    return run_job(args, settings, Job(links, history, scope_of(args.sources)))
