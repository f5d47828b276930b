"""Settings: files, environment and flags, read strictly and merged; every value has its source (SRD §5).

Later sources override earlier ones by key (D2-31): the defaults, the user's file, the project's file in the working
folder, the file that `--config` or `$SPANIEL_CONFIG` names, the `SPANIEL_…` variables, the flags.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from spaniel.app.keys import BY_PATH, BY_VARIABLE, FETCH, KEYS, OWN, SECURITY, Value
from spaniel.app.paths import SettingsFile, default_cache_dir, settings_files
from spaniel.app.values import asked, checked, from_text
from spaniel.tables import complaint, nearest, read_toml
from spaniel.url.hostlists import HostList, domains

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spaniel.browser.rendering import BrowserSettings
    from spaniel.cache import CacheSettings
    from spaniel.net.guard import Security
    from spaniel.net.http import RequestHeaders
    from spaniel.pipeline.profile import ProfileSettings
    from spaniel.pipeline.services import Copies, Rendering
    from spaniel.queue import QueueSettings
    from spaniel.robots.gate import RobotsSettings

log = logging.getLogger("spaniel.settings")

NAMED = "SPANIEL_CONFIG"
DEFAULT = "default"  # the source of a value that was not set
CALL = "the call"  # the source of a value that a program passes and that has no flag
# Variables that are not settings: those of other programs, a secret, a socket.
NO_SETTINGS = (NAMED, "SPANIEL_LOG", "SPANIEL_BUILD", "SPANIEL_SERVE_TOKEN", "SPANIEL_LISTEN_FD")

Mode = Literal["enabled", "parse_only", "disabled"]


class ToolSettings(NamedTuple):
    """The tool's settings (FR-WF-CFG-02)."""

    mode: Mode = "enabled"
    enabled: bool = False
    allow_auto_execution: bool = False
    js_heavy: HostList = HostList(())  # whose pages are rendered without trying HTTP first (FR-WF-12b)
    mode_source: str = DEFAULT
    enabled_source: str = DEFAULT

    def opted_in(self) -> ToolSettings:
        """For a server that the user starts: the tool is on unless it was switched off explicitly (D2-26)."""
        return self._replace(enabled=self.enabled or self.enabled_source == DEFAULT)

    @property
    def switched_off_by(self) -> str:
        """The file, variable or flag (or the default) that switched the tool off; empty if it is on."""
        if self.mode != "enabled":
            return self.mode_source
        return "" if self.enabled else self.enabled_source


class McpSettings(NamedTuple):
    """`[spaniel.mcp]`."""

    max_output_bytes: int
    resource_links: bool
    max_screenshot_height: int


class LimitSettings(NamedTuple):
    """The limits of a fetch, unless its profile sets them."""

    timeout_seconds: int
    max_redirects: int
    default_max_chunk_tokens: int
    max_download_bytes: int
    cache_ttl_days: int


class BatchSettings(NamedTuple):
    """`[spaniel.batch]`."""

    max_retry_after_seconds: int
    max_crawl_delay_seconds: int
    host_seconds: int
    total_seconds: int


class HealthSettings(NamedTuple):
    """`[spaniel.health]`."""

    jobs: int
    per_host: int
    delay_ms: int
    timeout_seconds: int
    content_seconds: int
    host_wait_seconds: int
    robots: bool
    history_folder: str
    priorities_file: str
    fallback_extensions: tuple[str, ...]
    index_files: tuple[str, ...]


class Setting(NamedTuple):
    """A value and its source: `default`, or the file, variable or flag."""

    value: Value
    source: str


