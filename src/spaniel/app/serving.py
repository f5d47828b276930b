"""What `spaniel serve` is set up with: its settings, and the tokens of its callers."""

from __future__ import annotations

import os
import stat
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple, cast

from spaniel.app.keys import OWN
from spaniel.app.paths import default_state_dir
from spaniel.tables import Table, complaint, read_toml

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spaniel.app.settings import Settings

TOKEN = "SPANIEL_SERVE_TOKEN"  # noqa: S105  the variable that holds a token; not a setting, since settings are shown
SHORTEST_TOKEN = 16  # characters
LOOPBACK = ("127.0.0.1", "::1", "localhost")


class CallerLimits(NamedTuple):
    """How much one caller may use at once and in a minute; 0 requests per minute: no limit."""

    requests_per_minute: int
    concurrent: int
    waiting: int
    streams: int
    jobs: int


class NamedToken(NamedTuple):
    """A token by its name. Only its digest is kept."""

    name: str
    digest: bytes
    limits: CallerLimits


class ServeSettings(NamedTuple):
    """`[spaniel.serve]`, and where the service listens."""

    host: str
    port: int
    profile: str  # of the drop-in APIs
    profiles: tuple[str, ...]  # that callers may choose
    limits: CallerLimits  # of a caller whose token has no limits of its own
    max_body_bytes: int
    max_list_bytes: int  # of the list of a job that is sent as it is
    allowed_hosts: tuple[str, ...]
    allowed_origins: tuple[str, ...]
    trusted_proxies: tuple[str, ...]
    jobs_folder: str
    writable: bool = False  # whether callers may change the link database

    @property
    def is_public(self) -> bool:
        """Whether others than this machine can reach it."""
        return self.host not in LOOPBACK and not self.host.startswith("127.")


def serve_settings(settings: Settings, host: str, port: int, *, writable: bool = False) -> ServeSettings:
    def names(name: str) -> tuple[str, ...]:
        return cast("tuple[str, ...]", settings[f"{OWN}.serve.{name}"])

    def number(name: str) -> int:
        return settings.number(f"{OWN}.serve.{name}")

    profile, profiles = str(settings[f"{OWN}.serve.profile"]), names("profiles")
    if profile not in profiles:
        reason = f"'{profile}' is not in spaniel.serve.profiles ({', '.join(profiles) or 'none'})"
        raise complaint("spaniel.serve.profile", reason)
    return ServeSettings(
        host=host,
        port=port,
        profile=profile,
        profiles=profiles,
        limits=CallerLimits(*map(number, CallerLimits._fields)),
        max_body_bytes=number("max_body_bytes"),
        max_list_bytes=number("max_list_bytes"),
        allowed_hosts=tuple(host.lower() for host in names("allowed_hosts")),
        allowed_origins=names("allowed_origins"),
        trusted_proxies=names("trusted_proxies"),
        jobs_folder=str(settings[f"{OWN}.serve.jobs_folder"]) or os.path.join(default_state_dir(), "jobs"),
        writable=writable,
    )


def tokens(settings: Settings, usual: CallerLimits, environ: Mapping[str, str] = os.environ) -> list[NamedToken]:
    """The tokens of the settings' file and of the environment."""
    found: list[NamedToken] = []
    if given := environ.get(TOKEN, ""):
        found.append(_token("default", given, usual, TOKEN))
    if path := str(settings[f"{OWN}.serve.tokens_file"]):
        _require_private(path)
        for name, fields in read_toml(path, "tokens").items():
            table = Table(fields, f"{path}: [{name}]")
            limits = CallerLimits(*(table.number(field, getattr(usual, field)) for field in CallerLimits._fields))
            found.append(_token(name, table.text("token"), limits, f"{path}: [{name}] token"))
            table.close()
    if len({token.name for token in found}) < len(found):
        raise complaint(path, f"the name 'default' belongs to the token of {TOKEN}")
    return found


def _token(name: str, text: str, limits: CallerLimits, place: str) -> NamedToken:
    if len(text) < SHORTEST_TOKEN or not text.isprintable() or " " in text:
        reason = f"must have at least {SHORTEST_TOKEN} characters and no blanks; 'openssl rand -hex 32' prints one"
        raise complaint(place, reason)
    return NamedToken(name, sha256(text.encode("utf-8", "surrogateescape")).digest(), limits)


def _require_private(path: str) -> None:
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        raise complaint(path, f"cannot be read: {error.strerror}") from None
    if os.name == "posix" and mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise complaint(path, "may be changed by other users: run 'chmod go-w' on it")
