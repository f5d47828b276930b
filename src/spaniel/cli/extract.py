"""`spaniel extract FILE`: find files, read them here or in several processes, print them in order as Markdown."""

from __future__ import annotations

import os
import re
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from spaniel.cli import options as opt
from spaniel.cli.inputs import read_bytes
from spaniel.cli.long_run import STOP_SIGNALS, LongRun, run_async
from spaniel.cli.main import report
from spaniel.cli.output import Output, as_line, as_markdown, opened
from spaniel.defaults import Number
from spaniel.errors import SpanielError, shown
from spaniel.sources.kinds import KINDS, FileKind
from spaniel.url.parsing import parse, typed

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Iterable, Iterator
    from concurrent.futures import Future, ProcessPoolExecutor

    from spaniel.reading import Document

JOBS = Number(1, 1, 64)  # processes
SOME_FAILED = 1


def parser() -> opt.Parser:
    return opt.Parser(
        "spaniel extract",
        "Convert HTML, PDF, feeds, CSV, JSON and XML to clean Markdown.\n"
        "Several files are separated by front matter with file name, title and more.",
        {
            "Arguments": [opt.argument("files", "FILE", "File or folder; '-' reads standard input", nargs="+")],
            "Options": [
                opt.value("-o", "--output", "PATH", "Write to this file; to a folder (DIR/), one file per page"),
                opt.json_flag("Print one JSON object per line, with title, language and metadata"),
                opt.number("-j", "--jobs", "Files read in parallel", of=JOBS),
                opt.value("--url", "URL", "Base URL for links of the page; for one file", type=typed),
                opt.value("--content-type", "TYPE", "Content type, such as text/html [default: detected]"),
                opt.QUIET,
            ],
        },
        examples=[
            ("spaniel extract page.html", "As Markdown"),
            ("spaniel extract saved/ -o markdown/ -j 4", "A folder, one file for each page"),
            ("spaniel extract --json - < page.html", "With title, language and metadata"),
        ],
        notes="Exit codes: 0 all files read; 1 some were not; for a single file, the code of\nits error.",
    )


def main(args: argparse.Namespace) -> int:

    several = len(args.files) > 1 or os.path.isdir(args.files[0])
    if args.url is not None:
        if several:
            raise opt.bad_argument("--url", "is for one file")
        parse(args.url)
    with opened(args.output, ".json" if args.json else ".md", several=several) as output:
        return ExtractRun(args, output, several=several).run(found_files(args.files))


class NamedFile(NamedTuple):
    """A file, and what the options say about it."""

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


def read_one(file: NamedFile) -> Document | SpanielError:
    """One file, read; an error is returned as a value, since it may come from another process."""
    from spaniel.pipeline.extraction import read_here

    try:
        body = read_bytes(file.path)
        return read_here(body, file.content_type or content_type_of(file.path, body), file.url)
    except SpanielError as error:
        return error


class ExtractRun:
    """One run of the command."""

    def __init__(self, args: argparse.Namespace, output: Output, *, several: bool) -> None:
        self._args, self._output, self._several = args, output, several
        self._run = LongRun("file", quiet=args.quiet, several=several)
        self._codes: list[int] = []

    def run(self, paths: Iterator[str]) -> int:
        """Read all; the exit code."""
        files = (NamedFile(path, self._args.url, self._args.content_type) for path in paths)
        if self._args.jobs > 1 and self._several:
            run_async(self._in_processes(files))
        else:
            self._run.one_by_one(files, lambda file: (file, read_one(file)), self._hand_over)
        self._output.flush()
        if self._several:
            self._run.say(self._run.summary("read"))
        if self._run.stopping:
            return self._run.exit_code
        if not self._run.finished:
            raise opt.bad_argument("FILE", "no readable file in this folder")
        if not self._codes:
            return 0
        return SOME_FAILED if self._several else self._codes[0]

    async def _in_processes(self, files: Iterator[NamedFile]) -> None:
        import asyncio
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        slots = asyncio.Semaphore(self._args.jobs + 1)  # one more than processes, so that none waits for work
        pool = ProcessPoolExecutor(self._args.jobs, get_context("spawn"))
        pending: set[Future[Document | SpanielError]] = set()

        async def work(file: NamedFile) -> tuple[NamedFile, Document | SpanielError]:
            with _signals_blocked():  # inherited by the worker process: only this one decides when it ends
                future = pool.submit(read_one, file)
            pending.add(future)
            future.add_done_callback(pending.discard)
            return file, await asyncio.wrap_future(future)

        async def each() -> AsyncIterator[NamedFile]:
            for file in files:
                yield file

        try:
            await self._run.in_order(each(), work, self._hand_over, lambda _: slots)
        finally:
            _end(pool, kill=bool(pending))

    def _hand_over(self, result: tuple[NamedFile, Document | SpanielError]) -> None:
        from spaniel.cli.notes import print_notes

        file, found = result
        where = f"{shown(file.path)}: " if self._several else ""
        name = {"file": file.path} if self._several or self._output.has_front_matter else {}
        if isinstance(found, SpanielError):
            self._output.flush()
            report(found, where)
            if self._args.json and self._several:
                self._output.error(as_line({**name, **found.as_dict()}))
            self._codes.append(found.row.exit)
            self._run.fail(str(found.code))
            return
        if self._args.json:
            facts = found.as_dict()
            facts.pop("data", None)
            text = as_line({**name, **facts}, found.data)
        else:
            text = as_markdown(facts_of(file, found), found.markdown, self._output)
        self._output.page(file.path, text)
        notes = [*found.notes, *([] if found.markdown.strip() else ["no_text"])]
        if notes and not self._args.quiet:
            self._output.flush()
            print_notes(notes, where)


