"""Workers that are started before there is anything for them to do."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from spaniel.batch.launching import Launched
from spaniel.testing.batching import WHERE

if TYPE_CHECKING:
    import subprocess

    import pytest


def test_process_without_a_brief_ends_silently_with_its_input(capfd: pytest.CaptureFixture[str]) -> None:
    with closing(Launched(WHERE, 1)) as launched, launched.take() as process:
        said, _ = process.communicate(timeout=60)
        assert (process.returncode, said) == (0, b"")
    assert capfd.readouterr() == ("", "")


def test_surplus_and_untaken_processes_are_ended() -> None:
    launched = Launched(WHERE, 2)
    waiting: list[subprocess.Popen[bytes]] = list(launched._waiting)
    launched.keep(1)
    assert sorted(process.poll() is None for process in waiting) == [False, True]
    launched.close()
    assert all(process.returncode is not None for process in waiting)
