"""What a profile says of the cache, from its file to the entry on the disk, through a whole fetch."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from spaniel.app.client import Spaniel
from spaniel.app.settings import Settings, from_data
from spaniel.cache.entry import CacheEntry, decode
from spaniel.testing import FakeResolver, Site, text


def settings_for(site: Site, folder: Path) -> Settings:
    security = {"block_loopback": False, "allow_insecure_overrides": True, "allowed_ports": [site.port]}
    return from_data(
        {"tools": {"webfetch": {"cache_dir": str(folder), "cache_ttl_days": 5, "security": security}}}, "test"
    )


async def fetched(site: Site, folder: Path, profile: str) -> int:
    """Fetch the one page; how often the site was asked for it so far."""
    file = folder.parent / "own.toml"
    file.write_text(profile, encoding="utf-8")
    async with Spaniel(settings_for(site, folder), FakeResolver(), file) as spaniel:
        assert (await spaniel.fetch(site.url("/page"))).markdown == "words\n"
    return site.requests["/page"]


def entries(folder: Path) -> list[CacheEntry]:
    return [decode(path.read_bytes()) for path in folder.rglob("*.json")]


@pytest.mark.req("D2-24")
async def test_another_version_of_a_profile_is_not_served_what_the_last_one_kept(folder: Path) -> None:
    async with Site({"/page": text("words\n")}) as site:
        assert await fetched(site, folder, 'name = "own"\nversion = "1"\n') == 1
        assert await fetched(site, folder, 'name = "own"\nversion = "1"\n') == 1  # the control: it was kept
        assert await fetched(site, folder, 'name = "own"\nversion = "2"\n') == 2
        assert await fetched(site, folder, 'name = "other"\nversion = "1"\n') == 3
    assert sorted(str(entry.profile) for entry in entries(folder)) == ["other@1", "own@1", "own@2"]


@pytest.mark.req("FR-WF-16d", "D2-24")
@pytest.mark.parametrize(("cache", "days"), [("[cache]\nttl_days = 3\n", 3), ("", 5)], ids=["its own", "the settings'"])
async def test_a_page_is_kept_for_as_long_as_its_profile_says(folder: Path, cache: str, days: int) -> None:
    async with Site({"/page": text("words\n")}) as site:
        await fetched(site, folder, f'name = "own"\nversion = "1"\n{cache}')
    (entry,) = entries(folder)
    assert entry.expires_at - entry.fetched_at == timedelta(days=days)


@pytest.mark.req("FR-WF-16d", "D2-24")
async def test_what_a_profile_does_not_keep_at_all_is_asked_for_again(folder: Path) -> None:
    profile = 'name = "own"\nversion = "1"\n[cache]\nttl_days = 0\n'
    async with Site({"/page": text("words\n")}) as site:
        assert [await fetched(site, folder, profile) for _ in range(2)] == [1, 2]
