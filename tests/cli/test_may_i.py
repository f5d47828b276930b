"""`spaniel may-i`: the answer, the line that gave it, and an exit code for scripts."""

from __future__ import annotations

import json

import pytest

from spaniel.cli import may_i
from tests.cli.test_canon import spaniel
from tests.loopback import Site, rooms_for, text

ROBOTS = text("User-agent: *\nDisallow: /no\nAllow: /no/but\nCrawl-delay: 2\nContent-Signal: ai-train=no\n")


async def ask(path: str, *options: str) -> int:
    pages = {"/robots.txt": ROBOTS, "/yes": text("x" * 10_000, headers={"X-Robots-Tag": "noai\x1b[31m"})}
    async with Site({**pages}) as site, rooms_for(site) as rooms:
        return await may_i.ask(may_i.parser().parse_args([site.url(path), *options]), rooms)


@pytest.mark.req("FR-WF-08c")
async def test_no_comes_with_the_line_that_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert await ask("/no/x") == 3
    out = capsys.readouterr().out
    assert out.startswith("no http://site.example")
    assert "line 2: Disallow: /no (group '*')" in out
    assert "crawl-delay: 2.0" in out
    assert "content-signal: ai-train=no" in out


async def test_yes_comes_with_what_the_page_itself_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert await ask("/yes") == 0
    out = capsys.readouterr().out
    assert out.startswith("yes ")
    assert "x-robots-tag: noai\\x1b[31m" in out
    assert "no rule of group '*' speaks of it" in out


async def test_json_has_the_same_facts(capsys: pytest.CaptureFixture[str]) -> None:
    assert await ask("/no/but", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["allowed"] is True
    assert (facts["line"], facts["rule"], facts["group"]) == (3, "Allow: /no/but", "*")


@pytest.mark.parametrize(
    ("url", "code", "exit_code"),
    [
        ("http://127.0.0.1/", "ssrf_blocked", 3),
        ("ftp://a.example/", "invalid_scheme", 2),
        ("http://no.invalid/", "dns_failed", 4),
    ],
)
def test_a_url_that_is_refused_ends_with_its_own_code(url: str, code: str, exit_code: int) -> None:
    done = spaniel("may-i", url)
    assert (done.returncode, done.stdout) == (exit_code, "")
    assert code in done.stderr
    assert "Traceback" not in done.stderr
