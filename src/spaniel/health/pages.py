"""What a link check must know of a page: its text, its kind, whether the domain is for sale, its anchors."""

from __future__ import annotations

import asyncio
import re
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import unquote

from spaniel.errors import SpanielError
from spaniel.health.page_patterns import load_patterns
from spaniel.pipeline.page_types import PageEvidence, page_type_of
from spaniel.reading import read_as
from spaniel.reading.html.parse import parse_html
from spaniel.reading.kinds import kind_of, parse_type
from spaniel.verdicts import Content, Fragment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turbohtml import Document as Tree

    from spaniel.health.hops import LinkHops
    from spaniel.net.deadline import Deadline
    from spaniel.net.http import Page
    from spaniel.reading import Document
    from spaniel.reading.kinds import DetectedKind
    from spaniel.verdicts import Expected

KEPT = 2 << 20  # bytes of the beginning that are kept to be read
GLANCED = 256 << 10  # of a page whose status alone is wanted: signs stand at the beginning
ANY_SIZE = 1 << 40  # the deadline ends what does not
SPARE = 8 << 20  # how much longer than asserted a body may be and still be measured to its end


class Needs(NamedTuple):
    """What of a page must be looked at."""

    measured: bool  # its content is asserted
    read: bool  # to its end, or as far as anybody reads
    most: int  # bytes that are transferred


def needs_of(expected: Expected, *, reads: bool) -> Needs:
    measured = expected.length is not None or expected.sha256 is not None
    if not measured:
        return Needs(False, reads, KEPT if reads else GLANCED)
    if expected.length is None:
        return Needs(True, True, ANY_SIZE)
    return Needs(True, True, max(2 * expected.length, SPARE))


class Body:
    """A body as it comes: gigabytes in the memory of its beginning."""

    __slots__ = ("_digest", "kept", "length", "most")

    def __init__(self, needs: Needs) -> None:
        self.most = needs.most
        self._digest = sha256() if needs.measured else None
        self.kept = bytearray()
        self.length = 0

    def take(self, piece: bytes) -> None:
        self.length += len(piece)
        if self._digest is not None:
            self._digest.update(piece)
        if len(self.kept) < KEPT:
            self.kept += piece[: KEPT - len(self.kept)]

    def anew(self) -> Body:
        """For another page, of which as much is taken."""
        return Body(Needs(self.is_measured, True, self.most))

    @property
    def is_measured(self) -> bool:
        return self._digest is not None

    @property
    def is_whole(self) -> bool:
        """Whether it was transferred to its end. One that ends just where nobody went on may have, too: not so here."""
        return self.length < self.most

    @property
    def is_kept(self) -> bool:
        """Whether all of it is at hand."""
        return self.is_whole and self.length == len(self.kept)

    def content(self, text_sha256: str) -> Content | None:
        if self._digest is None:
            return None
        return Content(self.length, self._digest.hexdigest() if self.is_whole else "", self.is_whole, text_sha256)


KINDS = ("html", "text")
OTHER_PAGES = frozenset({"challenge", "geo_block", "rate_limit"})  # pages that have nothing of the page itself
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


class BodyReader(Protocol):
    """Reads long pages where they delay no other request."""

    async def read(self, body: bytes, kind: DetectedKind, url: str | None, deadline: Deadline) -> Document: ...


class CheckedPage(NamedTuple):
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


NO_FACTS = CheckedPage()


def may_have_signs(content_type: str | None) -> bool:
    """Whether the beginning of a body with this type may say that it is not the page: pictures and archives do not."""
    essence = parse_type(content_type)[0]
    return not essence or essence.startswith("text/") or essence in MARKUP


def look_at_head(page: Page) -> CheckedPage:
    """Look at an answer that has no body."""
    if load_patterns().is_challenge(page.headers):
        return CheckedPage(page_type=CHALLENGE)
    return CheckedPage(is_parked=True) if page.ok and load_patterns().is_parking_host(page.url.host) else NO_FACTS


