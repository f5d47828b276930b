"""Regular expressions that somebody else wrote, matched in linear time: Rust's engine, as lychee has it.

An expression with look-around or a back-reference is refused, since no linear engine has them; what is matched is
found anywhere in the text. Python's own engine would let one line of a `.lycheeignore` hold up a run for ever.

Time to match is linear, but an expression of ten characters (`\\w{9999}`) compiles to hundreds of megabytes. So what
expressions would take is estimated before they are compiled, and all of one file together have a limit.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST = 10_000
MOST_BYTES = 64 << 20  # that the expressions of one file or option may take together
# Bytes of compiled expressions, measured on pydantic-core 2.50: the engine keeps a table of UTF-8 for every class.
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
    """What expressions of one origin may take together; whoever goes beyond is refused before anything is compiled."""

    def __init__(self, left: int = MOST_BYTES) -> None:
        self.left = left

    def take(self, size: int, where: str) -> None:
        self.left -= size
        if self.left < 0:
            reason = f"its expressions would take more than {MOST_BYTES >> 20} MB of memory; make them fewer or shorter"
            raise SpanielError(Code.BAD_ARGS, field=where, reason=reason)


def weight(expression: str) -> int:
    """About how many bytes an expression takes when it is compiled; rather too many than too few."""
    is_folded = re.search(r"\(\?[a-zA-Z]*i", expression) is not None
    is_verbose = re.search(r"\(\?[a-zA-Z]*x", expression) is not None
    groups = [0]
    last = 0  # of what a repetition repeats
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
    """Whether an expression is found in a text. Raises `bad_args` for one that is none, or that takes too much of what
    its origin is allowed."""
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    if len(expression) > LONGEST:
        raise SpanielError(Code.BAD_ARGS, field=where, reason=f"the expression has more than {LONGEST} characters")
    (allowance or Allowance()).take(weight(expression), where)
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
