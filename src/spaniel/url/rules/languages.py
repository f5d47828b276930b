"""The version of a page in the language that is preferred, and the others (CP-12, CP-25)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spaniel.url.canonical import Variant
from spaniel.url.parsing import parse
from spaniel.url.questions import IF_LINKED
from spaniel.url.rules.query import Names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spaniel.tables import Table
    from spaniel.url.draft import Draft
    from spaniel.url.rules.rule import Act


class UrlLanguage(NamedTuple):
    """The language that a URL shows, and where: in a path segment, a parameter or the first label of the host."""

    lang: str
    part: str
    place: int


def prefer_language(options: Table) -> Act:
    """The preferred version where the site proves it; from the look of a URL it is only proposed."""
    prefer = options.text("prefer")
    tokens = options.text_lists("tokens")
    params = Names(options.texts("params", ()))
    named_too = options.texts("named_too", ())
    languages = {token: lang for lang, spelled in tokens.items() for token in spelled}
    wanted = (prefer, *named_too)

    def act(draft: Draft) -> str | None:
        found = _written_language(draft, languages, params)
        if draft.web is not None:
            known = draft.web.languages(draft.text(), _proposals(draft, found, wanted, tokens))
            if known is not None:
                return _take_proved(draft, known, prefer, named_too)
        if found is None or found.lang == prefer:
            return None
        if draft.notes is not None:
            proposed = _replaced(draft, found, tokens.get(prefer, (prefer,))[0])
            draft.notes.lang_variants.append(Variant(prefer, proposed, proved=False))
        draft.flag("language-unproved")
        return "proposed, not assumed"

    return act


def _proposals(
    draft: Draft, found: UrlLanguage | None, wanted: Sequence[str], tokens: Mapping[str, tuple[str, ...]]
) -> dict[str, list[str]]:
    """For each language that has to be proved, the addresses at which it may be: the URL's own pattern, rewritten."""
    if found is None:
        return {lang: [] for lang in wanted}
    proposed = {
        lang: [] if lang == found.lang else [_replaced(draft, found, token) for token in tokens.get(lang, (lang,))]
        for lang in (*wanted, *(lang for lang in tokens if lang not in wanted and lang != found.lang))
    }
    return {lang if lang in wanted else f"{lang}{IF_LINKED}": urls for lang, urls in proposed.items()}


def _take_proved(draft: Draft, known: Mapping[str, str], prefer: str, named_too: Sequence[str]) -> str | None:
    here = draft.text()
    if not known:
        return "the page names no other version, and its own language cannot be told"
    if prefer in known:
        draft.become(parse(known[prefer]))
    else:
        draft.flag("no-preferred-language")
    if draft.notes is not None and set(known.values()) != {here}:
        there = {variant.lang for variant in draft.notes.lang_variants}
        variants = [Variant(lang, url, proved=True) for lang, url in sorted(known.items())]
        draft.notes.lang_variants += [variant for variant in variants if variant.lang not in there]
    named = [lang for lang in named_too if lang in known]
    return f"also in: {', '.join(named)}" if named else None


def _written_language(draft: Draft, languages: dict[str, str], params: Names) -> UrlLanguage | None:
    for i, segment in enumerate(draft.path.split("/")):
        if lang := languages.get(segment.lower()):
            return UrlLanguage(lang, "path", i)
    for i, pair in enumerate(draft.params or ()):
        if params.match(pair):
            value = pair.partition("=")[2].lower().replace("_", "-").partition("-")[0]
            if lang := languages.get(value):
                return UrlLanguage(lang, "params", i)
    first, _, domain = draft.host.partition(".")
    if "." in domain and (lang := languages.get(first)):
        return UrlLanguage(lang, "host", 0)
    return None


def _replaced(draft: Draft, found: UrlLanguage, token: str) -> str:
    """The URL with the language at that place changed to `token`."""
    held = draft.path, draft.params, draft.host
    if found.part == "path":
        segments = draft.path.split("/")
        segments[found.place] = token
        draft.path = "/".join(segments)
    elif found.part == "params" and draft.params is not None:
        draft.params = [*draft.params]
        draft.params[found.place] = f"{draft.params[found.place].partition('=')[0]}={token}"
    else:
        draft.host = f"{token}.{draft.host.partition('.')[2]}"
    text = draft.text()
    draft.path, draft.params, draft.host = held
    return text
