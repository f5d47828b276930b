"""Where input comes from and where output goes, in all the ways in which a shell may set them up."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import spaniel as package
from tests.cli.test_fetch import Place, place
from tests.programs import SPANIEL, spaniel

__all__ = ["place"]


def shell(command: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    line = command.replace("spaniel ", f"{' '.join(SPANIEL)} ", 1)
    return subprocess.run(["/bin/bash", "-c", line], capture_output=True, timeout=60, env=env or None, check=False)


def test_failed_fetch_does_not_replace_the_output_file(place: Place, tmp_path: Path) -> None:
    kept = tmp_path / "kept.md"
    kept.write_text("mine", encoding="utf-8")
    fetch = ("fetch", "-q", "--config", place.config, "-o", str(kept))
    for wrong in (f"{place.url}/missing", "nonsense"):
        assert spaniel(*fetch, wrong).returncode != 0
        assert kept.read_text(encoding="utf-8") == "mine"
    assert spaniel(*fetch, f"{place.url}/page").returncode == 0
    assert kept.read_text(encoding="utf-8").startswith("# Hello")
    assert [path.name for path in tmp_path.iterdir() if "tmp" in path.name] == []
    assert spaniel(*fetch[:-1], str(tmp_path / "none" / "x.md"), f"{place.url}/page").returncode == 2


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("spaniel canon https://a.example/ > /dev/full", "No space left"),
        ("spaniel config show > /dev/full", "No space left"),
        ("spaniel canon https://a.example/ >&-", "standard output"),
        ("spaniel extract - <&-", "standard input is closed"),
        ("spaniel chunk - <&-", "standard input is closed"),
        ("spaniel mcp <&-", "standard input is closed"),
        ("spaniel config show --config /dev/zero", "not a regular file"),
        ("spaniel config show --config /dev", "Is a directory"),
    ],
)
def test_missing_standard_stream_is_reported(command: str, message: str) -> None:
    done = shell(command)
    assert done.returncode == 2, done
    assert message in done.stderr.decode()
    assert b"internal" not in done.stderr


def test_closed_standard_error_does_not_stop_the_work(tmp_path: Path) -> None:
    """Services and jobs may be started without standard error; what goes wrong there must not cost the output."""
    (tmp_path / "notes.md").write_text("[a](none.md)\n")
    done = shell(f"spaniel check --no-history {tmp_path}/notes.md 2>&-")
    assert (done.returncode, b"1 link: 1 failing" in done.stdout) == (1, True), done
    batch = f"spaniel batch {tmp_path}/urls.txt -o {tmp_path}/out.jsonl --workers 1 2>&-"
    (tmp_path / "urls.txt").write_text("ftp://a.example/\n")
    assert shell(batch).returncode == 1
    assert (tmp_path / "out.jsonl").read_text().count("invalid_scheme")


def test_output_is_utf_8_whatever_the_locale() -> None:
    done = subprocess.run(
        [*SPANIEL, "chunk", "-"],
        input="# é ☃\n".encode(),
        capture_output=True,
        timeout=60,
        env={"PYTHONIOENCODING": "cp1252", "PATH": ""},
        check=False,
    )
    assert (done.returncode, "é ☃" in done.stdout.decode("utf-8")) == (0, True)


def test_cache_command_reads_the_cache_of_fetch(place: Place, tmp_path: Path) -> None:
    assert spaniel("fetch", "-q", "--config", place.config, f"{place.url}/page").returncode == 0
    assert "1 entries" in spaniel("cache", "stats", "--config", place.config).stdout
    other = tmp_path / "other"
    other.mkdir()
    done = spaniel("cache", "verify", "--dir", str(other))
    assert (done.returncode, list(other.iterdir())) == (7, [])
    assert "no page cache" in done.stderr


def test_failed_url_is_named_if_there_are_several(place: Place) -> None:
    done = spaniel("fetch", "-q", "--config", place.config, f"{place.url}/page", f"{place.url}/gone")
    assert done.returncode == 1
    assert f"{place.url}/gone: http_4xx" in done.stderr


def test_max_bytes_needs_json(place: Place) -> None:
    done = spaniel("fetch", "--config", place.config, "--max-bytes", "400", f"{place.url}/page")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--format json" in done.stderr


async def test_fetch_in_a_running_loop_suggests_the_async_client() -> None:
    with pytest.raises(RuntimeError, match=r"await spaniel\.afetch"):
        package.fetch("https://a.example/")


def test_make_run_passes_its_url_only_to_spaniel(tmp_path: Path) -> None:
    makefile = Path(__file__).parents[2] / "Makefile"
    trap = tmp_path / "trap"
    output = subprocess.run(
        ["make", "-f", str(makefile), "-n", "run", f"URL=x`touch {trap}`$(shell touch {trap})"],
        capture_output=True,
        timeout=60,
        cwd=makefile.parent,
        check=False,
    )
    assert output.returncode == 0
    assert b"touch" not in output.stdout.replace(b"touch .venv", b"")
    assert not trap.exists()
