"""`spaniel check`: the links of documents, sites and lists, told honestly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.cli.check_options import EXIT_CODES, add_manners, add_report, add_run, add_sources
from spaniel.cli.options import add_log_options, add_settings_options, configure_logs, new_parser, settings_from
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    import argparse


def parser() -> argparse.ArgumentParser:
    p = new_parser(
        "spaniel check",
        "Check links: what is well, what moved, what is blocked, failing or dead, and on what evidence.",
        EXIT_CODES,
    )
    add_sources(p)
    add_report(p)
    add_manners(p)
    add_run(p)
    add_settings_options(p)
    add_log_options(p)
    return p


def main(args: argparse.Namespace) -> int:
    configure_logs(args)
    if not args.sources and not args.sitemap:
        raise SpanielError(Code.BAD_ARGS, field="SOURCE", reason="is missing: name a document, a folder or a URL")
    from spaniel.app.checking import documents_history
    from spaniel.cli.check_sources import links_of, scope_of
    from spaniel.cli.checking import Job, own_settings, run_job

    settings = settings_from(args)
    history = None if args.no_history else documents_history(own_settings(args, settings))
    return run_job(args, settings, Job(links_of(args, settings), history, scope_of(args)))
