"""`spaniel canon`: print canonical URLs, in order and in constant memory."""

from __future__ import annotations

import os
import sys

from spaniel.cli.lists import SOME_LOST, Inputs, add_list_options, incoming, list_options, report_problems
from spaniel.cli.long_run import LongRun, colors, run_async
from spaniel.cli.main import report
from spaniel.cli.options import add_config_option, add_log_options, configure_logs, new_parser, settings_from
from spaniel.defaults import CANON_JOBS, FETCH_PER_HOST, TIMEOUT_SECONDS
from spaniel.errors import Code, SpanielError, shown
from spaniel.url.parsing import requested, typed
from spaniel.url.policy import Policy, load
from spaniel.url.value import echoed

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from spaniel.app.client import Spaniel
    from spaniel.cli.lists import Asked
    from spaniel.online.canonicalizer import CanonicalResult
    from spaniel.url.canonical import Canonical, RuleStep

    Writer = Callable[[Iterator[Canonical], bool], None]


SOME_REFUSED = 1


def parser() -> argparse.ArgumentParser:
    p = new_parser(
        "spaniel canon",
        "Print the canonical form of each URL, one per line, in the order of the input.",
        "A URL that is refused is reported on standard error. The others are still printed.\n"
        "Exit code: 0 all done; 1 some were refused, or differ (--diff). For a single URL that is refused: 2\n"
        "(or 3, if --online finds that it leads to an address that is blocked).",
        examples=[
            ("spaniel canon 'https://Example.com/a/../b'", "https://example.com/b"),
            ("spaniel canon --policy ingest - < urls.txt | sort -u", "each page once"),
            ("spaniel canon --policy clara --explain https://example.com/a", "each step, before and after"),
        ],
    )
    p.add_argument(
        "urls", nargs="*", type=typed, metavar="URL", help="URLs; '-' reads a list of them from standard input"
    )
    p.add_argument(
        "--policy", default="exact", metavar="FILE", help="exact (the default), ingest, clara, curious, or a TOML file"
    )
    form = p.add_mutually_exclusive_group()
    for name, what in FORMATS.items():
        form.add_argument(f"--{name}", dest="form", action="store_const", const=name, help=what)
    p.add_argument("--explain", action="store_true", help="show each step: the URL before it and after it")
    p.add_argument("--diff", nargs=2, metavar=("A", "B"), help="show the URLs that two policies treat differently")
    p.add_argument("--fail-fast", action="store_true", help="stop at the first URL that is refused")
    files = p.add_argument_group("files that a policy uses")
    files.add_argument("--overrides", metavar="FILE", help="an overrides file, for a policy that takes one")
    files.add_argument(
        "--allowlist", metavar="FILE", help="refuse URLs that are not on this list of hosts, or redirect away from it"
    )
    files.add_argument("--learnt", metavar="FILE", help="use what was learned about hosts; with --online, add to it")
    web = p.add_argument_group("online")
    web.add_argument("--online", action="store_true", help="let the rules of the policy use the web (clara has some)")
    web.add_argument("--refresh", action="store_true", help="with --online: check again what was learned before")
    web.add_argument(
        "-j",
        "--jobs",
        type=int,
        default=CANON_JOBS,
        metavar="N",
        help=f"with --online: URLs at once (default: {CANON_JOBS})",
    )
    web.add_argument(
        "--timeout", type=int, metavar="N",
        help=f"with --online: seconds for one URL (default: {TIMEOUT_SECONDS.default})",
    )  # fmt: skip
    add_list_options(p.add_argument_group("a list on standard input"))
    add_config_option(p)
    add_log_options(p)
    return p


FORMATS = {
    "json": "print JSON: indented for one URL, else one object per line",
    "jsonl": "print one JSON object per line",
    "table": "print a table",
}


def main(args: argparse.Namespace) -> int:
    if not args.urls:
        if sys.stdin is None or sys.stdin.isatty():
            raise SpanielError(Code.BAD_ARGS, field="URL", reason="give URLs, or '-' to read them from standard input")
        args.urls = ["-"]
    _check(args)
    if args.diff:
        old, new = (_policy(name, args.overrides) for name in args.diff)
        return _show_differences(old, new, args)
    policy = _policy(args.policy, args.overrides)
    if args.online:
        return _canonicalize_online(policy, args)
    return _canonicalize(policy, args)


