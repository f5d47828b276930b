"""`spaniel fetch URL`: fetch pages concurrently, print them in order, report errors and notes on standard error."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, NamedTuple

from spaniel.cli import options as opt
from spaniel.cli.inputs import LIST, incoming, list_options, list_rows, report_problems
from spaniel.cli.long_run import LongRun, disable_gc, enable_gc, run_async, say
from spaniel.cli.main import report
from spaniel.cli.output import FolderOutput, Output, as_line, as_markdown, opened, write_bytes
from spaniel.defaults import CHUNK_TOKENS, FETCH_JOBS, FETCH_PER_HOST, MAX_WAIT_SECONDS, WINDOW_HEIGHT, WINDOW_WIDTH
from spaniel.errors import SpanielError, shown

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from spaniel.app.client import Spaniel
    from spaniel.cli.inputs import InputUrl
    from spaniel.pipeline.answer import Answer
    from spaniel.pipeline.outcome import Outcome
    from spaniel.pipeline.request import Trace

SOME_FAILED = 1
DECLINED = 5  # the exit code for a page that the server did not return
FORMATS = {
    "markdown": "The text of the page",
    "page": "Markdown, metadata, status, redirects and attempts (JSON)",
    "record": "The same with fallbacks, checklist and freshness (JSON)",
    "json": "The result of the web_fetch tool; with --profile ingest, the record",
    "chunks": "One JSON object per chunk",
}
SUFFIXES = {"markdown": ".md", "page": ".json", "record": ".json", "json": ".json", "chunks": ".jsonl"}
REASONS = ("asked", "contradiction", "updated")  # pipeline/request.py has them too, and is slow to load


def parser() -> opt.Parser:
    return opt.Parser(
        "spaniel fetch",
        "Fetch pages and print them as Markdown or JSON, in the order of the URLs.\n"
        "Several pages are separated by front matter with URL, title and more.",
        {
            "Arguments": [
                opt.argument(
                    "urls", "URL", "Page to fetch; '-' reads URLs from standard input: one per line, or any list that "
                    "'spaniel batch' reads", nargs="+",
                ),
            ],
            "Options": [
                opt.value("-o", "--output", "PATH", "Write to this file; to a folder (DIR/), one file per page"),
                opt.formats(tuple(FORMATS), f"Output format, see below: {', '.join(FORMATS)}", "json"),
                opt.flag("--browser", "Render pages in headless Chromium, with their scripts"),
                opt.flag("--no-cache", "Fetch again even if a copy is in the cache"),
                opt.value(
                    "--profile", "FILE", "How to fetch: web_fetch, reader (also Markdown, PDF, JSON, feeds), ingest, "
                    "or a TOML file", default="web_fetch",
                ),
                opt.number("-j", "--jobs", f"Concurrent pages (at most {FETCH_PER_HOST} per host)", of=FETCH_JOBS),
                opt.flag("--explain", "Show each step, its result and its time on standard error"),
            ],
            "Chunks": [
                opt.number(
                    "--max-chunk-tokens", "Largest chunk in tokens", of=CHUNK_TOKENS,
                    setting="tools.webfetch.default_max_chunk_tokens",
                ),
                opt.flag("--chunks", "With --format record: include the chunks"),
                opt.value("--max-bytes", "N", "With --format json: leave out chunks until it fits", type=int),
            ],
            "Browser (each of these renders the page)": [
                opt.value("--screenshot", "FILE", "Write a screenshot (PNG); for one URL"),
                opt.value("--wait-for", "SELECTOR", "Wait until an element matches this CSS selector"),
                opt.value(
                    "--viewport", "WxH", "Window size in pixels "
                    f"[default: {WINDOW_WIDTH.default}x{WINDOW_HEIGHT.default}]", type=size,
                ),
                opt.value("--idle", "TIME", "Longest wait for the page to load, such as 5s", type=opt.duration),
                opt.value("--scroll", "N", "Scroll to the end up to N times, as long as the page grows", type=int),
            ],
            "Freshness and waiting (for profiles such as ingest)": [
                opt.value("--class", "CLASS", "Freshness class of the page, such as news", dest="freshness_class"),
                opt.value("--max-age", "AGE", "Revalidate copies older than this: 90s, 12h, 7d", type=opt.duration),
                opt.value(
                    "--reason", "WHY", f"Fetch again despite a fresh copy, and record why: {', '.join(REASONS)}",
                    choices=REASONS,
                ),
                opt.value(
                    "--max-wait", "TIME", f"Longest wait before a retry [default: {MAX_WAIT_SECONDS.default}s]",
                    type=opt.duration,
                ),
            ],
            LIST: list_rows(),
            **opt.shared_options(),
        },
        examples=[
            ("spaniel fetch https://example.com/article", "As Markdown"),
            ("spaniel fetch --json https://example.com/article", "As JSON, with chunks"),
            ("spaniel fetch -o pages/ - < urls.txt", "Many pages, to files"),
        ],
        notes="Formats:\n"
        + "".join(f"  {name:10}{what}\n" for name, what in FORMATS.items())
        + "\nCtrl-C finishes the pages in flight; a second Ctrl-C stops immediately.\n"
        "Exit codes: 0 all pages fetched; 1 some were not; 130 stopped by Ctrl-C, 143 by\n"
        "SIGTERM. For a single URL: 2 invalid input, 3 forbidden, 4 not reached,\n"
        "5 declined by the server, 6 unusable content, 7 something is missing here.",
    )  # fmt: skip


def size(text: str) -> tuple[int, int]:
    """A width and a height: 1280x800."""
    width, _, height = text.lower().partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise argparse.ArgumentTypeError(f"invalid size '{text}'; write 1280x800")
    return int(width), int(height)


def main(args: argparse.Namespace) -> int:
    opt.configure_logs(args)
    if args.max_bytes is not None and args.format != "json":
        raise opt.bad_argument("--max-bytes", "needs --format json")
    if args.screenshot and opt.is_several(args.urls):
        raise opt.bad_argument("--screenshot", "is for one URL at a time")
    return run_async(_fetch(args))


async def _fetch(args: argparse.Namespace) -> int:
    disable_gc()
    from spaniel.app.client import Spaniel

    async with Spaniel(opt.settings_from(args), profile=args.profile) as spaniel:
        with opened(args.output, SUFFIXES[args.format], several=opt.is_several(args.urls)) as output:
            return await FetchRun(args, spaniel, output).run()


class FetchedUrl(NamedTuple):
    """A URL of the input, and the outcome of its fetch."""

    item: InputUrl
    outcome: Outcome
    trace: Trace


class FetchRun:
    """One run of the command."""

    def __init__(self, args: argparse.Namespace, spaniel: Spaniel, output: Output) -> None:
        from spaniel.cli.places import Places

        self._args, self._spaniel, self._output = args, spaniel, output
        self._several = opt.is_several(args.urls)
        total = None if "-" in args.urls else len(args.urls)
        self._run = LongRun("page", total=total, quiet=args.quiet, several=self._several)
        self._cached = 0
        self._places = Places(args.jobs, min(FETCH_PER_HOST, spaniel.profile.way.politeness.at_once))
        self._format = format_of(args, spaniel.profile.view)
        self._codes: list[int] = []
        self._hints: set[str] = set()

    async def run(self) -> int:
        """Fetch all; the exit code."""
        from spaniel.sources.rows import Problems

        problems = Problems()
        items = incoming(self._args.urls, self._spaniel.settings, list_options(self._args), problems)
        await self._run.in_order(items, self._fetch, self._hand_over, self._place)
        report_problems(problems)
        if problems.lost:
            self._codes.append(SOME_FAILED)
        self._output.flush()
        if self._several and not self._args.quiet:
            cached = f", {self._cached} of them from the cache" if self._cached else ""
            written = f", written to {self._output.name}" if self._output.name else ""
            say(self._run.summary("fetched", where=cached + written))
        if self._run.stopping or not self._codes:
            return self._run.exit_code
        return SOME_FAILED if self._several else self._codes[0]

    async def _fetch(self, item: InputUrl) -> FetchedUrl:
        from spaniel.app.client import displayed
        from spaniel.pipeline.request import Request, Trace

        args, trace, url = self._args, Trace(), self._url(item)
        request = Request(
            url,
            args.max_chunk_tokens,
            args.no_cache,
            args.browser,
            bool(args.screenshot),
            freshness_class=args.freshness_class,
            max_age=args.max_age,
            reason=args.reason,
            max_wait=args.max_wait,
            display=displayed(
                self._spaniel.settings.browser.display,
                args.wait_for,
                args.viewport,
                None if args.idle is None else round(args.idle * 1000),
                args.scroll,
            ),
        )
        outcome = await self._spaniel.outcome(request, trace)
        if outcome.failure:
            self._run.fail(outcome.failure)
        else:
            self._cached += outcome.cache_hit
        return FetchedUrl(item, outcome, trace)

    def _url(self, item: InputUrl) -> str:
        from spaniel.url.parsing import typed

        return item.url if self._spaniel.profile.policy.assumes_scheme else typed(item.url)

    def _place(self, item: InputUrl) -> AbstractAsyncContextManager[None]:
        return self._places.at(host_of(self._url(item)))

    def _hand_over(self, fetched: FetchedUrl) -> None:
        """Print one page, or report why there is none."""
        item, outcome, trace = fetched
        enable_gc()
        try:
            answer = self._spaniel.view(outcome, self._args.max_chunk_tokens, trace)
            self._write_screenshot(outcome)
            text = page_text(self._format, ShownPage(outcome, answer, trace), self._args, self._output)
            self._output.page(outcome.requested_url, text)
        except SpanielError as error:
            if not outcome.failure:
                self._run.fail(str(error.code))
            self._report_error(error, item, outcome)
        else:
            self._report_notes(outcome, item)
            if outcome.failure:  # not the requested page
                self._codes.append(DECLINED)
        if self._args.explain:
            self._explain(outcome, trace)

    def _explain(self, outcome: Outcome, trace: Trace) -> None:
        draw_steps(trace, outcome.requested_url if self._several else "")
        if self._spaniel.profile.view == "record":
            draw_record(outcome)

    def _write_screenshot(self, outcome: Outcome) -> None:
        path, screenshot = self._args.screenshot, outcome.require().picture
        if path and screenshot is not None:
            write_bytes(path, screenshot)

    def _report_error(self, error: SpanielError, item: InputUrl, outcome: Outcome) -> None:
        self._output.flush()
        error = error.about(outcome.requested_url)
        report(error, self._where(item, error), hint=error.hint not in self._hints)
        if self._several:
            self._hints.add(error.hint)  # once is enough
        self._output.error(error_text(self._format, outcome, error))
        self._codes.append(error.row.exit)

    def _report_notes(self, outcome: Outcome, item: InputUrl) -> None:
        if self._args.quiet:
            return
        from spaniel.cli.notes import print_notes
        from spaniel.pipeline.outcome import CACHE_HIT

        self._output.flush()
        notes = [note for note in outcome.caveats if not (self._several and note == CACHE_HIT)]  # the summary counts
        print_notes(notes, self._where(item, None))
        if isinstance(self._output, FolderOutput) and not self._several:
            say(f"written to {self._output.last}")

    def _where(self, item: InputUrl, error: SpanielError | None) -> str:
        """The prefix of a message: the place in the input, or one of several URLs."""
        from spaniel.url.parsing import requested

        if item.where:
            return f"{item.where}: " if error else f"{item.where}: {shown(requested(item.url))}: "
        return f"{shown(requested(item.url))}: " if self._several else ""


def host_of(raw: str) -> str:
    from spaniel.url.parsing import parse

    try:
        return parse(raw).host
    except SpanielError:
        return ""  # fetching it fails


class ShownPage(NamedTuple):
    """A fetch that ended in a page, as it is shown."""

    outcome: Outcome
    answer: Answer
    trace: Trace


def format_of(args: argparse.Namespace, view: str) -> str:
    """The requested format; the profile defines what `json` means."""
    return "record" if args.format == "json" and view == "record" else str(args.format)


def page_text(kind: str, page: ShownPage, args: argparse.Namespace, output: Output) -> str:
    """A page in one of the formats."""
    from spaniel.pipeline.answer import fitted

    outcome, answer, trace = page
    if kind == "json":
        return as_line(fitted(answer, args.max_bytes, trace))
    if kind == "page":
        return as_line(outcome.as_dict())
    if kind == "record":
        return record_line(outcome, answer.chunk_records() if args.chunks else None)
    if kind == "markdown":
        return as_markdown(facts_of(answer), answer.markdown, output)
    urls = {"requested_url": answer.requested_url, "final_url": answer.final_url}
    return "".join(as_line({**urls, **record}) for record in answer.chunk_records())


def error_text(kind: str, outcome: Outcome, error: SpanielError) -> str:
    """An error among pages that programs read; empty for formats that have no place for it."""

    if kind == "record":
        return record_line(outcome)
    if kind == "page":
        return as_line(outcome.as_dict())
    return as_line({"requested_url": outcome.requested_url, **error.as_dict()}) if kind == "json" else ""


def record_line(outcome: Outcome, chunks: list[dict[str, object]] | None = None) -> str:
    from spaniel.pipeline.record import record_of

    return record_of(outcome, chunks).as_json().decode() + "\n"


def facts_of(answer: Answer) -> dict[str, object]:
    """The front matter of a page; the first field identifies the page."""
    from spaniel.pipeline.outcome import CACHE_HIT, moment

    return {
        "url": answer.requested_url,
        "final_url": answer.final_url if answer.final_url != answer.requested_url else None,
        "title": answer.title,
        "language": answer.language,
        "author": answer.metadata.get("author"),
        "published": answer.metadata.get("published"),
        "fetched_at": moment(answer.fetched_at),
        "notes": [note for note in answer.notes if note != CACHE_HIT],  # about this fetch, not the page
    }


def draw_steps(trace: Trace, about: str) -> None:
    """The steps as a small table: aligned text, which costs nothing and reads well in a log too."""
    if about:
        sys.stderr.write(f"{shown(about)}\n")
    total = sum(step.ms for step in trace.steps)
    rows = [("step", "outcome", "ms", "url")]
    rows += [(s.name, s.outcome, f"{s.ms:.1f}", shown(s.url)) for s in trace.steps]
    rows.append(("total", "", f"{total:.1f}", ""))
    name, outcome, ms = (max(len(row[column]) for row in rows) for column in range(3))
    for row in rows:
        line = f"  {row[0]:{name}}  {row[1]:{outcome}}  {row[2]:>{ms}}  {row[3]}".rstrip()
        sys.stderr.write(f"{line}\n")


def draw_record(outcome: Outcome) -> None:
    """The fallbacks one by one, and the checklist, as ticks and crosses."""
    from spaniel.pipeline.record import record_of

    record = record_of(outcome)
    lines = ["  fallbacks"]
    for each in record.fallbacks:
        about = f"skipped: {each.why}" if each.why else f"{each.outcome}, {each.ms:.0f} ms{_waited(each.waited)}"
        lines.append(f"    {'-' if each.why else _mark(each.outcome == 'ok')} {each.fallback}  {about}")
    lines.append("  checklist")
    lines += [f"    {_mark(check.done)} {check.step}  {check.detail}".rstrip() for check in record.checklist]
    lines.append(f"  verdict: {record.verdict} ({record.extraction_method})")
    sys.stderr.write("".join(f"{shown(line)}\n" for line in lines))


def _waited(seconds: float) -> str:
    return f" after a wait of {seconds:.0f} s" if seconds else ""


def _mark(done: bool) -> str:
    return "✓" if done else "✗"
