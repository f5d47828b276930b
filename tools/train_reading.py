"""Make `learnt.py` and `trees.py` of `src/spaniel/reading/judge`: learn from labelled pages which blocks are content.

Usage, with the project and its extra `train` installed (pip install -e '.[train]'):
  python tools/train_reading.py CORPORA [--docs DIR …] [--bring] [--check]

`tools/README.md` says what CORPORA and DIR hold and where it comes from. What is learnt, all of it from counts and trees, none of it from a single page:
1. a weight for every word of class names and of short texts that occurs on enough sites: the log odds of content;
2. trees that guess the kind of page from page-wide numbers;
3. trees that judge a block from its features and the guessed kind;
4. trees that judge it once more from those odds around it.
Words and kinds are given to a page as learnt from other sites only (folds by site), as they will be on a new site.
--check trains on four fifths of the sites and reads the rest with the real `extract`, five times: the figures to quote.
Seeds are fixed and one thread is used: the same input makes the same file.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import pickle
import re
import statistics
import sys
import time
import types
from collections import Counter, defaultdict
from importlib.machinery import SourceFileLoader
from pathlib import Path

import lightgbm
import numpy

from reading_samples import FOLDS, WORD, Sample, bring, load
from reading_words import learn_words
from spaniel.reading import content, extract, judge
from spaniel.reading.judge import class_names, columns, features, model

JUDGE = Path(__file__).resolve().parent.parent / "src/spaniel/reading/judge"
CHUNK = 24  # trees in one function: longer ones need longer instructions and run slower
BLOCK = {
    "objective": "binary", "num_leaves": 24, "learning_rate": 0.06, "min_data_in_leaf": 40, "feature_fraction": 0.4, "extra_trees": True,
    "bagging_fraction": 0.7, "bagging_freq": 1, "lambda_l2": 5, "max_bin": 63, "verbose": -1, "seed": 1, "deterministic": True,
    "force_col_wise": True, "num_threads": 1,
}  # fmt: skip
KIND = BLOCK | {
    "objective": "multiclass",
    "num_class": 7,
    "num_leaves": 8,
    "min_data_in_leaf": 8,
    "feature_fraction": 0.5,
    "extra_trees": False,
}
AGAIN = BLOCK | {"num_leaves": 12, "min_data_in_leaf": 60, "feature_fraction": 0.6}
ROUNDS = {"block": 200, "kind": 60, "again": 60}
WEIGHTS = {"articles": 2.0, "mixed": 1.0, "news": 1.0, "docs": 0.4, "foreign": 0.1, "own": 0.1}
RARE = 0.25  # what a page in a script without blanks counts for the kinds: there are few such sites
WHOLE = ("article", "documentation", "forum")  # kinds of which the truth should have all that looks like content
CONTRADICTED, TRUST = 0.3, 0.4  # a share of a page


def install(made: dict) -> None:
    """Let the package use what was just made instead of its own `learnt`."""
    space: dict = {}
    exec(words_source(made) + trees_source(made), space)
    judge.trees = class_names.learnt = types.SimpleNamespace(**space)
    class_names.clear_name_caches()


def words_source(made: dict) -> str:
    """The module `learnt`: tables of words."""
    lines = ['"""Made by tools/train_reading.py: weights of words. Not written by hand."""', ""]
    lines += [f"{name.upper()} = {json.dumps(made[name], ensure_ascii=True)}" for name in ("names", "texts")]
    return "\n".join(lines) + "\n"


def trees_source(made: dict) -> str:
    """The module `trees`: functions of some trees each."""
    lines = ['"""Made by tools/train_reading.py: trees as Python expressions. Not written by hand."""', ""]
    kinds = []
    for place, trees in enumerate(made.get("kind", [])):
        names, text = functions(f"kind_{place}", list(columns.PAGE), trees)
        kinds.append(f"({', '.join(names)},)")
        lines += text
    lines.append(f"KIND = ({', '.join(kinds)})")
    for name, row in (("block", ROW), ("again", list(columns.AGAIN))):
        names, text = functions(name, row, made.get(name, []))
        lines += [*text, f"{name.upper()} = ({''.join(n + ', ' for n in names)})"]
    return "\n".join(lines) + "\n"


def functions(name: str, columns: list[str], trees: list) -> tuple[list[str], list[str]]:
    variables = {column: f"v{place}" for place, column in enumerate(columns)}
    made, lines = [], []
    for start in range(0, len(trees), CHUNK):
        made.append(f"{name}_{start}")
        some = [expression(tree, variables) for tree in trees[start : start + CHUNK]]
        used = [v if any(re.search(rf"\b{v}\b", e) for e in some) else "_" for v in variables.values()]
        lines += [
            f"def {made[-1]}(rows: list[tuple[float, ...]]) -> list[float]:",
            "    return [",
            f"        {some[0]}",
        ]
        lines += [f"        + {e}" for e in some[1:]]
        lines += [f"        for {', '.join(used)} in rows", "    ]", ""]
    return made, lines


def expression(tree: object, variables: dict[str, str]) -> str:
    if not isinstance(tree, list):
        return repr(tree)
    column, limit, yes, no = tree
    name, bits, place = column.partition("&")
    test = f"not {variables[name]} & {1 << int(place)}" if bits else f"{variables[name]} <= {limit!r}"
    return f"({expression(yes, variables)} if {test} else {expression(no, variables)})"


def describe(s: Sample) -> None:
    """Fill in what depends on the learnt words."""
    s.out.weight = [class_names.score_names(*names)[1] for names in s.names]
    title = features.title_words(s.facts.title)
    s.shapes = [
        features.text_features(b, s.out.tag[b.container], title, class_names.text_weights()) for b in s.out.blocks
    ]
    s.sums, s.inherited = features.RunningSums(s.shapes), features.Inherited(s.out)
    s.page = features.page_features(s.out, s.shapes, s.sums, s.inherited, s.facts)


ROW = [*columns.NAMES, *(f"k.{k}" for k in columns.KINDS)]
BITS = {name: len(features.LANDMARKS) if name == "marks" else len(class_names.group_names()) for name in columns.SETS}
COLUMNS = [n for n in ROW if n not in BITS] + [f"{n}&{k}" for n, size in BITS.items() for k in range(size)]


def expand(table: list[tuple[float, ...]]) -> numpy.ndarray:
    """Rows as a matrix, sets of bits as columns of their own."""
    whole = numpy.array(table, dtype=numpy.float64)
    plain = whole[:, [ROW.index(n) for n in ROW if n not in BITS]]
    masks = [(whole[:, ROW.index(n)].astype(numpy.int64) >> k) & 1 for n, size in BITS.items() for k in range(size)]
    return numpy.hstack([plain, numpy.stack(masks, 1)]).astype(numpy.float32)


def fit_kinds(samples: list[Sample]) -> lightgbm.Booster:
    target = [columns.KINDS.index(s.kind) for s in samples]
    weight = [RARE if s.group in ("foreign", "own") else 1.0 for s in samples]
    pages = lightgbm.Dataset(numpy.array([s.page for s in samples]), target, weight=weight)
    return lightgbm.train(KIND, pages, ROUNDS["kind"])


def shares(s: Sample) -> numpy.ndarray:
    """What each block counts of its page."""
    size = numpy.array(s.sizes, dtype=float) ** 0.6
    return size / (size.sum() or 1)


def weigh_pages(samples: list[Sample]) -> None:
    """Some truths end in the middle of a page: those that what was learnt from other sites contradicts count less."""
    samples = [s for s in samples if s.out.blocks]
    for s in samples:
        s.trust = 1.0
    for fold in {s.fold for s in samples}:
        booster = fit_blocks([s for s in samples if s.fold != fold])
        for s in samples:
            if s.fold == fold:
                s.odds = booster.predict(s.matrix)
    for s in samples:
        wrong = numpy.abs(s.odds - (numpy.array(s.labels) > 0.5))
        s.trust = TRUST if s.kind in WHOLE and (wrong * shares(s)).sum() > CONTRADICTED else 1.0


def fit_blocks(samples: list[Sample]) -> lightgbm.Booster:
    samples = [s for s in samples if s.out.blocks]
    return fit(samples, numpy.vstack([s.matrix for s in samples]), BLOCK, ROUNDS["block"])


def fit_again(samples: list[Sample]) -> lightgbm.Booster:
    """From odds that were learnt on other sites, as those of a new page will be."""
    samples = [s for s in samples if s.out.blocks]
    rows = [
        row
        for s in samples
        for row in model.second_pass_rows(
            s.out, [shape[0] for shape in s.shapes], s.odds.tolist(), range(len(s.shapes))
        )
    ]
    return fit(samples, numpy.array(rows, dtype=numpy.float32), AGAIN, ROUNDS["again"])


def fit(samples: list[Sample], matrix: numpy.ndarray, settings: dict, rounds: int) -> lightgbm.Booster:
    weight = numpy.concatenate([shares(s) * WEIGHTS[s.group] * s.trust for s in samples])
    target = numpy.concatenate([numpy.array(s.labels) > 0.5 for s in samples]).astype(int)
    return lightgbm.train(settings, lightgbm.Dataset(matrix, target, weight=weight / weight.mean()), rounds)


def trees_of(booster: lightgbm.Booster, columns: list[str], whole: set[str], part: float = 1.0) -> list[list]:
    """LightGBM's trees as nested lists, numbers shortened; whole numbers are compared with whole numbers, which is quicker."""

    def short(node: dict) -> object:
        if "leaf_value" in node:
            return round(part * node["leaf_value"], 4)
        column, limit = columns[node["split_feature"]], float(f"{node['threshold']:.5g}")
        return [
            column,
            math.floor(limit) if column in whole else limit,
            short(node["left_child"]),
            short(node["right_child"]),
        ]

    return [short(info["tree_structure"]) for info in booster.dump_model()["tree_info"]]


