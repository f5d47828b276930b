"""The allowlist: a file of the hosts that a registry may hold, one on a line.

    # comments stand behind a hash
    boe.es                     the domain and every host below it
    *.gob.es                   every host below, not gob.es itself
    =sede.example.es           this host alone
    aeat.es = agencia.gob.es   another name of a host that is allowed
    !ads.gob.es                blocked with all below it, whatever the other lines say

`www.` makes no difference, nor does the form in which a name with other letters is written.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError, shown
from spaniel.tables import MAX_FILE_BYTES, complaint
from spaniel.url.hostlists import HostList, domains, host_key
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spaniel.url.value import Url


class Allowlist(NamedTuple):
    """The allowed hosts, each with its line number. An empty list allows all."""

    place: str = ""
    exact: Mapping[str, int] = {}
    below: Mapping[str, int] = {}
    aliases: Mapping[str, tuple[str, int]] = {}
    blocked: Mapping[str, int] = {}
    unit: str = "line"  # what is numbered: lines of a file, entries of a list

    def __bool__(self) -> bool:
        return bool(self.exact or self.below or self.aliases or self.blocked)

    def __contains__(self, host: object) -> bool:
        return isinstance(host, str) and self.refusal(host) is None

    def refusal(self, host: str) -> str | None:
        """Why a host is not allowed; None where it is."""
        if not self:
            return None
        name = _bare(host)
        if line := _found(name, self.blocked, self.blocked):
            return f"it is not on the allowlist: {self.unit} {line} of {self.place} blocks it"
        if name in self.aliases:
            return self.refusal(self.aliases[name][0])
        if not _found(name, self.exact, self.below):
            return f"it is not on the allowlist{self.place and f': no {self.unit} of {self.place} names it'}"
        return None

    def require(self, host: str, how: str = "") -> None:
        """Raises `invalid_host`; `how` says how one came to it."""
        if (reason := self.refusal(host)) is not None:
            raise SpanielError(Code.INVALID_HOST, host=host, reason=f"{reason}{how and f' ({how})'}", list="allowlist")


def _bare(host: str) -> str:
    return host.removeprefix("www.")


def _found(name: str, exact: Mapping[str, int], below: Mapping[str, int]) -> int:
    """The line that names a host or a domain above it; 0 if there is none."""
    if name in exact:
        return exact[name]
    _, dot, above = name.partition(".")
    while dot:
        if above in below:
            return below[above]
        _, dot, above = above.partition(".")
    return 0


def of_patterns(patterns: Iterable[str]) -> Allowlist:
    """The allowlist of a policy: `example.com` is that host, `*.example.com` every host below it."""
    entries = [pattern.strip() for pattern in patterns]
    exact = {_bare(host_key(entry)): 1 for entry in entries if not entry.startswith("*")}
    below = {host_key(entry[2:]): 1 for entry in entries if entry.startswith("*.")}
    return Allowlist("", exact, below)


def load(path: str | os.PathLike[str]) -> Allowlist:
    """Read an allowlist; the first invalid line is refused with its number."""
    place = os.fspath(path)
    try:
        if os.path.exists(place) and not os.path.isfile(place) and not os.path.isdir(place):
            raise complaint(f"allowlist {place}", "is not a regular file")  # it might never end
        with open(place, "rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise complaint(f"allowlist {place}", f"cannot be read: {reason}") from None
    if len(raw) > MAX_FILE_BYTES:
        raise complaint(f"allowlist {place}", f"has more than {MAX_FILE_BYTES:,} bytes")
    try:
        return read(raw.decode("utf-8-sig"), os.path.basename(place))
    except UnicodeDecodeError as error:
        raise complaint(f"allowlist {place}", f"not UTF-8 text (byte {error.start})") from None


def read(text: str, place: str = "allowlist") -> Allowlist:
    """An allowlist from its text."""
    return read_entries((line.partition("#")[0] for line in text.split("\n")), place)


def read_entries(entries: Iterable[str], place: str, unit: str = "line") -> Allowlist:
    """An allowlist from its entries, one by one."""
    exact: dict[str, int] = {}
    below: dict[str, int] = {}
    blocked: dict[str, int] = {}
    aliases: dict[str, tuple[str, int]] = {}
    for number, entry in enumerate(map(str.strip, entries), 1):
        where = f"allowlist {place}, {unit} {number}"
        name, equals, target = (part.strip() for part in entry.partition("="))
        if not entry:
            continue
        if entry.startswith("!"):
            blocked.setdefault(_name(entry[1:], where), number)
        elif entry.startswith("*."):
            below.setdefault(_name(entry[2:], where), number)
        elif equals and name:
            aliases.setdefault(_name(name, where), (_name(target, where), number))
        elif equals:
            exact.setdefault(_name(target, where), number)
        else:
            host = _name(entry, where)
            exact.setdefault(host, number)
            below.setdefault(host, number)
    found = Allowlist(place, exact, below, aliases, blocked, unit)
    if not (exact or below):
        where = "on a line" if unit == "line" else "into it"
        raise complaint(f"allowlist {place}", f"allows nothing; write a domain {where}, such as example.com")
    _check_aliases(found)
    return found


def _check_aliases(found: Allowlist) -> None:
    for alias, (target, number) in found.aliases.items():
        where = f"allowlist {found.place}, {found.unit} {number}"
        if target in found.aliases:
            raise complaint(where, f"'{alias}' is another name of '{target}', which is itself only another name")
        if not _found(target, found.exact, found.below):
            raise complaint(where, f"'{alias}' is another name of '{target}', which no line allows")


def _name(written: str, where: str) -> str:
    """One host name, in the form in which URLs have it."""
    from spaniel.url.allowlist import domain_list

    try:
        if written.startswith((".", "*")) or " " in written or "\t" in written:
            raise complaint(where, "")
        return _bare(domain_list([written], where)[0])
    except SpanielError:
        said = shown(written, 80)
        raise complaint(where, f"'{said}' is not a host; write a name such as example.com, *.example.com") from None


ALLOWED, BLOCKED = "allowed_domains", "blocked_domains"
_MORE_THAN_A_HOST = re.compile(r"[/?#@*,;]|:(?![^\[]*\])")  # colons stand inside the brackets of an IPv6 address


class DomainRules(NamedTuple):
    """A page's host must be in `allowed`, if there is such a list, and must not be in `blocked`."""

    allowed: HostList | None = None
    blocked: HostList = HostList(())

    def require(self, url: Url) -> None:
        """Raises `invalid_host`: of the SRD's codes the one that is about a host and about nothing else."""
        if url.host in self.blocked:
            raise _refused(url, f"it is in {BLOCKED}", BLOCKED)
        if self.allowed is not None and url.host not in self.allowed:
            raise _refused(url, f"it is not in {ALLOWED}", ALLOWED)


