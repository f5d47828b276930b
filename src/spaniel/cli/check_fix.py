"""`spaniel check --fix`: new addresses written into documents; a diff, unless --write is given."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spaniel.errors import shown

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence
    from typing import TextIO

    from spaniel.health.links import Checked
    from spaniel.health.rewriting import Fix, FixOptions, FixPlan, SourceDocument, Unfixed

SOME_UNWRITTEN = 1
LONGEST = 10_000  # characters of a line that a terminal is shown
MOST_TOLD = 50  # links that stay as they are, and why


def diff_output(args: argparse.Namespace) -> TextIO:
    """Where the diff goes. A JSON report is for a program, which gets nothing else on standard output."""
    return sys.stderr if report_takes_output(args) else sys.stdout


def report_takes_output(args: argparse.Namespace) -> bool:
    return args.format in ("json", "jsonl") and not args.output


def wishes_of(args: argparse.Namespace) -> FixOptions:
    from spaniel.health.rewriting import FixOptions

    if not args.allowlist:
        return FixOptions(args.temporary_too, args.archive)
    from spaniel.url.allowlist import load

    return FixOptions(args.temporary_too, args.archive, load(args.allowlist).refusal)


def fix_documents(results: Iterable[Checked], args: argparse.Namespace, wishes: FixOptions, out: TextIO) -> int:
    """Plan, and show or write. The exit code: 0, or 1 where a file could not be written."""
    from spaniel.health.rewriting import plan_fixes, read_sources

    found = list(results)
    files = (place.file for one in found if one.move or one.archived for place in one.link.places if place.line)
    sources = read_sources((file for file in files if file != "-"), args.kind or "", args.field)
    plan = plan_fixes(found, sources, wishes, args.base)
    code = _write(plan, sources) if args.write else _show(plan, sources, out)
    tell_unfixed(plan.unfixed)
    return code


def _by_file(plan: FixPlan) -> dict[str, list[Fix]]:
    files: dict[str, list[Fix]] = {}
    for fix in plan.fixes:
        files.setdefault(fix.place.file, []).append(fix)
    return files


def _show(plan: FixPlan, sources: dict[str, SourceDocument], out: TextIO) -> int:
    from spaniel.health.rewriting import diff_lines

    for file, fixes in _by_file(plan).items():
        changes = {fix.span: fix.written for fix in fixes}
        show_diff(diff_lines(_in_diff(file), sources[file].decoded.text, changes), out)
    if plan.fixes:
        _say(f"{_links(plan.fixes)} would change; --write writes them")
    return 0


def _in_diff(file: str) -> str:
    return file.removeprefix("./").lstrip("/").replace("\\", "/")


def show_diff(lines: Iterable[str], out: TextIO) -> None:
    """As it is into a file or a pipe; on a terminal nothing in it may act."""
    safe = out.isatty()
    out.writelines(f"{shown(line.rstrip(), LONGEST)}\n" if safe else line for line in lines)


def _write(plan: FixPlan, sources: dict[str, SourceDocument]) -> int:
    from spaniel.health.rewriting import write

    code = 0
    for file, fixes in _by_file(plan).items():
        trouble = write(sources[file], fixes)
        if trouble:
            _say(f"{shown(file)} was not changed: {trouble}")
            code = SOME_UNWRITTEN
        else:
            _say(f"{shown(file)}: {_links(fixes)} changed")
    return code


def tell_unfixed(unfixed: Sequence[Unfixed]) -> None:
    """What stays as it is, and why."""
    for one in unfixed[:MOST_TOLD]:
        where = f"{shown(one.place.file)}:{one.place.line}:{one.place.column}"
        hint = f" ({shown(one.suggestion)})" if one.suggestion else ""
        _say(f"{where}: {shown(one.url)} stays: {shown(one.reason)}{hint}")
    if len(unfixed) > MOST_TOLD:
        _say(f"and {len(unfixed) - MOST_TOLD} more that stay as they are")


def _links(fixes: Sequence[Fix]) -> str:
    return f"{len(fixes)} link{'' if len(fixes) == 1 else 's'}"


def _say(text: str) -> None:
    sys.stderr.write(f"spaniel: {text}\n")
