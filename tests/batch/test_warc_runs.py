"""`--warc`: what came over the wire, beside the records, as others read it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from warcio.archiveiterator import ArchiveIterator

from spaniel.batch.outputs import warc
from spaniel.batch.outputs.warc import capture_records, files_of, is_there, place_of, warc_output
from spaniel.clock import SystemClock
from spaniel.net.deadline import Deadline
from spaniel.net.guard import Guard
from spaniel.net.http import Http, RequestOptions
from spaniel.runs.parts import CAPTURES, Collector
from spaniel.testing import FakeResolver
from spaniel.url.parsing import parse
from tests import programs
from tests.batch.command import command, environment, spaniel, urls_at
from tests.batch.harness import Served, records, serving, settings, written
from tests.batch.outputs.test_warc import PAGE, check


def found_in(*paths: Path | str) -> list[tuple[str, str, dict[str, str], Any, bytes]]:
    """Kind, URL, WARC headers, HTTP headers, content."""
    found = []
    for path in paths:
        with Path(path).open("rb") as file:
            for record in ArchiveIterator(file):
                headers = dict(record.rec_headers.headers)
                body = record.content_stream().read()
                found.append((record.rec_type, headers.get("WARC-Target-URI", ""), headers, record.http_headers, body))
    return found


def test_every_hop_of_every_page_is_kept_as_it_was(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        there = served.url("127.0.0.2", "/echo?a=1&b")
        urls = [served.url("127.0.0.1", f"/to?{there}"), served.url("127.0.0.1", "/gone")]
        urls += [served.url("127.0.0.3", "/cookies"), served.url("user:secret@127.0.0.4", "/ok"), urls[-1]]
        written(tmp_path, [*urls, "mailto:nobody@example.com"])
        done = spaniel(served, tmp_path, "--warc", "-q", "--profile", "web_fetch")  # whose policy changes no query
        assert done.returncode == 1, done.stderr
    out = tmp_path / "out.jsonl.warc.gz"
    checked = check(out)
    assert checked.returncode == 0, checked.stdout
    found = found_in(out)
    answers = {url: (headers, http, body) for kind, url, headers, http, body in found if kind == "response"}
    assert [kind for kind, *_ in found] == ["warcinfo"] + ["request", "response", "metadata"] * 5
    assert set(answers) == {urls[0], there, urls[1], urls[2], served.url("127.0.0.4", "/ok")}  # no robots.txt
    assert [answers[url][1].get_statuscode() for url in (urls[0], there, urls[1])] == ["302", "200", "404"]
    _require_request_as_it_was_sent(found, answers[there][2], there)
    headers, http, body = answers[urls[2]]
    assert [value for name, value in http.headers if name == "Set-Cookie"] == ["a=1", "b=2"]
    assert b"Footprints" in body
    assert (headers["WARC-IP-Address"], headers["WARC-Identified-Payload-Type"]) == ("127.0.0.3", "text/html")
    about = {url: body.decode() for kind, url, _, _, body in found if kind == "metadata"}
    assert f"via: {urls[0]}\r\n" in about[there]
    assert "secret" not in b"".join(part[4] for part in found).decode("latin-1")


def _require_request_as_it_was_sent(found: list[Any], echoed: bytes, url: str) -> None:
    (sent,) = (http for kind, target, _, http, _ in found if (kind, target) == ("request", url))
    seen = echoed.partition(b"<pre>")[2].partition(b"</pre>")[0].decode().split("\r\n")
    assert [f"{sent.protocol} {sent.statusline}", *(f"{name}: {value}" for name, value in sent.headers)] == seen[:-2]


def test_nothing_is_captured_without_warc(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        written(tmp_path, urls_at(served, 4))
        assert spaniel(served, tmp_path, "-q").returncode == 0
    assert not [name for name in os.listdir(tmp_path) if "warc" in name]


def test_a_run_is_resumed_with_the_captures_that_it_was_begun_with(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        written(tmp_path, urls_at(served, 4))
        assert spaniel(served, tmp_path, "--warc", "-q").returncode == 0
        other = spaniel(served, tmp_path, "--resume")
        assert (other.returncode, "begun with --warc yes, not no" in other.stderr) == (2, True), other.stderr
        os.remove(tmp_path / "out.jsonl")
        os.remove(tmp_path / "out.jsonl.batch" / "run.json")
        refused = spaniel(served, tmp_path, "--warc")
        assert (refused.returncode, "out.jsonl.warc.gz" in refused.stderr) == (2, True), refused.stderr
        assert spaniel(served, tmp_path, "--warc", "--overwrite", "-q").returncode == 0
    assert len(found_in(tmp_path / "out.jsonl.warc.gz")) == 1 + 3 * 4


def test_shards_with_captures_are_put_together(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        urls = urls_at(served, 12)
        written(tmp_path, urls)
        outs = [str(tmp_path / f"{place}.jsonl") for place in (1, 2)]
        for place, out in enumerate(outs, 1):
            done = spaniel(served, tmp_path, "--warc", "-q", "--shard", f"{place}/2", "-o", out)
            assert done.returncode == 0, done.stderr
        merging = ["merge", *outs, "-o", str(tmp_path / "all.jsonl"), "--warc"]
        assert run(served, tmp_path, merging) == 0
    assert sorted(record["ordinal"] for record in records(tmp_path, "all.jsonl")) == list(range(12))
    kept = [url for kind, url, *_ in found_in(tmp_path / "all.jsonl.warc.gz") if kind == "response"]
    assert sorted(kept) == sorted(urls)
    assert check(tmp_path / "all.jsonl.warc.gz").returncode == 0


def run(served: Served, folder: Path, words: list[str]) -> int:
    line = command(served, folder)
    return programs.run([*line[:4], *words], env=environment(folder), timeout=120, check=False).returncode


def test_beside_a_folder_are_several_files_and_a_kill_costs_none_of_them(tmp_path: Path) -> None:
    out = f"{tmp_path}/pages/"
    assert place_of(out) == f"{tmp_path}/pages.warc"
    part = tmp_path / "shard-0000-00000.warc.gz"
    for number in range(6):
        with part.open("ab") as file:
            file.write(_record(number))
        collector = Collector(str(tmp_path), {CAPTURES: warc_output(out, "a test", file_bytes=3000)})
        collector.open()
        collector.collect({(0, CAPTURES, 0): part.stat().st_size})
        place = collector.length(CAPTURES)
        collector.close()
        with Path(files_of(out)[-1]).open("ab") as file:  # what a run had written that was killed
            file.write(b"torn")
    collector = Collector(str(tmp_path), {CAPTURES: warc_output(out, "a test", file_bytes=3000)})
    collector.open()
    collector.close()
    whole = [url for kind, url, *_ in found_in(*files_of(out)) if kind == "response"]
    assert len(files_of(out)) > 2
    assert whole == [f"http://a.example/{number}" for number in range(6)]
    assert is_there(out, *place)
    os.truncate(files_of(out)[place[0]], 10)
    assert not is_there(out, *place)
    warc.remove_files(out)
    assert not os.path.exists(place_of(out))


def _record(number: int) -> bytes:
    return capture_records(PAGE._replace(url=f"http://a.example/{number}", body=os.urandom(900)))  # which do not shrink


async def test_a_body_that_is_too_large_or_was_not_taken_whole_is_marked(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(warc, "MOST_BODY", 1 << 20)
    with serving(tmp_path) as served:
        security = settings(served.port, tmp_path).security
        taken = warc.begin_captures()
        async with Http() as http:
            client, guard = warc.CapturingHttp(http, SystemClock()), Guard(FakeResolver(), security)
            for path, options in (
                ("/ok", RequestOptions()),
                ("/big", RequestOptions(max_bytes=8 << 20)),
                ("/big", RequestOptions(max_bytes=5000, cut=True)),
                ("/gone", RequestOptions()),
                ("/to?/ok", RequestOptions()),
            ):
                url, deadline = parse(served.url("a.example", path)), Deadline(30)
                await client.get(url, await guard.vet(url, deadline), deadline, options)
        out = tmp_path / "a.warc.gz"
        out.write_bytes(await warc.packed_captures(taken))
    assert not taken
    answers = [(headers, body) for kind, _, headers, _, body in found_in(out) if kind == "response"]
    assert [headers.get("WARC-Truncated") for headers, _ in answers] == [None, "length", "length", None, None]
    assert [len(body) for _, body in answers[1:3]] == [1 << 20, 5000]
    assert check(out).returncode == 0


def test_the_place_of_captures_is_beside_the_output(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    assert place_of(str(tmp_path / "there")) == str(tmp_path / "there.warc")
    assert place_of("a.parquet") == "a.parquet.warc.gz"
    assert place_of("a.parquet/") == "a.parquet.warc"
