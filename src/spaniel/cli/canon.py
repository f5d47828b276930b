"""`spaniel canon`: print canonical URLs, in order and in constant memory."""

from __future__ import annotations

import os
import sys

from spaniel.cli import options as opt
from spaniel.cli.inputs import (
    LIST,
    SOME_LOST,
    STANDARD_INPUT,
    Inputs,
    incoming,
    list_options,
    list_rows,
    report_problems,
)
from spaniel.cli.long_run import LongRun, colors, run_async
from spaniel.cli.main import report
from spaniel.cli.output import as_line
from spaniel.defaults import CANON_JOBS, FETCH_PER_HOST, TIMEOUT_SECONDS, Number
from spaniel.errors import SpanielError, shown
from spaniel.url.parsing import requested, typed
from spaniel.url.policy import Policy, load
from spaniel.url.value import echoed

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from spaniel.app.client import Spaniel
    from spaniel.cli.inputs import InputUrl
    from spaniel.cli.options import Row
    from spaniel.online.canonicalizer import CanonicalResult
    from spaniel.url.canonical import Canonical, RuleStep

    Writer = Callable[[Iterator[Canonical], bool], None]


SOME_REFUSED = 1
FORMATS = {
    "json": "Print JSON: indented for one URL, else one object per line",
    "jsonl": "Print one JSON object per line",
    "table": "Print a table",
}


def parser() -> opt.Parser:
    forms: list[Row] = [
        ([f"--{name}"], {"dest": "form", "action": "store_const", "const": name, "help": what})
        for name, what in FORMATS.items()
    ]
    return opt.Parser(
        "spaniel canon",
        "Print the canonical form of each URL, one per line, in the order of the input.",
        {
            "Arguments": [
                opt.argument("urls", "URL", "URLs; '-' reads a list from standard input", nargs="*", type=typed),
            ],
            "Options": [
                opt.value("--policy", "FILE", "exact, ingest, clara, curious, or a TOML file", default="exact"),
                forms,
                opt.flag("--explain", "Show each step: the URL before it and after it"),
                (["--diff"], {"nargs": 2, "metavar": ("A", "B"), "help": "Show URLs on which two policies differ"}),
                opt.flag("--fail-fast", "Stop at the first URL that is refused"),
            ],
            "Files of a policy": [
                opt.value("--overrides", "FILE", "Overrides, for a policy that uses them"),
                opt.value(
                    "--allowlist", "FILE", "Refuse URLs on, and redirects to, hosts that this file does not list"
                ),
                opt.value("--learnt", "FILE", "Use what was learned about hosts; with --online, update it"),
            ],
            "Online": [
                opt.flag("--online", "Send the requests that rules of the policy need (clara has such rules)"),
                opt.flag("--refresh", "With --online: check again what was learned before"),
                opt.number("-j", "--jobs", "With --online: concurrent URLs", of=Number(CANON_JOBS, 1, 10_000)),
                opt.value(
                    "--timeout", "N", f"With --online: seconds per URL [default: {TIMEOUT_SECONDS.default}]", type=int
                ),
            ],
            LIST: list_rows(),
            opt.SHARED: [opt.CONFIG, opt.LOG_OPTIONS],
        },
        examples=[
            ("spaniel canon 'https://Example.com/a/../b'", "https://example.com/b"),
            ("spaniel canon --policy ingest - < urls.txt", "A list"),
            ("spaniel canon --explain https://example.com/a", "Each step"),
        ],
        notes="Refused URLs are reported on standard error; the others are still printed.\n\n"
        "Exit codes: 0 all done; 1 some were refused, or differ (--diff). For a single\n"
        "URL that is refused: 2, or 3 if --online finds that it leads to a blocked\naddress.",
    )


