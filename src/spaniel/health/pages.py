"""What a page is, as far as a checker must know: its text, what came instead of it, a domain for sale, its anchors."""

from __future__ import annotations

import asyncio
import re
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple, Protocol

from spaniel.errors import SpanielError
from spaniel.health.signs import signs
from spaniel.pipeline.page_types import Evidence, page_type_of
from spaniel.reading import read
from spaniel.reading.html.parse import parse_html
from spaniel.reading.kinds import parse_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from spaniel.health.bodies import Body
    from spaniel.health.following import LinkHops
    from spaniel.net.deadline import Deadline
    from spaniel.net.http import Page
    from spaniel.reading import Document
    from spaniel.verdicts import Content, Fragment

KINDS = ("html", "text")
NOTHING_OF_IT = frozenset({"challenge", "geo_block", "rate_limit"})  # pages that have nothing of the page itself
MARKUP = frozenset({"application/xhtml+xml", "application/xml"})
CHALLENGE = "challenge"
_REFRESH = re.compile(rb"http-equiv\s*=\s*[\"']?\s*refresh", re.IGNORECASE)
_REFRESH_CONTENT = re.compile(
    r"""\s*(?P<seconds>[0-9]{1,9}|(?=\.))[0-9.]*(?:\s*[;,]|\s)\s*(?:url\s*=\s*)?"""
    r"""(?:"(?P<quoted>[^"]*)|'(?P<single>[^']*)|(?P<bare>.*))""",
    re.IGNORECASE | re.DOTALL,
)
MOST_REFRESH_SECONDS = 30  # a page that waits longer is one to be read, such as a slide show
AT_ONCE, TAGS = 64 << 10, 2000  # bytes and tags of a page that is read on the spot; others: beside the event loop


class Reads(Protocol):
    """Reads long pages where they hold up nobody."""

    async def read(
        self, body: bytes, content_type: str | None, url: str | None, kinds: Iterable[str] | None, deadline: Deadline
    ) -> Document: ...


class Seen(NamedTuple):
    """What was seen of a page."""

    text: str = ""  # extracted; "" where there is none, or not all of it
    title: str = ""
    has_scripts: bool = False  # which may write what the text has not
    refresh: str = ""  # where the page sends its reader by itself, as it is written
    page_type: str = ""
    is_parked: bool = False
    content: Content | None = None
    fragments: tuple[Fragment, ...] = ()
    soft_404: bool | None = None


NOTHING_SEEN = Seen()


def tells_something(content_type: str | None) -> bool:
    """Whether the beginning of a body with this type may say that it is not the page: pictures and archives do not."""
    essence = parse_type(content_type)[0]
    return not essence or essence.startswith("text/") or essence in MARKUP


def look_at_head(page: Page) -> Seen:
    """Look at an answer that has no body."""
    if signs().is_challenge(page.headers):
        return Seen(page_type=CHALLENGE)
    return Seen(is_parked=True) if page.ok and signs().is_parking_host(page.url.host) else NOTHING_SEEN


async def look_at(
    page: Page, body: Body | None, hops: LinkHops, reads: Reads | None, fragments: Sequence[str] = ()
) -> Seen:
    """Look at an answer. `body` is what was taken of it, where more than its beginning was wanted."""
    kept = bytes(body.kept) if body is not None and page.ok else page.body
    is_all = body.is_kept if body is not None and page.ok else True
    document = await _read(page, kept, hops, reads) if kept and is_all else None
    text = document.markdown if document is not None else ""
    page_type = page_type_of(Evidence(page._replace(body=kept), document, bool(hops.chain))) if document else ""
    is_challenge = not page_type and signs().is_challenge(page.headers)
    parked = page.ok and (signs().is_parking_host(page.url.host) or signs().looks_parked(text))
    return Seen(
        text=text,
        title=((document.title or document.metadata.title) or "") if document is not None else "",
        has_scripts=b"<script" in kept.lower(),
        refresh=await _refresh(kept, page) if page.ok else "",
        page_type=CHALLENGE if is_challenge else page_type,
        is_parked=parked,
        content=body.content(_hash(text)) if body is not None else None,
        fragments=await _fragments(fragments, kept, page, is_all) if fragments and page.ok else (),
    )


async def _read(page: Page, body: bytes, hops: LinkHops, reads: Reads | None) -> Document | None:
    """The page's text; None where it has none that can be read."""
    given = body, page.headers.get("content-type"), page.url.href, KINDS
    try:
        if reads is not None:
            return await reads.read(*given, hops.deadline)
        if len(body) <= AT_ONCE and body.count(b"<") <= TAGS:
            return read(*given)
        return await asyncio.to_thread(read, *given)
    except SpanielError:
        return None


async def _refresh(body: bytes, page: Page) -> str:
    if not _REFRESH.search(body) or not tells_something(page.headers.get("content-type")):
        return ""
    return await asyncio.to_thread(refresh_of, body, page.headers.get("content-type"))


def refresh_of(body: bytes, content_type: str | None) -> str:
    """Where a page sends its reader within a moment, as its address is written there; "" where it does not.

    What stands in `noscript` or `template` is not for browsers that run scripts (HTML 4.2.5.3).
    """
    tree, *_ = parse_html(body, parse_type(content_type)[1])
    for meta in tree.select("meta[http-equiv]"):
        if (meta.attr("http-equiv") or "").strip().lower() != "refresh":
            continue
        if meta.closest("noscript, template") is not None:
            continue
        found = _REFRESH_CONTENT.match(meta.attr("content") or "")
        if found is not None and int(found["seconds"] or 0) <= MOST_REFRESH_SECONDS:
            return (found["quoted"] or found["single"] or found["bare"] or "").strip()
    return ""


async def _fragments(names: Sequence[str], body: bytes, page: Page, is_whole: bool) -> tuple[Fragment, ...]:
    from spaniel.health.fragments import look_for

    return await asyncio.to_thread(look_for, names, body, page.headers.get("content-type", ""), is_whole=is_whole)


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest() if text else ""
