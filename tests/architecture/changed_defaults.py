"""Changes every default of spaniel/defaults.py before anything else is imported, and prints what did not follow.

It runs in a process of its own: `python changed_defaults.py [settings parts …]`. Each line that it prints is a place
that has a value of its own.
"""

from __future__ import annotations

import inspect
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spaniel import defaults
from spaniel.defaults import Number

DOCS = Path(__file__).resolve().parents[2] / "docs"
SETTINGS = {  # the default of each setting that is a number
    "tools.webfetch.timeout_seconds": "TIMEOUT_SECONDS",
    "tools.webfetch.default_max_chunk_tokens": "CHUNK_TOKENS",
    "tools.webfetch.cache_ttl_days": "CACHE_TTL_DAYS",
    "tools.webfetch.max_cache_entries": "CACHE_ENTRIES",
    "tools.webfetch.max_cache_bytes": "CACHE_BYTES",
    "tools.webfetch.max_download_bytes": "DOWNLOAD_BYTES",
    "tools.webfetch.robots_cache_entries": "ROBOTS_CACHE_ENTRIES",
    "tools.webfetch.robots_cache_ttl_hours": "ROBOTS_CACHE_TTL_HOURS",
    "tools.webfetch.browser.network_idle_ms": "IDLE_MS",
    "tools.webfetch.browser.max_rendered_dom_bytes": "RENDERED_BYTES",
    "tools.webfetch.browser.viewport_width": "WINDOW_WIDTH",
    "tools.webfetch.browser.viewport_height": "WINDOW_HEIGHT",
    "tools.webfetch.browser.scrolls": "SCROLLS",
    "tools.webfetch.rendering.min_extracted_chars": "SHORT_PAGE_CHARS",
    "spaniel.mcp.max_output_bytes": "OUTPUT_BYTES",
    "spaniel.mcp.max_screenshot_height": "SCREENSHOT_HEIGHT",
    "spaniel.health.jobs": "CHECK_JOBS",
    "spaniel.health.per_host": "CHECK_PER_HOST",
    "spaniel.health.delay_ms": "CHECK_DELAY_MS",
    "spaniel.health.timeout_seconds": "CHECK_TIMEOUT_SECONDS",
    "spaniel.health.content_seconds": "CHECK_CONTENT_SECONDS",
    "spaniel.health.host_wait_seconds": "CHECK_HOST_WAIT_SECONDS",
    "spaniel.batch.max_retry_after_seconds": "BATCH_RETRY_AFTER_SECONDS",
    "spaniel.batch.max_crawl_delay_seconds": "BATCH_CRAWL_DELAY_SECONDS",
    "spaniel.batch.host_seconds": "BATCH_HOST_SECONDS",
    "spaniel.batch.total_seconds": "BATCH_TOTAL_SECONDS",
    "spaniel.queue.max_entries": "QUEUE_ENTRIES",
    "spaniel.serve.requests_per_minute": "SERVE_PER_MINUTE",
    "spaniel.serve.concurrent": "SERVE_CONCURRENT",
    "spaniel.serve.waiting": "SERVE_WAITING",
    "spaniel.serve.streams": "SERVE_STREAMS",
    "spaniel.serve.jobs": "SERVE_JOBS",
    "spaniel.serve.max_body_bytes": "SERVE_BODY_BYTES",
    "spaniel.serve.max_list_bytes": "SERVE_LIST_BYTES",
}
REDIRECTS = "tools.webfetch.max_redirects"


def change() -> None:
    """Another value for each, which no other has: in help and docs, a number must be recognized by itself."""
    for place, (name, value) in enumerate(sorted(vars(defaults).items())):
        if isinstance(value, Number):
            other = Number(value.default + 101 + place, value.low + 1, value.high + 1001 + place)
            setattr(defaults, name, other)
    for name in ("AT_ONE_HOST", "FETCH_PER_HOST", "CANON_JOBS", "HTTP_ONLY_DAYS"):
        setattr(defaults, name, getattr(defaults, name) + 3)
    for name, value in (("USER_AGENT", "another/9"), ("PORTS", (81, 444)), ("BLOCKED_RESOURCES", ("script",))):
        setattr(defaults, name, value)


