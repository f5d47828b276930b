"""MathML as TeX: a formula that brings no TeX of its own keeps its powers, fractions and roots.

It is walked with a list of what is still to be written, never by recursion, and every node is met once: a page may
nest as deep as it likes. Below DEEPEST only the texts are written, so that no formula is much longer than its page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from turbohtml import Element, Text

from spaniel.reading.shapes import HEADINGS

if TYPE_CHECKING:
    from collections.abc import Callable

    from turbohtml import Node

    Parts = list[str | Node]

DEEPEST = 32  # elements inside each other
NODES = 100_000  # in all formulas of a page
PAGE = frozenset({"p", "div", "ul", "ol", "li", "dl", "table", "section", "article", "main", "pre", "form", *HEADINGS})
UNSEEN = frozenset({"mphantom", "annotation", "annotation-xml"})
NAMES = frozenset({
    "arccos", "arcsin", "arctan", "arg", "cos", "cosh", "cot", "coth", "csc", "deg", "det", "dim", "exp", "gcd", "inf",
    "ker", "lg", "lim", "liminf", "limsup", "ln", "log", "max", "min", "sec", "sin", "sinh", "sup", "tan", "tanh",
})  # fmt: skip
LARGE = {"∑": "sum", "∏": "prod", "∐": "coprod", "∫": "int", "∬": "iint", "∮": "oint", "⋃": "bigcup", "⋂": "bigcap"}
OVER = {
    "^": "hat", "ˆ": "hat", "~": "tilde", "˜": "tilde", "¯": "overline", "‾": "overline", "―": "overline",
    "→": "vec", "⃗": "vec", "˙": "dot", "¨": "ddot", "ˇ": "check", "⏞": "overbrace",
}  # fmt: skip
UNDER = {"_": "underline", "̲": "underline", "¯": "underline", "―": "underline", "⏟": "underbrace"}
ESCAPED = str.maketrans({c: f"\\{c}" for c in "{}#%&_"} | {"\\": "\\backslash ", "^": "\\hat{}", "~": "\\sim "})
INVISIBLE = str.maketrans("", "", "\u2061\u2062\u2063\u2064\u200b")
TIGHT = frozenset("()[]{}|‖⟨⟩⌊⌋⌈⌉!′″'/.%°∂∇√∀∃¬")  # operators without a space on either side
OPENS = frozenset("([{,;=+-±×·<>≤≥≈≠→&^_|")  # what follows these is a sign, not an operation
FEW = 4  # parts in which the sign before an operator is looked for
CLOSES = (")", "]", "|", "⟩", "⌋", "⌉")


def tex_of(formula: Element, room: list[int]) -> str | None:
    """The formula; nothing where it holds parts of a page, or where `room` has no nodes left."""
    written: list[str] = []
    todo: list[str | tuple[Node, int]] = [(formula, 0)]
    while todo:
        part = todo.pop()
        if isinstance(part, str):
            if part[:1] in ("^", "_") and written:
                written[-1] = written[-1].rstrip()
            written.append(part)
            continue
        node, depth = part
        room[0] -= 1
        if room[0] < 0 or (isinstance(node, Element) and node.tag in PAGE):
            return None
        if (text := _leaf(node)) is not None:
            written.append(_token(_name(node), text, written))
        elif isinstance(node, Element) and (name := _name(node)) not in UNSEEN:
            inner = _children(node)
            made = _layout(name, inner, node) if depth < DEEPEST else [*inner]
            todo += [item if isinstance(item, str) else (item, depth + 1) for item in reversed(made)]
    return " ".join("".join(written).split())


def _name(node: Node) -> str:
    return node.tag.rpartition(":")[2] if isinstance(node, Element) else ""  # some write <mml:mi>


def _leaf(node: Node) -> str | None:
    """The text of a node that holds nothing else."""
    if isinstance(node, Text):
        return " ".join(node.data.split())
    if not isinstance(node, Element):
        return ""
    children = node.children
    if len(children) != 1 or not isinstance(only := children[0], Text) or _name(node) in UNSEEN:
        return None
    return " ".join(only.data.split())


def _children(node: Element) -> list[Node]:
    """Without the white space between them."""
    return [child for child in node.children if not (isinstance(child, Text) and not child.data.strip())]


def _token(name: str, text: str, written: list[str]) -> str:
    text = text.translate(INVISIBLE)
    if text in NAMES or text in LARGE:
        return f"\\{LARGE.get(text, text)} "
    if name == "mo":
        return _operator(text, written)
    safe = text.translate(ESCAPED)
    if name in ("mtext", "ms"):
        return f" \\text{{{safe}}} " if any(map(str.isalpha, text)) else f"{safe} "
    return f"\\mathrm{{{safe}}}" if name == "mi" and len(text) > 1 and text.isalpha() else safe


def _operator(text: str, written: list[str]) -> str:
    safe = "-" if text == "−" else text.translate(ESCAPED)
    if text in (",", ";"):
        return f"{safe} "
    before = "".join(written[-FEW:]).rstrip()
    sign = not before or before[-1] in OPENS
    return safe if not text or text in TIGHT or sign else f" {safe} "


def _layout(name: str, inner: list[Node], node: Element) -> Parts:
    """What an element is written as: its children, and what stands between them. None of them is lost."""
    if name == "mfenced":
        return _fenced(node, inner)
    fewest, layout = LAYOUTS.get(name, (0, None))
    if layout is None or len(inner) < abs(fewest):
        return [*inner]
    return [*layout(inner), *(inner[fewest:] if fewest > 0 else ())]


def _base(base: Node) -> Parts:
    """What a power is of. Brackets hold together, as does a single sign."""
    inner = _children(base) if isinstance(base, Element) and _leaf(base) is None else []
    last = _leaf(inner[-1]) if inner else ""
    whole = _leaf(base) is not None or len(inner) == 1 or last in CLOSES
    return [base] if whole else ["{", base, "}"]


def _script(sign: str, script: Node) -> Parts:
    text = _leaf(script)
    if text is not None and len(text) == 1 and text.isdecimal():
        return [sign, script]
    return [f"{sign}{{", script, "}"]


def _marked(base: Node, mark: Node, sign: str, marks: dict[str, str]) -> Parts:
    """Accents, limits of sums, and whatever else stands above or below."""
    accent, under = marks.get(_leaf(mark) or ""), _leaf(base) or ""
    if accent is not None:
        return [f"\\{accent}{{", base, "}"]
    if under in NAMES or under in LARGE:
        return [base, *_script(sign, mark)]
    return [f"\\{'over' if sign == '^' else 'under'}set{{", mark, "}{", base, "}"]


def _scripts(base: Node, scripts: list[Node]) -> Parts:
    """Index and power in turn; what stands before the base comes behind a mark of its own."""
    names = [_name(script) for script in scripts]
    place = names.index("mprescripts") if "mprescripts" in names else len(names)
    before, after = (
        [item for i, one in enumerate(some) if _name(one) != "none" for item in _script("_^"[i % 2], one)]
        for some in (scripts[place + 1 :], scripts[:place])
    )
    return ["{}" if before else "", *before, *_base(base), *after]


def _fenced(node: Element, inner: list[Node]) -> Parts:
    opening, closing = node.attr("open"), node.attr("close")
    signs = ((node.attr("separators") or ",").strip() or " ")[:1]
    left = "(" if opening is None else opening[:1].translate(ESCAPED)
    right = ")" if closing is None else closing[:1].translate(ESCAPED)
    return [left, *_between(inner, f"{signs} "), right]


def _between(parts: list[Node], sign: str) -> Parts:
    return [item for part in parts for item in (sign, part)][1:]


LAYOUTS: dict[str, tuple[int, Callable[[list[Node]], Parts]]] = {  # with how many children at least; below 0, all
    "msup": (2, lambda of: [*_base(of[0]), *_script("^", of[1])]),
    "msub": (2, lambda of: [*_base(of[0]), *_script("_", of[1])]),
    "msubsup": (3, lambda of: [*_base(of[0]), *_script("_", of[1]), *_script("^", of[2])]),
    "munderover": (3, lambda of: [*_base(of[0]), *_script("_", of[1]), *_script("^", of[2])]),
    "mover": (2, lambda of: _marked(of[0], of[1], "^", OVER)),
    "munder": (2, lambda of: _marked(of[0], of[1], "_", UNDER)),
    "mmultiscripts": (-1, lambda of: _scripts(of[0], of[1:])),
    "mfrac": (2, lambda of: ["\\frac{", of[0], "}{", of[1], "}"]),
    "msqrt": (-1, lambda of: ["\\sqrt{", *of, "}"]),
    "mroot": (2, lambda of: ["\\sqrt[", of[1], "]{", of[0], "}"]),
    "mtable": (-1, lambda of: ["\\begin{matrix} ", *_between(of, " \\\\ "), " \\end{matrix}"]),
    "mtr": (-1, lambda of: _between(of, " & ")),
    "mlabeledtr": (-1, lambda of: [*_between(of[1:], " & "), " \\quad ", of[0]]),
    "mspace": (0, lambda _: [" "]),
    "maction": (-1, lambda of: [of[0]]),  # the one that is shown
}
