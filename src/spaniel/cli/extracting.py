"""The work of `spaniel extract`: files found, read one after the other or in several processes, printed in order."""

from __future__ import annotations

import os
import sys
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from spaniel.cli.ending import stopped_code
from spaniel.cli.files import read_bytes
from spaniel.cli.input_kinds import content_type_of, is_readable
from spaniel.cli.main import report
from spaniel.cli.notes import tell_notes
from spaniel.cli.page_output import as_line, as_markdown
from spaniel.errors import Code, SpanielError, shown

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Future

    from spaniel.cli.page_output import Output
    from spaniel.reading import Document

SOME_FAILED = 1
AHEAD = 4  # files for each process that are begun before the first of them is printed


class Job(NamedTuple):
    """A file, and what is known of it."""

    path: str
    url: str | None
    content_type: str | None


def found_files(arguments: Iterable[str]) -> Iterator[str]:
    """The files that were named, and the readable ones in the folders that were, each folder in the order of names."""
    for argument in arguments:
        if argument == "-" or not os.path.isdir(argument):
            yield argument
            continue
        for folder, folders, names in os.walk(argument):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                if is_readable(name) and not name.startswith("."):
                    yield os.path.join(folder, name)


def understood(job: Job) -> Document | SpanielError:
    """One file, read; an error is a value, so that it can come from another process."""
    from spaniel.pipeline.extraction import read_at_hand

    try:
        body = read_bytes(job.path)
        return read_at_hand(body, job.content_type or content_type_of(job.path, body), job.url)
    except SpanielError as error:
        return error


class Extracting:
    """One run of the command."""

    def __init__(self, args: argparse.Namespace, output: Output, *, several: bool) -> None:
        self._args, self._output, self._several = args, output, several
        self._done = 0
        self._codes: list[int] = []

    def run(self, paths: Iterator[str]) -> int:
        """Read all; the exit code."""
        jobs = (Job(path, self._args.url, self._args.content_type) for path in paths)
        try:
            for job, found in self._at_once(jobs) if self._args.jobs > 1 else ((job, understood(job)) for job in jobs):
                self._hand_over(job, found)
        except KeyboardInterrupt:
            self._summarize("stopped: ")
            return stopped_code()
        self._summarize("")
        if not (self._done or self._codes):
            raise SpanielError(Code.BAD_ARGS, field="FILE", reason="there is no file in there that can be read")
        if not self._codes:
            return 0
        return SOME_FAILED if self._several else self._codes[0]

    def _at_once(self, jobs: Iterator[Job]) -> Iterator[tuple[Job, Document | SpanielError]]:
        """In order, from several processes. When this is left early, what was not begun is dropped."""
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        line: deque[tuple[Job, Future[Document | SpanielError]]] = deque()
        pool = ProcessPoolExecutor(self._args.jobs, get_context("spawn"), _leave_signals)
        try:
            for job in jobs:
                line.append((job, pool.submit(understood, job)))
                if len(line) > AHEAD * self._args.jobs:
                    yield line[0][0], line.popleft()[1].result()
            while line:
                yield line[0][0], line.popleft()[1].result()
        finally:
            pool.shutdown(cancel_futures=True)

    def _hand_over(self, job: Job, found: Document | SpanielError) -> None:
        where = f"{shown(job.path)}: " if self._several else ""
        name = {"file": job.path} if self._several or self._output.has_front_matter else {}
        if isinstance(found, SpanielError):
            self._output.flush()
            report(found, where)
            if self._args.json and self._several:
                self._output.refusal(as_line({**name, **found.as_dict()}))
            self._codes.append(found.row.exit)
            return
        if self._args.json:
            facts = found.as_dict()
            facts.pop("data", None)
            text = as_line({**name, **facts}, found.data)
        else:
            text = as_markdown(facts_of(job, found), found.markdown, self._output)
        self._output.page(job.path, text)
        self._done += 1
        notes = [*found.notes, *([] if found.markdown.strip() else ["no_text"])]
        if notes:
            self._output.flush()
            tell_notes(notes, where)

    def _summarize(self, how: str) -> None:
        self._output.flush()
        if self._several:
            failed = f", {len(self._codes)} could not be" if self._codes else ""
            files = "1 file was" if self._done == 1 else f"{self._done} files were"
            sys.stderr.write(f"spaniel: {how}{files} read{failed}\n")


def facts_of(job: Job, document: Document) -> dict[str, object]:
    """What the front matter of a file says; the first tells files apart."""
    about = document.metadata
    return {
        "file": job.path,
        "url": about.canonical_url,
        "title": about.title or document.title,
        "language": document.language,
        "author": about.author,
        "published": about.published,
    }


def _leave_signals() -> None:
    """Ctrl-C is for the process that people see; it ends the others."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
