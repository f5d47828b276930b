"""A request and its answer as they crossed the wire: for whoever keeps them, besides the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spaniel.net.guard import Target
    from spaniel.net.pool import Exchange

    Fields = tuple[tuple[str, str], ...]

SECRET = frozenset({"authorization", "proxy-authorization", "cookie"})  # never kept


class CapturedExchange(NamedTuple):
    """One hop."""

    asked: Fields  # the request's headers, as they were sent, but for what is secret
    answered: Fields  # the answer's, as they came: one that came twice is there twice
    address: str  # of the server; empty where a proxy stood between
    whole: bool  # whether all of the body was taken


def capture_exchange(exchange: Exchange, target: Target) -> CapturedExchange:
    """When the body was taken, as far as it was wanted."""
    asked = (line.split(b": ", 1) for line in exchange.request.split(b"\r\n")[1:] if line)
    address = exchange.peer.address
    known = address in map(str, target.addresses)
    whole = exchange.answer.complete and not exchange.answer.pieces
    kept = tuple(field for field in _texts(asked) if field[0].lower() not in SECRET)
    return CapturedExchange(kept, _texts(exchange.answer.fields), address if known else "", whole)


def _texts(fields: Iterable[Iterable[bytes]]) -> Fields:
    return tuple((_text(name), _text(value)) for name, value in fields)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode()
