"""What `spaniel batch` writes, as datatrove's own readers read it: `python datatrove_readers.py PYTHON`.

PYTHON is the one that Spaniel is installed for, with `spaniel[parquet]`; it need not be this one.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from threading import Thread

from datatrove.pipeline.readers import JsonlReader, ParquetReader, WarcReader

PAGES = 20
FIELDS = {"text_key": "markdown", "id_key": "ordinal"}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        text = "The river in spring carries more water than anybody remembers. " * 12
        body = f"<!doctype html><title>{self.path}</title><article><h1>Page {self.path}</h1><p>{text}</p></article>"
        missing = self.path == "/robots.txt"
        self.send_response(404 if missing else 200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


def batch(folder: Path, port: int, name: str, *more: str) -> None:
    (folder / "spaniel.toml").write_text(
        f'[tools.webfetch]\ncache_dir = "{folder}/cache"\n[tools.webfetch.security]\nblock_loopback = false\n'
        f"allow_insecure_overrides = true\nallowed_ports = [{port}]\n",
        encoding="utf-8",
    )
    (folder / "urls.txt").write_text("".join(f"http://127.0.0.1:{port}/{n}\n" for n in range(PAGES)))
    line = [sys.argv[1], "-m", "spaniel", "batch", "-q", "--config", str(folder / "spaniel.toml"), "--delay", "0"]
    subprocess.run([*line, str(folder / "urls.txt"), "-o", str(folder / name), *more], check=True, timeout=120)


def main() -> None:
    with tempfile.TemporaryDirectory() as name, ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        folder, port = Path(name), server.server_port
        for each in ("parquet", "jsonl", "zst"):
            (folder / each).mkdir()
        batch(folder, port, "parquet/pages.parquet")
        batch(folder, port, "jsonl/pages.jsonl", "--warc")
        batch(folder, port, "zst/pages.jsonl.zst")
        wanted = {f"http://127.0.0.1:{port}/{n}" for n in range(PAGES)}
        readers = {
            "ParquetReader": ParquetReader(f"{folder}/parquet", glob_pattern="*.parquet"),
            "JsonlReader": JsonlReader(f"{folder}/jsonl", glob_pattern="*.jsonl", **FIELDS),
            "JsonlReader, compressed": JsonlReader(f"{folder}/zst", glob_pattern="*.zst", compression="zstd", **FIELDS),
            "WarcReader": WarcReader(f"{folder}/jsonl", glob_pattern="*.warc.gz"),
        }
        for who, reader in readers.items():
            found = list(reader())
            urls = {found.metadata.get("url") or found.metadata.get("final_url") for found in found}
            assert urls == wanted, (who, sorted(map(str, urls))[:3])
            assert len(found) == PAGES
            assert all("The river in spring" in each.text for each in found)
            print(f"  datatrove {version('datatrove')} {who}: {len(found)} of {PAGES} pages, each with its text")


if __name__ == "__main__":
    main()
