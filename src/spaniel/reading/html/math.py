"""Mathematics: MathML, KaTeX, MathJax and Sphinx all become one TeX formula.

A formula without TeX of its own is translated from MathML, so that powers, fractions and roots are kept. The tree is
walked with an explicit stack, never by recursion, and every node is visited once: a page may nest as deep as it likes.
Below MAX_DEPTH only the texts are written, so that no formula is much longer than its page."""

from __future__ import annotations

import re

from turbohtml import Element, Text

from spaniel.reading.html.clean import MAX_STYLE, hides
from spaniel.reading.judge.features import HEADINGS
from spaniel.reading.text.scrub import scrub, sub

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from turbohtml import Document, Node

    Parts = list[str | Node]


MAX_DEPTH = 32  # elements inside each other
MAX_NODES = 100_000  # in all formulas of a page
PAGE_TAGS = frozenset(
    {"p", "div", "ul", "ol", "li", "dl", "table", "section", "article", "main", "pre", "form", *HEADINGS}
)
UNSEEN_TAGS = frozenset({"mphantom", "annotation", "annotation-xml"})
FUNCTION_NAMES = frozenset({
    "arccos", "arcsin", "arctan", "arg", "cos", "cosh", "cot", "coth", "csc", "deg", "det", "dim", "exp", "gcd", "inf",
    "ker", "lg", "lim", "liminf", "limsup", "ln", "log", "max", "min", "sec", "sin", "sinh", "sup", "tan", "tanh",
})  # fmt: skip
LARGE_OPERATORS = {
    "∑": "sum",
    "∏": "prod",
    "∐": "coprod",
    "∫": "int",
    "∬": "iint",
    "∮": "oint",
    "⋃": "bigcup",
    "⋂": "bigcap",
}
ACCENTS_OVER = {
    "^": "hat", "ˆ": "hat", "~": "tilde", "˜": "tilde", "¯": "overline", "‾": "overline", "―": "overline",
    "→": "vec", "⃗": "vec", "˙": "dot", "¨": "ddot", "ˇ": "check", "⏞": "overbrace",
}  # fmt: skip
ACCENTS_UNDER = {"_": "underline", "̲": "underline", "¯": "underline", "―": "underline", "⏟": "underbrace"}
ESCAPED = str.maketrans({c: f"\\{c}" for c in "{}#%&_"} | {"\\": "\\backslash ", "^": "\\hat{}", "~": "\\sim "})
INVISIBLE = str.maketrans("", "", "\u2061\u2062\u2063\u2064\u200b")
TIGHT_OPERATORS = frozenset("()[]{}|‖⟨⟩⌊⌋⌈⌉!′″'/.%°∂∇√∀∃¬")  # operators without a space on either side
OPENING_OPERATORS = frozenset("([{,;=+-±×·<>≤≥≈≠→&^_|")  # what follows these is a sign, not an operation
LOOK_BACK = 4  # parts in which the sign before an operator is looked for
CLOSING_OPERATORS = (")", "]", "|", "⟩", "⌋", "⌉")


def mathml_to_tex(formula: Element, room: list[int]) -> str | None:
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
        if room[0] < 0 or (isinstance(node, Element) and node.tag in PAGE_TAGS):
            return None
        if (text := _leaf(node)) is not None:
            written.append(_token(_name(node), text, written))
        elif isinstance(node, Element) and (name := _name(node)) not in UNSEEN_TAGS:
            inner = _children(node)
            made = _layout(name, inner, node) if depth < MAX_DEPTH else [*inner]
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
    if len(children) != 1 or not isinstance(only := children[0], Text) or _name(node) in UNSEEN_TAGS:
        return None
    return " ".join(only.data.split())


def _children(node: Element) -> list[Node]:
    """Without the white space between them."""
    return [child for child in node.children if not (isinstance(child, Text) and not child.data.strip())]


def _token(name: str, text: str, written: list[str]) -> str:
    text = text.translate(INVISIBLE)
    if text in FUNCTION_NAMES or text in LARGE_OPERATORS:
        return f"\\{LARGE_OPERATORS.get(text, text)} "
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
    before = "".join(written[-LOOK_BACK:]).rstrip()
    sign = not before or before[-1] in OPENING_OPERATORS
    return safe if not text or text in TIGHT_OPERATORS or sign else f" {safe} "


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
    whole = _leaf(base) is not None or len(inner) == 1 or last in CLOSING_OPERATORS
    return [base] if whole else ["{", base, "}"]


def _script(sign: str, script: Node) -> Parts:
    text = _leaf(script)
    if text is not None and len(text) == 1 and text.isdecimal():
        return [sign, script]
    return [f"{sign}{{", script, "}"]


