"""The answers to what rules ask: each kind of question with the visits that it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.errors import SpanielError, shown
from spaniel.reading.metadata.page_facts import total_pages
from spaniel.url.hostlists import same_owner
from spaniel.url.parsing import parse
from spaniel.url.questions import IF_LINKED, WebAnswer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from spaniel.net.deadline import Deadline
    from spaniel.online.visits import Visit, Visits
    from spaniel.url.allowlist import Allowlist
    from spaniel.url.questions import Question, RedirectWalk
    from spaniel.url.value import Url

    Look = Callable[[Question, Deadline], Awaitable[WebAnswer]]

MAX_SHOWN = 160


class Answers:
    """Answers questions by visiting pages. What cannot be found out is an answer with nothing in it."""

    def __init__(self, visits: Visits, allowlist: Allowlist) -> None:
        self._visits = visits
        self._allowlist = allowlist
        self._by_kind: dict[str, Look] = {
            "https": self._https,
            "slash": self._slash,
            "redirects": self._redirects,
            "shortener": self._shortener,
            "host": self._host,
            "languages": self._languages,
            "pages": self._pages,
            "title": self._title,
        }

    async def answer(self, question: Question, deadline: Deadline) -> WebAnswer:
        """Raises `timeout` where the time is up, and nothing else."""
        return await self._by_kind[question.kind](question, deadline)

    async def _https(self, question: Question, deadline: Deadline) -> WebAnswer:
        """HTTPS is lacking where it was refused, reset or has another name's certificate, and HTTP answers (CP-22)."""
        host = question.subject
        try:
            secure = await self._visits.walk(f"https://{host}/", deadline.within(deadline.left() / 2))
        except SpanielError as error:  # silence proves nothing
            return WebAnswer(None, shown(error.message))
        if not _proves_no_https(secure, host):
            return WebAnswer(False if secure.status or secure.hops else None, _told(secure))
        plain = await self._visits.walk(f"http://{host}/", deadline)
        if plain.status is None and not plain.hops:
            return WebAnswer(None, f"neither HTTPS nor HTTP answers: {_told(plain)}")
        return WebAnswer(True, f"no: {_told(secure)}; HTTP answers {plain.status or plain.hops[0].status}")

    async def _slash(self, question: Question, deadline: Deadline) -> WebAnswer:
        """It matters where the URL without it fails or leads elsewhere, and the one with it answers (CP-23)."""
        kept = question.subject
        start, mark, query = kept.partition("?")
        bare = await self._visits.walk(start.rstrip("/") + mark + query, deadline)
        whole = await self._visits.walk(kept, deadline)
        said = f"without it: {_told(bare)}; with it: {_told(whole)}"
        if not _is_page(whole):
            return WebAnswer(None, said)
        return WebAnswer(not _is_page(bare) or _end(bare, kept) != _end(whole, kept), said)

    async def _redirects(self, question: Question, deadline: Deadline) -> WebAnswer:
        walk = await self._visits.walk(question.subject, deadline)
        return WebAnswer(walk, _told(walk))

    async def _shortener(self, question: Question, deadline: Deadline) -> WebAnswer:
        host = question.subject
        walk = await self._visits.walk(f"https://{host}/", deadline)
        if walk.status is None and not walk.hops:
            return WebAnswer(None, _told(walk))
        away = bool(walk.hops) and not same_owner(parse(walk.hops[-1].url).host, host)
        return WebAnswer(away, _told(walk))

    async def _host(self, question: Question, deadline: Deadline) -> WebAnswer:
        """HEAD on the bare domain over HTTP; the host at the end is the preferred one (CP-24)."""
        walk = await self._visits.walk(f"http://{question.subject}/", deadline)
        if not walk.arrived:
            return WebAnswer(None, _told(walk))
        end = parse(walk.hops[-1].url) if walk.hops else None
        if end is not None and end.port is not None:
            return WebAnswer(None, f"a port of its own: {_told(walk)}")
        host = question.subject if end is None else end.host
        if host not in self._allowlist:
            return WebAnswer(None, f"{host}, which is not on the allowlist")
        return WebAnswer(host, host)

    async def _languages(self, question: Question, deadline: Deadline) -> WebAnswer:
        """What the site names, and the page itself; what must be proved is visited (CP-25)."""
        here = await self._visits.read(question.subject, deadline)
        if here is None:
            return WebAnswer(None, "no page that could be read")
        page = parse(question.subject)
        known = {} if here.facts.language is None else {here.facts.language: question.subject}
        self._add_versions(known, here, page)
        for lang, proposed in question.more:
            if lang.endswith(IF_LINKED):
                continue
            candidates = [known.pop(lang)] if lang in known else proposed
            for candidate in candidates:
                if await self._is_in(lang, candidate, here, page, deadline):
                    known[lang] = candidate
                    there = await self._visits.read(candidate, deadline)
                    if there is not None:  # the version that is taken may name more than the one that was asked for
                        self._add_versions(known, there, page)
                    break
        linked = {link.url for link in here.facts.links}
        for lang, proposed in question.more:
            offered = next((url for url in proposed if url in linked), None) if lang.endswith(IF_LINKED) else None
            if offered is not None and self._is_neighbour(parse(offered), page):
                known.setdefault(lang.removesuffix(IF_LINKED), offered)
        return WebAnswer(
            known, ", ".join(f"{lang} {shown(url, MAX_SHOWN)}" for lang, url in sorted(known.items())) or "none"
        )

    def _add_versions(self, known: dict[str, str], visit: Visit, page: Url) -> None:
        """The versions that a page names, each language once: `es` before `es-mx`."""
        for tag, url in sorted(visit.facts.versions, key=lambda version: len(version[0])):
            lang = tag.partition("-")[0]
            if lang.isalpha() and lang != "x" and self._is_neighbour(parse(url), page):
                known.setdefault(lang, url)

    def _is_neighbour(self, other: Url, page: Url) -> bool:
        """A site may speak for itself; for others only where the allowlist has them."""
        return other.host in self._allowlist if self._allowlist else same_owner(other.host, page.host)

    async def _is_in(self, lang: str, candidate: str, here: Visit, page: Url, deadline: Deadline) -> bool:
        """Whether a candidate is there, is that page and no way to another, and is written in that language."""
        if candidate == page.href:
            return here.facts.language == lang
        if not self._is_neighbour(parse(candidate), page):
            return False
        there = await self._visits.read(candidate, deadline)
        return there is not None and there.facts.language == lang and _same_place(there.url, parse(candidate))

    async def _pages(self, question: Question, deadline: Deadline) -> WebAnswer:
        [(param, _)] = question.more
        visit = await self._visits.read(question.subject, deadline)
        if visit is None:
            return WebAnswer(None, "no page that could be read")
        total = total_pages(visit.facts, visit.url, param)
        return WebAnswer(total, "the page does not tell" if total is None else str(total))

    async def _title(self, question: Question, deadline: Deadline) -> WebAnswer:
        visit = await self._visits.read(question.subject, deadline)
        title = None if visit is None else visit.facts.title
        return WebAnswer(title, "none" if title is None else shown(title))


