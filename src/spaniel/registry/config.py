"""The settings of a database (`registry.toml`), and how a URL becomes a host and a path."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import SpanielError
from spaniel.registry.folder import LEARNT, RULES
from spaniel.tables import Table, complaint, read_toml

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaniel.url.allowlist import Allowlist
    from spaniel.url.canonical import Canonical
    from spaniel.url.policy import Policy
    from spaniel.url.questions import Web


SCHEMES = ("http", "https")
SAMPLE = """\
# Rules of this link database. Uncomment a line to set it.

# policy = "exact"  # how URLs are brought into one spelling: exact, ingest, clara, curious, or a file in this folder
# scheme = "http"   # of records whose file does not say 'https: true' or 'https: false'

# Hosts that links may lead to; without it, any. A list, or the name of a file in this folder with an entry on a line:
# allowlist = ["example.com", "*.example.org", "=www.example.net", "!ads.example.com"]
"""


class RecordLocation(NamedTuple):
    """A URL as the format has it: the scheme, the host (and port), the path (and query)."""

    scheme: str
    host: str
    path: str

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.host}{self.path}"


class RegistryConfig:
    """How URLs become records."""

    def __init__(
        self,
        policy: str = "exact",
        scheme: str = "http",
        allowlist: Callable[[], Allowlist] | None = None,
        place: str = "policy",
        learnt: str = "",
    ) -> None:
        self.policy_name = policy
        self._place = place  # where the policy is named
        self.scheme = scheme
        self._read_allowlist = allowlist
        self.learnt = learnt  # the file of facts learnt online; it may not exist yet

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
    def allowlist(self) -> Allowlist | None:
        """The hosts that links may lead to; None for any. Loaded on first use: listing does not need it."""
        return None if self._read_allowlist is None else self._read_allowlist()

    @cached_property
    def _web(self) -> Web | None:
        """The facts learnt online, for a policy with online rules; None without any."""
        if not self.policy.asks or not os.path.lexists(self.learnt):
            return None
        from spaniel.learnt import Learnt

        return Learnt.load(self.learnt_file()).web()

    def learnt_file(self) -> str:
        """The path of the learnt file, which must not be a symbolic link."""
        return _unlinked(self.learnt)

    def explain(self, raw: str) -> Canonical:
        """The canonical form of a URL, with every step; offline, but learnt facts are used."""
        return self.policy.explain(raw, self._web)

    def spot(self, raw: str) -> RecordLocation:
        """The location of a URL in its canonical form. A URL without a path is the record '/'."""
        return spot_of(self.policy.apply(raw, self._web).url)

    def admit(self, raw: str) -> RecordLocation:
        """The location of a URL that is to be added: its host must be allowed."""
        return self.admitted(self.spot(raw))

    def admitted(self, found: RecordLocation) -> RecordLocation:
        """The location, if its host is allowed."""
        if self.allowlist is not None:
            from spaniel.url.parsing import parse

            self.allowlist.require(parse(found.url).host)
        return found


def spot_of(url: str) -> RecordLocation:
    """The location of a canonical URL, without its fragment."""
    from spaniel.url.value import split

    found = split(url)
    query = "" if found.query is None else f"?{found.query}"
    return RecordLocation(found.scheme, found.origin.partition("://")[2], found.path + query)


def read_rules(folder: str, policy: str | None = None) -> RegistryConfig:
    """The rules of a folder; `policy` overrides the one that it names."""
    path, learnt = _unlinked(f"{folder}/{RULES}"), f"{folder}/{LEARNT}"
    if not os.path.exists(path):
        return RegistryConfig(policy or "exact", learnt=learnt)
    table = Table(read_toml(path, "rules"), path)
    named = table.text("policy", "exact")
    scheme = table.text("scheme", "http")
    allowlist = _allowlist(table, folder, path) if table.has("allowlist") else None
    table.close()
    if scheme not in SCHEMES:
        raise complaint(f"{path}.scheme", "must be http or https")
    place = f"{path}.policy"
    return RegistryConfig(
        policy or _policy(folder, named, place), scheme, allowlist, "policy" if policy else place, learnt
    )


def _allowlist(table: Table, folder: str, rules: str) -> Callable[[], Allowlist]:
    """A list of entries, or a file of them in the folder itself, read on first use."""
    from spaniel.url.allowlist import load, read_entries

    if not table.is_text("allowlist"):
        entries = table.texts("allowlist")
        return lambda: read_entries(entries, rules, "entry")
    path = _within(folder, table.text("allowlist"))
    if path is None:
        raise complaint(f"{rules}.allowlist", "must be a list of hosts, or the name of a file in the same folder")
    return lambda: load(path)


def _policy(folder: str, policy: str, place: str) -> str:
    """A shipped policy's name, or a file in the folder itself."""
    if not policy.endswith(".toml") and "/" not in policy and "\\" not in policy:
        return policy
    path = _within(folder, policy)
    if path is None:
        raise complaint(place, "must be the name of a policy, or of a TOML file in the same folder")
    return path


def _within(folder: str, name: str) -> str | None:
    """A file in the folder itself. The rules may be untrusted, so they cannot refer to other folders."""
    path = f"{folder}/{name}"
    outside = os.path.basename(name) != name or "\\" in name or ":" in name or name in ("", ".", "..")
    return None if outside or not name.isprintable() or os.path.islink(path) else path


def _unlinked(path: str) -> str:
    if os.path.islink(path):
        raise complaint(path, "it is a symbolic link, and links are not followed")
    return path
