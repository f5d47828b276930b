"""PDFs through the real readers and real fetches: hostile ones end, and whatever comes next is served."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

import spaniel as public
from spaniel.errors import Code, SpanielError
from spaniel.net.deadline import Deadline
from spaniel.pipeline.outcome import StoredPage
from spaniel.pipeline.readers import PHASE, BlockingReaders, Readers
from spaniel.pipeline.record import record_of
from spaniel.pipeline.request import Request
from spaniel.reading import Document, read
from spaniel.reading.kinds import DetectedKind, kind_of
from spaniel.testing import Page, Site, html, spaniel_for
from tests.pipeline.test_readers import HTML, LONG, SHORT, URL, is_gone, only_child, until
from tests.reading import pdfs

pytestmark = pytest.mark.req("FG-24")
PDF = "application/pdf"
GOOD = pdfs.many_pages(3)
KINDS = ("html", "pdf", "text")
posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits are POSIX")
linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems bound other things")


@pytest.fixture
async def readers() -> AsyncIterator[Readers]:
    async with Readers(1) as opened:
        yield opened


async def ask(readers: Readers, body: bytes = GOOD, seconds: float = 60) -> Document:
    return await readers.read(body, kind_of(PDF, body, KINDS), None, Deadline(seconds))


async def refused(readers: Readers, body: bytes, seconds: float = 60) -> SpanielError:
    with pytest.raises(SpanielError) as caught:
        await ask(readers, body, seconds)
    return caught.value


async def test_small_pdf_is_read_in_a_process_with_the_same_document(readers: Readers) -> None:
    found = await ask(readers)
    assert found == read(GOOD, PDF, None)
    assert len(found.pages) == 3
    first = only_child(readers)
    await ask(readers)
    assert only_child(readers) == first  # which is used again


def test_no_parser_is_loaded_into_the_process_that_fetches() -> None:
    code = (
        "import asyncio, sys\n"
        "from spaniel.net.deadline import Deadline\n"
        "from spaniel.pipeline.readers import Readers\n"
        "from spaniel.reading.kinds import DetectedKind\n"
        "async def main():\n"
        "    async with Readers() as readers:\n"
        "        await readers.read(sys.stdin.buffer.read(), DetectedKind('pdf', None), None, Deadline(60))\n"
        "asyncio.run(main())\n"
        "print('pypdfium2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], input=GOOD, capture_output=True, check=True, timeout=100)
    assert done.stdout.decode().strip() == "False"


HOSTILE = {
    "a kilobyte that becomes a gigabyte": pdfs.flate_bomb,
    "a page of endless forms": pdfs.endless,
    "states that take all memory": pdfs.greedy,
}


@linux
@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE.keys())
async def test_pdf_that_crashes_its_parser_is_refused(readers: Readers, make) -> None:  # type: ignore[no-untyped-def]
    assert len(make()) < 50_000
    await ask(readers)
    struck = only_child(readers)
    error = await refused(readers, make())
    assert error.code is Code.EXTRACTION_FAILED
    assert "malicious" in error.hint
    assert is_gone(struck)
    assert (await ask(readers)).markdown.startswith("This is page 1.")


async def test_pdf_that_hangs_ends_at_the_deadline(readers: Readers) -> None:
    await ask(readers)
    stuck = only_child(readers)
    error = await refused(readers, pdfs.slow(), seconds=1.0)
    assert (error.code, error.details["phase"]) == (Code.TIMEOUT, PHASE)
    assert is_gone(stuck)
    assert len((await ask(readers)).pages) == 3


@pytest.mark.parametrize("body", [b"%PDF-1.7", pdfs.encrypted(GOOD, "word"), pdfs.PAGES_LOOP, pdfs.DEEP_DICTIONARY])
async def test_a_pdf_that_is_refused_leaves_the_process_as_it_is(readers: Readers, body: bytes) -> None:
    await ask(readers)
    first = only_child(readers)
    assert (await refused(readers, body)).code is Code.EXTRACTION_FAILED
    assert only_child(readers) == first
    await ask(readers)
    assert only_child(readers) == first


@posix
@pytest.mark.parametrize("end", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
async def test_a_parser_that_crashes_midway_is_replaced(readers: Readers, end: signal.Signals) -> None:
    await ask(readers)
    (child,) = readers._idle
    reading = asyncio.create_task(ask(readers, pdfs.slow()))
    await until(lambda: child.pages == 2)
    os.kill(child._process.pid, end)
    with pytest.raises(SpanielError) as caught:
        await reading
    assert caught.value.code is Code.EXTRACTION_FAILED
    assert len((await ask(readers)).pages) == 3


async def test_pages_are_read_while_pdfs_hang(readers: Readers) -> None:
    """All places for PDFs are taken: pages, also long ones, wait for none of them."""
    stuck = [asyncio.create_task(ask(readers, pdfs.slow(), 60)) for _ in range(2)]
    await asyncio.sleep(0)
    for body in (SHORT, LONG):
        assert (await readers.read(body, kind_of(HTML, body, KINDS), URL, Deadline(60))).markdown
    longest, end = 0.0, time.monotonic() + 0.5
    while time.monotonic() < end:
        before = time.process_time()
        await asyncio.sleep(0.001)
        longest = max(longest, time.process_time() - before)
    assert longest < 0.1
    assert not any(task.done() for task in stuck)
    for task in stuck:
        task.cancel()
    await asyncio.gather(*stuck, return_exceptions=True)


async def test_pdf_is_refused_if_no_process_can_be_started(readers: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert "no process" in (await refused(readers, GOOD)).message
    monkeypatch.undo()
    assert len((await ask(readers)).pages) == 3


def limits_of(pid: int) -> str:
    return Path(f"/proc/{pid}/limits").read_text()


@linux
async def test_the_process_has_limits_on_files_memory_and_time(readers: Readers) -> None:
    await ask(readers)
    fields = limits_of(only_child(readers))
    limits = {line[:26].strip(): line[26:].split()[0] for line in fields.splitlines()[1:]}
    assert limits["Max open files"] == "32"
    assert limits["Max file size"] == "0"
    assert limits["Max core file size"] == "0"
    assert (256 << 20) < int(limits["Max data size"]) < (512 << 20)
    assert 60 <= int(limits["Max cpu time"]) < 80


CONFINED = """
import sys, tempfile
from spaniel.pipeline import reading_process as child
if "confined" in sys.argv:
    child.confine()