def facts_of(file: NamedFile, document: Document) -> dict[str, object]:
    """The front matter of a file; the first field identifies the file."""
    about = document.metadata
    return {
        "file": file.path,
        "url": about.canonical_url,
        "title": about.title or document.title,
        "language": document.language,
        "author": about.author,
        "published": about.published,
    }


@contextmanager
def _signals_blocked() -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end(pool: ProcessPoolExecutor, *, kill: bool) -> None:
    if kill:  # stopped immediately: reading may not finish
        from multiprocessing import active_children

        for process in active_children():
            process.kill()
    pool.shutdown(cancel_futures=True)


HTML, TEXT, MARKDOWN, JSON, XML = "text/html", "text/plain", "text/markdown", "application/json", "application/xml"
PDF = "application/pdf"
CONTENT_TYPES = {
    FileKind.HTML: HTML, FileKind.MARKDOWN: MARKDOWN, FileKind.TEXT: TEXT, FileKind.RST: TEXT,
    FileKind.JSON: JSON, FileKind.JSONL: JSON,
    FileKind.SITEMAP: XML, FileKind.CSV: "text/csv", FileKind.TSV: "text/tab-separated-values",
}  # fmt: skip
ENDINGS = {
    **{
        f".{one}": content_type
        for kind, content_type in CONTENT_TYPES.items()
        for one in KINDS[kind].extensions.split()
    },
    ".rss": "application/rss+xml",
    ".atom": "application/atom+xml",
    ".pdf": PDF,
}
MAGIC = (
    (b"%PDF-", PDF), (b"\x89PNG", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"),
    (b"\x1f\x8b", "application/gzip"), (b"PK\x03\x04", "application/zip"), (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ", "application/x-xz"), (b"\x28\xb5\x2f\xfd", "application/zstd"),
)  # fmt: skip
LOOKED_AT = 4096
TAGS = "html|head|body|title|meta|article|main|section|header|div|p|h[1-6]|ul|ol|li|table|tr|td|span|a|b|i|em|strong"
BEGINS = re.compile(
    rf"\s*(?:<!--.*?-->\s*|<\?xml[^>]*>\s*)*<(?:!doctype\s+html|(?:{TAGS})\b)", re.IGNORECASE | re.DOTALL
)
ENDS = re.compile(rf"</(?:{TAGS})\s*>", re.IGNORECASE)


def content_type_of(name: str, body: bytes) -> str:
    """The type by magic number, extension or content; a type that cannot be read is refused by name."""
    for magic, kind in MAGIC:
        if body.startswith(magic):
            return kind
    ending = os.path.splitext(name)[1].lower()
    if ending in ENDINGS:
        return ENDINGS[ending]
    from spaniel.reading.kinds import BY_NAME, has_late_magic

    if has_late_magic(BY_NAME["pdf"], body):
        return PDF
    return HTML if looks_like_html(body) else TEXT


def looks_like_html(body: bytes) -> bool:
    """Whether it starts with a tag or has closing tags; Markdown with a `<br>` is not HTML."""
    start = body[:LOOKED_AT]
    text = start.decode("utf-16", "replace") if start[:2] in (b"\xff\xfe", b"\xfe\xff") else start.decode("latin-1")
    text = text.removeprefix("\xef\xbb\xbf")
    return BEGINS.match(text) is not None or ENDS.search(text) is not None


def is_readable(name: str) -> bool:
    """Whether a file in a folder is one to read."""
    return os.path.splitext(name)[1].lower() in ENDINGS
