"""WARC files, as others read them."""

from __future__ import annotations

import gzip
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from warcio.archiveiterator import ArchiveIterator

from spaniel.batch.outputs.files import finish
from spaniel.batch.outputs.warc import Capture, capture_records, warcinfo
from spaniel.runs.parts import Part
from tests import programs

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
PAGE = Capture(
    "https://a.example/p?q=ü",
    200,
    "OK",
    [("Content-Type", "text/html"), ("Content-Encoding", "br"), ("Content-Length", "7"), ("Set-Cookie", "a=1")],
    "<p>hellö".encode(),
    AT,
    payload_type="text/html",
    address="192.0.2.1",
    request=b"GET /p?q=%C3%BC HTTP/1.1\r\nHost: a.example\r\n\r\n",
)


def written(path: Path, *captures: Capture) -> Path:
    with Part.create(str(path)) as part:
        part.append([warcinfo(path.name, "spaniel", AT)])
        for capture in captures:
            part.append([capture_records(capture)])
    return path


def records(path: Path) -> list[tuple[str, dict[str, str], Any, bytes]]:
    with path.open("rb") as file:
        return [
            (found.rec_type, dict(found.rec_headers.headers), found.http_headers, found.content_stream().read())
            for found in ArchiveIterator(file)
        ]


def check(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "warcio.cli", "check", "-v", str(path)]
    return programs.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_warcio_reads_what_was_captured(tmp_path: Path) -> None:
    info, request, response = records(written(tmp_path / "a.warc.gz", PAGE))
    assert [info[0], request[0], response[0]] == ["warcinfo", "request", "response"]
    assert response[1]["WARC-Target-URI"] == "https://a.example/p?q=ü"
    assert response[1]["WARC-Date"] == "2026-01-02T03:04:05Z"
    assert response[1]["WARC-Identified-Payload-Type"] == "text/html"
    assert response[1]["WARC-IP-Address"] == "192.0.2.1"
    assert request[1]["WARC-Concurrent-To"] == response[1]["WARC-Record-ID"]
    assert response[2].statusline == "200 OK"
    assert dict(response[2].headers)["X-Crawler-Content-Encoding"] == "br"
    assert dict(response[2].headers)["Content-Length"] == "9"
    assert response[3] == "<p>hellö".encode()


def test_warcio_finds_every_digest_right(tmp_path: Path) -> None:
    empty = PAGE._replace(body=b"", status=404, reason="", request=b"")
    done = check(written(tmp_path / "a.warc.gz", PAGE, empty, PAGE._replace(body=bytes(range(256)) * 5000)))
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("digest pass") == 6  # of the request, too
    assert "fail" not in done.stdout


def test_a_wrong_body_is_noticed_by_the_same_check(tmp_path: Path) -> None:
    plain = gzip.decompress(written(tmp_path / "a.warc.gz", PAGE).read_bytes())
    (tmp_path / "b.warc").write_bytes(plain.replace(b"<p>hell", b"<p>hall"))
    assert check(tmp_path / "b.warc").returncode == 1


def test_headers_from_outside_begin_no_header_and_no_record(tmp_path: Path) -> None:
    evil = PAGE._replace(
        url="https://a.example/\r\nWARC-Type: metadata",
        reason="OK\r\nX-Evil: 1",
        headers=[("A\r\nX-Evil", "1"), ("B", "x\r\n\r\nWARC/1.1\r\nX-Evil: 1")],
        payload_type="text/html\r\nX-Evil: 1",
    )
    *_, (kind, headers, http, body) = records(written(tmp_path / "a.warc.gz", evil, PAGE))[:3]
    assert kind == "response"
    assert headers["WARC-Target-URI"] == "https://a.example/%0D%0AWARC-Type:%20metadata"
    assert "X-Evil" not in headers
    assert "X-Evil" not in dict(http.headers)
    assert body == PAGE.body
    assert len(records(tmp_path / "a.warc.gz")) == 5


def test_warc_parts_one_after_another_are_a_warc_file(tmp_path: Path) -> None:
    parts = [str(written(tmp_path / f"{n}.warc.gz", PAGE)) for n in range(2)]
    finish(parts, str(tmp_path / "out.warc.gz"))
    assert [found[0] for found in records(tmp_path / "out.warc.gz")] == ["warcinfo", "request", "response"] * 2