opened = []
try:
    for _ in range(64):
        opened.append(open("/dev/null"))
except OSError:
    pass
try:
    with open(sys.argv[1], "w") as file:
        file.write("x" * 99)
    print(len(opened), "written")
except OSError:
    print(len(opened), "not written")
"""


@linux
@pytest.mark.parametrize(("confined", "expected"), [("confined", "not written"), ("free", "64 written")])
def test_a_confined_process_opens_few_files_and_writes_none(tmp_path: Path, confined: str, expected: str) -> None:
    command = [sys.executable, "-c", CONFINED, str(tmp_path / "out"), confined]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert expected in done.stdout


# ---- whole fetches


def profile_in(folder: Path, content: str = '["html", "pdf", "text"]') -> Path:
    path = folder / "reader.toml"
    path.write_text(f'name = "some"\nversion = "1"\ncontent = {content}\nfallbacks = ["http"]\n')
    return path


def served(body: bytes, content_type: str = PDF) -> Page:
    return 200, {"Content-Type": content_type}, body


async def test_a_pdf_is_fetched_stored_with_its_pages_and_served_again(tmp_path: Path) -> None:
    body = pdfs.set_by_fpdf([[(18, f"Part {number}"), (11, pdfs.SENTENCE * 30)] for number in range(1, 4)])
    pages = {"/a": served(body), "/b": served(body, "application/octet-stream")}
    profile = profile_in(tmp_path)
    async with Site(pages) as site, spaniel_for(site, cache=tmp_path / "c", profile=profile) as spaniel:
        for path, note in (("/a", None), ("/a", "cache_hit"), ("/b", None)):
            answer = await spaniel.fetch(site.url(path))
            assert answer.note == note
            assert len(answer.pages) == 3
            starts = [answer.markdown[start:].split("\n")[0] for start in answer.pages]
            assert starts == ["# Part 1", "# Part 2", "# Part 3"]
            assert {record["page"] for record in answer.chunk_records()} == {1, 2, 3}
        page = (await spaniel.outcome(site.url("/a"))).as_dict()
        assert page["pages"] == list(answer.pages)
        assert "page" not in answer.as_dict()["chunks"][0]  # type: ignore[index]


@pytest.mark.req("FG-24")
@pytest.mark.parametrize("tokens", [128, 600, 2048])
async def test_chunks_of_a_pdf_do_not_cross_pages(tokens: int, tmp_path: Path) -> None:
    body = pdfs.set_by_fpdf([[(18, f"Part {number}"), (11, pdfs.SENTENCE * 12)] for number in range(1, 6)])
    profile = profile_in(tmp_path)
    async with Site({"/a": served(body)}) as site, spaniel_for(site, cache=tmp_path / "c", profile=profile) as spaniel:
        for _ in range(2):  # the second from the cache
            answer = await spaniel.fetch(site.url("/a"), max_chunk_tokens=tokens)
            for record in answer.chunk_records():
                page = record["page"]
                assert isinstance(page, int)
                assert "pages" not in record
                ends = [*answer.pages, len(answer.markdown)]
                assert record["start"] >= ends[page - 1]  # type: ignore[operator]
                assert record["end"] <= ends[page]  # type: ignore[operator]
            assert {record["page"] for record in answer.chunk_records()} == {1, 2, 3, 4, 5}
        assert record_of(await spaniel.outcome(site.url("/a"))).pages == list(answer.pages)


@pytest.mark.req("FG-24")
async def test_chunk_of_tiny_pages_has_the_first_and_the_last(tmp_path: Path) -> None:
    parts = [[(18, "A title page")], [(11, pdfs.SENTENCE * 12)], [(11, pdfs.SENTENCE * 12)]]
    pages = {"/a": served(pdfs.set_by_fpdf(parts))}
    async with Site(pages) as site, spaniel_for(site, profile=profile_in(tmp_path)) as spaniel:
        records = (await spaniel.fetch(site.url("/a"), max_chunk_tokens=2048)).chunk_records()
    assert [(record["page"], record.get("pages")) for record in records] == [(1, [1, 2]), (3, None)]


async def test_a_page_without_pages_is_stored_and_told_as_before(tmp_path: Path) -> None:
    async with Site({"/": html("<p>words")}) as site, spaniel_for(site) as spaniel:
        outcome = await spaniel.outcome(site.url())
        assert "pages" not in outcome.as_dict()
        answer = await spaniel.fetch(site.url())
        assert "page" not in answer.chunk_records()[0]
    page = StoredPage("http://a/", "words", 600, {"document": "", "headings": [], "rows": []})
    assert b"pages" not in msgspec.json.encode(page)


async def test_web_fetch_refuses_pdfs_as_before(tmp_path: Path) -> None:
    pages = {"/a": served(GOOD), "/b": served(GOOD, "text/html")}
    async with Site(pages) as site, spaniel_for(site, browser={"enabled": False}) as spaniel:
        for path, fields in (("/a", "application/pdf"), ("/b", "text/html (binary data)")):
            with pytest.raises(SpanielError) as caught:
                await spaniel.fetch(site.url(path))
            assert caught.value.code is Code.UNSUPPORTED_CONTENT_TYPE
            assert caught.value.details == {"content_type": fields, "kind": "pdf"}
            assert "pip" not in caught.value.hint


@linux
async def test_after_each_hostile_fetch_the_next_one_works(tmp_path: Path) -> None:
    pages = {
        "/bomb": served(pdfs.flate_bomb()),
        "/broken": served(GOOD[:200]),
        "/locked": served(pdfs.encrypted(GOOD, "word")),
        "/scanned": served(pdfs.scanned()),
        "/slow": served(pdfs.slow()),
        "/good": served(GOOD),
    }
    codes = {}
    profile = profile_in(tmp_path)
    async with (
        Site(pages) as site,
        spaniel_for(site, cache=tmp_path / "c", profile=profile, timeout_seconds=12) as spaniel,
    ):
        for path in pages:
            outcome = await spaniel.outcome(site.url(path))
            codes[path] = str(outcome.refusal.code) if outcome.refusal else ",".join(outcome.caveats)
            good = await spaniel.outcome(Request(site.url("/good"), no_cache=True))
            assert good.found is not None, good.refusal
            assert len(good.found.page.pages) == 3
    assert codes == {
        "/bomb": "extraction_failed",
        "/broken": "extraction_failed",
        "/locked": "extraction_failed",
        "/scanned": "scanned,no_text",
        "/slow": "timeout",
        "/good": "cache_hit",
    }


# ---- documents in memory


def test_extract_reads_a_pdf_in_a_process_of_its_own() -> None:
    document = public.extract(GOOD, content_type=PDF)
    assert document == read(GOOD, PDF, None)
    with pytest.raises(SpanielError) as caught:
        public.extract(pdfs.flate_bomb(), content_type=PDF)
    assert caught.value.code is Code.EXTRACTION_FAILED
    assert public.extract(GOOD, content_type=PDF) == document


async def test_extract_works_inside_an_event_loop() -> None:
    assert public.extract(GOOD, content_type=PDF).pages == read(GOOD, PDF, None).pages


def test_blocking_readers_keep_their_process_and_end_with_it() -> None:
    blocking = BlockingReaders()
    blocking.read(GOOD, DetectedKind("pdf", None), None)
    first = only_child(blocking._readers)
    blocking.read(GOOD, DetectedKind("pdf", None), None)
    assert only_child(blocking._readers) == first
    with pytest.raises(SpanielError) as caught:
        blocking.read(pdfs.slow(), DetectedKind("pdf", None), None, seconds=0.5)
    assert caught.value.code is Code.TIMEOUT
    blocking.close()
    assert is_gone(first)


def test_the_command_extracts_pdfs_and_says_what_is_special(tmp_path: Path) -> None:
    (tmp_path / "good.pdf").write_bytes(GOOD)
    (tmp_path / "scan.pdf").write_bytes(pdfs.scanned())
    (tmp_path / "late").write_bytes(b"junk" * 9 + GOOD)
    command = [sys.executable, "-m", "spaniel", "extract"]
    one = subprocess.run([*command, "good.pdf"], capture_output=True, text=True, check=True, cwd=tmp_path, timeout=100)
    assert one.stdout == "This is page 1.\n\nThis is page 2.\n\nThis is page 3.\n"
    many = [*command, "--json", "-j", "2", ".", "late"]
    done = subprocess.run(many, capture_output=True, text=True, check=True, cwd=tmp_path, timeout=100)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [len(row["pages"]) for row in rows] == [3, 2, 3]
    assert "(scanned)" in done.stderr
    assert "(no_text)" in done.stderr
