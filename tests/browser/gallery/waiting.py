"""Pages whose content waits for something: one thing each. `show()` is what they do when it has come.

Each is served twice: bare, and below a page's worth of text, where only what is pending tells that more will come.
"""

from __future__ import annotations

from typing import NamedTuple

ARRIVED = "The otter has arrived at last."
TEXT = "The river bends twice before the mill, and herons stand where it is shallow. "
HEAD = f"<!doctype html><title>Waiting</title><main id=out></main><script>const show = () => out.append('{ARRIVED}');"
HEAD += "const pause = (ms) => new Promise((done) => setTimeout(done, ms));"
BLOB = "const u = (s) => URL.createObjectURL(new Blob([s], {type: 'text/javascript'}));"
SPIN = "const spin = (ms) => { const end = Date.now() + ms; while (Date.now() < end); };"


class Waiting(NamedTuple):
    """A script, and the markup that it works on."""

    script: str
    markup: str = ""
    kind: str = ""  # of the script: classic, or module
    only_bare: bool = False  # below a page's worth of text it would not be waited for

    def page(self, *, bare: bool) -> str:
        text = "" if bare or self.only_bare else "".join(f"<p>{TEXT * 4}</p>" for _ in range(6))
        return f"{HEAD}</script>{text}{self.markup}<script type='{self.kind}'>{self.script}</script>"


