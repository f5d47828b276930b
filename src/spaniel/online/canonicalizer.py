"""Canonicalizes online: answers a rule's question and runs the policy again, until no question is open."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote
from weakref import WeakValueDictionary

from spaniel.defaults import CANON_JOBS
from spaniel.errors import SpanielError
from spaniel.learnt import Learnt
from spaniel.net.deadline import Deadline
from spaniel.online.visits import Answers, UnreadPage, Visits
from spaniel.tables import complaint
from spaniel.url.allowlist import Allowlist
from spaniel.url.allowlist import load as load_allowlist
from spaniel.url.hostlists import same_owner
from spaniel.url.parsing import parse
from spaniel.url.policy import Policy, load
from spaniel.url.questions import AnsweredWeb, Question, RedirectWalk, Unanswered, WebAnswer

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Iterable

    from spaniel.online.visits import Asks
    from spaniel.pipeline.retrieve import Door, FetchOptions
    from spaniel.reading.metadata.page_facts import PageLink
    from spaniel.url import Canonical
    from spaniel.url.questions import Web

LEAST = 0.5  # of the title's words that a link must have
_WORD = re.compile(r"[^\W_]{2,}")
_FILLERS = """al ante con de del desde el en la las lo los para por que se sin su sus un una unos unas
and for of or the to"""
FILLERS = frozenset(_FILLERS.split())


class Deeper(NamedTuple):
    """A link that is proposed in the place of another."""

    url: str  # canonical
    text: str  # the words on it
    fit: float  # how well it fits the title, from LEAST to 1


def deeper_link(
    links: Iterable[PageLink], title: str, page: str, policy: Policy, web: Web | None = None
) -> Deeper | None:
    """The informative link of the same site that fits the title best; None where none fits well enough.

    It fits as far as the title's words are on the link or in its last path segment. Words that the title does not
    have count against it a little, so that of two links the plainer one wins. With a `web`, which is what is known of
    hosts, the policy's allowlist holds for what is proposed.
    """
    wanted = _words(title)
    if not wanted:
        return None
    best: Deeper | None = None
    for link in links:
        fit = _fit(wanted, link)
        if fit >= LEAST and (best is None or fit > best.fit) and (found := _informative(link.url, page, policy, web)):
            best = Deeper(found.url, link.text, round(fit, 3))
    return best


def _fit(wanted: frozenset[str], link: PageLink) -> float:
    there = _words(link.text)
    slug = _words(unquote(link.url.partition("?")[0].rstrip("/").rpartition("/")[2]))
    return max(_likeness(wanted, there), _likeness(wanted, slug), _likeness(wanted, there | slug))


def _likeness(wanted: frozenset[str], there: frozenset[str]) -> float:
    shared = len(wanted & there) / len(wanted)
    surplus = len(there - wanted) / max(1, len(there))
    return shared - 0.2 * surplus if shared else 0.0


def _informative(url: str, page: str, policy: Policy, web: Web | None) -> Canonical | None:
    try:
        found = policy.explain(url, web)
        here = policy.explain(page, web)
        same = same_owner(parse(url).host, parse(page).host)
    except SpanielError:
        return None
    return found if same and found.link_type == "informative" and found.url != here.url else None


def _words(text: str) -> frozenset[str]:
    plain = unicodedata.normalize("NFKD", text.lower())
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    return frozenset(word for word in _WORD.findall(plain) if word not in FILLERS)


MAX_ROUNDS = 40  # questions about one URL; eight kinds, and few of them twice
MAX_REMEMBERED = 20_000  # answers
OF_PAGES = frozenset({"languages", "pages", "title"})  # questions that need the page
IN_PART = "asked-in-part"  # flag: the time was up before all questions were answered


class Reach(NamedTuple):
    """The parts of an engine that are needed for requests."""

    door: Door
    http: Asks
    way: FetchOptions
    seconds: float = 20  # for all that is asked about one URL


class CanonicalResult(NamedTuple):
    """The result for a URL of a list: its canonical form, or an error."""

    raw: str | bytes
    canonical: Canonical | None
    error: SpanielError | None


class Sought(NamedTuple):
    """The result of a search for a deeper link: the link if there is one, and why the page could not be read."""

    link: Deeper | None
    trouble: str = ""


class Canonicalizer:
    """Canonicalizes under one policy, online. Answers are cached for its lifetime.

    What was `learnt` before is not requested again, unless with `refresh`. Offline, `policy.explain` with
    `learnt.web()` does the same without requests.
    """

    def __init__(self, policy: Policy, reach: Reach, learnt: Learnt | None = None, *, refresh: bool = False) -> None:
        self._policy = policy
        self._reach = reach
        self.learnt = Learnt() if learnt is None else learnt
        self._refresh = refresh
        self._remembered: OrderedDict[Question, WebAnswer] = OrderedDict()
        self._asking: WeakValueDictionary[Question, asyncio.Lock] = WeakValueDictionary()
        rule = policy.follows
        allowlist = Allowlist() if rule is None else rule.allowlist
        way = reach.way if rule is None else reach.way._replace(max_redirects=rule.most)
        self._visits = Visits(reach.door, reach.http, way, lambda host: rule is None or rule.passes(host))
        self._answers = Answers(self._visits, allowlist)

    async def canonicalize(self, raw: str | bytes) -> Canonical:
        """The canonical form, as far as sites respond. A site that does not respond is not an error."""
        deadline = Deadline(self._reach.seconds)
        own: dict[Question, WebAnswer] = {}  # what holds for this URL alone: that the time was up

        def look_up(question: Question) -> WebAnswer | None:
            return own.get(question) or self._known(question)

        for round_ in range(MAX_ROUNDS + 1):
            try:
                return self._flagged(self._policy.explain(raw, AnsweredWeb(look_up, stops=round_ < MAX_ROUNDS)), own)
            except Unanswered as unanswered:
                await self._find_out(unanswered.question, deadline, own)
        raise AssertionError("the last round stops at nothing")

    def _flagged(self, result: Canonical, own: dict[Question, WebAnswer]) -> Canonical:
        if own and IN_PART not in result.flags:
            result.flags.append(IN_PART)
        return result

    def _known(self, question: Question) -> WebAnswer | None:
        if question in self._remembered:
            self._remembered.move_to_end(question)
            return self._remembered[question]
        return None if self._refresh else self.learnt.answer(question)

    async def _find_out(self, question: Question, deadline: Deadline, own: dict[Question, WebAnswer]) -> None:
        """Answer a question; concurrent callers share one request."""
        if self._is_idle(question, own):
            self._remember(question, WebAnswer(None, "not asked: there is no page to read"))
            return
        lock = self._asking.get(question)
        if lock is None:
            lock = self._asking[question] = asyncio.Lock()
        try:
            with deadline.guarding("queue"):
                async with lock:
                    if self._known(question) is None:
                        self._remember(question, await self._answers.answer(question, deadline))
        except SpanielError as error:  # the time is up: for this URL, not for the next that asks
            value = RedirectWalk(trouble=error.message) if question.kind == "redirects" else None
            own[question] = WebAnswer(value, error.message)

    def _is_idle(self, question: Question, own: dict[Question, WebAnswer]) -> bool:
        """Whether it is known already that there is no page that could be read."""
        if question.kind not in OF_PAGES:
            return False
        walked = Question("redirects", question.subject)
        known = own.get(walked) or self._known(walked)
        return known is not None and not known.value.readable

    def _remember(self, question: Question, answer: WebAnswer) -> None:
        self._remembered[question] = answer
        if len(self._remembered) > MAX_REMEMBERED:
            self._remembered.popitem(last=False)
        self.learnt.learn(question, answer)

    async def find(self, raw: str | bytes) -> CanonicalResult:
        """Like `canonicalize`, with an error as part of the result."""
        try:
            return CanonicalResult(raw, await self.canonicalize(raw), None)
        except SpanielError as error:
            return CanonicalResult(raw, None, error)

    async def many(self, raws: Iterable[str | bytes], at_once: int = CANON_JOBS) -> AsyncIterator[CanonicalResult]:
        """Many concurrently, in the order of the input."""
        begun: deque[asyncio.Task[CanonicalResult]] = deque()
        try:
            for raw in raws:
                begun.append(asyncio.create_task(self.find(raw)))
                if len(begun) >= at_once:
                    yield await begun.popleft()
            while begun:
                yield await begun.popleft()
        finally:
            for task in begun:
                task.cancel()
            await asyncio.gather(*begun, return_exceptions=True)

    async def deeper_link(self, url: str, title: str) -> Deeper | None:
        """A link on the page at `url` that is informative and fits a record's title better (CP-15)."""
        return (await self.seek_deeper(url, title)).link

    async def seek_deeper(self, url: str, title: str) -> Sought:
        """Like `deeper_link`, but distinguishes a page without such a link from one that could not be read."""
        try:
            visit = await self._visits.look(url, Deadline(self._reach.seconds))
        except SpanielError as error:
            return Sought(None, error.message)
        if isinstance(visit, UnreadPage):
            return Sought(None, visit.reason)
        return Sought(deeper_link(visit.facts.links, title, url, self._policy, self.learnt.web()))


def canonicalizer_for(
    policy: str | os.PathLike[str] | Policy,
    reach: Reach,
    *,
    allowlist: str | os.PathLike[str] | Allowlist | None = None,
    learnt: str | os.PathLike[str] | None = None,
    refresh: bool = False,
) -> Canonicalizer:
    """A canonicalizer from options: a policy with online rules, an allowlist file, a file of learnt facts."""
    found = policy if isinstance(policy, Policy) else load(policy)
    if not found.asks:
        raise complaint(
            "policy", f"'{found.name}' has no rule with 'asks = true': there is nothing to ask the web; clara asks"
        )
    if allowlist is not None:
        found = found.with_allowlist(allowlist if isinstance(allowlist, Allowlist) else load_allowlist(allowlist))
    return Canonicalizer(found, reach, None if learnt is None else Learnt.load(learnt), refresh=refresh)
