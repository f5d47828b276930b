"""Text to `Url`: the raw text is judged first, then the WHATWG parser repairs what may be repaired.

Parsers disagree on broken URLs, and a guard that reads another host than the client is useless (SECURITY.md). So
whatever could be read in two ways is refused here, on the raw text (D2-12, D2-14); ada-url does the rest.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from spaniel.errors import Code, SpanielError
from spaniel.url.value import LONGEST, Url, echoed, recognize, split

LONGEST_NAME = 253  # RFC 1035 2.3.4, without the root's dot
LONGEST_LABEL = 63

_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_FOUR_OCTETS = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}", re.ASCII)
_SPACE = re.compile(r"\s")
# Characters that the WHATWG parser accepts but no DNS name has; they mean something to shells, templates or logs.
_FOREIGN = re.compile(r"""[!"$&'()*+,;=`{}~]""")
_DOTS = re.compile("[.\u3002\uff0e\uff61]")  # every dot that IDNA reads as one (UTS 46)


def is_ipv4(host: str) -> bool:
    """Four octets, in the notation that all parsers read alike."""
    return bool(_FOUR_OCTETS.fullmatch(host))


def judge_host(host: str) -> str:
    """The host as written, without its one trailing dot; refuses any form that a parser would turn into an address.

    WHATWG reads a name as IPv4 whenever its last label is a number, in any base, script or escape; so the last
    label decides, before the parser sees it.
    """
    if host.startswith("["):
        return host
    if "%" in host:
        _refuse_escapes(host)
    if _SPACE.search(host):
        raise SpanielError(Code.INVALID_URL, url=host, reason="white space in the host")
    _judge_characters(host, host)
    labels = host.split(".") if host.isascii() else _DOTS.split(host)
    rooted = len(labels) > 1 and not labels[-1]
    if rooted:
        labels.pop()
    last = _plain(labels[-1])
    if last[:1].isdigit() or last[:1].isnumeric():
        if rooted or not is_ipv4(host):
            raise SpanielError(Code.INVALID_HOST, host=host, reason="a number that is not four plain octets")
        return host
    if not all(labels):
        raise SpanielError(Code.INVALID_URL, url=host, reason="an empty label in the host")
    if not (last[:1].isalpha() and last[-1].isalnum()):
        raise SpanielError(Code.INVALID_URL, url=host, reason="the host's last label is not a name")
    name = host[:-1] if rooted else host
    _judge_length(name, labels)
    return name


def judge_name(name: str, written: str) -> None:
    """What the parser made of a written name must still be a name, of a length that DNS can carry."""
    _judge_characters(name, written)
    labels = name.split(".")
    if labels[-1][:1].isdigit():
        raise SpanielError(Code.INVALID_HOST, host=written, reason="it reads as a number")
    if not all(labels):
        raise SpanielError(Code.INVALID_URL, url=written, reason="an empty label in the host")
    _judge_length(name, labels)


def judge_punycode(name: str, written: str) -> None:
    """Each "xn--" label must stand for a name and be the one way to write it; the parser does not look inside."""
    if label := _wrong_punycode(name):
        raise SpanielError(Code.INVALID_HOST, host=written, reason=f"'{label}' is not the Punycode of a name")


@lru_cache(maxsize=4096)  # hosts repeat, and each label costs a parse
def _wrong_punycode(name: str) -> str | None:
    """The first label that the parser does not make, letter for letter, of the name that is written in it."""
    import ada_url

    for label in name.split("."):
        if label.startswith("xn--"):
            try:
                meant = label[4:].encode("ascii").decode("punycode")
                sound = not meant.isascii() and ada_url.normalize_url(f"http://{meant}/") == f"http://{label}/"
            except ValueError:  # there is nothing to decode, or no URL can have it
                return label
            if not sound:
                return label
    return None


def _judge_characters(name: str, written: str) -> None:
    if found := _FOREIGN.search(name):
        raise SpanielError(Code.INVALID_HOST, host=written, reason=f"no host name has the character {found[0]}")


def _judge_length(name: str, labels: list[str]) -> None:
    if len(name) > LONGEST_NAME or max(map(len, labels)) > LONGEST_LABEL:
        raise SpanielError(Code.INVALID_URL, url=name, reason="the host or one of its labels is too long")