ANYWHERE = DomainRules()


@lru_cache(maxsize=64)
def domain_rules(allowed: tuple[str, ...] | None, blocked: tuple[str, ...] = ()) -> DomainRules:
    """Rules from lists of domains. `allowed` is None if every domain is."""
    if allowed is None and not blocked:
        return ANYWHERE
    return DomainRules(None if allowed is None else domains(allowed), domains(blocked))


def domain_list(written: Iterable[object], field: str) -> tuple[str, ...]:
    """The entries of a list in IDNA's ASCII form; `bad_args` for one that is not a domain.

    An entry that could match nothing is refused: in a list of blocked domains it would be a hole.
    """
    if isinstance(written, str):
        raise _no_list(field, "must be a list of domains")
    return tuple(_domain(entry, field) for entry in written)


def _domain(written: object, field: str) -> str:
    """`example.com`, `.example.com` and `*.example.com` are the same: that domain and all below it."""
    bare = written.strip().removeprefix("*.").removeprefix(".") if isinstance(written, str) else ""
    try:
        url = parse(f"http://{bare}/")
    except SpanielError:
        url = None
    if url is None or _MORE_THAN_A_HOST.search(bare):
        raise _no_list(
            field,
            f"'{shown(str(written), 80)}' is not a domain; write a name such as example.com, which covers all below",
        )
    return url.host


def _no_list(field: str, reason: str) -> SpanielError:
    return SpanielError(Code.BAD_ARGS, field=field, reason=reason)


def _refused(url: Url, reason: str, by: str) -> SpanielError:
    return SpanielError(Code.INVALID_HOST, host=url.host, reason=reason, list=by)
