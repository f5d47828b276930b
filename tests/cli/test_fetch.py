"""`spaniel fetch` and `spaniel extract` as whole processes, against a real site on loopback."""

from __future__ import annotations

import asyncio
import json
import shlex
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest

from spaniel.cli.output import under_title
from tests.net.servers import authority, serve, site, tls_for
from tests.programs import SPANIEL, spaniel
from tests.reading.pdfs import many_pages

PAGE = (
    "<html><head><title>T</title></head><body><main><h1>Hello</h1><p>"
    + "Words of a page. " * 60
    + "</p></main></body></html>"
)


PAGES = {
    "/page": ("text/html; charset=utf-8", PAGE.encode()),
    "/paper": ("application/pdf", many_pages(3, "Words of page {0}. " * 60)),
}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path not in PAGES:
            self.send_error(404)
            return
        content_type, body = PAGES[self.path]
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


class Place(NamedTuple):
    url: str
    config: str


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A site, and a settings file that lets Spaniel in."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        config = tmp_path / "open.toml"
        config.write_text(
            f'[tools.webfetch]\ncache_dir = "{tmp_path}/cache"\n[tools.webfetch.security]\n'
            f"allowed_ports = [{server.server_port}]\nblock_loopback = false\nallow_insecure_overrides = true\n",
            encoding="utf-8",
        )
        yield Place(f"http://127.0.0.1:{server.server_port}", str(config))
        server.shutdown()


def test_markdown_comes_on_standard_output(place: Place) -> None:
    done = spaniel("fetch", "-q", "--config", place.config, f"{place.url}/page")
    assert done.returncode == 0
    assert done.stdout.startswith("# Hello\n\nWords of a page.")
    (said,) = done.stderr.splitlines()
    assert "SSRF protection disabled for: block_loopback" in said  # quiet hides all but this


@pytest.mark.req("FR-WF-03", "D2-28")
def test_json_is_the_tools_result_and_chunks_have_positions(place: Place) -> None:
    fields = json.loads(
        spaniel("fetch", "-q", "--config", place.config, "--format", "json", f"{place.url}/page").stdout
    )
    assert (fields["title"], fields["truncated"]) == ("T", False)
    lines = spaniel(
        "fetch", "-q", "--config", place.config, "--format", "chunks", "--max-chunk-tokens", "128", f"{place.url}/page"
    ).stdout.splitlines()
    assert len(lines) > 1
    assert {"requested_url", "final_url", "id", "heading_path", "start", "end", "token_count"} <= set(
        json.loads(lines[0])
    )


@pytest.mark.parametrize(
    ("markdown", "title", "shown"),
    [
        ("Some text.\n", "A *title* <b>", "# A \\*title\\* \\<b\\>\n\nSome text.\n"),
        ("Some text.\n", "Q & A, not &amp; so", "# Q & A, not \\&amp; so\n\nSome text.\n"),
        ("By one\n\n# Its own\n", "A title", "By one\n\n# Its own\n"),
        ("By one\n\n### [A Title!](https://a.example/)\n", "A title", "By one\n\n### [A Title!](https://a.example/)\n"),
        ("- **A title**\n", "A title", "- **A title**\n"),
        ("![A title](https://a.example/b.png)\n", "A title", "# A title\n\n![A title](https://a.example/b.png)\n"),
        ("A title is not all\n", "A title", "# A title\n\nA title is not all\n"),
        ("---\n\nx\n", "!", "# !\n\n---\n\nx\n"),
        ("Some text.\n", None, "Some text.\n"),
        ("", "A title", ""),
    ],
)
def test_text_without_a_heading_gets_its_title(markdown: str, title: str | None, shown: str) -> None:
    assert under_title(markdown, title) == shown


def test_headline_outside_the_text_is_printed() -> None:
    text = "<p>The council met on Monday to discuss the bridge, and most members spoke in favour of it.</p>" * 20
    page = f"<title>Bridge debated - Daily</title><article><h1>Bridge debated</h1>{text}</article>"
    done = spaniel("extract", "-", "--url", "https://daily.example/2024/bridge-debated", stdin=page.encode())
    assert done.stdout.startswith("# Bridge debated\n\nThe council met")


@pytest.mark.req("FR-WF-18")
def test_error_has_code_and_hint_and_a_json_object(place: Place) -> None:
    done = spaniel("fetch", "-q", "--config", place.config, "--format", "json", f"{place.url}/gone")
    assert done.returncode == 5
    assert "http_4xx" in done.stderr
    error = json.loads(done.stdout)
    assert (error["code"], error["retryable"], error["details"]["status"]) == ("http_4xx", False, 404)
    assert error["requested_url"] == f"{place.url}/gone"
    blocked = spaniel("fetch", "http://169.254.169.254/latest/meta-data/")
    assert (blocked.returncode, blocked.stdout) == (3, "")
    assert "ssrf_blocked" in blocked.stderr


