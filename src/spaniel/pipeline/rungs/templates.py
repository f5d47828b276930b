"""Addresses of copies, made of the settings' templates. Only what is in braces is ever put in."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from spaniel.url.value import Url

URL, TIMESTAMP = "{url}", "{timestamp}"


def filled(template: str, url: Url, timestamp: str = "") -> Url:
    """The address of a copy. A page's URL is encoded where it stands in a query, and as it is in a path."""
    href = url._replace(fragment=None).href
    in_query = "?" in template.partition(URL)[0]
    return parse(template.replace(TIMESTAMP, timestamp).replace(URL, quote(href, safe="") if in_query else href))
