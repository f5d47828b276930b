"""A list gives the same items and the same problems in every command."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest

from spaniel.cli.main import main, report
from spaniel.errors import SpanielError
from tests.batch import packing

CHILD = "/child.xml"


class Server(ThreadingHTTPServer):
    """Answers every page, and the sitemap that the index names."""

    daemon_threads = True

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def urls(self, *names: str) -> list[str]:
        return [f"{self.base}/{name}" for name in names]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        status, kind, body = 200, "text/html", b"<title>A page</title><p>Some words of a page."
        if self.path == "/robots.txt":
            status, body = 404, b""
        elif self.path == CHILD:
            kind, body = "application/xml", sitemap(self.server.urls("i1", "i2")).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Quiet."""


def sitemap(urls: list[str]) -> str:
    return f"<urlset>{''.join(f'<url><loc>{url}</loc></url>' for url in urls)}</urlset>"


class Listed(NamedTuple):
    """A list as a file, its items, and the options to read it without its name."""

    name: str
    body: bytes
    items: list[str]
    options: tuple[str, ...] = ()
    problem: str = ""


def lists(server: Server) -> list[Listed]:
    base = server.base
    one, two = urls = server.urls("one", "two")
    text = f"{one}\n{two}\n"
    pages = "".join(f"<item><link>{url}</link></item>" for url in urls)
    rss = f"<rss><channel><link>{base}/</link>{pages}</channel></rss>"
    atom = (
        f'<feed xmlns="http://www.w3.org/2005/Atom"><link rel="self" href="{base}/feed"/>'
        f'<entry><link href="{one}"/></entry><entry><link rel="alternate" href="{two}"/></entry></feed>'
    )
    bookmarks = (
        "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<TITLE>Bookmarks</TITLE><H1>Bookmarks</H1><DL><p>"
        f'<DT><A HREF="{one}" ADD_DATE="1">A</A><DT><A HREF="javascript:x()">no</A><DT><A HREF="{two}">B</A></DL>'
    )
    return [
        Listed("bom.txt", b"\xef\xbb\xbf" + text.encode(), urls),
        Listed("crlf.txt", text.replace("\n", "\r\n").encode(), urls),
        Listed("comments.txt", f"# {base}/no\n\n{one}\n  # {base}/no\n  {two}  \n".encode(), urls),
        Listed("header.csv", f'title,url\n"A, B",{one}\nB,{two}\n'.encode(), urls),
        Listed("bare.csv", f"1,{one}\n2,{two}\n".encode(), urls),
        Listed("table.tsv", f"url\ttitle\n{one}\ta,b\n{two}\tc\n".encode(), urls),
        Listed(
            "nested.jsonl",
            "".join(f'{{"page": {{"url": "{url}"}}, "n": 1}}\n' for url in urls).encode(),
            urls,
            ("--field", "page.url"),
        ),
        Listed("array.json", json.dumps([one, {"link": two}], indent=1).encode(), urls),
        Listed("list.yaml", f"- url: {one}\n- url: {two}\n".encode(), urls, ("--kind", "yaml")),
        Listed("map.xml", f'<?xml version="1.0"?>\n{sitemap(urls)}'.encode(), urls),
        Listed(
            "index.xml",
            f"<sitemapindex><sitemap><loc>{base}{CHILD}</loc></sitemap></sitemapindex>".encode(),
            server.urls("i1", "i2"),
        ),
        Listed("feed.rss", rss.encode(), urls),
        Listed("feed.atom", atom.encode(), urls),
        Listed("bookmarks.html", bookmarks.encode(), urls),
        Listed("packed.txt.gz", gzip.compress(text.encode()), urls),
        Listed("packed.csv.zst", packing.compress(f"url\n{text}".encode()), urls),
        Listed("wide.txt", text.encode("utf-16"), urls),
        Listed(
            "broken.jsonl",
            f'{{"url": "{one}"}}\n{{"url": \n{{"url": "{two}"}}\n'.encode(),
            urls,
            problem=", line 2: is not JSON that can be read",
        ),
    ]


NAMES = [
    "bom.txt", "crlf.txt", "comments.txt", "header.csv", "bare.csv", "table.tsv", "nested.jsonl", "array.json",
    "list.yaml", "map.xml", "index.xml", "feed.rss", "feed.atom", "bookmarks.html", "packed.txt.gz", "packed.csv.zst",
    "wide.txt", "broken.jsonl",
]  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as found:
        Thread(target=found.serve_forever, daemon=True).start()
        yield found
        found.shutdown()


