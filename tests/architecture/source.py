"""The package's source as a syntax tree: who imports what, who mentions what."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "spaniel"


class Module(NamedTuple):
    """One module: its full name and its tree."""

    name: str
    tree: ast.Module

    @property
    def room(self) -> str:
        """The part of the house that it is in: `url`, `net`, `errors`."""
        return f"{self.name}.".split(".")[1]


class Use(NamedTuple):
    """A dotted name that stands at some line: `socket`, `os.environ`, `open`."""

    name: str
    line: int


def modules() -> list[Module]:
    """Every module of the package."""
    return [_read(path) for path in sorted(PACKAGE.rglob("*.py"))]


def _read(path: Path) -> Module:
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    return Module(name, ast.parse(path.read_text(encoding="utf-8")))


def module(name: str, text: str) -> Module:
    """A module that is not there: what a gate would say to it."""
    return Module(name, ast.parse(text))


def imports(found: Module) -> Iterator[Use]:
    """Every name that is imported, wherever in the module, for its types too: `a.b` and, of `from a import b`, both."""
    for node in ast.walk(found.tree):
        if isinstance(node, ast.Import):
            yield from (Use(alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            yield Use(base, node.lineno)
            yield from (Use(f"{base}.{alias.name}", node.lineno) for alias in node.names)


def mentions(found: Module) -> Iterator[Use]:
    """Every dotted name in the module, as it is written: `os.environ`, `Path.home`, `file.write_text`."""
    for node in ast.walk(found.tree):
        if isinstance(node, ast.Name):
            yield Use(node.id, node.lineno)
        elif isinstance(node, ast.Attribute):
            yield Use(f"{_written(node.value)}.{node.attr}", node.lineno)


def calls(found: Module) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(found.tree):
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
