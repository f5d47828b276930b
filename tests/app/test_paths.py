"""The default folder of the cache."""

from __future__ import annotations

import os

import pytest

from spaniel.app.paths import default_cache_dir


@pytest.mark.req("D2-21")
@pytest.mark.parametrize(
    ("platform", "environment", "right"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/spaniel"),
        ("linux", {}, "/home/me/.cache/spaniel"),
        ("linux", {"XDG_CACHE_HOME": ""}, "/home/me/.cache/spaniel"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "/home/me/.cache/spaniel"),
        ("darwin", {}, "/home/me/Library/Caches/spaniel"),
        ("darwin", {"XDG_CACHE_HOME": "/x"}, "/x/spaniel"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/spaniel"),
    ],
)
def test_it_is_the_users_cache_folder(
    monkeypatch: pytest.MonkeyPatch, platform: str, environment: dict[str, str], right: str
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr(os, "environ", {"HOME": "/home/me", **environment})
    assert default_cache_dir() == right
