"""Breaks the code in small ways, one at a time, and sees whether a test notices: `make mutants ARGS="net/guard.py"`.

Each mutant is a copy of the project in a temporary folder with one expression or statement changed; a child process
runs the tests that mutants.toml names for the file. Mutants that behave as the original does are listed there too.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
WANTED = 90.0  # percent
MEMORY = 8 << 30  # of a child: some mutants never stop collecting
OPTIONS = (
    "-x",
    "-q",
    "--no-header",
    "--tb=line",
    "-p",
    "no:cacheprovider",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
)
PRELOADED = ("aiohttp", "hypothesis", "msgspec", "pytest_asyncio", "trustme", "turbohtml")  # not ours, never mutated

SWAPS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.And: (ast.Or,), ast.Or: (ast.And,),
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.FloorDiv,), ast.FloorDiv: (ast.Mult,), ast.Div: (ast.Mult,),
    ast.LShift: (ast.RShift,), ast.RShift: (ast.LShift,), ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,),
}  # fmt: skip
# Types are for the type checker; decorators and bases here only say how fast or how a class is made.
LEFT_ALONE = {"annotation", "returns", "decorator_list", "bases", "keywords_of_class"}


class Mutant(NamedTuple):
    """One change."""

    line: int
    place: str  # the source line as it stands
    change: str
    source: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.change}"


def variants(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in a node's place."""
    match node:
        case ast.Compare(left, ops, right):
            for i, op in enumerate(ops):
                for other in SWAPS[type(op)]:
                    yield ast.Compare(left, [*ops[:i], other(), *ops[i + 1 :]], right)
        case ast.BoolOp(op, values):
            yield ast.BoolOp(SWAPS[type(op)][0](), values)
            for i in range(len(values)):
                yield ast.BoolOp(op, rest) if len(rest := values[:i] + values[i + 1 :]) > 1 else rest[0]
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield operand
        case ast.BinOp(left, op, right) if type(op) in SWAPS:
            yield ast.BinOp(left, SWAPS[type(op)][0](), right)
        case ast.IfExp(test, body, other):
            yield ast.IfExp(ast.UnaryOp(ast.Not(), test), body, other)
        case ast.If(test, body, other) if not isinstance(test, (ast.Compare, ast.BoolOp, ast.UnaryOp)):
            yield ast.If(ast.UnaryOp(ast.Not(), test), body, other)
        case ast.Constant(value):
            yield from map(ast.Constant, other_values(value))
        case ast.Call(function, args, keywords):
            if args and not isinstance(args[-1], ast.Starred):
                yield ast.Call(function, args[:-1], keywords)
            for i, arg in enumerate(args[:-1]):
                if not isinstance(arg, (ast.Constant, ast.Starred)):
                    yield ast.Call(function, [*args[:i], ast.Constant(None), *args[i + 1 :]], keywords)
            for i in range(len(keywords)):
                yield ast.Call(function, args, keywords[:i] + keywords[i + 1 :])
        case ast.Return(value) if value is not None and not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.With(items, body) | ast.AsyncWith(items, body) if all(item.optional_vars is None for item in items):
            yield ast.If(ast.Constant(True), body, [])
        case ast.Raise() | ast.Expr() | ast.AugAssign() | ast.Delete() | ast.Break() | ast.Continue():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()


