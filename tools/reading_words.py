"""What words of class names and of texts have meant, for `train_reading.py`."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

from spaniel.reading.judge import class_names
from spaniel.reading.text.words import split_words

if TYPE_CHECKING:
    from reading_samples import Sample

SILENT = 0.25  # a word of so little weight tells nothing


def learn_words(samples: list[Sample]) -> dict[str, dict[str, float]]:
    """Log odds of content for words of class names (by the words under them) and of texts (by blocks), a page one vote."""
    votes: dict[str, dict[str, list[float]]] = {
        "names": defaultdict(lambda: [0.0, 0.0]),
        "texts": defaultdict(lambda: [0.0, 0.0]),
    }
    sites: dict[str, dict[str, set[str]]] = {"names": defaultdict(set), "texts": defaultdict(set)}
    for s in samples:
        shares: dict[str, dict[str, list[float]]] = {
            "names": defaultdict(lambda: [0.0, 0.0]),
            "texts": defaultdict(lambda: [0.0, 0.0]),
        }
        good, whole = [0.0], [0.0]
        for label, size in zip(s.labels, s.sizes):
            good.append(good[-1] + label * size)
            whole.append(whole[-1] + size)
        for names, a, b in zip(s.names, s.out.first, s.out.last):
            if any(names) and b > a and whole[b] > whole[a]:
                for part in {p for p in class_names.parts_of(" ".join(names)) if len(p) > 1}:
                    shares["names"][part][0] += good[b] - good[a]
                    shares["names"][part][1] += whole[b] - whole[a]
        for block, label, size in zip(s.out.blocks, s.labels, s.sizes):
            for word in set(split_words(block.text[:90].lower())) if size else ():
                shares["texts"][word][0] += label
                shares["texts"][word][1] += 1
        for sort, table in shares.items():
            for word, (part, all_) in table.items():
                votes[sort][word][0] += part / all_
                votes[sort][word][1] += 1 - part / all_
                sites[sort][word].add(s.site)
    least = {"names": 6, "texts": 8}
    learnt: dict[str, dict[str, float]] = {}
    for sort, table in votes.items():
        odds = {
            w: round(math.log((a + 2) / (b + 2)), 2)
            for w, (a, b) in sorted(table.items())
            if len(sites[sort][w]) >= least[sort]
        }
        learnt[sort] = {word: weight for word, weight in odds.items() if abs(weight) > SILENT}
    return learnt
