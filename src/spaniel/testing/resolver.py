"""A resolver that answers from a table and asks nobody."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError
from spaniel.net.resolver import NXDOMAIN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spaniel.net.addresses import Address

LOOPBACK = "127.0.0.1"

Answer = str | Sequence[str] | Exception


class FakeResolver:
    """Names to addresses; a name that is not in the table is at `elsewhere`, or nowhere if that is None.

    A name may have one address, several, or none; where an exception stands in their place, it is raised.
    The table may be changed while the resolver is in use. `asked` holds every name that was looked up, in order.
    """

    def __init__(
        self,
        names: Mapping[str, Answer] | None = None,
        elsewhere: Answer | None = LOOPBACK,
    ) -> None:
        self.names = dict(names or {})
        self.elsewhere = elsewhere
        self.asked: list[str] = []

    async def resolve(self, host: str) -> Sequence[Address]:
        self.asked.append(host)
        found = self.names.get(host, self.elsewhere)
        if found is None:
            raise SpanielError(Code.DNS_FAILED, host=host, error="the test knows no such name", cause=NXDOMAIN)
        if isinstance(found, Exception):
            raise found
        return [ip_address(address) for address in ([found] if isinstance(found, str) else found)]
