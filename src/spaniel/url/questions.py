"""The questions that a policy's rules can ask of the web, their answers, and how the fold stops at an open question.

A rule never waits. It asks a `Web`; if the answer is not known yet, `AnsweredWeb` stops the fold with the question.
The package `online` answers it, and the fold runs again, with one more answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from spaniel.errors import SpanielError

Kind = Literal["https", "slash", "redirects", "shortener", "host", "languages", "pages", "title"]
GONE = frozenset({404, 410})
IF_LINKED = "?"  # after a language: it is taken from the links of the page only
PAGES = frozenset({"text/html", "application/xhtml+xml"})


class RedirectHop(NamedTuple):
    """One redirect: its status and target."""

    status: int
    url: str


class AskedQuestion(NamedTuple):
    """What a rule asked the web, and what came back."""

    question: str
    answer: str


class RedirectWalk(NamedTuple):
    """Where a URL leads: every redirect, and the final response."""

    hops: tuple[RedirectHop, ...] = ()
    status: int | None = None  # of the last answer; None: there was none
    content_type: str = ""  # of the last answer, without parameters
    trouble: str = ""  # why there is no final response, as text
    unreached: bool = False  # connecting failed: refused, reset, no TLS, or a certificate for another name
    endless: bool = False  # a loop, or too many hops
    refused: SpanielError | None = None  # by the guard

    @property
    def arrived(self) -> bool:
        """Whether there is something at the end. A page that is not for everybody is something."""
        return self.status is not None and not self.failed and not self.endless

    @property
    def readable(self) -> bool:
        """Whether the end may be a page with a title and a language: not a document, not one that was refused."""
        return self.arrived and (self.status or 0) < 400 and self.content_type in ("", *PAGES)

    @property
    def failed(self) -> bool:
        return self.status is not None and (self.status in GONE or self.status >= 500)


class Web(Protocol):
    """What only the network knows. Every answer may be None: not known, and the rule does as it does offline."""

    def lacks_https(self, host: str) -> bool | None:  # noqa: ARG002  not known
        """Whether HTTPS failed and HTTP worked."""
        return None

    def needs_slash(self, url: str) -> bool | None:  # noqa: ARG002
        """Whether the page is another one, or none, without its trailing slash."""
        return None

    def redirects(self, url: str) -> RedirectWalk | None:  # noqa: ARG002
        """Where the URL leads."""
        return None

    def is_shortener(self, host: str) -> bool | None:  # noqa: ARG002
        """Whether the bare address of the host leads to another registrable domain."""
        return None

    def preferred_host(self, domain: str) -> str | None:  # noqa: ARG002
        """The host that the bare registrable domain leads to."""
        return None

    def languages(self, url: str, proposed: Mapping[str, Sequence[str]]) -> Mapping[str, str] | None:  # noqa: ARG002
        """The versions of a page by language, its own included. Those in `proposed` are in it only where they answer
        in that language: at the address that the site names, else at the first of the proposed ones that does. A
        language with `IF_LINKED` behind it is in it if the page links to one of its addresses; it is not requested."""
        return None

    def total_pages(self, url: str, param: str) -> int | None:  # noqa: ARG002
        """How many pages the list has, of which `param` is the number."""
        return None

    def title(self, url: str) -> str | None:  # noqa: ARG002
        """The title of the page."""
        return None

    def heard(self) -> list[AskedQuestion]:
        """What was asked since this was last called, and what came back."""
        return []


class Question(NamedTuple):
    """One question, as a key and in words."""

    kind: Kind
    subject: str  # a host or a URL
    more: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __str__(self) -> str:
        return WORDS[self.kind].format(self.subject)


WORDS: dict[Kind, str] = {
    "https": "does {} answer over HTTPS?",
    "slash": "is {} another page without its last slash?",
    "redirects": "where does {} lead?",
    "shortener": "does the bare address of {} lead to another domain?",
    "host": "which host does http://{}/ lead to?",
    "languages": "in which languages is {} there?",
    "pages": "how many pages has the list {}?",
    "title": "what is the title of {}?",
}


class WebAnswer(NamedTuple):
    """What came back: the value that a rule gets (None: nothing is known), and the same in words."""

    value: Any
    said: str


class Unanswered(Exception):  # noqa: N818  it is no error: it asks
    """The fold has reached a question without an answer."""

    def __init__(self, question: Question) -> None:
        super().__init__(str(question))
        self.question = question


class AnsweredWeb(Web):
    """The answers that were looked up so far. With `stops`, a question beyond them ends the fold as `Unanswered`."""

    def __init__(self, look_up: Callable[[Question], WebAnswer | None], *, stops: bool) -> None:
        self._look_up = look_up
        self._stops = stops
        self._heard: list[AskedQuestion] = []

    def _ask(self, kind: Kind, subject: str, more: tuple[tuple[str, tuple[str, ...]], ...] = ()) -> Any:
        question = Question(kind, subject, more)
        answer = self._look_up(question)
        if answer is None:
            if self._stops:
                raise Unanswered(question)
            return None
        exchange = AskedQuestion(str(question), answer.said)
        if exchange not in self._heard:
            self._heard.append(exchange)
        return answer.value

    def lacks_https(self, host: str) -> bool | None:
        found: bool | None = self._ask("https", host)
        return found

    def needs_slash(self, url: str) -> bool | None:
        found: bool | None = self._ask("slash", url)
        return found

    def redirects(self, url: str) -> RedirectWalk | None:
        found: RedirectWalk | None = self._ask("redirects", url)
        return found

    def is_shortener(self, host: str) -> bool | None:
        found: bool | None = self._ask("shortener", host)
        return found

    def preferred_host(self, domain: str) -> str | None:
        found: str | None = self._ask("host", domain)
        return found

    def languages(self, url: str, proposed: Mapping[str, Sequence[str]]) -> Mapping[str, str] | None:
        more = tuple((lang, tuple(urls)) for lang, urls in proposed.items())
        found: Mapping[str, str] | None = self._ask("languages", url, more)
        return found

    def total_pages(self, url: str, param: str) -> int | None:
        found: int | None = self._ask("pages", url, ((param, ()),))
        return found

    def title(self, url: str) -> str | None:
        found: str | None = self._ask("title", url)
        return found

    def heard(self) -> list[AskedQuestion]:
        heard, self._heard = self._heard, []
        return heard