async def look_at(
    page: Page, body: Body | None, hops: LinkHops, reads: BodyReader | None, fragments: Sequence[str] = ()
) -> CheckedPage:
    """Look at an answer. `body` is what was taken of it, where more than its beginning was wanted."""
    kept = bytes(body.kept) if body is not None and page.ok else page.body
    is_all = body.is_kept if body is not None and page.ok else True
    document = await _read(page, kept, hops, reads) if kept and is_all else None
    text = document.markdown if document is not None else ""
    page_type = page_type_of(PageEvidence(page._replace(body=kept), document, bool(hops.chain))) if document else ""
    is_challenge = not page_type and load_patterns().is_challenge(page.headers)
    parked = page.ok and (load_patterns().is_parking_host(page.url.host) or load_patterns().looks_parked(text))
    return CheckedPage(
        text=text,
        title=((document.title or document.metadata.title) or "") if document is not None else "",
        has_scripts=b"<script" in kept.lower(),
        refresh=await _refresh(kept, page) if page.ok else "",
        page_type=CHALLENGE if is_challenge else page_type,
        is_parked=parked,
        content=body.content(_hash(text)) if body is not None else None,
        fragments=await _fragments(fragments, kept, page, is_all) if fragments and page.ok else (),
    )


async def _read(page: Page, body: bytes, hops: LinkHops, reads: BodyReader | None) -> Document | None:
    """The page's text; None where it has none that can be read."""
    url = page.url.href
    try:
        kind = kind_of(page.headers.get("content-type"), body, KINDS)
        if reads is not None:
            return await reads.read(body, kind, url, hops.deadline)
        if len(body) <= AT_ONCE and body.count(b"<") <= TAGS:
            return read_as(kind, body, url)
        return await asyncio.to_thread(read_as, kind, body, url)
    except SpanielError:
        return None


async def _refresh(body: bytes, page: Page) -> str:
    if not _REFRESH.search(body) or not may_have_signs(page.headers.get("content-type")):
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
    return await asyncio.to_thread(look_for, names, body, page.headers.get("content-type", ""), is_whole=is_whole)


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest() if text else ""


MARKUP_TYPES = frozenset({"text/html", "application/xhtml+xml"})
DIRECTIVE = ":~:"  # text to be marked, by a browser alone; what stands before it is the fragment
PREFIXES = ("user-content-",)  # of ids, which a script of the site leaves out
_HEADINGS = tuple(f"h{level}" for level in range(1, 7))
ANCHORED = ", ".join(
    [f"{tag}[id]" for tag in _HEADINGS] + [f"{tag} [id], {tag} a[name]" for tag in _HEADINGS] + ["section[id]"]
)
# What only a script understands: a route of an application, lines of a file, parameters.
_FOR_SCRIPTS = re.compile(r"[!/]|L\d+(-L?\d+)?$|.*=")
_DATA = ("application/json", "application/ld+json", "importmap", "speculationrules")


def look_for(names: Sequence[str], body: bytes, content_type: str, *, is_whole: bool) -> tuple[Fragment, ...]:
    """Each name, and whether it is there. None where only whoever runs the page's scripts could tell."""
    essence, charset = parse_type(content_type)
    if essence not in MARKUP_TYPES:
        return tuple(Fragment(name, True if _is_the_top(name) else None) for name in names)
    tree, cut, *_ = parse_html(body, charset)
    anchors = _anchors(tree)
    may_be_made = cut or not is_whole or _may_be_made(tree)
    return tuple(Fragment(name, _found(name, anchors, may_be_made)) for name in names)


def _found(name: str, anchors: frozenset[str], may_be_made: bool) -> bool | None:
    plain = _plain(name)
    decoded = unquote(plain)
    if _is_the_top(name) or plain in anchors or decoded in anchors:
        return True
    return None if may_be_made or _FOR_SCRIPTS.match(decoded) else False


def _plain(name: str) -> str:
    return name.removeprefix("#").partition(DIRECTIVE)[0]


def _is_the_top(name: str) -> bool:
    """Which every page has."""
    return _plain(name).lower() in ("", "top")


def _anchors(tree: Tree) -> frozenset[str]:
    ids = [element.attr("id") for element in tree.select("[id]")]
    names = [element.attr("name") for element in tree.select("a[name]")]
    given = {name for name in (*ids, *names) if name}
    bare = {name.removeprefix(prefix) for name in given for prefix in PREFIXES}
    return frozenset(given | bare)


def _may_be_made(tree: Tree) -> bool:
    """Whether a script may make anchors: there is one, and no heading has an anchor already, as pages that bring theirs
    along would."""
    if tree.select_one(ANCHORED) is not None:
        return False
    return any((script.attr("type") or "").lower() not in _DATA for script in tree.select("script"))