def _over_or_under(base: Node, mark: Node, sign: str, marks: dict[str, str]) -> Parts:
    """Accents, limits of sums, and whatever else stands above or below."""
    accent, under = marks.get(_leaf(mark) or ""), _leaf(base) or ""
    if accent is not None:
        return [f"\\{accent}{{", base, "}"]
    if under in FUNCTION_NAMES or under in LARGE_OPERATORS:
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
    "mover": (2, lambda of: _over_or_under(of[0], of[1], "^", ACCENTS_OVER)),
    "munder": (2, lambda of: _over_or_under(of[0], of[1], "_", ACCENTS_UNDER)),
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


FORMULA = "x-math"
WRAPPERS = ".katex-display,.katex,.mwe-math-element,mjx-container,.MathJax_Display,.MathJax,.MJXc-display"
OPEN_MARK, CLOSE_MARK = "\ue000", "\ue001"  # private use; a page that has them may see a formula in another place
PLACEHOLDER = re.compile(f"{OPEN_MARK}([0-9]{{1,6}}){CLOSE_MARK}")
TAG_START = re.compile(r"<(?=[A-Za-z/!?])")


def mark_formulas(doc: Document) -> None:
    """Replace every formula with an element that the Markdown writer prints as TeX. Runs before hidden parts go."""
    for script in doc.select("script[type^='math/tex']"):
        previous = script.previous_sibling
        if isinstance(previous, Element) and "MathJax" in (previous.attr("class") or ""):
            previous.decompose()
        _replace(script, script.text, display="display" in (script.attr("type") or ""))
    formulas = doc.select("math")  # found by turbohtml's index, as is every plain tag: most pages have none
    for annotation in doc.select("annotation[encoding='application/x-tex']") if formulas else ():
        formula = annotation.closest("math")
        if formula is not None:
            outer = formula.closest(WRAPPERS) or formula
            display = formula.attr("display") == "block" or outer.closest(".katex-display") is not None
            _replace(outer.closest(".katex-display") or outer, annotation.text, display=display)
    for formula in doc.select("math[alttext]") if formulas else ():
        _replace(formula, formula.attr("alttext") or "", display=formula.attr("display") == "block")
    _mark_mathml(doc.select("math") if formulas else ())
    if doc.root is not None and doc.root.attr("xmlns:mml") is not None:  # XHTML of publishers
        _mark_mathml(doc.select(r"mml\:math"))
    for box in (*doc.select("span.math"), *doc.select("div.math")):
        text = box.text.strip()
        if text.startswith(("\\(", "\\[", "$")):
            _replace(box, text, display=box.tag == "div")


def _mark_mathml(formulas: Iterable[Element]) -> None:
    """Formulas without TeX."""
    room = [MAX_NODES]
    for formula in formulas:
        outer = formula.closest(WRAPPERS) or formula
        if not any(map(_is_hidden, (formula, outer))) and (tex := mathml_to_tex(formula, room)) is not None:
            display = formula.attr("display") == "block" or outer.attr("display") in ("block", "true")
            _replace(outer, tex, display=display)


def _is_hidden(element: Element) -> bool:
    """Whether it says so itself: with its attributes that would be forgotten."""
    style = element.attr("style")
    return (
        element.attr("hidden") is not None
        or element.attr("aria-hidden") == "true"
        or (style is not None and hides(style[:MAX_STYLE]))
    )


def _replace(element: Element, tex: str, *, display: bool) -> None:
    tex = " ".join(tex.split())
    for opening, closing in (("\\(", "\\)"), ("\\[", "\\]"), ("$$", "$$"), ("$", "$")):
        if tex.startswith(opening) and tex.endswith(closing) and len(tex) > len(opening):
            tex = tex[len(opening) : -len(closing)].strip()
            break
    if element.parent is None:
        return
    if not tex:
        element.decompose()
        return
    element.tag = FORMULA  # not a new element: each of those takes kilobytes, and all have the same hash
    element.attrs.clear()
    if display:
        element.attrs["class"] = "display"
    element.text = tex


def extract_formulas(root: Element) -> list[str]:
    """Put a mark in the place of each formula, so that no writer escapes its TeX; the marks cannot stand in a page."""
    written = []
    for element in root.select(FORMULA):
        written.append(_delimited(element))
        element.replace_with(Text(f"{OPEN_MARK}{len(written) - 1}{CLOSE_MARK}"))
    return written


def insert_formulas(markdown: str, written: list[str]) -> str:
    if not written:
        return markdown
    waiting = iter(written)  # each is put once, or a page full of marks would have the longest a thousand times
    return sub(PLACEHOLDER, lambda _mark: next(waiting, ""), markdown)


def _delimited(element: Element) -> str:
    """TeX between dollars: no tag, link or code span may arise from it."""
    tex = sub(TAG_START, "< ", scrub(element.text)[0]).replace("](", "] (").replace("`", "'").replace("$", "\\$")
    if "|" in tex and element.closest("td,th") is not None:  # it would end the cell
        tex = tex.replace("\\|", "\\Vert ").replace("|", "\\vert ").rstrip()
    return f"$${tex}$$" if element.attr("class") == "display" else f"${tex}$"
