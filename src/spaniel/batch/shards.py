"""What the runs of several outputs say of one another: whether they are shards of one input, and which are missing.

An output may have come without the folder beside it, from another machine, say. Then nothing is known, and nothing is
refused.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from spaniel.batch.ownership import Shard, read_shard
from spaniel.batch.run_folder import RunFolder
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spaniel.batch.run_folder import About

SHARD = "--shard"


class Known(NamedTuple):
    """What is known of the whole of which the outputs are shards."""

    urls: int | None = None  # of the input
    absent: tuple[str, ...] = ()  # shards that no output is of, where all outputs say which they are


def require_one_input(outputs: Sequence[str]) -> Known:
    """`bad_args` where two outputs cannot be of one input."""
    told = [(output, about) for output in outputs if (about := _about(output)) is not None]
    if not told:
        return Known()
    first, whole = told[0]
    for output, about in told[1:]:
        unlike = _unlike(about, whole)
        if unlike:
            reason = f"{unlike} as {first} does; these are not shards of one run"
            raise SpanielError(Code.BAD_ARGS, field=output, reason=reason)
    shards = {read_shard(about.shape[SHARD]) for _, about in told}
    count = next(iter(shards)).shards
    here = {shard.place for shard in shards}
    absent = (str(Shard(place, count)) for place in range(count) if place not in here)
    return Known(whole.counts.items, tuple(absent) if len(told) == len(outputs) else ())


def _about(output: str) -> About | None:
    with suppress(SpanielError, KeyError):
        about = RunFolder(output).read()
        return about if about is not None and SHARD in about.shape else None
    return None


def _unlike(about: About, whole: About) -> str:
    if about.counts.items != whole.counts.items:
        return f"comes from {about.counts.items:,} URLs, not from {whole.counts.items:,}"
    for name, value in about.shape.items():
        other = whole.shape.get(name)
        if name == SHARD and read_shard(value).shards != read_shard(other or value).shards:
            return f"is shard {value}, which is of another number of shards, not"
        if name not in (SHARD, "--parts") and other != value:
            return f"was made with {name} {value}, not {other}"
    return ""
