"""The learnt part: small trees from `data/model.json`, turned into one Python function each and summed.

Trees are stored as nested lists: `[column, threshold, yes, no]`, a number being a leaf. A column is the name of a
feature, or `name&bit` where the feature is a set of bits. Compiled to plain comparisons of local variables the trees
run several times faster than a walk over tables, and need no numpy.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from math import exp
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Scorer = Callable[[Sequence[tuple[float, ...]]], list[float]]


CHUNK = 12


@cache
def stored() -> dict[str, Any]:
    path = files(__package__) / "data" / "model.json"
    model: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return model


@cache
def scorer(name: str) -> Scorer:
    """A function from rows to sums of leaves, for one of the stored models."""
    part = stored()[name]
    return compile_trees(part["columns"], part["trees"])


def compile_trees(columns: list[str], trees: list[Any]) -> Scorer:
    """Rows hold `columns` in order; only names that are identifiers are used, so no text can become code."""
    names = [f"v{place}" for place in range(len(columns))]
    place = dict(zip(columns, names, strict=True))
    made = [_function(names, [_expression(tree, place) for tree in trees[k : k + CHUNK]]) for k in range(0, len(trees), CHUNK)]

    def score(rows: Sequence[tuple[float, ...]]) -> list[float]:
        sums = made[0](rows)
        for function in made[1:]:
            sums = [s + more for s, more in zip(sums, function(rows), strict=True)]
        return sums

    return score


def _function(names: list[str], expressions: list[str]) -> Scorer:
    """One function for some trees: a bigger one would need longer instructions and run slower."""
    lines = ["def score(rows):", "    out = []", f"    for {', '.join(names)}, in rows:", f"        out.append({' + '.join(expressions)})", "    return out"]
    space: dict[str, Any] = {}
    exec("\n".join(lines), space)  # noqa: S102 - made of numbers and our own names, see above
    made: Scorer = space["score"]
    return made


def _expression(tree: Any, place: dict[str, str]) -> str:
    if isinstance(tree, (int, float)):
        return repr(float(tree))
    column, threshold, yes, no = tree
    name, amp, bit = column.partition("&")
    test = f"not {place[name]} & {1 << int(bit)}" if amp else f"{place[name]} <= {threshold!r}"
    return f"({_expression(yes, place)} if {test} else {_expression(no, place)})"


def likelihood(score: float) -> float:
    return 1 / (1 + exp(-score)) if score > -30 else 0.0


def shares(scores: list[float]) -> list[float]:
    """Soft maximum: what each kind of page gets of one."""
    most = max(scores)
    powers = [exp(score - most) for score in scores]
    whole = sum(powers)
    return [power / whole for power in powers]
