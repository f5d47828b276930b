"""`spaniel db ls`, `show` and `dump`: the records, for people and for programs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spaniel.cli.db_folder import Failures, is_several, name_strangers, opened
from spaniel.cli.lists import Inputs, list_options
from spaniel.errors import Code, SpanielError, json_safe, shown
from spaniel.url.value import LONGEST

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from spaniel.registry.database import Selection
    from spaniel.registry.record import Record

COLUMNS = ("url", "categories", "content-length", "content-sha256", "content-type")


def run_ls(args: argparse.Namespace) -> int:
    registry = opened(args)
    name_strangers(registry)
    failed = Failures(several=True)
    records = registry.records(selection(args, deprecated=True), failed)
    if args.json:
        _as_json_lines(records, with_place=True)
        return failed.exit_code
    write = sys.stdout.write
    for record in records:
        write(f"{shown(record.url, LONGEST)}{_remarks(record) if len(record.keys) > 1 else ''}\n")
    return failed.exit_code


def run_dump(args: argparse.Namespace) -> int:
    registry = opened(args)
    name_strangers(registry)
    failed = Failures(several=True)
    WRITERS[args.format](registry.records(selection(args, deprecated=args.deprecated), failed))
    return failed.exit_code


def run_show(args: argparse.Namespace) -> int:
    registry = opened(args)
    failed = Failures(several=is_several(args.urls))
    urls = Inputs(args.urls, list_options(args))
    for place, url in urls:
        try:
            record = registry.find(url)
            if record is None:
                raise SpanielError(Code.BAD_ARGS, field=url, reason="there is no record of this URL")
        except SpanielError as error:
            failed(error, place)
            continue
        if args.json:
            _as_json_lines(iter([record]), with_place=True)
        else:
            print(f"{shown(record.url, LONGEST)}\n{shown(record.file)}:{record.line}")
            print("\n".join(shown(line.rstrip("\r"), LONGEST) for line in record.text.rstrip().split("\n")))
    return urls.exit_code(failed.exit_code)


def selection(args: argparse.Namespace, *, deprecated: bool) -> Selection:
    from spaniel.registry.database import ALL, Selection

    if args.path and not args.path.startswith("/"):
        raise SpanielError(Code.BAD_ARGS, field="--path", reason="must begin with '/', as paths do")
    hosts = tuple(map(_host, args.host))
    wanted = Selection(tuple(args.category), hosts, args.path, deprecated)
    return ALL if wanted == ALL else wanted


def _host(asked: str) -> str:
    """A host in the spelling of the files; a URL is taken for its host."""
    from spaniel.registry.folder import authority

    written = asked.partition("://")[2] if "://" in asked else asked
    found = authority(written.partition("/")[0])
    if found is None:
        raise SpanielError(Code.BAD_ARGS, field="--host", reason=f"'{asked}' is not a host, as www.example.com is")
    return found


def _remarks(record: Record) -> str:
    """What is said of a record, in a few words."""
    told = [*record.categories]
    if record.content_length is not None:
        told.append(f"{record.content_length:,} bytes")
    if record.content_type is not None:
        told.append(record.content_type)
    return f"  ({shown(', '.join(told))})" if told else ""


def _as_urls(records: Iterator[Record]) -> None:
    write = sys.stdout.write
    for record in records:
        write(f"{record.url}\n")


def _as_json_lines(records: Iterator[Record], *, with_place: bool = False) -> None:
    import json

    write = sys.stdout.write
    for record in records:
        facts = record.as_dict()
        if not with_place:
            facts = {key: value for key, value in facts.items() if key not in ("file", "line", "_path")}
        write(json_safe(json.dumps(facts, ensure_ascii=False)) + "\n")


def _as_csv(records: Iterator[Record]) -> None:
    import csv

    from spaniel.registry.links import in_a_cell

    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(COLUMNS)
    for record in records:
        facts = record.as_dict() | {"categories": in_a_cell(record.categories)}
        rows.writerow([facts.get(column, "") for column in COLUMNS])


WRITERS: dict[str, Callable[[Iterator[Record]], None]] = {"urls": _as_urls, "jsonl": _as_json_lines, "csv": _as_csv}