def whole_columns(s: Sample) -> set[str]:
    row = next(features.block_rows(s.out, s.shapes, s.sums, s.inherited, s.facts, (0.5,) * len(columns.KINDS)))
    return {name for name, value in zip(ROW, row, strict=True) if isinstance(value, int)} | {
        c for c in COLUMNS if "&" in c
    }


def learn(samples: list[Sample]) -> dict:
    """All three steps on these samples."""
    for fold in {s.fold for s in samples}:
        install(learn_words([s for s in samples if s.fold != fold]))
        for s in samples:
            if s.fold == fold:
                describe(s)
    for fold in {s.fold for s in samples}:
        booster = fit_kinds([s for s in samples if s.fold != fold])
        held = [s for s in samples if s.fold == fold]
        for s, guess in zip(held, booster.predict(numpy.array([s.page for s in held])), strict=True):
            s.matrix = (
                expand(
                    list(features.block_rows(s.out, s.shapes, s.sums, s.inherited, s.facts, tuple(map(float, guess))))
                )
                if s.out.blocks
                else None
            )
    weigh_pages(samples)
    made = learn_words(samples)
    kinds = trees_of(fit_kinds(samples), list(columns.PAGE), set())
    made["kind"] = [kinds[place :: len(columns.KINDS)] for place in range(len(columns.KINDS))]
    made["block"] = trees_of(fit_blocks(samples), COLUMNS, whole_columns(samples[0]))
    made["again"] = trees_of(fit_again(samples), list(columns.AGAIN), {"words"}, 0.5)  # midway between both looks
    return made


