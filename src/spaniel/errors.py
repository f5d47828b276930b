"""The table of errors (SRD §3.7.2) and `SpanielError`, the exception that carries them.

try:
    answer = spaniel.fetch(url)
except spaniel.SpanielError as error:
    print(error.code, error.message, error.hint)
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_SHOWN = 300  # characters of a detail that is external text: two or three lines of a terminal
USUAL_PORTS = (80, 443)


class Code(StrEnum):
    """The stable error codes (SRD §3.7.2)."""

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


class ErrorInfo(NamedTuple):
    """One row of the table: what a code means to people, programs, shells and HTTP clients.

    `exit` is the exit code of the command line: 2 invalid input, 3 forbidden by policy, 4 could not be reached,
    5 declined by the server, 6 unusable content, 7 something local is missing or broken.
    `status` is the HTTP status of Spaniel's own API.
    """

    meaning: str
    retryable: bool
    exit: int
    status: int
    details: tuple[str, ...]
    message: str  # a template over the details
    hint: str  # for people, who can run commands and change settings
    model_hint: str  # for a model that called the tool: it cannot run commands or change settings


TABLE: dict[Code, ErrorInfo] = {
    Code.BAD_ARGS: ErrorInfo(
        "Invalid request parameters", False, 2, 400, ("field", "reason"),
        "{field}: {reason}", "Correct this value and try again.", "Correct this argument and call again."),
    Code.INVALID_URL: ErrorInfo(
        "URL parsing failed", False, 2, 400, ("url", "reason"),
        "Invalid URL ({reason}): {url}", "Check the URL for typing errors.",
        "Check the URL for typing errors."),
    Code.INVALID_SCHEME: ErrorInfo(
        "Non-http(s) scheme", False, 2, 400, ("scheme",),
        "Unsupported URL scheme '{scheme}'", "Use a URL that begins with http:// or https://.",
        "Use a URL that begins with http:// or https://."),
    Code.INVALID_HOST: ErrorInfo(
        "Invalid host (e.g., numeric IP forms)", False, 2, 400, ("host", "reason"),
        "The host '{host}' is refused: {reason}", "Use a host name or a plain IP address (192.0.2.1, [2001:db8::1]).",
        "Use the host name of a public site."),
    Code.PORT_BLOCKED: ErrorInfo(
        "Port not in allowlist", False, 3, 403, ("port", "allowed_ports"),
        "Port {port} is not allowed (allowed: {allowed_ports})", "Add it to tools.webfetch.security.allowed_ports.",
        "Use a URL with an allowed port, or another source."),
    Code.SSRF_BLOCKED: ErrorInfo(
        "SSRF protection triggered", False, 3, 403, ("blocked_ip", "cidr", "toggle"),
        "Connection to {blocked_ip} is blocked: it is in {cidr}", "Only public addresses are fetched.",
        "Only public addresses are fetched. Use another source."),
    Code.DNS_FAILED: ErrorInfo(
        "DNS resolution failed", True, 4, 502, ("host", "error"),
        "Cannot resolve the host name '{host}': {error}", "Check the spelling of the name, then your DNS.",
        "Check the spelling of the host name."),
    Code.ROBOTS_DISALLOWED: ErrorInfo(
        "robots.txt disallows path", False, 3, 403, ("path", "origin", "rule"),
        "robots.txt of {origin} disallows {path}", "Run 'spaniel may-i URL' to see which line says so.",
        "The site asks programs not to fetch this page. Use another source."),
    Code.ROBOTS_UNAVAILABLE: ErrorInfo(
        "Could not fetch robots.txt", True, 4, 502, ("origin", "error"),
        "Cannot fetch robots.txt of {origin}: {error}",
        "Try again later. To fetch pages without a robots.txt, set tools.webfetch.robots.fail_open = true.",
        "Try again later, or use another source."),
    Code.REDIRECT_LIMIT: ErrorInfo(
        "Max redirects exceeded", False, 5, 502, ("count", "max"),
        "The page redirects more than {max} times",
        "Fetch the final URL directly, or raise tools.webfetch.max_redirects.",
        "Fetch the final URL directly if you know it, or use another source."),
    Code.TIMEOUT: ErrorInfo(
        "Request timeout", True, 4, 504, ("timeout_ms", "phase"),
        "Timed out after {timeout_ms} ms (during {phase})",
        "Try again, or allow more time: --timeout, or tools.webfetch.timeout_seconds.",
        "Try again, or use another source."),
    Code.NETWORK: ErrorInfo(
        "Network/connection error", True, 4, 502, ("error",),
        "Connection failed: {error}", "Try again later.", "Try again later, or use another source."),
    Code.RESPONSE_TOO_LARGE: ErrorInfo(
        "Response exceeds size limit", False, 6, 502, ("size", "max_bytes"),
        "The response is larger than {max_bytes} bytes",
        "To fetch pages of this size, raise tools.webfetch.max_download_bytes.",
        "Look for a smaller page with the same content."),
    Code.UNSUPPORTED_CONTENT_TYPE: ErrorInfo(
        "Content-Type not supported", False, 6, 502, ("content_type",),
        "Unsupported content type '{content_type}'",
        "This profile reads HTML and plain text; for others, use a profile that lists them in 'content'.",
        "Look for a page with the same content."),
    Code.HTTP_4XX: ErrorInfo(
        "HTTP 4xx client error", False, 5, 502, ("status", "status_text"),
        "The server returned {status} {status_text}", "Check the URL. The page may be private, or may no longer exist.",
        "Check the URL. If the page is private or no longer exists, use another source."),
    Code.HTTP_5XX: ErrorInfo(
        "HTTP 5xx server error", True, 5, 502, ("status", "status_text"),
        "The server returned {status} {status_text}", "Try again later.", "Try again later."),
    Code.BROWSER_UNAVAILABLE: ErrorInfo(
        "Chromium not found/runnable", False, 7, 503, ("chromium_path", "error"),
        "Cannot run Chromium: {error}", "Run 'spaniel doctor' to see what it needs.",
        "This host has no browser. Call again without the arguments that need one."),
    Code.BROWSER_CRASHED: ErrorInfo(
        "Browser process crashed", True, 7, 502, ("error",),
        "The browser crashed: {error}", "Try again.", "Try again."),
    Code.EXTRACTION_FAILED: ErrorInfo(
        "HTML extraction failed", False, 6, 502, ("error",),
        "Cannot extract the text of the page: {error}", "Please report this bug, with the URL of the page.",
        "Use another source."),
    Code.CACHE_READ_FAILED: ErrorInfo(
        "Cache read error", True, 7, 500, ("path", "error"),
        "Cannot read the cache at {path}: {error}", "Run 'spaniel cache verify --repair', or 'spaniel cache clear'.",
        "Call again with no_cache."),
    Code.INTERNAL: ErrorInfo(
        "Unexpected internal error", True, 70, 500, ("error",),
        "Unexpected error: {error}", "Please report this bug, with the command that caused it.",
        "Try again once. If it fails again, use another source."),
}  # fmt: skip


_STEERING = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")


def shown(text: str, limit: int = MAX_SHOWN) -> str:
    """Make external text safe to print: truncate it, and escape control, format and surrogate characters."""
    cut = text if len(text) <= limit else text[:limit] + "…"
    if cut.isascii() and cut.isprintable():
        return cut
    import unicodedata

    return "".join(c if unicodedata.category(c)[0] not in "CZ" or c == " " else ascii(c)[1:-1] for c in cut)


# The extras of pyproject.toml. Hints name these packages and never 'spaniel[...]': on a package index, that name may
# belong to another project.
EXTRAS = {
    "pdf": "'pypdfium2>=5,<6'",
    "parquet": "'pyarrow>=21'",
    "ray": "'ray>=2.50' 'fsspec>=2025.3'",
    "mcp": "'mcp>=2.3,<3' 'anyio>=4.9' 'pydantic-core>=2.27'",
    "serve": "'mcp>=2.3,<3' 'anyio>=4.9' 'pydantic-core>=2.27' 'starlette>=0.50' 'uvicorn>=0.38' "
    "'prometheus-client>=0.23'",
}


def install_command(extra: str) -> str:
    """The shell command that installs the packages of an extra."""
    return f"pip install {EXTRAS[extra]}"


def json_safe(text: str) -> str:
    """Escape characters in JSON that control a terminal or the direction of text: C1 controls, bidi marks."""
    return (
        text if text.isascii() and "\x7f" not in text else _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    )


# Settings, variables, options and commands, as messages for people name them.
_FOR_PEOPLE = re.compile(
    r"\btools\.(?:mode|webfetch)\b|\bspaniel\.[a-z_]+\.[a-z_]+|SPANIEL_[A-Z]|(?<![\w/-])--[a-z]|'spaniel |\.toml\b"
)
HINT_DETAILS = frozenset({"kind", "prog"})  # details that only select a hint and are not in the SRD's JSON


class SpanielError(Exception):
    """Why a page was not fetched, or a call refused.

    `code` is the kind of failure; its meaning never changes. `message` says what happened, `hint` what to do about
    it, `retryable` whether the same call may succeed later. `details` has the facts, `url` the requested URL if
    there is one.

        >>> error = SpanielError(Code.PORT_BLOCKED, port=8080, allowed_ports=[80, 443])
        >>> error.message
        'Port 8080 is not allowed (allowed: [80, 443])'
        >>> error.retryable
        False
    """

    def __init__(self, code: Code, **details: object) -> None:
        self.code = code
        self.details = {k: shown(v) if isinstance(v, str) else v for k, v in details.items() if v is not None}
        self.url: str | None = None
        super().__init__(self.message)

    def __str__(self) -> str:
        about = f" ({shown(_without_query(self.url))})" if self.url else ""
        return f"{self.code}: {self.message}{about}"

    def __repr__(self) -> str:
        return f"SpanielError({str(self)!r})"

    def about(self, url: str) -> SpanielError:
        """Return a copy of the error for a requested URL (a copy, because several callers may share one fetch)."""
        copy = _rebuild(self.code, self.details, url)
        copy.__cause__ = self.__cause__
        return copy

    @property
    def row(self) -> ErrorInfo:
        return TABLE[self.code]

    @property
    def retryable(self) -> bool:
        """Whether the same call may succeed later: by the table, or because a 429 has a Retry-After."""
        is_rate_limited = self.details.get("status") == 429 and "retry_after" in self.details
        return self.row.retryable or is_rate_limited

    @property
    def hint(self) -> str:
        """What to do about it; if settings help, with lines that can be pasted into a settings file."""
        special = HINTS.get(self.code)
        return (special and special(self)) or self.row.hint

    @property
    def model_hint(self) -> str:
        """What a model can do about it: it cannot run commands or change settings."""
        special = MODEL_HINTS.get(self.code)
        return (special and special(self)) or self.row.model_hint

    @property
    def message(self) -> str:
        details = self.details
        if isinstance(url := details.get("url"), str):
            details = {**details, "url": _without_query(url)}
        try:
            return self.row.message.format_map(details) + self._price()
        except KeyError:
            facts = ", ".join(f"{k}: {v}" for k, v in details.items())
            return f"{self.row.meaning} ({facts})" if facts else self.row.meaning

    @property
    def model_message(self) -> str:
        """The message for a model: without settings, options and commands, which a model cannot use."""
        field = str(self.details.get("field", "")) if self.code is Code.BAD_ARGS else ""
        if field == APPROVAL:
            return f"The call was not approved ({self.details.get('reason', '')})"
        if field in SWITCHES:
            return "Fetching is disabled in this host"
        return self.row.meaning if _FOR_PEOPLE.search(self.message) else self.message

    def _price(self) -> str:
        """The price that the site asks crawlers to pay (402 with a `crawler-price` header)."""
        price = self.details.get("crawler_price")
        return f"; the site requires payment for this page (crawler-price: {price})" if price else ""

    def as_dict(self) -> dict[str, object]:
        """The error as in JSON output: code, message, retryable, and details if there are any."""
        envelope: dict[str, object] = {"code": str(self.code), "message": self.message, "retryable": self.retryable}
        if details := {name: fact for name, fact in self.details.items() if name not in HINT_DETAILS}:
            envelope["details"] = details
        return envelope

    def as_json(self) -> str:
        import json

        return json.dumps(self.as_dict(), ensure_ascii=False)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.code, self.details, self.url)


def _rebuild(code: Code, details: dict[str, object], url: str | None = None) -> SpanielError:
    error = SpanielError(code, **details)
    error.url = url
    return error


def _without_query(url: str) -> str:
    """Remove the query of a URL: error texts end up in logs, and a query may contain a secret."""
    start = url.partition("#")[0]
    start, mark, _ = start.partition("?")
    return f"{start}?…" if mark else start


def _hint_for_address(error: SpanielError) -> str | None:
    """For a URL of the user's own machine: all the settings that allow it. None after a redirect to it."""
    host, port = _own_machine(error.url or "")
    if host is None or error.details.get("toggle", "block_loopback") != "block_loopback":
        return None
    keys = ["allow_insecure_overrides = true", "block_loopback = false"]
    if port not in USUAL_PORTS:
        keys.append(f"allowed_ports = [80, 443, {port}]")
    return (
        "Only public addresses are fetched. To fetch from your own machine, write these lines into a file,\n"
        "for example local.toml, and add: --config local.toml\n\n" + "\n".join(["[tools.webfetch.security]", *keys])
    )