class World:
    """A folder with the lists and settings that allow loopback; runs commands in this process."""

    def __init__(self, server: Server, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys
        self.lists = {each.name: each for each in lists(server)}
        for each in self.lists.values():
            (folder / each.name).write_bytes(each.body)
        self.config = folder / "open.toml"
        self.config.write_text(
            f'[tools.webfetch]\ncache_dir = "{folder}/cache"\n[tools.webfetch.browser]\nenabled = false\n'
            "[tools.webfetch.security]\nallow_insecure_overrides = true\nblock_loopback = false\n"
            f"allowed_ports = [{server.server_port}]\n"
        )

    def run(self, *argv: str) -> tuple[int, str, str]:
        self._capsys.readouterr()
        try:
            code = main([*argv, "--config", str(self.config)])
        except SpanielError as error:  # as the process reports it
            report(error)
            code = error.row.exit
        out, err = self._capsys.readouterr()
        return code, out, err


@pytest.fixture
def world(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> World:
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    return World(server, tmp_path, capsys)


def by_batch(world: World, listed: Listed) -> tuple[list[str], str]:
    """Only plans: a run would take seconds. The items are those of the plan."""
    from spaniel.app.settings import load
    from spaniel.app.sources import ReadSource
    from spaniel.cli.batch import parser
    from spaniel.cli.inputs import list_options
    from spaniel.sources.rows import Problems

    problems = Problems()
    args = parser().parse_args([listed.name, "-o", "out.jsonl", *listed.options])
    source = ReadSource(listed.name, list_options(args), problems, load(str(world.config)), "ingest")
    return [item.raw for item in source.items()], "\n".join(problems.first)


def with_input(world: World, listed: Listed, *argv: str) -> tuple[int, str, str]:
    """Run a command with the list as standard input."""
    before = os.dup(0)
    with (world.folder / listed.name).open("rb") as file:
        os.dup2(file.fileno(), 0)
        stdin, sys.stdin = sys.stdin, io.TextIOWrapper(open(0, "rb", closefd=False))  # noqa: SIM115
        try:
            return world.run(*argv, *listed.options)
        finally:
            sys.stdin = stdin
            os.dup2(before, 0)
            os.close(before)


def by_fetch(world: World, listed: Listed) -> tuple[list[str], str]:
    _, out, err = with_input(world, listed, "fetch", "-", "-f", "page")
    return [json.loads(line)["requested_url"] for line in out.splitlines()], err


def by_check(world: World, listed: Listed) -> tuple[list[str], str]:
    argv = ("check", listed.name, "-f", "jsonl", "--no-history", "--delay", "0", "--per-host", "8")
    _, out, err = world.run(*argv, *listed.options)
    return [found["url"] for line in out.splitlines() if "url" in (found := json.loads(line))], err


def by_import(world: World, listed: Listed) -> tuple[list[str], str]:
    world.run("db", "init", "--db", "urls")
    _, _, err = world.run("db", "import", "--db", "urls", listed.name, *listed.options)
    return world.run("db", "dump", "--db", "urls")[1].split(), err


def by_audit(world: World, listed: Listed) -> tuple[list[str], str]:
    _, out, err = world.run("db", "audit", listed.name, "--all", "-f", "json", *listed.options)
    return [finding["url"] for finding in json.loads(out)], err


def by_canon(world: World, listed: Listed) -> tuple[list[str], str]:
    _, out, err = with_input(world, listed, "canon", "-")
    return out.split(), err


def by_add(world: World, listed: Listed) -> tuple[list[str], str]:
    world.run("db", "init", "--db", "urls")
    _, _, err = with_input(world, listed, "db", "add", "--db", "urls", "-")
    return world.run("db", "dump", "--db", "urls")[1].split(), err


def by_show(world: World, listed: Listed) -> tuple[list[str], str]:
    by_import(world, listed)
    _, out, err = with_input(world, listed, "db", "show", "--json", "--db", "urls", "-")
    return [json.loads(line)["url"] for line in out.splitlines()], err


def by_rm(world: World, listed: Listed) -> tuple[list[str], str]:
    by_import(world, listed)
    _, out, err = with_input(world, listed, "db", "rm", "--json", "--db", "urls", "-")
    return [json.loads(line)["removed"] for line in out.splitlines()], err


def by_history(world: World, listed: Listed) -> tuple[list[str], str]:
    """History of pages that were never checked."""
    world.run("db", "init", "--db", "urls")
    _, _, err = with_input(world, listed, "db", "history", "--db", "urls", "-")
    return re.findall(r"(http\S+): no past results", err), err


COMMANDS: list[Callable[[World, Listed], tuple[list[str], str]]] = [by_batch, by_fetch, by_check, by_import, by_audit]
OFFLINE: list[Callable[[World, Listed], tuple[list[str], str]]] = [by_canon, by_add, by_show, by_rm, by_history]


def test_names_are_those_of_the_lists(world: World) -> None:
    assert list(world.lists) == NAMES


@pytest.mark.req("LH-05")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", [*COMMANDS, *OFFLINE], ids=lambda command: command.__name__.removeprefix("by_"))
def test_list_gives_the_same_items_in_every_command(
    world: World, command: Callable[[World, Listed], tuple[list[str], str]], name: str
) -> None:
    listed = world.lists[name]
    found, problems = command(world, listed)
    if name == "index.xml" and command in OFFLINE:
        assert not found
        assert f"{CHILD}: is listed in a sitemap index; it was not read" in problems
        return
    assert sorted(found) == sorted(listed.items), problems
    assert listed.problem in problems


@pytest.mark.req("LH-05")
@pytest.mark.parametrize("command", OFFLINE, ids=lambda command: command.__name__.removeprefix("by_"))
@pytest.mark.parametrize(("body", "code"), [(b"", 0), (b"\x89PNG\0\0", 2), (b'{"url": \n', 1)])
def test_filter_takes_an_empty_list_but_not_a_bad_one(
    world: World, command: Callable[[World, Listed], tuple[list[str], str]], body: bytes, code: int
) -> None:
    (world.folder / "list").write_bytes(body)
    world.run("db", "init", "--db", "urls")
    name = command.__name__.removeprefix("by_")
    argv = ["canon", "-"] if name == "canon" else ["db", name, "--db", "urls", "-"]
    assert with_input(world, Listed("list", body, []), *argv)[:2] == (code, "")


def test_pairs_of_urls_are_read_in_any_encoding(world: World) -> None:
    for number, encoding in enumerate(("utf-8-sig", "utf-16", "utf-8")):
        old, new = (f"https://e.example/{part}{number}" for part in ("old", "new"))
        text = f"# old and new\r\n{old} {new}\r\n".encode(encoding)
        (world.folder / "pairs").write_bytes(gzip.compress(text) if number else text)
        world.run("db", "init", "--db", "urls")
        world.run("db", "add", "--db", "urls", old)
        assert with_input(world, Listed("pairs", b"", []), "db", "mv", "--db", "urls", "-")[0] == 0
        assert new in world.run("db", "dump", "--db", "urls")[1].split()


@pytest.mark.parametrize(
    ("option", "argv"),
    [
        ("--from", ("batch", "data", "-o", "out.jsonl", "--dry-run", "--json")),
        ("--from", ("db", "import", "--db", "urls", "data")),
        ("--input", ("db", "audit", "data", "--all", "-f", "json")),
    ],
    ids=["batch", "import", "audit"],
)
def test_earlier_names_of_kind_still_work(
    world: World, capsys: pytest.CaptureFixture[str], option: str, argv: tuple[str, ...]
) -> None:
    (world.folder / "data").write_text('"https://e.example/one","x"\n')
    world.run("db", "init", "--db", "urls")
    code, out, err = world.run(*argv, option, "csv")
    assert code == 0
    assert '"planned": 1' in out or "e.example" in out or "1 added" in err
    with pytest.raises(SystemExit):
        world.run(*argv[: 1 + (argv[0] == "db")], "--help")
    assert option not in capsys.readouterr().out
    code, _, err = world.run(*argv, option, "nonsense")
    assert code == 2
    assert "'nonsense' is not a kind of source" in err


@pytest.mark.req("LH-05")
@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.json", '{"url": ', "line 1: is not JSON that can be read"),
        ("b.json", "nothing of JSON", "line 1: is not JSON that can be read"),
        ("c.yaml", "a: [1, 2\nb: }\n", "line 2: is not YAML that can be read"),
        ("commented.json", '// settings\n{"a": ["b", /* c */ 1,],}\n', ""),
        ("no-links.json", '["red", {"url": 5}]', ""),
        ("no-links.yaml", "- red\n- green\n", ""),
    ],
)
def test_check_refuses_unreadable_data(world: World, name: str, text: str, problem: str) -> None:
    (world.folder / name).write_text(text)
    code, out, err = world.run("check", name, "--no-history")
    assert (code, f"{name}: {problem}" in err) == ((2, True) if problem else (0, False))
    assert ("nothing to check" in out) is not bool(problem)
