"""A `spaniel` for shells: has `tests/programs.py` fork the command, with the streams of this process.

`python -IS launcher.py SOCKET argument…`. It imports next to nothing: it is to be started in a few milliseconds.
"""

import marshal
import os
import sys
from _socket import AF_UNIX, SCM_RIGHTS, SOL_SOCKET, socket

where, *arguments = sys.argv[1:]
program = ("-m", "spaniel", arguments, os.getcwd(), dict(os.environ), (), (), False, -1, None, ())
data = marshal.dumps(program)
connection = socket(AF_UNIX)
connection.connect(where)
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
connection.sendmsg([len(data).to_bytes(8, "big")], [(SOL_SOCKET, SCM_RIGHTS, streams)])
connection.sendall(data)
if not (answer := connection.recv(16)):
    os.execv(sys.executable, [sys.executable, "-m", "spaniel", *arguments])  # noqa: S606
status = int(answer)
if status < 0:
    os.kill(os.getpid(), -status)
os._exit(status)
