"""The system's proxies, for those whose settings ask for them (FR-WF-10d, D2-20)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError
from spaniel.net.proxy import Proxies
from spaniel.url.hostlists import HostList

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def system_proxies(environ: Mapping[str, str]) -> Proxies | None:
    """`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, in small letters or capitals; None without any."""
    by_scheme = {scheme: proxy for scheme in ("http", "https") if (proxy := _proxy(scheme, environ))}
    if not by_scheme:
        return None
    return Proxies(by_scheme, HostList(_exceptions(_either("no_proxy", environ))))


def _proxy(scheme: str, environ: Mapping[str, str]) -> str:
    # In a CGI script HTTP_PROXY is the client's Proxy header (CVE-2016-5385); the small letters are never that.
    in_cgi = scheme == "http" and "REQUEST_METHOD" in environ
    own = environ.get("http_proxy", "") if in_cgi else _either(f"{scheme}_proxy", environ)
    found = own or _either("all_proxy", environ)
    if not found:
        return ""
    url = found if "://" in found else f"http://{found}"
    if not url.startswith("http://"):
        raise SpanielError(Code.BAD_ARGS, field=f"{scheme}_proxy", reason="only http:// proxies are spoken to")
    return url


def _either(name: str, environ: Mapping[str, str]) -> str:
    return environ.get(name) or environ.get(name.upper()) or ""


def _exceptions(text: str) -> Iterator[str]:
    """NO_PROXY: a domain means itself and all below it."""
    for part in text.replace(",", " ").split():
        name = part.removeprefix("*").removeprefix(".").partition(":")[0]
        if part == "*":
            yield "*"
        elif name:
            yield from (name, f"*.{name}")
