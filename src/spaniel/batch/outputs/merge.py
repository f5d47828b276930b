"""Outputs of several shards made into one: each URL there once, and what is missing told."""

from __future__ import annotations

import os
from contextlib import contextmanager
from itertools import islice
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from spaniel.batch.outputs.external_sort import in_order
from spaniel.batch.outputs.finish import finish, write_lines
from spaniel.batch.outputs.form import Form, form_of
from spaniel.batch.outputs.ordinals import Ordinals
from spaniel.batch.outputs.stored import lines
from spaniel.batch.outputs.warc_parts import FILE, files_of
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spaniel.batch.outputs.stored import Line

GREATEST = 1 << 40  # ordinal
TOLD = 10  # gaps


class Merged(NamedTuple):
    """What was put together."""

    records: int
    missing: int  # ordinals between 0 and the greatest that no output has
    gaps: list[tuple[int, int]]  # the first of them, each with its first and last ordinal


def merge(outputs: Sequence[str], out: str, *, by_ordinal: bool = False) -> Merged:
    """Write the records of all outputs to `out`, in the order of their ordinals if asked, else as they come.

    An ordinal that is there twice is refused: these are not shards of one run. Memory stays flat.
    """
    if all(form_of(path) == Form.WARC for path in [*outputs, out]):
        finish(outputs, out)
        return Merged(0, 0, [])
    seen = Ordinals()
    found = _checked(outputs, seen)
    if by_ordinal:
        with _folder_beside(out) as folder:
            write_lines((line.raw for line in in_order(found, folder)), out)
    else:
        write_lines((line.raw for line in found), out)
    missing = sum(last - first + 1 for first, last in seen.gaps())
    return Merged(seen.count, missing, list(islice(seen.gaps(), TOLD)))


def merge_captures(outputs: Sequence[str], out: str) -> None:
    """The WARC files beside outputs, one after another, beside the output that was made of them."""
    files = []
    for output in outputs:
        own = files_of(output)
        if not own:
            raise SpanielError(Code.BAD_ARGS, field="--warc", reason=f"{output} has no WARC file beside it")
        files += own
    finish(files, out.rstrip("/" + os.sep) + FILE)


@contextmanager
def _folder_beside(out: str) -> Iterator[str]:
    """For runs: where the output will be, there is room for them too."""
    try:
        with TemporaryDirectory(prefix=".spaniel-merge-", dir=os.path.dirname(os.path.abspath(out))) as folder:
            yield folder
    except OSError as error:
        raise SpanielError(Code.BAD_ARGS, field=out, reason=f"cannot be written: {error.strerror}") from None


def _checked(outputs: Sequence[str], seen: Ordinals) -> Iterator[Line]:
    """Every line, its ordinal met for the first time."""
    before: list[tuple[str, Ordinals]] = []
    for path in outputs:
        own = Ordinals()
        for line in lines(path):
            _judge(line.ordinal, path, own, before)
            own.add(line.ordinal)
            yield line
        before.append((path, own))
        seen.absorb(own)


def _judge(ordinal: int, path: str, own: Ordinals, before: list[tuple[str, Ordinals]]) -> None:
    if not 0 <= ordinal < GREATEST:
        raise SpanielError(Code.BAD_ARGS, field=path, reason=f"{ordinal} is no ordinal of a record")
    other = path if ordinal in own else next((name for name, known in before if ordinal in known), None)
    if other is not None:
        where = "twice" if other == path else f"in {other} too"
        reason = f"the record with ordinal {ordinal} is there {where}; these are not shards of one run"
        raise SpanielError(Code.BAD_ARGS, field=path, reason=reason)
