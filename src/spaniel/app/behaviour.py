"""Where a profile and the settings meet: which of the two rules over what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.app.keys import KEYS
from spaniel.pipeline.fetch import Limits
from spaniel.pipeline.profile import DEFAULT
from spaniel.tables import complaint

if TYPE_CHECKING:
    from spaniel.app.settings import Settings
    from spaniel.net.http import HttpSettings
    from spaniel.pipeline.profile import Profile
    from spaniel.robots.gate import RobotsSettings

_BY_PATH = {key.path: key for key in KEYS}


def limits_for(profile: Profile, settings: Settings) -> Limits:
    return Limits(
        _number("timeout_seconds", profile, settings),
        _number("max_redirects", profile, settings),
        _number("default_max_chunk_tokens", profile, settings),
    )


def http_for(profile: Profile, settings: Settings) -> HttpSettings:
    size = _number("max_download_bytes", profile, settings)
    return settings.http._replace(max_download_bytes=size, **profile.headers)


def robots_for(profile: Profile, settings: Settings) -> RobotsSettings:
    """Whoever asks for the pages is who asks for robots.txt."""
    return settings.robots._replace(user_agent=profile.headers.get("user_agent", settings.robots.user_agent))


def ttl_days_for(profile: Profile, settings: Settings) -> int:
    path = "tools.webfetch.cache_ttl_days"
    if profile.ttl_days is None or _settings_rule(path, profile, settings):
        return settings.number(path)
    return profile.ttl_days


def _number(name: str, profile: Profile, settings: Settings) -> int:
    """A limit: what the settings file says rules over web_fetch (SRD §5); another profile's own limits rule."""
    path = f"tools.webfetch.{name}"
    if name not in profile.limits or _settings_rule(path, profile, settings):
        return settings.number(path)
    value, low, high = profile.limits[name], _BY_PATH[path].low, _BY_PATH[path].high
    if (low is not None and value < low) or (high is not None and value > high):
        raise complaint(f"profile {profile.name}: limits.{name}", f"{value} is not between {low} and {high}")
    return value


def _settings_rule(path: str, profile: Profile, settings: Settings) -> bool:
    return profile.name == DEFAULT and settings.given(path)
