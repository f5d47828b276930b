"""What one page leaves behind is not seen by the next, nor by one that is open at the same time."""

from __future__ import annotations

import asyncio
import functools
import ssl
from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509 import load_pem_x509_certificate

from spaniel.browser import renderer
from spaniel.browser.flags import FLAGS
from spaniel.browser.launch import launch
from spaniel.errors import SpanielError
from spaniel.testing import Page, Site
from tests.browser.harness import SITE, html, open_web, script
from tests.net.servers import Wire, answer, authority, serve, tls_for

if TYPE_CHECKING:
    import trustme

REMEMBER = """
document.cookie = 'seen=1; max-age=9999'; localStorage.seen = 1; sessionStorage.seen = 1; window.name = 'seen';
const made = indexedDB.open('seen'); made.onsuccess = () => { document.title = 'db'; };
caches.open('seen').then((c) => c.put('/seen', new Response('x')));
navigator.serviceWorker.register('/sw.js').then(() => navigator.serviceWorker.ready);
new BroadcastChannel('seen').postMessage('seen');
fetch('/cached').then(() => fetch('/cached'));
"""
RECALL = """
const say = (what) => document.body.insertAdjacentHTML('beforeend', `<p>${what}</p>`);
if (document.cookie) say('COOKIE'); if (localStorage.seen) say('LOCAL'); if (sessionStorage.seen) say('SESSION');
if (window.name) say('NAME'); if (navigator.serviceWorker.controller) say('WORKER');
indexedDB.databases().then((all) => all.length && say('DATABASE'));
caches.keys().then((all) => all.length && say('CACHE'));
navigator.serviceWorker.getRegistrations().then((all) => all.length && say('WORKER'));
new BroadcastChannel('seen').onmessage = () => say('CHANNEL');
fetch('/cached').then(() => say('asked'));
"""
PAGES: dict[str, Page] = {
    "/remember": html(f"<h1>A</h1><script>{REMEMBER}</script>", Set_Cookie="header=1"),
    "/recall": html(f"<h1>B</h1><script>{RECALL}</script>"),
    "/both": html(f"<h1>A</h1><script>{REMEMBER}</script><script>setTimeout(() => {{ {RECALL} }}, 300)</script>"),
    "/cached": (200, {"Content-Type": "text/plain", "Cache-Control": "max-age=9999"}, b"x"),
    "/sw.js": script("oninstall = () => skipWaiting(); onactivate = (e) => e.waitUntil(clients.claim())"),
}
TRACES = ("COOKIE", "LOCAL", "SESSION", "NAME", "WORKER", "DATABASE", "CACHE", "CHANNEL")


async def test_nothing_is_left_for_the_next_page_or_the_one_beside_it() -> None:
    async with Site(PAGES, SITE) as site, open_web(site.port) as web:
        base = f"http://{SITE}:{site.port}"
        control = (await web.render(f"{base}/both")).body.decode()
        assert [trace for trace in TRACES if trace not in control] == [
            "CHANNEL"
        ]  # within one page all but that is seen
        once = site.requests["/cached"]
        assert once == 1  # and its cache works
        await web.render(f"{base}/remember")
        after = (await web.render(f"{base}/recall")).body.decode()
        beside = await asyncio.gather(*(web.render(f"{base}/{path}") for path in ("remember", "recall", "remember")))
        for page in (after, beside[1].body.decode()):
            assert "asked" in page
            assert [trace for trace in TRACES if trace in page] == []
        assert site.requests["/cached"] == once + 5


async def test_strict_transport_security_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that has asked for HTTPS is asked by HTTP again, by the next page."""

    async def secure(wire: Wire) -> None:
        while (request := await wire.request()) is not None:
            go = "<script>if (!location.search) location = location.href.replace('https', 'http') + '?2'</script>"
            body = f"<h1>{'second' if '?2' in request.target else 'first'}</h1>{go}".encode()
            fields = ("Strict-Transport-Security: max-age=9999", "Content-Type: text/html")
            await wire.send(answer(200, body, *fields))

    certificate = authority().issue_cert("strict.test")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(tls)
    trusting = functools.partial(
        launch, flags=(*FLAGS, f"--ignore-certificate-errors-spki-list={_key_of(certificate)}")
    )
    monkeypatch.setattr(renderer, "launch", trusting)
    async with (
        serve(secure, SITE, tls) as server,
        open_web(server.port, names={"strict.test": SITE}) as web,
    ):
        control = await web.render(f"https://strict.test:{server.port}/")
        assert (control.url.scheme, b"second" in control.body) == (
            "https",
            True,
        )  # sent to http, it stayed at https
        with pytest.raises(SpanielError) as caught:
            await web.render(f"http://strict.test:{server.port}/?2")
        assert str(caught.value.code) == "network"


async def test_a_certificate_that_nobody_vouches_for_is_refused() -> None:
    async with (
        serve(lambda wire: wire.send(b""), SITE, tls_for("strict.test")) as server,
        open_web(server.port, names={"strict.test": SITE}) as web,
    ):
        with pytest.raises(SpanielError) as caught:
            await web.render(f"https://strict.test:{server.port}/")
    assert str(caught.value.code) == "network"
    assert "CERT" in caught.value.message


def _key_of(certificate: trustme.LeafCert) -> str:
    """A certificate's key as Chromium's flag wants it."""
    loaded = load_pem_x509_certificate(certificate.cert_chain_pems[0].bytes())
    key = loaded.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return b64encode(sha256(key).digest()).decode()
