"""Link classes and citation rules: which links lead to specific content, and which to a home page (CP-13, CP-14)."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import unquote

from spaniel.errors import shown
from spaniel.url.rules.edits import Names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spaniel.tables import Table
    from spaniel.url.canonical import Draft
    from spaniel.url.rules.edits import Act


_NUMBER = re.compile(r"[0-9]+")
_CODE = re.compile(r"(?=[^/]*[0-9])[0-9A-Za-z]+(?:[-_.][0-9A-Za-z]+)+")  # BOE-A-2023-12345, tramit-12345
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_BETWEEN_WORDS = re.compile("[-_+ ]+")
_WORD = re.compile(r"[^\W\d_]{2,}")


class _Names(Protocol):
    def match(self, pair: str) -> str: ...


class LinkWords(NamedTuple):
    """The data for link classes: extensions of documents, names of identifying parameters, procedures."""

    documents: Sequence[str]
    identifiers: _Names
    procedures: Sequence[str]


def classify(path: str, params: Sequence[str], words: LinkWords, title: str | None = None) -> str:
    """`homepage`, `section` or `informative`; the first that fits, in the order of CP-13."""
    segments = [_as_read(s) for s in path.split("/") if s]
    specific = any(_is_specific(s, words) for s in segments) or any(_identifies(p, words) for p in params)
    if len(segments) <= 1 and not specific:
        return "homepage"
    if specific or (title is not None and names_procedure(title, words)):
        return "informative"
    return "section"


def _is_specific(segment: str, words: LinkWords) -> bool:
    name, dot, ending = segment.rpartition(".")
    if dot and f".{ending.lower()}" in words.documents:
        return True
    if _NUMBER.fullmatch(segment) or _UUID.fullmatch(segment) or _CODE.fullmatch(segment):
        return True
    parts = _BETWEEN_WORDS.split(name or segment)
    return len([p for p in parts if _WORD.fullmatch(p)]) >= 2


def _as_read(segment: str) -> str:
    """Decoded and composed (NFC): `tr%C3%A1mites` is a word."""
    return unicodedata.normalize("NFC", unquote(segment)) if "%" in segment else segment


def _identifies(pair: str, words: LinkWords) -> bool:
    value = pair.partition("=")[2]
    if not value:
        return False
    return bool(words.identifiers.match(pair) or _CODE.fullmatch(value) or _UUID.fullmatch(value))


def names_procedure(title: str, words: LinkWords) -> bool:
    """Whether a title names one of the procedures, whatever its accents."""
    plain = unaccented(title)
    return any(re.search(rf"\b{re.escape(unaccented(word))}\b", plain) for word in words.procedures)


def unaccented(text: str) -> str:
    """In lower case, without accents, for comparisons."""
    return "".join(c for c in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(c))


class Citation(NamedTuple):
    """How a link may be cited: as it is, or with a qualifier until there is a deeper link."""

    url: str
    qualifier: str | None
    gap: bool  # a deeper link is needed
    last_resort: bool  # the entity has nothing deeper


QUALIFIER = "Puedes consultar mas informacion en la web del {entity} ({host})"  # document 3, to the letter


def cite(url: str, link_type: str, entity: str, *, nothing_deeper: bool = False) -> Citation:
    """Informative links pass; any other gets the qualifier, and a gap unless there is nothing deeper (CP-14)."""
    if link_type == "informative":
        return Citation(url, None, gap=False, last_resort=False)
    host = url.partition("://")[2].partition("/")[0].removeprefix("www.")
    return Citation(url, QUALIFIER.format(entity=entity, host=host), gap=not nothing_deeper, last_resort=nothing_deeper)


def classify_link(options: Table) -> Act:
    """Home page, section or informative link (CP-13). The title is asked for only where it can decide (CP-28)."""
    from spaniel.url.links import LinkWords, classify  # its patterns are of use to this rule alone

    words = LinkWords(options.texts("documents"), Names(options.texts("identifiers")), options.texts("procedures", ()))

    def act(draft: Draft) -> str | None:
        link_type, why = classify(draft.path, draft.params or (), words), ""
        if link_type == "section" and draft.web is not None and (title := draft.web.title(draft.text())):
            link_type = classify(draft.path, draft.params or (), words, title)
            why = f", by its title: {shown(title, 120)}" if link_type != "section" else ""
        if draft.notes is not None:
            draft.notes.link_type = link_type
        return f"{link_type}{why}"

    return act


def store(_options: Table) -> Act:
    """The last step: what is kept is the text and its hash (UN-06)."""

    def act(draft: Draft) -> str:
        from hashlib import sha256

        return f"sha256 {sha256(draft.text().encode()).hexdigest()[:16]}…"

    return act
