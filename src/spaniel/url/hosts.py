"""Host names: the forms that may be fetched, judged as they were written (D2-12, D2-14)."""

from __future__ import annotations

import re
from functools import lru_cache

from spaniel.errors import Code, SpanielError

LONGEST_NAME = 253  # RFC 1035 2.3.4, without the root's dot
LONGEST_LABEL = 63

_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_FOUR_OCTETS = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}", re.ASCII)
_SPACE = re.compile(r"\s")
# What the WHATWG parser lets through and no name in DNS has. A shell, a template or a log may give it a meaning.
_FOREIGN = re.compile(r"""[!"$&'()*+,;=`{}~]""")
_DOTS = re.compile("[.\u3002\uff0e\uff61]")  # every dot that IDNA reads as one (UTS 46)


def is_ipv4(host: str) -> bool:
    """Four octets, in the one way that no parser reads otherwise."""
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
