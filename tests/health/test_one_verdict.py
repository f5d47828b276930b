"""The same page has the same verdict in a record (`fetch`, `batch`), in `check` and in `db check` (LH-02).

Every command visits the same loopback sites, which play every verdict. `changed`, `skipped` and `dead` by history need
more than one page, and have tests of their own below.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import programs
from tests.health.sites import HTML, Check, Reply, Site, check, names, page, to

__all__ = ["check"]

LONG = "<p>" + "The spaniel fetches gently and goes where it is sent every day of the year. " * 8 + "</p>"
WALL = """<div class="paywall"><h2>Subscribe to continue reading</h2><p>You have read your last free article.
Already a subscriber? <a href="/in">Log in</a></p><button>Subscribe now</button></div>"""
LOGIN = "<h1>Log in</h1><form><input name=user><input type=password name=secret></form>"
ROBOTS = Reply(200, "User-agent: *\nDisallow: /private\n", ("Content-Type: text/plain",))
PLAIN = page(f"<h1>A page</h1>{LONG}")


class Case(NamedTuple):
    word: str
    reply: Reply
    alone: bool = False  # at a host of its own: how it answers may concern the whole host


CASES: dict[str, Case] = {
    "/page": Case("ok", PLAIN),
    "/empty": Case("ok", Reply(204)),
    "/choices": Case("ok", Reply(300, "<a href=/page>one</a>")),
    "/picture": Case("ok", Reply(200, b"\x89PNG\r\n\x1a\n", ("Content-Type: image/png",))),
    "/parked": Case("ok", page("<h1>This domain is for sale</h1><p>Buy it today.</p>")),
    "/soft": Case("ok", page("<h1>Page not found</h1><p>It does not exist.</p>")),
    "/moved": Case("moved", to("/page", 301)),
    "/for-now": Case("moved", to("/page")),
    "/to-front": Case("moved", to("/")),
    "/to-picture": Case("moved", to("/picture", 308)),
    "/401": Case("blocked", Reply(401, "<h1>Log in</h1>")),
    "/402": Case("blocked", Reply(402, "<h1>Pay</h1>")),
    "/403": Case("blocked", Reply(403, "<h1>Forbidden</h1>")),
    "/407": Case("blocked", Reply(407, "<h1>Proxy</h1>")),
    "/451": Case("blocked", Reply(451, "<h1>Law</h1>")),
    "/999": Case("blocked", Reply(999, "<h1>No programs</h1>")),
    "/challenge": Case("blocked", page("<p>Checking your browser.</p>", "Just a moment...")),
    "/challenge-503": Case("blocked", page("<p>Checking your browser.</p>", "Just a moment...")._replace(status=503)),
    "/region": Case("blocked", page("<p>This page is not available in your country.</p>")),
    "/paywall": Case("blocked", page(f"<h1>A story</h1>{LONG}{WALL}")),
    "/to-login": Case("blocked", to("/login")),
    "/private": Case("blocked", PLAIN),
    "/to-private": Case("blocked", to("/private/page", 301)),
    "/to-address": Case("blocked", to("http://10.1.2.3/")),
    "/limited-page": Case("rate-limited", page("<p>Slow down.</p>", "Too many requests")),
    "/limited-403": Case("rate-limited", page("<p>Slow down.</p>", "Too many requests")._replace(status=403)),
    "/429": Case("rate-limited", Reply(429, "", (HTML, "Retry-After: 3600")), alone=True),
    "/503-later": Case("rate-limited", Reply(503, "", (HTML, "Retry-After: 3600")), alone=True),
    "/404": Case("failing", Reply(404, "<h1>Not found</h1>")),
    "/to-404": Case("failing", to("/404", 301)),
    "/410": Case("dead", Reply(410, "<h1>Gone</h1>")),
    "/to-410": Case("dead", to("/410", 301)),
    "/400": Case("unknown", Reply(400, "<h1>Bad request</h1>")),
    "/418": Case("unknown", Reply(418, "<h1>Teapot</h1>")),
    "/loop": Case("unknown", to("/loop")),
    "/to-file": Case("unknown", to("file:///etc/passwd")),
    "/to-nonsense": Case("unknown", to("http://[")),
    "/500": Case("unknown", Reply(500, "<h1>Error</h1>"), alone=True),
    "/503": Case("unknown", Reply(503, "<h1>Error</h1>"), alone=True),
    "/503-nonsense": Case("unknown", Reply(503, "", (HTML, "Retry-After: soon")), alone=True),
    "/reset": Case("unknown", Reply(action="reset"), alone=True),
}
REFUSED, PRIVATE = "refused", "http://10.1.2.3/page"
WORDS = {**{path: case.word for path, case in CASES.items()}, REFUSED: "failing", PRIVATE: "blocked"}
COMMANDS = ("fetch", "batch", "check", "db check")


def site(*paths: str, address: str = "127.0.0.1") -> Site:
    others = {"/": PLAIN, "/login": page(LOGIN, "Log in"), "/robots.txt": ROBOTS}
    return Site({**others, **{path: CASES[path].reply for path in paths}}, address)


def settings(folder: Path, *ports: int) -> Path:
    """With loopback allowed; a profile like `ingest` that does not retry, so that no test waits for that."""
    profile = resources.files("spaniel.pipeline").joinpath("profiles", "ingest.toml").read_text()
    profile, count = re.subn(r'\[\[fallbacks\]\]\nname = "retry"\nafter_seconds = \d+\n', "", profile)
    assert count == 3
    (folder / "hasty.toml").write_text(profile.replace('name = "ingest"', 'name = "hasty"', 1))
    file = folder / "local.toml"  # where the fixture `check` has its settings
    file.write_text(
        f'[tools.webfetch]\ncache_dir = "{folder}/cache"\n[tools.webfetch.browser]\nenabled = false\n'
        "[tools.webfetch.security]\nallow_insecure_overrides = true\nblock_loopback = false\n"
        f'allowed_ports = {[80, 443, *ports]}\n[spaniel.archive]\navailable = ""\n'
    )
    return file


def database(folder: Path, urls: Mapping[str, str]) -> Path:
    """Of these URLs, each with further keys of its record."""
    paths = defaultdict(list)
    for url, keys in urls.items():
        host, _, path = url.removeprefix("http://").partition("/")
        paths[host].append(f"---\n_path: /{path}\n{keys}")
    folder.mkdir()
    for host, records in paths.items():
        (folder / f"{host.replace(':', '%3A')}.yaml").write_text("".join(["---\n", *sorted(records)]))
    return folder


def start(folder: Path, *args: str) -> subprocess.Popen[str]:
    """A command with state of its own: what a host asked one command for is not remembered for the next."""
    folder.mkdir()
    state = {f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("CACHE", "CONFIG", "STATE", "DATA")}
    command = [sys.executable, "-m", "spaniel", *args, "--config", str(folder.parent / f"{folder.name}.toml")]
    pipe = subprocess.PIPE
    return programs.Popen(command, env=os.environ | state, stdout=pipe, stderr=pipe, text=True, cwd=folder)


def verdicts(lines: str, key: str) -> dict[str, str]:
    return {row[key]: row["verdict"] for row in map(json.loads, lines.splitlines())}


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, str]]]:
    """What each command says of each case."""
    folder = tmp_path_factory.mktemp("verdicts")
    with ExitStack() as stack:
        shared = stack.enter_context(site(*(path for path, case in CASES.items() if not case.alone)))
        own = {
            path: stack.enter_context(site(path, address=f"127.0.0.{number}"))
            for number, path in enumerate((path for path, case in CASES.items() if case.alone), 2)
        }
        closed = Site({}, "127.0.0.99")
        with closed:
            pass
        urls = {path: own.get(path, shared).url(path) for path in CASES}
        urls |= {REFUSED: closed.url("/page"), PRIVATE: PRIVATE}
        config = settings(folder, closed.port, *(each.port for each in (shared, *own.values()))).read_text()
        for name in ("fetch", "batch", "check", "db"):
            (folder / f"{name}.toml").write_text(config.replace(f"{folder}/cache", f"{folder}/{name}-cache"))
        listed, profile = folder / "urls.txt", str(folder / "hasty.toml")
        listed.write_text("\n".join(urls.values()))
        base = database(folder / "base", dict.fromkeys(urls.values(), ""))
        quick = ("--delay", "0", "--robots", "-f", "jsonl")
        commands = {
            "fetch": ("fetch", *urls.values(), "--profile", profile, "-f", "record"),
            "batch": ("batch", str(listed), "-o", "out.jsonl", "--profile", profile, "--delay", "0", "--workers", "1"),
            "check": ("check", str(listed), *quick),
            "db": ("db", "check", "--db", str(base), *quick),
        }
        started = {name: stack.enter_context(start(folder / name, *args)) for name, args in commands.items()}
        for process in started.values():
            stack.callback(process.kill)
        printed = {}
        for name, process in started.items():
            out, err = process.communicate(timeout=300)
            assert process.returncode in (0, 1, 3), f"{name}: {err}"
            printed[name] = out
        records = (folder / "batch" / "out.jsonl").read_text()
        found = {
            "fetch": verdicts(printed["fetch"], "requested_url"),
            "batch": verdicts(records, "requested_url"),
            "check": verdicts(printed["check"], "url"),
            "db check": verdicts(printed["db"], "url"),
        }
        yield {command: {case: found[command].get(url, "-") for case, url in urls.items()} for command in COMMANDS}


@pytest.mark.req("LH-02")
@pytest.mark.parametrize("case", WORDS)
def test_every_command_gives_the_same_verdict(words: dict[str, dict[str, str]], case: str) -> None:
    assert {command: words[command][case] for command in COMMANDS} == dict.fromkeys(COMMANDS, WORDS[case])


def fetched(check: Check, *args: str) -> dict[str, str]:
    command = ("fetch", *args, "--profile", "ingest", "-f", "record", "--max-wait", "0s")
    return verdicts(check(command=command, delay=()).out, "requested_url")


def kept(check: Check, base: Path) -> dict[str, str]:
    return verdicts(check("--db", str(base), "-f", "jsonl", command=("db", "check")).out, "url")


@pytest.mark.req("LH-02")
def test_paywall_is_found_on_every_link_of_a_host(check: Check) -> None:
    """HEAD does not show it: after the first, such a host is requested by GET."""
    links = [f"/{n}" for n in range(4)]
    with Site(dict.fromkeys(links, CASES["/paywall"].reply)) as site:
        found = verdicts(check(*(site.url(link) for link in links), "-f", "jsonl").out, "url")
    assert list(found.values()) == ["blocked"] * 4


@pytest.mark.req("LH-02")
def test_unknown_name_is_failing_everywhere(check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "http://mistyped.example/page"
    base = database(tmp_path / "base", {url: ""})
    with names(monkeypatch, {"mistyped.example": "nxdomain"}):
        assert fetched(check, url) == {url: "failing"}
        assert verdicts(check(url, "-f", "jsonl").out, "url") == {url: "failing"}
        assert kept(check, base) == {url: "failing"}


@pytest.mark.req("LH-02")
def test_url_that_is_not_requested_is_skipped(check: Check, tmp_path: Path) -> None:
    """A database has no links with a scheme of their own: there, what is deprecated is skipped."""
    url, old = "ftp://files.example/a.zip", "http://old.example/page"
    base = database(tmp_path / "base", {old: "categories:\n- deprecated\n"})
    assert fetched(check, url) == {url: "skipped"}
    document = tmp_path / "doc.md"
    document.write_text(f"[link]({url})\n")
    assert verdicts(check(str(document), "-f", "jsonl").out, "url") == {url: "skipped"}
    assert kept(check, base) == {old: "skipped"}


@pytest.mark.req("LH-02")
def test_content_that_differs_is_changed_even_at_another_address(check: Check, tmp_path: Path) -> None:
    """From the cached copy, in a record; from what is asserted, in a database. A link in a document asserts nothing."""
    pages = {"/old": to("/new", 301), "/new": PLAIN}
    with Site(pages) as site:
        url = site.url("/old")
        before = hashlib.sha256(str(PLAIN.body).encode()).hexdigest()
        base = database(tmp_path / "base", {url: f"content-sha256: {before}\n"})
        settings(tmp_path, site.port)
        assert fetched(check, url) == {url: "moved"}
        assert kept(check, base) == {url: "moved"}
        pages["/new"] = page(f"<h1>Another page</h1>{LONG}")
        assert fetched(check, url, "--max-age", "0s") == {url: "changed"}
        assert kept(check, base) == {url: "changed"}
        assert verdicts(check(url, "-f", "jsonl").out, "url") == {url: "moved"}


@pytest.mark.req("LH-02")
def test_dead_after_three_failures_three_days_apart(check: Check, tmp_path: Path) -> None:
    """The checks of earlier days are made by moving those in the history into the past."""
    with Site({}) as site:
        url = site.url("/404")
        base = database(tmp_path / "base", {url: ""})
        commands: dict[str, Callable[[], dict[str, str]]] = {
            "state": lambda: verdicts(check(url, "-f", "jsonl").out, "url"),
            "base": lambda: kept(check, base),
        }
        for folder, run in commands.items():
            seen = []
            for _ in range(3):
                seen.append(run()[url])
                (file,) = (file for file in (tmp_path / folder).rglob("*") if is_history(file))
                with closing(sqlite3.connect(file)) as history, history:
                    history.execute("UPDATE health SET first_at = first_at - 260000, last_at = last_at - 260000")
            assert seen == ["failing", "failing", "dead"]
        settings(tmp_path, site.port)
        assert fetched(check, url) == {url: "failing"}  # a record knows no earlier checks


def is_history(file: Path) -> bool:
    return file.is_file() and file.read_bytes().startswith(b"SQLite format 3")
