"""Every refusal Spaniel can give, in one table (SRD §3.7.2), and the one exception that carries them."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

SHOWN = 300  # characters of a detail that came from outside


class Code(StrEnum):
    """The stable names of the registry."""

    BAD_ARGS = "bad_args"
    INVALID_URL = "invalid_url"
    INVALID_SCHEME = "invalid_scheme"
    INVALID_HOST = "invalid_host"
    PORT_BLOCKED = "port_blocked"
    SSRF_BLOCKED = "ssrf_blocked"
    DNS_FAILED = "dns_failed"
    ROBOTS_DISALLOWED = "robots_disallowed"
    ROBOTS_UNAVAILABLE = "robots_unavailable"
    REDIRECT_LIMIT = "redirect_limit"
    TIMEOUT = "timeout"
    NETWORK = "network"
    RESPONSE_TOO_LARGE = "response_too_large"
    UNSUPPORTED_CONTENT_TYPE = "unsupported_content_type"
    HTTP_4XX = "http_4xx"
    HTTP_5XX = "http_5xx"
    BROWSER_UNAVAILABLE = "browser_unavailable"
    BROWSER_CRASHED = "browser_crashed"
    EXTRACTION_FAILED = "extraction_failed"
    CACHE_READ_FAILED = "cache_read_failed"
    INTERNAL = "internal"


class Refusal(NamedTuple):
    """One row: what a code means, to people, programs, shells and HTTP clients.

    `exit` is the command line's exit code, by kind: 2 the input is wrong, 3 policy forbids it, 4 it could not
    be reached, 5 the server declined, 6 what came cannot be used, 7 something local is missing or broken.
    `status` is what Spaniel's own HTTP API answers.
    """

    meaning: str
    retryable: bool
    exit: int
    status: int
    details: tuple[str, ...]
    message: str  # a template over the details
    hint: str


TABLE: dict[Code, Refusal] = {
    Code.BAD_ARGS: Refusal(
        "Invalid request parameters", False, 2, 400, ("field", "reason"),
        "{field}: {reason}", "Correct the named field and ask again."),
    Code.INVALID_URL: Refusal(
        "URL parsing failed", False, 2, 400, ("url", "reason"),
        "Not a URL that can be fetched ({reason}): {url}", "Check the address for typing errors."),
    Code.INVALID_SCHEME: Refusal(
        "Non-http(s) scheme", False, 2, 400, ("scheme",),
        "Scheme '{scheme}' is not fetched", "Use an http:// or https:// address."),
    Code.INVALID_HOST: Refusal(
        "Invalid host (e.g., numeric IP forms)", False, 2, 400, ("host", "reason"),
        "Host '{host}' is refused: {reason}", "Write a name or a plain address (192.0.2.1, [2001:db8::1])."),
    Code.PORT_BLOCKED: Refusal(
        "Port not in allowlist", False, 3, 403, ("port", "allowed_ports"),
        "Port {port} is not allowed (allowed: {allowed_ports})", "Add it to tools.webfetch.security.allowed_ports."),
    Code.SSRF_BLOCKED: Refusal(
        "SSRF protection triggered", False, 3, 403, ("blocked_ip", "cidr", "toggle"),
        "Connection to {blocked_ip} is blocked: it lies in {cidr}", "Only public addresses are fetched."),
    Code.DNS_FAILED: Refusal(
        "DNS resolution failed", True, 4, 502, ("host", "error"),
        "The name '{host}' could not be resolved: {error}", "Check the name, then the resolver."),
    Code.ROBOTS_DISALLOWED: Refusal(
        "robots.txt disallows path", False, 3, 403, ("path", "origin", "rule"),
        "robots.txt of {origin} disallows {path}", "Run 'spaniel may-i URL' to see which line decided."),
    Code.ROBOTS_UNAVAILABLE: Refusal(
        "Could not fetch robots.txt", True, 4, 502, ("origin", "error"),
        "robots.txt of {origin} cannot be read: {error}", "Try again later, or set tools.webfetch.robots.fail_open."),
    Code.REDIRECT_LIMIT: Refusal(
        "Max redirects exceeded", False, 5, 502, ("count", "max"),
        "More than {max} redirects: stopped at the next", "Fetch the final address itself, or raise max_redirects."),
    Code.TIMEOUT: Refusal(
        "Request timeout", True, 4, 504, ("timeout_ms", "phase"),
        "No complete answer within {timeout_ms} ms (during {phase})", "Try again, or raise timeout_seconds."),
    Code.NETWORK: Refusal(
        "Network/connection error", True, 4, 502, ("error",),
        "The connection failed: {error}", "Try again later."),
    Code.RESPONSE_TOO_LARGE: Refusal(
        "Response exceeds size limit", False, 6, 502, ("size", "max_bytes"),
        "The response has more than {max_bytes} bytes", "Raise max_download_bytes if the page is wanted whole."),
    Code.UNSUPPORTED_CONTENT_TYPE: Refusal(
        "Content-Type not supported", False, 6, 502, ("content_type",),
        "Content of type '{content_type}' is not read", "Ask for an HTML or plain-text page."),
    Code.HTTP_4XX: Refusal(
        "HTTP 4xx client error", False, 5, 502, ("status", "status_text"),
        "The server answered {status} {status_text}", "The page is not there or not for us; check the address."),
    Code.HTTP_5XX: Refusal(
        "HTTP 5xx server error", True, 5, 502, ("status", "status_text"),
        "The server answered {status} {status_text}", "Try again later."),
    Code.BROWSER_UNAVAILABLE: Refusal(
        "Chromium not found/runnable", False, 7, 503, ("chromium_path", "error"),
        "Chromium cannot be run: {error}", "Install chromium, or set tools.webfetch.browser.chromium_path."),
    Code.BROWSER_CRASHED: Refusal(
        "Browser process crashed", True, 7, 502, ("error",),
        "The browser crashed: {error}", "Try again."),
    Code.EXTRACTION_FAILED: Refusal(
        "HTML extraction failed", False, 6, 502, ("error",),
        "The page could not be read: {error}", "Report the page: this should not happen."),
    Code.CACHE_READ_FAILED: Refusal(
        "Cache read error", True, 7, 500, ("path", "error"),
        "The cache could not be read at {path}: {error}", "Run 'spaniel cache verify', or clear the cache."),
    Code.INTERNAL: Refusal(
        "Unexpected internal error", True, 70, 500, ("error",),
        "Unexpected error: {error}", "Report it, with the command that led to it."),
}  # fmt: skip


def shown(text: str, limit: int = SHOWN) -> str:
    """Foreign text made safe to print: no control, format or surrogate character acts, and it ends."""
    cut = text if len(text) <= limit else text[:limit] + "…"
    if cut.isascii() and cut.isprintable():
        return cut
    import unicodedata

    return "".join(c if unicodedata.category(c)[0] not in "CZ" or c == " " else ascii(c)[1:-1] for c in cut)


class SpanielError(Exception):
    """A refusal: one code of the table, and the details that say to what it applies."""

    def __init__(self, code: Code, **details: object) -> None:
        self.code = code
        self.details = {k: shown(v) if isinstance(v, str) else v for k, v in details.items() if v is not None}
        super().__init__(self.message)

    @property
    def row(self) -> Refusal:
        return TABLE[self.code]

    @property
    def retryable(self) -> bool:
        return self.row.retryable

    @property
    def message(self) -> str:
        try:
            return self.row.message.format_map(self.details)
        except KeyError:
            told = ", ".join(f"{k}: {v}" for k, v in self.details.items())
            return f"{self.row.meaning} ({told})" if told else self.row.meaning

    def as_dict(self) -> dict[str, object]:
        """The SRD's envelope (FR-WF-18)."""
        envelope: dict[str, object] = {"code": str(self.code), "message": self.message, "retryable": self.retryable}
        if self.details:
            envelope["details"] = self.details
        return envelope

    def as_json(self) -> str:
        import json

        return json.dumps(self.as_dict(), ensure_ascii=False)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.code, self.details)


def _rebuild(code: Code, details: dict[str, object]) -> SpanielError:
    return SpanielError(code, **details)
