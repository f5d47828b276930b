"""One fetch, from URL to answer, against real sites on loopback."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from spaniel.app.client import Spaniel
from spaniel.app.settings import from_data
from spaniel.cache import CacheSettings, PageCache, key_for
from spaniel.chunking.tokens import cl100k
from spaniel.errors import Code, SpanielError
from spaniel.pipeline.answer import fitted
from spaniel.pipeline.request import SCHEMA, Request, Trace, read_request
from spaniel.testing import FakeResolver, Page, Reply, Site, html, redirect, spaniel_for, text

RELAXED = "block_loopback"  # what the settings of these tests switch off: part of their keys
ARTICLE = (
    "<!doctype html><html lang=en-GB><head><title>The Otter</title></head><body><nav><a href=/>Home</a></nav><main>"
    "<h1>The Otter</h1><p>"
    + "The otter swims in the river and eats fish. " * 40
    + "</p><h2>Food</h2><p>"
    + "It eats <a href=fish>fish</a> and crabs, mostly at night. " * 40
    + "</p></main><footer>© 2026</footer></body></html>"
)


@asynccontextmanager
async def spaniel_at(pages: dict[str, Page], cache: Path, **webfetch: Any) -> AsyncIterator[tuple[Spaniel, Site]]:
    async with Site(pages) as site, spaniel_for(site, cache=cache, **webfetch) as spaniel:
        yield spaniel, site


async def code_of(spaniel: Spaniel, url: str) -> str:
    with pytest.raises(SpanielError) as caught:
        await spaniel.fetch(url)
    return str(caught.value.code)


@pytest.mark.req("FR-WF-03", "FR-WF-03b", "FR-WF-10", "FR-WF-13", "IT-WF-HTTP-01", "D2-28")
async def test_a_page_comes_back_as_markdown_in_the_srds_answer(tmp_path: Path) -> None:
    async with spaniel_at({"/otter": html(ARTICLE)}, tmp_path) as (spaniel, site):
        answer = await spaniel.fetch(site.url("/otter?q=1#food"))
        fields = answer.as_dict()
    assert list(fields) == [
        "requested_url", "final_url", "fetched_at", "title", "language", "chunks", "rendering_method", "truncated",
    ]  # fmt: skip
    assert fields["requested_url"] == site.url("/otter?q=1#food")
    assert fields["final_url"] == site.url("/otter?q=1")
    assert (fields["title"], fields["language"], fields["rendering_method"]) == ("The Otter", "en-GB", "http")
    assert answer.markdown.startswith("# The Otter\n")
    assert f"[fish]({site.url('/fish')})" in answer.markdown
    assert "Home" not in answer.markdown
    chunks = fields["chunks"]
    assert isinstance(chunks, list)
    assert all(set(chunk) == {"heading", "text", "token_count"} for chunk in chunks)
    assert {chunk["heading"] for chunk in chunks} <= {"The Otter", "Food"}
    json.dumps(fields)


@pytest.mark.req("D2-11")
async def test_default_user_agent_is_matched_by_robots_txt(tmp_path: Path) -> None:
    robots = text("User-agent: forge-webfetch\nDisallow: /no\n\nUser-agent: *\nDisallow: /yes\n")
    async with spaniel_at({"/robots.txt": robots, "/yes": text("x")}, tmp_path) as (spaniel, site):
        assert (await spaniel.fetch(site.url("/yes"))).markdown == "x\n"
        assert await code_of(spaniel, site.url("/no")) == "robots_disallowed"
        assert {headers["user-agent"] for headers in site.seen} == {"forge-webfetch/1.0"}


@pytest.mark.req("FR-WF-10", "NFR-WF-SEC-02")
async def test_the_configured_user_agent_is_sent_and_judged(tmp_path: Path) -> None:
    robots = text("User-agent: forge-webfetch\nDisallow: /a\n\nUser-agent: my-agent\nDisallow: /b\n")
    async with spaniel_at({"/robots.txt": robots, "/a": text("x")}, tmp_path, user_agent="My-Agent/3.1 (me)") as (
        spaniel,
        site,
    ):
        assert (await spaniel.fetch(site.url("/a"))).markdown == "x\n"
        assert await code_of(spaniel, site.url("/b")) == "robots_disallowed"
        assert {headers["user-agent"] for headers in site.seen} == {"My-Agent/3.1 (me)"}


@pytest.mark.req("IT-WF-HTTP-01", "FR-WF-03", "FR-WF-03b", "FR-WF-13e")
async def test_answer_has_title_element_and_plain_headings(tmp_path: Path) -> None:
    body = "".join(f"<h2>Part <em>{n}</em></h2><p>{'Otters eat fish. ' * 60}</p>" for n in (1, 2, 3))
    page = html(f"<title>Otters | The Daily River</title><article><h1>Otters</h1>{body}</article>")
    async with spaniel_at({"/otter": page}, tmp_path) as (spaniel, site):
        fields = (await spaniel.fetch(site.url("/otter"), max_chunk_tokens=128)).as_dict()
    assert fields["title"] == "Otters | The Daily River"
    chunks = fields["chunks"]
    assert isinstance(chunks, list)
    assert len(chunks) > 3
    assert {chunk["heading"] for chunk in chunks} >= {"Part 1", "Part 2", "Part 3"}
    assert all(chunk["token_count"] == cl100k().count(chunk["text"]) for chunk in chunks)
    assert [chunk["heading"] for chunk in chunks if chunk["text"].startswith("## ")] == ["Part 2", "Part 3"]


@pytest.mark.req("FR-WF-03", "D2-28")
async def test_what_is_absent_is_left_out(tmp_path: Path) -> None:
    async with spaniel_at({"/plain": text("just text\n")}, tmp_path) as (spaniel, site):
        fields = (await spaniel.fetch(site.url("/plain"))).as_dict()
    assert not {"title", "language", "note", "truncation_reason", "served_at"} & set(fields)
    assert fields["truncated"] is False


@pytest.mark.req("FR-WF-17a", "T-WF-CCH-01", "FR-WF-03", "D2-05")
async def test_a_hit_brings_the_same_with_its_note_and_times(tmp_path: Path) -> None:
    pages: dict[str, Page] = {"/otter": html(ARTICLE), "/there": redirect("/otter")}
    async with spaniel_at(pages, tmp_path) as (spaniel, site):
        fresh = (await spaniel.fetch(site.url("/there"))).as_dict()
        hit = (await spaniel.fetch(site.url("/there"))).as_dict()
        assert site.requests["/otter"] == 1
    assert (hit.pop("note"), "note" in fresh) == ("cache_hit", False)
    assert hit.pop("served_at")
    assert hit == fresh


@pytest.mark.req("FR-WF-17", "T-WF-CCH-02", "FR-WF-08h")
async def test_no_cache_fetches_afresh_writes_anew_and_still_asks_robots(tmp_path: Path) -> None:
    async with spaniel_at({"/a": text("one")}, tmp_path) as (spaniel, site):
        await spaniel.fetch(site.url("/a"))
        site.pages["/a"] = text("two")
        assert (await spaniel.fetch(site.url("/a"))).markdown == "one\n"
        assert (await spaniel.fetch(site.url("/a"), no_cache=True)).markdown == "two\n"
        assert (await spaniel.fetch(site.url("/a"))).markdown == "two\n"
    async with spaniel_at(
        {"/robots.txt": text("User-agent: *\nDisallow: /a"), "/a": text("x")}, tmp_path / "other"
    ) as (
        spaniel,
        site,
    ):
        with pytest.raises(SpanielError, match="disallows"):
            await spaniel.fetch(site.url("/a"), no_cache=True)


@pytest.mark.req("FR-WF-08h", "FR-WF-17")
async def test_no_cache_leaves_the_robots_cache_alone(tmp_path: Path) -> None:
    pages: dict[str, Page] = {"/robots.txt": text("User-agent: *\nDisallow: /no"), "/a": text("x"), "/no": text("y")}
    async with spaniel_at(pages, tmp_path) as (spaniel, site):
        for _ in range(3):
            await spaniel.fetch(site.url("/a"), no_cache=True)
        assert (site.requests["/a"], site.requests["/robots.txt"]) == (3, 1)
        pages["/robots.txt"] = text("")  # what was read before still holds
        with pytest.raises(SpanielError, match="disallows"):
            await spaniel.fetch(site.url("/no"), no_cache=True)
        assert site.requests["/no"] == 0


@pytest.mark.req("FR-WF-19a", "FR-WF-16h")
async def test_entry_too_large_for_the_cache_does_not_fail_the_fetch(tmp_path: Path) -> None:
    pages: dict[str, Page] = {"/long": text("x" * 5000), "/short": text("y")}
    async with spaniel_at(pages, tmp_path, max_cache_bytes=2000) as (spaniel, site):
        for _ in range(2):
            answer = await spaniel.fetch(site.url("/long"))
            assert (answer.markdown, answer.note) == ("x" * 5000 + "\n", "cache_write_failed")
        await spaniel.fetch(site.url("/short"))
        assert (await spaniel.fetch(site.url("/short"))).note == "cache_hit"


@pytest.mark.req("FR-WF-10e", "IT-WF-HTTP-04")
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("size", "fits"), [(2047, True), (2048, True), (2049, False), (200_000, False)])
async def test_the_size_limit_is_exact(tmp_path: Path, size: int, fits: bool, packed: bool) -> None:
    body, packing = (gzip.compress(b"x" * size), {"Content-Encoding": "gzip"}) if packed else (b"x" * size, {})
    pages: dict[str, Page] = {"/a": (200, {"Content-Type": "text/plain", **packing}, body)}
    async with spaniel_at(pages, tmp_path, max_download_bytes=2048) as (spaniel, site):
        if fits:
            assert len((await spaniel.fetch(site.url("/a"))).markdown) == size + 1
        else:
            with pytest.raises(SpanielError) as caught:
                await spaniel.fetch(site.url("/a"))
            assert (str(caught.value.code), caught.value.details["max_bytes"]) == ("response_too_large", 2048)


@pytest.mark.req("T-WF-ROB-06", "FR-WF-09")
async def test_a_missing_robots_txt_allows_all_and_a_broken_one_nothing(tmp_path: Path) -> None:
    for status, code in ((404, None), (500, "robots_unavailable")):
        pages: dict[str, Page] = {"/robots.txt": text("User-agent: *\nDisallow: /", status), "/a": text("x")}
        async with spaniel_at(pages, tmp_path / str(status)) as (spaniel, site):
            if code is None:
                answer = await spaniel.fetch(site.url("/a"))
                assert (answer.markdown, answer.note) == ("x\n", None)
            else:
                assert await code_of(spaniel, site.url("/a")) == code
                assert site.requests["/a"] == 0


@pytest.mark.req("T-WF-EXT-04", "FR-WF-13e")
async def test_the_answer_has_a_title_where_the_page_has_one(tmp_path: Path) -> None:
    words = f"<p>{'Otters swim in the river. ' * 9}</p>"
    heads = {"<title>T</title><h1>H</h1>": "T", "<h2>No</h2><h1>H</h1>": "H", "<title> </title><h2>No</h2>": None}
    async with spaniel_at({}, tmp_path) as (spaniel, site):
        for number, (head, title) in enumerate(heads.items()):
            site.pages[f"/{number}"] = html(head + words)
            assert (await spaniel.fetch(site.url(f"/{number}"))).as_dict().get("title") == title


@pytest.mark.req("FR-WF-02b")
async def test_a_url_of_white_space_is_bad_args_for_python_too(tmp_path: Path) -> None:
    async with spaniel_at({}, tmp_path) as (spaniel, _):
        for blank in ("", " ", "\t\r\n", "\u2003"):
            with pytest.raises(SpanielError) as caught:
                await spaniel.fetch(blank)
            assert (str(caught.value.code), caught.value.details["field"]) == ("bad_args", "url")


@pytest.mark.req("FR-WF-05c", "T-WF-SSRF-07")
async def test_by_default_a_client_goes_to_ports_80_and_443_alone(tmp_path: Path) -> None:
    settings = from_data({"tools": {"webfetch": {"cache_dir": str(tmp_path)}}}, "test")
    async with Spaniel(settings, FakeResolver(elsewhere=None)) as spaniel:
        for port in (1, 22, 79, 81, 442, 444, 3128, 8000, 8080, 8443, 65535):
            with pytest.raises(SpanielError) as caught:
                await spaniel.fetch(f"http://a.example:{port}/")
            assert str(caught.value.code) == "port_blocked"
            assert caught.value.details == {"port": port, "allowed_ports": [80, 443]}
        for url in ("http://a.example/", "https://a.example/", "http://a.example:443/", "https://a.example:80/"):
            assert await code_of(spaniel, url) == "dns_failed"


@pytest.mark.req("FR-WF-07b", "IT-WF-HTTP-02")
@pytest.mark.parametrize(
    ("location", "end"),
    [
        ("c", "/other/c"),
        ("./c?q=1", "/other/c?q=1"),
        ("../c", "/c"),
        ("?q=1", "/other/b?q=1"),
        ("/c", "/c"),
        ("d/", "/other/d/"),
    ],
)
async def test_a_later_location_is_resolved_against_its_own_hop(tmp_path: Path, location: str, end: str) -> None:
    pages: dict[str, Page] = {"/dir/sub/a": redirect("/other/b"), end.partition("?")[0]: text("there")}
    async with spaniel_at(pages, tmp_path) as (spaniel, site):
        hop = redirect(location)

        async def second() -> Reply:
            return hop if site.requests["/other/b"] == 1 and not site.requests["/other/b?q=1"] else text("there")

        site.pages["/other/b"] = second
        assert (await spaniel.fetch(site.url("/dir/sub/a"))).final_url == site.url(end)


@pytest.mark.req("FR-WF-07a")
@pytest.mark.parametrize(
    ("status", "followed"),
    [(301, True), (302, True), (303, True), (307, True), (308, True)]
    + [(status, False) for status in (300, 304, 305, 306, 309, 201, 404)],
)
async def test_five_statuses_are_redirects_and_no_other(tmp_path: Path, status: int, followed: bool) -> None:
    async with spaniel_at({"/a": redirect("/b", status), "/b": text("there")}, tmp_path) as (spaniel, site):
        with suppress(SpanielError):
            answer = await spaniel.fetch(site.url("/a"))
            assert (answer.final_url == site.url("/b")) is followed
        assert site.requests["/b"] == followed


@pytest.mark.req("FR-WF-07", "FR-WF-07f", "IT-WF-HTTP-02")
@pytest.mark.parametrize("most", [0, 1, 2, 5, 6, 20])
async def test_as_many_redirects_as_the_settings_allow(tmp_path: Path, most: int) -> None:
    pages: dict[str, Page] = {f"/{n}": redirect(f"/{n + 1}") for n in range(1, most + 2)}
    pages[f"/{most + 2}"] = text("the end")
    async with spaniel_at(pages, tmp_path, max_redirects=most) as (spaniel, site):
        assert (await spaniel.fetch(site.url("/2"))).final_url == site.url(f"/{most + 2}")
        with pytest.raises(SpanielError) as caught:
            await spaniel.fetch(site.url("/1"))
        assert str(caught.value.code) == "redirect_limit"
        assert caught.value.details == {"count": most + 1, "max": most}


@pytest.mark.req("IT-WF-HTTP-02", "FR-WF-07e")
async def test_each_hop_is_judged_by_its_own_url(tmp_path: Path) -> None:
    """A good start does not vouch for where it leads: robots.txt, address, port and scheme of the third hop."""
    bad = {"/closed": "robots_disallowed", "http://10.0.0.1/": "ssrf_blocked", "http://a.example:22/": "port_blocked"}
    bad |= {"ftp://a.example/": "invalid_scheme", "http://0x7f.1/": "invalid_host"}
    pages: dict[str, Page] = {"/robots.txt": text("User-agent: *\nDisallow: /closed"), "/closed": text("x")}
    pages["/good"] = text("good")
    async with spaniel_at(pages, tmp_path) as (spaniel, site):
        for end, code in bad.items():
            site.pages |= {"/1": redirect("/2"), "/2": redirect(end)}
            assert await code_of(spaniel, site.url("/1")) == code
        assert site.requests["/closed"] == 0
        site.pages["/2"] = redirect("/good")
        assert (await spaniel.fetch(site.url("/1"))).markdown == "good\n"


@pytest.mark.req("IT-WF-HTTP-03", "FR-WF-10g")
@pytest.mark.parametrize(
    "declared", ["image/png", "video/mp4", "application/octet-stream", "application/json; charset=utf-8", "text/css"]
)
async def test_another_type_is_refused_and_named(tmp_path: Path, declared: str) -> None:
    pages: dict[str, Page] = {"/a": (200, {"Content-Type": declared}, b"<html><p>text</p></html>")}
    async with spaniel_at(pages, tmp_path) as (spaniel, site):
        with pytest.raises(SpanielError) as caught:
            await spaniel.fetch(site.url("/a"))
    assert str(caught.value.code) == "unsupported_content_type"
    assert str(caught.value.details["content_type"]).startswith(declared.partition(";")[0])


@pytest.mark.req("IT-WF-HTTP-05", "FR-WF-10i")
@pytest.mark.parametrize(
    ("declared", "body", "read"),
    [
        ("text/plain; charset=ISO-8859-1", b"caf\xe9 \x80", "café €"),  # the standard's windows-1252
        ('text/html; charset="windows-1251"', "<p>Привет, мир</p>".encode("cp1251"), "Привет, мир"),
        ("text/html", "<meta charset=koi8-r><p>Привет, мир</p>".encode("koi8-r"), "Привет, мир"),
        ("text/plain; charset=utf-8", b"a\xffb", "a\ufffdb"),
        ("text/html; charset=iso-8859-15", b"<meta charset=utf-8><p>10 \xa4</p>", "10 €"),  # the header wins
    ],
)
async def test_a_declared_charset_is_used(tmp_path: Path, declared: str, body: bytes, read: str) -> None:
    async with spaniel_at({"/a": (200, {"Content-Type": declared}, body)}, tmp_path) as (spaniel, site):
        assert (await spaniel.fetch(site.url("/a"))).markdown == f"{read}\n"


@pytest.mark.req("D2-02", "FR-WF-03a", "FR-WF-15e")
async def test_hit_of_another_size_equals_a_fresh_fetch(tmp_path: Path) -> None:
    pages: dict[str, Page] = {"/otter": html(ARTICLE)}
    async with spaniel_at(pages, tmp_path / "one") as (spaniel, site):
        await spaniel.fetch(site.url("/otter"))
        for tokens in (128, 200, 600, 2048):
            hit = await spaniel.fetch(site.url("/otter"), tokens)
            assert "cache_hit" in hit.notes
            fresh = await spaniel.fetch(site.url("/otter"), tokens, no_cache=True)
            for budget in (None, 600, 1000, 5000):
                fields = [answer.as_dict(budget) for answer in (hit, fresh)]
                assert all(budget is None or len(json.dumps(t, ensure_ascii=False).encode()) <= budget for t in fields)
                if budget is None:
                    assert fields[0]["chunks"] == fields[1]["chunks"]
            assert list(hit.chunks) == list(fresh.chunks)


@pytest.mark.req("FR-WF-10g", "IT-WF-HTTP-03")
async def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    pages: dict[str, Page] = {
        "/pdf": (200, {"Content-Type": "application/pdf"}, b"%PDF-1.7"),
        "/json": (200, {"Content-Type": "application/json"}, b"{}"),
        "/gone": text("", 410),
        "/broken": text("", 503),
    }
    async with spaniel_at(pages, tmp_path) as (spaniel, site):
        assert await code_of(spaniel, site.url("/pdf")) == "unsupported_content_type"
        assert await code_of(spaniel, site.url("/json")) == "unsupported_content_type"
        assert await code_of(spaniel, site.url("/gone")) == "http_4xx"
        assert await code_of(spaniel, site.url("/broken")) == "http_5xx"
        assert await code_of(spaniel, "http://10.0.0.1/") == "ssrf_blocked"
        assert await code_of(spaniel, site.url("/").replace(str(site.port), "22")) == "port_blocked"
        assert await code_of(spaniel, "ftp://a.example/") == "invalid_scheme"
        assert await code_of(spaniel, "   ") == "bad_args"


@pytest.mark.req("FR-WF-10i", "IT-WF-HTTP-05")
async def test_latin_1_becomes_text(tmp_path: Path) -> None:
    page = 200, {"Content-Type": "text/html; charset=iso-8859-1"}, "<p>Fußgänger überqueren</p>".encode("latin-1")
    async with spaniel_at({"/a": page}, tmp_path) as (spaniel, site):
        assert (await spaniel.fetch(site.url("/a"))).markdown == "Fußgänger überqueren\n"


@pytest.mark.req("FR-WF-16h", "FR-WF-19a", "NFR-WF-REL-04", "D2-05")
async def test_a_cache_that_cannot_be_written_does_not_fail_the_fetch(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    async with spaniel_at({"/a": text("x")}, tmp_path / "file" / "cache") as (spaniel, site):
        answer = await spaniel.fetch(site.url("/a"))
    assert answer.markdown == "x\n"
    assert answer.note == "cache_write_failed"


@pytest.mark.req("FR-WF-09a", "D2-05")
async def test_notes_are_joined_in_the_order_they_arose(tmp_path: Path) -> None:
    pages: dict[str, Page] = {"/robots.txt": text("", 503), "/a": text("x")}
    async with spaniel_at(pages, tmp_path, robots={"fail_open": True}) as (spaniel, site):
        assert (await spaniel.fetch(site.url("/a"))).note == "robots_unavailable_fail_open"
        assert (await spaniel.fetch(site.url("/a"))).note == "robots_unavailable_fail_open, cache_hit"


@pytest.mark.req("D2-04")
async def test_the_form_is_judged_before_the_cache_is_read(tmp_path: Path) -> None:
    async with spaniel_at({"/a": text("x")}, tmp_path) as (spaniel, site):
        await spaniel.fetch(site.url("/a"))
        closed = from_data({"tools": {"webfetch": {"cache_dir": str(tmp_path)}}}, "test")
        async with Spaniel(closed, FakeResolver()) as strict:
            assert await code_of(strict, site.url("/a")) == "port_blocked"


async def test_however_many_ask_at_once_one_fetch_is_made(tmp_path: Path) -> None:
    async def slowly() -> Reply:
        await asyncio.sleep(0.2)
        return text("x")

    async with spaniel_at({"/a": slowly}, tmp_path) as (spaniel, site):
        tasks = [asyncio.create_task(spaniel.fetch(site.url("/a"), 128 + i)) for i in range(50)]
        await asyncio.sleep(0.1)
        tasks[0].cancel()
        answers = await asyncio.gather(*tasks[1:])
        assert {answer.markdown for answer in answers} == {"x\n"}
        assert site.requests["/a"] == 1


async def test_cancelling_the_only_one_who_waits_ends_the_fetch(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def never() -> Reply:
        begun.set()
        await asyncio.sleep(60)
        return text("")

    async with spaniel_at({"/a": never, "/b": text("b")}, tmp_path) as (spaniel, site):
        task = asyncio.create_task(spaniel.fetch(site.url("/a")))
        await asyncio.wait_for(begun.wait(), 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await spaniel.fetch(site.url("/b"))).markdown == "b\n"


async def test_the_trace_tells_every_step_in_the_srds_words(tmp_path: Path) -> None:
    pages: dict[str, Page] = {"/a": redirect("/b"), "/b": text("x")}
    async with spaniel_at(pages, tmp_path) as (spaniel, site):
        trace, again = Trace(), Trace()
        await spaniel.fetch(site.url("/a"), trace=trace)
        await spaniel.fetch(site.url("/a"), trace=again)
    assert [(s.name, s.outcome) for s in trace.steps] == [
        ("parse", "ok"), ("normalize", "ok"), ("check_cache", "miss"),
        ("guard", "ok"), ("robots", "ok"), ("fetch", "302"), ("guard", "ok"), ("robots", "ok"), ("fetch", "200"),
        ("content_type", "ok"), ("extract", "ok"), ("write_cache", "ok"), ("chunk", "ok"),
    ]  # fmt: skip
    assert [(s.name, s.outcome) for s in again.steps] == [
        ("parse", "ok"), ("normalize", "ok"), ("check_cache", "hit"), ("chunk", "ok"),
    ]  # fmt: skip


@pytest.mark.req("FR-WF-03a", "FR-WF-15e", "D2-23")
async def test_a_budget_of_bytes_is_a_step_of_the_fetch(tmp_path: Path) -> None:
    async with spaniel_at({"/otter": html(ARTICLE)}, tmp_path) as (spaniel, site):
        request = Request(site.url("/otter"), 128)
        for budget, outcome in ((100_000, "whole"), (2_000, "cut"), (600, "cut")):
            trace = Trace()
            answer = await spaniel.answer(request, trace)
            fields = fitted(answer, budget, trace)
            assert (trace.steps[-1].name, trace.steps[-1].outcome) == ("fit", outcome)
            assert len(json.dumps(fields, ensure_ascii=False).encode()) <= budget
            assert fields == answer.as_dict(budget)
            assert fields["truncated"] is (outcome == "cut")
        trace = Trace()
        with pytest.raises(SpanielError, match="max_output_bytes: 20 is too small"):
            fitted(await spaniel.answer(request, trace), 20, trace)
        assert (trace.steps[-1].name, trace.steps[-1].outcome) == ("fit", "bad_args")


@pytest.mark.req("D2-22")
@pytest.mark.parametrize(
    "content",
    [{"markdown": 3}, {}, [], "x", {"final_url": "u", "markdown": "m", "chunk_tokens": 600, "chunks": {}}],
    ids=["wrong types", "nothing", "a list", "text", "no chunks"],
)
async def test_a_cached_content_of_another_shape_is_a_miss(tmp_path: Path, content: object) -> None:
    """Whole and checksummed, but not what this Spaniel writes: another version's, say."""
    async with spaniel_at({"/a": text("x")}, tmp_path) as (spaniel, site):
        with PageCache(CacheSettings(str(tmp_path))) as cache:
            assert cache.put(key_for(site.url("/a"), overrides=RELAXED), content) is None
            assert cache.get(key_for(site.url("/a"), overrides=RELAXED))
        trace = Trace()
        answer = await spaniel.fetch(site.url("/a"), trace=trace)
        assert (answer.markdown, answer.note) == ("x\n", None)
        assert ("check_cache", "miss") in [(step.name, step.outcome) for step in trace.steps]
        assert (await spaniel.fetch(site.url("/a"))).note == "cache_hit"  # and it has been put right


