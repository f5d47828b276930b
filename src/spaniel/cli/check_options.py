"""What `spaniel check` and `spaniel db check` take in common."""

from __future__ import annotations

from spaniel.cli.durations import duration
from spaniel.defaults import CHECK_JOBS, CHECK_PER_HOST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

FORMATS = ("table", "json", "jsonl", "junit", "markdown", "html", "sarif", "github")
EXIT_CODES = """\
Exit code: 0 all is well; 1 some links are failing, dead or changed; 3 none is, but some could not be told.
--fail-on chooses what counts."""


def add_report(p: ArgumentParser) -> None:
    """How results are told."""
    p.add_argument(
        "-f", "--format", choices=FORMATS, default="table", metavar="FORMAT",
        help=f"how results are told: {', '.join(FORMATS)} (default: table)",
    )  # fmt: skip
    p.add_argument("-o", "--output", metavar="FILE", help="write the report to this file ('-': to standard output)")
    p.add_argument(
        "--fail-on", action="append", default=[], metavar="WHAT",
        help="exit with 1 for these verdicts and findings, and for nothing else (dead,changed,parked, or none)",
    )  # fmt: skip
    p.add_argument("--baseline", metavar="FILE", help="old debts: what is broken there is told, and fails nothing")
    p.add_argument("--write-baseline", metavar="FILE", help="write what is broken now to such a file")


def add_manners(p: ArgumentParser) -> None:
    """How many at once, and how gently."""
    p.add_argument(
        "-j", "--jobs", type=int, metavar="N",
        help=f"how many requests at once, {CHECK_JOBS.range} (default: from the settings)",
    )  # fmt: skip
    p.add_argument(
        "--per-host", type=int, metavar="N",
        help="how many requests at once at one host "
        f"(default: from the settings, {CHECK_PER_HOST.default} unless they say otherwise)",
    )  # fmt: skip
    p.add_argument(
        "--delay", type=float, metavar="S", help="seconds between two requests to one host (default: from the settings)"
    )
    p.add_argument(
        "--robots", action="store_true", help="check nothing that robots.txt disallows, and keep to its Crawl-delay"
    )
    p.add_argument(
        "--soft-404", action="store_true",
        help="look for pages that are missing though their server says otherwise; takes GET, and asks for one more "
        "page beside each link, by a random name",
    )  # fmt: skip
    p.add_argument(
        "--total-time", type=duration, default=0.0, metavar="TIME",
        help="end the run after this time, for example 30m; what was not asked is told as unknown",
    )  # fmt: skip


def add_run(p: ArgumentParser) -> None:
    """Begun, gone on with, or only planned."""
    p.add_argument("--resume", action="store_true", help="go on with a run that was stopped or killed")
    p.add_argument("--dry-run", action="store_true", help="ask nobody; say what would be asked, host by host")
    p.add_argument("--no-history", action="store_true", help="neither use nor keep what was seen of links before")
    p.add_argument(
        "--map", action="append", default=[], metavar="ORIGINAL=ALIAS",
        help="ask ALIAS in place of the host ORIGINAL, for example a staging host; may be repeated",
    )  # fmt: skip
