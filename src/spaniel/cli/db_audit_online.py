"""`spaniel db audit --online`: links are followed, and deeper ones looked for on the pages themselves."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spaniel.cli.long_run import LongRun, run_async
from spaniel.cli.options import settings_from
from spaniel.cli.places import Places, host_in
from spaniel.defaults import FETCH_PER_HOST
from spaniel.errors import SpanielError, shown
from spaniel.registry.audit import judged, refused

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator

    from spaniel.app.client import Spaniel
    from spaniel.online.canonicalizer import Canonicalizer
    from spaniel.registry.audit import AuditFinding, CitedLink
    from spaniel.url.policy import Policy

LONGEST_REASON = 200
# Flags that tell of a page that is not there, or was not asked to the end: it should be looked at, whatever its class
_TROUBLE = re.compile("no-answer|redirect-limit|status-[0-9]+|shortener-unresolved|asked-in-part")


def audit_online(
    args: argparse.Namespace, links: AsyncIterator[CitedLink], policy: Policy, learnt: str | None
) -> tuple[list[AuditFinding], int]:
    """What is to be said of each link, and an exit code if it was stopped before the last."""
    from spaniel.app.client import Spaniel

    async def go() -> tuple[list[AuditFinding], int]:
        async with Spaniel(settings_from(args)) as client:
            return await run(args, links, policy, learnt, client)

    return run_async(go())


async def run(
    args: argparse.Namespace, links: AsyncIterator[CitedLink], policy: Policy, learnt: str | None, client: Spaniel
) -> tuple[list[AuditFinding], int]:
    """Ask; apart from `audit_online`, so that it can be tried with a client of one's own."""
    canonicalizer = client.canonicalizer(policy, learnt=learnt, refresh=args.refresh)
    places = Places(args.jobs, FETCH_PER_HOST)
    long_run = LongRun("links", quiet=args.quiet)
    findings: list[AuditFinding] = []

    async def work(link: CitedLink) -> AuditFinding:
        return await look_at(link, policy, canonicalizer)

    try:
        await long_run.in_order(links, work, findings.append, lambda link: places.at(host_in(link.url)))
    finally:
        canonicalizer.learnt.save()
    return findings, long_run.exit_code


async def look_at(link: CitedLink, policy: Policy, canonicalizer: Canonicalizer) -> AuditFinding:
    """A link as the web has it. Whatever a site does is told in its row, and is no reason to stop."""
    try:
        found = await canonicalizer.canonicalize(link.url)
    except SpanielError as error:
        return refused(link, error)
    finding = judged(link, found, policy)
    trouble = [flag for flag in found.flags if _TROUBLE.fullmatch(flag)]
    if not finding.gap:
        return finding._replace(note="; ".join([*filter(None, [finding.note]), *(f"review: {f}" for f in trouble)]))
    said, deeper = await _propose(link, finding.canonical, canonicalizer)
    return finding._replace(note=f"{finding.note}; {said}", deeper=deeper)


async def _propose(link: CitedLink, page: str, canonicalizer: Canonicalizer) -> tuple[str, str]:
    """What came of looking for a deeper link, in words; and the link."""
    if not link.title:
        return "the record has no title to find a deeper link by (--title-field names one)", ""
    sought = await canonicalizer.seek_deeper(page, link.title)
    if sought.trouble:
        return f"the page could not be read: {shown(sought.trouble, LONGEST_REASON)}", ""
    if sought.link is None:
        return "no link on the page fits the title", ""
    words = shown(" ".join(sought.link.text.split()), LONGEST_REASON)
    return f"the page has '{words}'" if words else "the page has a link that fits the title", sought.link.url
