"""What each note on a page means: one line on standard error."""

from __future__ import annotations

from spaniel.cli.long_run import say
from spaniel.pipeline.outcome import ARCHIVE_CAVEAT, CREDENTIALS_DROPPED, FROM_ARCHIVE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

NOTES = {
    "no_text": "The page has no text. If a script creates it, try --browser.",
    "reading_cut": "The page is too large. Only its beginning was read.",
    "reading_step_failed": "An optional step failed (threads, tables, formulas, metadata). The text was read without "
    "it. Add -v for details.",
    "text_cut": "The text was truncated at the profile's limit (max_text_bytes).",
    "invalid_json": "The page is declared as JSON but is not valid JSON. It is returned as plain text.",
    "scanned": "The document consists of scanned pages. Their text is not read.",
    "pages_missing": "Some pages of the document are damaged and could not be read.",
    "charset_guessed": "The page does not declare its character encoding. It was guessed.",
    "rendered_empty_http": "The page had no text over HTTP, so a browser rendered it.",
    "browser_unavailable_used_http": "The page seems to need a browser, but Chromium cannot run here. "
    "This is the page without it. Run 'spaniel doctor' to see why.",
    "browser_failed_used_http": "The page seems to need a browser, but the browser failed. "
    "This is the page without it.",
    "browser_timeout_dom_partial": "The page was still loading at the timeout. Parts of it may be missing.",
    "browser_dom_truncated": "The rendered page was too large. Its end is missing.",
    "closed_shadow_roots": "Parts of the page cannot be read (closed shadow roots). They are missing.",
    "wait_for_missing": "No element matched the selector of --wait-for in time. This is the page without it.",
    "picture_failed": "The screenshot failed.",
    "picture_clipped": "The page is too large for one screenshot. Its end is missing.",
    "robots_unavailable_fail_open": "robots.txt could not be fetched. The page was fetched anyway, "
    "because of the setting fail_open.",
    "https_downgrade": "A redirect led from https to http. Others on the network can read and change such a page.",
    CREDENTIALS_DROPPED: "The URL contained a user name or password. They were removed and not sent.",
    "http_only_host": "The site has no working HTTPS, so the page was fetched over plain HTTP. "
    "Others on the network can read and change such a page.",
    FROM_ARCHIVE: ARCHIVE_CAVEAT,
    "from_search_cache": "The site did not return the page. This is a search engine's copy, which may be old.",
    "from_mirror": "The site did not return the page. This is a copy from a mirror in the settings.",
    "stale_copy": "The site could not be reached. This is an older copy from the cache, which may be out of date.",
    "paywall": "The page requires payment. Its text was not fetched.",
    "login": "The page requires a login. Its text was not fetched.",
    "rate_limit": "The site is limiting requests. Try again later.",
    "geo_block": "The page is not available in this region.",
    "challenge": "The site requires a bot check (CAPTCHA). It was not bypassed.",
    "site_signal": "The site does not allow this use of the page, and the profile respects that. "
    "The next note names the signal.",
    "cache_write_failed": "The page could not be written to the cache.",
    "cache_hit": "This copy comes from the cache. Add --no-cache to fetch the page again.",
}


def print_notes(notes: Iterable[str], where: str = "") -> None:
    """Each note, with its name for programs; an unknown one by its name alone."""
    for note in notes:
        sentence = NOTES.get(note)
        say(f"{where}note: " + (f"{sentence} ({note})" if sentence else note))
