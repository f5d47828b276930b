"""A system proxy, where the settings ask for one: the judged address is asked for, never the name (D2-20)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from yarl import URL

if TYPE_CHECKING:
    from spaniel.net.guard import Target
    from spaniel.url.hostlists import HostList
    from spaniel.url.value import Url


class Proxy(NamedTuple):
    """One proxy, by its URL."""

    url: str

    def ask(self, url: Url, target: Target) -> tuple[URL, dict[str, Any]]:
        """The request as the proxy gets it: for an address that passed, with Host and SNI still the name."""
        address = min(target.addresses, key=lambda ip: ip.version)
        host = f"[{address}]" if address.version == 6 else str(address)
        where = url._replace(host=host, fragment=None)
        authority = url.host if url.port is None else f"{url.host}:{url.port}"
        options: dict[str, Any] = {"proxy": self.url, "headers": {"Host": authority}}
        if url.scheme == "https":
            options["server_hostname"] = url.host.strip("[]")
        return URL(where.href, encoded=True), options


class Proxies(NamedTuple):
    """Which proxy serves which scheme, and which hosts none."""

    by_scheme: dict[str, str]
    direct: HostList

    def choose(self, url: Url) -> Proxy | None:
        proxy = self.by_scheme.get(url.scheme)
        return Proxy(proxy) if proxy and url.host not in self.direct else None
