"""A process that adds records to a database, edit by edit: `python -m tests.registry.writer FOLDER NAME COUNT`."""

from __future__ import annotations

import sys

from spaniel import registry

if __name__ == "__main__":
    folder, name, count = sys.argv[1:]
    found = registry.open(folder)
    for number in range(int(count)):
        with found.editing(patience=120) as editor:
            editor.add(f"http://example.com/{name}/{number}", {"note": name * 20})
            editor.add(f"http://host{number % 3}.example/{name}/{number}")
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
