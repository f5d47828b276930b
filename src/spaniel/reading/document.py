"""The result of reading: `Document` and its parts."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import asdict, dataclass, field, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


CHARSET_GUESSED = "charset_guessed"  # note: the page declares no charset
READING_STEP_FAILED = "reading_step_failed"  # note: an optional step failed (D2-41)
READING_CUT = "reading_cut"  # note: a limit was reached and something is missing
TEXT_CUT = "text_cut"  # note: only the beginning was read, by a limit of the profile (FG-26)


@dataclass(frozen=True, slots=True)
class Metadata:
    """The page's own metadata."""

    title: str | None = None  # the headline, where the page names one: `Document.title` is the SRD's `<title>`
    description: str | None = None
    author: str | None = None
    canonical_url: str | None = None
    published: str | None = None
    modified: str | None = None
    site_name: str | None = None
    image: str | None = None


@dataclass(frozen=True, slots=True)
class Hygiene:
    """Counts of removed elements and characters."""

    hidden_elements: int = 0
    invisible_characters: int = 0
    control_characters: int = 0
    dangerous_links: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class Document:
    """Clean Markdown and its metadata. The text is untrusted: label it with its source when you pass it on."""

    markdown: str
    title: str | None = None
    language: str | None = None
    kind: str = "text"
    metadata: Metadata = field(default_factory=Metadata)
    hygiene: Hygiene = field(default_factory=Hygiene)
    notes: tuple[str, ...] = ()  # for the reader: READING_CUT, CHARSET_GUESSED
    signals: dict[str, object] = field(default_factory=dict, hash=False)  # the page's declarations about its use
    types: tuple[str, ...] = ()  # of the page's linked data: NewsArticle
    generator: str = ""  # the program that made the page, as the page names it
    data: str | None = None  # structured content as JSON text
    pages: tuple[int, ...] = ()  # offsets of page 1, 2, … in the Markdown, for PDFs
    wall_words: bool | None = None  # whether an HTML page has the words of a paywall anywhere; None: not looked for
    failures: tuple[str, ...] = ()  # optional steps of reading that failed, each with the exception's type and place

    def noted(self, note: str) -> Document:
        """Return a copy with a note, unless it has that note."""
        return self if note in self.notes else replace(self, notes=(*self.notes, note))

    def with_failures(self, failures: Iterable[str]) -> Document:
        """Return a copy with the failed optional steps, and a note if there are any."""
        every = (*self.failures, *failures)
        return replace(self, failures=every).noted(READING_STEP_FAILED) if every else self

    def as_dict(self) -> dict[str, object]:
        """Return the fields for JSON; `data`, `pages` and `failures` only if they are not empty."""
        fields = asdict(self)
        del fields["wall_words"]
        for name in ("data", "pages", "failures"):
            if not fields[name]:
                del fields[name]
        return fields

    def __repr__(self) -> str:
        title = (self.metadata.title or self.title or "")[:60]
        return f"Document({title!r}, {self.kind!r}, {len(self.markdown)} characters)"


def page_at(pages: Sequence[int], offset: int) -> int | None:
    """Return the number of the page, from 1, at an offset of the Markdown; None for a document without pages.

    An empty page begins where the next one does: what stands there is the next one's.
    """
    return bisect_right(pages, offset) or None
