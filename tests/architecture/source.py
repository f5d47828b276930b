"""The package's source as a syntax tree: who imports what, who mentions what."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "spaniel"


class Module(NamedTuple):
    """One module: its full name and its tree."""

    name: str
    tree: ast.Module

    @property
    def package(self) -> str:
        """The package or top-level module that it is in: `url`, `net`, `errors`."""
        return f"{self.name}.".split(".")[1]


class Use(NamedTuple):
    """A dotted name that stands at some line: `socket`, `os.environ`, `open`."""

    name: str
    line: int


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the package; read once."""
    return tuple(_read(path) for path in sorted(PACKAGE.rglob("*.py")))


def _read(path: Path) -> Module:
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    return Module(name, ast.parse(path.read_text(encoding="utf-8")))


def module(name: str, text: str) -> Module:
    """A module that is not there: what a gate would say to it."""
    return Module(name, ast.parse(text))


@cache
def _nodes(tree: ast.Module) -> tuple[ast.Import | ast.ImportFrom | ast.Name | ast.Attribute | ast.Call, ...]:
    """What the rules look at; found once for all of them."""
    wanted = (ast.Import, ast.ImportFrom, ast.Name, ast.Attribute, ast.Call)
    return tuple(node for node in ast.walk(tree) if isinstance(node, wanted))


def forget() -> None:
    """Let go of the trees: they take more memory than everything else that a test run holds."""
    modules.cache_clear()
    for found in (_nodes, _imports, _mentions):
        found.cache_clear()


def imports(found: Module) -> tuple[Use, ...]:
    """Every name that is imported, wherever in the module, for its types too: `a.b` and, of `from a import b`, both."""
    return _imports(found.tree)


@cache
def _imports(tree: ast.Module) -> tuple[Use, ...]:
    uses = []
    for node in _nodes(tree):
        if isinstance(node, ast.Import):
            uses += [Use(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            uses.append(Use(base, node.lineno))
            uses += [Use(f"{base}.{alias.name}", node.lineno) for alias in node.names]
    return tuple(uses)


def mentions(found: Module) -> tuple[Use, ...]:
    """Every dotted name in the module, as it is written: `os.environ`, `Path.home`, `file.write_text`."""
    return _mentions(found.tree)


@cache
def _mentions(tree: ast.Module) -> tuple[Use, ...]:
    uses = []
    for node in _nodes(tree):
        if isinstance(node, ast.Name):
            uses.append(Use(node.id, node.lineno))
        elif isinstance(node, ast.Attribute):
            uses.append(Use(f"{_written(node.value)}.{node.attr}", node.lineno))
    return tuple(uses)


def calls(found: Module) -> Iterator[tuple[str, ast.Call]]:
    for node in _nodes(found.tree):
        if isinstance(node, ast.Call):
            yield _written(node.func), node


def _written(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_written(node.value)}.{node.attr}"
    return "…"  # the result of a call, an item


def within(name: str, packages: frozenset[str]) -> bool:
    """Whether a name is one of these or inside one of them."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)
