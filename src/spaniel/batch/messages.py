"""What a coordinator and a worker say to each other: a word, then its values.

To a worker: `FETCH task url`, `GO turn`, `PARK turn`, and the end of the stream: finish nothing, and go.
From a worker: `READY`, `ASK turn host task`, `LEAVE turn`, `ANSWERED host status seconds`, `DELAY host seconds`,
`DONE task ending tail captured`, `PARKED task host`.
"""

from __future__ import annotations

FETCH, GO, PARK = "fetch", "go", "park"
READY, ASK, LEAVE, ANSWERED, DELAY, DONE, PARKED = "ready", "ask", "leave", "answered", "delay", "done", "parked"
