"""Parts that workers write themselves, where all machines can reach: a shared folder, or any place that fsspec knows.

A part appears whole or not at all, under a name that nothing else uses. It counts once it is in the list of parts,
which is the output; what a worker had written when it died is in no list, and its pages are fetched again.
"""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from spaniel.batch.records import encode
from spaniel.errors import Code, SpanielError
from spaniel.files import write_atomically
from spaniel.runs.parts import RECORDS, PartWriter, packed

if TYPE_CHECKING:
    from spaniel.runs.parts import Result


class RemotePart(NamedTuple):
    """A part, as the list of parts has it."""

    part: str  # its address
    records: int
    bytes: int
    sha256: str


class RemoteWriter(PartWriter):
    """Records go into a part far away, and its line in the list of parts is what is committed."""

    batch, batch_bytes, seconds = 1 << 30, 16 << 20, 5.0  # of lines; what a worker's death may cost

    def __init__(self, place: str, *rest: Any) -> None:
        self._place = place.rstrip("/")
        super().__init__(*rest)

    def written(self, number: int, results: list[Result]) -> dict[str, list[bytes]]:
        lines = super().written(number, results)[RECORDS]
        if not lines:
            return {}
        address = f"{self._place}/part-worker-{uuid4().hex}.jsonl.zst"
        part = RemotePart(address, len(lines), *_put(address, lines))
        return {RECORDS: [encode(part._asdict()) + b"\n"]}


def _put(address: str, lines: list[bytes]) -> tuple[int, str]:
    data = packed(b"".join(lines))
    try:
        if "://" in address:
            with _fsspec(address).open(address, "wb") as file:
                file.write(data)
        else:
            os.makedirs(os.path.dirname(address), exist_ok=True)
            write_atomically(address, data, None, durable=True)
    except SpanielError:
        raise
    except Exception as error:  # noqa: BLE001  whatever a store far away raises: the run must know
        why = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
        reason = f"{address} cannot be written: {why}"
        raise SpanielError(Code.BAD_ARGS, field="--parts", reason=reason) from None
    return len(data), sha256(data).hexdigest()


def _fsspec(address: str) -> Any:
    """The file system of an address."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        reason = f"{address} needs fsspec; install it, and what it needs for this kind of address, on every machine"
        raise SpanielError(Code.BAD_ARGS, field="--parts", reason=reason) from None
    return url_to_fs(address)[0]
