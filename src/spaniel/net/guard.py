"""The SSRF guard: connections need a `Target`, and only the guard creates one (FR-WF-05, FR-WF-06)."""

from __future__ import annotations

import logging
from collections import OrderedDict
from copy import copy
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, Protocol

from spaniel.defaults import PORTS
from spaniel.errors import Code, SpanielError
from spaniel.net.addresses import TOGGLES, Address, blocked
from spaniel.net.resolver import KEPT_SECONDS, MAX_ADDRESSES, failed
from spaniel.url.allowlist import ALLOWED, ANYWHERE, BLOCKED, domain_list, domain_rules
from spaniel.url.parsing import is_ipv4

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from spaniel.net.addresses import Address
    from spaniel.net.deadline import Deadline
    from spaniel.net.resolver import Resolver
    from spaniel.url.allowlist import DomainRules
    from spaniel.url.value import Url

    Vetting = Coroutine[object, object, "Target"]

MAX_PASSED = 4096  # hosts

log = logging.getLogger("spaniel.protection")  # a separate name, so that no option hides its warnings

EVERY_PORT = range(1, 1 << 16)
MAX_TARGETS = 4096  # reused for as long as the resolver caches their addresses

_SEAL = object()


class SsrfValidator(Protocol):
    """Judges addresses; tests can replace it."""

    def validate_ip(self, ip: Address) -> None:
        """Raises `ssrf_blocked`."""

    async def resolve_and_validate(self, host: str) -> Sequence[Address]:
        """All addresses of a host, if every one passes."""


class AddressValidator:
    """Judges by the table of ranges, without the blocks that are switched off."""

    def __init__(self, resolver: Resolver, off: frozenset[str] = frozenset()) -> None:
        self._resolver = resolver
        self._off = off
        self._passed: dict[str, Sequence[Address]] = {}  # the addresses judged last, by host

    def validate_ip(self, ip: Address) -> None:
        if found := blocked(ip, self._off):
            raise SpanielError(
                Code.SSRF_BLOCKED, blocked_ip=str(ip), cidr=found.cidr, toggle=found.toggle, what=found.what
            )

    async def resolve_and_validate(self, host: str) -> Sequence[Address]:
        literal = literal_address(host)
        addresses = [literal] if literal else await self._resolver.resolve(host)
        if self._passed.get(host) is addresses:  # the same immutable tuple has passed before
            return addresses
        if not addresses:
            raise failed(host, "it has no address")
        if len(addresses) > MAX_ADDRESSES:
            raise failed(host, f"more than {MAX_ADDRESSES} addresses")
        for address in addresses:  # one bad address refuses the host: any of them might be dialled
            self.validate_ip(address)
        if isinstance(addresses, tuple):  # immutable
            if len(self._passed) >= MAX_PASSED:
                self._passed.clear()
            self._passed[host] = addresses
        return addresses


@lru_cache(maxsize=4096)
def literal_address(host: str) -> Address | None:
    """The address if the host of a URL is an IP literal."""
    if host.startswith("["):
        return IPv6Address(host[1:-1])
    return IPv4Address(host) if is_ipv4(host) else None


class Security(NamedTuple):
    """The settings `[tools.webfetch.security]`."""

    block_private_ips: bool = True
    block_loopback: bool = True
    block_link_local: bool = True
    block_reserved: bool = True
    allowed_ports: tuple[int, ...] = PORTS
    allow_insecure_overrides: bool = False
    allowed_domains: tuple[str, ...] = ()  # empty: any
    blocked_domains: tuple[str, ...] = ()


class Target:
    """Proof that a host was resolved once and that all its addresses passed. Only a guard can create one."""

    __slots__ = ("_clock", "_judged", "addresses", "host", "pins", "port")

    host: str
    port: int
    addresses: tuple[Address, ...]
    pins: frozenset[bytes]  # the packed addresses: part of the connection pool's key
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
        """Whether the name must be resolved and judged again before it is dialled (D2-39)."""
        return self._clock() - self._judged >= KEPT_SECONDS

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Target is proof: its {name} stays what it was when it was judged")

    def __repr__(self) -> str:
        return f"Target({self.host}:{self.port} at {', '.join(map(str, self.addresses))})"


class Guard:
    """Judges ports, domains, literal addresses, and (through the validator) every address that a name resolves to."""

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
        self._targets: OrderedDict[tuple[str, int], tuple[Sequence[Address], Target]] = OrderedDict()

    @property
    def overrides(self) -> str:
        """The blocks that are switched off, as text: part of the cache key."""
        return ",".join(sorted(self._off))

    def with_any_port(self) -> Guard:
        """The same guard without FR-WF-05c, a rule of `web_fetch`: links may use any port (LH-06)."""
        other = copy(self)
        other._ports = EVERY_PORT  # noqa: SLF001  of the same class
        return other

    def check_form(self, url: Url) -> None:
        """The checks that need no resolver: port, literal address, blocked domain (D2-04)."""
        if literal := literal_address(url.host):
            self._validator.validate_ip(literal)
        if url.effective_port not in self._ports:
            allowed = [] if self._ports is EVERY_PORT else list(self._ports)
            raise SpanielError(Code.PORT_BLOCKED, port=url.effective_port, allowed_ports=allowed)
        if self._nothing_from is not ANYWHERE:
            self._nothing_from.require(url)

    def check_page(self, url: Url, asked: DomainRules = ANYWHERE) -> None:
        """`check_form` for a page (at each hop, not for its subresources), and the allowed domains of the settings and
        of the request.
        """
        self.check_form(url)
        for domains in (self._pages_from, asked):
            if domains is not ANYWHERE:
                domains.require(url)

    def vet_page(self, url: Url, deadline: Deadline, asked: DomainRules = ANYWHERE) -> Vetting:
        """`check_page` and `vet` in one step."""
        self.check_page(url, asked)
        return self._vet(url, deadline)

    def vet(self, url: Url, deadline: Deadline) -> Vetting:
        """Resolve once and judge every address; only these are dialled."""
        self.check_form(url)
        return self._vet(url, deadline)

    async def _vet(self, url: Url, deadline: Deadline) -> Target:
        with deadline.guarding("dns"):
            addresses = await self._validator.resolve_and_validate(url.host)
        key = url.host, url.effective_port
        made = self._targets.get(key)
        # The resolver returned its cached tuple: reuse the target that was made of it.
        if made is not None and made[0] is addresses and isinstance(addresses, tuple) and not made[1].stale:
            return made[1]
        target = Target(*key, addresses, _SEAL, self._clock)
        self._targets[key] = addresses, target
        self._targets.move_to_end(key)
        if len(self._targets) > MAX_TARGETS:
            self._targets.popitem(last=False)
        return target
