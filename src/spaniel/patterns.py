"""Untrusted regular expressions, matched in linear time by Rust's engine (the one that lychee uses).

An expression matches anywhere in the text. Look-around and back-references are refused, because no linear-time engine
supports them; with Python's own engine, one line of a `.lycheeignore` could block a run forever.

Matching time is linear, but an expression of ten characters (`\\w{9999}`) can compile to hundreds of megabytes. So
memory is estimated before compiling, and limited for all expressions of one file together.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_CHARS = 10_000  # of one expression
MAX_MEMORY = 64 << 20  # bytes, for all expressions of one file or option together
# Bytes per part of a compiled expression, measured on pydantic-core 2.50: every class has a table of UTF-8 ranges.
PER_EXPRESSION, PER_CHARACTER, PER_FOLDED, PER_CLASS, PER_SMALL_UNICODE, PER_UNICODE = (
    6144,
    100,
    1400,
    1400,
    8000,
    96_000,
)
_CLASS_ITEM = r"\\[pP](?:\{[^}]*\}|.)|\\.|\[:\^?\w+:\]"
_PART = re.compile(
    rf"(?P<unicode>\\[pP](?:\{{[^}}]*\}}|.)|\\[wW])|(?P<small>\\[dDsSbB])|(?P<escape>\\(?:[xuU](?:\{{[^}}]*\}}|.)|.))"
    rf"|(?P<set>\[\^?\]?(?:{_CLASS_ITEM}|\[|[^\]\\])*+\]?)|(?P<open>\((?:\?(?:[a-zA-Z-]*[:)]|P?<\w*>))?)|(?P<close>\))"
    r"|(?P<times>\{\s*(?P<least>\d*)\s*(?:,\s*(?P<most>\d*)\s*)?\})|(?P<any>\.)|(?P<repeat>[*+?])|(?P<other>.)",
    re.DOTALL,
)
_UNICODE = re.compile(r"\\[pPwW]|\[:")


class Allowance:
    """The memory left for the expressions of one file; raises before compiling one that exceeds it."""

    def __init__(self, left: int = MAX_MEMORY) -> None:
        self.left = left

    def take(self, size: int, where: str) -> None:
        self.left -= size
        if self.left < 0:
            reason = f"its expressions would take more than {MAX_MEMORY >> 20} MB of memory; make them fewer or shorter"
            raise SpanielError(Code.BAD_ARGS, field=where, reason=reason)


def weight(expression: str) -> int:
    """Estimate the bytes that a compiled expression takes; an upper bound rather than a lower one."""
    is_folded = re.search(r"\(\?[a-zA-Z]*i", expression) is not None
    is_verbose = re.search(r"\(\?[a-zA-Z]*x", expression) is not None
    groups = [0]
    last = 0  # weight of the part that a following repetition repeats
    for part in _PART.finditer(expression):
        if part["open"] is not None:
            if part["open"].endswith(")"):  # flags alone, as in (?i)
                continue
            groups.append(0)
            last = 0
        elif part["close"] is not None:
            last = groups.pop() if len(groups) > 1 else 0
            groups[-1] += last
        elif part["times"] is not None:
            times = max(int(count[:6]) for count in (part["least"] or "1", part["most"] or "1"))
            groups[-1] += last * max(0, times - 1)
            last *= max(1, times)
        elif part["repeat"] is None and not (is_verbose and part[0].isspace()):
            last = _weight_of(part.lastgroup or "", part[0], is_folded=is_folded)
            groups[-1] += last
    return PER_EXPRESSION + sum(groups)


def _weight_of(kind: str, text: str, *, is_folded: bool) -> int:
    if kind == "unicode":
        return PER_UNICODE
    if kind == "small":
        return PER_SMALL_UNICODE
    if kind == "set":
        return PER_CLASS + PER_UNICODE * len(_UNICODE.findall(text)) + (PER_CHARACTER * len(text))
    if kind == "any":
        return PER_CLASS
    return PER_FOLDED if is_folded else PER_CHARACTER * len(text.encode(errors="replace"))


def matcher(expression: str, where: str, allowance: Allowance | None = None) -> Callable[[str], bool]:
    """Compile an expression into a function that says whether a text contains a match.

    Raises `bad_args` for an invalid expression, or one that needs more memory than its file has left.
    """
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    if len(expression) > MAX_CHARS:
        raise SpanielError(Code.BAD_ARGS, field=where, reason=f"the expression has more than {MAX_CHARS} characters")
    (allowance or Allowance()).take(weight(expression), where)
    try:
        match = SchemaValidator(core_schema.str_schema(pattern=expression, regex_engine="rust-regex")).isinstance_python
    except (SchemaError, UnicodeEncodeError) as error:
        reason = str(error).strip().rpartition("error: ")[2]
        raise SpanielError(
            Code.BAD_ARGS, field=where, reason=f"not a regular expression of Rust's kind ({reason}): {expression}"
        ) from None
    return lambda text: match(text if text.isascii() else text.encode("utf-8", "replace").decode())


GLOB_SIGNS = frozenset("\\.+*?()|[]{}^$#&-~")


def glob_expression(glob: str) -> str | None:
    """Translate a `.gitignore` pattern into an expression for a whole path; None if it matches nothing."""
    parts: list[str] = []
    at = 0
    while at < len(glob):
        piece = _piece(glob, at)
        if piece is None:
            return None
        expression, at = piece
        parts.append(expression)
    return f"(?s)^(?:{''.join(parts)})$"


def _piece(glob: str, at: int) -> tuple[str, int] | None:
    """The expression for the part of the glob at this position, and the position after it."""
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
    """Two stars between slashes match any folders; elsewhere they are the same as one star."""
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
    """A set of characters, which never matches a slash."""
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