def _hint_for_port(error: SpanielError) -> str | None:
    if (own := _hint_for_address(error)) is not None:
        return own
    allowed, port = error.details.get("allowed_ports"), error.details.get("port")
    if not isinstance(allowed, list):
        return None
    ports = ", ".join(str(number) for number in [*allowed, port])
    return (
        "To allow it, write these lines into your settings file ('spaniel config show' names it):\n\n"
        f"[tools.webfetch.security]\nallowed_ports = [{ports}]"
    )


def _hint_for_network(error: SpanielError) -> str | None:
    return {
        "certificate": "If you trust the issuer of the certificate, add the issuer's certificate (a PEM file)\n"
        'to your settings file:\n\n[spaniel.net]\nca_file = "/path/to/certificate.pem"',
        "tls": "Check whether the URL should begin with http:// instead of https://.",
        "connect": "Check the host and the port. If the server is down, try again later.",
    }.get(str(error.details.get("cause")))


def _hint_for_status(error: SpanielError) -> str | None:
    if error.retryable and "retry_after" in error.details:
        return f"Wait as long as the server asks (Retry-After: {error.details['retry_after']}), then try again."
    if "crawler_price" in error.details:
        return "Spaniel makes no payments. Ask the site for access."
    return PAGE_TYPE_HINTS.get(str(error.details.get("page_type")))


