"""`Canonical`: what a policy makes of a URL, with all that it noticed on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Protocol

    class Explains(Protocol):
        """The policy that made a canonical URL, as far as it is asked again."""

        name: str
        version: str

        def explain(self, raw: str, /) -> Canonical: ...


from spaniel.url.value import echoed

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


class RedirectHop(NamedTuple):
    """One redirect: the status that said so, and where it led."""

    status: int
    url: str


class AskedQuestion(NamedTuple):
    """What a rule asked the web, and what came back."""

    question: str
    answer: str


class RuleStep(NamedTuple):
    """One rule at work: the URL before and after it, what it has to say, and what it asked the web."""

    rule: str
    id: str
    before: str
    after: str
    note: str
    asked: tuple[AskedQuestion, ...] = ()


class CanonicalNotes:
    """What the rules noticed; filled only when somebody asks."""

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
    """The canonical URL. `url` is ready; the rest is worked out when it is first asked for."""

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
        """The warnings, without working anything out: whoever has some to give has given them at once."""
        return () if self._notes is None else tuple(self._notes.warnings)

    @property
    def steps(self) -> list[RuleStep]:
        return self.notes.steps

    def as_dict(self) -> dict[str, object]:
        """Everything that the policy found out, for JSON."""
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
