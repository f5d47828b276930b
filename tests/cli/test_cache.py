"""`spaniel cache` as a person and a script use it: real processes on real folders."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spaniel.cache import key_for
from spaniel.cli.cache import readable
from tests.cache.harness import file_of, quick
from tests.programs import spaniel

ESCAPES = "\x1b[31m\u202e"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two hosts; one page in two renderings; one old page; one that tries to write to the terminal."""
    found = tmp_path / "cache"
    now = datetime.now(UTC)
    with quick(found) as cache:
        cache.put(key_for("https://a.example/page"), {"markdown": "by http"}, now)
        cache.put(key_for("https://a.example/page", "browser"), {"markdown": "by browser"}, now)
        cache.put(key_for("https://a.example/old"), {"markdown": "old"}, now - timedelta(days=10))
        cache.put(key_for("https://b.example/"), {"title": f"evil {ESCAPES}"}, now)
        cache.put(key_for("https://b.example/a", "http", "ingest", 1), {"markdown": "ingested"}, now)
    return found


def test_stats_say_how_much_there_is(folder: Path) -> None:
    done = spaniel("cache", "stats", "--dir", str(folder))
    assert done.returncode == 0, done.stderr
    assert "5 entries of 2 hosts" in done.stdout
    assert "1 expired" in done.stdout
    facts = json.loads(spaniel("cache", "stats", "--dir", str(folder), "--json").stdout)
    assert (facts["entries"], facts["hosts"], facts["expired"]) == (5, 2, 1)
    assert facts["renderings"] == {"browser": 1, "http": 4}
    assert facts["bytes"] == sum(path.stat().st_size for path in folder.rglob("*.json"))


def test_ls_lists_the_last_used_first(folder: Path) -> None:
    done = spaniel("cache", "ls", "--dir", str(folder))
    lines = done.stdout.splitlines()
    assert [line.split()[-1] for line in lines] == [
        "https://b.example/a",
        "https://b.example/",
        "https://a.example/old",
        "https://a.example/page",
        "https://a.example/page",
    ]
    assert "expired" in lines[2]
    listed = json.loads(spaniel("cache", "ls", "--dir", str(folder), "--json").stdout)
    assert [item["profile"] for item in listed] == ["ingest@1", None, None, None, None]
    assert listed[2]["fresh"] is False
    assert file_of(folder, key_for("https://b.example/")).name == f"{listed[1]['key']}.json"