def _model_hint_for_status(error: SpanielError) -> str | None:
    if "crawler_price" in error.details:
        return "This page requires payment. Use another source."
    return _hint_for_status(error)


PAGE_TYPE_HINTS = {  # by the type of the page that was returned instead
    "paywall": "The page requires payment. Paywalls are not bypassed.",
    "login": "The page requires a login. Logins are not bypassed.",
    "geo_block": "The page is not available in this region. Regional blocks are not bypassed.",
    "challenge": "The site requires a bot check (CAPTCHA). Such checks are not bypassed.",
}


def _hint_for_type(error: SpanielError) -> str | None:
    if extra := error.details.get("extra"):
        return f"To read it, install one more package: {install_command(str(extra))}"
    if kind := error.details.get("kind"):
        return f"The profile reader reads {KIND_NAMES.get(str(kind), kind)}: add --profile reader."
    return None


KIND_NAMES = {"pdf": "PDF", "json": "JSON", "feed": "feeds", "xml": "XML", "csv": "CSV", "markdown": "Markdown"}


def _model_hint_for_type(error: SpanielError) -> str | None:
    if error.details.get("kind") or error.details.get("extra"):
        return "This host does not allow content of this type. Look for a page with the same content."
    return None


def _hint_for_reading(error: SpanielError) -> str | None:
    """For documents that no program can read; other failures are bugs of Spaniel and have the default hint."""
    return {
        "document": "Open it with another program, or get another copy.",
        "process": "The document may be damaged or malicious. Other documents can still be read.",
    }.get(str(error.details.get("cause")))


