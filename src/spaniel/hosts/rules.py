"""How many requests at one host, and how long the pause after each: for all hosts, and for some by a file."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, cast

from spaniel.defaults import BATCH_DELAY_SECONDS, BATCH_PER_HOST
from spaniel.errors import Code, SpanielError
from spaniel.tables import complaint, read_toml
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

_DOMAIN = re.compile(r"\[[0-9A-Fa-f:.]+\]|[^\s/:?#@*\[\]]+")  # as hosts are named: without scheme, port and path


class HostRule(NamedTuple):
    """What holds at a host. A pause begins when an answer is there, so that a server never sees less of it."""

    per_host: int = BATCH_PER_HOST.default
    delay: float = float(BATCH_DELAY_SECONDS.default)


USUAL = HostRule()


class HostRules:
    """The rule of each host: that of the longest domain in the file which it is in, or else the usual one."""

    def __init__(self, usual: HostRule = USUAL, by_domain: Mapping[str, HostRule] | None = None) -> None:
        self.usual = _checked(usual, "")
        self._by_domain = {domain.lower().rstrip("."): rule for domain, rule in (by_domain or {}).items()}

    def as_data(self) -> tuple[tuple[int, float], dict[str, tuple[int, float]]]:
        """The usual rule, and those of domains, as plain data for another process."""
        usual = self.usual.per_host, self.usual.delay
        return usual, {domain: (rule.per_host, rule.delay) for domain, rule in self._by_domain.items()}

    def longest_delay(self) -> float:
        return max(rule.delay for rule in (self.usual, *self._by_domain.values()))

    def of(self, host: str) -> HostRule:
        if not self._by_domain:
            return self.usual
        domain = host
        while domain:
            if (rule := self._by_domain.get(domain)) is not None:
                return rule
            domain = domain.partition(".")[2]
        return self.usual


def read_rules(usual: HostRule, path: str | None) -> HostRules:
    """From a TOML file: a table for each domain, `["example.com"]` with `per_host` and `delay`."""
    if path is None:
        return HostRules(usual)
    rules = {}
    for domain, table in read_toml(path, "hosts file").items():
        place = f"hosts file {path}: [{domain}]"
        if not isinstance(table, dict):
            raise complaint(place, 'must be a table for a domain: ["example.com"]')
        if unknown := sorted(set(table) - set(HostRule._fields)):
            raise complaint(f"{place}.{unknown[0]}", f"unknown key; known: {', '.join(HostRule._fields)}")
        rules[_host(domain, place)] = _checked(usual._replace(**table), place)
    return HostRules(usual, rules)


def _host(domain: str, place: str) -> str:
    """As hosts are named in a run: in ASCII, and without scheme, port and path. Another name would never be met."""
    with suppress(SpanielError):
        if _DOMAIN.fullmatch(domain):
            return parse(f"http://{domain}/").host
    raise complaint(place, 'is not a domain; write ["example.com"], without scheme, port and path')


def _checked(rule: HostRule, place: str) -> HostRule:
    per_host, delay = cast("tuple[object, object]", rule)  # a file's may be anything
    if isinstance(per_host, bool) or not isinstance(per_host, int) or not BATCH_PER_HOST.allows(per_host):
        raise _wrong(place, "per_host", f"must be a whole number from {BATCH_PER_HOST.range}")
    if isinstance(delay, bool) or not isinstance(delay, int | float) or not BATCH_DELAY_SECONDS.allows(delay):
        raise _wrong(place, "delay", f"must be seconds from {BATCH_DELAY_SECONDS.range}")
    return HostRule(per_host, float(delay))


def _wrong(place: str, name: str, reason: str) -> SpanielError:
    field = f"{place}.{name}" if place else f"--{name.replace('_', '-')}"
    return SpanielError(Code.BAD_ARGS, field=field, reason=reason)
