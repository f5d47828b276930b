"""A plan that was made before: the rows of an input, divided into shards, so that a machine reads no more than its own.

`spaniel batch plan` writes it, and `spaniel batch DIR --shard I/N` reads it. Rows are in one file for each shard, in
blocks of MessagePack, compressed with Zstandard. `plan.json` is written last: a folder without it is not a plan.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from spaniel.batch.planning import row_number
from spaniel.errors import Code, SpanielError
from spaniel.files import sync_data, sync_folder, write_atomically
from spaniel.runs.parts import packed

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.batch.planning import InputShard, PlanRows
    from spaniel.runs.store import Row
    from spaniel.sources.rows import Problems

PLAN = "plan.json"
FORMAT = 1
MAX_ROWS = 50_000  # that wait in memory
_LENGTH = struct.Struct("<I")
_encode, _decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder().decode


class PlanInfo(NamedTuple):
    """What a plan was made of."""

    sources: dict[str, str]  # name -> fingerprint
    shape: dict[str, str]  # what decides which rows there are: policy, limit, how the sources are read
    shards: int
    items: int = 0  # URLs of the input
    lost: int = 0  # how often URLs of the sources could not be read


class PlanFolder:
    """The folder of one plan."""

    def __init__(self, path: str) -> None:
        self.path = path.rstrip("/" + os.sep) or path

    def is_plan(self) -> bool:
        return os.path.isfile(os.path.join(self.path, PLAN))

    def write(self, rows: PlanRows, info: PlanInfo, problems: Problems) -> PlanInfo:
        """Write the rows of each shard; the information with the number of URLs in it."""
        try:
            os.makedirs(self.path, exist_ok=True)
            if os.listdir(self.path):
                raise _bad(self.path, "is there already, and not empty; choose another folder")
            waiting: list[list[Row]] = [[] for _ in range(info.shards)]
            count = 0
            for count, row in enumerate(rows, 1):
                waiting[row_number(row) % (1 << 32) % info.shards].append(row)
                if not count % MAX_ROWS:
                    self._append(waiting)
            self._append(waiting)
            sync_folder(self.path)
            info = info._replace(items=rows.seen, lost=problems.lost)
            data = json.dumps({"format": FORMAT, **info._asdict()}, indent=1).encode()
            write_atomically(os.path.join(self.path, PLAN), data, None, durable=True)
        except OSError as error:
            raise _bad(self.path, f"cannot be written: {error.strerror}") from None
        return info

    def _append(self, waiting: list[list[Row]]) -> None:
        for number, rows in enumerate(waiting):
            if rows:
                block = packed(_encode(rows))
                with open(self._file(number), "ab") as file:
                    file.write(_LENGTH.pack(len(block)) + block)
                    file.flush()
                    sync_data(file.fileno())
                rows.clear()

    def _file(self, number: int) -> str:
        return os.path.join(self.path, f"shard-{number + 1:05}.rows")

    def read(self) -> PlanInfo:
        try:
            with open(os.path.join(self.path, PLAN), encoding="utf-8") as file:
                found: dict[str, Any] = json.load(file)
            if found.pop("format") != FORMAT:
                raise _bad(self.path, "this plan was made by another version of Spaniel; make it again")
            return PlanInfo(**found)
        except OSError as error:
            raise _bad(self.path, f"cannot be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise _bad(self.path, f"{PLAN} is damaged ({error}); make the plan again") from None

    def rows(self, info: PlanInfo, shard: InputShard) -> PlannedRows:
        """Those of one shard. Its number of shards must divide that of the plan."""
        if info.shards % shard.shards:
            reason = f"this plan has {info.shards} shards, so write --shard I/{info.shards}"
            raise SpanielError(Code.BAD_ARGS, field="--shard", reason=reason)
        files = [self._file(number) for number in range(shard.place, info.shards, shard.shards)]
        return PlannedRows(files, info.items)


class PlannedRows:
    """Rows from the files of a plan."""

    def __init__(self, files: list[str], seen: int) -> None:
        self._files, self.seen = files, seen

    def __iter__(self) -> Iterator[Row]:
        for path in self._files:
            try:
                if os.path.exists(path):  # a shard may have no rows
                    yield from _rows_of(path)
            except OSError as error:
                raise _bad(path, f"cannot be read: {error.strerror}") from None
            except (struct.error, zstd.ZstdError, msgspec.MsgspecError):
                raise _bad(path, "is damaged; make the plan again") from None


def _rows_of(path: str) -> Iterator[Row]:
    with open(path, "rb") as file:
        while head := file.read(_LENGTH.size):
            yield from map(tuple, _decode(zstd.decompress(file.read(*_LENGTH.unpack(head)))))


def _bad(field: str, reason: str) -> SpanielError:
    return SpanielError(Code.BAD_ARGS, field=field, reason=reason)
