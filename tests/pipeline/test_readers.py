"""Where pages are read: at once, in a thread, in a process that can be killed. The processes are real ones."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.net.deadline import Deadline
from spaniel.pipeline import readers as pipeline_readers
from spaniel.pipeline import reading_process
from spaniel.pipeline.readers import ALONE, AMONG_OTHERS, PHASE, Readers
from spaniel.pipeline.reading_process import answer, understood
from spaniel.reading import Document, read
from spaniel.reading.kinds import BY_NAME, kind_of

URL = "https://example.org/dir/"
HTML = "text/html; charset=utf-8"
SENTENCE = "<p>The council met on Monday to discuss <b>the bridge</b>, and most spoke in favour. <a href=x>More</a></p>"
SHORT = (f"<title>Bridge</title>{SENTENCE * 10}").encode()
MIDDLING = (f"<title>Bridge</title>{SENTENCE * 1200}").encode()
SAID = '<meta name=generator content=Hugo><script type="application/ld+json">{"@type": ["Article", "Thing"]}</script>'
LONG = (f"<title>Brücke \x01</title>{SAID}<html lang=de>{SENTENCE * 3000}").encode()
posix = pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")


@pytest.fixture
async def readers() -> AsyncIterator[Readers]:
    async with Readers(2) as opened:
        yield opened


async def ask(readers: Readers, body: bytes = LONG, seconds: float = 60) -> Document:
    return await readers.read(body, kind_of(HTML, body, ("html", "text")), URL, Deadline(seconds))


def only_child(readers: Readers) -> int:
    (child,) = readers._idle
    return child._process.pid


async def begun(readers: Readers) -> asyncio.Task[Document]:
    """A page that the waiting process has been given."""
    (child,) = readers._idle
    reading = asyncio.create_task(ask(readers))
    await until(lambda: child.pages == 2)
    return reading


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(3000):
        if holds():
            return
        await asyncio.sleep(0.01)
    pytest.fail("it never came to that")


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_test_pages_have_the_three_sizes() -> None:
    html = BY_NAME["html"]
    assert AMONG_OTHERS.at_once.allows(SHORT, html)
    assert not AMONG_OTHERS.at_once.allows(MIDDLING, html)
    assert AMONG_OTHERS.in_a_thread.allows(MIDDLING, html)
    assert not AMONG_OTHERS.in_a_thread.allows(LONG, html)


@pytest.mark.parametrize(
    ("kind", "many"),
    [("markdown", b"[x] "), ("markdown", b"`"), ("markdown", b"a\n"), ("csv", b"1,2\n"), ("feed", b"<item/>")],
)
def test_a_kind_has_signs_of_its_own_that_take_time(kind: str, many: bytes) -> None:
    assert AMONG_OTHERS.at_once.allows(many * 100, BY_NAME[kind])
    assert not AMONG_OTHERS.at_once.allows(many * 4001, BY_NAME[kind])
    assert AMONG_OTHERS.at_once.allows(b"x" * (256 << 10), BY_NAME[kind])


@pytest.mark.req("FG-25")
@pytest.mark.parametrize("count", [10, 100_000, 500_000])
async def test_data_is_returned_whole_wherever_it_is_read(readers: Readers, count: int) -> None:
    body = ('["é", ' + "12," * count + " null]").encode()
    document = await readers.read(body, kind_of("application/json", body, ("json",)), URL, Deadline(20))
    assert document == read(body, "application/json", URL)
    assert document.data == body.decode()


@pytest.mark.parametrize("body", [SHORT, MIDDLING, LONG], ids=["short", "middling", "long"])
async def test_document_is_the_same_wherever_it_is_read(readers: Readers, body: bytes) -> None:
    assert await ask(readers, body) == read(body, HTML, URL)
    assert len(readers._idle) == (body is LONG)


async def test_batch_process_reads_all_but_the_largest_pages_itself() -> None:
    async with Readers(1, ALONE) as readers:
        assert await ask(readers) == read(LONG, HTML, URL, ("html", "text"))
        assert not readers._idle
        await ask(readers, (SENTENCE * 12_000).encode())  # what could hold it up for long still goes to another one
        assert readers._idle


async def test_refused_page_is_not_sent_to_a_process(readers: Readers) -> None:
    for content_type, kinds in (("image/png", None), ("text/html", ("text",))):
        with pytest.raises(SpanielError) as caught:
            await readers.read(LONG, kind_of(content_type, LONG, kinds), URL, Deadline(60))
        assert caught.value.code is Code.UNSUPPORTED_CONTENT_TYPE
    assert readers._idle == []


async def test_process_is_used_again(readers: Readers) -> None:
    await ask(readers)
    first = only_child(readers)
    await ask(readers)
    assert only_child(readers) == first


@posix
async def test_the_deadline_ends_the_process_and_the_next_page_is_read(readers: Readers) -> None:
    await ask(readers)
    stuck = only_child(readers)
    os.kill(stuck, signal.SIGSTOP)  # a page that would never be finished
    with pytest.raises(SpanielError) as caught:
        await ask(readers, seconds=0.3)
    assert caught.value.code is Code.TIMEOUT
    assert caught.value.details["phase"] == PHASE
    assert is_gone(stuck)
    assert (await ask(readers)).title == "Brücke"


@posix
async def test_a_crash_is_a_refusal_and_the_next_page_is_read(readers: Readers) -> None:
    await ask(readers)
    struck = only_child(readers)
    os.kill(struck, signal.SIGSTOP)
    reading = await begun(readers)
    os.kill(struck, signal.SIGKILL)
    with pytest.raises(SpanielError) as caught:
        await reading
    assert caught.value.code is Code.EXTRACTION_FAILED
    assert (await ask(readers)).title == "Brücke"


@posix
async def test_a_process_that_ended_while_it_waited_is_replaced(readers: Readers) -> None:
    await ask(readers)
    child = readers._idle[0]
    os.kill(child._process.pid, signal.SIGKILL)
    await child._process.wait()
    assert (await ask(readers)).title == "Brücke"


@posix
async def test_who_gives_up_takes_the_process_along(readers: Readers) -> None:
    await ask(readers)
    stuck = only_child(readers)
    os.kill(stuck, signal.SIGSTOP)
    reading = await begun(readers)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert is_gone(stuck)


async def test_there_are_no_more_processes_than_places(readers: Readers) -> None:
    documents = await asyncio.gather(*(ask(readers) for _ in range(6)))
    assert len(set(documents)) == 1
    assert 1 <= len(readers._idle) <= 2


async def test_a_process_that_nobody_needs_ends(readers: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline_readers, "IDLE_SECONDS", 0.01)
    await ask(readers)
    await until(lambda: not readers._idle and not readers._ending)
    assert (await ask(readers)).title == "Brücke"


async def test_a_process_reads_so_many_pages_and_no_more(readers: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline_readers, "PAGES", 1)
    await ask(readers)
    assert readers._idle == []


async def test_where_no_process_can_be_started_a_thread_reads(
    readers: Readers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    for _ in range(2):
        assert await ask(readers) == read(LONG, HTML, URL)
    assert [record.levelname for record in caplog.records] == ["WARNING"]  # once


async def test_others_go_on_while_a_long_page_is_read(readers: Readers) -> None:
    """Processor time of this process between two turns of another task: what the machine does besides is no matter."""
    dense = b"<p>word " * 100_000
    await ask(readers)  # the process is there
    reading = asyncio.create_task(ask(readers, dense))
    turns, longest = 0, 0.0
    while not reading.done():
        before = time.process_time()
        await asyncio.sleep(0.001)
        turns, longest = turns + 1, max(longest, time.process_time() - before)
    assert (await reading).notes == ("reading_cut",)
    assert turns > 10
    assert longest < 0.1


SCENARIO = """
import asyncio, os, sys
from spaniel.net.deadline import Deadline
from spaniel.pipeline.readers import Readers
from spaniel.reading.kinds import DetectedKind

async def main():
    async with Readers() as readers:
        body = sys.stdin.buffer.read()
        document = await readers.read(body, DetectedKind("html", None), "https://example.org/", Deadline(60))
        print(readers._idle[0]._process.pid, document.title, flush=True)
        if "die" in sys.argv:
            os._exit(1)

asyncio.run(main())
"""


def scenario(folder: Path, *args: str, **variables: str) -> list[str]:
    """A client in a process of its own, that works in `folder`."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", SCENARIO, *args],
        input=LONG,
        capture_output=True,
        cwd=folder,
        env={**os.environ, **variables},
        check=False,
        timeout=100,
    )
    return done.stdout.decode().split()


@posix
def test_the_process_ends_with_its_parent(tmp_path: Path) -> None:
    pid, title = scenario(tmp_path, "die")
    assert title == "Brücke"
    for _ in range(500):
        if is_gone(int(pid)):
            return
        time.sleep(0.02)
    pytest.fail("the child outlives its parent")


def test_child_ignores_working_folder_and_variables(tmp_path: Path) -> None:
    mark = tmp_path / "loaded"
    for name in ("json", "turbohtml", "spaniel"):
        (tmp_path / f"{name}.py").write_text(f"open({str(mark)!r}, 'w').close()\nraise SystemExit(3)\n")
    assert scenario(tmp_path, PYTHONPATH=str(tmp_path), PYTHONSTARTUP=str(tmp_path / "json.py"))[1] == "Brücke"
    assert not mark.exists()
    control = subprocess.run([sys.executable, "-c", "import json"], cwd=tmp_path, check=False)
    assert control.returncode == 3
    assert mark.exists()


LIMITED = """
import sys
from spaniel.pipeline import reading_process as child
room = child.Room(8 << 20, 0) if "limited" in sys.argv else child.Room(1 << 30, 24)
head = {"reader": "html", "charset": None, "url": None, "walls": False}
body = b"<p>word " * 100_000
child.restrain(len(body), 30, room)
sys.stdout.buffer.write(child.answer(head, body))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems bound other things")
@pytest.mark.parametrize("limited", [True, False])
def test_a_page_that_takes_too_much_memory_is_refused(limited: bool) -> None:
    out = subprocess.run(
        [sys.executable, "-I", "-c", LIMITED, *(["limited"] if limited else [])],
        capture_output=True,
        check=True,
        timeout=100,
    ).stdout
    size = int.from_bytes(out[:4], "big")
    head = json.loads(out[8 : 8 + size])
    assert head.get("code") == ("extraction_failed" if limited else None)


def test_refusal_of_the_child_is_raised_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> Document:
        raise SpanielError(Code.UNSUPPORTED_CONTENT_TYPE, content_type="image/png")

    monkeypatch.setattr(reading_process, "read_as", refuse)
    out = answer({"reader": "html", "charset": None, "url": None, "walls": False}, b"x")
    size = int.from_bytes(out[:4], "big")
    with pytest.raises(SpanielError) as caught:
        understood(json.loads(out[8 : 8 + size]), b"")
    assert caught.value.code is Code.UNSUPPORTED_CONTENT_TYPE
