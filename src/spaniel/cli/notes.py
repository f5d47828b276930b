"""What each note on an answer means, in plain words: one line on standard error."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

NOTES = {
    "no_text": "The page has no text. If a script makes its text, --browser may bring it.",
    "reading_cut": "The page is too much to be read whole: this is its beginning.",
    "scanned": "The document consists of pictures of pages. Their text is not read.",
    "pages_missing": "Some pages of the document are damaged. They could not be read.",
    "charset_guessed": "The page does not say how its characters are encoded. The encoding was guessed.",
    "rendered_empty_http": "The page came without text over HTTP, so a browser was used.",
    "browser_unavailable_used_http": "The page seems to need a browser, but Chromium cannot be run here. "
    "This is what came without it. 'spaniel doctor' tells more.",
    "browser_failed_used_http": "The page seems to need a browser, but the browser failed. "
    "This is what came without it.",
    "browser_timeout_dom_partial": "The page was still loading when its time was over. Parts of it may be missing.",
    "browser_dom_truncated": "The page in the browser was too large. Its end is missing.",
    "robots_unavailable_fail_open": "robots.txt could not be read. The page was fetched all the same, "
    "because the setting fail_open says so.",
    "https_downgrade": "A redirect led from https to http. Others on the network can read and change such a page.",
    "cache_write_failed": "The page could not be written into the cache.",
    "cache_hit": "This copy comes from the cache. Add --no-cache to fetch the page again.",
}


def tell_notes(notes: Iterable[str], where: str = "") -> None:
    """Each note, with its name for programs that read along; one that is not known is told by its name alone."""
    for note in notes:
        sentence = NOTES.get(note)
        sys.stderr.write(f"spaniel: {where}note: " + (f"{sentence} ({note})\n" if sentence else f"{note}\n"))
