"""`Canonical`: the result of a policy for a URL, with its notes; and `Draft`, the URL while rules change it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spaniel.url.value import echoed

if TYPE_CHECKING:
    from typing import Protocol

    class Explains(Protocol):
        """The policy that made a canonical URL, as far as it is asked again."""

        name: str
        version: str

        def explain(self, raw: str, /) -> Canonical: ...

    from spaniel.url.questions import AskedQuestion, RedirectHop, Web
    from spaniel.url.value import Url


CREDENTIALS_WARNING = "credentials were removed from the URL"


class Dropped(NamedTuple):
    """A parameter that is not part of the canonical URL."""

    name: str
    value: str
    reason: str


class Variant(NamedTuple):
    """The same page in another language; `proved` only by the site itself, never by the look of the URL."""

    lang: str
    url: str
    proved: bool


class Pagination(NamedTuple):
    """A page of a list, whose canonical URL is the list's."""

    paginated: bool
    page_param: str
    total_pages: int | None


class RuleStep(NamedTuple):
    """One step of the policy: a rule, the URL before and after it, its remark, and what it asked the web."""

    rule: str
    id: str
    before: str
    after: str
    note: str
    asked: tuple[AskedQuestion, ...] = ()


class CanonicalNotes:
    """What the rules noticed; filled only on request."""

    __slots__ = (
        "dropped",
        "flags",
        "fragment_note",
        "lang_variants",
        "link_type",
        "pagination",
        "redirect_chain",
        "review",
        "steps",
        "warnings",
    )

    def __init__(self) -> None:
        self.dropped: list[Dropped] = []
        self.review: list[str] = []
        self.fragment_note: str | None = None
        self.redirect_chain: list[RedirectHop] = []
        self.lang_variants: list[Variant] = []
        self.pagination: Pagination | None = None
        self.link_type: str | None = None
        self.flags: list[str] = []
        self.warnings: list[str] = []
        self.steps: list[RuleStep] = []


class Canonical:
    """The canonical URL. `url` is ready; the rest is computed on first use."""

    __slots__ = ("_notes", "_policy", "original", "url")

    def __init__(self, url: str, original: str, policy: Explains, notes: CanonicalNotes | None = None) -> None:
        self.url = url
        self.original = original
        self._policy = policy
        self._notes = notes

    @property
    def notes(self) -> CanonicalNotes:
        if self._notes is None:
            self._notes = self._policy.explain(self.original).notes
        return self._notes

    @property
    def canonical_hash(self) -> str:
        """SHA-256 of the canonical URL, in hex."""
        from hashlib import sha256

        return sha256(self.url.encode()).hexdigest()

    @property
    def policy(self) -> str:
        return self._policy.name

    @property
    def policy_version(self) -> str:
        return self._policy.version

    @property
    def dropped(self) -> list[Dropped]:
        return self.notes.dropped

    @property
    def review(self) -> list[str]:
        return self.notes.review

    @property
    def fragment_note(self) -> str | None:
        return self.notes.fragment_note

    @property
    def redirect_chain(self) -> list[RedirectHop]:
        return self.notes.redirect_chain

    @property
    def lang_variants(self) -> list[Variant]:
        return self.notes.lang_variants

    @property
    def pagination(self) -> Pagination | None:
        return self.notes.pagination

    @property
    def link_type(self) -> str | None:
        return self.notes.link_type

    @property
    def flags(self) -> list[str]:
        return self.notes.flags

    @property
    def warnings(self) -> list[str]:
        return self.notes.warnings

    @property
    def repairs(self) -> tuple[str, ...]:
        """The warnings, which never need to be computed."""
        return () if self._notes is None else tuple(self._notes.warnings)

    @property
    def steps(self) -> list[RuleStep]:
        return self.notes.steps

    def as_dict(self) -> dict[str, object]:
        """All results of the policy, for JSON."""
        notes = self.notes
        return {
            "url": self.url,
            "original": echoed(self.original),
            "canonical_hash": self.canonical_hash,
            "policy": self.policy,
            "policy_version": self.policy_version,
            "dropped": [d._asdict() for d in notes.dropped],
            "review": notes.review,
            "fragment_note": notes.fragment_note,
            "redirect_chain": [hop._asdict() for hop in notes.redirect_chain],
            "lang_variants": [v._asdict() for v in notes.lang_variants],
            "pagination": notes.pagination._asdict() if notes.pagination else None,
            "link_type": notes.link_type,
            "flags": notes.flags,
            "warnings": notes.warnings,
        }

    def __str__(self) -> str:
        return self.url

    def __repr__(self) -> str:
        return f"Canonical({self.url!r}, policy={self.policy!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Canonical) and (self.url, self.policy) == (other.url, other.policy)

    def __hash__(self) -> int:
        return hash(self.url)


class Draft:
    """The parts of a URL, each in the parser's form, for rules to change."""

    __slots__ = ("bare_root", "fragment", "host", "params", "path", "port", "scheme")

    notes: CanonicalNotes | None = None  # not requested
    web: Web | None = None  # offline, or not for this rule to ask

    def __init__(self, scheme: str, host: str, port: str, path: str, query: str | None, fragment: str | None) -> None:
        self.scheme = scheme
        self.host = host
        self.port = port  # ":8080", or "" for the scheme's own
        self.path = path
        self.params = None if query is None else query.split("&")
        self.fragment = fragment
        self.bare_root = False  # "https://example.com" rather than "https://example.com/" (CP-02)

    @classmethod
    def of(cls, url: Url) -> Draft:
        port = "" if url.port is None else f":{url.port}"
        return cls(url.scheme, url.host, port, url.path, url.query, url.fragment)

    def become(self, url: Url) -> None:
        """Take another URL's place: a redirect's target, a rewritten prefix."""
        other = Draft.of(url)
        self.scheme, self.host, self.port, self.path = other.scheme, other.host, other.port, other.path
        self.params, self.fragment = other.params, other.fragment

    def text(self) -> str:
        if self.params is not None:
            text = f"{self.scheme}://{self.host}{self.port}{self.path}?{'&'.join(self.params)}"
        elif self.bare_root and self.path == "/":
            text = f"{self.scheme}://{self.host}{self.port}"
        else:
            text = f"{self.scheme}://{self.host}{self.port}{self.path}"
        return text if self.fragment is None else f"{text}#{self.fragment}"

    def drop(self, pair: str, reason: str) -> None:
        if self.notes is not None:
            name, _, value = pair.partition("=")
            self.notes.dropped.append(Dropped(name, value, reason))

    def flag(self, name: str) -> None:
        if self.notes is not None and name not in self.notes.flags:
            self.notes.flags.append(name)


class WatchedDraft(Draft):
    """A draft whose changes are recorded.

    `shown` holds parts as they were written, until a rule settles them; rules never read it.
    """

    __slots__ = ("notes", "shown", "web")

    def __init__(self, url: Url, shown: dict[str, str]) -> None:
        port = "" if url.port is None else f":{url.port}"
        super().__init__(url.scheme, url.host, port, url.path, url.query, url.fragment)
        self.notes: CanonicalNotes = CanonicalNotes()
        self.shown = shown
        self.web: Web | None = None

    def display(self) -> str:
        """The text with the parts that no rule has settled yet as they were written."""
        if not self.shown:
            return self.text()
        held = {part: getattr(self, part) for part in self.shown}
        for part, written in self.shown.items():
            setattr(self, part, written)
        try:
            return self.text()
        finally:
            for part, settled in held.items():
                setattr(self, part, settled)
