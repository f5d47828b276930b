"""Which links are left out, and why: expressions as lychee takes them, and what no checker can check."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from spaniel.health.files import read_bytes
from spaniel.patterns import Allowance, matcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Matches = Callable[[str], bool]

IGNORE_FILE = ".lycheeignore"
LARGEST = 1 << 20  # bytes of an ignore file
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
HOST = re.compile(r"(?:https?|ftp)://(?:[^/?#@]*@)?(\[[^\]]*\]|[^/?#:]*)", re.IGNORECASE)
WEB = ("http", "https")
# Reserved for documentation and tests (RFC 2606, RFC 6761): nobody is there.
EXAMPLES = re.compile(r"(?:.*\.)?(?:example\.(?:com|org|net|edu)|example|test|invalid)\.?", re.IGNORECASE)
LOCAL = re.compile(r"(?:.*\.)?(?:localhost|local|internal|lan|home\.arpa)\.?", re.IGNORECASE)
NAMES_ONLY = re.compile(  # names of vocabularies, which look like addresses
    r"https?://(?:www\.w3\.org/(?:1999/xhtml|1999/xlink|2000/svg|1998/Math/MathML|2000/xmlns|XML/1998/namespace|2001/XMLSchema)"
    r"|schemas\.(?:microsoft|openxmlformats|xmlsoap)\.(?:com|org)/|www\.sitemaps\.org/schemas/sitemap/)",
    re.IGNORECASE,
)
PLACEHOLDER = re.compile(r"\{\{|\{%|\$\{|<%|%7B%7B", re.IGNORECASE)


class Rules(NamedTuple):
    """What is left out. `include` outweighs all else; with nothing but `include`, only that is checked."""

    exclude: tuple[tuple[str, Matches], ...] = ()
    include: tuple[tuple[str, Matches], ...] = ()
    keep_private: bool = False  # hosts of one's own network are checked too
    keep_examples: bool = False

    def reason(self, url: str) -> str:
        """Why a link is not checked; "" where it is."""
        scheme = None if url.startswith(("http://", "https://")) else SCHEME.match(url)
        if scheme and scheme[1].lower() not in WEB and scheme[1].lower() != "file":
            return f"addresses of the kind '{scheme[1].lower()}:' are not checked"
        if self.include and any(matches(url) for _, matches in self.include):
            return ""
        if told := self._by_its_host(url):
            return told
        if PLACEHOLDER.search(url):
            return "it has a placeholder"
        for expression, matches in self.exclude:
            if matches(url):
                return f"excluded by {expression}"
        return "not included" if self.include and not self.exclude else ""

    def _by_its_host(self, url: str) -> str:
        found = HOST.match(url)
        if found is None:
            return ""
        kind = _kind_of(found[1])
        if kind == "example" and not self.keep_examples:
            return "an example's host"
        if NAMES_ONLY.match(url):
            return "the name of a vocabulary, not a page"
        return "a host of one's own machine or network" if kind == "private" and not self.keep_private else ""


@lru_cache(maxsize=1024)
def _kind_of(host: str) -> str:
    """A document names few hosts, each many times."""
    if EXAMPLES.fullmatch(host):
        return "example"
    return "private" if _is_private(host) else ""


def _is_private(host: str) -> bool:
    from ipaddress import ip_address

    try:
        return not ip_address(host.strip("[]")).is_global
    except ValueError:
        return LOCAL.fullmatch(host) is not None or "." not in host


def rules(
    exclude: Iterable[str] = (), include: Iterable[str] = (), *, keep_private: bool = False, keep_examples: bool = False
) -> Rules:
    """Rules of expressions. Raises `bad_args` for one that is none."""
    allowance = Allowance()
    return Rules(
        tuple((one, matcher(one, "--exclude", allowance)) for one in exclude),
        tuple((one, matcher(one, "--include", allowance)) for one in include),
        keep_private,
        keep_examples,
    )


def read_ignore_file(path: str) -> tuple[tuple[str, Matches], ...]:
    """The expressions of a `.lycheeignore`, one on a line; none where there is no such file."""
    if not os.path.lexists(path):
        return ()
    lines = read_bytes(path, LARGEST).decode("utf-8-sig", "replace").splitlines()
    wanted = [(number, line.strip()) for number, line in enumerate(lines, 1)]
    allowance = Allowance()
    return tuple(
        (line, matcher(line, f"{path}, line {number}", allowance))
        for number, line in wanted
        if line and not line.startswith("#")
    )
