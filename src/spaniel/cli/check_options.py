"""What `spaniel check` and `spaniel db check` take in common."""

from __future__ import annotations

from spaniel.cli.durations import duration
from spaniel.cli.options import add_format, group
from spaniel.defaults import CHECK_JOBS, CHECK_PER_HOST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

FORMATS = ("table", "json", "jsonl", "junit", "markdown", "html", "sarif", "github")
EXIT_CODES = """\
Exit code: 0 no problems found; 1 some links are failing, dead or changed; 3 none is, but some could not be checked.
--fail-on chooses what counts."""


def add_report(p: ArgumentParser) -> None:
    """Where the report goes, and in which format."""
    what = f"report format: {', '.join(FORMATS)} (default: table)"
    add_format(p, FORMATS, "table", what, ("json", "print the report as one JSON document"))
    p.add_argument("-o", "--output", metavar="FILE", help="write the report to this file ('-': to standard output)")
    p.add_argument("--resume", action="store_true", help="resume a run that was stopped or killed")
    p.add_argument(
        "--dry-run", action="store_true", help="make no requests; show what would be requested, host by host"
    )


def add_verdicts(p: ArgumentParser) -> None:
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


def add_politeness(p: ArgumentParser) -> None:
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
