"""The rungs by their names, as a profile's ladder lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.browser.rendering import MISSING, PARTIAL
from spaniel.pipeline.outcome import FROM_ARCHIVE
from spaniel.pipeline.rungs.archive import ARCHIVE
from spaniel.pipeline.rungs.browser import BROWSER, FAILED, UNAVAILABLE
from spaniel.pipeline.rungs.copies import FROM_MIRROR, FROM_SEARCH_CACHE, MIRRORS, SEARCH_CACHE
from spaniel.pipeline.rungs.queued import QUEUE
from spaniel.pipeline.rungs.site import HTTP, HTTP_ONLY, PLAIN_HTTP, RETRY, RETRY_AFTER

if TYPE_CHECKING:
    from spaniel.pipeline.rungs.kind import Kind

RUNGS: dict[str, Kind] = {
    "http": HTTP,
    "plain_http": PLAIN_HTTP,
    "retry": RETRY,
    "retry_after": RETRY_AFTER,
    "browser": BROWSER,
    "archive": ARCHIVE,
    "search_cache": SEARCH_CACHE,
    "mirrors": MIRRORS,
    "queue": QUEUE,
}

# Notes on what is not kept. It may be better next time: a copy from elsewhere stands in for a page that may be back.
# And a page that came over plain HTTP is nothing for whoever asks for the same page over HTTPS.
PASSING = frozenset({PARTIAL, MISSING, UNAVAILABLE, FAILED, FROM_ARCHIVE, FROM_SEARCH_CACHE, FROM_MIRROR, HTTP_ONLY})