def _check(args: argparse.Namespace) -> None:
    if args.refresh and not args.online:
        raise SpanielError(Code.BAD_ARGS, field="--refresh", reason="requires --online")
    if args.diff and (args.online or args.allowlist or args.learnt):
        raise SpanielError(Code.BAD_ARGS, field="--diff", reason="compares policies offline, without other files")
    if args.jobs < 1:
        raise SpanielError(Code.BAD_ARGS, field="--jobs", reason="must be 1 or more")


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
    return refused[0] if len(args.urls) == 1 and args.urls != ["-"] else SOME_REFUSED


def _accepted(policy: Policy, args: argparse.Namespace, urls: Inputs, refused: list[int]) -> Iterator[Canonical]:
    """The canonical URLs, in order; the refused are reported, and the first one's exit code remembered."""
    apply = _with_files(policy, args) or (policy.explain if args.explain else policy.apply)
    for place, raw in urls:
        try:
            yield apply(raw)
        except SpanielError as error:
            sys.stdout.flush()
            report(error, place)
            if not refused:
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
    import json

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
            sys.stdout.write(json.dumps({"original": written, "before": before, "after": after}) + "\n")
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

    configure_logs(args)

    async def go() -> int:
        async with Spaniel(settings_from(args)) as client:
            return await run_online(policy, args, client)

    return run_async(go())


async def run_online(policy: Policy, args: argparse.Namespace, client: Spaniel) -> int:
    """Ask and print; apart from `_canonicalize_online`, so that it can be tried with a client of one's own."""
    from spaniel.cli.places import Places, host_in
    from spaniel.online.canonicalizer import CanonicalResult
    from spaniel.sources.rows import Problems

    canonicalizer = client.canonicalizer(policy, allowlist=args.allowlist, learnt=args.learnt, refresh=args.refresh)
    places = Places(args.jobs, FETCH_PER_HOST)
    several = args.urls == ["-"] or len(args.urls) > 1
    total = None if "-" in args.urls else len(args.urls)
    run_online = LongRun("URLs", total=total, quiet=args.quiet, several=several)
    printed = _Printed(args)

    async def work(asked: Asked) -> tuple[Asked, CanonicalResult]:
        if printed.stopped:
            return asked, CanonicalResult(asked.url, None, None)
        found = await canonicalizer.find(asked.url)
        if found.error is not None:
            run_online.fail(str(found.error.code))
        return asked, found

    problems = Problems()
    try:
        asked = incoming(args.urls, client.settings, list_options(args), problems, may_be_empty=True)
        await run_online.in_order(asked, work, printed.take, lambda asked: places.at(host_in(asked.url)))
    finally:
        canonicalizer.learnt.save()
    printed.end()
    report_problems(problems)
    if several and not printed.stopped:
        run_online.say(run_online.summary("looked up"))
    return run_online.exit_code or printed.code() or (SOME_LOST if problems.lost else 0)


class _Printed:
    """The results as they arrive; a table waits for its last row."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._write = _writer_for(args)
        self._rows: list[Canonical] = []
        self._codes: list[int] = []
        self.stopped = False

    def take(self, done: tuple[Asked, CanonicalResult]) -> None:
        asked, found = done
        if self.stopped:
            return
        if found.error is not None:
            sys.stdout.flush()
            report(found.error, f"{asked.where}: " if asked.where else "")
            self._codes.append(found.error.row.exit)
            self.stopped = self._args.fail_fast
        elif found.canonical is not None and self._args.form == "table":
            self._rows.append(found.canonical)
        elif found.canonical is not None:
            self._write(iter([found.canonical]), self._args.explain)
            sys.stdout.flush()

    def end(self) -> None:
        if self._args.form == "table":
            self._write(iter(self._rows), self._args.explain)

    def code(self) -> int:
        """As offline: a single URL's own exit code, else whether some were refused."""
        if not self._codes:
            return 0
        single = len(self._args.urls) == 1 and self._args.urls != ["-"]
        return self._codes[0] if single else SOME_REFUSED


def _writer_for(args: argparse.Namespace) -> Writer:
    """Prints results in the requested format."""
    writers: dict[str | None, Writer] = {
        None: write_steps if args.explain else _write_lines,
        "json": _write_json_lines if len(args.urls) > 1 or "-" in args.urls else _write_json,
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
    """One step, with the questions it asked the web, if any."""
    told = step._replace(before=echoed(step.before), after=echoed(step.after))._asdict()
    asked = told.pop("asked")
    return {**told, "asked": [exchange._asdict() for exchange in asked]} if asked else told


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
