"""Work in a process of its own, weighed: `python -m tests.batch.weigh module:function argument…` prints JSON."""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

from tests import programs
from tests.net.measure import begin_anew, resident


def weigh(work: str, *arguments: object) -> tuple[Any, int]:
    """What a function of a test module returns in a process of its own, and how far above its start memory went."""
    command = [sys.executable, "-m", "tests.batch.weigh", work, *map(str, arguments)]
    done = programs.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    return result["result"], result["grew"]


def main(work: str, *arguments: str) -> None:
    module, _, name = work.partition(":")
    function = getattr(importlib.import_module(module), name)
    begin_anew()
    start = resident("VmRSS")
    result = function(*arguments)
    print(json.dumps({"result": result, "grew": resident("VmHWM") - start}))


if __name__ == "__main__":
    main(*sys.argv[1:])
