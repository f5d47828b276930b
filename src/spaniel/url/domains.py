"""Lists of domains that pages are held to: where they may come from, and where they may not."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError, shown
from spaniel.url.hostlists import HostList, domains
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spaniel.url.value import Url

ALLOWED, BLOCKED = "allowed_domains", "blocked_domains"
_MORE_THAN_A_HOST = re.compile(r"[/?#@*,;]|:(?![^\[]*\])")  # colons stand inside the brackets of an IPv6 address


class DomainRules(NamedTuple):
    """A page's host must be in `allowed`, where there is such a list, and must not be in `blocked`."""

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
    """Rules from what was written. `allowed` is None where every domain is."""
    if allowed is None and not blocked:
        return ANYWHERE
    return DomainRules(None if allowed is None else domains(allowed), domains(blocked))


def domain_list(written: Iterable[object], field: str) -> tuple[str, ...]:
    """The entries of a list in IDNA's ASCII form; the first that is no domain is `bad_args`.

    One that could match nothing is refused: in a list of what is blocked it would be a hole.
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
