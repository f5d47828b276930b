"""The system's proxies, if the settings use them (FR-WF-10d, D2-20)."""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError
from spaniel.net.proxy import Proxies
from spaniel.url.hostlists import HostList

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

log = logging.getLogger("spaniel.settings")


def system_proxies(environ: Mapping[str, str]) -> Proxies | None:
    """`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, in lower or upper case; None without any."""
    by_scheme = {scheme: proxy for scheme in ("http", "https") if (proxy := _proxy(scheme, environ))}
    if not by_scheme:
        return None
    return Proxies(by_scheme, HostList(_exceptions(_either("no_proxy", environ))))


def unused_proxies(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that name a proxy, in order of precedence: for settings that use none."""
    small = ("http_proxy", "https_proxy", "all_proxy")
    names = [name for either in small for name in (either, either.upper()) if environ.get(name)]
    return tuple(name for name in names if name != "HTTP_PROXY" or "REQUEST_METHOD" not in environ)


def warn_of_unused_proxies(environ: Mapping[str, str]) -> None:
    """Warn once in a process that a proxy is set but not used: without it a fetch may reach nothing."""
    if names := unused_proxies(environ):
        _warn_of(names)


@cache
def _warn_of(names: tuple[str, ...]) -> None:
    log.warning(
        "a proxy is set (%s) but not used; to use it set use_system_proxy = true under [tools.webfetch.http]",
        ", ".join(names),
    )


def _proxy(scheme: str, environ: Mapping[str, str]) -> str:
    # In a CGI script HTTP_PROXY is the client's Proxy header (CVE-2016-5385); the lower-case variable is never that.
    in_cgi = scheme == "http" and "REQUEST_METHOD" in environ
    own = environ.get("http_proxy", "") if in_cgi else _either(f"{scheme}_proxy", environ)
    found = own or _either("all_proxy", environ)
    if not found:
        return ""
    url = found if "://" in found else f"http://{found}"
    if not url.startswith("http://"):
        raise SpanielError(Code.BAD_ARGS, field=f"{scheme}_proxy", reason="only http:// proxies are supported")
    return url


def _either(name: str, environ: Mapping[str, str]) -> str:
    return environ.get(name) or environ.get(name.upper()) or ""


def _exceptions(text: str) -> Iterator[str]:
    """NO_PROXY: a domain includes its subdomains."""
    for part in text.replace(",", " ").split():
        name = part.removeprefix("*").removeprefix(".").partition(":")[0]
        if part == "*":
            yield "*"
        elif name:
            yield from (name, f"*.{name}")
