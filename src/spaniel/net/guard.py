"""The guard: no connection without a `Target`, and no `Target` but from here (FR-WF-05, FR-WF-06)."""

from __future__ import annotations

import logging
from collections import OrderedDict
from copy import copy
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from spaniel.defaults import PORTS
from spaniel.errors import Code, SpanielError
from spaniel.net.addresses import TOGGLES
from spaniel.net.resolver import KEPT_SECONDS
from spaniel.net.validator import AddressValidator, literal_address
from spaniel.url.domains import ALLOWED, ANYWHERE, BLOCKED, domain_list, domain_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from spaniel.net.addresses import Address
    from spaniel.net.deadline import Deadline
    from spaniel.net.resolver import Resolver
    from spaniel.net.validator import SsrfValidator
    from spaniel.url.domains import DomainRules
    from spaniel.url.value import Url

    Vetting = Coroutine[object, object, "Target"]

log = logging.getLogger("spaniel.protection")  # a name of its own: no option hides what it says

EVERY_PORT = range(1, 1 << 16)
MOST_MADE = 4096  # targets that are made once for as long as a resolver keeps its answer


class Security(NamedTuple):
    """The SRD's `[tools.webfetch.security]`."""

    block_private_ips: bool = True
    block_loopback: bool = True
    block_link_local: bool = True
    block_reserved: bool = True
    allowed_ports: tuple[int, ...] = PORTS
    allow_insecure_overrides: bool = False
    allowed_domains: tuple[str, ...] = ()  # empty: any
    blocked_domains: tuple[str, ...] = ()


_SEAL = object()


class Target:
    """Proof that a host was resolved once and every one of its addresses passed. Only a guard can make one."""

    __slots__ = ("_clock", "_judged", "addresses", "host", "pins", "port")

    host: str
    port: int
    addresses: tuple[Address, ...]
    pins: frozenset[bytes]  # the same addresses, packed: what connections are kept apart by
    _judged: float
    _clock: Callable[[], float]

    def __init__(
        self,
        host: str,
        port: int,
        addresses: Sequence[Address],
        seal: object = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        if seal is not _SEAL:
            raise TypeError("a Target comes from Guard.vet; nothing else has judged the address")
        put = object.__setattr__
        put(self, "host", host)
        put(self, "port", port)
        put(self, "addresses", tuple(addresses))
        put(self, "pins", frozenset(address.packed for address in addresses))
        put(self, "_judged", clock())
        put(self, "_clock", clock)

    @property
    def stale(self) -> bool:
        """Whether it is so old that its name must be resolved and judged again before it is dialled (D2-39)."""
        return self._clock() - self._judged >= KEPT_SECONDS

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Target is proof: its {name} stays what it was when it was judged")

    def __repr__(self) -> str:
        return f"Target({self.host}:{self.port} at {', '.join(map(str, self.addresses))})"


class Guard:
    """Judges ports, domains, literal addresses, and every address that a name resolves to.

    Addresses are the validator's to judge: without one, by the table of ranges, as far as the settings leave it on.
    """

    def __init__(
        self,
        resolver: Resolver,
        security: Security | None = None,
        validator: SsrfValidator | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        security = security or Security()
        self._clock = clock
        self._ports: Sequence[int] = security.allowed_ports or PORTS
        self._nothing_from = domain_rules(None, domain_list(security.blocked_domains, BLOCKED))
        self._pages_from = domain_rules(domain_list(security.allowed_domains, ALLOWED) or None)
        self._off = frozenset(toggle for toggle in TOGGLES if not getattr(security, toggle))
        if self._off:
            names = ", ".join(t for t in TOGGLES if t in self._off)
            if not security.allow_insecure_overrides:
                raise SpanielError(
                    Code.BAD_ARGS,
                    field=f"tools.webfetch.security: {names}",
                    reason="switching a block off needs allow_insecure_overrides = true",
                )
            log.warning("SSRF protection disabled for: %s", names)
        self._validator = validator or AddressValidator(resolver, self._off)
        self._made: OrderedDict[tuple[str, int], tuple[Sequence[Address], Target]] = OrderedDict()

    @property
    def overrides(self) -> str:
        """The blocks that are switched off, as one text: what is fetched without them is kept apart."""
        return ",".join(sorted(self._off))

    def with_any_port(self) -> Guard:
        """The same guard without FR-WF-05c, which is a rule of `web_fetch`: links may use any port (LH-06)."""
        other = copy(self)
        other._ports = EVERY_PORT  # noqa: SLF001  of the same class
        return other

    def check_form(self, url: Url) -> None:
        """What needs no resolver: the port, a literal address, a blocked domain (D2-04)."""
        if literal := literal_address(url.host):
            self._validator.validate_ip(literal)
        if url.effective_port not in self._ports:
            allowed = [] if self._ports is EVERY_PORT else list(self._ports)
            raise SpanielError(Code.PORT_BLOCKED, port=url.effective_port, allowed_ports=allowed)
        if self._nothing_from is not ANYWHERE:
            self._nothing_from.require(url)

    def check_page(self, url: Url, asked: DomainRules = ANYWHERE) -> None:
        """The same of a page, and whether pages may come from there: by the settings, and by whoever asks for it.

        It is asked of each page on the way, not of what a page loads into itself: that is from elsewhere as a rule.
        """
        self.check_form(url)
        for domains in (self._pages_from, asked):
            if domains is not ANYWHERE:
                domains.require(url)

    def vet_page(self, url: Url, deadline: Deadline, asked: DomainRules = ANYWHERE) -> Vetting:
        """Both at once, for whoever has nothing to do between them."""
        self.check_page(url, asked)
        return self._vet(url, deadline)

    def vet(self, url: Url, deadline: Deadline) -> Vetting:
        """Resolve once, judge every answer; whoever dials, dials one of these."""
        self.check_form(url)
        return self._vet(url, deadline)

    async def _vet(self, url: Url, deadline: Deadline) -> Target:
        with deadline.guarding("dns"):
            addresses = await self._validator.resolve_and_validate(url.host)
        key = url.host, url.effective_port
        made = self._made.get(key)
        if (
            made is not None and made[0] is addresses and isinstance(addresses, tuple) and not made[1].stale
        ):  # what a resolver keeps, judged anew
            return made[1]
        target = Target(*key, addresses, _SEAL, self._clock)
        self._made[key] = addresses, target
        self._made.move_to_end(key)
        if len(self._made) > MOST_MADE:
            self._made.popitem(last=False)
        return target
