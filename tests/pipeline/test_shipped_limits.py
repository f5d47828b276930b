"""The numbers and lists of document 1 as the shipped profiles keep them, seen from outside: at and past the limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from spaniel.pipeline.profile import load
from spaniel.testing import Page, html, redirect, text
from tests.pipeline.test_ingest import TEXT, ingesting

MEGABYTE = 1_000_000  # FG-26: not 2 ** 20


@pytest.mark.req("FG-23")
@pytest.mark.parametrize("profile", ["ingest", "web_fetch", "reader"])
async def test_five_redirects_are_followed_and_six_are_not(profile: str, tmp_path: Path) -> None:
    pages: dict[str, Page] = {"/6": html(TEXT)}
    pages.update({f"/{n}": redirect(f"/{n + 1}") for n in range(6)})
    async with ingesting(pages, tmp_path, load(profile)) as (spaniel, site, _):
        five = await spaniel.record(site.url("/1"))
        six = await spaniel.record(site.url("/0"))
    assert (five.final_url, five.chain) == (site.url("/6"), [site.url(f"/{n}") for n in range(1, 6)])
    assert five.error is None
    assert six.error is not None
    assert (six.error["code"], six.error["details"]["max"]) == ("redirect_limit", 5)


@pytest.mark.req("FG-26")
async def test_a_text_is_cut_at_a_million_bytes(tmp_path: Path) -> None:
    line = b"The river rose in March.\n"
    whole = (line * (MEGABYTE // len(line) + 1))[: MEGABYTE - 4] + b"END."
    pages: dict[str, Page] = {"/whole": text(whole.decode()), "/more": text(whole.decode() + "AFTER")}
    async with ingesting(pages, tmp_path) as (spaniel, site, _):
        at, past = [await spaniel.record(site.url(path)) for path in ("/whole", "/more")]
    assert "text_cut" not in at.caveats
    assert str(at.markdown).rstrip().endswith("END.")
    assert "text_cut" in past.caveats
    assert str(past.markdown).rstrip().endswith("END.")


@pytest.mark.req("FG-30")
async def test_retries_wait_five_fifteen_and_forty_five_seconds(tmp_path: Path) -> None:
    async with ingesting({"/a": text("down", 500)}, tmp_path) as (spaniel, site, _):
        record = await spaniel.record(site.url("/a"))
        assert site.requests["/a"] == 4
    waits = [fallback.waited for fallback in record.fallbacks if fallback.fallback == "retry"]
    assert len(waits) == 3
    assert all(least <= wait < least * 2 for wait, least in zip(waits, (5, 15, 45), strict=True))


HOURS = {"status": 1, "news": 24, "repository": 48, "api-docs": 72, "blog": 168, "answers": 168, "specs": 720}
HOSTS = {
    "status": "x.statuspage.io x.statuspal.io x.instatus.com www.githubstatus.com downdetector.com status.example.com"
    " dashboard.example.com",
    "specs": "rfc-editor.org www.rfc-editor.org html.spec.whatwg.org tc39.es 262.ecma-international.org httpwg.org"
    " w3c.github.io registry.khronos.org docs.oasis-open.org semver.org spec.commonmark.org",
    "answers": "stackoverflow.com es.stackoverflow.com unix.stackexchange.com superuser.com serverfault.com"
    " askubuntu.com mathoverflow.net stackapps.com",
    "repository": "github.com raw.githubusercontent.com gist.github.com docs.github.com gitlab.com bitbucket.org"
    " codeberg.org git.sr.ht",
    "api-docs": "x.readthedocs.io x.readthedocs.org docs.rs pkg.go.dev javadoc.io hexdocs.pm rubydoc.info"
    " learn.microsoft.com api.jquery.com docs.example.com developer.example.com api.example.com",
    "blog": "medium.com x.medium.com x.substack.com x.wordpress.com x.blogspot.com x.ghost.io x.hashnode.dev dev.to"
    " github.blog blog.example.com",
    "news": "news.example.com",
}


@pytest.mark.req("FG-38")
async def test_each_host_has_its_freshness_class(tmp_path: Path) -> None:
    """Document 1 names the classes and their hours; which well-known sites belong to them is ours."""
    hosts = {host: name for name, listed in HOSTS.items() for host in listed.split()}
    async with ingesting({"/x": html(TEXT)}, tmp_path) as (spaniel, site, _):
        found = {host: (await spaniel.record(site.url("/x", host))).cache for host in hosts}
        other = (await spaniel.record(site.url("/x", "www.example.com"))).cache
    assert {host: copy and (copy.freshness, copy.ttl_hours) for host, copy in found.items()} == {
        host: (name, HOURS[name]) for host, name in hosts.items()
    }
    assert other is not None
    assert other.freshness == "other"