def main(args: argparse.Namespace) -> int:
    if not args.urls:
        if sys.stdin is None or sys.stdin.isatty():
            raise opt.bad_argument("URL", "is missing; '-' reads URLs from standard input", "spaniel canon")
        args.urls = [STANDARD_INPUT]
    opt.require(args, "--online", "--refresh")
    if args.diff and (args.online or args.allowlist or args.learnt):
        raise opt.bad_argument("--diff", "compares policies offline, without other files")
    if args.diff:
        old, new = (_policy(name, args.overrides) for name in args.diff)
        return _show_differences(old, new, args)
    policy = _policy(args.policy, args.overrides)
    if args.online:
        return _canonicalize_online(policy, args)
    return _canonicalize(policy, args)


def _policy(name: str, overrides: str | None) -> Policy:
    policy = load(name)
    file = overrides or policy.overrides_file
    if not overrides and not (file and os.path.isfile(file)):
        return policy
    from spaniel.url import overrides as files

    return policy.with_overrides(files.load(file))


def _canonicalize(policy: Policy, args: argparse.Namespace) -> int:
    refused: list[int] = []
    urls = Inputs(args.urls, list_options(args))
    _writer_for(args)(_accepted(policy, args, urls, refused), args.explain)
    if not refused:
        return urls.exit_code(0)
    urls.exit_code(SOME_REFUSED)
    return SOME_REFUSED if opt.is_several(args.urls) else refused[0]


def _accepted(policy: Policy, args: argparse.Namespace, urls: Inputs, refused: list[int]) -> Iterator[Canonical]:
    """The canonical URLs, in order. Errors are reported, and their exit codes added to `refused`."""
    apply = _with_files(policy, args) or (policy.explain if args.explain else policy.apply)
    for place, raw in urls:
        try:
            yield apply(raw)
        except SpanielError as error:
            sys.stdout.flush()
            report(error, place)
            refused.append(error.row.exit)
            if args.fail_fast:
                return


def _with_files(policy: Policy, args: argparse.Namespace) -> Callable[[str], Canonical] | None:
    """The policy with an allowlist and what was learnt, offline; None without either."""
    if not args.allowlist and not args.learnt:
        return None
    from spaniel.learnt import Learnt

    if args.allowlist:
        from spaniel.url.allowlist import load as load_allowlist

        policy = policy.with_allowlist(load_allowlist(args.allowlist))
    web = (Learnt.load(args.learnt) if args.learnt else Learnt()).web()
    return lambda raw: policy.explain(raw, web)


DIFFERENT = 1


def _show_differences(old: Policy, new: Policy, args: argparse.Namespace) -> int:
    """Every URL whose canonical form changes, with both forms; a refusal counts as a form."""
    red, green, _, off = colors()
    count = changed = 0
    urls = Inputs(args.urls, list_options(args))
    for _, raw in urls:
        before, after = _form(old, raw), _form(new, raw)
        count += 1
        if before == after:
            continue
        changed += 1
        written = requested(raw)
        if args.form in ("json", "jsonl"):
            sys.stdout.write(as_line({"original": written, "before": before, "after": after}))
        else:
            sys.stdout.write(f"  {shown(written)}\n{red}- {before}{off}\n{green}+ {after}{off}\n")
    sys.stdout.flush()
    sys.stderr.write(f"{changed} of {count} URLs change from {_label(old)} to {_label(new)}\n")
    return urls.exit_code(DIFFERENT if changed else 0)


def _form(policy: Policy, raw: str) -> str:
    try:
        return policy.apply(raw).url
    except SpanielError as error:
        return f"refused: {error.code}"


def _label(policy: Policy) -> str:
    return f"{policy.name} {policy.version}"


def _canonicalize_online(policy: Policy, args: argparse.Namespace) -> int:
    from spaniel.app.client import Spaniel

    opt.configure_logs(args)

    async def go() -> int:
        async with Spaniel(opt.settings_from(args)) as client:
            return await run_online(policy, args, client)

    return run_async(go())


