"""Profiles: how a fetch behaves, as TOML data; the shipped ones stand in `profiles/`, a user's file works alike."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from spaniel.reading.kinds import READERS
from spaniel.tables import Table, complaint, nearest, read_toml
from spaniel.url.policy import load as load_policy

if TYPE_CHECKING:
    from spaniel.url import Policy

DEFAULT = "web_fetch"
SHIPPED = os.path.join(os.path.dirname(__file__), "profiles")
HEADERS = ("user_agent", "accept", "accept_encoding", "accept_language")
LIMITS = ("timeout_seconds", "max_redirects", "max_download_bytes", "default_max_chunk_tokens")
READABLE = tuple(dict.fromkeys(READERS.values()))


class Profile(NamedTuple):
    """How a fetch behaves. What is left out of `headers`, `limits` and `ttl_days` is as the settings have it."""

    name: str
    version: str
    description: str
    policy: Policy
    content: tuple[str, ...]  # the kinds of content that are read
    headers: dict[str, str]
    limits: dict[str, int]
    cached: bool
    ttl_days: int | None


def load(name: str | os.PathLike[str] = DEFAULT) -> Profile:
    """A shipped profile by its name, or a profile file by its path."""
    text = os.fspath(name)
    if text.endswith(".toml") or "/" in text or "\\" in text:
        profile = _read(text)
        if profile.name in shipped():  # it would be served what the shipped one has put into the cache
            raise complaint(f"profile {text}.name", f"'{profile.name}' is a shipped profile; choose another name")
        return profile
    if text not in shipped():
        raise complaint("profile", f"no profile '{text}'; {nearest(text, shipped())}")
    return _read(os.path.join(SHIPPED, f"{text}.toml"))


def shipped() -> list[str]:
    return sorted(name.removesuffix(".toml") for name in os.listdir(SHIPPED) if name.endswith(".toml"))


def _read(path: str) -> Profile:
    return from_data(read_toml(path, "profile"), os.path.basename(path), os.path.dirname(path))


def from_data(data: object, place: str, folder: str = "") -> Profile:
    """A profile from what its file holds; a policy file that it names stands in `folder`."""
    table = Table(data, place)
    name = table.text("name")
    if not name or not name.replace("-", "").replace("_", "").isalnum():
        raise complaint(f"{place}.name", "must be letters, digits, '-' and '_'")  # it is part of the cache's keys
    version = table.text("version")
    if not version or not version.isprintable():
        raise complaint(f"{place}.version", "must be text in one line")
    policy = table.text("policy", "exact")
    content = table.texts("content", READABLE)
    headers, limits, cache = (table.part(part) for part in ("headers", "limits", "cache"))
    description = table.text("description", "")
    profile = Profile(
        name,
        version,
        description,
        load_policy(os.path.join(folder, policy) if policy.endswith(".toml") else policy),
        tuple(_known_kind(kind, place) for kind in content),
        {key: headers.text(key) for key in HEADERS if headers.has(key)},
        {key: limits.number(key) for key in LIMITS if limits.has(key)},
        cache.truth("enabled", default=True),
        cache.number("ttl_days") if cache.has("ttl_days") else None,
    )
    for part in (table, headers, limits, cache):
        part.close()
    return profile


def _known_kind(kind: str, place: str) -> str:
    if kind not in READABLE:
        raise complaint(f"{place}.content", f"nothing reads '{kind}'; {nearest(kind, READABLE)}")
    return kind
