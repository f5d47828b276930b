"""Puts the defaults of the code into the sentences of hand-written pages that state them; run by make.py."""

from __future__ import annotations

import re
import runpy
from functools import cache, partial
from pathlib import Path
from typing import Any

from spaniel import defaults
from spaniel.hosts.limits import FIRST_PAUSE, HostLimits
from spaniel.mcp.pipes import LONGEST as LONGEST_MESSAGE

HERE = Path(__file__).resolve().parent
PARTS: dict[str, Any] = runpy.run_path(str(HERE / "make_parts.py"))
STATED = {  # what stands in braces is a value; all else is as it is on the page, once
    "reference/mcp.md": (
        "the setting `default_max_chunk_tokens` ({CHUNK_TOKENS.default}) applies",
        "`available_capacity_bytes` (both\n{OUTPUT_BYTES.default:,}).",
        "a message over {message_mib} MiB is refused without being held; {mcp_calls} fetches are under way at once",
    ),
    "howto/browser.md": (
        "(fewer than `min_extracted_chars`, {SHORT_PAGE_CHARS.default})",
        "| `network_idle_ms` | {IDLE_MS.default} |",
        "| `max_rendered_dom_bytes` | {rendered_mib:g} MiB |",
        "| `viewport_width`, `viewport_height` | {WINDOW_WIDTH.default}, {WINDOW_HEIGHT.default} |",
        "| `scrolls` | {SCROLLS.default}; how often",
        "| `block_resources` | `[{blocked}]`; any",
        "A picture ends at {WINDOW_HEIGHT.high:,} pixels",
        "Over MCP it ends at\n{SCREENSHOT_HEIGHT.default:,} pixels (`spaniel.mcp.max_screenshot_height`)",
    ),
    "explanation/cache.md": (
        "`max_cache_entries` ({CACHE_ENTRIES.default:,}) and `max_cache_bytes` ({cache_gib:g} GiB, of",
    ),
    "howto/batch.md": (
        "| requests at once at one host | {BATCH_PER_HOST.default} | `--per-host N` |",
        "| pause between an answer of a host and the next request to it | {BATCH_DELAY_SECONDS.default} s | `--delay S` |",
        "A host that wants more than\n  {BATCH_CRAWL_DELAY_SECONDS.default} seconds is given up.",
        "Without it the pause is {first_pause:g} seconds and doubles",
        "A host that wants a wait of more than {BATCH_RETRY_AFTER_SECONDS.default} seconds is given up",
        "after {patience.failures} failures in a row the host gets no requests for {patience.pause:g} seconds",
        "`--jobs N` is the number of pages at once in each\n  (default: {BATCH_JOBS.default}).",
    ),
    "howto/canonical-links.md": ("`many` works on {CANON_JOBS} URLs at once",),
    "howto/ingest.md": ("A wait longer than `--max-wait` ({MAX_WAIT_SECONDS.default} seconds) is not waited",),
    "howto/check-links.md": ("with {check_delay:g} s between two.",),
    "howto/many-pages.md": (
        "how many pages are fetched at once: {FETCH_JOBS.default} by default, {FETCH_JOBS.range}. Never more than {FETCH_PER_HOST} at once from one host",
    ),
    "howto/queue.md": ("The queue holds {QUEUE_ENTRIES.default:,} pages",),
    "howto/troubleshooting.md": ("took longer than its limit: {TIMEOUT_SECONDS.default} seconds by default",),
    "howto/agent-loop.md": ("never longer than `ToolCtx.max_output_bytes` ({OUTPUT_BYTES.default:,})",),
}


@cache
def values() -> dict[str, Any]:
    from spaniel.mcp.server import MAX_CONCURRENT  # with the SDK, which takes most of a second to import

    return {
        **vars(defaults),
        "patience": HostLimits(),
        "first_pause": FIRST_PAUSE,
        "message_mib": LONGEST_MESSAGE >> 20,
        "mcp_calls": MAX_CONCURRENT,
        "check_delay": defaults.CHECK_DELAY_MS.default / 1000,
        "cache_gib": defaults.CACHE_BYTES.default / (1 << 30),
        "rendered_mib": defaults.RENDERED_BYTES.default / (1 << 20),
        "blocked": ", ".join(f'"{name}"' for name in defaults.BLOCKED_RESOURCES),
    }


def filled(name: str) -> str:
    """The page with the values that the code has today."""
    text = PARTS["filled"]((HERE / name).read_text(encoding="utf-8"))
    for sentence in STATED.get(name, ()):
        parts = re.split(r"\{[^{}]+\}", sentence)
        pattern = r"[^|\n]{1,80}?".join(map(re.escape, parts))
        if len(re.findall(pattern, text)) != 1:
            raise ValueError(f"{name} does not have this sentence once: {sentence}")
        stated = sentence.format_map(values()).replace("\\", r"\\")
        text = re.sub(pattern, stated, text)
    return text


PAGES = {name: partial(filled, name) for name in (*STATED, *PARTS["PAGES"])}
