"""`spaniel check`: the links of documents, sites and lists, with a verdict and its evidence for each."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from spaniel.cli.check_documents import SOURCES, Unread, add_choice, add_documents
from spaniel.cli.check_fix import add_fix, add_repair, diff_output, fix_documents, wishes_of
from spaniel.cli.check_options import EXIT_CODES, add_politeness, add_report, add_verdicts
from spaniel.cli.options import add_log_options, add_settings_options, configure_logs, new_parser, settings_from
from spaniel.errors import Code, SpanielError, shown

if TYPE_CHECKING:
    import argparse

    from spaniel.health.verdict import Checked


def parser() -> argparse.ArgumentParser:
    p = new_parser(
        "spaniel check",
        "Check links: which are ok, moved, blocked, failing or dead, and on what evidence.",
        EXIT_CODES,
        examples=[
            ("spaniel check README.md docs", "the links of a file and a folder"),
            ("spaniel check --offline --fragments docs", "links between files, and #anchors"),
            ("spaniel check --fix --write docs", "replace links that moved permanently"),
            ("spaniel check --json https://example.com/ > report.json", "the links of a page, as JSON"),
        ],
    )
    p.add_argument("sources", nargs="*", metavar="SOURCE", help=SOURCES)
    add_report(p)
    p.add_argument("--fragments", action="store_true", help="look for the anchors (#…) of links in their pages")
    p.add_argument("--offline", action="store_true", help="check links between files only; make no requests")
    add_fix(p)
    add_documents(p)
    add_choice(p)
    add_verdicts(p)
    add_repair(p)
    add_politeness(p)
    add_settings_options(p)
    add_log_options(p)
    return p


def main(args: argparse.Namespace) -> int:
    configure_logs(args)
    if not args.sources and not args.sitemap:
        raise SpanielError(Code.BAD_ARGS, field="SOURCE", reason="is missing: name a document, a folder or a URL")
    _require_sense(args)
    from spaniel.app.checking import documents_history
    from spaniel.cli.check_sources import links_of, scope_of
    from spaniel.cli.checking import Job, own_settings, run_job
    from spaniel.health.summary import NOTHING, UNTOLD_CODE

    settings = settings_from(args)
    history = None if args.no_history else documents_history(own_settings(args, settings))

    wishes = wishes_of(args)  # read before anybody is asked

    def fix(found: list[Checked]) -> int:
        return fix_documents(found, args, wishes, diff_output(args))

    unread = Unread()
    job = Job(links_of(args, settings, unread), history, scope_of(args), fix if args.fix else None)
    code = run_job(args, settings, job)
    return UNTOLD_CODE if unread.count and not code and args.fail_on != [NOTHING] else code


def _require_sense(args: argparse.Namespace) -> None:
    """What would be of no effect, or mean nothing, is refused before anybody is asked."""
    repairs = {"--write": args.write, "--temporary-too": args.temporary_too, "--archive": args.archive}
    for option, given in (repairs | {"--allowlist": args.allowlist}).items():
        if given and not args.fix:
            raise SpanielError(Code.BAD_ARGS, field=option, reason="needs --fix")
    if args.offline and args.sitemap:
        raise SpanielError(
            Code.BAD_ARGS, field="--sitemap", reason="names pages of the web, and --offline makes no requests"
        )
    if args.root_dir is not None and not os.path.isdir(args.root_dir):
        raise SpanielError(Code.BAD_ARGS, field="--root-dir", reason=f"'{shown(args.root_dir)}' is not a folder")
    if args.base and not args.base.lower().startswith(("http://", "https://")):
        reason = f"'{shown(args.base)}' is not a web address such as https://example.com/docs/"
        raise SpanielError(Code.BAD_ARGS, field="--base", reason=reason)
