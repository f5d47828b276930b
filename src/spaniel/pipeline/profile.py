"""Profiles: how a fetch behaves, as TOML data. The built-in ones are in `profiles/`; a user's file works alike."""

from __future__ import annotations

import os
from datetime import timedelta
from functools import cache
from sys import intern
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from spaniel.defaults import (
    CHUNK_TOKENS,
    DOWNLOAD_BYTES,
    MAX_REDIRECTS,
    MAX_WAIT_SECONDS,
    TEXT_BYTES,
    TIMEOUT_SECONDS,
    TOTAL_SECONDS,
)
from spaniel.hosts import Politeness
from spaniel.net.http import Beginning, RequestHeaders, RequestOptions
from spaniel.pipeline.fallbacks import FALLBACKS
from spaniel.pipeline.page_types import ERROR_BYTES, SIGNALS
from spaniel.pipeline.retrieve import FetchOptions
from spaniel.reading.kinds import DEFAULT_KINDS, NAMES, may_be_cut
from spaniel.tables import Table, complaint, nearest, read_toml
from spaniel.url.policy import load as load_policy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spaniel.pipeline.fallbacks import FallbackKind
    from spaniel.url import Policy

DEFAULT = "web_fetch"
SHIPPED = os.path.join(os.path.dirname(__file__), "profiles")
VIEWS = ("answer", "record")
NUMBERS = {  # the limits that a profile may set
    "timeout_seconds": TIMEOUT_SECONDS,
    "total_seconds": TOTAL_SECONDS,
    "max_redirects": MAX_REDIRECTS,
    "max_download_bytes": DOWNLOAD_BYTES,
    "default_max_chunk_tokens": CHUNK_TOKENS,
    "max_wait_seconds": MAX_WAIT_SECONDS,
    "max_text_bytes": TEXT_BYTES,
}


class FetchLimits(NamedTuple):
    """The limits of a fetch."""

    timeout_seconds: float = TIMEOUT_SECONDS.default
    # 0: the fallbacks share one deadline; else each has its own, within this total
    total_seconds: float = TOTAL_SECONDS.default
    chunk_tokens: int = CHUNK_TOKENS.default  # 0: no chunks are needed, so their offsets are not computed
    max_wait_seconds: float = MAX_WAIT_SECONDS.default  # the longest acceptable wait
    text_bytes: int = TEXT_BYTES.default  # of a text, only the start is read; 0: all of it


class Fallback(NamedTuple):
    """One fallback of a profile: its kind by name, and its options."""

    name: str
    options: Mapping[str, object]

    @property
    def kind(self) -> FallbackKind:
        return FALLBACKS[self.name]


class ProfileSettings(NamedTuple):
    """The settings' values, for what a profile does not set."""

    headers: RequestHeaders = RequestHeaders()
    limits: Mapping[str, int] = MappingProxyType({})
    named: frozenset[str] = frozenset()  # those set by the user
    asked: frozenset[str] = frozenset()  # and those set for this call: they override every profile

    def overrides(self, name: str, settings_rule: bool) -> bool:
        return name in self.asked or (settings_rule and name in self.named)


NO_SETTINGS = ProfileSettings()


class Profile(NamedTuple):
    """How a fetch behaves."""

    name: str
    version: str
    description: str
    policy: Policy
    content: tuple[str, ...]  # the kinds of content that are read
    fallbacks: tuple[Fallback, ...]
    way: FetchOptions  # headers, sizes, redirects, politeness at a host
    limits: FetchLimits
    cached: bool
    ttl: timedelta | None  # None: the cache's own
    freshness: bool = False  # whether classes decide how long a page is fresh, and a stale one is revalidated
    page_types: bool = False  # whether page types (paywall, login, …) are recognized
    respect: tuple[str, ...] = ()  # the site's signals that refuse the page
    view: str = "answer"  # the JSON view of an outcome: one of VIEWS
    file: str = ""  # its file; empty: a built-in profile

    @property
    def is_srd(self) -> bool:
        """Whether it is the SRD's profile; no other may have its name."""
        return self.name == DEFAULT

    @property
    def fallback_names(self) -> tuple[str, ...]:
        return tuple(fallback.name for fallback in self.fallbacks)


def load(name: str | os.PathLike[str] = DEFAULT, given: ProfileSettings = NO_SETTINGS) -> Profile:
    """A built-in profile by name, or a profile file by path."""
    text = os.fspath(name)
    is_own = text.endswith(".toml") or "/" in text or "\\" in text
    if not is_own and text not in shipped():
        raise complaint("profile", f"unknown profile '{text}'; {nearest(text, shipped())}")
    if not is_own:
        return from_data(_shipped_data(text), f"{text}.toml", SHIPPED, given)
    profile = from_data(read_toml(text, "profile"), os.path.basename(text), os.path.dirname(text), given)
    if profile.name in shipped():  # it would share cache keys with the built-in one
        raise complaint(f"profile {text}.name", f"'{profile.name}' is a built-in profile; choose another name")
    return profile._replace(file=os.path.abspath(text))


@cache
def shipped() -> tuple[str, ...]:
    return tuple(sorted(name.removesuffix(".toml") for name in os.listdir(SHIPPED) if name.endswith(".toml")))


@cache
def _shipped_data(name: str) -> dict[str, object]:
    return read_toml(os.path.join(SHIPPED, f"{name}.toml"), "profile")


