"""What may be asked for: the request schema of the tool, strictly (FR-WF-02)."""

from __future__ import annotations

import re
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from spaniel.defaults import CHUNK_TOKENS, IDLE_MS, MAX_WAIT_SECONDS, SCROLLS, WINDOW_HEIGHT, WINDOW_WIDTH
from spaniel.errors import Code, SpanielError
from spaniel.tables import nearest
from spaniel.url.domains import ALLOWED, BLOCKED, domain_list, domain_rules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spaniel.browser.rendering import RenderOptions
    from spaniel.url.domains import DomainRules

LONGEST_SELECTOR = 1_000
DISPLAYED = {"width": WINDOW_WIDTH, "height": WINDOW_HEIGHT, "idle_ms": IDLE_MS, "scrolls": SCROLLS}

REASONS = ("asked", "contradiction", "updated")  # for a fetch in spite of a fresh copy, as a caller gives them (FG-42)

SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "url": {"type": "string", "minLength": 1, "description": "The http(s) URL to fetch"},
        "max_chunk_tokens": {
            "type": "integer",
            "minimum": CHUNK_TOKENS.low,
            "maximum": CHUNK_TOKENS.high,
            "description": "Largest chunk, in cl100k_base tokens",
        },
        "no_cache": {"type": "boolean", "default": False, "description": "Fetch afresh even if a copy is cached"},
        "force_browser": {"type": "boolean", "default": False, "description": "Render in a headless browser"},
        "screenshot": {"type": "boolean", "default": False, "description": "Add a picture of the page (PNG), rendered"},
    },
    "required": ["url"],
    "additionalProperties": False,
}
# What other profiles than the SRD's take besides (D2-38).
RENDERING: dict[str, object] = {
    "wait_for": {
        "type": "string",
        "minLength": 1,
        "maxLength": LONGEST_SELECTOR,
        "description": "A CSS selector: the page is rendered, and not read before something matches it",
    },
    "scroll": {
        "type": "integer",
        "minimum": SCROLLS.low,
        "maximum": SCROLLS.high,
        "description": "Render the page, and scroll to its end so many times, as long as it grows",
    },
}
WIDER_SCHEMA: dict[str, object] = {
    **SCHEMA,
    "properties": {**SCHEMA["properties"], **RENDERING},  # type: ignore[dict-item]
}


class Request(NamedTuple):
    """A checked request. All after `force_browser` are for programs; a model cannot ask for them."""

    url: str
    max_chunk_tokens: int | None = None  # None: the settings' default
    no_cache: bool = False
    force_browser: bool = False
    picture: bool = False  # a PNG of the page besides: it is rendered afresh
    allowed_domains: Sequence[str] | None = None  # pages come from these alone, and only where the settings agree
    blocked_domains: Sequence[str] = ()
    freshness_class: str | None = None  # in place of the one that the rules choose
    max_age: float | None = None  # seconds; a stored copy that is older is asked about again
    reason: str | None = None  # why a stored copy will not do: one of REASONS
    display: RenderOptions | None = None  # how it is rendered, in place of what the settings say: it is rendered afresh
    max_wait: float | None = None  # seconds of the longest wait that is worth it; None: the profile's
    picture_height: int = 0  # pixels of the tallest picture that is wanted; 0: as tall as it can be made

    @property
    def lists(self) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
        """Both lists of a checked request."""
        return None if self.allowed_domains is None else tuple(self.allowed_domains), tuple(self.blocked_domains)

    @property
    def bypass(self) -> str | None:
        """Why no stored copy will do; None where one will (FG-42)."""
        return self.reason or ("asked" if self.no_cache else None)

    @property
    def domains(self) -> DomainRules:
        return domain_rules(*self.lists)


def read_request(args: Mapping[str, object], shown: RenderOptions | None = None) -> Request:
    """A request from a tool call's arguments; the first thing that is wrong with them is `bad_args`.

    `shown` is how pages are rendered of which a call says nothing; without it a call may not say anything (D2-38).
    """
    known = ("url", "max_chunk_tokens", "no_cache", "force_browser", "screenshot")
    require_known(args, known if shown is None else (*known, *RENDERING))
    request = Request(
        text(args, "url"),
        whole_number(args, "max_chunk_tokens"),
        _truth(args, "no_cache"),
        _truth(args, "force_browser"),
        _truth(args, "screenshot"),
        display=None if shown is None else _display(args, shown),
    )
    return checked(request)


