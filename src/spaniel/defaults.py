"""Every default that more than one place uses, with its bounds.

Settings, profiles, options, help texts and docs take the numbers from here; `app/keys.py` says which of them are
settings. A number that a single module uses stands in that module. tests/architecture/test_defaults.py fails when one
of these is written a second time.
"""

from __future__ import annotations

from typing import NamedTuple


class Number(NamedTuple):
    """A default, and the least and the most that may be given in its place."""

    default: int
    low: int
    high: int

    @property
    def range(self) -> str:
        return f"{self.low} to {self.high}"

    @property
    def bounds(self) -> tuple[int, int]:
        return self.low, self.high

    def allows(self, value: float) -> bool:
        """Also false of what is not a number (NaN)."""
        return self.low <= value <= self.high


DAY_SECONDS, YEAR_SECONDS = 86_400, 365 * 86_400
MOST_BYTES = 100 << 20  # that a setting may allow for a page, a rendered page or an answer

# One fetch
USER_AGENT = "forge-webfetch/1.0"  # SRD 5.3
TIMEOUT_SECONDS = Number(20, 1, 300)
MAX_REDIRECTS = Number(5, 0, 20)  # of a page or a list (FR-WF-07, FG-23)
MAX_ROBOTS_REDIRECTS = 5  # of robots.txt (D2-06, RFC 9309 2.3.1.2)
MAX_LINK_REDIRECTS = 10  # of a link that is checked: a long chain is worth a verdict, and no page is read
TOTAL_SECONDS = Number(0, 0, DAY_SECONDS)  # of a profile; 0: all its attempts share the timeout
MAX_WAIT_SECONDS = Number(60, 0, DAY_SECONDS)  # the longest single wait of a fetch: Retry-After, Crawl-delay, backoff
CHUNK_TOKENS = Number(600, 128, 2048)  # FR-WF-02a
DOWNLOAD_BYTES = Number(5 << 20, 1024, MOST_BYTES)
TEXT_BYTES = Number(0, 0, MOST_BYTES)  # of a text, its beginning is taken; 0: all of it
AT_ONE_HOST = 16  # so that a few requests that are never answered do not take every place
FETCH_JOBS = Number(8, 1, 64)  # pages at once, of the commands that fetch pages while a person waits
FETCH_PER_HOST = 2  # of these: a list is often of one site, which should not feel it
CANON_JOBS = 16  # URLs at once whose canonical form is looked for online
PORTS = (80, 443)

# What is kept
CACHE_TTL_DAYS = Number(7, 0, 36_500)
CACHE_ENTRIES = Number(10_000, 1, 100_000_000)
CACHE_BYTES = Number(1 << 30, 0, 1 << 62)  # 0: no limit
ROBOTS_CACHE_ENTRIES = Number(1024, 1, 1_000_000)
ROBOTS_CACHE_TTL_HOURS = Number(24, 0, 8_760)
QUEUE_ENTRIES = Number(10_000, 1, 1_000_000)
HTTP_ONLY_DAYS = 7  # for which a host without HTTPS is asked over HTTP only (CP-22)

# The browser
IDLE_MS = Number(20_000, 0, 300_000)
RENDERED_BYTES = Number(5 << 20, 1024, MOST_BYTES)
BLOCKED_RESOURCES = ("image", "font", "media")
WINDOW_WIDTH = Number(1280, 100, 4096)  # beyond, Chromium repeats itself in a picture or runs out of memory
WINDOW_HEIGHT = Number(8000, 100, 16_384)  # tall: what a reader would scroll to is loaded from the start
SCROLLS = Number(0, 0, 100)
SHORT_PAGE_CHARS = Number(400, 0, 1_000_000)  # of a page that may need the browser

# The tool
OUTPUT_BYTES = Number(65_536, 1024, MOST_BYTES)  # some 16,000 tokens of English
SCREENSHOT_HEIGHT = Number(8000, WINDOW_HEIGHT.low, WINDOW_HEIGHT.high)  # over MCP

# Checks of links
CHECK_JOBS = Number(32, 1, 512)
CHECK_PER_HOST = Number(1, 1, CHECK_JOBS.high)
CHECK_DELAY_MS = Number(500, 0, 600_000)
CHECK_TIMEOUT_SECONDS = Number(20, 1, 3_600)
CHECK_CONTENT_SECONDS = Number(600, 1, DAY_SECONDS)
CHECK_HOST_WAIT_SECONDS = Number(120, 0, DAY_SECONDS)

# Batches
BATCH_JOBS = Number(64, 1, 512)  # pages at once in each worker
BATCH_PER_HOST = Number(1, 1, 64)
BATCH_DELAY_SECONDS = Number(1, 0, 3_600)
BATCH_RETRY_AFTER_SECONDS = Number(600, 0, DAY_SECONDS)
BATCH_CRAWL_DELAY_SECONDS = Number(120, 0, DAY_SECONDS)
BATCH_HOST_SECONDS = Number(0, 0, YEAR_SECONDS)  # 0: no limit
BATCH_TOTAL_SECONDS = Number(0, 0, YEAR_SECONDS)  # 0: no limit