def _hint_for_host(error: SpanielError) -> str | None:
    if error.details.get("list") == "allowlist":
        return "To allow this host, add it to the allowlist."
    return None


def _model_hint_for_host(error: SpanielError) -> str | None:
    return "This host is not allowed. Use another source." if error.details.get("list") else None


def _hint_for_browser(error: SpanielError) -> str | None:
    """By the reason why the browser cannot be run."""
    return {
        "missing": "Install chromium, or set tools.webfetch.browser.chromium_path.",
        "path": "Correct tools.webfetch.browser.chromium_path, or remove it.",
        "old": "Install a newer chromium, or name one with tools.webfetch.browser.chromium_path.",
        "off": "Set tools.webfetch.browser.enabled = true.",
        "system": "Fetch the page without the browser.",
    }.get(str(error.details.get("cause")))


def _hint_for_value(error: SpanielError) -> str | None:
    """For values that are not wrong but denied, disabled or unavailable."""
    field, reason = str(error.details.get("field", "")), str(error.details.get("reason", ""))
    if field == APPROVAL:
        return "Approve the call, or set tools.webfetch.allow_auto_execution = true."
    if field in SWITCHES:
        return "Change it in your settings file; 'spaniel config show' names it."
    if prog := error.details.get("prog"):
        return f"Run '{prog} --help' to see its options."
    return next((hint for pattern, hint in REASON_HINTS if re.search(pattern, reason)), None)