def _display(args: Mapping[str, object], shown: RenderOptions) -> RenderOptions | None:
    """How the page is rendered, where a call says so."""
    wait_for = "" if args.get("wait_for") is None else text(args, "wait_for").strip()
    scrolls = whole_number(args, "scroll") or 0
    if not SCROLLS.allows(scrolls):
        raise bad("scroll", f"{scrolls} is not between {SCROLLS.low} and {SCROLLS.high}")
    if not wait_for and not scrolls:
        return None
    return shown._replace(wait_for=wait_for or shown.wait_for, scrolls=scrolls or shown.scrolls)


def require_known(args: Mapping[str, object], known: tuple[str, ...]) -> None:
    for name in args:
        if name not in known:
            raise bad(name, f"there is no such parameter; {nearest(str(name), known)}")


def text(args: Mapping[str, object], name: str) -> str:
    value = args.get(name)
    if not isinstance(value, str):
        raise bad(name, "is missing" if value is None else "must be text")
    return value


def whole_number(args: Mapping[str, object], name: str) -> int | None:
    """A number as it is sent: models write 600.0 for 600 and null for nothing; some hosts put every number in quotes.

    Such a host does so each time, so that a refusal would help no model.
    """
    value = args.get(name)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and re.fullmatch("[0-9]{1,9}", value.strip(), re.ASCII):
        return int(value)
    return _whole(name, value)


def checked(request: Request) -> Request:
    """The bounds of FR-WF-02a and 02b, for requests made in Python too; lists of domains in their one spelling."""
    if not isinstance(request.url, str):
        raise bad("url", f"must be text, not {type(request.url).__name__}")
    if not request.url.strip():
        raise bad("url", "is empty")
    tokens = _whole("max_chunk_tokens", request.max_chunk_tokens)
    if tokens is not None and not CHUNK_TOKENS.allows(tokens):
        raise bad("max_chunk_tokens", f"{tokens} is not between {CHUNK_TOKENS.low} and {CHUNK_TOKENS.high}")
    if request.max_wait is not None and not MAX_WAIT_SECONDS.allows(request.max_wait):
        raise bad("max_wait", f"must be {MAX_WAIT_SECONDS.range} seconds")
    _check_freshness(request)
    _check_display(request)
    allowed, blocked = request.allowed_domains, request.blocked_domains
    if allowed is None and not blocked:
        return request
    if allowed is not None and not allowed:  # it would allow nothing, which is meant by nobody
        raise bad(ALLOWED, "is empty; leave it out to allow every domain")
    return request._replace(
        allowed_domains=None if allowed is None else domain_list(allowed, ALLOWED),
        blocked_domains=domain_list(blocked, BLOCKED),
    )


def _check_freshness(request: Request) -> None:
    """Which classes there are is the engine's to know."""
    if request.freshness_class is not None and not isinstance(request.freshness_class, str):
        raise bad("freshness_class", "must be text")
    if request.max_age is not None and not _is_seconds(request.max_age):
        raise bad("max_age", "must be a number of seconds, 0 or more")
    if request.reason is not None and request.reason not in REASONS:
        raise bad("reason", f"there is no '{request.reason}'; {nearest(str(request.reason), REASONS)}")


def _check_display(request: Request) -> None:
    """Within the bounds of the settings of the same names."""
    display = request.display
    if display is None:
        return
    for name, number in DISPLAYED.items():
        value = _whole(name, getattr(display, name))
        if value is None or not number.allows(value):
            raise bad(name, f"{value} is not between {number.low} and {number.high}")
    if len(str(display.wait_for)) > LONGEST_SELECTOR:
        raise bad("wait_for", f"must be a CSS selector of at most {LONGEST_SELECTOR} characters")


def _is_seconds(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < inf


def _whole(name: str, value: object) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise bad(name, "must be a whole number")


def _truth(args: Mapping[str, object], name: str) -> bool:
    value = args.get(name)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise bad(name, "must be true or false")


def bad(field: str, reason: str) -> SpanielError:
    return SpanielError(Code.BAD_ARGS, field=field, reason=reason)
