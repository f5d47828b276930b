"""A fetch as its caller asks for it: the request, checked strictly (FR-WF-02), and the trace of its steps."""

from __future__ import annotations

import re
import time
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from spaniel.defaults import CHUNK_TOKENS, IDLE_MS, MAX_WAIT_SECONDS, SCROLLS, WINDOW_HEIGHT, WINDOW_WIDTH
from spaniel.errors import Code, SpanielError
from spaniel.tables import nearest
from spaniel.url.allowlist import ALLOWED, BLOCKED, domain_list, domain_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from spaniel.browser.rendering import RenderOptions
    from spaniel.reading.parts import PageParts
    from spaniel.url.allowlist import DomainRules

LONGEST_SELECTOR = 1_000
DISPLAYED = {"width": WINDOW_WIDTH, "height": WINDOW_HEIGHT, "idle_ms": IDLE_MS, "scrolls": SCROLLS}

REASONS = ("asked", "contradiction", "updated")  # why a caller skips a fresh copy (FG-42)

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
        "no_cache": {"type": "boolean", "default": False, "description": "Fetch again even if a copy is cached"},
        "force_browser": {"type": "boolean", "default": False, "description": "Render in a headless browser"},
        "screenshot": {
            "type": "boolean",
            "default": False,
            "description": "Add a screenshot of the rendered page (PNG)",
        },
    },
    "required": ["url"],
    "additionalProperties": False,
}
# Further arguments for profiles other than the SRD's (D2-38).
RENDERING: dict[str, object] = {
    "wait_for": {
        "type": "string",
        "minLength": 1,
        "maxLength": LONGEST_SELECTOR,
        "description": "A CSS selector: the page is rendered, and read once an element matches",
    },
    "scroll": {
        "type": "integer",
        "minimum": SCROLLS.low,
        "maximum": SCROLLS.high,
        "description": "Render the page, and scroll to its end up to this many times while it grows",
    },
}
WIDER_SCHEMA: dict[str, object] = {
    **SCHEMA,
    "properties": {**SCHEMA["properties"], **RENDERING},  # type: ignore[dict-item]
}


class Request(NamedTuple):
    """A checked request. Fields after `force_browser` are for programs; a model cannot set them."""

    url: str
    max_chunk_tokens: int | None = None  # None: the setting's default
    no_cache: bool = False
    force_browser: bool = False
    picture: bool = False  # also return a PNG of the page; it is rendered again
    allowed_domains: Sequence[str] | None = None  # only these are fetched, if the settings also allow them
    blocked_domains: Sequence[str] = ()
    freshness_class: str | None = None  # overrides the class that the rules choose
    max_age: float | None = None  # seconds; an older stored copy is revalidated
    reason: str | None = None  # why a stored copy is not used: one of REASONS
    display: RenderOptions | None = None  # overrides the rendering settings; the page is rendered again
    max_wait: float | None = None  # the longest acceptable wait in seconds; None: the profile's
    picture_height: int = 0  # the largest screenshot height in pixels; 0: no limit
    parts: PageParts | None = None  # which parts of the page are read; None: its main content
    keep_body: bool = False  # return the page as it came, too
    languages: tuple[str, ...] = ()  # for Accept-Language, in place of the profile's

    @property
    def lists(self) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
        """Both domain lists of a checked request."""
        return None if self.allowed_domains is None else tuple(self.allowed_domains), tuple(self.blocked_domains)

    @property
    def is_special(self) -> bool:
        """Whether its result is for this call alone: it is neither taken from the cache nor put there."""
        return self.parts is not None or self.keep_body or bool(self.languages)

    @property
    def bypass(self) -> str | None:
        """Why a stored copy is not used; None if it may be (FG-42)."""
        return self.reason or ("asked" if self.no_cache or self.is_special else None)

    @property
    def domains(self) -> DomainRules:
        return domain_rules(*self.lists)


