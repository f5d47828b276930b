"""Hosts and the names of their files; and what lies in the folder besides.

A file is named by its host as URLs have it: `example.com.yaml`, `xn--bcher-kva.example.yaml`. A port other than the
scheme's own is part of the name. Not every file system takes a colon, so signs that no host has stand for it and for
the brackets of an IPv6 address: `localhost%3A8000.yaml`. Windows keeps some names for devices, whatever their ending:
the first letter of `aux.example.com` is written as `%61`, which no host has either. A file that was named before that
rule, `aux.example.com.yaml`, is still read.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from spaniel.errors import SpanielError
from spaniel.files import TEMPORARY_NAME
from spaniel.tables import complaint

SUFFIX = ".yaml"
LONGEST_NAME = 255  # characters, on every file system in use
LOCK = ".spaniel.lock"
RULES = "registry.toml"
LEARNT = "learnt.toml"  # what the web has told about hosts

_ESCAPES = {":": "%3A", "[": "%5B", "]": "%5D"}
_ESCAPE = re.compile("%3A|%5B|%5D|^%[67][0-9A-F]")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9]|lpt[0-9])(?=\.|\Z)", re.IGNORECASE)
_PLAIN_HOST = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)+[a-z]{2,}")
_PUNYCODE = re.compile(r"(?:.*\.)?xn--")
_LEFTOVER = re.compile(
    r".*~|#.*#|\.~.*|\..*\.sw[a-p]|\.#.*|.*\.(?:bak|orig|rej|tmp|swp|old|save)", re.DOTALL | re.IGNORECASE
)
_NEARLY = re.compile(r"(.+)\.ya?ml(?:\.txt)?", re.DOTALL | re.IGNORECASE)  # Windows may hide an ending, and add another


class UnknownFile(NamedTuple):
    """Something in the folder that is not read, and why."""

    name: str
    why: str


def file_name(host: str) -> str:
    """The name of a host's file."""
    name = _plain_name(host)
    if _DEVICE.match(name.removesuffix(SUFFIX)):
        name = f"%{ord(name[0]):02X}{name[1:]}"
    if len(name) > LONGEST_NAME:
        raise complaint("host", f"its {len(host)} characters are too many for the name of a file")
    return name


def file_names(host: str) -> tuple[str, ...]:
    """The names that a host's file may have, the one that it gets today first."""
    return tuple(dict.fromkeys((file_name(host), _plain_name(host))))


def _plain_name(host: str) -> str:
    return "".join(_ESCAPES.get(sign, sign) for sign in host) + SUFFIX


def host_of(name: str) -> str | None:
    """The host that a file is about; None where its name is not one of `file_names`."""
    stem = name.removesuffix(SUFFIX)
    if stem == name:
        return None
    if _PLAIN_HOST.fullmatch(stem) and not _PUNYCODE.match(stem):
        return stem
    host = _ESCAPE.sub(lambda found: chr(int(found[0][1:], 16)), stem)
    return host if authority(host) == host and name in file_names(host) else None


def authority(written: str) -> str | None:
    """A host, and a port if it has one, as URLs have it; None where it is neither."""
    if _PLAIN_HOST.fullmatch(written) and not _PUNYCODE.match(written):
        return written
    if re.search(r"[/?#@\\\s]", written):
        return None
    from spaniel.url.parsing import parse

    try:
        url = parse(f"http://{written}/")
    except SpanielError:
        return None
    port = written.rpartition(":")[2] if re.search(r":[0-9]+\Z", written) else ""
    return f"{url.host}:{int(port)}" if port else url.host


def stranger(name: str) -> UnknownFile | None:
    """Why a file is not read whose name may be taken for one that is; None where nobody would expect it to be."""
    if TEMPORARY_NAME.fullmatch(name):
        return UnknownFile(name, "a writer was killed; the next one removes it")
    if name in (LOCK, RULES):
        return None
    if _LEFTOVER.fullmatch(name):
        return UnknownFile(name, "it looks like something that an editor has left behind")
    if (nearly := _NEARLY.fullmatch(name)) is None:
        return UnknownFile(name, "its name is not that of a host") if name == SUFFIX else None
    meant = authority(nearly[1].lower())
    hint = f"; should it be {file_name(meant)}?" if meant else ""
    if not name.endswith(SUFFIX):
        return UnknownFile(name, f"its name does not end with {SUFFIX}{hint}")
    return UnknownFile(name, f"its name is not that of a host{hint}")
