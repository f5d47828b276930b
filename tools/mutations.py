"""The small ways in which mutants.py breaks a file: one expression or statement changed at a time."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

SWAPS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.And: (ast.Or,), ast.Or: (ast.And,),
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.FloorDiv,), ast.FloorDiv: (ast.Mult,), ast.Div: (ast.Mult,),
    ast.LShift: (ast.RShift,), ast.RShift: (ast.LShift,), ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,),
}  # fmt: skip
TYPES = ("annotation", "returns", "decorator_list", "bases")  # for the type checker, or how a thing is made


class Mutant(NamedTuple):
    """One change."""

    line: int
    place: str  # the line as it stands
    change: str
    source: str


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
    """Texts with a space in them are prose, or patterns with notes: their wording is not looked at."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, (int, float)):
        yield from (value + 1, value - 1)
    elif isinstance(value, (str, bytes)) and (" " if isinstance(value, str) else b" ") not in value:
        yield value + value[:1] + ("X" if isinstance(value, str) else b"X")
        yield value[:0]


def nodes(parent: ast.AST) -> Iterator[tuple[list[ast.AST] | ast.AST, int | str, ast.AST]]:
    """Every node that may be changed, and where it hangs."""
    for field, child in ast.iter_fields(parent):
        if field in TYPES or (isinstance(parent, ast.ClassDef) and field == "keywords"):
            continue
        for key, node in enumerate(child) if isinstance(child, list) else ((field, child),):
            if isinstance(node, ast.AST) and not is_left_alone(node):
                yield child if isinstance(child, list) else parent, key, node
                yield from nodes(node)


def is_left_alone(node: ast.AST) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Expr(ast.Constant()) | ast.If(test=ast.Name("TYPE_CHECKING")):
            return True
        case ast.Assign([ast.Name("__slots__")]) | ast.ClassDef(bases=[ast.Name("Protocol")]):
            return True
    return False


def mutants(source: str) -> list[Mutant]:
    tree, lines = ast.parse(source), source.splitlines()
    found: dict[str, Mutant] = {}
    for holder, key, node in list(nodes(tree)):
        put = holder.__setitem__ if isinstance(holder, list) else holder.__setattr__
        for other in variants(node):
            put(key, other)
            text = ast.unparse(ast.fix_missing_locations(tree))
            put(key, node)
            line = getattr(node, "lineno", 1)
            found[text] = Mutant(line, lines[line - 1].strip(), f"{shown(node)} -> {shown(other)}", text)
    found.pop(ast.unparse(tree), None)
    return sorted(found.values())


def shown(node: ast.AST) -> str:
    return re.sub(r"\s+", " ", ast.unparse(ast.fix_missing_locations(node)))
