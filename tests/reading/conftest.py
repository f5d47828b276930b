"""The judge is there twice, in Python and compiled: what it decides is tested with both."""

from __future__ import annotations

import shutil
import sysconfig
from importlib import import_module
from pathlib import Path

import pytest

from spaniel.reading import content


def can_compile() -> bool:
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    headers = Path(sysconfig.get_path("include"), "Python.h")
    return shutil.which(compiler) is not None and headers.is_file()


@pytest.fixture(params=["python", "compiled"])
def either_judge(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "python":
        monkeypatch.setattr(content, "judge", import_module("spaniel.reading.judge.model").judge)
    elif can_compile():
        monkeypatch.setattr(content, "judge", import_module("spaniel.reading.judge.native").judge)
    else:
        pytest.skip("no C compiler, or Python's headers are not here")
