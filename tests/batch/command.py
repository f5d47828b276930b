"""`spaniel batch` as people run it, against the server on loopback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests import programs
from tests.batch.harness import Served

HOSTS = 4  # 127.0.0.1 to 127.0.0.4, where the server listens


def urls_at(served: Served, count: int) -> list[str]:
    return [served.url(f"127.0.0.{1 + n % HOSTS}", f"/ok{n}") for n in range(count)]


def command(served: Served, folder: Path, *more: str, fast: bool = True) -> list[str]:
    """The command line, with settings that open loopback."""
    settings = folder / "local.toml"
    settings.write_text(
        f'[tools.webfetch]\ncache_dir = "{folder}/cache"\n[tools.webfetch.browser]\nenabled = false\n'
        "[tools.webfetch.security]\nallow_insecure_overrides = true\nblock_loopback = false\n"
        f'allowed_ports = [{served.port}]\n[spaniel.archive]\navailable = ""\n'  # no requests outside
    )
    pace = ["--delay", "0", "--per-host", "16"] if fast else []
    fixed = ["--workers", "1", "--config", str(settings), "-o", str(folder / "out.jsonl")]
    return [sys.executable, "-m", "spaniel", "batch", str(folder / "urls.txt"), *fixed, *pace, *more]


def environment(folder: Path) -> dict[str, str]:
    return os.environ | {"XDG_CACHE_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}


def spaniel(served: Served, folder: Path, *more: str, fast: bool = True) -> subprocess.CompletedProcess[str]:
    line: Sequence[str] = command(served, folder, *more, fast=fast)
    return programs.run(line, env=environment(folder), capture_output=True, text=True, timeout=120, check=False)