def _proves_no_https(walk: RedirectWalk, host: str) -> bool:
    """Not that it is slow, nor that a certificate has expired: that is a fault of a site that has HTTPS."""
    if walk.hops:
        first = parse(walk.hops[0].url)
        return first.scheme == "http" and first.host == host  # it answers, to send everybody back
    return walk.status is None and walk.refused is None and walk.unreached


def _is_page(walk: RedirectWalk) -> bool:
    return walk.arrived and walk.status is not None and walk.status < 400


def _end(walk: RedirectWalk, start: str) -> tuple[str, str, str | None]:
    """Where a walk ended, but for what makes no other page: scheme, www, a last slash."""
    end = parse(walk.hops[-1].url if walk.hops else start)
    return end.host.removeprefix("www."), end.path.rstrip("/"), end.query


def _same_place(one: Url, other: Url) -> bool:
    return one.host.removeprefix("www.") == other.host.removeprefix("www.") and one.path.rstrip(
        "/"
    ) == other.path.rstrip("/")


def _told(walk: RedirectWalk) -> str:
    hops = [f"{hop.status} {shown(hop.url, MAX_SHOWN)}" for hop in walk.hops]
    if walk.refused is not None:
        return " -> ".join([*hops, f"refused: {shown(walk.refused.message)}"])
    end = shown(walk.trouble) or ("and on" if walk.endless else str(walk.status))
    return " -> ".join([*hops, end])
