"""`spaniel check`: check the links of documents, sites and lists; each gets a verdict and its evidence."""

from __future__ import annotations

import os

from spaniel.cli.lists import add_list_options
from spaniel.cli.options import (
    add_format,
    add_log_options,
    add_settings_options,
    configure_logs,
    duration,
    group,
    new_parser,
    settings_from,
)
from spaniel.defaults import CHECK_JOBS, CHECK_PER_HOST
from spaniel.errors import Code, SpanielError, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from spaniel.health.links import Checked


FORMATS = ("table", "json", "jsonl", "junit", "markdown", "html", "sarif", "github")
EXIT_CODES = """\
Exit code: 0 no problems found; 1 some links are failing, dead or changed; 3 none is, but some could not be checked.
--fail-on chooses what counts."""
SOURCES = (
    "a document, a folder, a pattern such as 'guide/**/*.md', a URL, or '-' for standard input; Markdown, HTML, text, "
    "reStructuredText and notebooks are read, and every list that 'spaniel batch' reads"
)


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


def add_report(p: argparse.ArgumentParser) -> None:
    """Where the report goes, and in which format."""
    what = f"report format: {', '.join(FORMATS)} (default: table)"
    add_format(p, FORMATS, "table", what, ("json", "print the report as one JSON document"))
    p.add_argument("-o", "--output", metavar="FILE", help="write the report to this file ('-': to standard output)")
    p.add_argument("--resume", action="store_true", help="resume a run that was stopped or killed")
    p.add_argument(
        "--dry-run", action="store_true", help="make no requests; show what would be requested, host by host"
    )


def add_verdicts(p: argparse.ArgumentParser) -> None:
    """What counts as a problem."""
    verdicts = group(p, "verdicts")
    verdicts.add_argument(
        "--fail-on", action="append", default=[], metavar="WHAT",
        help="exit with 1 for these verdicts and findings only (dead,changed,parked, or none)",
    )  # fmt: skip
    verdicts.add_argument(
        "--soft-404", action="store_true",
        help="look for pages that are missing though their server answers 200; uses GET, and requests one more page "
        "beside each link, with a random name",
    )  # fmt: skip
    verdicts.add_argument(
        "--baseline", metavar="FILE", help="known failures: broken links of this file are shown, but do not fail"
    )
    verdicts.add_argument("--write-baseline", metavar="FILE", help="write the links that are broken now to such a file")
    verdicts.add_argument("--no-history", action="store_true", help="do not use or keep the results of checks")


def add_politeness(p: argparse.ArgumentParser) -> None:
    """How many at once, and how gently."""
    pace = group(p, "speed and politeness")
    pace.add_argument(
        "-j", "--jobs", type=int, metavar="N",
        help=f"how many requests at once, {CHECK_JOBS.range} (default: from the settings)",
    )  # fmt: skip
    pace.add_argument(
        "--per-host", type=int, metavar="N",
        help=f"how many requests at once to one host (default: from the settings, else {CHECK_PER_HOST.default})",
    )  # fmt: skip
    pace.add_argument(
        "--delay", type=float, metavar="S", help="seconds between two requests to one host (default: from the settings)"
    )
    pace.add_argument(
        "--robots", action="store_true", help="skip links that robots.txt disallows, and respect its Crawl-delay"
    )
    pace.add_argument(
        "--total-time", type=duration, default=0.0, metavar="TIME",
        help="end the run after this time, for example 30m; links that were not checked are reported as unknown",
    )  # fmt: skip
    pace.add_argument(
        "--map", action="append", default=[], metavar="ORIGINAL=ALIAS",
        help="request from ALIAS instead of the host ORIGINAL, for example a staging host; may be repeated",
    )  # fmt: skip


