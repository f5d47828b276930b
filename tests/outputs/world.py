"""A small web on loopback with fixed addresses, so that URLs, hashes and digests are the same in every run."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = 24571
ADDRESSES = ("127.83.19.7", "127.83.19.8", "127.83.19.9")
FIRST, SECOND, THIRD = (f"http://{address}:{PORT}" for address in ADDRESSES)
MODIFIED = "Tue, 03 Nov 2026 08:00:00 GMT"

PARAGRAPH = "Spaniels were bred to flush game out of dense brush, and they still like to run ahead of people. " * 3
ARTICLE = f"""<!doctype html><html lang="en"><head><title>The spaniel &amp; its work</title>
<meta name="description" content="How spaniels work."><meta name="author" content="Ada Field">
<meta property="article:published_time" content="2026-03-04T05:06:07Z">
<link rel="canonical" href="/article"></head><body><nav><a href="/">Home</a> <a href="/list">List</a></nav>
<main><h1>The spaniel and its work</h1><p>{PARAGRAPH}</p><h2>Kinds</h2><ul><li>Springer</li><li>Cocker</li></ul>
<h2>Facts</h2><table><tr><th>Kind</th><th>Height</th></tr><tr><td>Springer</td><td>51 cm</td></tr></table>
<p>{PARAGRAPH}</p><pre><code class="language-python">print("sit")</code></pre>
<p>See <a href="/second#part">another page</a> and <a href="{SECOND}/far">a far one</a>.</p></main>
<footer>Imprint</footer></body></html>"""
SECOND_PAGE = f"""<!doctype html><title>Second</title><main><h1>Second</h1><p id="part">{PARAGRAPH}</p>
<p><a href="/article">Back</a> <a href="/missing">Missing</a> <a href="/moved">Moved</a></p></main>"""
SITEMAP = f"""<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>{FIRST}/article</loc><lastmod>2026-10-01</lastmod></url><url><loc>{FIRST}/second</loc></url></urlset>"""
FEED = f"""<?xml version="1.0"?><rss version="2.0"><channel><title>News</title><link>{FIRST}/</link>
<item><title>One</title><link>{FIRST}/article</link><description>First</description></item>
<item><title>Two</title><link>{FIRST}/second</link></item></channel></rss>"""
PARKED = "<title>example.org is for sale</title><body><h1>This domain is for sale</h1><p>Buy this domain.</p></body>"

HTML = "text/html; charset=utf-8"
Reply = tuple[int, dict[str, str], str]
PAGES: dict[str, Reply] = {
    "/": (200, {"Content-Type": HTML}, SECOND_PAGE),
    "/robots.txt": (200, {"Content-Type": "text/plain"}, "User-agent: *\nDisallow: /private\n"),
    "/article": (200, {"Content-Type": HTML, "ETag": '"a1"', "Last-Modified": MODIFIED}, ARTICLE),
    "/second": (200, {"Content-Type": HTML}, SECOND_PAGE),
    "/far": (200, {"Content-Type": HTML}, SECOND_PAGE.replace("Second", "Far")),
    "/moved": (301, {"Location": "/article"}, ""),
    "/temporary": (302, {"Location": "/second"}, ""),
    "/foreign": (301, {"Location": f"{SECOND}/far"}, ""),
    "/loop": (302, {"Location": "/loop"}, ""),
    "/gone": (410, {"Content-Type": HTML}, "<h1>Gone</h1>"),
    "/forbidden": (403, {"Content-Type": HTML}, "<h1>Forbidden</h1>"),
    "/login": (401, {"Content-Type": HTML, "WWW-Authenticate": "Basic"}, "<h1>Log in</h1>"),
    "/pay": (402, {"Content-Type": HTML}, "<title>Paid page</title><h1>Pay</h1>"),
    "/broken": (500, {"Content-Type": HTML}, "<h1>Error</h1>"),
    "/private": (200, {"Content-Type": HTML}, "<h1>Private</h1>"),
    "/parked": (200, {"Content-Type": HTML}, PARKED),
    "/plain": (200, {"Content-Type": "text/plain"}, "One line.\n\nAnother line.\n"),
    "/data.json": (200, {"Content-Type": "application/json"}, '{"name": "Rex", "tags": ["dog", "brown"]}'),
    "/rows.csv": (200, {"Content-Type": "text/csv"}, "name,age\nRex,3\nBella,5\n"),
    "/sitemap.xml": (200, {"Content-Type": "application/xml"}, SITEMAP),
    "/feed.xml": (200, {"Content-Type": "application/rss+xml"}, FEED),
    "/picture": (200, {"Content-Type": "image/png"}, "\x89PNG"),
    "/empty": (200, {"Content-Type": HTML}, "<title>Empty</title>"),
}
MISSING: Reply = (404, {"Content-Type": HTML}, "<title>Not found</title><h1>Not found</h1><p>No such page.</p>")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "Frozen/1", ""

    def reply(self) -> None:
        status, headers, text = PAGES.get(self.path.partition("?")[0], MISSING)
        body = text.encode("latin-1" if headers.get("Content-Type", "").startswith("image/") else "utf-8")
        if headers.get("ETag") and self.headers.get("If-None-Match") == headers["ETag"]:
            status, body = 304, b""
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = reply  # noqa: N815  the names that http.server calls

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep standard error for the tests."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128


@contextmanager
def serving(patience: float = 120.0) -> Iterator[None]:
    """Serve the same pages at all addresses; another run on this machine that has the port is waited for."""
    servers: list[Server] = []
    end = time.monotonic() + patience
    for address in ADDRESSES:
        while True:
            try:
                servers.append(Server((address, PORT), Handler))
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.5)
    threads = [threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True) for server in servers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for server, thread in zip(servers, threads, strict=True):
            server.shutdown()
            thread.join()
            server.server_close()
