"""Every default that more than one place uses, with its bounds.

Settings, profiles, options, help texts and docs take the numbers from here; `app/keys.py` says which of them are
settings. A number that a single module uses stands in that module. tests/architecture/test_defaults.py fails when one
of these is written a second time.
"""

from __future__ import annotations

from typing import NamedTuple


class Number(NamedTuple):
    """A default with the smallest and the largest value that a user may set."""

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
        """Whether a value is in range; False for NaN."""
        return self.low <= value <= self.high


DAY_SECONDS, YEAR_SECONDS = 86_400, 365 * 86_400
MAX_BYTES = 100 << 20  # that a setting may allow for a page, a rendered page or an answer

# One fetch
USER_AGENT = "forge-webfetch/1.0"  # SRD 5.3
TIMEOUT_SECONDS = Number(20, 1, 300)
MAX_REDIRECTS = Number(5, 0, 20)  # of a page or a list (FR-WF-07, FG-23)
MAX_ROBOTS_REDIRECTS = 5  # of robots.txt (D2-06, RFC 9309 2.3.1.2)
MAX_LINK_REDIRECTS = 10  # of a checked link: long chains still get a verdict, and no body is read on the way
TOTAL_SECONDS = Number(0, 0, DAY_SECONDS)  # of a profile; 0: all its attempts share the timeout
MAX_WAIT_SECONDS = Number(60, 0, DAY_SECONDS)  # the longest single wait of a fetch: Retry-After, Crawl-delay, backoff
CHUNK_TOKENS = Number(600, 128, 2048)  # FR-WF-02a
DOWNLOAD_BYTES = Number(5 << 20, 1024, MAX_BYTES)
TEXT_BYTES = Number(0, 0, MAX_BYTES)  # plain text is truncated after this many bytes; 0: no limit
AT_ONE_HOST = 16  # requests per host, so that a few that never get a response do not use every slot
FETCH_JOBS = Number(8, 1, 64)  # concurrent pages of interactive commands
FETCH_PER_HOST = 2  # of these per host: a list often names a single site, which must not be overloaded
CANON_JOBS = 16  # concurrent URLs in `canon --online`
PORTS = (80, 443)

# Stored data
CACHE_TTL_DAYS = Number(7, 0, 36_500)
CACHE_ENTRIES = Number(10_000, 1, 100_000_000)
CACHE_BYTES = Number(1 << 30, 0, 1 << 62)  # 0: no limit
ROBOTS_CACHE_ENTRIES = Number(1024, 1, 1_000_000)
ROBOTS_CACHE_TTL_HOURS = Number(24, 0, 8_760)
QUEUE_ENTRIES = Number(10_000, 1, 1_000_000)
HTTP_ONLY_DAYS = 7  # a host without HTTPS is requested over HTTP for this long before HTTPS is tried again (CP-22)

# The browser
IDLE_MS = Number(20_000, 0, 300_000)
RENDERED_BYTES = Number(5 << 20, 1024, MAX_BYTES)
BLOCKED_RESOURCES = ("image", "font", "media")
WINDOW_WIDTH = Number(1280, 100, 4096)  # above 4096, Chromium's screenshots repeat parts or it runs out of memory
WINDOW_HEIGHT = Number(8000, 100, 16_384)  # tall, so that content below the fold is loaded without scrolling
SCROLLS = Number(0, 0, 100)
SHORT_PAGE_CHARS = Number(400, 0, 1_000_000)  # a page with less text may need the browser

# The tool
OUTPUT_BYTES = Number(65_536, 1024, MAX_BYTES)  # some 16,000 tokens of English
SCREENSHOT_HEIGHT = Number(8000, WINDOW_HEIGHT.low, WINDOW_HEIGHT.high)  # over MCP

# Checks of links
CHECK_JOBS = Number(32, 1, 512)
CHECK_PER_HOST = Number(1, 1, CHECK_JOBS.high)
CHECK_DELAY_MS = Number(500, 0, 600_000)
CHECK_TIMEOUT_SECONDS = Number(20, 1, 3_600)
CHECK_CONTENT_SECONDS = Number(600, 1, DAY_SECONDS)
CHECK_HOST_WAIT_SECONDS = Number(120, 0, DAY_SECONDS)

# Batches
BATCH_JOBS = Number(64, 1, 512)  # concurrent pages in each worker
BATCH_PER_HOST = Number(1, 1, 64)
BATCH_DELAY_SECONDS = Number(1, 0, 3_600)
BATCH_RETRY_AFTER_SECONDS = Number(600, 0, DAY_SECONDS)
BATCH_CRAWL_DELAY_SECONDS = Number(120, 0, DAY_SECONDS)
BATCH_HOST_SECONDS = Number(0, 0, YEAR_SECONDS)  # 0: no limit
BATCH_TOTAL_SECONDS = Number(0, 0, YEAR_SECONDS)  # 0: no limit

# The service; for one caller
SERVE_PORT = Number(8766, 0, 65_535)  # 0: a free one
SERVE_WORKERS = Number(1, 1, 64)
SERVE_PER_MINUTE = Number(600, 0, 1_000_000)  # 0: no limit
SERVE_CONCURRENT = Number(16, 1, 1_000)
SERVE_WAITING = Number(64, 0, 10_000)
SERVE_STREAMS = Number(64, 0, 10_000)
SERVE_JOBS = Number(8, 0, 1_000)
SERVE_BODY_BYTES = Number(10 << 20, 1024, MAX_BYTES)
SERVE_LIST_BYTES = Number(1 << 30, 1024, 1 << 40)
