"""The WARC files that a run writes beside its output: one file, or for a folder several of a handy size."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from datetime import UTC, datetime

from spaniel.batch.outputs.warc import warcinfo
from spaniel.runs.parts import NO_LIMIT, PartOutput

FILE, FOLDER = ".warc.gz", ".warc"  # behind the name of the output
FILE_BYTES = 1 << 30  # after which a folder's next file begins, as is usual for WARC
_PART = re.compile(r"part-(\d{5,})\.warc\.gz")


def place_of(output: str) -> str:
    """Where the WARC file, or the folder of them, of an output is: `pages.jsonl.warc.gz`, `pages.warc` for `pages/`."""
    name = output.rstrip("/" + os.sep)
    return name + (FOLDER if name != output or os.path.isdir(output) else FILE)


def files_of(output: str) -> list[str]:
    """The WARC files of an output, in their order; none where it has none."""
    place = place_of(output)
    if place.endswith(FILE):
        return [place] if os.path.lexists(place) else []
    found = sorted((int(match[1]), name) for name in _names(place) if (match := _PART.fullmatch(name)))
    return [os.path.join(place, name) for _, name in found]


def remove(output: str) -> None:
    """Files with names of ours alone; the folder if it is empty then."""
    for path in files_of(output):
        os.unlink(path)
    place = place_of(output)
    if place.endswith(FOLDER):
        with suppress(OSError):
            os.rmdir(place)


def output(of: str, software: str, file_bytes: int = FILE_BYTES) -> PartOutput:
    """Where captures are collected; each file begins with a record that names the software."""
    place = place_of(of)
    is_folder = place.endswith(FOLDER)

    def path(number: int) -> str:
        if not is_folder:
            return place
        os.makedirs(place, exist_ok=True)
        return os.path.join(place, f"part-{number:05}{FILE}")

    def head(name: str) -> bytes:
        return warcinfo(os.path.basename(name), software, datetime.now(UTC))

    return PartOutput(FILE[1:], path, file_bytes if is_folder else NO_LIMIT, head)


def is_there(of: str, number: int, length: int) -> bool:
    """Whether all that was committed is still there: it may have been cut or removed meanwhile."""
    files = files_of(of)
    return not length or (number < len(files) and os.path.getsize(files[number]) >= length)


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []
