"""How URLs are written: what is refused, what messages and logs say of them, and what goes over the wire."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from spaniel.app.client import Spaniel
from spaniel.app.settings import from_data
from spaniel.errors import Code, SpanielError
from spaniel.net.guard import Guard
from spaniel.pipeline.profile import load
from spaniel.testing import FakeResolver, Page, Site, html, redirect, settings_for, text
from spaniel.url import canonicalize
from spaniel.url.parsing import parse
from tests.pipeline.test_ingest import TEXT, ingesting

WEB_FETCH = load("web_fetch")


@pytest.mark.req("FR-WF-04", "FG-01")
@pytest.mark.parametrize(
    ("written", "scheme"),
    [
        ("javascript:1", "javascript"),
        ("mailto:1", "mailto"),
        ("MailTo:1", "mailto"),
        ("DATA:1", "data"),
        ("tel:112", "tel"),
        ("FTP://example.com/", "ftp"),
        ("File:///etc/passwd", "file"),
    ],
)
@pytest.mark.parametrize("policy", ["exact", "ingest"])
def test_other_schemes_are_refused_by_their_name_in_lower_case(policy: str, written: str, scheme: str) -> None:
    with pytest.raises(SpanielError) as caught:
        canonicalize(written, policy)
    assert (caught.value.code, caught.value.details) == (Code.INVALID_SCHEME, {"scheme": scheme})


@pytest.mark.req("FG-01")
@pytest.mark.parametrize("host", ["localhost:8080", "example.com:1", "intranet:80/a", "data.example:80"])
def test_a_host_and_digits_have_no_scheme(host: str) -> None:
    assert canonicalize(host, "ingest").url.startswith(f"https://{host.partition(':')[0]}:")
    with pytest.raises(SpanielError) as caught:
        parse(host)
    assert caught.value.code is Code.INVALID_URL


@pytest.mark.req("FR-WF-19b")
@pytest.mark.parametrize(
    "written",
    [
        "https:/example.com/?token=SECRET",
        "https://example.com:99999/?token=SECRET",
        "https://exa mple.com/?token=SECRET",
        "example.com/a?token=SECRET#x",
        "https://a\\b/?token=SECRET",
        "https://[::1/?token=SECRET",
        "//#token=SECRET",
    ],
)
def test_messages_about_broken_urls_leave_out_the_query(written: str) -> None:
    with pytest.raises(SpanielError) as caught:
        parse(written)
    error = caught.value
    assert error.code in (Code.INVALID_URL, Code.INVALID_HOST)
    fields = [error.message, str(error), repr(error), str(error.about(written)), str(error.as_dict()["message"])]
    assert not [text for text in fields if "SECRET" in text]


@pytest.mark.req("FR-WF-19b")
async def test_a_redirects_bad_location_is_not_repeated_with_its_query(tmp_path: Path) -> None:
    pages: dict[str, Page] = {"/a": redirect("https://exa mple.com/?token=SECRET")}
    async with ingesting(pages, tmp_path, WEB_FETCH) as (spaniel, site, _):
        with pytest.raises(SpanielError) as caught:
            await spaniel.fetch(site.url("/a"))
    assert caught.value.code is Code.INVALID_URL
    assert "SECRET" not in caught.value.message + str(caught.value) + repr(caught.value)


@pytest.mark.req("FR-WF-19c")
async def test_the_log_names_the_host_that_was_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    refused = ["http://0x7f.1/", "http://127.0.0.1/", "https://good.example:1/"]
    with caplog.at_level(logging.INFO, "spaniel.fetch"):
        async with ingesting({}, tmp_path, WEB_FETCH) as (spaniel, _, _):
            for url in refused:
                await spaniel.outcome(url)
    fields = [record.__dict__["fields"] for record in caplog.records if hasattr(record, "fields")]
    assert [field["requested_host"] for field in fields] == ["0x7f.1", "127.0.0.1", "good.example"]


@pytest.mark.req("FR-WF-05a")
@pytest.mark.parametrize(
    ("address", "cidr"),
    [("[4000::1]", "4000::/3"), ("[1000::1]", "1000::/4"), ("[200::1]", "200::/7"), ("[fe00::1]", "fe00::/9")],
)
def test_unassigned_ipv6_space_is_named_by_its_block(address: str, cidr: str) -> None:
    with pytest.raises(SpanielError) as caught:
        Guard(FakeResolver()).check_form(parse(f"https://{address}/"))
    assert (caught.value.code, caught.value.details["cidr"]) == (Code.SSRF_BLOCKED, cidr)


@pytest.mark.req("D2-47")
async def test_an_empty_query_is_kept_on_the_wire_and_in_robots_matching(tmp_path: Path) -> None:
    robots = text("User-agent: *\nDisallow: /y?\nDisallow: /z$\n")
    pages: dict[str, Page] = {"/x": html(TEXT), "/y": html(TEXT), "/z": html(TEXT), "/robots.txt": robots}
    async with ingesting(pages, tmp_path, WEB_FETCH) as (spaniel, site, _):
        answered = await spaniel.fetch(site.url("/x?"))
        outcomes = {path: (await spaniel.outcome(site.url(path))).failure for path in ("/y?", "/y", "/z?", "/z")}
        asked = set(site.requests) - {"/robots.txt"}
    assert answered.final_url == site.url("/x?") == canonicalize(site.url("/x?")).url
    assert asked == {"/x?", "/y", "/z?"}
    assert outcomes == {"/y?": "robots_disallowed", "/y": "", "/z?": "", "/z": "robots_disallowed"}


@pytest.mark.req("FG-03")
@pytest.mark.parametrize("profile", ["web_fetch", "ingest"])
async def test_credentials_that_were_dropped_are_noted(profile: str, tmp_path: Path) -> None:
    async with ingesting({"/a": html(TEXT)}, tmp_path, load(profile)) as (spaniel, site, _):
        plain = await spaniel.fetch(site.url("/a"))
        noted = await spaniel.fetch(site.url("/a").replace("://", "://user:secret@"))
        assert not [headers for headers in site.seen if "authorization" in headers]
    assert "credentials_dropped" not in plain.notes
    assert "credentials_dropped" in noted.notes
    assert "secret" not in str(noted.as_dict())


@pytest.mark.req("D2-46")
async def test_what_overrides_let_in_is_not_served_without_them(tmp_path: Path) -> None:
    async with Site({"/a": html(TEXT)}) as site:
        opened = settings_for(site, cache=tmp_path, browser={"enabled": False})
        table = {"cache_dir": str(tmp_path), "security": {"allowed_ports": [site.port]}}
        strict = from_data({"tools": {"webfetch": table}}, "test")
        results = []
        for settings in (opened, strict, opened):
            async with Spaniel(settings, FakeResolver()) as spaniel:
                outcome = await spaniel.outcome(site.url("/a"))
                results.append((outcome.failure, outcome.cache_hit))
        assert site.requests["/a"] == 1
    assert results == [("", False), ("ssrf_blocked", False), ("", True)]