def read_request(args: Mapping[str, object], shown: RenderOptions | None = None) -> Request:
    """A request from a tool call's arguments; the first invalid one raises `bad_args`.

    `shown` are the default rendering options; without them a call may not set any (D2-38).
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
    """The rendering options, if the call sets any."""
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
            raise bad(name, f"unknown parameter; {nearest(str(name), known)}")


def text(args: Mapping[str, object], name: str) -> str:
    value = args.get(name)
    if not isinstance(value, str):
        raise bad(name, "is missing" if value is None else "must be text")
    return value


def whole_number(args: Mapping[str, object], name: str) -> int | None:
    """A number as models send it: 600.0 for 600, null for none; some hosts send every number as a string.

    Such a host always does, so refusing it would not help the model.
    """
    value = args.get(name)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and re.fullmatch("[0-9]{1,9}", value.strip(), re.ASCII):
        return int(value)
    return _whole(name, value)


def checked(request: Request) -> Request:
    """Check the bounds of FR-WF-02a and 02b, for requests from Python too; normalize the domain lists."""
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
    if request.display is not None:
        _check_display(request.display)
    allowed, blocked = request.allowed_domains, request.blocked_domains
    if allowed is None and not blocked:
        return request
    if allowed is not None and not allowed:  # it would allow nothing, which cannot be intended
        raise bad(ALLOWED, "is empty; leave it out to allow every domain")
    return request._replace(
        allowed_domains=None if allowed is None else domain_list(allowed, ALLOWED),
        blocked_domains=domain_list(blocked, BLOCKED),
    )


def _check_freshness(request: Request) -> None:
    """Whether the class exists is checked with the profile."""
    if request.freshness_class is not None and not isinstance(request.freshness_class, str):
        raise bad("freshness_class", "must be text")
    age: object = request.max_age
    if age is not None and not (isinstance(age, int | float) and not isinstance(age, bool) and 0 <= age < inf):
        raise bad("max_age", "must be a number of seconds, 0 or more")
    if request.reason is not None and request.reason not in REASONS:
        raise bad("reason", f"unknown reason '{request.reason}'; {nearest(str(request.reason), REASONS)}")


def _check_display(display: RenderOptions) -> None:
    """Check against the bounds of the settings of the same names."""
    for name, number in DISPLAYED.items():
        value = _whole(name, getattr(display, name))
        if value is None or not number.allows(value):
            raise bad(name, f"{value} is not between {number.low} and {number.high}")
    if len(str(display.wait_for)) > LONGEST_SELECTOR:
        raise bad("wait_for", f"must be a CSS selector of at most {LONGEST_SELECTOR} characters")


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


class TraceStep(NamedTuple):
    """One step: its name in the SRD's diagram, its outcome, its time, and what it was about."""

    name: str
    outcome: str
    ms: float
    url: str = ""  # without its query, as in the log
    attempt: int = 0  # number of the fallback attempt, from 1; 0 before and after
    hop: int = 0  # redirects followed so far


class Trace:
    """The steps of one fetch in the order in which they ended; `watch` gets each as it ends."""

    def __init__(self, watch: Callable[[TraceStep], None] | None = None) -> None:
        self.steps: list[TraceStep] = []
        self._watchers = [watch] if watch else []

    def step(self, name: str, url: str = "", attempt: int = 0, hop: int = 0) -> Step:
        """Time the block; an error's code is its outcome."""
        return Step(self, name, url, attempt, hop)

    def add(self, step: TraceStep) -> None:
        self.steps.append(step)
        for watch in self._watchers:
            watch(step)

    def feed(self, other: Trace) -> None:
        """Send the steps so far, and those to come, to another trace."""
        for step in self.steps:
            other.add(step)
        self._watchers.append(other.add)

    def leave(self, other: Trace) -> None:
        self._watchers.remove(other.add)


class Step:
    """A running step: `text` is its outcome, `ok` unless set.

    A class: a generator made into a context manager takes three times as long, and a fetch has a dozen steps.
    """

    __slots__ = ("_about", "_name", "_start", "_trace", "text")

    def __init__(self, trace: Trace, name: str, url: str, attempt: int, hop: int) -> None:
        self._trace = trace
        self._name = name
        self._about = url, attempt, hop
        self._start = 0.0
        self.text = "ok"

    def __enter__(self) -> Step:
        self._start = time.perf_counter()
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, SpanielError):
            self.text = str(error.code)
        elif error is not None:
            self.text = type(error).__name__
        ms = (time.perf_counter() - self._start) * 1000
        self._trace.add(TraceStep(self._name, self.text, round(ms, 3), *self._about))