def _model_hint_for_value(error: SpanielError) -> str | None:
    field = str(error.details.get("field", ""))
    if field == APPROVAL:
        return "The user did not allow this call. Do not repeat it: continue without this page, or ask the user."
    if field in SWITCHES:
        return "Fetching is disabled in this host. Continue without it."
    if error.details.get("cause") == "not_fetched":
        return "Call web_fetch with this url first."
    if field.startswith(("tools.", "spaniel.", "SPANIEL_")) or field.endswith((".toml", "ca_file", "_proxy")):
        return "The settings of this host are wrong, and only its user can correct them. Continue without it."
    return None


APPROVAL = "approval"
SWITCHES = ("tools.mode", "tools.webfetch.enabled")
REASON_HINTS = (  # hints for reasons that are not about a wrong value
    (r"cannot be (read|written|opened|used|made|created)|^is closed|standard input is closed|Permission denied",
     "Check that the file or folder exists, and that you have access to it."),
    (r"there already|already exists|is in use|is held|is locked|another .* (is|runs|has|holds)",
     "Choose another name, or wait until the other run has finished."),
    (r"^(there is )?no (such |record|file|readable file|past result)|no such file",
     "Check the name."),
)  # fmt: skip


HINTS: dict[Code, Callable[[SpanielError], str | None]] = {  # hints that depend on the details
    Code.BAD_ARGS: _hint_for_value,
    Code.INVALID_HOST: _hint_for_host,
    Code.SSRF_BLOCKED: _hint_for_address,
    Code.PORT_BLOCKED: _hint_for_port,
    Code.NETWORK: _hint_for_network,
    Code.HTTP_4XX: _hint_for_status,
    Code.HTTP_5XX: _hint_for_status,
    Code.UNSUPPORTED_CONTENT_TYPE: _hint_for_type,
    Code.BROWSER_UNAVAILABLE: _hint_for_browser,
    Code.EXTRACTION_FAILED: _hint_for_reading,
}
MODEL_HINTS: dict[Code, Callable[[SpanielError], str | None]] = {
    Code.BAD_ARGS: _model_hint_for_value,
    Code.INVALID_HOST: _model_hint_for_host,
    Code.HTTP_4XX: _model_hint_for_status,
    Code.HTTP_5XX: _model_hint_for_status,
    Code.UNSUPPORTED_CONTENT_TYPE: _model_hint_for_type,
}


def _own_machine(url: str) -> tuple[str | None, int]:
    """Host and port of a URL of this machine; the host is None for any other URL."""
    scheme, _, rest = url.partition("://")
    authority = rest.replace("?", "/").replace("#", "/").partition("/")[0].rpartition("@")[2].lower()
    host, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        host, port = authority, ""
    number = int(port) if port.isdecimal() else 443 if scheme.lower() == "https" else 80
    octets = host.startswith("127.") and host.replace(".", "").isdecimal()
    own = octets or host in ("[::1]", "localhost") or host.endswith(".localhost")
    return (host if own else None), number