def _refuse_escapes(host: str) -> None:
    from urllib.parse import unquote  # only to name the refusal; nothing is let through by it

    last = _plain(_DOTS.split(unquote(host).rstrip("."))[-1])
    if last[:1].isdigit():
        raise SpanielError(Code.INVALID_HOST, host=host, reason="a number written with percent-escapes")
    raise SpanielError(Code.INVALID_URL, url=host, reason="percent-escapes in the host")


def _plain(label: str) -> str:
    """A label without what hides a digit: compatibility forms, joiners, marks."""
    if label.isascii():
        return label
    import unicodedata

    text = unicodedata.normalize("NFKC", label)
    return "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Mn", "Me"))


WHITE = " \t\n\r\f\v"

# Schemes that are no host names: `javascript:1` and `mailto:1` have one, `localhost:8080` has none (FG-01).
_KNOWN_SCHEMES = (
    "about|app|blob|callto|chrome|chrome-extension|cid|data|dict|facetime|feed|file|filesystem|ftp|ftps|geo|git|gopher|"
    "imap|intent|irc|ircs|jar|javascript|ldap|ldaps|magnet|mailto|market|mid|mms|moz-extension|news|nfs|nntp|pop|rsync|"
    "rtmp|rtsp|sftp|sip|sips|skype|smb|sms|ssh|svn|tel|telnet|tg|urn|vbscript|view-source|webcal|whatsapp|ws|wss|xmpp"
)
_SCHEME = re.compile(
    rf"(?:{_KNOWN_SCHEMES}):|[a-z][a-z0-9+.\-]*:(?![0-9]{{1,5}}(?:[/?#]|\Z))",  # "host:80/" has none
    re.IGNORECASE | re.ASCII,
)
_ANY_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_SHAPE = re.compile(
    r"""(?P<scheme>https?):// (?![/\\])
        (?:(?P<credentials>[^/?#\\]*)(?P<at>@))? (?P<host>\[[^/?#\\@\]]*\]|[^/?#\\@:\[\]]*) (?P<colon>:[0-9]{0,5})?
        (?P<rest>(?:/[^?#\\]*)?(?:[?#].*)?)""",
    re.ASCII | re.DOTALL | re.IGNORECASE | re.VERBOSE,
)
# A name with a dot in it, this machine, or an address; then the end, a port, a path or a query.
_TYPED_HOST = re.compile(
    r"(?://)?(?:localhost|\[[0-9a-f:.]+\]|[^\s/?#:@\\\[\].]+(?:\.[^\s/?#:@\\\[\].]+)+)\.?(?::[0-9]{1,5})?(?:[/?#]|\Z)",
    re.IGNORECASE,
)
_UNWRITABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class WrittenUrl(NamedTuple):
    """A URL's authority and the rest as they were written, but for credentials."""

    scheme: str
    host: str
    port: str
    rest: str
    credentials: bool

    @property
    def text(self) -> str:
        return f"{self.scheme}://{self.host}" + (f":{self.port}" if self.port else "") + self.rest


def parse(raw: str | bytes, base: Url | None = None, max_length: int = LONGEST) -> Url:
    """Read a URL, or, with `base`, a reference relative to it. Raises nothing but `SpanielError`."""
    if isinstance(raw, str) and len(raw) <= max_length and (parts := recognize(raw)):
        scheme, host, port, path, query, fragment = parts
        return Url(scheme, host, int(port[1:]) if port else None, path, query, fragment)
    text = tidy(as_text(raw), max_length)
    if base is not None and not _ANY_SCHEME.match(text):
        return _resolve(text, base)
    return settle(judge(text))


def as_text(raw: str | bytes) -> str:
    """Text of what a caller gave; bytes that are not UTF-8 stay visible as lone surrogates."""
    if isinstance(raw, bytes):
        return raw.decode("utf-8", "surrogateescape")
    if isinstance(raw, str):
        return raw
    raise SpanielError(Code.BAD_ARGS, field="url", reason=f"expected text, got {type(raw).__name__}")


def tidy(raw: str, max_length: int = LONGEST) -> str:
    """The text without surrounding white space, if its characters are such as a URL can have, and not too many."""
    text = raw.strip(WHITE)
    if len(text) > max_length:
        raise _invalid(text, f"its {len(text)} characters are more than {max_length}", length=len(text))
    if _UNWRITABLE.search(text):
        raise _invalid(text, "control characters, or bytes that are not text")
    return text


