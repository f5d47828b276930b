"""Kinds of hosts and the expected result of a link to each, written manually."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple

from spaniel.health.hops import LinkOptions
from spaniel.health.links import Checked, Remark
from spaniel.hosts import Politeness
from spaniel.net.resolver import failed
from spaniel.reading import extract
from spaniel.verdicts import ANYTHING, NOTHING, Expected, Past, Verdict
from tests.health.plays import (
    PAGE,
    WORDS,
    advert,
    anothers_cookie,
    bomb,
    busy,
    by_method,
    chain,
    dripping_body,
    endless_body,
    endless_head,
    fine,
    garble,
    hang,
    hang_up,
    head_with_a_body,
    html,
    in_turn,
    known_agents_only,
    like,
    missing,
    needs_cookie,
    packed,
    paths,
    reset,
    reset_in_body,
    says,
    silent_body,
    slow_but_there,
    to,
)  # fmt: skip
from tests.health.world import CLOSED_ADDRESS, Play

OK, MOVED, CHANGED, BLOCKED = Verdict.OK, Verdict.MOVED, Verdict.CHANGED, Verdict.BLOCKED
LIMITED, FAILING, DEAD, UNKNOWN = Verdict.RATE_LIMITED, Verdict.FAILING, Verdict.DEAD, Verdict.UNKNOWN

POLITE = Politeness(at_once=4, respect_delays=True)
PATIENT = LinkOptions(politeness=POLITE, seconds=120, head_seconds=60)  # long enough for a busy machine
HASTY = LinkOptions(politeness=POLITE, seconds=6, head_seconds=0.5)  # for responses that never come
ENDLESS = PATIENT._replace(content_seconds=4.0)  # for responses that never end
NO_HEAD = LinkOptions(politeness=POLITE, seconds=120, head_seconds=0.5)  # for HEAD alone
ROBOTS = PATIENT._replace(respect_robots=True)
SIBLING = PATIENT._replace(soft_404=True)


class Row(NamedTuple):
    """A kind of host and the expected result."""

    name: str
    play: Play
    verdict: Verdict
    says: str = ""  # part of the reason
    path: str = "/docs/page"
    tls: str = ""
    where: str | Exception = ""
    expected: Expected = ANYTHING
    fragments: tuple[str, ...] = ()
    options: LinkOptions = PATIENT
    past: Past = NOTHING
    findings: tuple[Remark, ...] = ()
    also: Callable[[Checked], Any] = lambda _: True


def permanent(checked: Checked) -> bool:
    return checked.move is not None and checked.move.is_permanent and not checked.move.is_suspect


def temporary(checked: Checked) -> bool:
    return checked.move is not None and not checked.move.is_permanent and not checked.move.is_suspect


def suspect(checked: Checked) -> bool:
    return checked.move is not None and checked.move.is_suspect


def by(method: str) -> Callable[[Checked], bool]:
    return lambda checked: checked.evidence.method == method


def in_phase(phase: str) -> Callable[[Checked], bool]:
    return lambda checked: checked.evidence.phase == phase


def changes(*names: str) -> Callable[[Checked], bool]:
    return lambda checked: tuple(change.what for change in checked.changes) == names


def sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


WHOLE = Expected(length=len(PAGE), sha256=sha256(PAGE), content_type="text/html")
READ = Past(text_sha256=sha256(extract(PAGE).markdown.encode()))
CHALLENGE = '<title>Just a moment...</title><div class="cf-turnstile"></div><p>Checking your browser before you go on.'
LOGIN = '<title>Log in</title><form><input type="password"></form>'
SORRY = (
    "<title>Shop</title><h1>Sorry</h1><p>We could not find what you are looking for at {path}. It may have moved, or it"
)
SORRY += (
    " may never have been here. Please use the search field above, or go back to the front page and start again.</p>"
)
PARKED = "<title>{path}</title><h1>This domain is for sale</h1><p>Buy it today from its owner, or make an offer.</p>"
SCRIPT = f"<html><body><div id=app><h2>Title</h2>{WORDS}</div><script src=/app.js></script></body></html>"
PLAIN = f"<html><body><h2 id=install>Install</h2><a name=old>{WORDS}</a><h3 id='à la carte'>x</h3></body></html>"
DISALLOW = says(200, "User-agent: *\nDisallow: /docs\n", "Content-Type: text/plain")
META = "http://169.254.169.254/latest/meta-data/"

TRUTH = [
    # -- Pages, for any response to HEAD
    Row("plain", fine, OK),
    Row("slow", slow_but_there, OK),
    Row("bücher", fine, OK, path="/straße"),
    Row("no-content", says(204), OK),
    Row("choices", says(300, "<a href=/1>1</a>"), OK, "no content is asserted"),
    Row("not-modified", says(304), OK, "no content is asserted"),
    Row("head-405", by_method(says(405), fine), OK, also=by("GET")),
    Row("head-501", by_method(says(501), fine), OK, also=by("GET")),
    Row("head-403", by_method(says(403), fine), OK, also=by("GET")),
    Row("head-404", by_method(missing, fine), OK, also=by("GET")),
    Row("head-410", by_method(says(410), fine), OK, also=by("GET")),
    Row("head-500", by_method(says(500), fine), OK, also=by("GET")),
    Row("head-hangs", by_method(hang, fine), OK, options=NO_HEAD, also=by("GET")),
    Row("head-resets", by_method(reset, fine), OK, also=by("GET")),
    Row("head-hangs-up", by_method(hang_up, fine), OK, also=by("GET")),
    Row("head-loops", by_method(to("/docs/page"), fine), OK, also=by("GET")),
    Row("head-429", by_method(busy(429, "Retry-After: 9"), fine), OK, also=by("GET")),
    Row("head-with-body", head_with_a_body, OK),
    Row("head-lies-200", by_method(fine, missing), FAILING, "1 of 3", also=by("GET")),
    Row("head-lies-gone", by_method(fine, says(410)), DEAD, also=by("GET")),
    Row("head-lies-200-for-500", by_method(fine, says(500)), UNKNOWN, "500"),
    Row("endless", endless_body, OK),
    Row("dripping", dripping_body, OK),
    Row("silent-body", silent_body, OK),
    Row("bomb", bomb, OK),
    Row("cookie", needs_cookie(), OK),
    Row("cookie-through", needs_cookie(through="/welcome"), OK),
    # -- Moved
    Row("moved-301", paths(docs=to("/new/page"), new=fine), MOVED, "permanently", also=permanent),
    Row("moved-308", paths(docs=to("/new/page", 308), new=fine), MOVED, "permanently", also=permanent),
    Row("moved-302", paths(docs=to("/new/page", 302), new=fine), MOVED, "temporarily", also=temporary),
    Row("moved-303", paths(docs=to("/new/page", 303), new=fine), MOVED, "temporarily", also=temporary),
    Row("moved-307", paths(docs=to("/new/page", 307), new=fine), MOVED, "temporarily", also=temporary),
    Row("moved-far", to("{elsewhere}/there"), MOVED, "elsewhere.test", also=permanent),
    Row("moved-no-scheme", paths(docs=to("//{name}:{port}/new"), new=fine), MOVED, also=permanent),
    Row("moved-long", chain(8, 301, 308), MOVED, "/8", path="/0", also=permanent),
    Row("moved-mixed", chain(4, 301, 301, 302), MOVED, "temporarily", path="/0", also=temporary),
    Row("to-root", paths(docs=to("/"), root=fine), MOVED, "front page", also=suspect),
    Row("to-index", paths(docs=to("/index.html", 302), index_html=fine), MOVED, "front page", also=suspect),
    Row("root-to-root", to("{elsewhere}/"), MOVED, path="/", also=permanent),
    Row("to-login", paths(docs=to("/login?next=/docs/page", 302), login=html(LOGIN)), BLOCKED, "login", also=suspect),
    Row("to-account", paths(docs=to("/account", 302), account=html(LOGIN)), BLOCKED, "login", also=suspect),
    Row("to-error", paths(docs=to("/404.html", 302), **{"404_html": fine}), MOVED, "errors", also=suspect),
    # -- Redirects that do not end at a page
    Row("loop", to("/docs/page"), UNKNOWN, "redirects more than"),
    Row("ping-pong", paths(docs=to("/b"), b=to("/docs/page")), UNKNOWN, "redirects more than"),
    Row("too-long", chain(50, 301), UNKNOWN, "redirects more than", path="/0"),
    Row("anothers-cookie", anothers_cookie, UNKNOWN, "redirects more than"),
    Row("to-missing", to("{elsewhere}/gone"), FAILING, "404"),
    Row("to-file", to("file:///etc/passwd"), UNKNOWN, "'file'"),
    Row("to-script", to("javascript:alert(1)"), UNKNOWN, "'javascript'"),
    Row("to-meta", to(META), BLOCKED, "own guard"),
    Row("to-ssh", to("http://elsewhere.test:22/"), BLOCKED, "own guard"),
    Row("to-unknown-name", to("http://does-not-exist.test:{port}/"), FAILING, "not known"),
    # -- Access refused
    Row("s401", html("x", 401), BLOCKED, "401"),
    Row("s402", html("x", 402), BLOCKED, "402"),
    Row("s403", html("x", 403), BLOCKED, "403"),
    Row("s407", html("x", 407), BLOCKED, "407"),
    Row("s451", html("x", 451), BLOCKED, "451"),
    Row("s999", html("x", 999), BLOCKED, "999"),
    Row("agents", known_agents_only, BLOCKED, "403"),
    Row("challenge-403", html(CHALLENGE, 403), BLOCKED, "prove that they are people"),
    Row("challenge-503", html(CHALLENGE, 503), BLOCKED, "prove that they are people"),
    Row("challenge-200", html(CHALLENGE, 200), BLOCKED, "prove that they are people"),
    Row("challenge-202", html("", 202, "X-Amzn-Waf-Action: challenge"), BLOCKED, "prove that they are people"),
    Row("challenge-429", html(CHALLENGE, 429, "Retry-After: 5"), LIMITED, "429"),
    Row("region", html("<p>This is not available in your country.", 200), BLOCKED, "region"),
    Row("link-local", fine, BLOCKED, "own guard", where="169.254.169.254"),
    Row("private", fine, BLOCKED, "own guard", where="10.1.2.3"),
    Row("robots", paths(robots_txt=DISALLOW, docs=fine), BLOCKED, "robots.txt", path="/docs/page", options=ROBOTS),
    Row("robots-ignored", paths(robots_txt=DISALLOW, docs=fine), OK),
    Row("robots-refused", fine, FAILING, "refuses", where=CLOSED_ADDRESS, options=ROBOTS),
    # -- Retry later
    Row("s429-then-200", in_turn(busy(429, "Retry-After: 30"), fine), OK),
    Row("s429-unsaid-then-200", in_turn(busy(429), fine), OK),
    Row("s503-date-then-200", in_turn(busy(503, seconds=60), fine), OK),
    Row("s503-seconds-then-200", in_turn(busy(503, "Retry-After: 5"), fine), OK),
    Row("s429-always", busy(429, "Retry-After: 30"), LIMITED, "429"),
    Row("s503-always", busy(503, "Retry-After: 30"), LIMITED, "503"),
    Row("s429-an-hour", busy(429, "Retry-After: 3600"), LIMITED, "3600 s"),
    Row("s503-tomorrow", busy(503, seconds=80_000), LIMITED, "asked us to wait"),
    # -- Missing
    Row("s404", missing, FAILING, "1 of 3"),
    Row("s410", says(410), DEAD, "410"),
    Row("no-such-name", fine, FAILING, "not known", where=failed("x", "unknown", "nxdomain")),
    Row("refused", fine, FAILING, "refuses", where=CLOSED_ADDRESS, also=in_phase("connect")),
    # -- Unknown
    Row("s500", html("x", 500), UNKNOWN, "500"),
    Row("s502", html("x", 502), UNKNOWN, "502"),
    Row("s503", html("x", 503), UNKNOWN, "503"),
    Row("s503-nonsense", html("x", 503, "Retry-After: soon"), UNKNOWN, "503"),
    Row("s400", html("x", 400), UNKNOWN, "400"),
    Row("s406", html("x", 406), UNKNOWN, "406"),
    Row("no-answer-from-dns", fine, UNKNOWN, "Cannot resolve", where=failed("x", "no answer"), also=in_phase("dns")),
    Row("hangs", hang, UNKNOWN, "Timed out after", options=HASTY, also=in_phase("head")),
    Row("resets", reset, UNKNOWN, "Connection failed", also=in_phase("head")),
    Row("hangs-up", hang_up, UNKNOWN, "without an answer", also=in_phase("head")),
    Row("garbles", garble, UNKNOWN, "Connection failed", also=in_phase("head")),
    Row("endless-head", endless_head, UNKNOWN, "Connection failed", also=in_phase("head")),
    Row("tls-expired", fine, UNKNOWN, "expired", tls="expired", also=in_phase("tls")),
    Row("tls-self-signed", fine, UNKNOWN, "self-signed", tls="self-signed", also=in_phase("tls")),
    Row("tls-wrong-name", fine, UNKNOWN, "mismatch", tls="wrong-name", also=in_phase("tls")),
    Row("tls-unknown-ca", fine, UNKNOWN, "issuer", tls="unknown-ca", also=in_phase("tls")),
    Row("tls-broken", fine, UNKNOWN, "TLS", tls="broken", also=in_phase("tls")),
    Row("tls-good", fine, OK, tls="good"),
    Row("tls-ending", fine, OK, tls="ending", findings=(Remark.CERTIFICATE_ENDING,)),
    # -- Asserted content
    Row("same", fine, OK, expected=WHOLE),
    Row("same-packed", packed(PAGE), OK, expected=WHOLE),
    Row("same-moved", paths(docs=to("/new/page"), new=fine), MOVED, expected=WHOLE._replace(may_redirect=False)),
    Row("same-redirect-ok", paths(docs=to("/new/page"), new=fine), OK, expected=WHOLE),
    Row("longer", html(PAGE + b"!"), CHANGED, expected=WHOLE._replace(sha256=None), also=changes("length")),
    Row("other", html(PAGE[::-1]), CHANGED, expected=WHOLE, also=changes("sha256")),
    Row("other-type", says(200, PAGE, "Content-Type: x/y"), CHANGED, expected=WHOLE, also=changes("content-type")),
    Row("no-type", says(200, PAGE), CHANGED, expected=WHOLE, also=changes("content-type")),
    Row("type-may-change", says(200, PAGE), OK, expected=WHOLE._replace(type_may_change=True)),
    Row("script-type", says(200, PAGE, "Content-Type: application/x-javascript; charset=utf-8"), OK,
        expected=WHOLE._replace(content_type="application/javascript")),
    Row("zip-type", says(200, PAGE, "Content-Type: application/zip"), OK,
        expected=Expected(content_type="application/x-zip-compressed")),
    Row("endless-asserted", endless_body, CHANGED, "length", expected=WHOLE._replace(content_type=None)),
    Row("endless-hash", endless_body, UNKNOWN, "body", expected=Expected(sha256=WHOLE.sha256), options=ENDLESS),
    Row("broken-off", reset_in_body, UNKNOWN, "Connection failed", expected=WHOLE, also=in_phase("body")),
    Row("gone-asserted", missing, FAILING, "404", expected=WHOLE),
    Row("advert", advert(PAGE), CHANGED, expected=WHOLE, past=READ, also=lambda checked: checked.text_changed is False),
    Row("rewritten", html(PAGE.upper()), CHANGED, expected=WHOLE, past=READ, also=lambda checked: checked.text_changed),
    Row("x301", to("{elsewhere}/gone"), OK, expected=Expected(content_type="X-301-Redirect", may_redirect=False)),
    Row("x301-is-302", to("/x", 302), CHANGED, expected=Expected(content_type="X-301-Redirect", may_redirect=False)),
    Row("x301-is-fine-now", to("/x", 302), OK, expected=Expected(content_type="X-301-Redirect")),
    Row("x302-is-200", fine, CHANGED, expected=Expected(content_type="X-302-Redirect"), also=changes("content-type")),
    Row("x302-is-404", missing, FAILING, expected=Expected(content_type="X-302-Redirect")),
    # -- Findings
    Row("soft-404", like(SORRY), OK, options=SIBLING, findings=(Remark.SOFT_404,)),
    Row("real-404", paths(docs=fine), OK, options=SIBLING, path="/docs"),
    Row("soft-but-other", paths(docs=fine, other=like(SORRY)), OK, options=SIBLING, path="/docs"),
    Row("parked", like(PARKED), OK, findings=(Remark.PARKED,)),
    Row("fragments-there", html(PLAIN), OK, fragments=("install", "old", "top", "", "%C3%A0%20la%20carte")),
    Row("fragments-of-text", html(PLAIN), OK, fragments=(":~:text=x", "old:~:text=x,y")),
    Row("fragment-missing", html(PLAIN), OK, fragments=("uninstall",), findings=(Remark.FRAGMENT_MISSING,)),
    Row("fragment-made", html(SCRIPT), OK, fragments=("title",), findings=(Remark.FRAGMENT_UNKNOWN,)),
    Row("fragment-route", html(PLAIN), OK, fragments=("!/inbox",), findings=(Remark.FRAGMENT_UNKNOWN,)),
]  # fmt: skip
