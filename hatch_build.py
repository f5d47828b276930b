"""Compiles `native*.pyx` of `spaniel/reading` if there is a C compiler; without one Spaniel runs in Python, slower."""

from __future__ import annotations

import ast
import os
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

READING = Path("src/spaniel/reading")
MODULES = ("judge/native", "text/native_characters")


class NativeHook(BuildHookInterface):
    """For wheels and editable installs alike."""

    PLUGIN_NAME = "custom"

    def initialize(self, _version: str, build_data: dict[str, Any]) -> None:
        built = [Path(self.root, READING, f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}") for name in MODULES]
        for module in built:
            module.unlink(missing_ok=True)  # an outdated one would hide the current source
        if os.environ.get("SPANIEL_BUILD") == "pure":
            return
        try:
            build(Path(self.root))
        except Exception as error:  # any failure of any compiler: the compiled modules are optional
            print(f"spaniel: reading was not compiled ({error}); it runs in Python, more slowly", file=sys.stderr)
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["artifacts"] += [str(module.relative_to(self.root)) for module in built]


def build(root: Path) -> None:
    """Compile beside the source, where an editable install finds it."""
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension

    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch, "trees.h").write_text(trees_in_c((root / READING / "judge/trees.py").read_text("utf-8")))
        Path(scratch, "columns.h").write_text(columns_in_c((root / READING / "judge/columns.py").read_text("utf-8")))
        quick = ["-O2", "-g0"] if os.name == "posix" else []  # half the time to build, and no slower to run
        found = [
            Extension(
                f"spaniel.reading.{name.replace('/', '.')}",
                [str(root / READING / f"{name}.pyx")],
                include_dirs=[scratch],
                extra_compile_args=quick,
            )
            for name in MODULES
        ]
        modules = cythonize(found, build_dir=scratch, quiet=True)
        command: Any = Distribution({"ext_modules": modules}).get_command_obj("build_ext")
        command.build_temp, command.build_lib = scratch, str(root / "src")
        command.ensure_finalized()
        command.run()


def columns_in_c(source: str) -> str:
    """The columns of `columns.py` as C names, numbered in their order."""
    table: dict[str, Any] = {}
    exec(source, table)  # noqa: S102 - of this very package; it imports nothing
    columns = [named("COLUMN", name) for name in table["NAMES"]]
    pages = [named("PAGE_OF", name) for name in table["PAGE"]]
    again = [named("AGAIN", name) for name in table["AGAIN"]]
    tables = ([*columns, "COLUMNS"], pages, [*again, "AGAIN_COLUMNS"])
    return "".join(f"enum {{ {', '.join(names)} }};\n" for names in tables)


def named(prefix: str, name: str) -> str:
    return f"{prefix}_{''.join(char if char.isalnum() else '_' for char in name).upper()}"


def trees_in_c(source: str) -> str:
    """The functions of `trees.py` as C: each sums some trees over one row of numbers."""
    functions = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
    kinds = sorted({int(name.split("_")[1]) for name in functions if name.startswith("kind_")})
    blocks = [name for name in functions if name.startswith("block_")]
    lines = [f"enum {{ BLOCK_CHUNKS = {len(blocks)}, KIND_COUNT = {len(kinds)} }};"]
    for name, node in functions.items():
        comprehension: Any = node.body[0].value  # type: ignore[attr-defined]
        places = {target.id: place for place, target in enumerate(comprehension.generators[0].target.elts)}
        lines.append(f"static double {name}(const double *v) {{ return {in_c(comprehension.elt, places)}; }}")
    again = [f"{name}(v)" for name in functions if name.startswith("again_")]
    lines.append(f"static double again_score(const double *v) {{ return {' + '.join(again)}; }}")
    lines.append("static double block_odds(int chunk, const double *v) { switch (chunk) {")
    lines += [f"case {place}: return {name}(v);" for place, name in enumerate(blocks)]
    lines.append("} return 0; }\nstatic double kind_score(int kind, const double *v) { switch (kind) {")
    for kind in kinds:
        trees = [f"{name}(v)" for name in functions if name.startswith(f"kind_{kind}_")]
        lines.append(f"case {kind}: return {' + '.join(trees)};")
    return "\n".join([*lines, "} return 0; }", ""])


def in_c(node: ast.expr, places: dict[str, int]) -> str:
    match node:
        case ast.BinOp(left, ast.Add(), right):
            return f"{in_c(left, places)}\n + {in_c(right, places)}"
        case ast.IfExp(test, body, orelse):
            return f"({in_c(test, places)} ? {in_c(body, places)} : {in_c(orelse, places)})"
        case ast.Compare(ast.Name(name), [ast.LtE()], [limit]):
            return f"v[{places[name]}] <= {in_c(limit, places)}"
        case ast.UnaryOp(ast.Not(), ast.BinOp(ast.Name(name), ast.BitAnd(), ast.Constant(bit))):
            return f"!((long long)v[{places[name]}] & {bit}LL)"
        case ast.UnaryOp(ast.USub(), ast.Constant(value)) if isinstance(value, (int, float)):
            return f"-{float(value)!r}"
        case ast.Constant(value) if isinstance(value, (int, float)):
            return repr(float(value))
    raise ValueError(f"trees.py has an expression with no C form: {ast.unparse(node)[:80]}")
