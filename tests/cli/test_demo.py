"""`spaniel demo`: the tour through the real pipeline, as a stranger sees it first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests import programs
from tests.programs import SPANIEL, spaniel


def test_the_tour_shows_good_pages_and_bad() -> None:
    done = spaniel("demo", COLUMNS="110")
    assert done.returncode == 0
    assert done.stderr == ""
    for text in (
        "Otters come back to the river",
        "farmers left a strip of ten metres unmown",
        "print(len(otters))",
        "cache_hit",
        "robots_disallowed: robots.txt of http://demo.example",
        "ssrf_blocked: Connection to 169.254.169.254 is blocked",
    ):
        assert text in done.stdout
    for gone in ("Accept all", "Also read", "Imprint", "Ignore all previous instructions", "Traceback"):
        assert gone not in done.stdout


def test_tour_ends_with_a_command_that_works(tmp_path: Path) -> None:
    script = Path(sys.executable).parent / "spaniel"
    started = [[str(script)], [os.path.relpath(script, tmp_path)], [sys.executable, "-m", "spaniel"]]
    for command in started:
        done = subprocess.run([*command, "demo"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
        words = done.stdout.rstrip().splitlines()[-2].partition(":")[2].split()
        assert words[-2:] == ["fetch", "URL"]
        again = subprocess.run([*words[:-2], "--version"], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert again.stdout.startswith("spaniel ")


def test_served_site_explains_how_to_fetch_it(tmp_path: Path) -> None:
    command = [*SPANIEL, "demo", "--serve", "--port", "0"]
    with programs.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        output = ""
        while "spaniel fetch" not in output:
            output += process.stdout.readline()
        (tmp_path / "local.toml").write_text(output[output.index("[tools") : output.index("Then,")], encoding="utf-8")
        fetch = output.splitlines()[-1].partition(": spaniel ")[2].split()
        done = spaniel(*fetch, cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path))
        taken = spaniel("demo", "--serve", "--port", fetch[-1].split(":")[-1].partition("/")[0])
        process.terminate()
    assert done.stdout.startswith("# Otters come back to the river")
    assert (taken.returncode, "bad_args: --port: " in taken.stderr) == (2, True)


def test_tour_leaves_the_guard_closed() -> None:
    """Loopback was open for the demo's own process and site; another process is as shut as ever."""
    done = spaniel("fetch", "http://127.0.0.1/")
    assert (done.returncode, done.stdout) == (3, "")
