"""The rungs by their names, as a profile's ladder lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.browser.rendered import PARTIAL
from spaniel.pipeline.rungs.archive import ARCHIVE, FROM_ARCHIVE
from spaniel.pipeline.rungs.browser import BROWSER, FAILED, UNAVAILABLE
from spaniel.pipeline.rungs.copies import FROM_MIRROR, FROM_SEARCH_CACHE, MIRRORS, SEARCH_CACHE
from spaniel.pipeline.rungs.queued import QUEUE
from spaniel.pipeline.rungs.site import HTTP, PLAIN_HTTP, RETRY

if TYPE_CHECKING:
    from spaniel.pipeline.rungs.kind import Kind

RUNGS: dict[str, Kind] = {
    "http": HTTP,
    "plain_http": PLAIN_HTTP,
    "retry": RETRY,
    "browser": BROWSER,
    "archive": ARCHIVE,
    "search_cache": SEARCH_CACHE,
    "mirrors": MIRRORS,
    "queue": QUEUE,
}

# Notes on what may be better next time: nothing to keep. A copy from elsewhere stands in for a page that may be back.
PASSING = frozenset({PARTIAL, UNAVAILABLE, FAILED, FROM_ARCHIVE, FROM_SEARCH_CACHE, FROM_MIRROR})