def add_documents(p: argparse.ArgumentParser) -> None:
    """Which documents, and how they are read."""

    documents = group(p, "documents")
    documents.add_argument(
        "--sitemap", action="append", default=[], metavar="SOURCE",
        help="check the pages of this sitemap: a file or a URL; may be repeated",
    )  # fmt: skip
    add_list_options(documents, "; documents: markdown, mdx, html, rst, notebook, xml")
    documents.add_argument(
        "--ext", action="append", default=[], metavar="EXT",
        help="in folders: read files with this ending (default: those of Markdown, HTML, text, reStructuredText, "
        "notebooks); may be repeated",
    )  # fmt: skip
    documents.add_argument(
        "--exclude-path", action="append", default=[], metavar="REGEX",
        help="skip documents whose path matches this; may be repeated",
    )  # fmt: skip
    documents.add_argument("--no-gitignore", action="store_true", help="in folders: also read what git ignores")
    documents.add_argument("--hidden", action="store_true", help="in folders: also read hidden files and folders")


def add_choice(p: argparse.ArgumentParser) -> None:
    """Which links."""
    links = group(p, "links")
    links.add_argument(
        "--exclude", action="append", default=[], metavar="REGEX",
        help="skip URLs that match this, as the lines of .lycheeignore do; may be repeated",
    )  # fmt: skip
    links.add_argument(
        "--include", action="append", default=[], metavar="REGEX",
        help="check URLs that match this even if something else excludes them; given alone: only these",
    )  # fmt: skip
    links.add_argument("--include-private", action="store_true", help="also check hosts of this machine and network")
    links.add_argument(
        "--root-dir", metavar="DIR",
        help="the folder that links beginning with '/' are relative to; no file outside of it is read",
    )  # fmt: skip
    links.add_argument(
        "--base", metavar="URL", help="check relative links on the web, relative to this URL, not on the disk"
    )
    links.add_argument(
        "--fallback-extensions", metavar="EXT,EXT",
        help="for a link to a missing local file, try these extensions: x.md or x.rst for 'x.html', 'x/' and 'x' "
        "(default: the setting fallback_extensions; '' tries none)",
    )  # fmt: skip
    links.add_argument(
        "--index-files", metavar="NAME,NAME",
        help="names of a folder's page, with or without an extension (default: the setting index_files)",
    )  # fmt: skip


def add_fix(p: argparse.ArgumentParser) -> None:
    """What `spaniel check` takes for it, beside `add_repair`."""
    p.add_argument(
        "--fix", action="store_true",
        help="show the new addresses of links that moved permanently, as a diff; --write changes the files",
    )  # fmt: skip


def add_repair(p: argparse.ArgumentParser) -> None:
    repair = group(p, "repair")
    repair.add_argument("--write", action="store_true", help="change the files instead of showing a diff")
    repair.add_argument(
        "--temporary-too", action="store_true", help="also replace links that moved temporarily (302, 303, 307)"
    )
    repair.add_argument(
        "--archive", action="store_true", help="replace a dead link by an archive's copy, where one is known"
    )
    repair.add_argument(
        "--allowlist", metavar="FILE", help="a file of the hosts that new addresses may be on, one per line"
    )


def main(args: argparse.Namespace) -> int:
    configure_logs(args)
    if not args.sources and not args.sitemap:
        raise SpanielError(Code.BAD_ARGS, field="SOURCE", reason="is missing: name a document, a folder or a URL")
    _require_sense(args)
    from spaniel.app.checking import documents_history
    from spaniel.cli.check_fix import diff_output, fix_documents, wishes_of
    from spaniel.cli.check_run import Job, own_settings, run_job
    from spaniel.cli.check_sources import Unread, links_of, scope_of
    from spaniel.health.summary import NOTHING, UNVERIFIED_CODE

    settings = settings_from(args)
    history = None if args.no_history else documents_history(own_settings(args, settings))

    wishes = wishes_of(args)  # read before anybody is asked

    def fix(found: list[Checked]) -> int:
        return fix_documents(found, args, wishes, diff_output(args))

    unread = Unread()
    job = Job(links_of(args, settings, unread), history, scope_of(args), fix if args.fix else None)
    code = run_job(args, settings, job)
    return UNVERIFIED_CODE if unread.count and not code and args.fail_on != [NOTHING] else code


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
