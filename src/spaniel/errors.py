"""Every refusal Spaniel can give, in one table (SRD §3.7.2), and the one exception that carries them."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

SHOWN = 300  # characters of a detail that came from outside
USUAL_PORTS = (80, 443)


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
    hint: str  # for people, who can run commands and change settings
    model_hint: str  # for a model that called the tool, and can do neither


TABLE: dict[Code, Refusal] = {
    Code.BAD_ARGS: Refusal(
        "Invalid request parameters", False, 2, 400, ("field", "reason"),
        "{field}: {reason}", "Correct this value and try again.", "Correct this argument and call again."),
    Code.INVALID_URL: Refusal(
        "URL parsing failed", False, 2, 400, ("url", "reason"),
        "Not a URL that can be fetched ({reason}): {url}", "Check the address for typing errors.",
        "Check the address for typing errors."),
    Code.INVALID_SCHEME: Refusal(
        "Non-http(s) scheme", False, 2, 400, ("scheme",),
        "URLs with the scheme '{scheme}' are not fetched", "Use an address that begins with http:// or https://.",
        "Use an address that begins with http:// or https://."),
    Code.INVALID_HOST: Refusal(
        "Invalid host (e.g., numeric IP forms)", False, 2, 400, ("host", "reason"),
        "The host '{host}' is refused: {reason}", "Write a name or a plain address (192.0.2.1, [2001:db8::1]).",
        "Write the name of a public site."),
    Code.PORT_BLOCKED: Refusal(
        "Port not in allowlist", False, 3, 403, ("port", "allowed_ports"),
        "Port {port} is not allowed (allowed: {allowed_ports})", "Add it to tools.webfetch.security.allowed_ports.",
        "Use an address with an allowed port, or another source."),
    Code.SSRF_BLOCKED: Refusal(
        "SSRF protection triggered", False, 3, 403, ("blocked_ip", "cidr", "toggle"),
        "Connection to {blocked_ip} is blocked: it lies in {cidr}", "Only public addresses are fetched.",
        "Only public addresses are fetched. Use another source."),
    Code.DNS_FAILED: Refusal(
        "DNS resolution failed", True, 4, 502, ("host", "error"),
        "The name '{host}' could not be looked up: {error}", "Check the spelling of the name, then your DNS.",
        "Check the spelling of the name."),
    Code.ROBOTS_DISALLOWED: Refusal(
        "robots.txt disallows path", False, 3, 403, ("path", "origin", "rule"),
        "robots.txt of {origin} disallows {path}", "Run 'spaniel may-i URL' to see which line says so.",
        "The site asks programs not to fetch this page. Use another source."),
    Code.ROBOTS_UNAVAILABLE: Refusal(
        "Could not fetch robots.txt", True, 4, 502, ("origin", "error"),
        "robots.txt of {origin} cannot be read: {error}",
        "Try again later. To fetch pages without a robots.txt, set tools.webfetch.robots.fail_open = true.",
        "Try again later, or use another source."),
    Code.REDIRECT_LIMIT: Refusal(
        "Max redirects exceeded", False, 5, 502, ("count", "max"),
        "The page redirects more than {max} times",
        "Fetch the final address itself, or raise tools.webfetch.max_redirects.",
        "Fetch the final address itself if you know it, or use another source."),
    Code.TIMEOUT: Refusal(
        "Request timeout", True, 4, 504, ("timeout_ms", "phase"),
        "No complete answer within {timeout_ms} ms (during {phase})",
        "Try again, or allow more time: --timeout, or tools.webfetch.timeout_seconds.",
        "Try again, or use another source."),
    Code.NETWORK: Refusal(
        "Network/connection error", True, 4, 502, ("error",),
        "The connection failed: {error}", "Try again later.", "Try again later, or use another source."),
    Code.RESPONSE_TOO_LARGE: Refusal(
        "Response exceeds size limit", False, 6, 502, ("size", "max_bytes"),
        "The response has more than {max_bytes} bytes",
        "To fetch pages of this size, raise tools.webfetch.max_download_bytes.",
        "Look for a smaller page with the same content."),
    Code.UNSUPPORTED_CONTENT_TYPE: Refusal(
        "Content-Type not supported", False, 6, 502, ("content_type",),
        "Content of type '{content_type}' cannot be read",
        "HTML and plain text are read, and other kinds where the profile's 'content' names them.",
        "Look for a page with the same content."),
    Code.HTTP_4XX: Refusal(
        "HTTP 4xx client error", False, 5, 502, ("status", "status_text"),
        "The server answered {status} {status_text}", "Check the address. The page may be gone, or not for everybody.",
        "Check the address. The page may be gone, or not for everybody: then use another source."),
    Code.HTTP_5XX: Refusal(
        "HTTP 5xx server error", True, 5, 502, ("status", "status_text"),
        "The server answered {status} {status_text}", "Try again later.", "Try again later."),
    Code.BROWSER_UNAVAILABLE: Refusal(
        "Chromium not found/runnable", False, 7, 503, ("chromium_path", "error"),
        "Chromium cannot be run: {error}", "Run 'spaniel doctor' to see what it needs.",
        "This host has no browser. Call again without the arguments that need one."),
    Code.BROWSER_CRASHED: Refusal(
        "Browser process crashed", True, 7, 502, ("error",),
        "The browser crashed: {error}", "Try again.", "Try again."),
    Code.EXTRACTION_FAILED: Refusal(
        "HTML extraction failed", False, 6, 502, ("error",),
        "The page could not be read: {error}", "Please report the page: this should not happen.",
        "Use another source."),
    Code.CACHE_READ_FAILED: Refusal(
        "Cache read error", True, 7, 500, ("path", "error"),
        "The cache could not be read at {path}: {error}", "Run 'spaniel cache verify', or 'spaniel cache clear'.",
        "Call again with no_cache."),
    Code.INTERNAL: Refusal(
        "Unexpected internal error", True, 70, 500, ("error",),
        "Unexpected error: {error}", "Please report it, with the command that led to it.",
        "Try again once. If it fails again, use another source."),
}  # fmt: skip


_STEERING = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")


def shown(text: str, limit: int = SHOWN) -> str:
    """Foreign text made safe to print: no control, format or surrogate character acts, and it ends."""
    cut = text if len(text) <= limit else text[:limit] + "…"
    if cut.isascii() and cut.isprintable():
        return cut
    import unicodedata

    return "".join(c if unicodedata.category(c)[0] not in "CZ" or c == " " else ascii(c)[1:-1] for c in cut)


# What the extras of pyproject.toml are. Hints name these packages, and never one called 'spaniel': under that name an
# index may have somebody else's.
EXTRAS = {"pdf": "'pypdfium2>=5,<6'", "parquet": "'pyarrow>=21'", "ray": "'ray>=2.50' 'fsspec>=2025.3'"}


def install_command(extra: str) -> str:
    """What installs the packages of an extra."""
    return f"pip install {EXTRAS[extra]}"


def json_safe(text: str) -> str:
    """JSON in which no character steers a terminal or turns the order of text: C1 controls, marks of direction."""
    return (
        text if text.isascii() and "\x7f" not in text else _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    )


# Settings, variables, options and commands, as messages for people name them.
_FOR_PEOPLE = re.compile(
    r"\btools\.(?:mode|webfetch)\b|\bspaniel\.[a-z_]+\.[a-z_]+|SPANIEL_[A-Z]|(?<![\w/-])--[a-z]|'spaniel |\.toml\b"
)
ONLY_FOR_HINTS = frozenset({"kind"})  # details that choose a hint and are not part of the SRD's answer


class SpanielError(Exception):
    """Why a page was not fetched, or a call refused.

    `code` says what kind of failure it is and never changes its meaning. `message` says what happened, `hint` what
    to do about it, `retryable` whether the same call may work later. `details` has the facts, `url` the URL that
    was asked for, where there is one.
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
        """The same error, about the URL that somebody asked for. A copy: several may have asked for one page."""
        copy = _rebuild(self.code, self.details, url)
        copy.__cause__ = self.__cause__
        return copy

    @property
    def row(self) -> Refusal:
        return TABLE[self.code]

    @property
    def retryable(self) -> bool:
        """Whether the same call may work later; a server that says when to come back says that it may."""
        asked_to_wait = self.details.get("status") == 429 and "retry_after" in self.details
        return self.row.retryable or asked_to_wait

    @property
    def hint(self) -> str:
        """What to do about it; where settings help, as lines that can be pasted into a settings file."""
        special = HINTS.get(self.code)
        return (special and special(self)) or self.row.hint

    @property
    def model_hint(self) -> str:
        """The same for a model, which can neither run a command nor change a setting."""
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
            return "Fetching is switched off in this host"
        return self.row.meaning if _FOR_PEOPLE.search(self.message) else self.message

    def _price(self) -> str:
        """What a site wants to be paid for a page by programs, where it says so (402 with `crawler-price`)."""
        price = self.details.get("crawler_price")
        return f"; it asks programs to pay for this page (crawler-price: {price})" if price else ""

    def as_dict(self) -> dict[str, object]:
        """The error as JSON has it: code, message, retryable, and details if there are any."""
        envelope: dict[str, object] = {"code": str(self.code), "message": self.message, "retryable": self.retryable}
        if details := {name: fact for name, fact in self.details.items() if name not in ONLY_FOR_HINTS}:
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
    """An error's text ends up in logs, and a query may hold a secret."""
    start = url.partition("#")[0]
    start, mark, _ = start.partition("?")
    return f"{start}?…" if mark else start


