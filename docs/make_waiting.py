"""Writes reference/waiting.md: every limit on waiting, its value and where it is set, from the code that has it."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from spaniel.app.keys import BY_PATH
from spaniel.defaults import BATCH_DELAY_SECONDS, MAX_WAIT_SECONDS
from spaniel.hosts.limits import HostLimits
from spaniel.hosts.rules import HostRule
from spaniel.pipeline.profile import load

HEAD = """\
# Limits on waiting

<!-- Made from the code by `make docs`. -->

No site can hold up a run indefinitely. Each wait has a limit. What exceeds it ends with an error or a record that says so. "fixed" means
that no setting changes the limit.

A host that a batch gave up gets no more requests in that run. Its remaining pages get records with `error`, whose `details` have
`"cause": "host_given_up"` and `limit` with the name of the limit. To fetch them later, take their URLs from the output and start another
run.
"""


class Row(NamedTuple):
    what: str
    value: float
    where: str  # a setting, an option, a key of a profile, or "fixed"
    then: str
    constant: str = ""  # of a fixed limit: `net/http.py: ERROR_SECONDS`


def spelled(seconds: float) -> str:
    if not seconds:
        return "no limit"
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds:,g} s ({seconds / size:g} {unit})"
    return f"{seconds:,g} s"


def setting(path: str, what: str, then: str, option: str = "") -> Row:
    key = BY_PATH[path]
    value = key.default
    if not isinstance(value, int):
        raise TypeError(path)
    seconds = value / 1000 if key.name.endswith("_ms") else value * 3600 if key.name.endswith("_hours") else value
    return Row(what, seconds, f"`{path}`" + (f", `{option}`" if option else ""), then)


def fixed(module: str, name: str, what: str, then: str) -> Row:
    value = getattr(import_module(f"spaniel.{module}"), name)
    return Row(what, value, "fixed", then, f"{module.replace('.', '/')}.py: {name}")


def limit(name: str, what: str, then: str) -> Row:
    return Row(what, getattr(HostLimits(), name), "fixed", then, f"hosts/limits.py: {name}")


def one_fetch() -> list[Row]:
    ingest = load("ingest")
    retries = [fallback.options["after_seconds"] for fallback in ingest.fallbacks if fallback.name == "retry"]
    rows = [
        setting("tools.webfetch.timeout_seconds", "one fetch with the profile `web_fetch`", "`timeout`", "--timeout"),
        Row(
            "one attempt with the profile `ingest`",
            ingest.limits.timeout_seconds,
            "profile: `limits.timeout_seconds`, `--timeout`",
            "`timeout`; it is retried",
        ),
        Row(
            "a whole fetch with the profile `ingest`, retries included",
            ingest.limits.total_seconds,
            "profile: `limits.total_seconds`",
            "no further retries",
        ),
    ]
    for number, seconds in enumerate(retries, 1):
        rows.append(
            Row(
                f"before retry {number} of the profile `ingest` (up to a fifth more)",
                float(str(seconds)),
                "profile: `fallbacks`, `after_seconds`",
                "the page is requested again",
            )
        )
    rows += [
        fixed("pipeline.fallbacks", "LONGEST_BACKOFF", "longest `after_seconds` that a profile may have", "the profile is refused"),
        Row("`Retry-After` of a host, for one fetch", load("ingest").limits.max_wait_seconds, "profile: `limits.max_wait_seconds`, `--max-wait`", "no request; the error has `retry_after`"),
        Row("longest `--max-wait`", MAX_WAIT_SECONDS.high, "fixed", "`bad_args`", "defaults.py: MAX_WAIT_SECONDS"),
        fixed("hosts.retry_after", "LONGEST", "longest `Retry-After` that is remembered; `spaniel hosts` shows and forgets it", "the host gets requests again"),
        fixed("hosts.hosts", "LED_WAIT", "the same, where a redirect of another site led to this host", "the host gets requests again"),
        fixed("hosts.memory", "WEEK", "how long a host without HTTPS gets HTTP only", "HTTPS is tried again"),
        fixed("net.resolver", "SECONDS", "one lookup of a name", "`dns_failed`"),
        fixed("net.egress", "EACH_SECONDS", "a connection to one address of several", "the next address is tried"),
        fixed("net.http", "ERROR_SECONDS", "the text that comes with an error", "the error is reported without it"),
        fixed("robots.gate", "SECONDS", "one robots.txt", "`robots_unavailable`"),
        fixed("robots.gate", "FAILURE_SECONDS", "how long a robots.txt that could not be read is not requested again", "it is requested again"),
        setting("tools.webfetch.robots_cache_ttl_hours", "how long a robots.txt is kept", "it is requested again"),
        setting("tools.webfetch.browser.network_idle_ms", "for a page in the browser to finish loading", "it is read as it is"),
    ]  # fmt: skip
    return rows


def batch() -> list[Row]:
    return [
        Row("between an answer of a host and the next request to it", HostRule().delay, "`--delay`, `--hosts`", "the next request begins"),
        Row("longest `--delay`", BATCH_DELAY_SECONDS.high, "fixed", "`bad_args`", "defaults.py: BATCH_DELAY_SECONDS"),
        setting("spaniel.batch.max_retry_after_seconds", "`Retry-After` of a host (429, 503); a page is requested three times in all", "the host is given up"),
        setting("spaniel.batch.max_crawl_delay_seconds", "`Crawl-delay` of a robots.txt", "the host is given up"),
        setting("spaniel.batch.host_seconds", "for one host, from its first page on", "the host is given up", "--host-time"),
        setting("spaniel.batch.total_seconds", "for the whole run", "all remaining pages are given up", "--total-time"),
        fixed("hosts.limits", "FIRST_PAUSE", "the first pause of a host that answers 429 or 503 without `Retry-After`; it doubles", "the host gets requests again"),
        fixed("hosts.hosts", "LONGEST_PAUSE", "the longest such pause; after seven such answers in a row the host is given up", "the host gets requests again"),
        limit("pause", f"the pause of a host that gave no answer {HostLimits().failures} times in a row", "one more try, then it is given up"),
        fixed("hosts.scheduler", "LONGEST_TURN", "how long a page waits for its host in a worker", "it goes back to the queue of its host"),
        fixed("sources.walk", "SECONDS", "a list or sitemap that is fetched", "`timeout`"),
    ]  # fmt: skip


def check() -> list[Row]:
    return [
        setting("spaniel.health.delay_ms", "between two requests to one host", "the next request begins", "--delay"),
        setting("spaniel.health.timeout_seconds", "the answer of a link", "`unknown`", "--timeout"),
        setting("spaniel.health.content_seconds", "a link whose content is compared", "`unknown`"),
        setting(
            "spaniel.health.host_wait_seconds",
            "`Retry-After` of one host, in all; and its `Crawl-delay`",
            "its links are `rate-limited`",
        ),
        fixed(
            "health.requests",
            "RETRY_SECONDS",
            "before the one retry after a reset or a 5xx",
            "the link is requested again",
        ),
        Row("for the whole run", 0, "`--total-time`", "the remaining links are `unknown`"),
        fixed("health.run", "LAST_SECONDS", "for requests in flight when that time is over", "it is `unknown`"),
    ]


TABLES = {"One fetch": one_fetch, "A batch": batch, "A check": check}


def waiting_page() -> str:
    lines = [HEAD.rstrip()]
    for title, rows in TABLES.items():
        lines += [
            "",
            f"## {title}",
            "",
            "| wait | default | where it is set | what happens then |",
            "|---|---|---|---|",
        ]
        lines += [f"| {row.what} | {spelled(row.value)} | {row.where} | {row.then} |" for row in rows()]
    return "\n".join(lines) + "\n"


PAGES = {"reference/waiting.md": waiting_page}
