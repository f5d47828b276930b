"""What is asked of a link beyond its URL, and what came back: facts alone, which `judging` makes a verdict of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from spaniel.health.verdict import Evidence


class Hints(NamedTuple):
    """What is known before a link is asked."""

    head_differs: bool = False  # HEAD and GET once disagreed at its host: GET at once
    attempts: int = 0  # requests that were made for it before, in this run


NO_HINTS = Hints()


class Content(NamedTuple):
    """What was measured of a body, decoded, after redirects."""

    length: int
    sha256: str = ""  # lower-case hex; "" where it was not read to its end
    is_whole: bool = True  # False: it was left off, and has more than `length` bytes
    text_sha256: str = ""  # of the extracted text; "" where there is none, or it was too long to be read


class Fragment(NamedTuple):
    """Whether a page has an anchor; `found` is None where a script may make it."""

    name: str
    found: bool | None


class Observation(NamedTuple):
    """One link asked once."""

    at: float  # seconds since 1970
    evidence: Evidence
    code: str = ""  # of the refusal that it ended in, where there was no answer
    error: str = ""  # its sentence
    cause: str = ""  # nxdomain, refused, certificate, tls, connect: as far as the failure has one
    content_type: str = ""  # without parameters, in lower case
    content: Content | None = None  # where the body was measured
    page_type: str = ""  # by signs: challenge, login, geo_block, rate_limit …; "" for a page like any other
    is_parked: bool = False  # the page says that its domain is for sale
    soft_404: bool | None = None  # whether a page that cannot exist looks the same; None where nobody tried
    fragments: tuple[Fragment, ...] = ()
    certificate_ends: float | None = None  # the first to end of all on the way; seconds since 1970
    head_differs: bool = False  # HEAD said otherwise than GET: to be remembered of the host
    retry_after: float | None = None  # seconds: the host asks to be left alone so long, and may be asked again then

    @property
    def is_redirected(self) -> bool:
        return bool(self.evidence.chain)
