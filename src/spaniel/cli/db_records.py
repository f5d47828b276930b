"""`spaniel db init`, `fmt`, `ls`, `show`, `dump`, `rm` and `mv`: the records of the database."""

from __future__ import annotations

import json
import sys

from spaniel.cli.db_folder import SOME_FAILED, Failures, folder_of, is_several, name_strangers, opened
from spaniel.cli.lists import STANDARD_INPUT, Inputs, list_options
from spaniel.errors import Code, SpanielError, json_safe, shown
from spaniel.sources.kinds import FileKind
from spaniel.sources.rows import ListOptions
from spaniel.url.parsing import requested
from spaniel.url.value import LONGEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from spaniel.registry.database import Selection
    from spaniel.registry.record import LinkRecord


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
                raise SpanielError(Code.BAD_ARGS, field=url, reason="no record of this URL")
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
        raise SpanielError(Code.BAD_ARGS, field="--host", reason=f"'{asked}' is not a host such as www.example.com")
    return found


def _remarks(record: LinkRecord) -> str:
    """A record in a few words."""
    told = [*record.categories]
    if record.content_length is not None:
        told.append(f"{record.content_length:,} bytes")
    if record.content_type is not None:
        told.append(record.content_type)
    return f"  ({shown(', '.join(told))})" if told else ""


def _as_urls(records: Iterator[LinkRecord]) -> None:
    write = sys.stdout.write
    for record in records:
        write(f"{record.url}\n")


def _as_json_lines(records: Iterator[LinkRecord], *, with_place: bool = False) -> None:
    import json

    write = sys.stdout.write
    for record in records:
        facts = record.as_dict()
        if not with_place:
            facts = {key: value for key, value in facts.items() if key not in ("file", "line", "_path")}
        write(json_safe(json.dumps(facts, ensure_ascii=False)) + "\n")


def _as_csv(records: Iterator[LinkRecord]) -> None:
    import csv

    from spaniel.registry.links import in_a_cell

    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(COLUMNS)
    for record in records:
        facts = record.as_dict() | {"categories": in_a_cell(record.categories)}
        rows.writerow([facts.get(column, "") for column in COLUMNS])


WRITERS: dict[str, Callable[[Iterator[LinkRecord]], None]] = {"urls": _as_urls, "jsonl": _as_json_lines, "csv": _as_csv}


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
                    failed(SpanielError(Code.BAD_ARGS, field=url, reason="no record of this URL"), place)
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
                raise SpanielError(Code.BAD_ARGS, field=old, reason="two arguments are needed: OLD NEW")
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


def run_init(args: argparse.Namespace) -> int:
    from spaniel.registry.database import create

    folder = folder_of(args)
    is_new = create(folder)
    if args.json:
        print(json.dumps({"folder": folder, "rules": f"{folder}/registry.toml", "created": is_new}))
    elif is_new:
        print(f"{shown(folder)} is ready; its rules are in {shown(folder)}/registry.toml")
    else:
        print(f"{shown(folder)} is a database already; nothing was changed")
    return 0


def run_fmt(args: argparse.Namespace) -> int:
    from spaniel.registry.database import misfits, reformat

    registry = opened(args)
    name_strangers(registry)
    failed = Failures(several=True)
    count = 0
    for misfit in (misfits if args.check else reformat)(registry, failed):
        count += 1
        if args.json:
            print(json.dumps({"file": misfit.file, "line": misfit.line, "written": not args.check}))
        else:
            print(f"{shown(misfit.file)}:{misfit.line}: {'not formatted' if args.check else 'formatted'}")
    return SOME_FAILED if failed.count or (args.check and count) else 0