def judged(s: Sample) -> dict:
    """What the installed model says about every block, for looking into decisions."""
    describe(s)
    kinds = model.guess_kind(s.page)
    odds = model.judge_blocks(features.block_rows(s.out, s.shapes, s.sums, s.inherited, s.facts, tuple(kinds)))
    odds = model.second_pass(s.out, [shape[0] for shape in s.shapes], odds)
    return {"sample": s, "odds": odds, "kinds": kinds}


def check(samples: list[Sample], corpora: Path, dump: Path | None) -> None:
    """Cross-validation by site with the real `extract`."""
    loader = SourceFileLoader("score_pages", str(corpora.parent / "tools/score-pages"))
    score = importlib.util.module_from_spec(importlib.util.spec_from_loader("score_pages", loader))
    loader.exec_module(score)
    results: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    kept = []
    for fold in range(FOLDS):
        install(learn([s for s in samples if s.fold != fold]))
        for s in samples:
            if s.fold == fold:
                text = score.plain(extract(s.html, url=s.url).markdown)
                bag = score.shingles if s.group != "mixed" else lambda t: Counter(w.lower() for w in WORD.findall(t))
                p, r = score.overlap(bag(text), bag(score.level(s.truth)))
                results[s.group].append((p, r, score.f1(p, r)))
                results[f"{s.group}.{s.kind}"].append(results[s.group][-1])
                kept += [judged(s) | {"f1": results[s.group][-1]}] if dump else []
    if dump:
        dump.write_bytes(pickle.dumps(kept))
    for name, rows in results.items():
        p, r, f = (statistics.mean(x[k] for x in rows) for k in range(3))
        print(f"{name:22} n {len(rows):4} P {p:.3f} R {r:.3f} mean F1 {f:.4f}  F1 of means {score.f1(p, r):.4f}")


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("corpora", type=Path)
    ap.add_argument("--docs", type=Path, nargs="*", default=[])
    ap.add_argument("--bring", action="store_true", help="download the packages that the first DIR lacks (Debian 12)")
    ap.add_argument("--check", action="store_true")
    ap.add_argument("--dump", type=Path, help="with --check: where to put the judged blocks (pickle)")
    ap.add_argument("--seed", type=int, default=1, help="with --check: to see how far two trainings differ")
    args = ap.parse_args()
    BLOCK["seed"] = KIND["seed"] = AGAIN["seed"] = args.seed
    started = time.time()
    content.judge = model.judge  # the compiled one has its trees built in
    install({"names": {}, "texts": {}})
    if args.bring and args.docs:
        bring(args.docs[0])
    samples = load(args.corpora, args.docs)
    print(
        f"{len(samples)} pages, {sum(len(s.labels) for s in samples)} blocks, {time.time() - started:.0f} s", flush=True
    )
    if args.check:
        check(samples, args.corpora, args.dump)
        return 0
    made = learn(samples)
    (JUDGE / "learnt.py").write_text(words_source(made), "utf-8")
    (JUDGE / "trees.py").write_text(trees_source(made), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