async def run_online(policy: Policy, args: argparse.Namespace, client: Spaniel) -> int:
    """As `_canonicalize_online`, with a client that a test may replace."""
    from spaniel.cli.places import Places, host_in
    from spaniel.online.canonicalizer import CanonicalResult
    from spaniel.sources.rows import Problems

    canonicalizer = client.canonicalizer(policy, allowlist=args.allowlist, learnt=args.learnt, refresh=args.refresh)
    slots = Places(args.jobs, FETCH_PER_HOST)
    several = opt.is_several(args.urls)
    total = None if STANDARD_INPUT in args.urls else len(args.urls)
    run = LongRun("URL", total=total, quiet=args.quiet, several=several)
    printer = _Printer(args)

    async def work(item: InputUrl) -> tuple[InputUrl, CanonicalResult]:
        if printer.stopped:
            return item, CanonicalResult(item.url, None, None)
        found = await canonicalizer.find(item.url)
        if found.error is not None:
            run.fail(str(found.error.code))
        return item, found

    problems = Problems()
    try:
        items = incoming(args.urls, client.settings, list_options(args), problems, may_be_empty=True)
        await run.in_order(items, work, printer.take, lambda item: slots.at(host_in(item.url)))
    finally:
        canonicalizer.learnt.save()
    printer.finish()
    report_problems(problems)
    if several and not printer.stopped:
        run.say(run.summary("looked up"))
    return run.exit_code or printer.code() or (SOME_LOST if problems.lost else 0)


class _Printer:
    """The results as they arrive; a table waits for its last row."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._write = _writer_for(args)
        self._rows: list[Canonical] = []
        self._codes: list[int] = []
        self.stopped = False

    def take(self, done: tuple[InputUrl, CanonicalResult]) -> None:
        item, found = done
        if self.stopped:
            return
        if found.error is not None:
            sys.stdout.flush()
            report(found.error, f"{item.where}: " if item.where else "")
            self._codes.append(found.error.row.exit)
            self.stopped = self._args.fail_fast
        elif found.canonical is not None and self._args.form == "table":
            self._rows.append(found.canonical)
        elif found.canonical is not None:
            self._write(iter([found.canonical]), self._args.explain)
            sys.stdout.flush()

    def finish(self) -> None:
        if self._args.form == "table":
            self._write(iter(self._rows), self._args.explain)

    def code(self) -> int:
        """As offline: a single URL's own exit code, else whether some were refused."""
        if not self._codes:
            return 0
        return SOME_REFUSED if opt.is_several(self._args.urls) else self._codes[0]


def _writer_for(args: argparse.Namespace) -> Writer:
    """Prints results in the requested format."""
    writers: dict[str | None, Writer] = {
        None: write_steps if args.explain else _write_lines,
        "json": _write_json_lines if opt.is_several(args.urls) else _write_json,
        "jsonl": _write_json_lines,
        "table": _write_table,
    }
    return writers[args.form]


def _write_lines(results: Iterator[Canonical], _explain: bool) -> None:
    write = sys.stdout.write
    for result in results:
        write(f"{result.url}\n")


def write_steps(results: Iterator[Canonical], _explain: bool) -> None:
    """Every step of every URL: the value before, after, and the rule's explanation."""
    from spaniel.url.rules.table import RULES

    red, green, dim, off = colors()
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


def _write_json(results: Iterator[Canonical], explain: bool) -> None:
    import json

    for result in results:
        print(json.dumps(record_of(result, explain), ensure_ascii=False, indent=2))


def _write_json_lines(results: Iterator[Canonical], explain: bool) -> None:
    write = sys.stdout.write
    for result in results:
        write(as_line(record_of(result, explain)))


def record_of(result: Canonical, explain: bool) -> dict[str, object]:
    record = result.as_dict()
    if explain:
        record["steps"] = [_step(step) for step in result.steps]
    return record


def _step(step: RuleStep) -> dict[str, object]:
    """One step, with the requests it made, if any."""
    record = step._replace(before=echoed(step.before), after=echoed(step.after))._asdict()
    exchanges = record.pop("asked")
    return {**record, "asked": [exchange._asdict() for exchange in exchanges]} if exchanges else record


def _write_table(results: Iterator[Canonical], _explain: bool) -> None:
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
