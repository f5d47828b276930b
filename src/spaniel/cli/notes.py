"""What each note on an answer means, in plain words: one line on standard error."""

from __future__ import annotations

import sys

from spaniel.pipeline.outcome import ARCHIVE_CAVEAT, CREDENTIALS_DROPPED, FROM_ARCHIVE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

NOTES = {
    "no_text": "The page has no text. If a script creates its text, --browser may show it.",
    "reading_cut": "The page is too much to be read whole: this is its beginning.",
    "reading_step_failed": "An optional part of reading failed on this page (threads, tables, formulas, "
    "metadata). The text was read without it. Add -v to see which.",
    "text_cut": "The page is long. Only its beginning was taken, as the profile says (max_text_bytes).",
    "invalid_json": "The page says that it is JSON, but it cannot be read as JSON. It is passed on as plain text.",
    "scanned": "The document consists of pictures of pages. Their text is not read.",
    "pages_missing": "Some pages of the document are damaged. They could not be read.",
    "charset_guessed": "The page does not say how its characters are encoded. The encoding was guessed.",
    "rendered_empty_http": "The page had no text over HTTP, so a browser was used.",
    "browser_unavailable_used_http": "The page seems to need a browser, but Chromium cannot be run here. "
    "This is the page without it. Run 'spaniel doctor' to see why.",
    "browser_failed_used_http": "The page seems to need a browser, but the browser failed. "
    "This is the page without it.",
    "browser_timeout_dom_partial": "The page was still loading when its time was over. Parts of it may be missing.",
    "browser_dom_truncated": "The page in the browser was too large. Its end is missing.",
    "closed_shadow_roots": "Parts of the page cannot be read (closed shadow roots). They are missing.",
    "wait_for_missing": "Nothing on the page matched the selector that was waited for. This is the page without it.",
    "picture_failed": "No picture of the page could be taken.",
    "picture_clipped": "The page is too large for one picture. Its end is not on it.",
    "robots_unavailable_fail_open": "robots.txt could not be read. The page was fetched all the same, "
    "because the setting fail_open says so.",
    "https_downgrade": "A redirect led from https to http. Others on the network can read and change such a page.",
    CREDENTIALS_DROPPED: "The URL held a user name or password. They were removed and not sent.",
    "http_only_host": "The site has no HTTPS that works, so the page was fetched over plain HTTP. "
    "Others on the network can read and change such a page.",
    FROM_ARCHIVE: ARCHIVE_CAVEAT,
    "from_search_cache": "The site did not return the page. This is a search engine's copy, which may be old.",
    "from_mirror": "The site did not return the page. This one comes from a mirror in the settings.",
    "stale_copy": "The site could not be reached. This is an older copy from the cache. It may be out of date.",
    "paywall": "The page is behind a paywall. Its text is not given out to everybody, and was not taken.",
    "login": "The site requires a login. Its text is not public, and was not fetched.",
    "rate_limit": "The site says that it gets too many requests. Try again later.",
    "geo_block": "The site does not give this page out in this region.",
    "challenge": "The site gave a check for robots in place of the page. It was not got round.",
    "site_signal": "The site says no to this use of the page, and the profile respects that. The next note says which.",
    "cache_write_failed": "The page could not be written into the cache.",
    "cache_hit": "This copy comes from the cache. Add --no-cache to fetch the page again.",
}


def tell_notes(notes: Iterable[str], where: str = "") -> None:
    """Each note, with its name for programs; an unknown one by its name alone."""
    for note in notes:
        sentence = NOTES.get(note)
        sys.stderr.write(f"spaniel: {where}note: " + (f"{sentence} ({note})\n" if sentence else f"{note}\n"))