def _hint_for_address(error: SpanielError) -> str | None:
    """For one's own machine, asked for by its address: every key that it takes, at once. Not after a redirect."""
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
    known, port = error.details.get("allowed_ports"), error.details.get("port")
    if not isinstance(known, list):
        return None
    ports = ", ".join(str(number) for number in [*known, port])
    return (
        "To allow it, write these lines into your settings file ('spaniel config show' names it):\n\n"
        f"[tools.webfetch.security]\nallowed_ports = [{ports}]"
    )


def _hint_for_network(error: SpanielError) -> str | None:
    return {
        "certificate": "If you know and trust who signed the certificate, name the file with their certificate (PEM)\n"
        'in your settings file:\n\n[spaniel.net]\nca_file = "/path/to/certificate.pem"',
        "tls": "Check whether the address should begin with http:// instead of https://.",
        "connect": "Check the host and the port. The server may be down: then try again later.",
    }.get(str(error.details.get("cause")))


def _hint_for_status(error: SpanielError) -> str | None:
    if error.retryable and "retry_after" in error.details:
        return f"The server asks you to wait (Retry-After: {error.details['retry_after']}). Then try again."
    if "crawler_price" in error.details:
        return "The site gives this page to programs that pay for it. Spaniel pays nobody: ask the site for access."
    return CLOSED.get(str(error.details.get("page_type")))