@pytest.mark.req("D2-22")
@pytest.mark.parametrize("rows", [[[0, 2, 1, 9]], [[0]], [["a", "b", "c", "d"]]])
async def test_offsets_that_lead_nowhere_are_counted_anew(tmp_path: Path, rows: list[list[int | str]]) -> None:
    async with spaniel_at({}, tmp_path) as (spaniel, site):
        cache_info = {
            "final_url": site.url("/a"),
            "markdown": "# A\n\nx\n",
            "chunk_tokens": 600,
            "chunks": {"document": "d", "headings": [["A"]], "rows": rows},
        }
        with PageCache(CacheSettings(str(tmp_path))) as cache:
            cache.put(key_for(site.url("/a"), overrides=RELAXED), cache_info)
        answer = await spaniel.fetch(site.url("/a"))
    assert answer.note == "cache_hit"
    assert [chunk.text for chunk in answer.chunks] == ["# A\n\nx"]


class TestRequest:
    @pytest.mark.req("FR-WF-02", "FR-WF-02a", "FR-WF-02b", "D2-01")
    @pytest.mark.parametrize(
        ("args", "expected"),
        [
            ({}, "url: is missing"),
            ({"url": ""}, "url: is empty"),
            ({"url": " \t"}, "url: is empty"),
            ({"url": "\n\r\f\v"}, "url: is empty"),
            ({"url": "\u00a0\u2003\u3000"}, "url: is empty"),
            ({"url": 3}, "url: must be text"),
            ({"url": "x", "max_chunk_tokens": 127}, "max_chunk_tokens: 127 is not between 128 and 2048"),
            ({"url": "x", "max_chunk_tokens": 2049}, "max_chunk_tokens: 2049 is not between"),
            ({"url": "x", "max_chunk_tokens": True}, "max_chunk_tokens: must be a whole number"),
            ({"url": "x", "max_chunk_tokens": "some"}, "max_chunk_tokens: must be a whole number"),
            ({"url": "x", "max_chunk_tokens": "6e2"}, "max_chunk_tokens: must be a whole number"),
            ({"url": "x", "max_chunk_tokens": "-600"}, "max_chunk_tokens: must be a whole number"),
            ({"url": "x", "max_chunk_tokens": "٦٠٠"}, "max_chunk_tokens: must be a whole number"),
            ({"url": "x", "max_chunk_tokens": 600.5}, "max_chunk_tokens: must be a whole number"),
            ({"url": "x", "max_chunk_tokens": float("nan")}, "max_chunk_tokens: must be a whole number"),
            ({"url": "x", "max_chunk_tokens": float("inf")}, "max_chunk_tokens: must be a whole number"),
            ({"url": "x", "max_chunk_tokens": 1e9}, "max_chunk_tokens: 1000000000 is not between"),
            ({"url": "x", "max_chunk_tokens": "5"}, "max_chunk_tokens: 5 is not between"),
            ({"url": "x", "no_cache": 1}, "no_cache: must be true or false"),
            ({"url": "x", "no_cache": "true"}, "no_cache: must be true or false"),
            ({"url": None}, "url: is missing"),
            (
                {"url": "x", "force_brower": True},
                "force_brower: unknown parameter; did you mean 'force_browser'?",
            ),
        ],
    )
    def test_a_wrong_request_is_bad_args(self, args: dict[str, object], expected: str) -> None:
        with pytest.raises(SpanielError) as caught:
            read_request(args)
        assert caught.value.code is Code.BAD_ARGS
        assert expected in caught.value.message

    @pytest.mark.req("FR-WF-02")
    @pytest.mark.parametrize("sent", [600, 600.0, "600", " 600 "])
    def test_numbers_are_taken_as_models_and_hosts_send_them(self, sent: object) -> None:
        request = read_request({"url": "https://a.example/", "max_chunk_tokens": sent})
        assert request == Request("https://a.example/", 600)
        assert type(request.max_chunk_tokens) is int

    @pytest.mark.req("FR-WF-02")
    def test_null_is_the_same_as_leaving_an_optional_argument_out(self) -> None:
        nothing = dict.fromkeys(("max_chunk_tokens", "no_cache", "force_browser"))
        assert read_request({"url": "https://a.example/", **nothing}) == Request("https://a.example/")

    @pytest.mark.req("FR-WF-02")
    def test_the_schema_says_the_same(self) -> None:
        request = read_request({"url": "https://a.example/", "max_chunk_tokens": 128, "no_cache": True})
        assert request == Request("https://a.example/", 128, no_cache=True, force_browser=False)
        assert SCHEMA["additionalProperties"] is False
        assert SCHEMA["required"] == ["url"]
        properties = SCHEMA["properties"]
        assert isinstance(properties, dict)
        assert tuple(properties) == (*Request._fields[:4], "screenshot")  # the others are for programs
