"""What `--explain` shows of a fetch: its steps, and for ingestion the ladder and the checklist."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spaniel.errors import shown

if TYPE_CHECKING:
    from spaniel.pipeline.outcome import Outcome
    from spaniel.pipeline.trace import Trace


def draw_steps(trace: Trace, about: str) -> None:
    """The steps as a small table: aligned text, which costs nothing and reads well in a log too."""
    if about:
        sys.stderr.write(f"{shown(about)}\n")
    total = sum(step.ms for step in trace.steps)
    rows = [("step", "outcome", "ms", "url")]
    rows += [(s.name, s.outcome, f"{s.ms:.1f}", shown(s.url)) for s in trace.steps]
    rows.append(("total", "", f"{total:.1f}", ""))
    name, outcome, ms = (max(len(row[column]) for row in rows) for column in range(3))
    for row in rows:
        line = f"  {row[0]:{name}}  {row[1]:{outcome}}  {row[2]:>{ms}}  {row[3]}".rstrip()
        sys.stderr.write(f"{line}\n")


def draw_record(outcome: Outcome) -> None:
    """The ladder, rung by rung, and the checklist as ticks and crosses."""
    from spaniel.pipeline.record import record_of

    record = record_of(outcome)
    lines = ["  ladder"]
    for fallback in record.fallbacks:
        about = f"left out: {fallback.why}" if fallback.why else f"{fallback.outcome}, {fallback.ms:.0f} ms{_waited(fallback.waited)}"
        lines.append(f"    {'-' if fallback.why else _mark(fallback.outcome == 'ok')} {fallback.fallback}  {about}")
    lines.append("  checklist")
    lines += [f"    {_mark(check.done)} {check.step}  {check.detail}".rstrip() for check in record.checklist]
    lines.append(f"  verdict: {record.verdict} ({record.extraction_method})")
    sys.stderr.write("".join(f"{shown(line)}\n" for line in lines))


def _waited(seconds: float) -> str:
    return f" after a wait of {seconds:.0f} s" if seconds else ""


def _mark(done: bool) -> str:
    return "✓" if done else "✗"