def other_values(value: object) -> Iterator[object]:
    """Texts with a space are prose, or a pattern with notes in it: their wording is not looked at here."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, (int, float)):
        yield value + 1
        yield value - 1
    elif isinstance(value, (str, bytes)) and (" " if isinstance(value, str) else b" ") not in value:
        yield value + value[:1] + ("X" if isinstance(value, str) else b"X")
        if value:
            yield value[:0]


def nodes(parent: ast.AST) -> Iterator[tuple[list[ast.AST] | ast.AST, int | str, ast.AST]]:
    """Every node that may be changed, and where it hangs."""
    for field, child in ast.iter_fields(parent):
        if field in LEFT_ALONE or (isinstance(parent, ast.ClassDef) and field == "keywords"):
            continue
        for i, node in enumerate(child) if isinstance(child, list) else ((field, child),):
            if isinstance(node, ast.AST) and not is_left_alone(node):
                yield child if isinstance(child, list) else parent, i, node
                yield from nodes(node)


def is_left_alone(node: ast.AST) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Expr(ast.Constant()) | ast.If(test=ast.Name("TYPE_CHECKING")):
            return True
        case ast.Assign([ast.Name("__slots__")]) | ast.ClassDef(bases=[ast.Name("Protocol")]):
            return True
        case _:
            return False


def mutants(source: str) -> list[Mutant]:
    tree, lines, found = ast.parse(source), source.splitlines(), {}
    for holder, key, node in list(nodes(tree)):
        for other in variants(node):
            put(holder, key, other)
            text = ast.unparse(ast.fix_missing_locations(tree))
            put(holder, key, node)
            line = getattr(node, "lineno", 0)
            found[text] = Mutant(line, lines[line - 1].strip(), f"{shown(node)}  ->  {shown(other)}", text)
    found.pop(ast.unparse(tree), None)
    return list(found.values())


def put(holder: list[ast.AST] | ast.AST, key: int | str, node: ast.AST) -> None:
    if isinstance(holder, list):
        holder[key] = node
    else:
        setattr(holder, key, node)


def shown(node: ast.AST) -> str:
    text = re.sub(r"\s+", " ", ast.unparse(ast.fix_missing_locations(node)))
    return text if len(text) <= 90 else f"{text[:60]} … {text[-28:]}"


class Box:
    """A copy of the project, and children that run its tests."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        listed = subprocess.run(
            ["git", "ls-files", "-zco", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
        )
        compiled = [str(file.relative_to(ROOT)) for file in ROOT.glob("src/**/*.so")]
        for name in (*filter(None, listed.stdout.decode().split("\0")), *compiled):
            if (ROOT / name).is_file():
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.folder / name)

    def run(self, tests: list[str], seconds: float, *, say: bool = False) -> bool:
        """Whether the tests pass within a time."""
        pid = os.fork()
        if pid == 0:
            self._child(tests, say)
        end = time.monotonic() + seconds
        while (ended := os.waitpid(pid, os.WNOHANG)) == (0, 0) and time.monotonic() < end:
            time.sleep(0.02)
        with suppress(ProcessLookupError):  # and whatever the tests have started
            os.killpg(pid, signal.SIGKILL)
        if ended == (0, 0):
            os.waitpid(pid, 0)
        return ended == (pid, 0)

    def _child(self, tests: list[str], say: bool) -> None:
        os.setsid()
        os.chdir(self.folder)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        sys.path[:0] = [str(self.folder / "src"), str(self.folder)]
        os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:2])
        sys.dont_write_bytecode = not say  # else what one mutant was compiled to would be run for the next
        if not say:
            os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
            nothing = os.open(os.devnull, os.O_WRONLY)
            for stream in (1, 2):
                os.dup2(nothing, stream)
        status = 1
        with suppress(BaseException):
            status = pytest.main([*OPTIONS, *tests])
        os._exit(status)

    def survivors(self, file: str, tests: list[str], chosen: list[Mutant]) -> list[Mutant]:
        path = self.folder / "src/spaniel" / file
        original, began = path.read_text("utf-8"), time.monotonic()
        if not self.run(tests, 600, say=True):
            raise SystemExit(f"{file}: its tests do not pass as they are")
        seconds = 20 + 4 * (time.monotonic() - began)
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
            compiled.unlink()
        survived = []
        for number, mutant in enumerate(chosen, 1):
            path.write_text(mutant.source, "utf-8")
            if self.run(tests, seconds):
                survived.append(mutant)
                print(f"  {mutant}", flush=True)
            elif sys.stderr.isatty():
                print(f"\r  {number}/{len(chosen)} ", end="", file=sys.stderr)
        path.write_text(original, "utf-8")
        return survived


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="files under src/spaniel (default: all that mutants.toml names)")
    parser.add_argument("--sample", type=int, default=40, help="mutants of a file at the most (0: all of them)")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--line", type=int, help="only mutants of this line")
    asked = parser.parse_args()
    table = tomllib.loads((ROOT / "tools/mutants.toml").read_text("utf-8"))
    os.nice(10)
    for name in PRELOADED:
        __import__(name)
    low = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        box = Box(folder)
        for file in asked.files or table["tests"]:
            low += not judged(file, box, table, asked)
    return int(low > 0)


def judged(file: str, box: Box, table: dict, asked: argparse.Namespace) -> bool:
    every = mutants((ROOT / "src/spaniel" / file).read_text("utf-8"))
    listed = {(row["line"], row["change"]) for row in table.get("equivalent", ()) if row["file"] == file}
    for line, change in sorted(listed - {(mutant.place, mutant.change) for mutant in every}):
        print(f"  no such mutant any more: {line}: {change}")
    chosen = [m for m in every if (m.place, m.change) not in listed and asked.line in (None, m.line)]
    if 0 < asked.sample < len(chosen):
        chosen = random.Random(asked.seed).sample(chosen, asked.sample)
    survived = box.survivors(file, table["tests"][file], sorted(chosen))
    share = 100 * (1 - len(survived) / len(chosen)) if chosen else 100.0
    told = f"{len(chosen) - len(survived)} of {len(chosen)} killed ({share:.0f} %)"
    print(f"{file}: {told}; {len(every)} mutants in all, {len(listed)} of them equivalent", flush=True)
    return share >= WANTED


if __name__ == "__main__":
    sys.exit(main())
