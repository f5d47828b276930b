"""A system proxy, where the settings ask for one: the judged address is asked for, never the name (D2-20)."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from spaniel.net.guard import Target
    from spaniel.url.hostlists import HostList
    from spaniel.url.value import Url


class Proxy(NamedTuple):
    """One proxy, by its URL."""

    url: str

    @property
    def place(self) -> tuple[str, int]:
        """The host and port that it listens at; `ValueError` where the URL names none."""
        from urllib.parse import urlsplit

        parts = urlsplit(self.url)
        if not parts.hostname:
            raise ValueError("the proxy's URL has no host")
        return parts.hostname, parts.port or 80

    @property
    def credentials(self) -> str:
        """The header line that it wants, if its URL has a user."""
        from urllib.parse import unquote, urlsplit

        try:
            parts = urlsplit(self.url)
        except ValueError:  # whoever dials it will say so
            return ""
        if not parts.username:
            return ""
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        return f"Proxy-Authorization: Basic {b64encode(pair.encode()).decode()}\r\n"


class Proxies(NamedTuple):
    """Which proxy serves which scheme, and which hosts none."""

    by_scheme: dict[str, str]
    direct: HostList

    def choose(self, url: Url) -> Proxy | None:
        proxy = self.by_scheme.get(url.scheme)
        return Proxy(proxy) if proxy and url.host not in self.direct else None


def literal(target: Target) -> str:
    """A judged address, as it stands in a URL."""
    address = min(target.addresses, key=lambda ip: ip.version)
    return f"[{address}]" if address.version == 6 else str(address)
