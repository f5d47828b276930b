"""The rule for redirects and shorteners, which must not leave the allowlist (CP-09, CP-18, CP-21, CP-27)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.defaults import MAX_REDIRECTS
from spaniel.errors import SpanielError, shown
from spaniel.url.allowlist import Allowlist, of_patterns
from spaniel.url.hostlists import HostList, same_owner
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from spaniel.tables import Table
    from spaniel.url.canonical import Draft
    from spaniel.url.questions import RedirectHop, RedirectWalk

OFFLINE = "offline: not looked up"
UNRESOLVED = "shortener-unresolved"
MAX_TEXT = 120


def follow_redirects(options: Table) -> FollowRedirects:
    """The page at the end of the chain, unless it is too far or leaves the allowlist."""
    return FollowRedirects(
        options.number("max_hops", MAX_REDIRECTS.default),
        of_patterns(options.texts("allowlist", ())),
        HostList(options.texts("shorteners", ())),
    )


class FollowRedirects:
    """The rule: a value, so that a policy can be given another allowlist."""

    __slots__ = ("allowlist", "most", "shorteners")

    def __init__(self, most: int, allowlist: Allowlist, shorteners: HostList) -> None:
        self.most, self.allowlist, self.shorteners = most, allowlist, shorteners

    def within(self, allowlist: Allowlist) -> FollowRedirects:
        """The same rule, held to another allowlist."""
        return FollowRedirects(self.most, allowlist, self.shorteners)

    def passes(self, host: str) -> bool:
        """Whether a redirect may lead there: the allowlist has it, or it is a shortener, which leads on."""
        return host in self.allowlist or host in self.shorteners

    def __call__(self, draft: Draft) -> str | None:
        walk = None if draft.web is None else draft.web.redirects(draft.text())
        if walk is None:
            return self._left_undone(draft)
        if walk.refused is not None:
            raise SpanielError(walk.refused.code, **walk.refused.details)  # a new one for each who asks
        self._require_allowed(draft, walk.hops)
        if walk.arrived and len(walk.hops) <= self.most:
            return self._arrive(draft, walk)
        if walk.unreached and draft.scheme == "https" and not draft.port and self._lacks_https(draft):
            return self(draft)
        return self._stay(draft, walk)

    def _lacks_https(self, draft: Draft) -> bool:
        """A link that was written with https, to a host that has only HTTP, is stored as HTTP (CP-22)."""
        if draft.web is None or not draft.web.lacks_https(draft.host):
            return False
        draft.scheme = "http"
        draft.flag("http-only")
        return True

    def _left_undone(self, draft: Draft) -> str:
        """Offline only the URL's own host can be judged, and only on request."""
        shortener = draft.host in self.shorteners or (
            draft.web is not None and draft.web.is_shortener(draft.host) is True
        )
        if shortener:
            draft.flag(UNRESOLVED)
        elif draft.web is not None:
            self.allowlist.require(draft.host)
        return OFFLINE

    def _require_allowed(self, draft: Draft, hops: tuple[RedirectHop, ...]) -> None:
        """Each hop and the end. A shortener of the list may stand in between: that is what it is for."""
        for number, hop in enumerate(hops, 1):
            host = parse(hop.url).host
            if host in self.shorteners and number < len(hops):
                continue
            self.allowlist.require(host, f"redirect {number} of {_short(draft.text())}: {hop.status} {_short(hop.url)}")

    def _arrive(self, draft: Draft, walk: RedirectWalk) -> str | None:
        remark = None
        if walk.hops:
            remark = self._told_of_shortener(draft, walk)
            draft.become(parse(walk.hops[-1].url))
            if draft.notes is not None:
                draft.notes.redirect_chain += walk.hops
        else:
            self.allowlist.require(draft.host)
            if draft.host in self.shorteners:
                draft.flag(UNRESOLVED)
        if walk.status is not None and walk.status >= 400:
            draft.flag(f"status-{walk.status}")
            return f"the end answers {walk.status}"
        return remark

    def _told_of_shortener(self, draft: Draft, walk: RedirectWalk) -> str | None:
        if draft.host in self.shorteners:
            return "a shortener, resolved"
        if same_owner(draft.host, parse(walk.hops[0].url).host):
            return None
        known = draft.web is not None and draft.web.is_shortener(draft.host)
        return "a shortener, by what its bare address does; resolved" if known else None

    def _stay(self, draft: Draft, walk: RedirectWalk) -> str:
        """The original is kept and flagged: somebody has to look at it. A site that is down today is not dead.

        The chain is stored however it ended: it shows where it went wrong (CP-09).
        """
        if draft.notes is not None:
            draft.notes.redirect_chain += walk.hops
        if draft.host in self.shorteners:
            draft.flag(UNRESOLVED)
        else:
            self.allowlist.require(draft.host)
        if walk.endless or len(walk.hops) > self.most:
            draft.flag("redirect-limit")
            return f"{walk.trouble or f'more than {self.most} hops'}: the original stays"
        if walk.failed:
            draft.flag(f"status-{walk.status}")
            return f"the end answers {walk.status}: the original stays"
        draft.flag("no-answer")
        return f"no answer, stored as it is: {shown(walk.trouble)}"


def _short(url: str) -> str:
    """A URL for a message: no query, which may hold a secret."""
    start, mark, _ = url.partition("?")
    return shown(f"{start}?…" if mark else start, MAX_TEXT)
