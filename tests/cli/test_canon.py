"""`spaniel canon` as a person and a script use it: real processes, real pipes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import SPANIEL, spaniel


def test_prints_one_canonical_url_per_line() -> None:
    done = spaniel("canon", "--policy", "curious", "HTTPS://Example.com/a/", "http://b.example/?utm_x=1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "https://example.com/a\nhttp://b.example/\n", "")


def test_a_single_refused_url_ends_with_the_exit_code_of_its_error() -> None:
    done = spaniel("canon", "http://0x7f.1/")
    assert (done.returncode, done.stdout) == (2, "")
    assert "invalid_host" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bad_line_is_reported_with_its_number_and_does_not_stop_the_rest() -> None:
    done = spaniel("canon", "-", stdin=b"https://a.example/\n\nftp://b.example/\r\nhttps://c.example/\n\xff\xfe\n")
    assert done.returncode == 1
    assert done.stdout == "https://a.example/\nhttps://c.example/\n"
    assert "line 3: invalid_scheme" in done.stderr
    assert "line 5: invalid_url" in done.stderr


def test_fail_fast_stops_at_the_first() -> None:
    done = spaniel("canon", "--fail-fast", "https://a.example/", "ftp://b.example/", "https://c.example/")
    assert (done.returncode, done.stdout) == (1, "https://a.example/\n")


def test_endless_line_does_not_fill_the_memory() -> None:
    done = spaniel("canon", stdin=b"http://a.example/" + b"a" * 10_000_000 + b"\nhttps://b.example/\n")
    assert done.stdout == "https://b.example/\n"
    assert "line 1: is longer than" in done.stderr
    assert done.returncode == 1


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_stream_is_canonicalized_in_order_and_constant_memory() -> None:
    count = 200_000
    script = (
        "import re, sys\nfrom pathlib import Path\nfrom spaniel.cli.main import main\ncode = main(['canon', '-'])\n"
        "peak = re.search(r'VmHWM:\\s*([0-9]+)', Path('/proc/self/status').read_text())\n"
        "sys.stderr.write(peak[1])\nsys.exit(code)"
    )
    peaks = []
    for n in (1000, count):
        stdin = b"".join(b"https://host%d.example/%d?q=%d\n" % (i, i, i) for i in range(n))
        done = subprocess.run([sys.executable, "-c", script], input=stdin, capture_output=True, check=True, timeout=60)
        assert done.stdout == stdin
        peaks.append(int(done.stderr))
    assert peaks[1] - peaks[0] < 8_000  # KiB


def test_json_lines_carry_the_fields_and_explain_adds_the_steps() -> None:
    done = spaniel("canon", "--jsonl", "--explain", "--policy", "clara", "https://boe.es/a#b")
    record = json.loads(done.stdout)
    assert record["url"] == "https://www.boe.es/a"
    assert record["fragment_note"] == "#b"
    assert len(record["steps"]) == 13
    assert set(record["steps"][0]) == {"rule", "id", "before", "after", "note"}


def test_json_is_indented_for_a_single_url() -> None:
    done = spaniel("canon", "--json", "https://example.com/ü")
    assert json.loads(done.stdout)["original"] == "https://example.com/ü"
    assert done.stdout.startswith("{\n  ")


def test_broken_bytes_in_the_original_are_still_json() -> None:
    done = spaniel("canon", "--jsonl", "--policy", "clara", "https://example.es/tr\udce1mite", LC_ALL="C")
    assert json.loads(done.stdout)["url"] == "https://example.es/tr%E1mite"


def test_list_that_is_not_utf_8_is_read_as_windows_1252() -> None:
    """As every command reads it."""
    done = spaniel("canon", "--jsonl", "--policy", "clara", "-", stdin=b"https://example.es/tr\xe1mite\n", LC_ALL="C")
    assert json.loads(done.stdout)["url"] == "https://example.es/tr%C3%A1mite"


@pytest.mark.req("CP-16")
def test_explain_shows_before_and_after_of_each_step() -> None:
    done = spaniel("canon", "--explain", "--policy", "ingest", "HTTP://Example.COM:80/a/../b/?ref=1")
    assert "lower-host" in done.stdout
    assert "     - http://Example.COM:80/a/../b/?ref=1" in done.stdout
    assert "     + http://example.com:80/a/../b/?ref=1" in done.stdout
    assert "\x1b" not in done.stdout


def test_explain_is_colored_on_a_terminal_unless_no_color_is_set() -> None:
    pty = pytest.importorskip("pty")
    for no_colour in ("", "1"):
        output = bytearray()

        def read(fd: int, output: bytearray = output) -> bytes:
            data = os.read(fd, 65536)
            output.extend(data)
            return data

        saved, os.environ["NO_COLOR"] = os.environ.get("NO_COLOR"), no_colour
        try:
            code = pty.spawn([*SPANIEL, "canon", "--explain", "https://EXAMPLE.com/\u202e"], read)
        finally:
            os.environ.pop("NO_COLOR") if saved is None else os.environ.update(NO_COLOR=saved)
        assert code == 0
        assert (b"\x1b[32m" in output) is not bool(no_colour)
        assert "\u202e".encode() not in output


def test_table_has_one_row_per_url() -> None:
    done = spaniel("canon", "--table", "https://example.com/?b=1", "https://example.org/", COLUMNS="200")
    assert "https://example.com/?b=1" in done.stdout
    assert "https://example.org/" in done.stdout


@pytest.mark.req("UN-09")
def test_diff_shows_which_urls_would_change(tmp_path: Path) -> None:
    for version, extra in (("1", ""), ("2", '"src", ')):
        (tmp_path / f"v{version}.toml").write_text(
            f'name = "mine"\nversion = "{version}"\n[[apply]]\nrule = "parse"\n'
            f'[[apply]]\nrule = "drop-params"\nnames = [{extra}"utm_*"]\n',
            encoding="utf-8",
        )
    lines = b"https://a.example/?src=1\nhttps://b.example/?utm_x=1\nftp://c.example/\n"
    done = spaniel("canon", "--diff", "./v1.toml", "./v2.toml", "-", stdin=lines, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == "  https://a.example/?src=1\n- https://a.example/?src=1\n+ https://a.example/\n"
    assert "1 of 3 URLs change from mine 1 to mine 2" in done.stderr
    same = spaniel("canon", "--diff", "exact", "exact", "https://a.example/", "ftp://b.example/")
    assert (same.returncode, same.stdout) == (0, "")
    refused = spaniel("canon", "--diff", "exact", "ingest", "--jsonl", f"https://a.example/{'a' * 3000}")
    assert json.loads(refused.stdout)["after"] == "refused: invalid_url"


@pytest.mark.req("UN-09")
@pytest.mark.parametrize(
    ("url", "before", "after"),
    [
        ("https://a.example/%2f", "https://a.example/%2F", "https://a.example/%2f"),  # the case of an escape
        ("https://a.example/%7Eb", "https://a.example/~b", "https://a.example/%7Eb"),
        ("https://a.example/b/", "https://a.example/b/", "https://a.example/b"),
    ],
)
def test_diff_shows_the_smallest_change(url: str, before: str, after: str) -> None:
    done = spaniel("canon", "--diff", "exact", "curious", "--jsonl", url, "https://a.example/B?c=%2f")
    assert json.loads(done.stdout) == {"original": url, "before": before, "after": after}
    assert done.returncode == 1
    assert "1 of 2 URLs change from exact " in done.stderr


@pytest.mark.req("UN-07", "UN-10")
def test_overrides_come_from_the_option_or_the_default_file(tmp_path: Path) -> None:
    place = tmp_path / "config" / "url_normalization_overrides.v0.json"
    place.parent.mkdir()
    place.write_text('{"overrides": [{"match": {"host": "e.com"}, "drop_query_params": ["src"]}]}', encoding="utf-8")
    other = tmp_path / "other.json"
    other.write_text('{"overrides": [{"match": {"host": "e.com"}, "drop_query_params": ["x"]}]}', encoding="utf-8")
    url = "https://e.com/?src=1&x=1"
    assert spaniel("canon", "--policy", "curious", url, cwd=tmp_path).stdout == "https://e.com/?x=1\n"
    done = spaniel("canon", "--policy", "curious", "--overrides", "other.json", url, cwd=tmp_path)
    assert done.stdout == "https://e.com/?src=1\n"
    other.write_text("{", encoding="utf-8")
    broken = spaniel("canon", "--policy", "curious", "--overrides", "other.json", url, cwd=tmp_path)
    assert broken.returncode == 2
    assert "other.json:1:2: not JSON" in broken.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["cannon"], "did you mean 'canon'?"),
        (["canon", "--policy", "exat", "https://a.example/"], "did you mean 'exact'?"),
        (["canon", "--policy", "./none.toml", "https://a.example/"], "cannot be read"),
        (["canon", "--json", "--table", "https://a.example/"], "not allowed with"),
        (["canon", "--overrides", "x.json", "https://a.example/"], "has no rule 'apply-overrides'"),
        (["canon", "--nope"], "unrecognized arguments"),
    ],
)
def test_mistake_is_reported_with_a_hint(args: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"overrides": []}', encoding="utf-8")
    done = spaniel(*args, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_closed_pipe_is_not_an_error() -> None:
    pipe = f"yes https://a.example/ | head -100000 | {sys.executable} -m spaniel canon - | head -1"
    done = subprocess.run(
        ["sh", "-c", pipe],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "https://a.example/\n"
    assert done.stderr == ""


def test_the_demo_shows_the_samples_under_all_four_policies() -> None:
    done = spaniel("demo", "--policies", COLUMNS="220")
    assert done.returncode == 0
    for word in (
        "exact",
        "ingest",
        "clara",
        "curious",
        "https://example.com/api/v2?format=json",
        "refused: invalid_host",
    ):
        assert word in done.stdout


def test_help_and_version() -> None:
    assert "Commands:" in spaniel("--help").stdout
    assert "Commands:" in spaniel().stdout
    assert spaniel("--version").stdout.startswith("spaniel 0.")
    assert "--explain" in spaniel("canon", "--help").stdout
