"""How `spaniel canon` prints: plain lines, steps, JSON, a table."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spaniel.errors import shown
from spaniel.url.value import echoed

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from spaniel.url.canonical import Canonical, RuleStep

    Writer = Callable[[Iterator[Canonical], bool], None]


def writer_for(args: argparse.Namespace) -> Writer:
    """What prints results in the form that was asked for."""
    writers: dict[str | None, Writer] = {
        None: explained if args.explain else lines,
        "json": json_lines if len(args.urls) > 1 or "-" in args.urls else json_document,
        "jsonl": json_lines,
        "table": table,
    }
    return writers[args.form]


def lines(results: Iterator[Canonical], _explain: bool) -> None:
    write = sys.stdout.write
    for result in results:
        write(f"{result.url}\n")


def explained(results: Iterator[Canonical], _explain: bool) -> None:
    """Every step of every URL: what it was, what it became, and what the rule has to say."""
    from spaniel.url.rules.table import RULES

    red, green, dim, off = colours()
    for result in results:
        print(f"{shown(result.original)}  {dim}({result.policy} {result.policy_version}){off}")
        for number, step in enumerate(result.steps, 1):
            rule = RULES.get(step.rule)
            print(f"{number:4} {step.rule}" + (f"  {dim}{rule.what}{off}" if rule else ""))
            if step.before == step.after:
                print(f"     {dim}= {shown(step.after)}{off}")
            else:
                print(f"     {red}- {shown(step.before)}{off}\n     {green}+ {shown(step.after)}{off}")
            for question, answer in step.asked:
                print(f"       asked: {shown(question)}\n           -> {shown(answer)}")
            if step.note:
                print(f"       {step.note}")
        for word, items in (("flag", result.flags), ("warning", result.warnings), ("to review", result.review)):
            for item in items:
                print(f"     {word}: {item}")
        print()


def json_document(results: Iterator[Canonical], explain: bool) -> None:
    import json

    for result in results:
        print(json.dumps(record_of(result, explain), ensure_ascii=False, indent=2))


def json_lines(results: Iterator[Canonical], explain: bool) -> None:
    import json

    write = sys.stdout.write
    for result in results:
        write(json.dumps(record_of(result, explain), ensure_ascii=False) + "\n")


def record_of(result: Canonical, explain: bool) -> dict[str, object]:
    record = result.as_dict()
    if explain:
        record["steps"] = [_step(step) for step in result.steps]
    return record


def _step(step: RuleStep) -> dict[str, object]:
    """One step; what was asked is told where something was."""
    told = step._replace(before=echoed(step.before), after=echoed(step.after))._asdict()
    asked = told.pop("asked")
    return {**told, "asked": [exchange._asdict() for exchange in asked]} if asked else told


def table(results: Iterator[Canonical], _explain: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table("original", "canonical", "class", "dropped", "notes")
    for result in results:
        dropped = " ".join(d.name for d in result.dropped)
        notes = " ".join([*result.flags, *result.warnings, *(f"review:{name}" for name in result.review)])
        cells = (result.original, result.url, result.link_type or "", dropped, notes)
        grid.add_row(*(Text(shown(cell), overflow="fold") for cell in cells))
    Console().print(grid)


def colours() -> tuple[str, str, str, str]:
    """Red, green, dim and off; nothing where nobody could see them."""
    import os

    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return "", "", "", ""
    return "\033[31m", "\033[32m", "\033[2m", "\033[0m"
