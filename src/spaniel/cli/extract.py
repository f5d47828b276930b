"""`spaniel extract FILE`: saved pages as clean Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.cli.options import add_json, new_parser
from spaniel.defaults import Number
from spaniel.errors import Code, SpanielError
from spaniel.url.parsing import typed

if TYPE_CHECKING:
    import argparse

JOBS = Number(1, 1, 64)  # processes


def parser() -> argparse.ArgumentParser:
    p = new_parser(
        "spaniel extract",
        "Turn HTML, PDF, feeds, CSV, JSON and XML into clean Markdown. Markdown and plain text are only cleaned.",
        "Several files are separated by front matter: lines between --- and --- with file, title and more.\n"
        "Exit code: 0 all read; 1 some were not; for a single file, the code of its error.",
        examples=[
            ("spaniel extract page.html", "the page as Markdown"),
            ("spaniel extract saved/ -o markdown/ -j 4", "a folder, page by page"),
            ("spaniel extract --json --url https://example.com/a - < page.html", "with title, language, metadata"),
        ],
    )
    p.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a file, or a folder with such files; '-' reads standard input",
    )
    p.add_argument("-o", "--output", metavar="PATH", help="write to this file; to a folder (DIR/), one file per page")
    add_json(p, "print one JSON object per line, with title, language and metadata")
    p.add_argument(
        "-j", "--jobs", type=int, default=JOBS.default, metavar="N",
        help=f"how many files at once (default: {JOBS.default})",
    )  # fmt: skip
    p.add_argument(
        "--url", type=typed, metavar="URL", help="where the page came from: its links become absolute; for one file"
    )
    p.add_argument(
        "--content-type", metavar="TYPE", help="the type of the file, for example text/html (default: detect it)"
    )
    p.add_argument("-q", "--quiet", action="store_true", help="show errors only")
    return p


def main(args: argparse.Namespace) -> int:
    from spaniel.cli.extract_run import ExtractRun, found_files
    from spaniel.cli.page_output import opened

    if not JOBS.allows(args.jobs):
        raise SpanielError(Code.BAD_ARGS, field="--jobs", reason=f"must be {JOBS.range}")
    several = is_several(args.files)
    if args.url is not None:
        if several:
            raise SpanielError(Code.BAD_ARGS, field="--url", reason="is for one file")
        _check_url(args.url)
    with opened(args.output, ".json" if args.json else ".md", several=several) as output:
        return ExtractRun(args, output, several=several).run(found_files(args.files))


def is_several(files: list[str]) -> bool:
    import os

    return len(files) > 1 or os.path.isdir(files[0])


def _check_url(raw: str) -> None:
    from spaniel.url.parsing import parse

    parse(raw)