def from_data(
    data: Mapping[str, object], place: str, folder: str = "", given: ProfileSettings = NO_SETTINGS
) -> Profile:
    """A profile from the contents of its file; a policy file that it names is in `folder`."""
    table = Table({key: value for key, value in data.items() if key != "fallbacks"}, place)
    policy = table.text("policy", "exact")
    parts = headers, limits, hosts, cache = [table.part(part) for part in ("headers", "limits", "hosts", "cache")]
    rule, page_types = table.truth("settings_rule", default=False), table.truth("page_types", default=False)
    numbers = _numbers(limits, given, rule)
    text_bytes = numbers["max_text_bytes"]
    profile = Profile(
        **_name_and_version(table),
        description=table.text("description", ""),
        policy=load_policy(os.path.join(folder, policy) if policy.endswith(".toml") else policy),
        content=tuple(_known(kind, NAMES, f"{place}.content") for kind in table.texts("content", DEFAULT_KINDS)),
        fallbacks=_fallbacks(data.get("fallbacks", ["http", "browser"]), place),
        way=FetchOptions(
            RequestOptions(
                _headers(headers, given),
                numbers["max_download_bytes"],
                error_bytes=ERROR_BYTES if page_types else 0,
                # One more byte than is read shows that there was more.
                beginning=Beginning(text_bytes + 1, may_be_cut) if text_bytes else None,
            ),
            numbers["max_redirects"],
            Politeness(
                hosts.number("max_concurrent", Politeness().at_once),
                hosts.number("delay_seconds", 0),
                hosts.truth("respect_delays", default=False),
            ),
        ),
        limits=FetchLimits(
            numbers["timeout_seconds"],
            numbers["total_seconds"],
            numbers["default_max_chunk_tokens"],
            numbers["max_wait_seconds"],
            text_bytes,
        ),
        cached=cache.truth("enabled", default=True),
        ttl=_ttl(cache, given, rule),
        freshness=cache.truth("freshness", default=False),
        page_types=page_types,
        respect=tuple(_known(signal, SIGNALS, f"{place}.respect") for signal in table.texts("respect", ())),
        view=_known(table.text("view", "answer"), VIEWS, f"{place}.view"),
    )
    for part in (table, *parts):
        part.close()
    return profile


def _name_and_version(table: Table) -> dict[str, str]:
    """Both are part of the cache's keys."""
    name, version = table.text("name"), table.text("version")
    if not name or not name.replace("-", "").replace("_", "").isalnum():
        raise complaint(f"{table.place}.name", "must be letters, digits, '-' and '_'")
    if not version or not version.isprintable():
        raise complaint(f"{table.place}.version", "must be text in one line")
    return {"name": name, "version": version}


def _fallbacks(items: object, place: str) -> tuple[Fallback, ...]:
    """`fallbacks = ["http", "browser"]`, or a `[[fallbacks]]` table for each with its options."""
    place = f"{place}.fallbacks"
    if not isinstance(items, list):
        raise complaint(place, "must be a list")
    fallbacks = []
    for item in items:
        options = dict(item) if isinstance(item, dict) else {"name": item}
        name = options.pop("name", None)
        if not isinstance(name, str):
            raise complaint(place, "each fallback is a name, or a table with 'name'")
        kind, table = FALLBACKS[_known(name, FALLBACKS, place)], Table(options, f"{place}.{name}")
        read = kind.options(table) if kind.options else {}
        table.close()
        # One string object per name: the cache compares by identity with the default
        fallbacks.append(Fallback(intern(name), read))
    if not fallbacks:
        raise complaint(place, "is empty: nothing would be fetched")
    return tuple(fallbacks)


def _headers(table: Table, given: ProfileSettings) -> RequestHeaders:
    own = {key: table.text(key) for key in RequestHeaders._fields if table.has(key)}
    set_by_user = given.asked | (given.named & {"user_agent"})  # FG-48: the user's own name replaces a profile's
    headers = given.headers._replace(**{key: text for key, text in own.items() if key not in set_by_user})
    headers.fields()  # a user agent that cannot be sent is reported before any request
    return headers


def _numbers(table: Table, given: ProfileSettings, settings_rule: bool) -> dict[str, int]:
    """The settings override web_fetch's limits (SRD §5); other profiles keep their own."""
    own = table.some_numbers(NUMBERS)
    for name, value in own.items():
        number = NUMBERS[name]
        if not given.overrides(name, settings_rule) and not number.allows(value):
            raise complaint(f"{table.place}.{name}", f"{value} is not between {number.low} and {number.high}")
    usual = {name: given.limits.get(name, number.default) for name, number in NUMBERS.items()}
    return usual | {name: value for name, value in own.items() if not given.overrides(name, settings_rule)}


def _ttl(table: Table, given: ProfileSettings, settings_rule: bool) -> timedelta | None:
    own = table.number("ttl_days") if table.has("ttl_days") else None
    if own is None or given.overrides("cache_ttl_days", settings_rule):
        own = given.limits.get("cache_ttl_days")
    return None if own is None else timedelta(days=own)


def _known(name: str, known: Mapping[str, object] | tuple[str, ...], place: str) -> str:
    if name not in known:
        raise complaint(place, f"unknown value '{name}'; {nearest(name, known)}")
    return name
