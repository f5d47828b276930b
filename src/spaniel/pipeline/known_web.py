"""What was learnt of the web, for a URL policy to use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.url.questions import Web
from spaniel.url.value import split

if TYPE_CHECKING:
    from spaniel.pipeline.ports import Hosts
    from spaniel.url import Canonical, Policy


class KnownWeb(Web):
    """Which hosts lack HTTPS (FG-13). Of the rest nothing is known."""

    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts

    def lacks_https(self, host: str) -> bool | None:
        return self._hosts.is_http_only(host) or None


def canonical(policy: Policy, raw: str, hosts: Hosts) -> Canonical:
    """The canonical form of a URL. The web is asked about only where HTTP became HTTPS, which is seldom and quick."""
    found = policy.apply(raw)
    if not found.url.startswith("https://") or not found.original.strip().lower().startswith("http://"):
        return found
    return policy.apply(raw, KnownWeb(hosts)) if hosts.is_http_only(split(found.url).host) else found
