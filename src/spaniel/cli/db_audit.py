"""`spaniel db audit`: the links that data files cite, classed; those that lead to no specific page are listed."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

from spaniel.cli.db_folder import SOME_FAILED, Failures, opened
from spaniel.cli.db_options import FIELDS
from spaniel.errors import Code, SpanielError, shown

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator

    from spaniel.registry.audit import Cited, Finding

HEADER = ("file", "where", "url", "canonical", "class", "gap", "note")


def run_audit(args: argparse.Namespace) -> int:
    from spaniel.registry.audit import audit
    from spaniel.url.policy import load

    failed = Failures(several=True)
    policy = load(args.policy)
    classes: Counter[str] = Counter()
    gaps = reviews = 0

    def listed() -> Iterator[Finding]:
        nonlocal gaps, reviews
        for finding in audit(_cited(args, failed), policy):
            classes[finding.link_class] += 1
            gaps += finding.gap
            reviews += not finding.gap and bool(finding.note)
            if args.all or not finding.is_fine:
                yield finding

    WRITERS[args.format](listed())
    sys.stdout.flush()
    sys.stderr.write(f"spaniel: {_summary(classes, gaps, reviews)}\n")
    in_vain = bool(args.files) and not classes  # a field misspelt must not pass for data without a flaw
    if in_vain and not failed.count:
        asked = " or ".join(f"'{name}'" for name in args.field or FIELDS)
        sys.stderr.write(f"spaniel: no link stands under {shown(asked)}; --field names others\n")
    return SOME_FAILED if failed.count or (args.strict and (gaps or in_vain)) else 0


def _summary(classes: Counter[str], gaps: int, reviews: int) -> str:
    told = ", ".join(f"{count:,} {name}" for name, count in sorted(classes.items()))
    total = classes.total()
    links = f"{total:,} link{'' if total == 1 else 's'}"
    return f"{links}{f' ({told})' if told else ''}; gaps: {gaps:,}; to review: {reviews:,}"


def _cited(args: argparse.Namespace, failed: Failures) -> Iterator[Cited]:
    from spaniel.registry.audit import Cited

    if not args.files:
        for record in opened(args).records(refused=failed):
            if not record.is_deprecated:
                yield Cited(record.file, f"line {record.line}", record.url)
        return
    from spaniel.cli.files import read_bytes
    from spaniel.registry.audit_inputs import read_cited

    fields = frozenset(args.field or FIELDS)
    for name in _matching(args.files, failed):
        try:
            yield from read_cited(name, read_bytes(name), fields, args.kind)
        except SpanielError as error:
            failed(error)


def _matching(patterns: list[str], failed: Failures) -> Iterator[str]:
    """A quoted pattern is for us to match, so that a thousand files fit into a command."""
    import os
    from glob import glob

    for pattern in patterns:
        if os.path.isdir(pattern):
            failed(
                SpanielError(Code.BAD_ARGS, field=pattern, reason=f"is a folder; name its files: '{pattern}/*.json'")
            )
        elif pattern == "-" or os.path.exists(pattern):
            yield pattern
        elif found := sorted(glob(pattern, recursive=True)):
            yield from (name for name in found if os.path.isfile(name))
        else:
            failed(SpanielError(Code.BAD_ARGS, field=pattern, reason="there is no such file"))


def _row(finding: Finding) -> tuple[str, ...]:
    return (*finding[:5], "yes" if finding.gap else "", finding.note)


def _as_table(findings: Iterable[Finding]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table("link", "class", "gap", "note", "where")
    for finding in findings:
        where = f"{finding.file}: {finding.where}"
        cells = (
            finding.canonical or finding.url,
            finding.link_class,
            "gap" if finding.gap else "",
            finding.note,
            where,
        )
        grid.add_row(*(Text(shown(cell, 8192), overflow="fold") for cell in cells))
    if grid.row_count:
        Console().print(grid)


def _as_json(findings: Iterable[Finding]) -> None:
    import json

    lead = "[\n"
    for finding in findings:
        sys.stdout.write(lead + json.dumps(dict(zip(HEADER, finding, strict=True)), ensure_ascii=False))
        lead = ",\n"
    sys.stdout.write("\n]\n" if lead != "[\n" else "[]\n")


def _as_csv(findings: Iterable[Finding]) -> None:
    import csv

    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(HEADER)
    rows.writerows(_row(finding) for finding in findings)


def _as_markdown(findings: Iterable[Finding]) -> None:
    print(f"| {' | '.join(HEADER)} |\n|{'---|' * len(HEADER)}")
    for finding in findings:
        print("| " + " | ".join(_cell(text) for text in _row(finding)) + " |")


def _cell(text: str) -> str:
    """Text that stays in its cell, and text: no link, no markup."""
    plain = shown(text, 8192)
    return "".join(f"\\{sign}" if sign in "\\|`*_[]<>" else sign for sign in plain)


WRITERS: dict[str, Callable[[Iterable[Finding]], None]] = {
    "table": _as_table,
    "json": _as_json,
    "csv": _as_csv,
    "markdown": _as_markdown,
}
