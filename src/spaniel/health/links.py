"""A link, the places that mention it, and the result of its check; how these are stored as bytes."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

import msgspec

from spaniel.verdicts import ANYTHING, Change, Evidence, Expected, Hop, Move, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    T = TypeVar("T")


class Place(NamedTuple):
    """Where a link is written. Lines and columns begin with 1; 0 where there is none."""

    file: str  # as it was given; "-" for standard input, "" for the command line
    line: int = 0
    column: int = 0  # in characters, of the link's target
    fragment: str = ""  # that the link asks for there, without '#'


class Link(NamedTuple):
    """One URL to be checked, once, whatever number of places mention it."""

    url: str  # without a fragment
    fragments: tuple[str, ...] = ()  # that are to be found in it, where fragments are asked for
    places: tuple[Place, ...] = ()
    expected: Expected = ANYTHING
    priority: str = ""  # how often it is due: a name of the table in priorities.toml


class Remark(StrEnum):
    """A finding of its own beside the verdict. This is the one table of them: every report reads it."""

    meaning: str  # a sentence for people
    level: str  # error, warning or note: as SARIF has them
    is_other_page: bool  # what answers is not the page, so that the link is not shown as ok

    def __new__(cls, name: str, meaning: str, level: str, is_other_page: bool = False) -> Self:
        made = str.__new__(cls, name)
        made._value_, made.meaning, made.level, made.is_other_page = name, meaning, level, is_other_page
        return made

    SOFT_404 = "soft-404", "The page looks like the site's page for what is not there.", "warning", True
    FRAGMENT_MISSING = "fragment-missing", "The page has no such anchor.", "error"
    FRAGMENT_UNKNOWN = "fragment-unknown", "Whether the page has such an anchor is not known.", "note"
    CERTIFICATE_ENDING = "certificate-ending", "The site's certificate ends soon.", "note"
    CHAIN_CHANGED = "redirect-chain-changed", "The redirects on the way are others than last time.", "note"
    PARKED = "parked", "The page says that its domain is for sale.", "warning", True


class LinkFinding(NamedTuple):
    remark: Remark
    text: str  # a sentence for people
    fragment: str = ""  # that it is about: it concerns the places that ask for it, and no others


class Checked(NamedTuple):
    """A link, and what is said of it."""

    link: Link
    verdict: Verdict
    reason: str = ""  # one short sentence: why this verdict; "" for a plain ok
    code: str = ""  # the refusal's code of errors.py, where there was one
    evidence: Evidence = Evidence()
    move: Move | None = None
    changes: tuple[Change, ...] = ()
    text_sha256: str = ""  # of the extracted text, where the content was read
    text_changed: bool | None = None  # whether that differs from last time; None where nobody knows
    findings: tuple[LinkFinding, ...] = ()
    failures: int = 0  # checks that failed in a row, this one included: "failing (n of 3)"
    archived: str = ""  # an archive's copy that is suggested for a dead one


def word_of(checked: Checked) -> str:
    """The verdict; of an answer that is not the page, the finding that says so: it is not shown as ok."""
    if checked.verdict is Verdict.OK and checked.findings:
        return next((each.remark.value for each in checked.findings if each.remark.is_other_page), Verdict.OK.value)
    return checked.verdict.value


def by_fragment(checked: Checked) -> Iterator[Checked]:
    """A result for the page, and one for each fragment that it does not have, with the places that ask for it (LH-03).

    A page that was read without a fragment is as good as before; the links to that fragment are failing.
    """
    about = [finding for finding in checked.findings if finding.fragment]
    if not about:
        yield checked
        return
    link, others = checked.link, tuple(finding for finding in checked.findings if not finding.fragment)
    names = {finding.fragment for finding in about}
    left = tuple(place for place in link.places if place.fragment not in names)
    if left or (not link.places and not names.issuperset(link.fragments)):
        fragments = tuple(name for name in link.fragments if name not in names)
        yield checked._replace(link=link._replace(places=left, fragments=fragments), findings=others)
    for finding in about:
        places = tuple(place for place in link.places if place.fragment == finding.fragment)
        if link.places and not places:
            continue  # none of the places that are kept asks for it
        url = f"{link.url}#{finding.fragment.removeprefix('#')}"
        part = checked._replace(
            link=link._replace(url=url, fragments=(finding.fragment,), places=places), findings=(*others, finding)
        )
        if finding.remark is Remark.FRAGMENT_MISSING:
            part = part._replace(verdict=Verdict.FAILING, reason=finding.text, failures=0)
        yield part


_HALF = re.compile(r"\\udc([89a-f][0-9a-f])")
_encode = msgspec.json.Encoder().encode
unpack_chain = msgspec.json.Decoder(tuple[Hop, ...]).decode


def pack(value: object) -> bytes:
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return _encode(plain(value))


def plain(value: T) -> T:
    """The same with half characters as their escapes."""
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()  # type: ignore[return-value]
    if isinstance(value, tuple):
        parts = [plain(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)  # type: ignore[return-value]
    return value


def file_name(text: str) -> str:
    """A file's name again as the system has it: a byte that is no UTF-8 was made an escape."""
    return _HALF.sub(lambda found: chr(0xDC00 + int(found[1], 16)), text) if "\\" in text else text
