"""Mathematics: whatever way a page carries it, one TeX formula comes out (MathML, KaTeX, MathJax, Sphinx)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from turbohtml import Element, Text

from spaniel.reading.clean import LONGEST_STYLE, hides
from spaniel.reading.hygiene import scrub
from spaniel.reading.mathml import NODES, tex_of
from spaniel.reading.substitution import sub

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turbohtml import Document

FORMULA = "x-math"
WRAPPERS = ".katex-display,.katex,.mwe-math-element,mjx-container,.MathJax_Display,.MathJax,.MJXc-display"
OPEN, CLOSE = "\ue000", "\ue001"  # private use; a page that has them may see a formula in another place
MARK = re.compile(f"{OPEN}([0-9]{{1,6}}){CLOSE}")
TAG = re.compile(r"<(?=[A-Za-z/!?])")


def set_math(doc: Document) -> None:
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
    _set_mathml(doc.select("math") if formulas else ())
    if doc.root is not None and doc.root.attr("xmlns:mml") is not None:  # XHTML of publishers
        _set_mathml(doc.select(r"mml\:math"))
    for box in (*doc.select("span.math"), *doc.select("div.math")):
        text = box.text.strip()
        if text.startswith(("\\(", "\\[", "$")):
            _replace(box, text, display=box.tag == "div")


def _set_mathml(formulas: Iterable[Element]) -> None:
    """Those that brought no TeX."""
    room = [NODES]
    for formula in formulas:
        outer = formula.closest(WRAPPERS) or formula
        if not any(map(_is_hidden, (formula, outer))) and (tex := tex_of(formula, room)) is not None:
            display = formula.attr("display") == "block" or outer.attr("display") in ("block", "true")
            _replace(outer, tex, display=display)


def _is_hidden(element: Element) -> bool:
    """Whether it says so itself: with its attributes that would be forgotten."""
    style = element.attr("style")
    return (
        element.attr("hidden") is not None
        or element.attr("aria-hidden") == "true"
        or (style is not None and hides(style[:LONGEST_STYLE]))
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


def take_formulas(root: Element) -> list[str]:
    """Put a mark in the place of each formula, so that no writer escapes its TeX; the marks cannot stand in a page."""
    written = []
    for element in root.select(FORMULA):
        written.append(_written(element))
        element.replace_with(Text(f"{OPEN}{len(written) - 1}{CLOSE}"))
    return written


def put_formulas(markdown: str, written: list[str]) -> str:
    if not written:
        return markdown
    waiting = iter(written)  # each is put once, or a page full of marks would have the longest a thousand times
    return sub(MARK, lambda _mark: next(waiting, ""), markdown)


def _written(element: Element) -> str:
    """TeX between dollars: no tag, link or code span may arise from it."""
    tex = sub(TAG, "< ", scrub(element.text)[0]).replace("](", "] (").replace("`", "'").replace("$", "\\$")
    if "|" in tex and element.closest("td,th") is not None:  # it would end the cell
        tex = tex.replace("\\|", "\\Vert ").replace("|", "\\vert ").rstrip()
    return f"$${tex}$$" if element.attr("class") == "display" else f"${tex}$"