def number(name: str) -> Number:
    found = getattr(defaults, name)
    assert isinstance(found, Number)
    return found


Place = tuple[str, object, object]  # where, what is there, what should be


def settings() -> Iterator[Place]:
    from spaniel.app.keys import BY_PATH, KEYS, sample
    from spaniel.app.settings import Settings

    named = {key.path for key in KEYS if isinstance(key.default, int) and not isinstance(key.default, bool)}
    yield "settings that are numbers", sorted(named), sorted({*SETTINGS, REDIRECTS})
    given = Settings()
    for path, name in SETTINGS.items():
        key, wanted = BY_PATH[path], number(name)
        yield path, (key.default, key.low, key.high, given[path]), (*wanted, wanted.default)
        yield f"sample: {path}", f"# {key.name} = {wanted.default}  # " in sample(), True
    yield "user agent", given.headers.user_agent, defaults.USER_AGENT
    yield "ports", given.security.allowed_ports, defaults.PORTS
    yield "resources", given.browser.block_resources, defaults.BLOCKED_RESOURCES
    yield "cache", given.cache[1:4], tuple(number(f"CACHE_{name}").default for name in ("TTL_DAYS", "ENTRIES", "BYTES"))


def parts() -> Iterator[Place]:
    """What acts on a default where nothing is set: each part by itself."""
    from spaniel.app.batching import batch
    from spaniel.batch.supervisor import Pace
    from spaniel.browser.page_reader import TALLEST, WIDEST
    from spaniel.browser.rendering import BrowserSettings, RenderOptions, RenderRequest
    from spaniel.cache import CacheSettings
    from spaniel.chunking import chunk
    from spaniel.health.hops import LinkOptions
    from spaniel.health.run import RunOptions
    from spaniel.hosts import Politeness
    from spaniel.hosts.limits import HostLimits
    from spaniel.hosts.memory import WEEK
    from spaniel.hosts.rules import HostRule
    from spaniel.net.guard import Security
    from spaniel.net.http import RequestHeaders, RequestOptions
    from spaniel.online.canonicalizer import Canonicalizer
    from spaniel.queue import QueueSettings
    from spaniel.robots.gate import RobotsSettings
    from spaniel.tool.framework import ToolCtx

    def default(name: str) -> int:
        return number(name).default

    yield "RequestOptions", RequestOptions().max_bytes, default("DOWNLOAD_BYTES")
    yield "RequestHeaders", RequestHeaders().user_agent, defaults.USER_AGENT
    yield "Security", Security().allowed_ports, defaults.PORTS
    yield (
        "CacheSettings",
        CacheSettings("x")[1:4],
        tuple(map(default, ("CACHE_TTL_DAYS", "CACHE_ENTRIES", "CACHE_BYTES"))),
    )
    yield (
        "RobotsSettings",
        RobotsSettings()[1:],
        tuple(map(default, ("ROBOTS_CACHE_ENTRIES", "ROBOTS_CACHE_TTL_HOURS"))),
    )
    yield "QueueSettings", QueueSettings("x").max_entries, default("QUEUE_ENTRIES")
    yield (
        "Politeness",
        (Politeness().at_once, Politeness().longest_wait),
        (defaults.AT_ONE_HOST, default("MAX_WAIT_SECONDS")),
    )
    yield "WEEK", WEEK, defaults.HTTP_ONLY_DAYS * 86_400
    shown = default("WINDOW_WIDTH"), default("WINDOW_HEIGHT"), default("IDLE_MS")
    yield "RenderOptions", (*RenderOptions()[:3], RenderOptions().scrolls), (*shown, default("SCROLLS"))
    yield "BrowserSettings", BrowserSettings().display, RenderOptions()
    yield "rendered bytes", BrowserSettings().max_rendered_dom_bytes, default("RENDERED_BYTES")
    yield "RenderRequest", RenderRequest._field_defaults["timeout_seconds"], default("TIMEOUT_SECONDS")
    yield "pictures", (TALLEST, WIDEST), (number("WINDOW_HEIGHT").high, number("WINDOW_WIDTH").high)
    yield "chunk", inspect.signature(chunk).parameters["max_tokens"].default, default("CHUNK_TOKENS")
    yield "ToolCtx", (ToolCtx().max_output_bytes, ToolCtx().available_capacity_bytes), (default("OUTPUT_BYTES"),) * 2
    yield "RunOptions", RunOptions().content_seconds, default("CHECK_CONTENT_SECONDS")
    yield (
        "LinkOptions",
        (LinkOptions().seconds, LinkOptions().content_seconds),
        tuple(map(default, ("CHECK_TIMEOUT_SECONDS", "CHECK_CONTENT_SECONDS"))),
    )
    yield "Rule", tuple(HostRule()), (default("BATCH_PER_HOST"), default("BATCH_DELAY_SECONDS"))
    waits = ("RETRY_AFTER_SECONDS", "CRAWL_DELAY_SECONDS", "HOST_SECONDS", "TOTAL_SECONDS")
    yield "Limits", HostLimits()[2:6], tuple(default(f"BATCH_{name}") for name in waits)
    yield "Pace", Pace().jobs, default("BATCH_JOBS")
    taken = inspect.signature(batch).parameters
    yield (
        "batch()",
        tuple(taken[name].default for name in ("jobs", "per_host", "delay")),
        tuple(map(default, ("BATCH_JOBS", "BATCH_PER_HOST", "BATCH_DELAY_SECONDS"))),
    )
    yield "many()", inspect.signature(Canonicalizer.many).parameters["at_once"].default, defaults.CANON_JOBS


