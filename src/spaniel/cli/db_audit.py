"""`spaniel db audit`: classify the links that data files cite, and list those without a specific page."""

from __future__ import annotations

import re
import sys
from collections import Counter
from contextlib import suppress

from spaniel.app.sources import in_lots, read_lists
from spaniel.cli.db import SOME_FAILED, Failures, opened
from spaniel.cli.inputs import list_options, report_problems
from spaniel.cli.long_run import LongRun, counted, run_async, say
from spaniel.cli.options import configure_logs, require, settings_from
from spaniel.cli.output import print_array, write_csv
from spaniel.cli.places import Places, host_in
from spaniel.defaults import FETCH_PER_HOST
from spaniel.errors import SpanielError, shown
from spaniel.registry.audit import judged, refused
from spaniel.sources.json_values import urls_of
from spaniel.sources.rows import Problems

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator

    from spaniel.app.client import Spaniel
    from spaniel.online.canonicalizer import Canonicalizer
    from spaniel.registry.audit import AuditFinding, CitedLink, FieldNames
    from spaniel.registry.database import Registry
    from spaniel.sources.rows import SourceItem
    from spaniel.url.policy import Policy


FIELDS = ("fuente_url", "url")
HEADER = ("file", "where", "url", "canonical", "class", "gap", "note", "deeper")


def run_audit(args: argparse.Namespace) -> int:
    configure_logs(args)
    require(args, "--online", "--refresh")
    failed = Failures(several=True)
    registry = None if args.files else opened(args)
    problems = Problems()
    links, policy = _cited(args, registry, failed, problems), _policy(args, registry)
    counts = AuditCounts()
    if args.online:
        learnt = args.learnt or (registry.rules.learnt_file() if registry else None)
        findings, stopped = audit_online(args, links, policy, learnt)
        WRITERS[args.format](counts.listed(findings, everything=args.all))
    else:
        stopped = 0
        WRITERS[args.format](counts.listed(_offline(in_lots(links), policy, args, registry), everything=args.all))
    sys.stdout.flush()
    report_problems(problems)
    if not args.quiet:
        say(f"{counts.summary()}{'; stopped: the rest was not checked' if stopped else ''}")
    nothing_found = bool(args.files) and not counts.classes  # a misspelt field is not data without problems
    if nothing_found and not failed.count and not problems.lost and not stopped:
        fields = " or ".join(f"'{name}'" for name in args.field or FIELDS)
        say(f"no link found in the field {shown(fields)}; choose another with --field")
    return stopped or (
        SOME_FAILED if failed.count or problems.lost or (args.strict and (counts.gaps or nothing_found)) else 0
    )


def _policy(args: argparse.Namespace, registry: Registry | None) -> Policy:
    """The policy with the allowlist that is named, or that the database has."""
    from spaniel.url.allowlist import load as load_allowlist
    from spaniel.url.policy import load

    policy = load(args.policy)
    if args.allowlist:
        return policy.with_allowlist(load_allowlist(args.allowlist))
    own = registry.rules.allowlist if registry else None
    return policy if own is None else policy.with_allowlist(own)


def _offline(
    links: Iterator[CitedLink], policy: Policy, args: argparse.Namespace, registry: Registry | None
) -> Iterator[AuditFinding]:
    from spaniel.learnt import Learnt
    from spaniel.registry.audit import audit

    file = args.learnt or (registry.rules.learnt_file() if registry else "")
    if not file and not args.allowlist:
        return audit(links, policy)
    return audit(links, policy, (Learnt.load(file) if file else Learnt()).web())


class AuditCounts:
    """What was found, counted while it is listed."""

    def __init__(self) -> None:
        self.classes: Counter[str] = Counter()
        self.gaps = self.reviews = self.proposed = 0

    def listed(self, findings: Iterable[AuditFinding], *, everything: bool) -> Iterator[AuditFinding]:
        for finding in findings:
            self.classes[finding.link_class] += 1
            self.gaps += finding.gap
            self.reviews += not finding.gap and bool(finding.note)
            self.proposed += bool(finding.deeper)
            if everything or not finding.is_fine:
                yield finding

    def summary(self) -> str:
        classes = ", ".join(f"{count:,} {name}" for name, count in sorted(self.classes.items()))
        links = f"{counted(self.classes.total(), 'link')}{f' ({classes})' if classes else ''}"
        proposed = f", with a deeper link proposed: {self.proposed:,}" if self.proposed else ""
        return f"{links}; gaps: {self.gaps:,}{proposed}; to review: {self.reviews:,}"


async def _cited(
    args: argparse.Namespace, registry: Registry | None, failed: Failures, problems: Problems
) -> AsyncGenerator[CitedLink, None]:
    from spaniel.registry.audit import NOTHING, CitedLink, cited, field_names

    names = field_names(tuple(args.title_field))
    if registry is not None:
        for record in registry.records(refused=failed):
            if not record.is_deprecated:
                yield CitedLink(record.file, f"line {record.line}", record.url, *names.about(record.keys, NOTHING))
        return
    options, settings = list_options(args, whole_records=True), settings_from(args)
    fields = (args.column,) if args.column is not None else tuple(args.field)
    for name in args.files:
        try:
            async for item in read_lists([name], options, problems, settings):
                if item.raw_url:
                    facts = names.about(item.columns, NOTHING)
                    yield CitedLink(item.source, item.where, item.raw_url, *facts)
                    continue
                found = list(cited(item.source, item.where, item.record, fields or FIELDS, names))
                for link in found or _usual(item, fields, names):
                    yield link
        except SpanielError as error:
            failed(error)


