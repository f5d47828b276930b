"""The work of `spaniel fetch`: many at once, printed in order, and what went wrong or is special said on the way."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from spaniel.cli.in_order import in_order
from spaniel.cli.incoming import incoming
from spaniel.cli.main import INTERRUPTED, report
from spaniel.cli.notes import tell_notes
from spaniel.cli.page_output import FolderOutput, as_line, as_markdown
from spaniel.cli.places import PER_HOST, Places
from spaniel.cli.progress import Progress
from spaniel.cli.quick_start import collect_again
from spaniel.errors import Code, SpanielError, shown
from spaniel.pipeline.answer import fitted
from spaniel.pipeline.outcome import CACHE_HIT, moment
from spaniel.pipeline.request import Request
from spaniel.pipeline.trace import Trace
from spaniel.url.parsing import parse, requested

if TYPE_CHECKING:
    import argparse

    from spaniel.app.client import Spaniel
    from spaniel.cli.incoming import Asked
    from spaniel.cli.page_output import Output
    from spaniel.pipeline.answer import Answer
    from spaniel.pipeline.outcome import Outcome

SOME_FAILED = 1
JSON = ("json", "page")  # formats that have a place for errors


class Fetched(NamedTuple):
    """A URL, and how its fetch ended."""

    asked: Asked
    outcome: Outcome
    trace: Trace


class Fetching:
    """One run of the command."""

    def __init__(self, args: argparse.Namespace, spaniel: Spaniel, output: Output) -> None:
        self._args, self._spaniel, self._output = args, spaniel, output
        self._several = is_several(args.urls)
        total = None if "-" in args.urls else len(args.urls)
        self._progress = Progress(total, drawn=self._several and not args.quiet)
        self._places = Places(args.jobs, min(PER_HOST, spaniel.profile.way.manners.at_once))
        self._codes: list[int] = []
        self._hints: set[str] = set()

    async def run(self) -> int:
        """Fetch all; the exit code."""
        whole = await in_order(incoming(self._args.urls), self._fetch, self._hand_over)
        self._progress.clear()
        self._output.flush()
        if self._several and not self._args.quiet:
            sys.stderr.write(f"spaniel: {self._progress.summary(whole=whole, where=self._output.name)}\n")
        if not whole:
            return INTERRUPTED
        if not self._codes:
            return 0
        return SOME_FAILED if self._several else self._codes[0]

    async def _fetch(self, asked: Asked) -> Fetched:
        args, trace = self._args, Trace()
        request = Request(asked.url, args.max_chunk_tokens, args.no_cache, args.browser, bool(args.screenshot))
        async with self._places.at(host_of(asked.url)):
            self._progress.begin()
            outcome = await self._spaniel.outcome(request, trace)
            self._progress.end(outcome.refusal, cached=outcome.cache_hit)
        return Fetched(asked, outcome, trace)

    def _hand_over(self, fetched: Fetched) -> None:
        """Print one page, or say why there is none."""
        asked, outcome, trace = fetched
        collect_again()
        self._progress.clear()
        try:
            answer = self._spaniel.view(outcome, self._args.max_chunk_tokens, trace)
            self._keep_picture(outcome)
            self._output.page(outcome.requested_url, self._text(outcome, answer, trace))
        except SpanielError as error:
            if outcome.refusal is None:
                self._progress.takes_back(error)
            self._refuse(error, asked, outcome)
        else:
            self._tell(outcome, asked)
        if self._args.explain:
            draw(trace, outcome.requested_url if self._several else "")
        self._progress.draw()

    def _text(self, outcome: Outcome, answer: Answer, trace: Trace) -> str:
        if self._args.format == "json":
            return as_line(fitted(answer, self._args.max_bytes, trace))
        if self._args.format == "page":
            return as_line(outcome.as_dict())
        if self._args.format == "markdown":
            return as_markdown(facts_of(answer), answer.markdown, self._output)
        urls = {"requested_url": answer.requested_url, "final_url": answer.final_url}
        return "".join(as_line({**urls, **record}) for record in answer.chunk_records())

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
        if self._args.format in JSON:
            told = {"requested_url": outcome.requested_url, **error.as_dict()}
            self._output.refusal(as_line(outcome.as_dict() if self._args.format == "page" else told))
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
        if asked.line:
            return f"line {asked.line}: " if error else f"line {asked.line}: {shown(requested(asked.url))}: "
        return f"{shown(requested(asked.url))}: " if self._several else ""


def is_several(urls: list[str]) -> bool:
    """Whether more than one page may come."""
    return len(urls) > 1 or "-" in urls


def host_of(raw: str) -> str:
    try:
        return parse(raw).host
    except SpanielError:
        return ""  # it is about to be refused


def facts_of(answer: Answer) -> dict[str, object]:
    """What the front matter of a page says; the first tells pages apart."""
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


def draw(trace: Trace, about: str) -> None:
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
