"""Whom Chromium trusts: whom it knows, and the certificates of `ca_file`, as HTTP does."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from spaniel.app.client import Spaniel
from spaniel.app.diagnosis import chromium
from spaniel.app.settings import from_data
from spaniel.browser import certificates
from spaniel.browser.home import HomeOwner, make_home, remove_home
from spaniel.errors import SpanielError
from spaniel.testing import FakeResolver, Site
from tests.browser.harness import SITE, WORDS, chromium_path, html, open_web
from tests.net.servers import Server, Wire, answer, serve

NAME = "own.test"
PAGE = f"<!doctype html><h1>Own</h1><p>{WORDS * 12}</p>".encode()
MISSING = "libnss3.so: cannot open shared object file"


async def page(wire: Wire) -> None:
    while (request := await wire.request()) is not None:
        there = request.target != "/robots.txt"
        await wire.send(answer(200 if there else 404, PAGE if there else b"", "Content-Type: text/html"))


@asynccontextmanager
async def secure(certificate: trustme.LeafCert) -> AsyncIterator[Server]:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(tls)
    async with serve(page, SITE, tls) as server:
        yield server


def file_of(folder: Path, *authority: trustme.CA) -> str:
    path = folder / "ca.pem"
    path.write_bytes(b"Whom we trust:\n" + b"\n".join(one.cert_pem.bytes() for one in authority))
    return str(path)


async def outcome(server: Server, ca_file: str, name: str = NAME, path: str = "") -> str:
    async with open_web(server.port, names={name: SITE}, ca_file=ca_file, chromium_path=path or chromium_path()) as web:
        try:
            return "whole" if b"The otter" in (await web.render(f"https://{name}:{server.port}/")).body else "empty"
        except SpanielError as error:
            return f"{error.code} {error.details.get('error')}"


@pytest.mark.parametrize("program", ["the one under test", "chromium"])
async def test_an_authority_of_ones_own_is_trusted_where_the_file_has_it(program: str, tmp_path: Path) -> None:
    path = chromium_path() if program != "chromium" else shutil.which("chromium")
    if path is None:
        pytest.skip("there is no full Chromium beside the one under test")
    ours, other = trustme.CA(), trustme.CA()
    async with secure(ours.issue_cert(NAME)) as server:
        assert await outcome(server, file_of(tmp_path, other, ours), path=path) == "whole"
        assert "ERR_CERT_AUTHORITY_INVALID" in await outcome(server, "", path=path)
        assert "ERR_CERT_AUTHORITY_INVALID" in await outcome(server, file_of(tmp_path, other), path=path)


async def test_whom_the_file_vouches_for_is_still_looked_at(tmp_path: Path) -> None:
    """A name that is not the server's, and a time that is over."""
    ours = trustme.CA()
    ca_file = file_of(tmp_path, ours)
    async with secure(ours.issue_cert("another.test")) as server:
        assert "ERR_CERT_COMMON_NAME_INVALID" in await outcome(server, ca_file)
    over = datetime.now(UTC) - timedelta(days=1)
    async with secure(ours.issue_cert(NAME, not_after=over)) as server:
        assert "ERR_CERT_DATE_INVALID" in await outcome(server, ca_file)


async def test_self_signed_server_is_trusted_if_ca_file_has_its_certificate(tmp_path: Path) -> None:
    path = signed_for_itself(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(path)
    async with serve(page, SITE, tls) as server:
        assert await outcome(server, str(path)) == "whole"
        assert "ERR_CERT" in await outcome(server, "")


def signed_for_itself(folder: Path) -> Path:
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(days=9))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path = folder / "server.pem"
    path.write_bytes(private + made.public_bytes(Encoding.PEM))
    return path


async def test_the_setting_is_for_both_ways_to_a_page(tmp_path: Path) -> None:
    ours = trustme.CA()
    async with secure(ours.issue_cert(NAME)) as server:
        security = {"block_loopback": False, "allow_insecure_overrides": True, "allowed_ports": [server.port]}
        webfetch = {
            "cache_dir": f"{tmp_path}/cache",
            "security": security,
            "browser": {"chromium_path": chromium_path()},
        }
        for own, expected in (({"net": {"ca_file": file_of(tmp_path, ours)}}, "fetched"), ({}, "network")):
            settings = from_data({"tools": {"webfetch": webfetch}, "spaniel": own}, "test")
            async with Spaniel(settings, FakeResolver({NAME: SITE}, None)) as spaniel:
                for browser in (False, True):
                    try:
                        found = await spaniel.fetch(
                            f"https://{NAME}:{server.port}/", no_cache=True, force_browser=browser
                        )
                    except SpanielError as error:
                        assert str(error.code) == expected
                    else:
                        assert ("The otter" in found.markdown, expected) == (True, "fetched")


@pytest.fixture
def no_nss(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What a system without the library says."""
    writer = tmp_path / "writer.py"
    writer.write_text(f"import sys; sys.exit({MISSING!r})", encoding="ascii")
    monkeypatch.setattr(certificates, "WRITER", str(writer))


@pytest.mark.usefixtures("no_nss")
async def test_missing_trust_store_is_a_warning_and_pages_are_rendered(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ca_file = file_of(tmp_path, trustme.CA())
    with caplog.at_level(logging.WARNING, "spaniel.browser"):
        async with Site({"/": html(f"<p>{WORDS}</p>")}, SITE) as site, open_web(site.port, ca_file=ca_file) as web:
            assert b"The otter" in (await web.render(f"http://{SITE}:{site.port}/")).body
    assert f"ca_file does not apply to Chromium: {MISSING}" in caplog.text
    webfetch = {"browser": {"chromium_path": chromium_path()}}
    settings = from_data({"tools": {"webfetch": webfetch}, "spaniel": {"net": {"ca_file": ca_file}}}, "test")
    found = await asyncio.to_thread(chromium, settings)
    assert (found.well, MISSING in found.found, "Install libnss3" in found.cure) == (False, True, True)


async def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    async with Site({"/": html("<p>x</p>")}, SITE) as site, open_web(site.port, ca_file=f"{tmp_path}/none") as web:
        with pytest.raises(SpanielError) as caught:
            await web.render(f"http://{SITE}:{site.port}/")
    assert (str(caught.value.code), caught.value.details["field"]) == ("bad_args", "ca_file")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has another user run Chromium")
def test_what_it_trusts_belongs_to_whoever_runs_it_and_is_for_nobody_else() -> None:
    home = make_home(HomeOwner(65534, 65534), {"cert9.db": b"x"})
    try:
        made = [Path(home.path, *certificates.FOLDER[:count]) for count in (1, 2)]
        made.append(made[1] / "cert9.db")
        assert [(path.stat().st_uid, path.stat().st_mode & 0o777) for path in made] == [
            (65534, 0o700), (65534, 0o700), (65534, 0o600),
        ]  # fmt: skip
    finally:
        remove_home(home)
