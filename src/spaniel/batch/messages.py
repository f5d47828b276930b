"""What a coordinator and a worker say to each other: a word, then its values.

To a worker: `FETCH task url items`, `GO turn`, `REFUSE turn error`, `PARK turn`, `RISE task`, `DROP task`, and the end
of the stream: finish nothing, and go.
From a worker: `READY`, `ASK turn host task led`, `LEAVE turn answered`, `ANSWERED host status seconds led`,
`UNANSWERED host code led`, `DELAY host seconds`, `REST task`, `WAKE task`, `DONE task ending tail captured`,
`PARKED task host`, `WROTE part tasks`, `FAILED why option` (`option`: which one is wrong, where one is).
`led`: another site's redirect led to the host. `answered`: whether a page was, which a robots.txt is not.
"""

from __future__ import annotations

FETCH, GO, REFUSE, PARK, RISE, DROP = "fetch", "go", "refuse", "park", "rise", "drop"
READY, ASK, LEAVE, ANSWERED, DELAY, DONE, PARKED = "ready", "ask", "leave", "answered", "delay", "done", "parked"
REST, WAKE, WROTE, UNANSWERED = "rest", "wake", "wrote", "unanswered"
FAILED = "failed"
