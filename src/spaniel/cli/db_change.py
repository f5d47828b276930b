"""`spaniel db rm` and `mv`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from spaniel.cli.db_folder import Failures, is_several, opened
from spaniel.cli.lists import STANDARD_INPUT, Inputs, list_options
from spaniel.errors import Code, SpanielError, json_safe, shown
from spaniel.sources.kinds import FileKind
from spaniel.sources.rows import ListOptions
from spaniel.url.parsing import requested
from spaniel.url.value import LONGEST

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


def run_rm(args: argparse.Namespace) -> int:
    failed = Failures(several=is_several(args.urls))
    urls = Inputs(args.urls, list_options(args))
    with opened(args).editing() as editor:
        removed = []
        for place, url in urls:
            try:
                if editor.remove(url):
                    removed.append(url)
                else:
                    failed(SpanielError(Code.BAD_ARGS, field=url, reason="there is no record of this URL"), place)
            except SpanielError as error:
                failed(error, place)
    for url in removed:
        _print({"removed": requested(url)}, f"removed {shown(url, LONGEST)}", as_json=args.json)
    return urls.exit_code(failed.exit_code)


def run_mv(args: argparse.Namespace) -> int:
    failed = Failures(several=args.old == STANDARD_INPUT)
    registry = opened(args)
    lines = Inputs([STANDARD_INPUT], ListOptions(FileKind.TEXT))
    for place, old, new in _pairs(args, lines):
        try:
            if not new:
                raise SpanielError(Code.BAD_ARGS, field=old, reason="say where to: OLD NEW")
            with registry.editing() as editor:
                moved = editor.move(old, new)
        except SpanielError as error:
            failed(error, place)
        else:
            record = moved.record
            facts = {"old": requested(old), "url": record.url, "file": record.file}
            _print(facts, f"moved to {shown(record.url, LONGEST)}  {shown(record.file)}", as_json=args.json)
    return lines.exit_code(failed.exit_code)


def _print(facts: dict[str, str], line: str, *, as_json: bool) -> None:
    print(json_safe(json.dumps(facts, ensure_ascii=False)) if as_json else line)


def _pairs(args: argparse.Namespace, lines: Inputs) -> Iterator[tuple[str, str, str]]:
    """Place, old and new. Each pair is an edit of its own: what has moved by then stays moved."""
    if args.old != STANDARD_INPUT:
        yield "", args.old, args.new or ""
        return
    for place, line in lines:
        old, _, new = line.partition(" ") if " " in line else line.partition("\t")
        yield place, old, new.strip()
