"""A run on this machine: from sources to a file of records, once, or on from where an earlier run ended."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from contextlib import ExitStack, contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple, Protocol

from spaniel.batch.outputs import warc
from spaniel.batch.outputs.files import Form, finish, form_of
from spaniel.batch.outputs.parquet import parts_in
from spaniel.batch.planning import LEAST_SHARDS, WHOLE, ListRows, make_plan
from spaniel.batch.progress import Progress
from spaniel.batch.supervisor import Supervisor
from spaniel.errors import Code, SpanielError
from spaniel.files import sync_folder, write_atomically
from spaniel.runs.parts import CAPTURES, RECORDS, Collector, PartOutput
from spaniel.runs.run import PART, About, RunFolder, require_same
from spaniel.runs.store import Shard
from spaniel.sources.tables import arrow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from spaniel.batch.plan_folder import PlanFolder
    from spaniel.batch.planning import InputShard, PlanRows
    from spaniel.batch.supervisor import Pace, Workers
    from spaniel.runs.run import PlanCounts
    from spaniel.runs.store import Item
    from spaniel.sources.rows import Problems
    from spaniel.url.policy import Policy

    Watch = Callable[[Supervisor, Progress], AbstractContextManager[None]]


class UrlSource(Protocol):
    """Where URLs come from."""

    @property
    def name(self) -> str:
        """As the user wrote it."""

    def fingerprint(self) -> str:
        """What changes when the input does. Empty where that is unknown: of a pipe, of a web site."""

    def items(self) -> Iterator[Item]:
        """The URLs in their order, counted from 0."""


class Order(NamedTuple):
    """What is to be done, as far as it decides which records there will be; and how it is divided."""

    sources: Sequence[UrlSource]
    policy: Policy  # by which URLs are canonicalized
    shape: dict[str, str]  # what else decides it, in words: the profile and its version
    shard: InputShard = WHOLE
    limit: int | None = None
    warc: str = ""  # the software's name, where what comes over the wire is to be kept too
    parts: str = ""  # where workers write records themselves; the output is then a list of parts
    problems: Problems | None = None  # what was wrong in the sources, known when they were read
    shards: int = LEAST_SHARDS
    is_spread: bool = False  # whether the pages of one host may be in several shards: hosts need no delays
    planned: PlanFolder | None = None  # a plan that was made before, in place of sources

    def rows(self, report: Callable[[int], None] | None = None) -> PlanRows:
        """What is to be planned of the input."""
        if self.planned is not None:
            return self.planned.rows(self.planned.read(), self.shard)
        return ListRows(self.items(), self.policy, self.shard, report)

    def items(self) -> Iterator[Item]:
        """All URLs, numbered through."""
        found = chain.from_iterable(source.items() for source in self.sources)
        for ordinal, item in enumerate(islice(found, self.limit)):
            yield item._replace(ordinal=ordinal)

    def input_shape(self) -> dict[str, str]:
        """What decides which URLs there are."""
        return {**self.shape, "--limit": str(self.limit or "none")}

    def whole_shape(self) -> dict[str, str]:
        shape = self.input_shape()
        if self.planned is not None:
            shape = {**self.planned.read().shape, **self.shape}
        warc = "yes" if self.warc else "no"
        return {**shape, "--shard": str(self.shard), "--warc": warc, "--parts": self.parts or "none"}

    def fingerprints(self) -> dict[str, str]:
        if self.planned is not None:
            return self.planned.read().sources
        return {source.name: source.fingerprint() for source in self.sources}

    def lost(self) -> int:
        """How often URLs of the sources could not be read, once they were."""
        if self.planned is not None:
            return self.planned.read().lost
        return self.problems.lost if self.problems is not None else 0


class BatchRun:
    """One run over its output, as a context: it holds the lock. `begin` or `resume`, then `fetch`."""

    def __init__(self, output: str) -> None:
        self._folder, self._stack = RunFolder(output), ExitStack()
        # Lines are written to the output itself; every other form is made of them when all are there.
        self._form = form_of(output)
        if self._form == Form.WARC:
            raise _bad(output, "WARC files come beside the records: name FILE.jsonl, say, and add --warc")
        if self._form in (Form.PARQUET, Form.PARQUET_FOLDER):
            arrow()  # refused now where it is not installed, rather than when all pages are fetched
        is_lines = self._form in (Form.JSONL, Form.JSONL_ZST)
        self._part = output if is_lines else os.path.join(self._folder.path, PART)
        self._about: About | None = None
        self._warc = self._parts = ""

    def __enter__(self) -> BatchRun:
        self._stack.enter_context(self._folder.locked())
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def begin(self, order: Order, report: Callable[[int], None] | None = None, *, overwrite: bool = False) -> None:
        """Plan a new run. Output that is there is not touched unless it may be."""
        output = self._folder.output
        self._warc, self._parts = order.warc, order.parts
        captured = warc.files_of(output) if order.warc else []
        if not overwrite:
            self._require_nothing_there(captured)
        if self._form == Form.PARQUET_FOLDER:
            parts_in(output)  # refused now, rather than when all pages are fetched
        sources = order.fingerprints()
        with _refused(output):
            self._folder.clear()
            try:
                plan = make_plan(order.rows(report), self._folder.path, shards=order.shards, is_spread=order.is_spread)
            except BaseException:
                self._folder.clear()
                raise
            # Only now, for the sources may have no URL in them.
            if os.path.lexists(output) and not os.path.isdir(output):  # in a folder, pages replace pages
                os.unlink(output)
            if order.warc:
                warc.remove_files(output)
            shape, shards = order.whole_shape(), tuple(plan.shards)
            self._about = About(sources, shape, plan.counts, order.lost(), shards, order.shards, order.is_spread)
            self._folder.write(self._about)

    def _require_nothing_there(self, captured: list[str]) -> None:
        output, is_run = self._folder.output, self._folder.read() is not None
        is_there = os.path.lexists(output) and not (os.path.isdir(output) and not os.listdir(output))  # an empty folder
        if is_run or is_there or captured:
            there = output if not captured or os.path.lexists(output) else captured[0]
            may = "Continue with --resume, or begin again with --overwrite" if is_run else "--overwrite writes there"
            if not is_run and self._form == Form.PAGES:
                may += " and replaces nothing but the same pages"
            raise _bad(there, f"is there already. {may}")

    def resume(self, order: Order, report: Callable[[int], None] | None = None) -> None:
        """Continue a run that was interrupted; one that was still planning begins again."""
        about = self._folder.read()
        if about is None:
            if os.path.lexists(self._folder.output):
                raise _bad(self._folder.output, "exists, but there is no run to resume; begin again with --overwrite")
            self.begin(order, report)
            return
        require_same(about, order.fingerprints(), order.whole_shape(), self._folder.output)
        self._about, self._warc, self._parts = about, order.warc, order.parts

    def fetch(self, workers: Workers, pace: Pace, watch: Watch | None = None) -> tuple[Progress, bool]:
        """Fetch what is left. Returns what was done, and whether it was all."""
        return asyncio.run(self._fetch(workers, pace, watch))

    async def _fetch(self, workers: Workers, pace: Pace, watch: Watch | None) -> tuple[Progress, bool]:
        with ExitStack() as stack, _refused(self._folder.output):
            outputs = self._outputs()
            collector = Collector(self._folder.path, outputs)
            stack.callback(collector.close)
            self._require_output(collector)
            clock = asyncio.get_running_loop().time
            if (records := collector.finished()) is not None:
                return Progress(self._planned.counts.planned, records, clock), True
            left, recorded, parts = self._state()
            progress = Progress(self._planned.counts.planned, recorded, clock)
            collector.open()
            for name in (self._folder.path, os.path.dirname(self._part) or "."):
                sync_folder(name)  # a power cut must not take the new files' names
            collector.collect(parts)
            whole = True
            if left:
                supervisor = Supervisor(
                    self._folder.path,
                    left,
                    self._planned.shard_count,
                    workers,
                    collector,
                    progress,
                    pace,
                    {kind: output.ending for kind, output in outputs.items()},
                    is_spread=self._planned.is_spread,
                    parts=self._parts,
                )
                whole = await self._supervise(supervisor, progress, watch)
                left, recorded, parts = self._state()
                collector.collect(parts)
                progress.settle(recorded)
            if not left:
                collector.finish(recorded)
                self._folder.remove_shards()
        return progress, whole and not left

    async def _supervise(self, supervisor: Supervisor, progress: Progress, watch: Watch | None) -> bool:
        with ExitStack() as stack:
            if watch is not None:
                stack.enter_context(watch(supervisor, progress))
            try:
                return await supervisor.run()
            except asyncio.CancelledError:  # a second Ctrl-C: stop at once
                return False
            except SpanielError as error:
                if error.code == Code.BAD_ARGS:
                    raise _unwritable(error) from None
                raise

    def _state(self) -> tuple[dict[int, int], Counter[str], dict[tuple[int, str, int], int]]:
        """What is left in each shard, that with the largest host first; records by code; lengths of part files."""
        left: dict[int, int] = {}
        longest: dict[int, int] = {}
        recorded: Counter[str] = Counter()
        parts: dict[tuple[int, str, int], int] = {}
        for number in self._planned.shards:
            shard = Shard.open(self._folder.path, number)
            try:
                if count := shard.left():
                    left[number], longest[number] = count, shard.counts().longest
                recorded.update(shard.recorded())
                parts |= {(number, *part): size for part, size in shard.parts().items()}
            finally:
                shard.close()
        return {number: left[number] for number in sorted(left, key=longest.__getitem__, reverse=True)}, recorded, parts

    def _outputs(self) -> dict[str, PartOutput]:
        ending = "jsonl.zst" if self._part.endswith(".zst") else "jsonl"
        found = {RECORDS: PartOutput(ending, lambda _: self._part)}
        if self._warc:
            found[CAPTURES] = warc.warc_output(self._folder.output, self._warc)
        return found

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
        plan = self._planned.counts._asdict()
        summary = {**progress.as_dict(), "unread": self.lost, "output": self._folder.output, "plan": plan}
        write_atomically(self._folder.summary, json.dumps(summary, indent=1).encode(), None)
        return summary

    @property
    def counts(self) -> PlanCounts:
        return self._planned.counts

    @property
    def lost(self) -> int:
        """How often URLs of the sources could not be read."""
        return self._planned.lost

    @property
    def pages(self) -> int:
        """How many are to be fetched, those of earlier runs included."""
        return self._planned.counts.tasks

    @property
    def _planned(self) -> About:
        if self._about is None:
            raise RuntimeError("begin or resume first")
        return self._about

    def _require_output(self, collector: Collector) -> None:
        """It may have been cut or removed meanwhile."""
        _, length = collector.length(RECORDS)
        there = os.path.getsize(self._part) if os.path.exists(self._part) else 0
        if there < length:
            raise _bad(self._part, f"has {there} bytes, but {length} were written; begin again with --overwrite")
        if self._warc and not warc.is_there(self._folder.output, *collector.length(CAPTURES)):
            place = warc.place_of(self._folder.output)
            raise _bad(place, "is shorter than what was written to it; begin again with --overwrite")


@contextmanager
def _refused(output: str) -> Iterator[None]:
    """What the system refuses, as a sentence."""
    try:
        yield
    except OSError as error:
        raise _bad(output, f"cannot be written: {error.strerror}") from None


def _unwritable(error: SpanielError) -> SpanielError:
    field, reason = str(error.details.get("field", "-o")), str(error.details.get("reason", error.message))
    return _bad(field, f"{reason}. What was written is safe; free some space, then continue with --resume")


def _bad(field: str, reason: str) -> SpanielError:
    return SpanielError(Code.BAD_ARGS, field=field, reason=reason)
