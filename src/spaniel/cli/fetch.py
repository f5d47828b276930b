"""`spaniel fetch URL`: the page as Markdown on standard output, or one precise reason on standard error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.cli.lists import add_list_options
from spaniel.cli.long_run import disable_gc, run_async
from spaniel.cli.options import (
    add_format,
    add_log_options,
    add_settings_options,
    configure_logs,
    duration,
    new_parser,
    settings_from,
)
from spaniel.defaults import CHUNK_TOKENS, FETCH_JOBS, FETCH_PER_HOST, MAX_WAIT_SECONDS, WINDOW_HEIGHT, WINDOW_WIDTH
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    import argparse

FORMATS = {
    "markdown": "the text of the page (the default)",
    "page": "everything, one JSON object per line: Markdown, metadata, status, redirects, attempts",
    "record": "the ingestion record, one JSON object per line: the same, and fallbacks, checklist, freshness",
    "json": "what the web_fetch tool returns, one JSON object per line; with --profile ingest, the record",
    "chunks": "one JSON object per line for each chunk",
}
SUFFIXES = {"markdown": ".md", "page": ".json", "record": ".json", "json": ".json", "chunks": ".jsonl"}
REASONS = ("asked", "contradiction", "updated")  # pipeline/request.py has them too, and costs a start to load


def parser() -> argparse.ArgumentParser:
    p = new_parser(
        "spaniel fetch",
        "Fetch pages and print them as Markdown or JSON, in the order of the URLs.\n"
        "Several pages are separated by front matter: lines between --- and --- with url, title and more.",
        "formats:\n"
        + "".join(f"  {name:10}{what}\n" for name, what in FORMATS.items())
        + "\nCtrl-C finishes the pages in flight; a second Ctrl-C stops immediately. What was fetched is kept.\n"
        "Exit code: 0 all fetched; 1 some were not; 130 stopped by Ctrl-C, 143 by 'kill'.\n"
        "For a single URL: 2 wrong input, 3 forbidden, 4 not reached, 5 refused by the server,\n"
        "6 content that cannot be used, 7 something is missing or broken here.",
        examples=[
            ("spaniel fetch https://example.com/article", "the page as Markdown"),
            ("spaniel fetch --json https://example.com/article", "as JSON, with chunks and token counts"),
            ("spaniel fetch -o pages/ - < urls.txt", "many pages, one file for each"),
        ],
    )
    p.add_argument(
        "urls",
        nargs="+",
        metavar="URL",
        help="what to fetch; '-' reads a list from standard input: one URL per line ('#' begins a comment), or any "
        "list that 'spaniel batch' reads",
    )
    p.add_argument("-o", "--output", metavar="PATH", help="write to this file; to a folder (DIR/), one file per page")
    what = f"{', '.join(FORMATS)}; see below (default: markdown)"
    add_format(p, tuple(FORMATS), "markdown", what, ("json", "print one JSON object per line"))
    p.add_argument("--browser", action="store_true", help="render pages in headless Chromium, with their scripts")
    p.add_argument("--no-cache", action="store_true", help="fetch again even if a copy is in the cache")
    p.add_argument(
        "--profile", default="web_fetch", metavar="FILE",
        help="how to fetch: web_fetch (the default), reader (also Markdown, PDF, JSON, feeds), ingest, or a TOML file",
    )  # fmt: skip
    p.add_argument(
        "-j", "--jobs", type=int, default=FETCH_JOBS.default, metavar="N",
        help=f"how many pages at once, {FETCH_JOBS.range} (default: {FETCH_JOBS.default}); "
        f"never more than {FETCH_PER_HOST} from one host",
    )  # fmt: skip
    p.add_argument("--explain", action="store_true", help="show each step, its result and its time on standard error")
    add_list_options(p.add_argument_group("a list on standard input"))
    _add_chunks(p)
    _add_display(p)
    _add_freshness(p)
    add_settings_options(p)
    add_log_options(p)
    return p


def _add_chunks(p: argparse.ArgumentParser) -> None:
    chunks = p.add_argument_group("chunks")
    chunks.add_argument(
        "--max-chunk-tokens",
        type=int,
        metavar="N",
        help=f"the largest chunk, {CHUNK_TOKENS.range} (default: from the settings)",
    )
    chunks.add_argument("--chunks", action="store_true", help="for --format record: include the chunks")
    chunks.add_argument("--max-bytes", type=int, metavar="N", help="for --format json: leave out chunks until it fits")


def _add_display(p: argparse.ArgumentParser) -> None:
    """How the browser shows a page; each of them has it rendered, afresh."""
    browser = p.add_argument_group("browser (each of these renders the page)")
    browser.add_argument("--screenshot", metavar="FILE", help="write a picture of the page (PNG); for one URL")
    browser.add_argument("--wait-for", metavar="SELECTOR", help="wait until an element matches this CSS selector")
    browser.add_argument(
        "--viewport",
        type=size,
        metavar="WxH",
        help=f"the size of the window in pixels (default: {WINDOW_WIDTH.default}x{WINDOW_HEIGHT.default})",
    )
    browser.add_argument(
        "--idle", type=duration, metavar="TIME", help="the longest wait for the page to finish loading, as 5s"
    )
    browser.add_argument(
        "--scroll", type=int, metavar="N", help="scroll to the end up to N times, as long as the page grows"
    )


def size(text: str) -> tuple[int, int]:
    """A width and a height: 1280x800."""
    from argparse import ArgumentTypeError

    width, _, height = text.lower().partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise ArgumentTypeError(f"'{text}' is not a size; write it as 1280x800")
    return int(width), int(height)


def _add_freshness(p: argparse.ArgumentParser) -> None:
    """For profiles with freshness classes and waiting."""
    fresh = p.add_argument_group("freshness and waiting (for profiles such as ingest)")
    fresh.add_argument(
        "--class", dest="freshness_class", metavar="CLASS", help="the freshness class of the page, for example news"
    )
    fresh.add_argument(
        "--max-age", type=duration, metavar="AGE", help="ask the server again if the copy is older: 90s, 12h, 7d"
    )
    fresh.add_argument(
        "--reason", choices=REASONS, metavar="WHY",
        help="fetch again although a copy is fresh, and record why: asked, contradiction or updated",
    )  # fmt: skip
    fresh.add_argument(
        "--max-wait",
        type=duration,
        metavar="TIME",
        help=f"the longest wait before another try (default: {MAX_WAIT_SECONDS.default}s)",
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
    if not FETCH_JOBS.allows(args.jobs):
        wrong = "--jobs", f"must be {FETCH_JOBS.range}"
    if wrong:
        raise SpanielError(Code.BAD_ARGS, field=wrong[0], reason=wrong[1])


async def _fetch(args: argparse.Namespace) -> int:
    disable_gc()
    from spaniel.app.client import Spaniel
    from spaniel.cli.fetch_run import FetchRun, is_several
    from spaniel.cli.page_output import opened

    async with Spaniel(settings_from(args), profile=args.profile) as spaniel:
        with opened(args.output, SUFFIXES[args.format], several=is_several(args.urls)) as output:
            return await FetchRun(args, spaniel, output).run()