def test_ls_stops_when_its_pipe_is_closed(folder: Path) -> None:
    import subprocess
    import sys

    with quick(folder) as cache:
        for number in range(800):  # more than a pipe holds
            cache.put(key_for(f"https://a.example/{'x' * 50}{number}"), 1)
    script = f'"{sys.executable}" -m spaniel cache ls --dir "{folder}" | head -1'
    done = subprocess.run(["bash", "-o", "pipefail", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1


def test_show_finds_every_rendering_under_any_spelling(folder: Path) -> None:
    shown = json.loads(
        spaniel("cache", "show", "HTTPS://A.example:443/page#top", "--dir", str(folder), "--json").stdout
    )
    assert {item["rendering_method"]: item["content"]["markdown"] for item in shown} == {
        "http": "by http",
        "browser": "by browser",
    }
    assert all(Path(item["path"]).is_file() for item in shown)


def test_show_finds_pages_keyed_by_another_policy(folder: Path) -> None:
    done = spaniel("cache", "show", "https://b.example/a?utm_source=x", "--dir", str(folder))
    assert done.returncode == 0, done.stderr
    assert "profile: ingest@1" in done.stdout
    assert '"markdown": "ingested"' in done.stdout


def test_page_content_cannot_control_the_terminal(folder: Path) -> None:
    done = spaniel("cache", "show", "https://b.example/", "--dir", str(folder))
    assert "evil" in done.stdout
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout


def test_show_reports_a_page_that_is_not_cached(folder: Path) -> None:
    done = spaniel("cache", "show", "https://c.example/", "--dir", str(folder))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "spaniel: https://c.example/ is not in the cache\n"


@pytest.mark.req("D2-22")
def test_damaged_entry_is_cache_read_failed(folder: Path) -> None:
    path = file_of(folder, key_for("https://b.example/"))
    path.write_bytes(path.read_bytes().replace(b"evil", b"good"))
    done = spaniel("cache", "show", "https://b.example/", "--dir", str(folder))
    assert (done.returncode, done.stdout) == (7, "")
    assert "cache_read_failed" in done.stderr
    assert path.name in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.req("FR-WF-17b")
@pytest.mark.parametrize(
    ("options", "left"),
    [
        (["--older-than", "7d"], 4),
        (["--older-than", "2w"], 5),
        (["--host", "A.example."], 2),
        (["--host", "example"], 5),
        (["--host", "a.example", "--older-than", "1w"], 4),
        ([], 0),
    ],
)
def test_clear_removes_selected_pages_and_reports_the_number(folder: Path, options: list[str], left: int) -> None:
    done = spaniel("cache", "clear", *options, "--dir", str(folder))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"removed {5 - left} entries")
    assert len(list(folder.rglob("*.json"))) == left
    assert spaniel("cache", "verify", "--dir", str(folder)).returncode == 0
    again = json.loads(spaniel("cache", "clear", *options, "--dir", str(folder), "--json").stdout)
    assert again == {"entries": 0, "bytes": 0}


@pytest.mark.parametrize("text", ["7", "d", "7y", "-1d", "", "1e9d", "٣d x"])
def test_invalid_duration_is_refused_with_examples(folder: Path, text: str) -> None:
    done = spaniel("cache", "clear", f"--older-than={text}", "--dir", str(folder))
    assert done.returncode == 2
    assert "12h, 7d" in done.stderr
    assert len(list(folder.rglob("*.json"))) == 5


def test_verify_lists_problems_only(folder: Path) -> None:
    done = spaniel("cache", "verify", "--dir", str(folder))
    assert (done.returncode, done.stdout) == (0, "5 entries read, 0 problems\n")
    path = file_of(folder, key_for("https://b.example/"))
    path.write_bytes(path.read_bytes()[:-1])
    done = spaniel("cache", "verify", "--dir", str(folder))
    assert done.returncode == 1
    assert f"damaged: {path}" in done.stdout
    assert path.exists()
    facts = json.loads(spaniel("cache", "verify", "--repair", "--json", "--dir", str(folder)).stdout)
    assert facts["checked"] == 4
    assert "damaged" in {problem["kind"] for problem in facts["problems"]}
    assert not path.exists()
    assert spaniel("cache", "verify", "--dir", str(folder)).returncode == 0


@pytest.mark.parametrize("command", ["stats", "ls", "clear", "verify"])
@pytest.mark.parametrize("what", ["missing", "file", "open", "link"])
def test_unusable_folder_is_refused_with_a_reason(tmp_path: Path, command: str, what: str) -> None:
    path = tmp_path / what
    match what:
        case "file":
            path.touch()
        case "open":
            path.mkdir()
            path.chmod(0o777)
        case "link":
            path.symlink_to(tmp_path)
    done = spaniel("cache", command, "--dir", str(path))
    assert (done.returncode, done.stdout) == (7, "")
    assert done.stderr.startswith(f"spaniel: cache_read_failed: Cannot read the cache at {path}: ")
    assert "Traceback" not in done.stderr
    assert path.is_dir() == (what in ("open", "link"))


@pytest.mark.req("D2-21")
def test_default_is_the_users_own_cache_even_if_unused(tmp_path: Path) -> None:
    done = spaniel("cache", "stats", "--json", XDG_CACHE_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["folder"], facts["entries"], facts["oldest"]) == (str(tmp_path / "spaniel"), 0, None)
    assert (tmp_path / "spaniel").stat().st_mode & 0o777 == 0o700
    assert spaniel("cache", "ls", "--json", XDG_CACHE_HOME=str(tmp_path)).stdout == "[]\n"


def test_read_only_home_gives_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = spaniel("cache", "stats", XDG_CACHE_HOME=str(tmp_path / "file"))
    assert done.returncode == 7
    assert "cache_read_failed" in done.stderr


def test_sizes_are_readable() -> None:
    sizes = [readable(size) for size in (0, 1023, 1024, 1 << 20, (1 << 30) - 1, 3 << 40)]
    assert sizes == ["0 bytes", "1023 bytes", "1.0 KiB", "1.0 MiB", "1,024.0 MiB", "3,072.0 GiB"]


def test_help_of_the_program_does_not_load_the_cache() -> None:
    from tests.test_package import imported_by

    loaded = imported_by(
        "import sys; from spaniel.cli.main import main; sys.stdout = sys.stderr; main([]); sys.stdout = sys.__stdout__"
    )
    assert not loaded & {"msgspec", "sqlite3", "spaniel.cache"}