def profiles() -> Iterator[Place]:
    from spaniel.pipeline.profile import FetchLimits, load

    web_fetch, wanted = load("web_fetch"), (
        number("TIMEOUT_SECONDS").default,
        number("TOTAL_SECONDS").default,
        number("CHUNK_TOKENS").default,
        number("MAX_WAIT_SECONDS").default,
        number("TEXT_BYTES").default,
    )  # fmt: skip
    yield "Limits", tuple(FetchLimits()), wanted
    yield "web_fetch", tuple(web_fetch.limits), wanted
    yield "web_fetch", web_fetch.way.options.max_bytes, number("DOWNLOAD_BYTES").default
    yield "web_fetch", web_fetch.way.options.headers.user_agent, defaults.USER_AGENT
    yield "web_fetch", web_fetch.way.politeness.at_once, defaults.AT_ONE_HOST
    yield "ingest", load("ingest").limits.max_wait_seconds, number("MAX_WAIT_SECONDS").default


def bounds() -> Iterator[Place]:
    """What is refused, and what a model reads of it."""
    from spaniel.chunking import chunk
    from spaniel.errors import SpanielError
    from spaniel.pipeline.request import SCHEMA, Request, checked, read_request
    from spaniel.tool.web_fetch_more import SCHEMA as MORE_SCHEMA

    tokens, wait = number("CHUNK_TOKENS"), number("MAX_WAIT_SECONDS")
    schemas: tuple[Any, ...] = (MORE_SCHEMA, SCHEMA)
    for schema in schemas:
        taken = schema["properties"]["max_chunk_tokens"]
        yield "schema", (taken["minimum"], taken["maximum"]), tokens.bounds
    for value, is_right in ((tokens.low - 1, False), (tokens.low, True), (tokens.high, True), (tokens.high + 1, False)):
        for what in (
            lambda value=value: chunk("text", value),
            lambda value=value: checked(Request("http://e.x/", value)),
            lambda value=value: read_request({"url": "http://e.x/", "max_chunk_tokens": value}),
        ):
            try:
                what()
                yield f"{value} tokens", True, is_right
            except SpanielError:
                yield f"{value} tokens", False, is_right
    try:
        checked(Request("http://e.x/", max_wait=wait.high + 1))
        yield "max_wait", "taken", "refused"
    except SpanielError as error:
        yield "max_wait", error.details["reason"], f"must be {wait.range} seconds"


