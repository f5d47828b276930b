"""`spaniel fetch URL`: the page as Markdown on standard output, or one precise reason on standard error."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from spaniel.cli.files import replacing, write_bytes
from spaniel.cli.heading import under_title
from spaniel.cli.lines import inputs
from spaniel.cli.main import report
from spaniel.cli.options import add_log_options, add_settings_options, configure_logs, new_parser, settings_from
from spaniel.cli.quick_start import certificates_unread, collect_again, leave_garbage
from spaniel.errors import Code, SpanielError, shown
from spaniel.url.parsing import requested

if TYPE_CHECKING:
    import argparse
    from typing import TextIO

    from spaniel.app.client import Spaniel
    from spaniel.pipeline.answer import Answer
    from spaniel.pipeline.trace import Trace

SOME_FAILED = 1


def parser() -> argparse.ArgumentParser:
    p = new_parser(
        "spaniel fetch",
        "Fetch pages and print them as Markdown, as the tool's JSON, or as chunks (a JSON object a line).",
        "Exit code: 0 all fetched; 1 some were not; for a single URL, the code of its error (docs/errors.md).",
    )
    p.add_argument(
        "urls",
        nargs="+",
        metavar="URL",
        help="URLs; '-' reads them from standard input, one a line ('#' begins a comment)",
    )
    p.add_argument("--profile", default="web_fetch", metavar="P", help="how to fetch, by name or file (web_fetch)")
    p.add_argument("--max-chunk-tokens", type=int, metavar="N", help="the largest chunk, 128 to 2048 (the settings')")
    p.add_argument("--no-cache", action="store_true", help="fetch afresh even if a copy is cached")
    p.add_argument("--browser", action="store_true", help="render the page in headless Chromium, scripts and all")
    p.add_argument("--screenshot", metavar="F", help="write a picture of the page (PNG); renders it, as --browser does")
    p.add_argument("--format", choices=("markdown", "json", "chunks"), default="markdown", help="(markdown)")
    p.add_argument("--max-bytes", type=int, metavar="N", help="the most bytes of --format json: chunks are cut to fit")
    p.add_argument("--explain", action="store_true", help="draw each step, its outcome and its time, on standard error")
    p.add_argument("-o", "--output", metavar="F", help="write to a file instead")
    add_settings_options(p)
    add_log_options(p)
    return p


def main(args: argparse.Namespace) -> int:
    configure_logs(args)
    if args.max_bytes is not None and args.format != "json":
        raise SpanielError(Code.BAD_ARGS, field="--max-bytes", reason="is for --format json")
    if not args.output:
        return asyncio.run(_fetch_all(args, sys.stdout))
    with replacing(args.output) as file:
        return asyncio.run(_fetch_all(args, file))


async def _fetch_all(args: argparse.Namespace, out: TextIO) -> int:
    if args.screenshot and (len(args.urls) > 1 or args.urls == ["-"]):
        raise SpanielError(Code.BAD_ARGS, field="--screenshot", reason="is for one URL at a time")
    leave_garbage()
    with certificates_unread():
        from spaniel.app.client import Spaniel

    failed: list[int] = []
    async with Spaniel(settings_from(args), profile=args.profile) as spaniel:
        for line, url in inputs(args.urls):
            place = line or (f"{shown(requested(url))}: " if len(args.urls) > 1 else "")
            code = await fetch_one(url, place, args, spaniel, out)
            collect_again()
            if code:
                failed.append(code)
    if not failed:
        return 0
    return failed[0] if len(args.urls) == 1 and args.urls != ["-"] else SOME_FAILED


async def fetch_one(url: str, place: str, args: argparse.Namespace, spaniel: Spaniel, out: TextIO) -> int:
    """Fetch and print one page; its exit code."""
    import json

    from spaniel.pipeline.request import Request
    from spaniel.pipeline.trace import Trace

    trace = Trace()
    try:
        outcome = await spaniel.outcome(
            Request(url, args.max_chunk_tokens, args.no_cache, args.browser, bool(args.screenshot)), trace
        )
        answer = spaniel.view(outcome, args.max_chunk_tokens, trace)
        if args.screenshot and (picture := outcome.require().picture) is not None:
            write_bytes(args.screenshot, picture)
        shown = _shown(answer, args, trace)
    except SpanielError as error:
        out.flush()
        report(error, place)
        if args.format == "json":
            out.write(json.dumps({"url": requested(url), **error.as_dict()}, ensure_ascii=False) + "\n")
        return error.row.exit
    finally:
        if args.explain:
            _draw(trace)
    out.write(shown)
    return 0


def _shown(answer: Answer, args: argparse.Namespace, trace: Trace) -> str:
    import json

    from spaniel.pipeline.answer import fitted

    if args.format == "json":
        return json.dumps(fitted(answer, args.max_bytes, trace), ensure_ascii=False) + "\n"
    if args.format == "markdown":
        return under_title(answer.markdown, answer.metadata.get("title") or answer.title)
    return "".join(
        json.dumps({"url": answer.final_url, **chunk.record()}, ensure_ascii=False) + "\n" for chunk in answer.chunks
    )


def _draw(trace: Trace) -> None:
    """The steps as a small table: aligned text, which costs nothing and reads well in a log too."""
    total = sum(step.ms for step in trace.steps)
    rows = [("step", "outcome", "ms", "url")]
    rows += [(s.name, s.outcome, f"{s.ms:.1f}", shown(s.url)) for s in trace.steps]
    rows.append(("total", "", f"{total:.1f}", ""))
    name, outcome, ms = (max(len(row[column]) for row in rows) for column in range(3))
    for row in rows:
        line = f"  {row[0]:{name}}  {row[1]:{outcome}}  {row[2]:>{ms}}  {row[3]}".rstrip()
        sys.stderr.write(f"{line}\n")
