"""A run on this machine: from sources to a file of records, once, or on from where an earlier run ended."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import ExitStack, contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from spaniel.batch.coordinator import Coordinator
from spaniel.batch.journal import Journal
from spaniel.batch.outputs import warc_parts
from spaniel.batch.outputs.finish import finish
from spaniel.batch.outputs.form import Form, form_of
from spaniel.batch.outputs.lines_part import LinesPart
from spaniel.batch.outputs.parquet import parts_in
from spaniel.batch.ownership import WHOLE
from spaniel.batch.plan import Plan
from spaniel.batch.planning import make_plan
from spaniel.batch.progress import Progress
from spaniel.batch.run_folder import PART, About, RunFolder, require_same
from spaniel.batch.writer import PartsWriter, Writer
from spaniel.errors import Code, SpanielError
from spaniel.files import sync_folder, write_atomically
from spaniel.sources.parquet import arrow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from spaniel.batch.coordinator import Pace
    from spaniel.batch.crew import Crew
    from spaniel.batch.ownership import Shard
    from spaniel.batch.planning import Counts
    from spaniel.batch.ports import Item, OpenPart, Source
    from spaniel.sources.rows import Problems

    Watch = Callable[[Coordinator, Progress], AbstractContextManager[None]]


class Order(NamedTuple):
    """What is to be done, as far as it decides which records there will be."""

    sources: Sequence[Source]
    canonical: Callable[[str], str]  # the spelling of a URL by the profile's policy
    shape: dict[str, str]  # what else decides it, in words: the profile and its version
    shard: Shard = WHOLE
    limit: int | None = None
    warc: str = ""  # the software's name, where what comes over the wire is to be kept too
    parts: str = ""  # where workers write records themselves; the output is then a list of parts
    problems: Problems | None = None  # what was wrong in the sources, known when they were read

    def items(self) -> Iterator[Item]:
        """All URLs, numbered through."""
        found = chain.from_iterable(source.items() for source in self.sources)
        for ordinal, item in enumerate(islice(found, self.limit)):
            yield item._replace(ordinal=ordinal)

    def whole_shape(self) -> dict[str, str]:
        warc = "yes" if self.warc else "no"
        return {
            **self.shape,
            "--shard": str(self.shard),
            "--limit": str(self.limit or "none"),
            "--warc": warc,
            "--parts": self.parts or "none",
        }

    def fingerprints(self) -> dict[str, str]:
        return {source.name: source.fingerprint() for source in self.sources}


class Run:
    """One run over its output, as a context: it holds the lock. `begin` or `resume`, then `fetch`."""

    def __init__(self, output: str, open_part: OpenPart = LinesPart) -> None:
        self._folder, self._open_part, self._stack = RunFolder(output), open_part, ExitStack()
        # Lines are written to the output itself; every other form is made of them when all are there.
        self._form = form_of(output)
        if self._form == Form.WARC:
            raise _bad(output, "WARC files come beside the records: name FILE.jsonl, say, and add --warc")
        if self._form in (Form.PARQUET, Form.PARQUET_FOLDER):
            arrow()  # refused now where it is not installed, rather than when all pages are fetched
        is_lines = self._form in (Form.JSONL, Form.JSONL_ZST)
        self._part = output if is_lines else os.path.join(self._folder.path, PART)
        self.counts: Counts | None = None
        self.lost = 0  # how often URLs of the sources could not be read
        self._warc = self._parts = ""
        self._coordinator: Coordinator | None = None

    def __enter__(self) -> Run:
        self._stack.enter_context(self._folder.locked())
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def begin(self, order: Order, told: Callable[[int], None] | None = None, *, overwrite: bool = False) -> None:
        """Plan a new run. Output that is there is not touched unless it may be."""
        output = self._folder.output
        self._warc, self._parts = order.warc, order.parts
        captured = warc_parts.files_of(output) if order.warc else []
        if not overwrite:
            self._require_nothing_there(captured)
        if self._form == Form.PARQUET_FOLDER:
            parts_in(output)  # refused now, rather than when all pages are fetched
        sources = order.fingerprints()
        with _refused(output):
            self._folder.clear()
            try:
                self.counts = make_plan(order.items(), order.canonical, self._folder.path, order.shard, told)
            except BaseException:
                self._folder.clear()
                raise
            # Only now, for the sources may have no URL in them.
            if os.path.lexists(output) and not os.path.isdir(output):  # in a folder, pages replace pages
                os.unlink(output)
            if order.warc:
                warc_parts.remove(output)
            self.lost = order.problems.lost if order.problems is not None else 0
            self._folder.write(About(sources, order.whole_shape(), self.counts, self.lost))

    def _require_nothing_there(self, captured: list[str]) -> None:
        output, is_run = self._folder.output, self._folder.read() is not None
        is_there = os.path.lexists(output) and not (os.path.isdir(output) and not os.listdir(output))  # an empty folder
        if is_run or is_there or captured:
            there = output if not captured or os.path.lexists(output) else captured[0]
            may = "Go on with --resume, or begin again with --overwrite" if is_run else "--overwrite writes there"
            if not is_run and self._form == Form.PAGES:
                may += " and replaces nothing but the same pages"
            raise _bad(there, f"is there already. {may}")

    def resume(self, order: Order, told: Callable[[int], None] | None = None) -> None:
        """Go on with a run that ended before its time; one that was still planning begins again."""
        about = self._folder.read()
        if about is None:
            if os.path.lexists(self._folder.output):
                raise _bad(
                    self._folder.output, "is there, but no run of it to go on with; begin again with --overwrite"
                )
            self.begin(order, told)
            return
        require_same(about, order.fingerprints(), order.whole_shape(), self._folder.output)
        self.counts, self.lost, self._warc, self._parts = about.counts, about.lost, order.warc, order.parts

    def fetch(self, crew: Crew, pace: Pace, watch: Watch | None = None) -> tuple[Progress, bool]:
        """Fetch what is left. Returns what was done, and whether it was all."""
        return asyncio.run(self._fetch(crew, pace, watch))

    async def _fetch(self, crew: Crew, pace: Pace, watch: Watch | None) -> tuple[Progress, bool]:
        with ExitStack() as stack, _refused(self._folder.output):
            journal = Journal(self._folder.journal)
            stack.callback(journal.close)
            clock = asyncio.get_running_loop().time
            progress = Progress(self._planned(), journal.done.count, clock, journal.failed)
            self._require_output(journal)
            if not progress.left:
                self._open_part(self._part, journal.length).close()  # of an empty shard there is a file, too
                return progress, True
            plan = Plan(self._folder.path)
            stack.callback(plan.close)
            writer = self._writer(journal)
            stack.callback(writer.close)  # before the journal
            self._coordinator = Coordinator(plan, journal.done, crew, writer, progress, pace)
            if watch is not None:
                stack.enter_context(watch(self._coordinator, progress))
            try:
                whole = await self._coordinator.run()
            except asyncio.CancelledError:  # told to stop at once
                whole = False
        if writer.error is not None:
            raise _unwritable(writer.error)
        if not progress.left:
            self._folder.remove_plan()
        return progress, whole

    def finish(self) -> None:
        """Make the output of the records, where it is not made of lines. A run that ends here can do it again."""
        if self._part == self._folder.output:
            return
        try:
            finish([self._part], self._folder.output, again=True)
        except SpanielError as error:
            raise _unwritable(error) from None

    def write_summary(self, progress: Progress) -> dict[str, object]:
        """For programs: what was done, beside what is needed to resume. What was written is returned."""
        plan = self.counts and self.counts._asdict()
        summary = {**progress.as_dict(), "unread": self.lost, "output": self._folder.output, "plan": plan}
        write_atomically(self._folder.summary, json.dumps(summary, indent=1).encode(), None)
        return summary

    @property
    def pages(self) -> int:
        """How many are to be fetched, those of earlier runs included."""
        return self.counts.tasks if self.counts else 0

    def _planned(self) -> int:
        if self.counts is None:
            raise RuntimeError("begin or resume first")
        return self.counts.planned

    def _writer(self, journal: Journal) -> Writer:
        loop = asyncio.get_running_loop()
        part = self._open_part(self._part, journal.length)
        beside = warc_parts.WarcParts(self._folder.output, journal.beside, self._warc) if self._warc else None
        for name in (self._folder.path, os.path.dirname(self._part) or "."):
            sync_folder(name)  # a power cut must not take the new files' names

        def failed(error: Exception) -> None:
            loop.call_soon_threadsafe(self._cannot_write, error)

        return PartsWriter(self._parts, part, journal, failed) if self._parts else Writer(part, journal, failed, beside)

    def _cannot_write(self, error: Exception) -> None:
        if self._coordinator is not None:
            self._coordinator.fail(_unwritable(error))

    def _require_output(self, journal: Journal) -> None:
        """Somebody may have cut or removed it meanwhile."""
        output = self._part
        there = os.path.getsize(output) if os.path.exists(output) else 0
        if there < journal.length:
            raise _bad(output, f"has {there} bytes, but {journal.length} were written; begin again with --overwrite")
        if self._warc and not warc_parts.is_there(self._folder.output, journal.beside):
            place = warc_parts.place_of(self._folder.output)
            raise _bad(place, "is shorter than what was written to it; begin again with --overwrite")


@contextmanager
def _refused(output: str) -> Iterator[None]:
    """What the system refuses, as a sentence."""
    try:
        yield
    except OSError as error:
        raise _bad(output, f"cannot be written: {error.strerror}") from None


def _unwritable(error: Exception) -> SpanielError:
    field = "-o"
    if isinstance(error, SpanielError):
        field, reason = str(error.details.get("field", field)), str(error.details.get("reason", error.message))
    elif isinstance(error, OSError):
        reason = f"cannot be written: {error.strerror}"
    else:
        return SpanielError(Code.INTERNAL, error=f"{type(error).__name__}: {error}")
    return _bad(field, f"{reason}. What was written is safe; make room, then go on with --resume")


def _bad(field: str, reason: str) -> SpanielError:
    return SpanielError(Code.BAD_ARGS, field=field, reason=reason)
