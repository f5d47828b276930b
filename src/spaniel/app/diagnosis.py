"""Checks what Spaniel needs on this machine, and says how to fix problems."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple

from spaniel.app.proxies import system_proxies, unused_proxies
from spaniel.app.settings import Settings, load
from spaniel.browser.certificates import TrustStoreError, database
from spaniel.browser.find import locate
from spaniel.cache.maintenance import CacheMaintenance
from spaniel.defaults import PORTS
from spaniel.errors import Code, SpanielError, install_command
from spaniel.net.connector import tls_context
from spaniel.net.deadline import Deadline
from spaniel.net.guard import Guard, Security
from spaniel.net.resolver import SystemResolver
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spaniel.net.addresses import Address

OLDEST_PYTHON = (3, 11)
SECONDS = 10.0


class Diagnosis(NamedTuple):
    """One check; `cure` is set if it failed."""

    what: str
    well: bool
    found: str
    cure: str = ""


async def examine(config: str | None = None, host: str = "example.com") -> list[Diagnosis]:
    """Run all checks. No page is fetched; one name is resolved."""
    settings, about_settings = _settings(config)
    return [
        _python(),
        _reading(),
        _pdf(),
        about_settings,
        _user_agent(settings),
        _certificates(settings),
        _proxy(settings),
        _cache(settings),
        await asyncio.to_thread(chromium, settings),
        await _dns(host),
        await _guard(settings),
    ]


def _python() -> Diagnosis:
    found = f"{sys.version.split()[0]} at {sys.executable}"
    well = sys.version_info >= OLDEST_PYTHON
    return Diagnosis("python", well, found, "" if well else "Install Python 3.11 or newer.")


def _reading() -> Diagnosis:
    """Whether the compiled judge is used; the Python one decides the same and is not a problem."""
    from spaniel.reading.content import is_compiled

    found = "compiled" if is_compiled() else "in Python; installed where there is a C compiler, it is twice as fast"
    return Diagnosis("reading", True, found)


def _pdf() -> Diagnosis:
    """PDF support is an extra: without it PDFs are refused, and everything else works."""
    if find_spec("pypdfium2") is None:
        return Diagnosis("pdf", True, f"not read; to read PDFs: {install_command('pdf')}")
    return Diagnosis("pdf", True, f"read, with pypdfium2 {version('pypdfium2')}")


def _settings(config: str | None) -> tuple[Settings, Diagnosis]:
    """If a file is invalid, the defaults are used for the remaining checks."""
    try:
        settings = load(config)
    except SpanielError as error:
        cure = "Correct the file; 'spaniel config init' writes one to start from."
        return Settings(), Diagnosis("settings", False, error.message, cure)
    files = [place.path for place in settings.looked_for if place.found]
    return settings, Diagnosis("settings", True, ", ".join(files) or "no file: the defaults")


def _user_agent(settings: Settings) -> Diagnosis:
    """Operators of servers should be able to contact a heavy user; the default user agent has no contact."""
    agent = settings.headers.user_agent
    if "@" in agent or "://" in agent:
        return Diagnosis("agent", True, agent)
    advice = 'user_agent = "my-agent/1.0 (+https://my.example/contact)" under [tools.webfetch]'
    return Diagnosis("agent", True, f"{agent}; it has no contact address. To add one: {advice}, or SPANIEL_USER_AGENT")


def _certificates(settings: Settings) -> Diagnosis:
    path = settings.ca_file
    if not path:
        return Diagnosis("trust", True, "the system's certificates")
    try:
        tls_context(path)
    except SpanielError as error:
        cure = "Correct ca_file under [spaniel.net]: it must be a file with certificates in PEM form."
        return Diagnosis("trust", False, error.message, cure)
    return Diagnosis("trust", True, f"the system's certificates and those in {path}")


def _proxy(settings: Settings) -> Diagnosis:
    if not settings.uses_system_proxy:
        names = ", ".join(unused_proxies(os.environ))
        advice = "to use it, set use_system_proxy = true under [tools.webfetch.http]"
        return Diagnosis("proxy", True, f"{names} is set but not used; {advice}" if names else "none")
    try:
        found = system_proxies(os.environ)
    except SpanielError as error:
        return Diagnosis("proxy", False, error.message, "Use a proxy that begins with http://, or none.")
    return Diagnosis("proxy", True, f"for {' and '.join(found.by_scheme)}" if found else "none is set")


def _cache(settings: Settings) -> Diagnosis:
    folder = settings.cache.folder
    cure = "Make the folder your own (chmod 700), or set tools.webfetch.cache_dir. See also 'spaniel cache verify'."
    try:
        with CacheMaintenance(folder, create=True) as upkeep:
            stats = upkeep.stats()
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x")
            file.flush()
    except SpanielError as error:
        return Diagnosis("cache", False, error.message, cure)
    except OSError as error:
        return Diagnosis("cache", False, f"{folder} cannot be written: {error.strerror}", cure)
    return Diagnosis("cache", True, f"{folder}: {stats.entries} entries, {stats.bytes / 1e6:.1f} MB")


def chromium(settings: Settings) -> Diagnosis:
    """The browser that would be used: its version, and whether its sandbox works here."""
    if not settings.uses_browser:
        return Diagnosis("chromium", True, "disabled (tools.webfetch.browser.enabled = false)")
    try:
        found = locate(settings.browser.chromium_path, no_sandbox=settings.browser.no_sandbox)
    except SpanielError as error:
        cure = "Use another with tools.webfetch.browser.chromium_path, or set tools.webfetch.browser.enabled = false."
        if "sandbox" in error.message:
            cure = "Allow user namespaces, or run Spaniel as a user who may use them."
        elif error.details.get("cause") == "missing":
            cure = "Install chromium-headless-shell or chromium, or set chromium_path of tools.webfetch.browser."
        elif "cause" in error.details:
            cure = error.hint
        return Diagnosis("chromium", False, error.message, cure)
    fields = f"{found.version} at {found.path}, in its sandbox"
    if settings.ca_file:
        try:
            database(settings.ca_file)
        except TrustStoreError as error:
            cure = "Install libnss3 (on macOS: add the certificates to the keychain), or fetch without the browser."
            return Diagnosis("chromium", False, f"{fields}; ca_file does not apply to it: {error}", cure)
        except SpanielError:
            pass  # which the check "trust" reports
    return Diagnosis("chromium", True, fields)


async def _dns(host: str) -> Diagnosis:
    try:
        addresses = await SystemResolver().resolve(host)
    except SpanielError as error:
        cure = "Check the network and the resolver (/etc/resolv.conf), or look up another name with --host."
        return Diagnosis("dns", False, error.message, cure)
    return Diagnosis("dns", True, f"{host} is at {', '.join(map(str, addresses[:4]))}")


class _Answers:
    """A resolver for the self-test, with fixed addresses."""

    def __init__(self, *addresses: str) -> None:
        self._addresses = [ip_address(address) for address in addresses]

    async def resolve(self, _host: str) -> Sequence[Address]:
        return self._addresses


PUBLIC = "93.184.215.14"
SHUT = (  # (URL, the addresses of its name, the expected refusal)
    ("http://name.example/", ("10.0.0.5",), Code.SSRF_BLOCKED),
    ("http://name.example/", (PUBLIC, "127.0.0.1"), Code.SSRF_BLOCKED),
    ("http://name.example/", ("::ffff:192.168.0.1",), Code.SSRF_BLOCKED),
    ("http://name.example/", ("64:ff9b::7f00:1",), Code.SSRF_BLOCKED),
    ("http://169.254.169.254/", (), Code.SSRF_BLOCKED),
    ("http://[::1]/", (), Code.SSRF_BLOCKED),
    ("http://100.64.0.1/", (), Code.SSRF_BLOCKED),
    ("http://0x7f000001/", (), Code.INVALID_HOST),
    ("http://name.example:22/", (PUBLIC,), Code.PORT_BLOCKED),
    ("file:///etc/passwd", (), Code.INVALID_SCHEME),
)


async def _guard(settings: Settings) -> Diagnosis:
    """The guard with these settings: it refuses what it must, and a public address passes. No connection is made."""
    security = settings.security
    if off := settings.protection_off:
        cure = "Set it to true again under [tools.webfetch.security]."
        return Diagnosis("guard", False, f"disabled: {', '.join(off)}", cure)
    wrong = [url for url, addresses, code in SHUT if await _judged(url, addresses, security) != code]
    if await _judged(f"https://{PUBLIC}/", (), security) is not None:
        wrong.append(PUBLIC)
    if wrong:
        return Diagnosis(
            "guard",
            False,
            f"wrong result for: {', '.join(wrong)}",
            "Do not use it, and please report this.",
        )
    return Diagnosis("guard", True, f"refused {len(SHUT)} of {len(SHUT)} forbidden addresses, allowed a public one")


async def _judged(url: str, addresses: Sequence[str], security: Security) -> Code | None:
    # The port list is the user's choice; the self-test is about the guard.
    guard = Guard(_Answers(*addresses), security._replace(allowed_ports=PORTS))
    try:
        await guard.vet(parse(url), Deadline(SECONDS))
    except SpanielError as error:
        return error.code
    return None
