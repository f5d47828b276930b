"""Who may call the service, from where, and how much.

A page in a browser on the same machine can send requests to a service on loopback. `Host` (against DNS rebinding),
`Origin` and `Sec-Fetch-Site` are therefore checked before anything else; a cross-site `<img>` sends no `Origin`.
"""

from __future__ import annotations

import asyncio
import hmac
import math
from collections import OrderedDict
from hashlib import sha256
from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple

from spaniel.api.errors import ApiError, forbidden, misdirected, rate_limited, unauthorized

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from spaniel.app.serving import CallerLimits, NamedToken, ServeSettings
    from spaniel.clock import Clock

MOST_HOSTS = 100
MOST_CALLERS = 10_000  # whose use is remembered; the one that called longest ago is forgotten first
LONGEST_QUEUE_SECONDS = 30.0  # for a place among the concurrent requests of a caller
OWN_SITE = ("same-origin", "none")  # values of Sec-Fetch-Site that need no permission


class Caller(NamedTuple):
    """A client: by its token, else by its address."""

    name: str
    limits: CallerLimits


class Access:
    """Decides from the head of a request whether it is served, and for whom."""

    def __init__(self, settings: ServeSettings, tokens: Sequence[NamedToken] = ()) -> None:
        self._settings = settings
        self._tokens = tokens
        self._known_hosts: set[str] = set()  # that were judged and are ours
        self._callers = {token.name: Caller(f"token:{token.name}", token.limits) for token in tokens}

    def check_host(self, host: str) -> None:
        """Refuse a `Host` that is not ours (421): a name that an attacker pointed at this address."""
        if host in self._known_hosts:
            return
        name = _host_name(host)
        if name in self._settings.allowed_hosts or _is_loopback(name):
            self._remember_host(host)
            return
        # Off loopback a token is required, so the name only has to be one that cannot be a public site's.
        if self._settings.is_public and (_is_address(name) or "." not in name.strip(".")) and name:
            return
        raise misdirected(name)

    def _remember_host(self, host: str) -> None:
        if len(self._known_hosts) < MOST_HOSTS:
            self._known_hosts.add(host)

    def check_origin(self, headers: Mapping[str, str], *, opens_page: bool = False) -> None:
        """Refuse what another site's page sent (403). `opens_page`: a link to our own page may be followed."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is not None and origin in self._settings.allowed_origins:
            return
        if origin is not None and not _is_same(origin, headers.get("host", "")):
            raise forbidden("Requests from pages of another site are refused", "serve.allowed_origins")
        if site is None or site.lower() in OWN_SITE or opens_page:
            return
        raise forbidden("Requests from pages of another site are refused", "serve.allowed_origins")

    def caller(self, authorization: str, address: str) -> Caller:
        """The caller by its token, or by its address if no tokens are configured."""
        if not self._tokens:
            return Caller(f"address:{address}", self._settings.limits)
        digest = sha256(_bearer(authorization).encode("utf-8", "surrogateescape")).digest()
        found = None
        for token in self._tokens:  # all of them, so that the time says nothing about which one matched
            if hmac.compare_digest(token.digest, digest):
                found = token
        if found is None:
            raise unauthorized()
        return self._callers[found.name]

    def address(self, peer: str, forwarded: str) -> str:
        """The client's address: behind proxies that the settings name, the last one that is not a proxy."""
        trusted = self._settings.trusted_proxies
        if peer not in trusted or not forwarded:
            return peer
        for hop in reversed([part.strip() for part in forwarded.split(",")]):
            if hop not in trusted:
                return hop if _is_address(hop) else peer
        return peer


class Limits:
    """How much each caller uses: requests in a minute, and at the same time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._use: OrderedDict[str, _Use] = OrderedDict()

    def admit(self, caller: Caller, *, counts: bool = True) -> Admission:
        """`async with`: a place among the caller's concurrent requests; 429 if its limits are reached.

        `counts=False`: an event stream, which stays open for long and is limited by its own number.
        """
        use = self._use.get(caller.name)
        if use is None:
            use = self._use[caller.name] = _Use(float(caller.limits.requests_per_minute), self._clock.monotonic())
            if len(self._use) > MOST_CALLERS:
                self._forget()
        self._use.move_to_end(caller.name)
        use.spend(caller.limits.requests_per_minute, self._clock.monotonic())
        return Admission(use, caller.limits, streams=not counts)

    def _forget(self) -> None:
        for name, use in list(self._use.items())[: MOST_CALLERS // 10]:
            if not use.busy and not use.streams:
                del self._use[name]


class _Use:
    __slots__ = ("at", "busy", "left", "streams", "waiting")

    def __init__(self, left: float, at: float) -> None:
        self.left, self.at = left, at  # requests that may still be made, and when that was computed
        self.busy = self.streams = 0
        self.waiting: OrderedDict[asyncio.Future[None], None] = OrderedDict()

    def spend(self, per_minute: int, now: float) -> None:
        if per_minute <= 0:  # no limit
            return
        self.left = min(float(per_minute), self.left + (now - self.at) * per_minute / 60)
        self.at = now
        if self.left < 1:
            raise rate_limited(math.ceil((1 - self.left) * 60 / per_minute), "requests per minute")
        self.left -= 1


class Admission:
    """A request of a caller that is being served."""

    __slots__ = ("_limits", "_streams", "_use")

    def __init__(self, use: _Use, limits: CallerLimits, *, streams: bool) -> None:
        self._use, self._limits, self._streams = use, limits, streams

    async def __aenter__(self) -> None:
        use, limits = self._use, self._limits
        if self._streams:
            if use.streams >= limits.streams:
                raise rate_limited(5, "event streams at the same time")
            use.streams += 1
            return
        if use.busy < limits.concurrent:
            use.busy += 1
            return
        if len(use.waiting) >= limits.waiting:
            raise rate_limited(1, "requests at the same time")
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        use.waiting[place] = None
        try:
            async with asyncio.timeout(LONGEST_QUEUE_SECONDS):
                await place
        except BaseException as error:
            use.waiting.pop(place, None)
            if place.done() and not place.cancelled():  # it was given a place just before
                self._release()
            if isinstance(error, TimeoutError):
                raise rate_limited(1, "requests at the same time") from None
            raise

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._streams:
            self._use.streams -= 1
        else:
            self._release()

    def _release(self) -> None:
        """The place goes to the request that has waited longest."""
        while self._use.waiting:
            place, _ = self._use.waiting.popitem(last=False)
            if not place.done():
                place.set_result(None)
                return
        self._use.busy -= 1


def _bearer(authorization: str) -> str:
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _host_name(host: str) -> str:
    """The name in a `Host` header, without its port."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[1 : host.find("]")] if "]" in host else ""
    return host.partition(":")[0].removesuffix(".")


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _is_loopback(name: str) -> bool:
    return name == "localhost" or name.endswith(".localhost") or (_is_address(name) and ip_address(name).is_loopback)


def _is_same(origin: str, host: str) -> bool:
    """Whether an origin is our own, by the `Host` that was checked before."""
    own = host.strip().lower()
    return origin.lower() in (f"http://{own}", f"https://{own}")


__all__ = ["Access", "ApiError", "Caller", "Limits"]
