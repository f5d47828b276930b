"""`registry.toml`: what holds for a whole database. It comes with the folder, so it names nothing outside of it."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import SpanielError
from spaniel.registry.naming import RULES
from spaniel.tables import Table, complaint, read_toml

if TYPE_CHECKING:
    from spaniel.url.domains import Domains
    from spaniel.url.policy import Policy

SCHEMES = ("http", "https")
SAMPLE = """\
# Rules of this link database. Every key is shown at its default; uncomment a line to set it.

# policy = "exact"  # how URLs are brought into one spelling: exact, ingest, clara, curious, or a file in this folder
# scheme = "http"   # of records whose file does not say 'https: true' or 'https: false'
# allowlist = []    # domains that links may lead to, with all below them; without it, any
"""


class Spot(NamedTuple):
    """A URL as the format has it: the scheme, the host (and port), the path (and query)."""

    scheme: str
    host: str
    path: str

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.host}{self.path}"


class Rules:
    """How URLs become records."""

    def __init__(
        self,
        policy: str = "exact",
        scheme: str = "http",
        allowlist: tuple[str, ...] | None = None,
        place: str = "policy",
    ) -> None:
        self.policy_name = policy
        self._place = place  # who names the policy
        self.scheme = scheme
        self.allowlist = allowlist

    @cached_property
    def policy(self) -> Policy:
        from spaniel.url.policy import load  # listing needs none

        try:
            return load(self.policy_name)
        except SpanielError as error:
            if error.details.get("field") != "policy":  # a file of its own says what is wrong in it
                raise
            raise complaint(self._place, str(error.details["reason"])) from None

    @cached_property
    def _domains(self) -> Domains:
        from spaniel.url.domains import domain_rules

        return domain_rules(self.allowlist)

    def spot(self, raw: str) -> Spot:
        """Where a URL belongs, in its canonical form. A URL without a path is the record '/'."""
        return spot_of(self.policy.apply(raw).url)

    def admit(self, raw: str) -> Spot:
        """The same, for a URL that is to be added: its host must be one that the rules allow."""
        found = self.spot(raw)
        if self.allowlist is not None:
            from spaniel.url.parsing import parse

            self._domains.require(parse(found.url))
        return found


def spot_of(url: str) -> Spot:
    """A canonical URL, taken apart. What stands after '#' is no part of a record."""
    from spaniel.url.value import split

    found = split(url)
    query = "" if found.query is None else f"?{found.query}"
    return Spot(found.scheme, found.origin.partition("://")[2], found.path + query)


def read_rules(folder: str, policy: str | None = None) -> Rules:
    """The rules of a folder; `policy` rules over the one that it names."""
    path = f"{folder}/{RULES}"
    if os.path.islink(path):
        raise complaint(path, "it is a symbolic link, and links are not followed")
    if not os.path.exists(path):
        return Rules(policy or "exact")
    table = Table(read_toml(path, "rules"), path)
    named = table.text("policy", "exact")
    scheme = table.text("scheme", "http")
    allowlist = _allowlist(table, f"{path}.allowlist") if table.has("allowlist") else None
    table.close()
    if scheme not in SCHEMES:
        raise complaint(f"{path}.scheme", "must be http or https")
    place = f"{path}.policy"
    return Rules(policy or _within(folder, named, place), scheme, allowlist, "policy" if policy else place)


def _allowlist(table: Table, place: str) -> tuple[str, ...]:
    from spaniel.url.domains import domain_list

    return domain_list(table.texts("allowlist"), place)


def _within(folder: str, policy: str, place: str) -> str:
    """A shipped policy's name, or a file in the folder itself."""
    if not policy.endswith(".toml") and "/" not in policy and "\\" not in policy:
        return policy
    path = f"{folder}/{policy}"
    if os.path.basename(policy) != policy or "\\" in policy or os.path.islink(path):
        raise complaint(place, "must be the name of a policy, or of a TOML file in the same folder")
    return path