def _model_hint_for_status(error: SpanielError) -> str | None:
    if "crawler_price" in error.details:
        return "The site gives this page only to programs that pay for it. Use another source."
    return _hint_for_status(error)


CLOSED = {  # by the type of the page that came with the status
    "paywall": "The page is for those who pay for it. Nothing is done to get round that.",
    "login": "The page is for those who log in. Nothing is done to get round that.",
    "geo_block": "The page is not given out in your region. Nothing is done to get round that.",
    "challenge": "The site asks robots to prove that they are people. Nothing is done to get round that.",
}


def _hint_for_type(error: SpanielError) -> str | None:
    if extra := error.details.get("extra"):
        return f"To read it, install one more package: {install_command(str(extra))}"
    if kind := error.details.get("kind"):
        return f"The profile reader reads {KINDS.get(str(kind), kind)}: add --profile reader."
    return None


KINDS = {"pdf": "PDF", "json": "JSON", "feed": "feeds", "xml": "XML", "csv": "CSV", "markdown": "Markdown"}


def _model_hint_for_type(error: SpanielError) -> str | None:
    if error.details.get("kind") or error.details.get("extra"):
        return "This host does not allow content of this type. Look for a page with the same content."
    return None


def _hint_for_reading(error: SpanielError) -> str | None:
    """A document that nobody could read is no fault of Spaniel's."""
    return {
        "document": "Open it with another program, or ask whoever made it for another copy.",
        "process": "The document may be damaged, or made to harm whoever opens it. Others are read as before.",
    }.get(str(error.details.get("cause")))


