"""The output of every command and format, compared with what is stored: a change of behaviour is seen here, or intended.

`make outputs` writes the stored files again; the diff is then part of the change and is read like code.
"""

from __future__ import annotations

import difflib
import gzip
import json
import os
import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import spaniel
from tests import programs
from tests.outputs.scenarios import SCENARIOS, SETTINGS, Scenario
from tests.outputs.world import FIRST, SECOND, serving
from tests.programs import SPANIEL

ROOT = Path(__file__).resolve().parents[2]
EXPECTED = Path(__file__).parent / "expected"
WRITE = bool(os.environ.get("WRITE_OUTPUTS"))

# What differs from run to run, and what is shown in its place.
VARYING = (
    (re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?"), "TIME"),
    (re.compile(r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} 20\d\d \d\d:\d\d:\d\d GMT"), "HTTP-TIME"),
    (re.compile(r"fetchTimeMs: \d+"), "fetchTimeMs: N"),
    (re.compile(r"urn:uuid:[0-9a-f-]{36}"), "urn:uuid:ID"),
    (re.compile(r'(\\?"ms\\?": ?|\bms )[\d.e-]+'), r"\1N"),
    (re.compile(r"records a second +[\d.]+"), "records a second N"),
    (re.compile(r"(\b20\d\d-\d\d-\d\d) \d\d:\d\d(?::\d\d)?"), r"\1 HH:MM"),
    (
        re.compile(r'("[a-z_]*(?:_ms|seconds|elapsed|bytes_per_second|cpu|duration|fetch_time)[a-z_]*": ?)[\d.e-]+'),
        r"\1N",
    ),
    (re.compile(r'(\btime(?:stamp)?=")[\d.T:-]+'), r"\1N"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s|µs|MB|KB)\b(?!\")"), "N"),
    (re.compile(r"\b\d+(?:\.\d+)? (?:seconds?|minutes?|pages a second|a second)\b"), "N"),
    (re.compile(r'("(?:cached_at|fetched_at|checked|first|last|since|expires|written)": ?)[\d.]+'), r"\1N"),
    (re.compile(r"spaniel[/ ]" + re.escape(spaniel.__version__)), "spaniel/VERSION"),
)
KEPT = ("2026-03-04T05:06:07Z", "Tue, 03 Nov 2026 08:00:00 GMT")  # of the pages themselves


def normalized(text: str, folder: Path) -> str:
    for number, kept in enumerate(KEPT):
        text = text.replace(kept, f"\0{number}\0")
    text = text.replace(str(folder), "FOLDER").replace(str(ROOT), "ROOT")
    for pattern, shown in VARYING:
        text = pattern.sub(shown, text)
    today = datetime.now(UTC)
    text = text.replace(f"{today:%Y-%m-%d}", "TODAY").replace(f"{today:%Y%m%d}", "TODAY")
    for number, kept in enumerate(KEPT):
        text = text.replace(f"\0{number}\0", kept)
    return text


def laid_out(text: str) -> str:
    """JSON lines as indented JSON, so that a difference is one short line; how they are written is part of it."""
    lines = []
    for line in text.split("\n"):
        try:
            found = json.loads(line) if line.startswith('{"') else None
        except ValueError:  # one object over several lines
            found = None
        if found is None:
            lines.append(line)
            continue
        for style, separators in (("compact", (",", ":")), ("spaced", (", ", ": "))):
            for kept in (False, True):
                if json.dumps(found, separators=separators, ensure_ascii=kept) == line:
                    break
            else:
                continue
            lines.append(f"json, {style}{', ASCII' if kept else ''}:")
            break
        lines.append(json.dumps(found, indent=1, ensure_ascii=False))
    return "\n".join(lines)


def content(path: Path) -> str:
    if path.suffix == ".parquet":
        import pyarrow.parquet

        rows = pyarrow.parquet.read_table(path)
        return f"{rows.schema}\n" + "".join(json.dumps(row, default=str) + "\n" for row in rows.to_pylist())
    data = path.read_bytes()
    if path.name.endswith(".warc.gz"):  # the metadata records hold times, so that their digests differ too
        text = gzip.decompress(data).decode("utf-8", "backslashreplace").replace("\r\n", "\n")
        for varying in ("WARC-Block-Digest: ", "Content-Length: "):
            text = re.sub(rf"(WARC-Type: metadata(?:\n.+)*?\n{varying}).+", r"\1VARYING", text)
        return text
    return data.decode("utf-8", "backslashreplace")


@pytest.fixture(scope="module")
def world() -> Iterator[None]:
    with serving():
        yield


def run(argv: tuple[str, ...], folder: Path) -> subprocess.CompletedProcess[str]:
    home = {f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("CACHE", "CONFIG", "STATE")}
    env = {**home, "PATH": os.environ["PATH"], "NO_COLOR": "1", "COLUMNS": "100", "HOME": str(folder)}
    env |= programs.read_at_the_start(os.environ)
    stdin = f"{FIRST}/article\n# comment\n{SECOND}/far\n" if "-" in argv else ""
    return programs.run(
        [*SPANIEL, *argv], cwd=folder, env=env, input=stdin, capture_output=True, encoding="utf-8", timeout=120
    )


def played(scenario: Scenario, folder: Path) -> str:
    (folder / "settings.toml").write_text(SETTINGS)
    for name, text in scenario.files.items():
        (folder / name).write_text(text)
    parts = []
    for argv in scenario.commands:
        done = run(argv, folder)
        parts.append(
            f"$ spaniel {' '.join(argv)}\n{done.stdout}--- stderr\n{done.stderr}--- exit code {done.returncode}\n"
        )
    for pattern in scenario.shown:
        found = sorted(path for path in folder.glob(pattern) if path.is_file())
        assert found, f"{scenario.name} wrote no {pattern}"
        parts += [f"=== {path.relative_to(folder)}\n{content(path)}" for path in found]
    return normalized(laid_out("\n".join(parts)), folder)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_output_is_unchanged(scenario: Scenario, world: None, tmp_path: Path) -> None:
    now, stored = played(scenario, tmp_path), EXPECTED / f"{scenario.name}.txt"
    if WRITE:
        stored.write_text(now, encoding="utf-8")
    before = stored.read_text(encoding="utf-8")
    assert now == before, "\n".join(difflib.unified_diff(before.splitlines(), now.splitlines(), "stored", "now", n=1))
