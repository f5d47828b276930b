"""`spaniel fetch URL`: the page as Markdown on standard output, or one precise reason on standard error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.cli.durations import duration
from spaniel.cli.long_run import run_async
from spaniel.cli.options import add_log_options, add_settings_options, configure_logs, new_parser, settings_from
from spaniel.cli.quick_start import leave_garbage
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    import argparse

FORMATS = {
    "markdown": "the text of the page (the default)",
    "page": "all there is, as one JSON object per line: Markdown, metadata, status, redirects, attempts",
    "record": "the record of ingestion, one JSON object per line: all that, and ladder, checklist, freshness",
    "json": "what the web_fetch tool answers, one JSON object per line; with --profile ingest, the record",
    "chunks": "one JSON object per line for each chunk",
}
SUFFIXES = {"markdown": ".md", "page": ".json", "record": ".json", "json": ".json", "chunks": ".jsonl"}
JOBS, MOST_JOBS = 8, 64
REASONS = ("asked", "contradiction", "updated")  # pipeline/request.py has them too, and costs a start to load


def parser() -> argparse.ArgumentParser:
    p = new_parser(
        "spaniel fetch",
        "Fetch pages and print them as Markdown or JSON, in the order of the URLs.\n"
        "Several pages are told apart by front matter: lines between --- and --- with url, title and more.",
        "formats:\n"
        + "".join(f"  {name:10}{what}\n" for name, what in FORMATS.items())
        + "\nCtrl-C finishes the pages in flight; a second Ctrl-C stops at once. What was fetched is kept.\n"
        "Exit code: 0 all fetched; 1 some were not; 130 stopped by Ctrl-C, 143 by 'kill'.\n"
        "For a single URL: 2 wrong input, 3 forbidden, 4 not reached, 5 refused by the server,\n"
        "6 content that cannot be used, 7 something is missing or broken here.",
    )
    p.add_argument(
        "urls",
        nargs="+",
        metavar="URL",
        help="what to fetch; '-' reads URLs from standard input, one per line ('#' begins a comment)",
    )
    p.add_argument("-o", "--output", metavar="PATH", help="write to this file; to a folder (DIR/), one file per page")
    p.add_argument("-f", "--format", choices=FORMATS, default="markdown", metavar="FORMAT", help="see below")
    p.add_argument(
        "-j", "--jobs", type=int, default=JOBS, metavar="N",
        help=f"how many pages at once, 1 to {MOST_JOBS} (default: {JOBS}); never more than two from one host",
    )  # fmt: skip
    p.add_argument("--no-cache", action="store_true", help="fetch again even if a copy is in the cache")
    p.add_argument("--browser", action="store_true", help="render pages in headless Chromium, with their scripts")
    p.add_argument("--screenshot", metavar="FILE", help="write a picture of the page (PNG); for one URL")
    _add_display(p)
    p.add_argument(
        "--profile", default="web_fetch", metavar="FILE",
        help="how to fetch: web_fetch (the default), reader (also Markdown, PDF, JSON, feeds), ingest, or a TOML file",
    )  # fmt: skip
    p.add_argument(
        "--max-chunk-tokens", type=int, metavar="N", help="the largest chunk, 128 to 2048 (default: from the settings)"
    )
    p.add_argument("--chunks", action="store_true", help="for --format record: with the chunks")
    p.add_argument("--max-bytes", type=int, metavar="N", help="for --format json: leave out chunks until it fits")
    _add_freshness(p)
    p.add_argument("--explain", action="store_true", help="show each step, its result and its time on standard error")
    add_settings_options(p)
    add_log_options(p)
    return p


def _add_display(p: argparse.ArgumentParser) -> None:
    """How the browser shows a page; each of them has it rendered, afresh."""
    group = p.add_argument_group("in the browser, which any of these uses")
    group.add_argument("--wait-for", metavar="SELECTOR", help="read the page only when something matches this (CSS)")
    group.add_argument("--viewport", type=size, metavar="WxH", help="the window in pixels (default: 1280x8000)")
    group.add_argument(
        "--idle", type=duration, metavar="TIME", help="the longest wait for the page to come to rest: 5s"
    )
    group.add_argument("--scroll", type=int, metavar="N", help="scroll to the end so many times, as long as it grows")


def size(text: str) -> tuple[int, int]:
    """A width and a height: 1280x800."""
    from argparse import ArgumentTypeError

    width, _, height = text.lower().partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise ArgumentTypeError(f"'{text}' is no size; write it as 1280x800")
    return int(width), int(height)


def _add_freshness(p: argparse.ArgumentParser) -> None:
    """For profiles that know how long a page stays fresh, and wait for a server that asks for time."""
    group = p.add_argument_group("patience and freshness, for profiles such as ingest")
    group.add_argument("--class", dest="freshness_class", metavar="CLASS", help="how long the page stays fresh")
    group.add_argument("--max-age", type=duration, metavar="AGE", help="ask again about an older copy: 90s, 12h, 7d")
    group.add_argument(
        "--reason", choices=REASONS, metavar="WHY",
        help="fetch again although a copy is fresh, and record why: asked, contradiction or updated",
    )  # fmt: skip
    group.add_argument(
        "--max-wait", type=duration, metavar="TIME", help="the longest wait before another try (default: 60s)"
    )


def main(args: argparse.Namespace) -> int:
    configure_logs(args)
    _check(args)
    return run_async(_fetch(args))


def _check(args: argparse.Namespace) -> None:
    wrong: tuple[str, str] | None = None
    if args.max_bytes is not None and args.format != "json":
        wrong = "--max-bytes", "is for --format json"
    if args.screenshot and (len(args.urls) > 1 or args.urls == ["-"]):
        wrong = "--screenshot", "is for one URL at a time"
    if not 1 <= args.jobs <= MOST_JOBS:
        wrong = "--jobs", f"must be 1 to {MOST_JOBS}"
    if wrong:
        raise SpanielError(Code.BAD_ARGS, field=wrong[0], reason=wrong[1])


async def _fetch(args: argparse.Namespace) -> int:
    leave_garbage()
    from spaniel.app.client import Spaniel
    from spaniel.cli.fetching import Fetching, is_several
    from spaniel.cli.page_output import opened

    async with Spaniel(settings_from(args), profile=args.profile) as spaniel:
        with opened(args.output, SUFFIXES[args.format], several=is_several(args.urls)) as output:
            return await Fetching(args, spaniel, output).run()