class Settings:
    """All settings by full name, and in groups; only this package knows the names."""

    def __init__(
        self,
        given: Mapping[str, Setting] | None = None,
        file: str | None = None,
        looked_for: tuple[SettingsFile, ...] = (),
    ) -> None:
        self._all = {path: Setting(key.default, DEFAULT) for path, key in BY_PATH.items()} | dict(given or {})
        self.file = file  # the last one that was read
        self.looked_for = looked_for

    def __getitem__(self, path: str) -> Value:
        return self._all[path].value

    def items(self) -> list[tuple[str, Setting]]:
        return list(self._all.items())

    def given(self, path: str) -> bool:
        """Whether it was set; else it has its default."""
        return self._all[path].source != DEFAULT

    def source(self, path: str) -> str:
        return self._all[path].source

    def asked_for(self, path: str) -> bool:
        """Whether it was set by a flag: then it overrides a profile too."""
        flag = BY_PATH[path].flag
        return bool(flag) and self._all[path].source == flag

    def number(self, path: str) -> int:
        value = self._all[path].value
        assert isinstance(value, int)  # noqa: S101  the table says so
        return value

    def _table(self, table: str) -> dict[str, Value]:
        return {key.name: self._all[path].value for path, key in BY_PATH.items() if key.table == table}

    @property
    def security(self) -> Security:
        from spaniel.net.guard import Security

        return Security(**self._table(SECURITY))  # type: ignore[arg-type]

    @property
    def protection_off(self) -> tuple[str, ...]:
        """The guard's blocks that are switched off."""
        return tuple(name for name, on in self._table(SECURITY).items() if name.startswith("block_") and not on)

    @property
    def headers(self) -> RequestHeaders:
        from spaniel.net.http import RequestHeaders

        return RequestHeaders(user_agent=str(self[f"{FETCH}.user_agent"]))

    @property
    def ca_file(self) -> str:
        return str(self[f"{OWN}.net.ca_file"])

    @property
    def freshness_file(self) -> str:
        return str(self[f"{OWN}.freshness.file"])

    @property
    def learnt_file(self) -> str:
        return str(self[f"{OWN}.canon.learnt_file"])

    @property
    def uses_system_proxy(self) -> bool:
        return bool(self[f"{FETCH}.http.use_system_proxy"])

    @property
    def browser(self) -> BrowserSettings:
        from spaniel.browser.rendering import BrowserSettings

        own = self._table(f"{FETCH}.browser")
        own.pop("enabled")
        return BrowserSettings(**own)  # type: ignore[arg-type]

    @property
    def robots(self) -> RobotsSettings:
        from spaniel.robots.gate import RobotsSettings

        return RobotsSettings(
            fail_open=bool(self[f"{FETCH}.robots.fail_open"]),
            cache_entries=self.number(f"{FETCH}.robots_cache_entries"),
            cache_ttl_hours=self.number(f"{FETCH}.robots_cache_ttl_hours"),
        )

    @property
    def cache(self) -> CacheSettings:
        from spaniel.cache import CacheSettings

        return CacheSettings(
            str(self[f"{FETCH}.cache_dir"]) or default_cache_dir(),
            self.number(f"{FETCH}.cache_ttl_days"),
            self.number(f"{FETCH}.max_cache_entries"),
            self.number(f"{FETCH}.max_cache_bytes") or None,
        )

    @property
    def hosts_folder(self) -> str:
        """Host knowledge and the queue are stored beside the page cache, like robots.txt files."""
        return f"{self.cache.folder}/hosts"

    @property
    def queue(self) -> QueueSettings:
        from spaniel.queue import QueueSettings

        return QueueSettings(f"{self.cache.folder}/queue", self.number(f"{OWN}.queue.max_entries"))

    @property
    def copies(self) -> Copies:
        from spaniel.pipeline.services import Copies

        mirrors = cast("tuple[str, ...]", self[f"{OWN}.mirrors.prefixes"])
        return Copies(
            str(self[f"{OWN}.archive.available"]),
            str(self[f"{OWN}.archive.snapshot"]),
            str(self[f"{OWN}.search_cache.template"]),
            tuple((prefix, to) for prefix, _, to in (mirror.partition(" ") for mirror in mirrors)),
        )

    @property
    def uses_browser(self) -> bool:
        return bool(self[f"{FETCH}.browser.enabled"])

    @property
    def rendering(self) -> Rendering:
        from spaniel.pipeline.services import Rendering

        own = self._table(f"{FETCH}.rendering")
        hosts = domains(cast("tuple[str, ...]", own.pop("js_heavy_domains")))
        return Rendering(hosts, **own)  # type: ignore[arg-type]

    @property
    def profile_settings(self) -> ProfileSettings:
        """What profiles leave to the settings, and what of it the user has set."""
        from spaniel.pipeline.profile import ProfileSettings

        limits, names = self.limits, (*LimitSettings._fields, "user_agent")
        return ProfileSettings(
            self.headers,
            limits._asdict(),
            frozenset(name for name in names if self.given(f"{FETCH}.{name}")),
            frozenset(name for name in names if self.asked_for(f"{FETCH}.{name}")),
        )

    @property
    def limits(self) -> LimitSettings:
        return LimitSettings(*(self.number(f"{FETCH}.{name}") for name in LimitSettings._fields))

    @property
    def tool(self) -> ToolSettings:
        return ToolSettings(
            cast("Mode", self["tools.mode"]),
            bool(self[f"{FETCH}.enabled"]),
            bool(self[f"{FETCH}.allow_auto_execution"]),
            self.rendering.js_heavy_domains,
            self.source("tools.mode"),
            self.source(f"{FETCH}.enabled"),
        )

    @property
    def registry_folder(self) -> str:
        return str(self[f"{OWN}.registry.folder"])

    @property
    def batch(self) -> BatchSettings:
        return BatchSettings(**self._table(f"{OWN}.batch"))  # type: ignore[arg-type]

    @property
    def mcp(self) -> McpSettings:
        return McpSettings(**self._table(f"{OWN}.mcp"))  # type: ignore[arg-type]


