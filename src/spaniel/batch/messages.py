"""What a coordinator and a worker say to each other: a word, then its values.

To a worker: `FETCH task url items`, `GO turn`, `PARK turn`, `RISE task`, `DROP task`, and the end of the stream: finish
nothing, and go.
From a worker: `READY`, `ASK turn host task`, `LEAVE turn`, `ANSWERED host status seconds`, `DELAY host seconds`,
`REST task reached`, `WAKE task`, `DONE task ending tail captured`, `PARKED task host`,
`WROTE part tasks`, `FAILED why option` (`option`: which one is wrong, where one is).
"""

from __future__ import annotations

FETCH, GO, PARK, RISE, DROP = "fetch", "go", "park", "rise", "drop"
READY, ASK, LEAVE, ANSWERED, DELAY, DONE, PARKED = "ready", "ask", "leave", "answered", "delay", "done", "parked"
REST, WAKE, WROTE = "rest", "wake", "wrote"
FAILED = "failed"