def test_explain_prints_the_steps_on_standard_error(place: Place) -> None:
    done = spaniel("fetch", "-q", "--config", place.config, "--explain", f"{place.url}/page")
    assert done.stdout.startswith("# Hello")
    drawn = done.stderr.splitlines()[1:]  # after the guard's warning
    assert [line.split()[0] for line in drawn] == [
        "step", "parse", "normalize", "check_cache", "guard", "robots", "fetch", "content_type", "extract",
        "write_cache", "chunk", "total",
    ]  # fmt: skip
    where = {line.find("http://") for line in done.stderr.splitlines()} - {-1}
    assert len(where) == 1  # aligned, and every hop says whose it is


def test_a_profile_and_a_budget_can_be_chosen(place: Place, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('name = "mine"\nversion = "1"\ncontent = ["text"]\n', encoding="utf-8")
    refused = spaniel(
        "fetch", "-q", "--config", place.config, "--profile", "mine.toml", f"{place.url}/page", cwd=tmp_path
    )
    assert (refused.returncode, "unsupported_content_type" in refused.stderr) == (6, True)
    unknown = spaniel("fetch", "--profile", "web_fech", f"{place.url}/page")
    assert (unknown.returncode, "did you mean 'web_fetch'?" in unknown.stderr) == (2, True)
    options = ("--config", place.config, "--format", "json", "--explain", "--max-bytes", "500")
    done = spaniel("fetch", "-q", *options, f"{place.url}/page")
    assert json.loads(done.stdout)["truncated"] is True
    assert len(done.stdout.encode()) <= 501
    assert ["fit", "cut"] in [line.split()[:2] for line in done.stderr.splitlines()]


@pytest.mark.req("FG-24")
def test_chunks_of_a_pdf_have_their_page(place: Place, tmp_path: Path) -> None:
    (tmp_path / "papers.toml").write_text('name = "papers"\nversion = "1"\ncontent = ["pdf"]\n', encoding="utf-8")
    options = ("--config", place.config, "--profile", "papers.toml", "--format", "chunks", "--max-chunk-tokens", "128")
    for _ in range(2):  # fetched, and from the cache
        done = spaniel("fetch", "-q", *options, f"{place.url}/paper", cwd=tmp_path)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        assert [row["text"].split(".")[0] for row in rows if row["start"] == 0] == ["Words of page 1"]
        pages = [row["page"] for row in rows]
        assert (pages, set(pages)) == (sorted(pages), {1, 2, 3})


@pytest.mark.req("NFR-WF-SEC-01")
async def test_fast_start_still_verifies_certificates(tmp_path: Path) -> None:
    """Certificates are read when the first https page is asked for, and then they are."""
    page = (200, ["Content-Type: text/html"], PAGE.encode())
    authority().cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    async with serve(site({"/page": page}), tls=tls_for("127.0.0.1")) as server:
        security = f"allowed_ports = [{server.port}]\nblock_loopback = false\nallow_insecure_overrides = true\n"
        config = tmp_path / "s.toml"
        for trust, code in (("", 4), (f'[spaniel.net]\nca_file = "{tmp_path}/ca.pem"\n', 0)):
            config.write_text(
                f'[tools.webfetch]\ncache_dir = "{tmp_path}/cache"\n[tools.webfetch.security]\n{security}{trust}',
                encoding="utf-8",
            )
            done = await asyncio.to_thread(spaniel, "fetch", "-q", "--config", str(config), server.url("/page"))
            assert done.returncode == code, done.stderr
            assert ("is not trusted" in done.stderr) is bool(code)


def test_failure_does_not_stop_other_urls_and_output_goes_to_a_file(place: Place, tmp_path: Path) -> None:
    urls = f"{place.url}/page\n{place.url}/gone\n  # {place.url}/page is there twice\n{place.url}/page\n".encode()
    out = tmp_path / "out.md"
    done = spaniel("fetch", "-q", "--config", place.config, "-o", str(out), "-", stdin=urls)
    assert done.returncode == 1
    assert "line 2: http_4xx" in done.stderr
    assert out.read_text(encoding="utf-8").count("# Hello") == 2
    nowhere = spaniel("fetch", "--config", place.config, "-o", str(tmp_path / "no" / "out.md"), f"{place.url}/page")
    assert nowhere.returncode == 2
    assert "cannot be written" in nowhere.stderr


def test_closed_standard_input_is_reported() -> None:
    script = f"exec {shlex.join(SPANIEL)} fetch - <&-"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "bad_args: -: standard input is closed" in done.stderr


@pytest.mark.req("FR-WF-13d")
def test_extract_reads_a_file_or_standard_input(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(PAGE.replace("Words", "<a href=/w>Words</a>", 1), encoding="utf-8")
    done = spaniel("extract", "page.html", "--url", "https://example.com/dir/", cwd=tmp_path)
    assert "[Words](https://example.com/w)" in done.stdout
    understood = json.loads(spaniel("extract", "-", "--json", stdin=PAGE.encode()).stdout)
    assert understood["title"] == "T"
    assert {"markdown", "language", "metadata", "hygiene"} <= set(understood)
    refused = spaniel("extract", "-", "--content-type", "image/png", stdin=b"\x89PNG")
    assert refused.returncode == 6
    assert "unsupported_content_type" in refused.stderr