def _usual(item: SourceItem, fields: tuple[str, ...], names: FieldNames) -> Iterator[CitedLink]:
    """The link of a record in any list; a named field is searched nowhere else."""
    from spaniel.registry.audit import NOTHING, CitedLink

    if not fields and isinstance(item.record, dict):
        about = names.about(item.record, NOTHING)
        with suppress(ValueError):  # it has none
            for url, _ in urls_of(item.record):
                yield CitedLink(item.source, item.where, url, *about)


def _row(finding: AuditFinding) -> tuple[str, ...]:
    return (*finding[:5], "yes" if finding.gap else "", *finding[6:])


def _as_table(findings: Iterable[AuditFinding]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows = list(findings)
    proposed = any(finding.deeper for finding in rows)  # a column that would stay empty makes the others narrow
    grid = Table("link", "class", "gap", "note", *(("deeper",) if proposed else ()), "where")
    for finding in rows:
        where = f"{finding.file}: {finding.where}"
        link, gap = finding.canonical or finding.url, "gap" if finding.gap else ""
        deeper = (finding.deeper,) if proposed else ()
        cells = (link, finding.link_class, gap, finding.note, *deeper, where)
        grid.add_row(*(Text(shown(cell, 8192), overflow="fold") for cell in cells))
    if grid.row_count:
        Console().print(grid)


def _as_json(findings: Iterable[AuditFinding]) -> None:
    print_array(dict(zip(HEADER, finding, strict=True)) for finding in findings)


def _as_csv(findings: Iterable[AuditFinding]) -> None:
    write_csv(sys.stdout, HEADER, (dict(zip(HEADER, _row(finding), strict=True)) for finding in findings))


def _as_markdown(findings: Iterable[AuditFinding]) -> None:
    print(f"| {' | '.join(HEADER)} |\n|{'---|' * len(HEADER)}")
    for finding in findings:
        print("| " + " | ".join(_cell(text) for text in _row(finding)) + " |")


def _cell(text: str) -> str:
    """Text that stays in its cell, and text: no link, no markup."""
    plain = shown(text, 8192)
    return "".join(f"\\{sign}" if sign in "\\|`*_[]<>" else sign for sign in plain)


WRITERS: dict[str, Callable[[Iterable[AuditFinding]], None]] = {
    "table": _as_table,
    "json": _as_json,
    "csv": _as_csv,
    "markdown": _as_markdown,
}


LONGEST_REASON = 200
# Flags of a page that is missing, or was not fully checked: a person should look at it, whatever its class
_TROUBLE = re.compile("no-answer|redirect-limit|status-[0-9]+|shortener-unresolved|asked-in-part")


def audit_online(
    args: argparse.Namespace, links: AsyncIterator[CitedLink], policy: Policy, learnt: str | None
) -> tuple[list[AuditFinding], int]:
    """The finding for each link, and the exit code of the signal that stopped it, or 0."""
    from spaniel.app.client import Spaniel

    async def go() -> tuple[list[AuditFinding], int]:
        async with Spaniel(settings_from(args)) as client:
            return await run_online(args, links, policy, learnt, client)

    return run_async(go())


async def run_online(
    args: argparse.Namespace, links: AsyncIterator[CitedLink], policy: Policy, learnt: str | None, client: Spaniel
) -> tuple[list[AuditFinding], int]:
    """As `audit_online`, with a client that a test may replace."""
    canonicalizer = client.canonicalizer(policy, learnt=learnt, refresh=args.refresh)
    slots = Places(args.jobs, FETCH_PER_HOST)
    long_run = LongRun("link", quiet=args.quiet)
    findings: list[AuditFinding] = []

    async def work(link: CitedLink) -> AuditFinding:
        return await judge_online(link, policy, canonicalizer)

    try:
        await long_run.in_order(links, work, findings.append, lambda link: slots.at(host_in(link.url)))
    finally:
        canonicalizer.learnt.save()
    return findings, long_run.exit_code


async def judge_online(link: CitedLink, policy: Policy, canonicalizer: Canonicalizer) -> AuditFinding:
    """Judge a link as it is on the web. A site's failure is shown in its row and does not stop the run."""
    try:
        found = await canonicalizer.canonicalize(link.url)
    except SpanielError as error:
        return refused(link, error)
    finding = judged(link, found, policy)
    trouble = [flag for flag in found.flags if _TROUBLE.fullmatch(flag)]
    if not finding.gap:
        return finding._replace(note="; ".join([*filter(None, [finding.note]), *(f"review: {f}" for f in trouble)]))
    note, deeper = await _propose(link, finding.canonical, canonicalizer)
    return finding._replace(note=f"{finding.note}; {note}", deeper=deeper)


async def _propose(link: CitedLink, page: str, canonicalizer: Canonicalizer) -> tuple[str, str]:
    """A note on the search for a deeper link, and the link."""
    if not link.title:
        return "the record has no title to find a deeper link by (--title-field names one)", ""
    sought = await canonicalizer.seek_deeper(page, link.title)
    if sought.trouble:
        return f"the page could not be read: {shown(sought.trouble, LONGEST_REASON)}", ""
    if sought.link is None:
        return "no link on the page fits the title", ""
    words = shown(" ".join(sought.link.text.split()), LONGEST_REASON)
    return f"the page contains '{words}'" if words else "the page has a link that fits the title", sought.link.url
