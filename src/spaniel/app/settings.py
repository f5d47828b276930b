"""Settings: one TOML file, strictly read; every value knows where it came from (SRD §5)."""

from __future__ import annotations

import logging
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from spaniel.app.keys import KEYS, Key, Value, toml
from spaniel.browser.rendered import BrowserSettings
from spaniel.errors import Code, SpanielError
from spaniel.tables import nearest, read_toml

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spaniel.net.guard import Security
    from spaniel.net.http import HttpSettings
    from spaniel.robots.gate import RobotsSettings

log = logging.getLogger("spaniel.settings")

FILE = "spaniel.toml"
DEFAULT = "default"  # the source of a value that nobody gave
T = TypeVar("T")
MODES = ("enabled", "parse_only", "disabled")


class Setting(NamedTuple):
    """A value and its source: `default`, or the file that gave it."""

    value: Value
    source: str


class Settings:
    """All settings by their full name, and the parts of them that the rooms take."""

    def __init__(self, given: Mapping[str, Setting] | None = None, file: str | None = None) -> None:
        self._all = {key.path: Setting(key.default, DEFAULT) for key in KEYS} | dict(given or {})
        self.file = file

    def __getitem__(self, path: str) -> Value:
        return self._all[path].value

    def items(self) -> list[tuple[str, Setting]]:
        return list(self._all.items())

    def given(self, path: str) -> bool:
        """Whether somebody set it; else it has its default."""
        return self._all[path].source != DEFAULT

    def number(self, path: str) -> int:
        value = self[path]
        assert isinstance(value, int)  # noqa: S101  the table says so
        return value

    def _table(self, table: str) -> dict[str, Value]:
        return {key.name: self[key.path] for key in KEYS if key.table == table}

    @property
    def security(self) -> Security:
        from spaniel.net.guard import Security

        return Security(**self._table("tools.webfetch.security"))  # type: ignore[arg-type]

    @property
    def http(self) -> HttpSettings:
        from spaniel.net.http import HttpSettings

        return HttpSettings(
            user_agent=str(self["tools.webfetch.user_agent"]),
            max_download_bytes=self.number("tools.webfetch.max_download_bytes"),
            ca_file=str(self["spaniel.net.ca_file"]),
        )

    @property
    def browser(self) -> BrowserSettings:
        own = self._table("tools.webfetch.browser")
        own.pop("enabled")
        return BrowserSettings(**own, user_agent=str(self["tools.webfetch.user_agent"]))  # type: ignore[arg-type]

    @property
    def robots(self) -> RobotsSettings:
        from spaniel.robots.gate import RobotsSettings

        return RobotsSettings(
            user_agent=str(self["tools.webfetch.user_agent"]),
            fail_open=bool(self["tools.webfetch.robots.fail_open"]),
            cache_entries=self.number("tools.webfetch.robots_cache_entries"),
            cache_ttl_hours=self.number("tools.webfetch.robots_cache_ttl_hours"),
        )


def load(path: str | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of a file: the one named, `$SPANIEL_CONFIG`, `./spaniel.toml`, or the user's; else the defaults."""
    environ = os.environ if environ is None else environ
    named = path or environ.get("SPANIEL_CONFIG")
    if named:
        return _read(Path(named), environ)
    for place in (Path(FILE), user_file(environ)):
        if place.is_file():
            return _read(place, environ)
    return Settings()


def user_file(environ: Mapping[str, str]) -> Path:
    """The file in the user's configuration folder."""
    if os.name == "nt":
        folder = environ.get("APPDATA") or Path.home() / "AppData" / "Roaming"
    else:
        folder = environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "spaniel" / FILE


def _read(path: Path, environ: Mapping[str, str]) -> Settings:
    return from_data(read_toml(str(path), "settings"), str(path), environ)


def from_data(data: Mapping[str, object], source: str, environ: Mapping[str, str] | None = None) -> Settings:
    """Settings from what a TOML file holds; a key that is not known is an error, with the nearest one that is."""
    known = {key.path: key for key in KEYS}
    given: dict[str, Setting] = {}
    for path, value in _flat(data, "", {key.table for key in KEYS}, source):
        if path not in known:
            raise _wrong(f"{source}: {path}", f"no such setting; {nearest(path, known)}")
        given[path] = Setting(_checked(known[path], value, source, environ or {}), source)
    return Settings(given, source)


def _flat(data: Mapping[str, object], prefix: str, tables: set[str], source: str) -> list[tuple[str, object]]:
    """Every value with its full name; tables that no setting is in are refused."""
    found: list[tuple[str, object]] = []
    for name, value in data.items():
        path = f"{prefix}{name}"
        if not isinstance(value, dict):
            found.append((path, value))
        elif any(table == path or table.startswith(f"{path}.") for table in tables):
            found += _flat(value, f"{path}.", tables, source)
        else:
            raise _wrong(f"{source}: [{path}]", f"no such table; {nearest(path, tables)}")
    return found


def _checked(key: Key, value: object, source: str, environ: Mapping[str, str]) -> Value:
    place = f"{source}: {key.path}"
    if isinstance(key.default, bool):
        return _of(bool, value, place, "true or false")
    if isinstance(key.default, int):
        return _clamped(key, _of(int, value, place, "a whole number"), place)
    if isinstance(key.default, tuple):
        return _listed(key, _of(list, value, place, "a list"), place)
    text = _of(str, value, place, "text")
    if key.kind == "mode" and text not in MODES:
        raise _wrong(place, f"must be one of {', '.join(MODES)}")
    return _expanded(text, place, environ) if key.kind == "path" else text


def _of(kind: type[T], value: object, place: str, called: str) -> T:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise _wrong(place, f"must be {called}")
    return value


def _clamped(key: Key, value: int, place: str) -> int:
    """Numbers outside their range are brought into it, with a warning (§5.4, D2-01)."""
    low = value if key.low is None else max(value, key.low)
    inside = low if key.high is None else min(low, key.high)
    if inside != value:
        log.warning("%s = %d is out of range; %d is used", place, value, inside)
    return inside


def _listed(key: Key, items: list[object], place: str) -> Value:
    if key.kind != "ports":
        return tuple(_of(str, item, place, "a list of texts") for item in items)
    ports = tuple(_of(int, item, place, "a list of ports") for item in items)
    if any(not 1 <= port <= 65_535 for port in ports):
        raise _wrong(place, "a port is a number from 1 to 65535")
    return ports or key.default


def _expanded(text: str, place: str, environ: Mapping[str, str]) -> str:
    """`${NAME}` and `$NAME` from the environment (FR-WF-CFG-03), `~`; TEMP is always there (D2-21)."""

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name in environ:
            return environ[name]
        if name == "TEMP":
            return tempfile.gettempdir()
        raise _wrong(place, f"the variable {name} is not set")

    return os.path.expanduser(re.sub(r"\$(?:\{(\w+)\}|(\w+))", value, text))


def _wrong(place: str, reason: str) -> SpanielError:
    return SpanielError(Code.BAD_ARGS, field=place, reason=reason)


def describe(settings: Settings) -> list[dict[str, object]]:
    """Every setting with its value and source, for `spaniel config show`."""
    return [{"key": path, "value": toml(s.value), "source": s.source} for path, s in settings.items()]
