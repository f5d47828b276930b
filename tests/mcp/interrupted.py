"""`spaniel mcp` that gets a signal at many moments of its start; each start is a fork of this process.

A program: it prints, as JSON, the moment, the signal, the exit status and the output of each start that did not end
as it should, and how many there were. A moment is the n-th call of a Python function, or a function by its name.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from types import FrameType

import spaniel.mcp.stdio  # noqa: F401  once, for all of them
from spaniel.cli.main import run

SERVING = "serve_pipes"  # entered when the start is over
# An exception while a loop is made, run or closed leaves warnings behind; parsing and settings are met by count.
STEPS = ("new_event_loop", "Runner._lazy_init", "Runner.run", "_make_self_pipe", "_serve", "claimed", SERVING)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def start(moment: int | str, number: int) -> None:
    """In the child."""
    calls = 0

    def hook(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        if event != "call":
            return
        calls += 1
        if moment == 0 and frame.f_code.co_name == SERVING:
            os.write(2, str(calls).encode())
            os._exit(0)
        if moment in (calls, frame.f_code.co_name, frame.f_code.co_qualname):
            sys.setprofile(None)
            os.kill(os.getpid(), number)

    sys.setprofile(hook)
    run(["mcp", "-q"])


def started(moment: int | str, number: int) -> tuple[int, str]:
    """The exit status and the output of one start."""
    stdin, kept_open = os.pipe()
    output, written = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(stdin, 0)
        os.dup2(written, 1)
        os.dup2(written, 2)
        os.closerange(3, 64)
        start(moment, number)
    os.close(written)
    with os.fdopen(output, encoding="utf-8") as said:
        text = said.read()
    _, status = os.waitpid(pid, 0)
    os.close(stdin)
    os.close(kept_open)
    return os.waitstatus_to_exitcode(status), text


def main() -> None:
    calls, moments = int(started(0, 0)[1]), int(sys.argv[1])
    tried: list[int | str] = [*range(2, calls, max(1, calls // moments)), *STEPS]  # the first call is of our own
    wrong = []
    for number in SIGNALS:
        for moment in tried:
            code, text = started(moment, number)
            served = number == signal.SIGTERM and code == 0  # the way in which hosts end a server
            if text or (code not in (128 + number, -number) and not served):
                wrong.append([moment, number, code, text[-300:]])
    print(json.dumps({"tried": len(tried) * len(SIGNALS), "wrong": wrong}))


if __name__ == "__main__":
    main()