WAITING: dict[str, Waiting] = {
    # frames and layout
    "animation frame": Waiting("requestAnimationFrame(show)"),
    "two animation frames": Waiting("requestAnimationFrame(() => requestAnimationFrame(show))"),
    "twelve animation frames": Waiting("let n = 0; const f = () => ++n < 12 ? requestAnimationFrame(f) : show(); f()"),
    "frames for a time": Waiting(
        "const t = performance.now(); const f = (now) => now - t > 250 ? show() : requestAnimationFrame(f);"
        "requestAnimationFrame(f)"
    ),
    "idle callback": Waiting("requestIdleCallback(show)"),
    "idle callback with a timeout": Waiting("requestIdleCallback(show, {timeout: 200})"),
    "resize observer": Waiting("new ResizeObserver((_, o) => { o.disconnect(); show() }).observe(out)"),
    "resize observer in rounds": Waiting(
        "let n = 0; const grow = () => { if (++n < 20) box.style.height = `${n * 3}px`; else show() };"
        "new ResizeObserver(grow).observe(box)",
        "<div id=box style='height: 1px'></div>",
    ),
    "resize observer that asks for a frame": Waiting(
        "let n = 0; const grow = () => { box.style.height = `${n * 3}px` };"
        "const later = () => requestAnimationFrame(() => requestAnimationFrame(grow));"
        "new ResizeObserver(() => { if (++n > 5) show(); else later() }).observe(box)",
        "<div id=box style='height: 1px'></div>",
    ),
    "abort signal with a time": Waiting("AbortSignal.timeout(300).addEventListener('abort', show)"),
    "abort signals one after the other": Waiting(
        "let n = 0; const next = () => { if (++n > 3) show();"
        "else AbortSignal.timeout(120).addEventListener('abort', next) }; next()"
    ),
    "intersection observer": Waiting(
        "new IntersectionObserver((e, o) => { if (e[0].isIntersecting) { o.disconnect(); show() } }).observe(far)",
        "<div style='height: 5000px'></div><div id=far>.</div>",
    ),
    "content-visibility": Waiting(
        "far.addEventListener('contentvisibilityautostatechange', (e) => { if (!e.skipped) show() })",
        "<div style='height: 4000px'></div><div id=far style='content-visibility: auto'>.</div>",
    ),
    "transition": Waiting(
        "box.offsetWidth; "  # or a frame that comes before the first style would have no transition
        "requestAnimationFrame(() => { box.style.opacity = 1; box.addEventListener('transitionend', show) })",
        "<div id=box style='opacity: 0; transition: opacity .2s'>.</div>",
    ),
    "css animation": Waiting(
        "box.addEventListener('animationend', show)",
        "<style>@keyframes k { from { opacity: 0 } }</style><div id=box style='animation: k .3s'>.</div>",
    ),
    "web animation": Waiting("out.animate([{opacity: 0}, {opacity: 1}], 250).finished.then(show)"),
    "view transition": Waiting("document.startViewTransition(() => {}).finished.then(show)"),
    # storage
    "indexeddb open": Waiting("indexedDB.open('a').onsuccess = show"),
    "indexeddb written and read": Waiting(
        "const r = indexedDB.open('b', 1); r.onupgradeneeded = () => r.result.createObjectStore('s');"
        "r.onsuccess = () => { const t = r.result.transaction('s', 'readwrite'); t.objectStore('s').put('x', 1);"
        "t.oncomplete = () => { const g = r.result.transaction('s').objectStore('s').get(1);"
        "g.onsuccess = () => g.result === 'x' && show() } }"
    ),
    "indexeddb with a cursor": Waiting(
        "const r = indexedDB.open('c', 1); r.onupgradeneeded = () => { const s = r.result.createObjectStore('s');"
        "for (let i = 0; i < 50; i++) s.put(i, i) }; r.onsuccess = () => {"
        "r.result.transaction('s').objectStore('s').openCursor().onsuccess = (e) =>"
        "e.target.result ? e.target.result.continue() : show() }"
    ),
    "cache storage": Waiting(
        "caches.open('c').then((c) => c.put('/x', new Response('kept')).then(() => c.match('/x')))"
        ".then((r) => r.text()).then((t) => t === 'kept' && show())",
    ),
    "cache storage after a fetch": Waiting("caches.open('d').then((c) => c.add('/json')).then(show)"),
    "private file system": Waiting(
        "navigator.storage.getDirectory().then((d) => d.getFileHandle('f', {create: true})).then((h) => h.getFile())"
        ".then((f) => f.text()).then(show)"
    ),
    "storage estimate": Waiting("navigator.storage.estimate().then(show)"),
    "a lock": Waiting("navigator.locks.request('l', () => pause(100)).then(show)"),
    # computing
    "web crypto": Waiting("crypto.subtle.digest('SHA-256', new Uint8Array(1e6)).then(show)"),
    "web crypto keys": Waiting(
        "crypto.subtle.generateKey({name: 'RSA-OAEP', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]),"
        "hash: 'SHA-256'}, true, ['encrypt', 'decrypt'])"
        ".then((k) => crypto.subtle.exportKey('jwk', k.publicKey)).then(show)"
    ),
    "long task": Waiting(SPIN + "setTimeout(() => { spin(300); show() }, 50)"),
    "long task by new Date": Waiting(
        "setTimeout(() => { const t = new Date(); while (new Date() - t < 200); show() }, 50)"
    ),
    "long task by performance.now": Waiting(
        "setTimeout(() => { const t = performance.now(); while (performance.now() - t < 200); show() }, 50)"
    ),
    "many long tasks": Waiting(
        SPIN + "let n = 0; const f = () => { spin(60); ++n < 8 ? setTimeout(f, 0) : show() }; setTimeout(f, 0)"
    ),
    "compression stream": Waiting(
        "new Response(new Blob(['x'.repeat(1e5)]).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer()"
        ".then(show)"
    ),
    "webassembly": Waiting("WebAssembly.instantiate(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])).then(show)"),
    "file reader": Waiting("const f = new FileReader(); f.onload = show; f.readAsText(new Blob(['x'.repeat(1e6)]))"),
    "blob text": Waiting("new Blob(['x'.repeat(1e6)]).text().then(show)"),
    "image bitmap": Waiting("createImageBitmap(new ImageData(500, 500)).then(show)"),
    "canvas to blob": Waiting("document.createElement('canvas').toBlob(show)"),
    "offscreen canvas": Waiting(
        "const c = new OffscreenCanvas(9, 9); c.getContext('2d'); c.convertToBlob().then(show)"
    ),
    "image decode": Waiting(
        "const i = new Image(); i.src = 'data:image/gif;base64,R0lGODlhAQABAAAAACw='; i.decode().then(show, show)"
    ),
    "image from data": Waiting(
        "const i = new Image(); i.onload = i.onerror = show;"
        "i.src = 'data:image/svg+xml,' + encodeURIComponent('<svg xmlns=\"http://www.w3.org/2000/svg\"/>')"
    ),
    "image that is not loaded": Waiting("const i = new Image(); i.onload = i.onerror = show; i.src = '/picture.png'"),
    "fonts ready": Waiting("document.fonts.ready.then(show)"),
    "font face": Waiting("new FontFace('f', 'url(/font.woff2)').load().then(show, show)"),
    "xslt": Waiting(
        "Promise.all(['/list.xml', '/list.xsl'].map((p) => fetch(p).then((r) => r.text()).then((t) =>"
        "new DOMParser().parseFromString(t, 'text/xml')))).then(([x]) => { if (x.querySelector('item')) show() })"
    ),
    # messages
    "message channel": Waiting("const c = new MessageChannel(); c.port1.onmessage = show; c.port2.postMessage(1)"),
    "many messages": Waiting(
        "const c = new MessageChannel(); let n = 0; c.port1.onmessage = () => ++n < 500 ? c.port2.postMessage(1)"
        ": show(); c.port2.postMessage(1)"
    ),
    "window message": Waiting("onmessage = show; postMessage(1, '*')"),
    "broadcast channel": Waiting(
        "const a = new BroadcastChannel('b'), b = new BroadcastChannel('b'); b.onmessage = show; a.postMessage(1)"
    ),
    "message of a frame": Waiting(
        "onmessage = show",
        "<iframe srcdoc=\"<script>setTimeout(() => parent.postMessage(1, '*'), 100)</script>\"></iframe>",
    ),
    "frame that loads": Waiting("f.onload = show", "<iframe id=f src=/slow?ms=150></iframe>"),
    "worker message": Waiting(BLOB + "new Worker(u('postMessage(1)')).onmessage = show"),
    "worker answers": Waiting(
        BLOB + "const w = new Worker(u('onmessage = (e) => postMessage(e.data)')); w.onmessage = show; w.postMessage(1)"
    ),
    "worker computes": Waiting(
        BLOB + "new Worker(u('const t = Date.now(); while (Date.now() - t < 700); postMessage(1)')).onmessage = show"
    ),
    "worker with a timer": Waiting(BLOB + "new Worker(u('setTimeout(() => postMessage(1), 300)')).onmessage = show"),
    "worker fetches": Waiting("new Worker('/fetching.js').onmessage = show"),
    "module worker": Waiting("new Worker('/fetching.js', {type: 'module'}).onmessage = show"),
    "shared worker": Waiting("const w = new SharedWorker('/shared.js'); w.port.onmessage = show; w.port.start()"),
    "websocket": Waiting("new WebSocket(`ws://${location.host}/socket`).onmessage = show"),
    "websocket that is asked": Waiting(
        "const s = new WebSocket(`ws://${location.host}/socket?echo`); s.onopen = () => s.send('x'); s.onmessage = show"
    ),
    "server-sent events": Waiting("new EventSource('/events').onmessage = show"),
    # the network
    "fetch": Waiting("fetch('/json').then((r) => r.json()).then(show)"),
    "slow fetch": Waiting("fetch('/slow?ms=900').then(show)"),
    "chain of fetches": Waiting("(async () => { for (let i = 0; i < 6; i++) await fetch('/slow?ms=60'); show() })()"),
    "fetch after a timer after a fetch": Waiting(
        "fetch('/json').then(() => pause(400)).then(() => fetch('/slow?ms=50')).then(() => pause(450)).then(show)"
    ),
    "xml http request": Waiting(
        "const x = new XMLHttpRequest(); x.onload = show; x.open('GET', '/slow?ms=80'); x.send()"
    ),
    "streamed body": Waiting("fetch('/stream').then((r) => r.text()).then(show)"),
    "streamed body read by pieces": Waiting(
        "fetch('/stream').then(async (r) => { const d = r.body.getReader(); while (!(await d.read()).done); show() })"
    ),
    "stream through a decoder": Waiting(
        "fetch('/stream').then(async (r) => { const d = r.body.pipeThrough(new TextDecoderStream());"
        "for await (const _ of d); show() })"
    ),
    "fetch that loses a race": Waiting(
        "Promise.race([fetch('/slow?ms=150').then(() => 1), pause(450)]).then((x) => x && show())"
    ),
    "fetch that is refused": Waiting("fetch('http://127.0.0.1:9/').then(show, show)"),
    # scripts
    "module": Waiting("show()", kind="module"),
    "module with imports": Waiting("import arrived from '/module.js'; if (arrived) show()", kind="module"),
    "dynamic import": Waiting("import('/module.js').then(show)"),
    "top-level await": Waiting("await pause(200); await fetch('/json'); show()", kind="module"),
    "deferred script": Waiting("", "<script defer src=/late.js></script>"),
    "script that is added": Waiting(
        "const s = document.createElement('script'); s.src = '/late.js'; document.head.append(s)"
    ),
    "jsonp": Waiting(
        "window.arrived = show; const s = document.createElement('script'); s.src = '/jsonp.js';document.head.append(s)"
    ),
    "custom element": Waiting(
        "customElements.define('x-a', class extends HTMLElement { connectedCallback() { show() } })", "<x-a></x-a>"
    ),
    "custom element defined late": Waiting(
        "customElements.whenDefined('x-b').then(show);"
        "setTimeout(() => customElements.define('x-b', class extends HTMLElement {}), 300)",
        "<x-b></x-b>",
    ),
    "mutation observer": Waiting(
        "new MutationObserver(show).observe(document.body, {childList: true}); document.body.append('.')"
    ),
    "microtasks": Waiting(
        "let p = Promise.resolve(); for (let i = 0; i < 1000; i++) p = p.then(() => 0); p.then(show)"
    ),
    "load event": Waiting("onload = show"),
    "page shown": Waiting("onpageshow = () => setTimeout(show, 0)"),
    "timer": Waiting("setTimeout(show, 450)"),
    "interval": Waiting("let n = 0; setInterval(() => { if (++n === 9) show() }, 50)"),
    "timers in a chain": Waiting("let n = 0; const f = () => ++n < 40 ? setTimeout(f, 10) : show(); f()"),
    "scheduler": Waiting("scheduler.postTask(show, {priority: 'background', delay: 200})"),
    "timer then storage": Waiting("setTimeout(() => indexedDB.open('t').onsuccess = show, 300)"),
    "storage then crypto then frames": Waiting(
        "indexedDB.open('e').onsuccess = () => crypto.subtle.digest('SHA-1', new Uint8Array(9)).then(() =>"
        "requestAnimationFrame(() => setTimeout(() => caches.has('n').then(show), 100)))"
    ),
    "document written later": Waiting(
        "fetch('/json').then(() => { document.body.innerHTML = '<main id=out></main>'; show() })"
    ),
    "pushed history": Waiting("history.pushState(0, '', '?page'); fetch('/json').then(show)"),
    "moves on": Waiting(
        "if (!location.hash && !sessionStorage.x) { sessionStorage.x = 1; location.reload() }"
        "else fetch('/json').then(show)"
    ),
    "service worker": Waiting("navigator.serviceWorker.register('/service.js').then(show, show)"),
    "shadow root": Waiting(
        "const s = out.attachShadow({mode: 'open'}); fetch('/json').then(() => s.append('" + ARRIVED + "'))"
    ),
    # what a page shows until then
    "timer of two seconds": Waiting("setTimeout(show, 2000)", only_bare=True),
    "a placeholder, then a fetch": Waiting(
        "setTimeout(() => fetch('/json').then(() => { wait.remove(); show() }), 1500)",
        "<p id=wait>Please wait…</p>",
        only_bare=True,
    ),
    "skeleton for two seconds": Waiting(
        "setTimeout(() => { bone.remove(); show() }, 2000)",
        "<div id=bone class='card-skeleton' style='height: 9px'></div>",
    ),
    "sixty frames, then a fetch": Waiting(
        "let n = 0; const f = () => ++n < 60 ? requestAnimationFrame(f) : fetch('/json').then(show); f()",
        only_bare=True,
    ),
    "one part after another": Waiting(
        "let n = 0; const f = () => { if (++n > 4) return show(); document.body.append('.'); setTimeout(f, 450) }; f()"
    ),
    "a stream of events that goes on": Waiting(
        "const e = new EventSource('/events?several'); let n = 0;"
        "e.onmessage = () => { document.body.append('.'); if (++n === 3) show() }"
    ),
    "fades in late": Waiting(
        "fetch('/json').then(show)",
        "<style>@keyframes k { to { opacity: 1 } } #out { opacity: 0; animation: k .5s 1.4s forwards }</style>",
    ),
    "picture that has to come": Waiting("const i = new Image(); i.onload = show; i.src = '/picture.png'"),
    "sent on by markup": Waiting(
        "if (location.search) show(); else document.head.insertAdjacentHTML('beforeend',"
        "'<meta http-equiv=refresh content=\"1; url=?moved\">')"
    ),
}
