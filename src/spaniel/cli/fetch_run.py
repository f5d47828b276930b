"""The work of `spaniel fetch`: fetch many pages concurrently, print them in order, report errors and notes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from spaniel.app.client import displayed
from spaniel.cli.lists import incoming, list_options, report_problems
from spaniel.cli.long_run import LongRun, enable_gc, say
from spaniel.cli.main import report
from spaniel.cli.notes import tell_notes
from spaniel.cli.page_output import FolderOutput, as_line, as_markdown
from spaniel.cli.places import Places
from spaniel.defaults import FETCH_PER_HOST
from spaniel.errors import Code, SpanielError, shown
from spaniel.pipeline.answer import fitted
from spaniel.pipeline.outcome import CACHE_HIT, moment
from spaniel.pipeline.request import Request, Trace
from spaniel.sources.rows import Problems
from spaniel.url.parsing import parse, requested, typed

if TYPE_CHECKING:
    import argparse
    from contextlib import AbstractAsyncContextManager

    from spaniel.app.client import Spaniel
    from spaniel.cli.lists import Asked
    from spaniel.cli.page_output import Output
    from spaniel.pipeline.answer import Answer
    from spaniel.pipeline.outcome import Outcome


SOME_FAILED = 1
DECLINED = 5  # the exit code for a page that the server did not give out


class Fetched(NamedTuple):
    """A URL, and how its fetch ended."""

    asked: Asked
    outcome: Outcome
    trace: Trace


class FetchRun:
    """One run of the command."""

    def __init__(self, args: argparse.Namespace, spaniel: Spaniel, output: Output) -> None:
        self._args, self._spaniel, self._output = args, spaniel, output
        self._several = is_several(args.urls)
        total = None if "-" in args.urls else len(args.urls)
        self._run = LongRun("pages", total=total, quiet=args.quiet, several=self._several)
        self._cached = 0
        self._places = Places(args.jobs, min(FETCH_PER_HOST, spaniel.profile.way.politeness.at_once))
        self._format = format_of(args, spaniel.profile.view)
        self._codes: list[int] = []
        self._hints: set[str] = set()

    async def run(self) -> int:
        """Fetch all; the exit code."""
        problems = Problems()
        asked = incoming(self._args.urls, self._spaniel.settings, list_options(self._args), problems)
        await self._run.in_order(asked, self._fetch, self._hand_over, self._place)
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

    async def _fetch(self, asked: Asked) -> Fetched:
        args, trace, url = self._args, Trace(), self._url(asked)
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
        return Fetched(asked, outcome, trace)

    def _url(self, asked: Asked) -> str:
        return asked.url if self._spaniel.profile.policy.assumes_scheme else typed(asked.url)

    def _place(self, asked: Asked) -> AbstractAsyncContextManager[None]:
        return self._places.at(host_of(self._url(asked)))

    def _hand_over(self, fetched: Fetched) -> None:
        """Print one page, or report why there is none."""
        asked, outcome, trace = fetched
        enable_gc()
        try:
            answer = self._spaniel.view(outcome, self._args.max_chunk_tokens, trace)
            self._keep_picture(outcome)
            text = page_text(self._format, Seen(outcome, answer, trace), self._args, self._output)
            self._output.page(outcome.requested_url, text)
        except SpanielError as error:
            if not outcome.failure:
                self._run.fail(str(error.code))
            self._refuse(error, asked, outcome)
        else:
            self._tell(outcome, asked)
            if outcome.failure:  # not the requested page
                self._codes.append(DECLINED)
        if self._args.explain:
            self._explain(outcome, trace)

    def _explain(self, outcome: Outcome, trace: Trace) -> None:
        draw_steps(trace, outcome.requested_url if self._several else "")
        if self._spaniel.profile.view == "record":
            draw_record(outcome)

    def _keep_picture(self, outcome: Outcome) -> None:
        path, picture = self._args.screenshot, outcome.require().picture
        if not path or picture is None:
            return
        from spaniel.files import write_atomically

        try:
            write_atomically(path, picture, None)
        except OSError as error:
            raise SpanielError(Code.BAD_ARGS, field=path, reason=f"cannot be written: {error.strerror}") from None

    def _refuse(self, error: SpanielError, asked: Asked, outcome: Outcome) -> None:
        self._output.flush()
        error = error.about(outcome.requested_url)
        report(error, self._where(asked, error), hint=error.hint not in self._hints)
        if self._several:
            self._hints.add(error.hint)  # once is enough
        self._output.refusal(refusal_text(self._format, outcome, error))
        self._codes.append(error.row.exit)

    def _tell(self, outcome: Outcome, asked: Asked) -> None:
        if self._args.quiet:
            return
        self._output.flush()
        notes = [note for note in outcome.caveats if not (self._several and note == CACHE_HIT)]  # the summary counts
        tell_notes(notes, self._where(asked, None))
        if isinstance(self._output, FolderOutput) and not self._several:
            sys.stderr.write(f"spaniel: written to {self._output.last}\n")

    def _where(self, asked: Asked, error: SpanielError | None) -> str:
        """What a message is about: a line of the input, or one of several URLs."""
        if asked.where:
            return f"{asked.where}: " if error else f"{asked.where}: {shown(requested(asked.url))}: "
        return f"{shown(requested(asked.url))}: " if self._several else ""


def is_several(urls: list[str]) -> bool:
    """Whether there may be more than one page."""
    return len(urls) > 1 or "-" in urls


def host_of(raw: str) -> str:
    try:
        return parse(raw).host
    except SpanielError:
        return ""  # it is about to be refused


class Seen(NamedTuple):
    """A fetch that ended in a page, as it is shown."""

    outcome: Outcome
    answer: Answer
    trace: Trace


def format_of(args: argparse.Namespace, view: str) -> str:
    """The requested format; the profile decides what `json` means."""
    return "record" if args.format == "json" and view == "record" else str(args.format)


def page_text(kind: str, seen: Seen, args: argparse.Namespace, output: Output) -> str:
    """A page in one of the formats."""
    outcome, answer, trace = seen
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


def refusal_text(kind: str, outcome: Outcome, error: SpanielError) -> str:
    """The place of an error among pages that programs read; empty for formats that have none."""
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
    return {
        "url": answer.requested_url,
        "final_url": answer.final_url if answer.final_url != answer.requested_url else None,
        "title": answer.title,
        "language": answer.language,
        "author": answer.metadata.get("author"),
        "published": answer.metadata.get("published"),
        "fetched_at": moment(answer.fetched_at),
        "notes": [note for note in answer.notes if note != CACHE_HIT],  # that is about today, not about the page
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
