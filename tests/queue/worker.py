"""A process that puts pages into a queue and says of each that it is in: `python -m tests.queue.worker FOLDER TAG N`"""

from __future__ import annotations

import sys
import time

from spaniel.queue import Failure, Queue, QueueSettings


def failure(url: str, profile: str = "ingest", code: str = "http_5xx") -> Failure:
    attempts = [{"fallback": "http", "outcome": code, "url": url, "status": 503}]
    return Failure(url, url, profile, "", code, "The server returned 503", attempts)


def main(folder: str, tag: str, count: str) -> None:
    queue = Queue(QueueSettings(folder))
    for number in range(int(count)):
        url = f"https://{tag}.example/{number}"
        queue.add(failure(url), time.time())
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
    queue.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