def load(
    path: str | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    flags: Mapping[str, object] | None = None,
    call: Mapping[str, object] | None = None,
    cwd: str | None = None,
) -> Settings:
    """The settings of this user, in this folder, with these flags (full name of a key -> value).

    A named file must exist; the user's and the project's need not. `call` is what a program passes in
    place of flags (short name of a key -> value).
    """
    environ = os.environ if environ is None else environ
    given: dict[str, Setting] = {}
    looked_for = settings_files(path or environ.get(NAMED), environ, cwd or "")
    for whose, file, found in looked_for:
        if found:
            owner = looked_for[0].path if whose == "project" else None
            given |= _given(read_toml(file, "settings"), file, environ, os.path.dirname(file), owner)
    given |= _variables(environ) | _flags(flags or {}, environ) | _call(call or {}, environ)
    read = [place.path for place in looked_for if place.found]
    return Settings(given, read[-1] if read else None, looked_for)


def from_data(data: Mapping[str, object], source: str, environ: Mapping[str, str] | None = None) -> Settings:
    """Settings from the contents of a TOML file; an unknown key is an error that names the nearest known one."""
    return Settings(_given(data, source, environ or {}), source)


def _given(
    data: Mapping[str, object], source: str, environ: Mapping[str, str], folder: str = "", owner: str | None = None
) -> dict[str, Setting]:
    """The values of a file. `owner`: it is a project's file, and this is the user's, which may set everything."""
    given: dict[str, Setting] = {}
    for path, value in _flat(data, "", {key.table for key in KEYS}, source):
        key, place = BY_PATH.get(path), f"{source}: {path}"
        if key is None:
            raise complaint(place, f"unknown setting; {nearest(path, BY_PATH)}")
        if owner is not None and key.trusted:
            who = f"set it in {owner}, in a file named by --config, or as {key.variable}"
            raise complaint(place, f"a project's file may not set this; {who}")
        given[path] = Setting(checked(key, value, place, environ, folder), source)
    return given


def _flat(data: Mapping[str, object], prefix: str, tables: set[str], source: str) -> list[tuple[str, object]]:
    """Every value with its full name; tables without any setting are refused."""
    found: list[tuple[str, object]] = []
    for name, value in data.items():
        path = f"{prefix}{name}"
        if not isinstance(value, dict):
            found.append((path, value))
        elif any(table == path or table.startswith(f"{path}.") for table in tables):
            found += _flat(value, f"{path}.", tables, source)
        else:
            raise complaint(f"{source}: [{path}]", f"unknown table; {nearest(path, tables)}")
    return found


def _variables(environ: Mapping[str, str]) -> dict[str, Setting]:
    """The values of the environment. An empty variable is ignored; an unknown one too, with a warning."""
    given: dict[str, Setting] = {}
    for name, text in environ.items():
        if name.startswith("SPANIEL_") and text and (key := BY_VARIABLE.get(name)):
            given[key.path] = Setting(from_text(key, text, name, environ), name)
        elif name.startswith("SPANIEL_") and name not in BY_VARIABLE and name not in NO_SETTINGS:
            log.warning("the variable %s is ignored: unknown setting; %s", name, nearest(name, BY_VARIABLE))
    return given


def _flags(flags: Mapping[str, object], environ: Mapping[str, str]) -> dict[str, Setting]:
    keys = {path: BY_PATH[path] for path in flags}
    return {path: Setting(asked(key, flags[path], key.flag, environ), key.flag) for path, key in keys.items()}


def _call(names: Mapping[str, object], environ: Mapping[str, str]) -> dict[str, Setting]:
    """What a program passes, by short names: those of the variables, in lower case and without `spaniel_`."""
    given: dict[str, Setting] = {}
    for name, value in names.items():
        key = BY_VARIABLE.get(f"SPANIEL_{name.upper()}") if name.islower() else None
        if key is None:
            known = [variable.removeprefix("SPANIEL_").lower() for variable in BY_VARIABLE]
            raise complaint(name, f"unknown setting; {nearest(name, known)}")
        given[key.path] = Setting(asked(key, value, name, environ), key.flag or CALL)
    return given


def describe(settings: Settings) -> list[dict[str, object]]:
    """Every setting with its value and source, for programs."""
    return [
        {"key": path, "value": list(s.value) if isinstance(s.value, tuple) else s.value, "source": s.source}
        for path, s in settings.items()
    ]
