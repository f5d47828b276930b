"""A request and its answer as they went over the wire: for whoever keeps them, besides the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from spaniel.net.guard import Target
    from spaniel.net.pool import Response

    Fields = tuple[tuple[str, str], ...]

SECRET = frozenset({"authorization", "proxy-authorization", "cookie"})  # never kept


class Exchange(NamedTuple):
    """One hop."""

    asked: Fields  # the request's headers, as they were sent, but for what is secret
    answered: Fields  # the answer's, as they came: one that came twice is there twice
    address: str  # of the server; empty where a proxy stood between
    whole: bool  # whether all of the body was taken


def exchange_of(response: Response, target: Target) -> Exchange:
    """When the body was taken, as far as it was wanted."""
    asked = tuple((name, value) for name, value in response.request_info.headers.items() if name.lower() not in SECRET)
    answered = tuple((_text(name), _text(value)) for name, value in response.raw_headers)
    known = response.peer in map(str, target.addresses)
    return Exchange(asked, answered, response.peer if known else "", response.content.at_eof())


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode()