def _hint_for_host(error: SpanielError) -> str | None:
    if error.details.get("list") == "allowlist":
        return "If this host should be allowed, add it to the allowlist."
    return None


def _model_hint_for_host(error: SpanielError) -> str | None:
    return "This host may not be fetched from. Use another source." if error.details.get("list") else None


def _hint_for_browser(error: SpanielError) -> str | None:
    """What to do depends on why it cannot be run; the error says more about most of the causes."""
    return {
        "missing": "Install chromium, or set tools.webfetch.browser.chromium_path.",
        "path": "Correct tools.webfetch.browser.chromium_path, or leave it out.",
        "old": "Install a newer chromium, or name one with tools.webfetch.browser.chromium_path.",
        "off": "Set tools.webfetch.browser.enabled = true.",
        "system": "Fetch the page without the browser.",
    }.get(str(error.details.get("cause")))


def _hint_for_value(error: SpanielError) -> str | None:
    """Only a wrong value is corrected. What is denied, switched off or out of reach needs something else."""
    field, reason = str(error.details.get("field", "")), str(error.details.get("reason", ""))
    if field == APPROVAL:
        return "Approve the call, or set tools.webfetch.allow_auto_execution = true."
    if field in SWITCHES:
        return "Change it in your settings file; 'spaniel config show' names it."
    return next((hint for pattern, hint in OUT_OF_REACH if re.search(pattern, reason)), None)


def _model_hint_for_value(error: SpanielError) -> str | None:
    field = str(error.details.get("field", ""))
    if field == APPROVAL:
        return "The user did not allow this call. Do not repeat it: go on without this page, or ask the user."
    if field in SWITCHES:
        return "Fetching is switched off in this host. Go on without it."
    if error.details.get("cause") == "not_fetched":
        return "Call web_fetch with this url first."
    if field.startswith(("tools.", "spaniel.", "SPANIEL_")) or field.endswith((".toml", "ca_file", "_proxy")):
        return "The settings of this host are wrong, and only its user can correct them. Go on without it."
    return None


APPROVAL = "approval"
SWITCHES = ("tools.mode", "tools.webfetch.enabled")
OUT_OF_REACH = (  # what a reason says where no value is wrong
    (r"cannot be (read|written|opened|used|made)|^is closed|standard input is closed|Permission denied",
     "Check that the file or folder is there, and that you may use it."),
    (r"there already|is in use|is held|is locked|another .* (is|runs|has|holds)",
     "Choose another name, or wait until the other run has ended."),
    (r"^(there is )?no (such |record|file|readable file)|^nothing was seen|no such file",
     "Check the name: nothing has it."),
)  # fmt: skip


HINTS: dict[Code, Callable[[SpanielError], str | None]] = {  # where a row's own line is not enough
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
    """Host and port of a URL that names this machine."""
    scheme, _, rest = url.partition("://")
    authority = rest.replace("?", "/").replace("#", "/").partition("/")[0].rpartition("@")[2].lower()
    host, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        host, port = authority, ""
    number = int(port) if port.isdecimal() else 443 if scheme.lower() == "https" else 80
    octets = host.startswith("127.") and host.replace(".", "").isdecimal()
    own = octets or host in ("[::1]", "localhost") or host.endswith(".localhost")
    return (host if own else None), number
