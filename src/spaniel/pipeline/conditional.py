"""A conditional request: asks whether a stored copy still holds, of the one URL that it came from (FG-39)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spaniel.net.http import Page, RequestOptions
    from spaniel.url.value import Url

NOT_MODIFIED = 304

# An entity tag (RFC 9110 8.8.3), or one that somebody forgot to put in quotes. Never `*`, which every page matches,
# and never a list, which two headers would make.
_TAG = re.compile(r'(?:W/)?"[^"]*"|[^",*\s]+')
_CODING = re.compile(r'[-;:]{1,2}(?:gzip|br|deflate|zstd)(?="?$)')  # what servers add to the tag of a packed page


class Conditional(NamedTuple):
    """What the copy is known by. Nobody but the server that it came from learns of it."""

    url: str  # the copy's own; the headers go to no other hop
    etag: str | None
    fields: Mapping[str, str]  # what is asked with

    def options_for(self, url: Url, options: RequestOptions) -> RequestOptions:
        return options._replace(more={**options.more, **self.fields}) if url.href == self.url else options

    def answered_by(self, page: Page) -> bool:
        """Whether this 304 was asked for. Of any other nobody knows what it is about."""
        return page.status == NOT_MODIFIED and page.url.href == self.url

    def agrees_with(self, page: Page) -> bool:
        """A 304 that names another version than the copy's says nothing about the copy (RFC 9111 4.3.4)."""
        named = page.headers.get("etag")
        return named is None or self.etag is None or _opaque(named) == _opaque(self.etag)


def conditional_for(url: str, etag: str | None, last_modified: str | None) -> Conditional | None:
    """Both validators, as the server wrote them. What cannot stand in a header is left out; None where nothing can."""
    asked = {"If-None-Match": _tag(etag), "If-Modified-Since": _line(last_modified)}
    sent = {name: value for name, value in asked.items() if value}
    return Conditional(url, etag, sent) if sent else None


def _tag(etag: str | None) -> str | None:
    return etag if etag and _line(etag) and _TAG.fullmatch(etag) else None


def _line(value: str | None) -> str | None:
    return value if value and value.isascii() and value.isprintable() else None


def _opaque(etag: str) -> str:
    """What is compared weakly (RFC 9110 8.8.3.2), however the page was packed on its way."""
    return _CODING.sub("", etag.removeprefix("W/"))
