"""`spaniel demo`: the tour through the real pipeline, as a stranger sees it first."""

from __future__ import annotations

from tests.cli.test_canon import spaniel


def test_the_tour_shows_good_pages_and_bad() -> None:
    done = spaniel("demo", COLUMNS="110")
    assert done.returncode == 0
    assert done.stderr == ""
    for told in (
        "Otters come back to the river",
        "farmers left a strip of ten metres unmown",
        "print(len(otters))",
        "cache_hit",
        "robots_disallowed: robots.txt of http://demo.example",
        "ssrf_blocked: Connection to 169.254.169.254 is blocked",
    ):
        assert told in done.stdout
    for gone in ("Accept all", "Also read", "Imprint", "Ignore all previous instructions", "Traceback"):
        assert gone not in done.stdout


def test_the_tour_leaves_no_back_door() -> None:
    """Loopback was open for the demo's own process and site; another process is as shut as ever."""
    done = spaniel("fetch", "http://127.0.0.1/")
    assert (done.returncode, done.stdout) == (3, "")
