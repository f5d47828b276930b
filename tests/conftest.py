"""What every test shares: reproducible hypothesis runs, and no test left out where CI should have what it needs."""

from __future__ import annotations

import gc
import logging
import os
import shutil
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], max_examples=100
)
settings.register_profile("wide", parent=settings.get_profile("steady"), derandomize=False, max_examples=20_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

# A shell that starts us in the background has us ignore Ctrl-C, and so would every program that a test stops by it.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)  # so with `nohup`; what is ignored by a function is not inherited

# Thousands of tests are collected and none goes away: looking for garbage among them took a third of the time.
gc.disable()

MAY_BE_MISSING = "the shared corpus is not here"  # the project stands alone


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI a skipped test is a failure: a gap must not hide behind a green run."""
    report = yield
    skipped = report.skipped and not hasattr(report, "wasxfail")
    if skipped and os.environ.get("CI") and MAY_BE_MISSING not in str(report.longrepr):
        report.outcome = "failed"
        report.longrepr = f"skipped, but CI should have what it needs: {report.longrepr}"
    return report


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What was collected stays: no later search for garbage looks at it again."""
    gc.enable()
    gc.freeze()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Compressed data has the time in it, and every worker of pytest-xdist must give a test the same name."""
    return argname if isinstance(val, bytes) and val.startswith(b"\x1f\x8b") else None


@pytest.fixture(scope="session")
def users_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Stand-ins for the user's cache and configuration, for this process and all that it starts."""
    folder = tmp_path_factory.mktemp("user")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        yield folder


@pytest.fixture(autouse=True)
def _what_is_the_users_is_left_alone(users_folders: Path) -> Iterator[None]:
    """T-WF-INFRA-03: a test that forgets to name a folder of its own fails, and writes nothing into anybody's cache."""
    yield
    touched = [folder for folder in users_folders.glob("*/spaniel") if folder.exists()]
    for folder in touched:
        shutil.rmtree(folder)
    assert not touched, "the test has written into the user's own folders: give it a cache_dir, or XDG_CACHE_HOME"


@pytest.fixture(autouse=True)
def _log_as_it_was() -> Iterator[None]:
    """A command that is tried in this process sets up the log for itself; the next test must not find it so."""
    yield
    for name in ("spaniel", "spaniel.protection"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(logging.NOTSET)
