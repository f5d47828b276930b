"""Pages that try to reach an address which is not public: one way each.

`{v}` is the victim's origin, `{h}` its host and port; the page's own site redirects `/to?URL` to URL.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Vector(NamedTuple):
    """A page, what else its site serves, and the headers that it comes with."""

    body: str
    more: Mapping[str, str] = MappingProxyType({})  # paths and scripts
    headers: Mapping[str, str] = MappingProxyType({})


def run(script: str) -> Vector:
    return Vector(f"<script>{script}</script>")


FROM_BLOB = "const u = (s) => URL.createObjectURL(new Blob([s], {{type: 'text/javascript'}}));"

VECTORS: dict[str, Vector] = {
    # what a script can ask for
    "fetch": run("fetch('{v}/')"),
    "fetch no-cors": run("fetch('{v}/', {{mode: 'no-cors'}})"),
    "fetch keepalive": run("fetch('{v}/', {{mode: 'no-cors', keepalive: true}})"),
    "fetch post": run("fetch('{v}/', {{mode: 'no-cors', method: 'POST', body: 'x'}})"),
    "xhr": run("const x = new XMLHttpRequest(); x.open('GET', '{v}/'); x.send()"),
    "synchronous xhr": run(
        "const x = new XMLHttpRequest(); x.open('GET', '{v}/', false); try {{ x.send() }} catch {{}}"
    ),
    "websocket": run("new WebSocket('ws://{h}/')"),
    "secure websocket": run("new WebSocket('wss://{h}/')"),
    "eventsource": run("new EventSource('{v}/')"),
    "beacon": run("navigator.sendBeacon('{v}/', 'x')"),
    "import": run("import('{v}/x.js').catch(() => 0)"),
    "new image": run("new Image().src = '{v}/'"),
    "webrtc stun": run(
        "const p = new RTCPeerConnection({{iceServers: [{{urls: 'stun:{h}'}}]}}); p.createDataChannel('x');"
        "p.createOffer().then((o) => p.setLocalDescription(o))"
    ),
    "webrtc turn tcp": run(
        "const p = new RTCPeerConnection({{iceServers: [{{urls: 'turn:{h}?transport=tcp', username: 'u', "
        "credential: 'c'}}]}}); p.createDataChannel('x'); p.createOffer().then((o) => p.setLocalDescription(o))"
    ),
    "webtransport": run("new WebTransport('https://{h}/').ready.catch(() => 0)"),
    # workers
    "dedicated worker": run(FROM_BLOB + "new Worker(u(`fetch('{v}/', {{mode: 'no-cors'}})`))"),
    "worker importScripts": run(FROM_BLOB + "new Worker(u(`importScripts('{v}/x.js')`))"),
    "worker websocket": run(FROM_BLOB + "new Worker(u(`new WebSocket('ws://{h}/')`))"),
    "worker in a worker": run(
        FROM_BLOB
        + "new Worker(u(`new Worker(URL.createObjectURL(new Blob([\"fetch('{v}/', {{mode: 'no-cors'}})\"])))`))"
    ),
    "shared worker": Vector(
        "<script>new SharedWorker('/shared.js')</script>", {"/shared.js": "fetch('{v}/', {{mode: 'no-cors'}})"}
    ),
    "service worker": Vector(
        "<script>navigator.serviceWorker.register('/sw.js')</script>",
        {"/sw.js": "oninstall = (e) => e.waitUntil(fetch('{v}/', {{mode: 'no-cors'}}))"},
    ),
    "service worker import": Vector(
        "<script>navigator.serviceWorker.register('/sw.js')</script>", {"/sw.js": "importScripts('{v}/x.js')"}
    ),
    # what markup asks for
    "image": Vector("<img src='{v}/'>"),
    "picture": Vector("<picture><source srcset='{v}/ 1x'><img></picture>"),
    "iframe": Vector("<iframe src='{v}/'></iframe>"),
    "iframe srcdoc": Vector("<iframe srcdoc=\"<img src='{v}/'>\"></iframe>"),
    "sandboxed iframe": Vector("<iframe sandbox='allow-scripts' srcdoc=\"<script>fetch('{v}/')</script>\"></iframe>"),
    "frame in a frame": Vector("<iframe srcdoc=\"<iframe src='{v}/'></iframe>\"></iframe>"),
    "frame that moves": Vector("<iframe srcdoc=\"<script>location = '{v}/'</script>\"></iframe>"),
    "frame with refresh": Vector("<iframe srcdoc=\"<meta http-equiv=refresh content='0; url={v}/'>\"></iframe>"),
    "frame three deep": Vector(
        "<script>const wrap = (s) => {{ const f = document.createElement('iframe'); f.srcdoc = s;"
        "return f.outerHTML }};"
        "document.body.insertAdjacentHTML('beforeend', wrap(wrap(`<img src='{v}/'>`)))</script>"
    ),
    "frame that is written": Vector(
        "<iframe id=f></iframe><script>f.contentDocument.write(`<script src='{v}/'></` + 'script>')</script>"
    ),
    "frame of a blob": Vector(
        "<iframe id=f></iframe><script>f.src = URL.createObjectURL(new Blob([`<img src='{v}/'>`],"
        "{{type: 'text/html'}}))</script>"
    ),
    "frame that leaves when it was read": Vector(
        "<iframe id=f srcdoc='<p>mine'></iframe><script>document.body.animate([{{opacity: 0}}, {{opacity: 1}}], 9e4)"
        ".onfinish = () => {{ f.contentWindow.location = '{v}/' }};"
        "setTimeout(() => document.getAnimations()[0].finish(), 99)</script>"
    ),
    "shadow root with a style sheet": Vector(
        "<p id=p></p><script>p.attachShadow({{mode: 'open'}}).innerHTML = `<link rel=stylesheet href='{v}/'>`</script>"
    ),
    "closed shadow root with an import": Vector(
        "<p id=p></p><script>p.attachShadow({{mode: 'closed'}}).innerHTML = `<style>@import '{v}/'</style>`</script>"
    ),
    "declared shadow root with a frame": Vector(
        "<div><template shadowrootmode=open><iframe src='{v}/'></iframe></template></div>"
    ),
    "object": Vector("<object data='{v}/'></object>"),
    "embed": Vector("<embed src='{v}/'>"),
    "script": Vector("<script src='{v}/x.js'></script>"),
    "module script": Vector("<script type=module src='{v}/x.js'></script>"),
    "style sheet": Vector("<link rel=stylesheet href='{v}/x.css'>"),
    "css import": Vector("<style>@import '{v}/x.css'</style>"),
    "css background": Vector("<style>body {{ background: url('{v}/') }}</style><p>x"),
    "css font": Vector("<style>@font-face {{ font-family: f; src: url('{v}/') }} p {{ font-family: f }}</style><p>x"),
    "video": Vector("<video src='{v}/' preload=auto></video>"),
    "audio": Vector("<audio src='{v}/' preload=auto></audio>"),
    "input image": Vector("<input type=image src='{v}/'>"),
    "svg image": Vector("<svg width=9 height=9><image href='{v}/' width=9 height=9 /></svg>"),
    # what is only hinted at
    "prefetch": Vector("<link rel=prefetch href='{v}/'>"),
    "preload": Vector("<link rel=preload as=script href='{v}/x.js'>"),
    "modulepreload": Vector("<link rel=modulepreload href='{v}/x.js'>"),
    "preconnect": Vector("<link rel=preconnect href='{v}'>"),
    "link header": Vector("", headers={"Link": "<{v}/x.css>; rel=preload; as=style"}),
    "speculation prefetch": Vector(
        '<script type=speculationrules>{{"prefetch": [{{"source": "list", "urls": ["{v}/"], '
        '"eagerness": "immediate"}}]}}</script>'
    ),
    "ping": Vector("<a href='#x' ping='{v}/' id=a>a</a><script>a.click()</script>"),
    "csp report": Vector(
        "<script>1</script>", headers={"Content-Security-Policy": "script-src 'none'; report-uri {v}/"}
    ),
    # where the page goes
    "meta refresh": Vector("<meta http-equiv=refresh content='0; url={v}/'>"),
    "refresh header": Vector("", headers={"Refresh": "0; url={v}/"}),
    "location": run("location = '{v}/'"),
    "location later": run("setTimeout(() => location.replace('{v}/'), 100)"),
    "form get": Vector("<form action='{v}/'></form><script>document.forms[0].submit()</script>"),
    "form post": Vector("<form action='{v}/' method=post></form><script>document.forms[0].submit()</script>"),
    "link click": Vector("<a href='{v}/' id=a>a</a><script>a.click()</script>"),
    "download": Vector("<a href='{v}/' download=x id=a>a</a><script>a.click()</script>"),
    "window open": run("window.open('{v}/')"),
    "blank target": Vector("<a href='{v}/' target=_blank id=a>a</a><script>a.click()</script>"),
    "popup that moves": run("const w = window.open('about:blank'); if (w) w.location = '{v}/'"),
    # by way of a redirect
    "redirected fetch": run("fetch('/to?{v}/', {{mode: 'no-cors'}})"),
    "redirected image": Vector("<img src='/to?{v}/'>"),
    "redirected frame": Vector("<iframe src='/to?{v}/'></iframe>"),
    "redirected twice": Vector("<iframe src='/to?/to?{v}/'></iframe>"),
    "redirected script": Vector("<script src='/to?{v}/x.js'></script>"),
    "redirected page": run("location = '/to?{v}/'"),
    "redirected worker": run(FROM_BLOB + "new Worker(u(`fetch('${{location.origin}}/to?{v}/', {{mode: 'no-cors'}})`))"),
}
