"""Regular expressions that somebody else wrote, matched in linear time: Rust's engine, as lychee has it.

An expression with look-around or a back-reference is refused, since no linear engine has them; what is matched is
found anywhere in the text. Python's own engine would let one line of a `.lycheeignore` hold up a run for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST = 10_000


def matcher(expression: str, where: str) -> Callable[[str], bool]:
    """Whether an expression is found in a text. Raises `bad_args` for one that is none."""
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    if len(expression) > LONGEST:
        raise SpanielError(Code.BAD_ARGS, field=where, reason=f"the expression has more than {LONGEST} characters")
    try:
        found = SchemaValidator(core_schema.str_schema(pattern=expression, regex_engine="rust-regex")).isinstance_python
    except (SchemaError, UnicodeEncodeError) as error:
        reason = str(error).strip().rpartition("error: ")[2]
        raise SpanielError(
            Code.BAD_ARGS, field=where, reason=f"not a regular expression of Rust's kind ({reason}): {expression}"
        ) from None
    return lambda text: found(text if text.isascii() else text.encode("utf-8", "replace").decode())


GLOB_SIGNS = frozenset("\\.+*?()|[]{}^$#&-~")


def glob_expression(glob: str) -> str | None:
    """A pattern of a `.gitignore` as an expression over a whole path; None for one that matches nothing."""
    made: list[str] = []
    at = 0
    while at < len(glob):
        piece = _piece(glob, at)
        if piece is None:
            return None
        expression, at = piece
        made.append(expression)
    return f"(?s)^(?:{''.join(made)})$"


def _piece(glob: str, at: int) -> tuple[str, int] | None:
    """The expression for what stands here, and where it ends."""
    char = glob[at]
    if char == "*":
        return _stars(glob, at)
    if char == "?":
        return "[^/]", at + 1
    if char == "[":
        return _class(glob, at)
    if char == "\\":
        return (_literal(glob[at + 1]), at + 2) if at + 1 < len(glob) else None
    return _literal(char), at + 1


def _stars(glob: str, at: int) -> tuple[str, int]:
    """Two stars between slashes are any folders; anywhere else they are as one."""
    end = at
    while glob[end : end + 1] == "*":
        end += 1
    begins = at == 0 or glob[at - 1] == "/"
    if end - at == 2 and begins:
        if glob[end : end + 1] == "/":
            return "(?:.*/)?", end + 1
        if end == len(glob):
            return ".+", end
    return "[^/]*", end


def _class(glob: str, at: int) -> tuple[str, int] | None:
    """A set of characters, of which a slash is never one."""
    start = at + 2 if glob[at + 1 : at + 2] in ("!", "^") else at + 1
    members: list[str] = []
    end = start
    while end < len(glob) and (glob[end] != "]" or end == start):
        if glob.startswith("[:", end) and (stop := glob.find(":]", end)) > 0 and glob[end + 2 : stop].isalpha():
            members.append(glob[end : stop + 2])
            end = stop + 2
            continue
        if glob[end] == "\\" and end + 1 < len(glob):
            end += 1
            members.append(_literal(glob[end]))
        else:
            is_range = glob[end] == "-" and end > start and glob[end + 1 : end + 2] not in ("]", "")
            members.append("-" if is_range else _literal(glob[end]))
        end += 1
    if end >= len(glob):
        return None
    negated = "^" if start == at + 2 else ""
    return f"[{negated}{''.join(members)}{'/' if negated else ''}]", end + 1


def _literal(char: str) -> str:
    return f"\\{char}" if char in GLOB_SIGNS else char