def commands() -> Iterator[Place]:
    """What options are without being given, and what `--help` says of them."""
    from spaniel.cli import batch, canon, check, chunk, db, fetch

    def has(name: str, text: str, *wanted: object) -> Iterator[Place]:
        for one in wanted:
            yield f"{name} --help: {one}", str(one) in text, True

    tokens, jobs, batches, wait = map(number, ("CHUNK_TOKENS", "FETCH_JOBS", "BATCH_JOBS", "MAX_WAIT_SECONDS"))
    delay, per_host = number("BATCH_DELAY_SECONDS").default, number("BATCH_PER_HOST").default
    window = f"{number('WINDOW_WIDTH').default}x{number('WINDOW_HEIGHT').default}"
    args = fetch.parser().parse_args(["u"])
    yield "fetch", args.jobs, jobs.default
    said = _help(fetch.parser())
    yield from has("fetch", said, jobs.range, jobs.default, tokens.range, window, f"{wait.default}s")
    yield from has("fetch", said, number("TIMEOUT_SECONDS").range)
    yield "chunk", chunk.parser().parse_args(["f"]).max_tokens, tokens.default
    yield from has("chunk", _help(chunk.parser()), tokens.range, tokens.default)
    args = batch.parser().parse_args(["l"])
    yield "batch", (args.jobs, args.per_host, args.delay), (batches.default, per_host, delay)
    yield from has("batch", _help(batch.parser()), batches.range, batches.default, per_host, delay)
    yield from has("check", _help(check.parser()), number("CHECK_JOBS").range, number("CHECK_PER_HOST").default)
    yield "canon", canon.parser().parse_args(["u"]).jobs, defaults.CANON_JOBS
    yield from has("canon", _help(canon.parser()), defaults.CANON_JOBS, number("TIMEOUT_SECONDS").default)
    yield "db add", db.parser().parse_args(["add", "http://e.x/"]).jobs, jobs.default


def _help(parser: Any) -> str:
    return " ".join(parser.format_help().split())


def pages() -> Iterator[Place]:
    """The docs that are made from the code."""
    made = runpy.run_path(str(DOCS / "make.py"))["PAGES"]
    table, waiting = made["reference/settings.md"](), made["reference/waiting.md"]()
    for path, name in SETTINGS.items():
        wanted = number(name)
        row = f"| `{path.rpartition('.')[2]}` | `{wanted.default}` | {wanted.range} |"
        yield f"settings.md: {path}", row in table, True
        if path.endswith("_seconds"):
            lines = [line for line in waiting.split("\n") if f"`{path}`" in line]
            value = f"| {wanted.default:,g} s" if wanted.default else "| no limit"
            yield f"waiting.md: {path}", any(value in line for line in lines), True
    yield "settings.md: user agent", f"`{defaults.USER_AGENT}`" in table, True
    values = runpy.run_path(str(DOCS / "make_values.py"))
    for name, sentences in values["STATED"].items():
        text = made[name]()
        for sentence in sentences:
            yield f"{name}: {sentence}", sentence.format_map({**values["values"](), **vars(defaults)}) in text, True


LOOKS = {look.__name__: look for look in (settings, parts, profiles, bounds, commands, pages)}


def main() -> None:
    change()
    places = [place for name in sys.argv[1:] or LOOKS for place in LOOKS[name]()]
    for where, found, wanted in places:
        if found != wanted:
            print(f"{where}: {found!r} instead of {wanted!r}")
    print(f"{len(places)} places", file=sys.stderr)


if __name__ == "__main__":
    main()
