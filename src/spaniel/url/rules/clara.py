"""Rules that a registry of official sources needs: redirects, languages, link classes (document 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError
from spaniel.url.canonical import Variant
from spaniel.url.hostlists import HostList
from spaniel.url.parsing import parse
from spaniel.url.rules.query import Names

if TYPE_CHECKING:
    from spaniel.tables import Table
    from spaniel.url.draft import Draft
    from spaniel.url.rules.rule import Act

OFFLINE = "offline: not looked up"


def follow_redirects(options: Table) -> Act:
    """The page at the end of the chain, unless it is too far or leaves the allowlist (CP-09, CP-18)."""
    limit = options.number("max_hops", 5)
    allowlist = HostList(options.texts("allowlist", ()))
    shorteners = HostList(options.texts("shorteners", ()))

    def act(draft: Draft) -> str | None:
        hops = None if draft.web is None else draft.web.redirects(draft.text())
        if hops is None:
            if draft.host in shorteners:
                draft.flag("shortener-unresolved")
            return OFFLINE
        if len(hops) > limit:
            draft.flag("redirect-limit")
            return f"more than {limit} hops: the original stays"
        final = parse(hops[-1]) if hops else None
        if allowlist and (final.host if final else draft.host) not in allowlist:
            host = final.host if final else draft.host
            raise SpanielError(Code.INVALID_HOST, host=host, reason="it is not on the allowlist")
        if final is not None:
            draft.become(final)
            if draft.notes is not None:
                draft.notes.redirect_chain = list(hops)
        return None

    return act


def prefer_language(options: Table) -> Act:
    """The Spanish version where the site names one; from the look of a URL it is only proposed (CP-12)."""
    prefer = options.text("prefer")
    tokens = options.text_lists("tokens")
    params = Names(options.texts("params", ()))
    named_too = options.texts("named_too", ())
    languages = {token: lang for lang, spelled in tokens.items() for token in spelled}
    token = tokens.get(prefer, (prefer,))[0]

    def act(draft: Draft) -> str | None:
        known = None if draft.web is None else draft.web.languages(draft.text())
        if known is not None:
            return _take_proved(draft, dict(known), prefer, named_too)
        found = _written_language(draft, languages, params)
        if found is None or found[0] == prefer:
            return None
        if draft.notes is not None:
            draft.notes.lang_variants.append(Variant(prefer, _replaced(draft, found[1], found[2], token), proved=False))
        draft.flag("language-unproved")
        return "proposed, not assumed"

    return act


def _take_proved(draft: Draft, known: dict[str, str], prefer: str, named_too: tuple[str, ...]) -> str | None:
    if prefer in known:
        draft.become(parse(known[prefer]))
    else:
        draft.flag("no-preferred-language")
    if draft.notes is not None:
        draft.notes.lang_variants += [Variant(lang, url, proved=True) for lang, url in sorted(known.items())]
    named = [lang for lang in named_too if lang in known]
    return f"also in: {', '.join(named)}" if named else None


def _written_language(draft: Draft, languages: dict[str, str], params: Names) -> tuple[str, str, int] | None:
    """The language that a URL shows, and where: in a path segment, a parameter or the first label of the host."""
    for i, segment in enumerate(draft.path.split("/")):
        if lang := languages.get(segment.lower()):
            return lang, "path", i
    for i, pair in enumerate(draft.params or ()):
        if params.match(pair):
            value = pair.partition("=")[2].lower().replace("_", "-").partition("-")[0]
            if lang := languages.get(value):
                return lang, "params", i
    first, _, domain = draft.host.partition(".")
    if "." in domain and (lang := languages.get(first)):
        return lang, "host", 0
    return None


def _replaced(draft: Draft, part: str, index: int, token: str) -> str:
    """The URL with the language at that place changed to `token`."""
    held = draft.path, draft.params, draft.host
    if part == "path":
        segments = draft.path.split("/")
        segments[index] = token
        draft.path = "/".join(segments)
    elif part == "params" and draft.params is not None:
        draft.params = [*draft.params]
        draft.params[index] = f"{draft.params[index].partition('=')[0]}={token}"
    else:
        draft.host = f"{token}.{draft.host.partition('.')[2]}"
    text = draft.text()
    draft.path, draft.params, draft.host = held
    return text


def classify_link(options: Table) -> Act:
    """Home page, section or informative link (CP-13)."""
    from spaniel.url.links import LinkWords, classify  # its patterns are of use to this rule alone

    words = LinkWords(options.texts("documents"), Names(options.texts("identifiers")), options.texts("procedures", ()))

    def act(draft: Draft) -> str | None:
        link_type = classify(draft.path, draft.params or (), words)
        if draft.notes is not None:
            draft.notes.link_type = link_type
        return link_type

    return act


def store(_options: Table) -> Act:
    """The last step: what is kept is the text and its hash (UN-06)."""

    def act(draft: Draft) -> str:
        from hashlib import sha256

        return f"sha256 {sha256(draft.text().encode()).hexdigest()[:16]}…"

    return act
