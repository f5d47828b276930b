"""Whether what came is the page that was asked for: by its type, and by what the site says about its use."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError
from spaniel.pipeline.page_types import Evidence, page_type_of, region_of, wall_of
from spaniel.pipeline.signals import respected
from spaniel.reading import read

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spaniel.net.http import Page
    from spaniel.pipeline.retrieve import Retrieved
    from spaniel.reading import Document

READABLE = ("html", "text")  # the kinds of pages that have signs, and that come with an error
SITE_SIGNAL = "site_signal"  # the type of a page whose site says no to us
GEO_BLOCK = "geo_block"
NO_WALL: Mapping[str, str] = MappingProxyType({})


class Instead(NamedTuple):
    """What came instead of the page."""

    page_type: str
    region: str = ""
    notes: tuple[str, ...] = ()
    wall: Mapping[str, str] = NO_WALL  # the sign of a paywall or a login, and where it was found


def recognized(
    retrieved: Retrieved, document: Document, signals: Mapping[str, object], *, types: bool, respect: Iterable[str]
) -> Instead | None:
    """What a page is that came as if it were the one; None where it is."""
    signal = respected(signals, respect)
    if signal:
        return Instead(SITE_SIGNAL, notes=(SITE_SIGNAL, signal))
    evidence = Evidence(retrieved.page, document, bool(retrieved.chain))
    found = page_type_of(evidence) if types else ""
    if not found:
        return None
    return Instead(found, region_of(document) if found == GEO_BLOCK else "", (found,), wall_of(evidence))


def explained(error: SpanielError, page: Page | None, redirected: bool) -> SpanielError:
    """An error with what the page says that came with it: its type, its title, the region."""
    if page is None or error.code not in (Code.HTTP_4XX, Code.HTTP_5XX):
        return error
    document = _understood(page)
    evidence = Evidence(page, document, redirected)
    found = page_type_of(evidence)
    if not found:
        return error
    region = region_of(document) if found == GEO_BLOCK else ""
    told: dict[str, object] = {
        "page_type": found,
        "title": document.title if document else None,
        "region": region or None,
    }
    if wall := wall_of(evidence):
        told["wall"] = wall
    return SpanielError(error.code, **error.details, **told)


def _understood(page: Page) -> Document | None:
    """What an error says; None where nobody can read it."""
    try:
        return read(page.body, page.headers.get("content-type"), page.url.href, READABLE) if page.body else None
    except SpanielError:
        return None
