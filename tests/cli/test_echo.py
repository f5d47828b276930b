"""URLs that come back in what Spaniel prints: nothing in them steers a terminal or hides, and no password returns."""

from __future__ import annotations

import json

import pytest

from spaniel.url.parsing import parse, requested
from tests.programs import spaniel

HIDDEN = "\u202e\u2066\u200f\u2028\u2029\u200b\ufeff\ufffe\U0001bca0\U000e0041"
C1 = "\x85\x9b31m"
URLS = {
    "good": f"http://user:secret@127.0.0.1/a{HIDDEN}?utm_{HIDDEN}=1&b={HIDDEN}#{HIDDEN}",
    "refused": f"http://user:secret@127.0.0.1/{C1}{HIDDEN}",
    "host": f"https://ex{HIDDEN}ample.com/",
    "no url": f"ja{HIDDEN}{C1}va:alert(1)",
}
COMMANDS = [
    ("canon",),
    ("canon", "--explain"),
    ("canon", "--json", "--explain"),
    ("canon", "--policy", "clara", "--jsonl"),
    ("canon", "--table"),
    ("canon", "--diff", "exact", "clara"),
    ("canon", "--diff", "exact", "clara", "--json"),
    ("fetch", "--format", "json", "-v", "--explain"),
    ("fetch", "http://127.0.0.1/"),
    ("fetch", "http://127.0.0.1/", "--max-bytes", "9"),  # what argparse does not take, it shows
    ("may-i", "--json"),
    ("cache", "show"),
]


@pytest.mark.req("D2-15")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_prints_control_characters(
    command: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = str(tmp_path_factory.mktemp("home"))
    output = ""
    for url in URLS.values():
        done = spaniel(*command, url, HOME=home, XDG_CACHE_HOME=home)
        assert "Traceback" not in done.stderr
        output += done.stdout + done.stderr
        assert not set(done.stdout + done.stderr) & set(HIDDEN + C1 + "\x7f\x1b") - set("31m")
    assert output  # the control: something was said of them
    if command[0] != "cache" and "--max-bytes" not in command:
        assert "secret" not in output


@pytest.mark.req("FR-WF-18", "D2-15")
def test_error_shows_the_url_like_a_result(tmp_path_factory: pytest.TempPathFactory) -> None:
    home = str(tmp_path_factory.mktemp("home"))
    done = spaniel("fetch", "--format", "json", "http://u:secret@127.0.0.1/@me/\u202e?q=ü", XDG_CACHE_HOME=home)
    assert json.loads(done.stdout)["requested_url"] == "http://127.0.0.1/@me/%E2%80%AE?q=ü"


@pytest.mark.req("D2-15")
@pytest.mark.parametrize(
    ("raw", "named"),
    [
        ("https://example.com/ü?a=b c#d", "https://example.com/ü?a=b c#d"),
        ("\n https://example.com/ \t", "https://example.com/"),
        ("https://example.com/@me", "https://example.com/@me"),
        ("https://u:p@example.com/@me", "https://example.com/@me"),
        ("https://u:p@exa mple.com/", "https://exa mple.com/"),
        ("https://example.com/a\u202eb\x9bc\u00a0d", "https://example.com/a%E2%80%AEb%C2%9Bc%C2%A0d"),
        ("https://example.com/\udcff\ud800", "https://example.com/%FF%ED%A0%80"),
        ("https://example.com/\U000e0041\ufffe", "https://example.com/%F3%A0%81%81%EF%BF%BE"),
    ],
)
def test_url_is_shown_as_written_except_control_characters(raw: str, named: str) -> None:
    assert requested(raw) == named
    assert named.isprintable()


def test_escaped_url_is_still_the_same_url() -> None:
    url = f"https://example.com/a{HIDDEN}?b={HIDDEN}#c{HIDDEN}"
    assert parse(requested(url)) == parse(url)
