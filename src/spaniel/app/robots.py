"""Whether robots.txt allows a URL, which line decides, and what use the site allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.errors import SpanielError, shown
from spaniel.net.deadline import Deadline
from spaniel.net.http import RequestOptions
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.app.engine import Engine
    from spaniel.net.http import Page
    from spaniel.robots.rules import RobotsDecision
    from spaniel.url.value import Url


async def robots_facts(engine: Engine, address: str) -> dict[str, object]:
    """The answer of `spaniel may-i`, as fields."""
    url = parse(address)
    deadline = Deadline(engine.settings.limits.timeout_seconds)
    headers = engine.settings.headers
    target = await engine.guard.vet(url, deadline)
    decision = (await engine.robots.ask(url, target, deadline, headers)).decision
    page = None
    if decision is not None and decision.allowed:
        try:
            page = await engine.http.get(url, target, deadline, RequestOptions(headers, 0, cut=True))
        except SpanielError:
            page = None  # robots.txt decides; the page's own signals are extra
    return dict(_facts(url, decision, page))


def _facts(url: Url, decision: RobotsDecision | None, page: Page | None) -> Iterator[tuple[str, object]]:
    yield "url", url.href
    yield "robots_txt", f"{url.origin}/robots.txt"
    yield "allowed", decision is None or decision.allowed
    if decision is not None:
        yield "group", decision.group
        yield "line", decision.rule and decision.rule.line
        yield "rule", decision.rule and shown(decision.rule.text)
        if decision.crawl_delay is not None:
            yield "crawl_delay", decision.crawl_delay
        if decision.content_signal is not None:
            yield "content_signal", shown(decision.content_signal)
    if page is not None:
        for header in ("x-robots-tag", "content-signal"):
            if header in page.headers:
                yield header.replace("-", "_"), shown(page.headers[header])