def has_scheme(text: str) -> bool:
    return bool(_SCHEME.match(text))


def typed(text: str) -> str:
    """A URL as a person types it: `example.com/a` is `https://example.com/a` (FG-01). What else has no scheme stays."""
    bare = text.strip(WHITE)
    return text if has_scheme(bare) or not _TYPED_HOST.match(bare) else f"https://{bare.removeprefix('//')}"


def judge(text: str) -> WrittenUrl:
    """Scheme, authority and port as written (FR-WF-04, D2-12, D2-14, D2-15)."""
    found = _SHAPE.fullmatch(text)
    if not found:
        raise _misshapen(text)
    scheme, credentials, at, host, colon, rest = found.groups()
    port = colon[1:] if colon else ""
    if not host:
        raise _invalid(text, "it has no host")
    if credentials and "@" in credentials:
        raise _invalid(text, "more than one '@' before the host")
    if port and int(port) > 65535:
        raise _invalid(text, "the port is over 65535")
    return WrittenUrl(scheme, judge_host(host), port, rest, at is not None)


def _misshapen(text: str) -> SpanielError:
    """Why a text is not of the shape scheme://host:port/path; its scheme counts first."""
    scheme = _SCHEME.match(text)
    if not scheme:
        return _invalid(text, "it does not begin with http:// or https://, as in https://example.com/")
    if scheme[0].lower() not in ("http:", "https:"):
        return SpanielError(Code.INVALID_SCHEME, scheme=scheme[0][:-1].lower())
    if not text.startswith("//", scheme.end()) or text[scheme.end() + 2 : scheme.end() + 3] in ("/", "\\"):
        return _invalid(text, "exactly '//' must follow the scheme")
    if "\\" in re.split("[?#]", text, maxsplit=1)[0]:
        return _invalid(text, "a backslash before the query")
    return _invalid(text, "its host or port is malformed")


def settle(written: WrittenUrl) -> Url:
    """The parser's form of what was judged; the host must have kept its kind."""
    import ada_url

    try:
        href = ada_url.normalize_url(written.text)
    except ValueError:
        raise _invalid(written.text, "the parser refuses it") from None
    url = split(href)
    if url.host != written.host.lower() and not url.host.startswith("["):
        judge_name(url.host, written.host)
    if "xn--" in url.host:
        judge_punycode(url.host, written.host)
    return url


def _resolve(reference: str, base: Url) -> Url:
    """A relative reference (RFC 3986 5.2); one that names a host is judged like any other URL."""
    if reference.startswith(("//", "\\", "/\\")):
        return settle(judge(f"{base.scheme}:{reference}"))
    if "\\" in re.split("[?#]", reference, maxsplit=1)[0]:
        raise _invalid(reference, "a backslash before the query")
    import ada_url

    try:
        return split(ada_url.join_url(base.href, reference))
    except ValueError:
        raise _invalid(reference, "the parser refuses it") from None


def _invalid(text: str, reason: str, **more: int) -> SpanielError:
    return SpanielError(Code.INVALID_URL, url=without_credentials(text), reason=reason, **more)


def requested(raw: str) -> str:
    """How a URL that was asked for is named in an answer or an error: as it was written, but for credentials,
    surrounding white space, and what `echoed` makes visible."""
    text = raw.strip(WHITE)
    if "@" in text:
        try:
            written = judge(text)
        except SpanielError:
            text = without_credentials(text)
        else:
            text = written.text if written.credentials else text
    return echoed(text)


def has_credentials(raw: str) -> bool:
    """Whether something stands before an '@' in the authority; a scheme may be missing (FG-01)."""
    text = raw.strip(WHITE)
    authority = re.split(
        r"[/?#\\]", text.partition("//")[2] if has_scheme(text) else text.removeprefix("//"), maxsplit=1
    )[0]
    return "@" in authority


def without_credentials(text: str) -> str:
    """Text for an error message: nothing that stands before an '@', wherever a broken URL has it (D2-15)."""
    scheme, slashes, rest = text.partition("//")
    return scheme + slashes + rest.rpartition("@")[2] if slashes else text.rpartition("@")[2]
