"""Code blocks: exact text, language, no line numbers, no labels or copy buttons (FR-WF-13a)."""

from __future__ import annotations

import re
from itertools import zip_longest

from turbohtml import Element, Text

from spaniel.reading.judge.class_names import name_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


INDENTING = frozenset({"ul", "ol", "menu", "blockquote"})  # every line inside begins with some characters for each
INDENTED = ",".join(sorted(INDENTING))


LABELS = frozenset({"lang", "language", "label", "badge", "copy", "clipboard", "toolbar", "header", "title"})
MAX_LABEL = 20  # characters of a label
COPY = frozenset({"copy", "copy code", "copied", "copied!", "copier", "kopieren", "copiar", "copia", "复制", "コピー"})
NUMBERED = "span,a,td,i,b,div,code,li"
NUMBER = re.compile("[0-9]{1,6}")
MIN_LINES = 3  # lines: below that consecutive numbers say nothing
MAX_NUMBERS = 5000  # elements in a block that may be numbers


def drop_labels(block: Element, language: str | None) -> None:
    """In the block or right before it."""
    for element in list(_elements_before(block)):
        text = " ".join(element.text.split()).lower()
        if not text or len(text) > MAX_LABEL or element.select_one("pre,img") is not None:
            continue
        named = not LABELS.isdisjoint(name_parts(element.attr("class") or ""))
        inside = element.parent == block
        if text in COPY or (text == language and (named or not inside)) or (named and inside and _has_code(block)):
            element.decompose()


def _has_code(block: Element) -> bool:
    return block.select_one("code") is not None


def _elements_before(block: Element) -> Iterator[Element]:
    """What precedes the code inside the block, and what precedes the block in the two boxes around it."""
    for child in block.children:
        if isinstance(child, Element) and child.tag != "code":
            yield child
        if not isinstance(child, Text) or child.data.strip():
            break
    place = block
    for _ in range(2):
        before = place.previous_sibling
        while isinstance(before, Text) and not before.data.strip():
            before = before.previous_sibling
        if isinstance(before, Element):
            yield before
            return
        up = place.parent
        if before is not None or not isinstance(up, Element) or up.tag in ("body", "li", "td"):
            return
        place = up


def drop_numbers(block: Element, text: str) -> None:
    """Numbers in elements of their own, one at the beginning of every line, each one more than the one before."""
    lines = [line.strip() for line in text.split("\n")]
    beginning = NUMBER.match(lines[0])
    if len(lines) < MIN_LINES or beginning is None:
        return
    first = int(beginning[0])
    if not all(line.startswith(str(first + n)) for n, line in enumerate(lines)):
        return
    wanted, found = first, []
    for element in block.select(NUMBERED)[:MAX_NUMBERS]:
        if element.text.strip() == str(wanted):
            found.append(element)
            wanted += 1
    if len(found) == len(lines):
        for element in found:
            element.decompose()


def is_gutter(block: Element, following: Element) -> bool:
    """Whether a block is nothing but the numbers of the lines of the next."""
    numbers = block.text.split()
    if len(numbers) < 2 or NUMBER.fullmatch(numbers[0]) is None:
        return False
    first = int(numbers[0])
    counted = all(number == str(first + n) for n, number in enumerate(numbers))
    return counted and abs(following.text.strip("\n").count("\n") + 1 - len(numbers)) <= 1


MAX_CODE_BLOCKS = 2000  # blocks of code that are looked into; in 745 real pages there are 79 at most
MAX_LINE_ELEMENTS = 5000  # elements in a block that may be its lines
GUTTER = (
    ".linenos,.lineno,.linenodiv,.line-numbers-rows,.gutter,.hljs-ln-numbers,.rouge-gutter,.blob-num,.ln,.lnt,.linenumber,"
    ".line-number,.linenum,.line-num,.lineNumber,.react-syntax-highlighter-line-number,.CodeMirror-linenumber,.crayon-num"
)
TABLES = "table.highlighttable,table.rouge-table,table.hljs-ln,table.lntable,figure.highlight table"
LINE_TAGS = "div,li,p,tr"
INDENT = 4  # characters, of a list or a quote around the code
LANGUAGE_CLASS = re.compile(
    r"(?:^|[\s;])(?:language|lang|highlight-source|highlight-text|highlight|brush|code|sourcecode|src|syntax)[-:_]\s*([\w+#.-]+)",
    re.IGNORECASE,
)
LANGUAGE_AFTER = re.compile(
    r"(?:^|\s)(?:hljs|sourceCode|src|highlight|prettyprint|code|CodeMirror|prism)\s+([\w+#-]+)(?:\s|$)"
)
NO_LANGUAGE = frozenset(
    {
        "default",
        "none",
        "text",
        "plain",
        "plaintext",
        "nohighlight",
        "txt",
        "block",
        "wrapper",
        "source",
        "box",
        "container",
        "highlight",
    }
)


def prepare_code(root: Element, room: int) -> bool:
    """Give every `pre` one `code` child with its text to the letter and its language as a class.

    Indented lines of code may take no more than `room` characters for that; answer whether some had to go.
    """
    for table in _outermost(root.select(TABLES)):
        _unwrap_gutter(table)
    cut = False
    for block in _without_gutters(_outermost(root.select("pre"))):
        for gutter in block.select(GUTTER):
            gutter.decompose()
        language = _language(block)
        drop_labels(block, language)
        drop_numbers(block, block.text.strip("\n"))
        text, room = _fit_indentation(_code_text(block), block, room)
        cut = cut or room < 0
        block.clear()
        block.append(Element("code", {"class": f"language-{language}"} if language else {}, [Text(text)]))
    return cut


def _outermost(elements: list[Element]) -> list[Element]:
    """Those that stand in none of the others: what is done to one is done to all that it holds."""
    found: dict[Element, None] = {}
    for element in elements[:MAX_CODE_BLOCKS]:
        if not any(up in found for up in element.ancestors):
            found[element] = None
    return list(found)


def _without_gutters(blocks: list[Element]) -> list[Element]:
    """A block of nothing but numbers beside one of as many lines is no code; a table of the two is its code."""
    kept = []
    for block, following in zip_longest(blocks, blocks[1:]):
        if following is None or not is_gutter(block, following):
            kept.append(block)
            continue
        table = block.closest("table")
        block.decompose()
        if table is not None and len(table.select("pre")) == 1:
            table.replace_with(following)
    return kept


def _fit_indentation(text: str, block: Element, room: int) -> tuple[str, int]:
    """The code, or as many of its lines as can be indented in what room there is; and the room that is left."""
    around = block.closest(INDENTED)
    if around is None or room < 0:
        return ("" if around is not None else text), room
    depth = sum(1 for up in block.ancestors if isinstance(up, Element) and up.tag in INDENTING)
    lines = text.count("\n") + 1
    left = room - INDENT * depth * lines
    if left >= 0:
        return text, left
    return "\n".join(text.split("\n", room // (INDENT * depth))[:-1]), left


def _unwrap_gutter(table: Element) -> None:
    """A table of two cells, line numbers and code, is its code."""
    for number in table.select(f"td.gl,{GUTTER}"):
        number.decompose()
    inner = table.select_one("pre")
    if inner is not None:
        table.replace_with(inner)
    else:
        table.tag = "pre"


def _code_text(block: Element) -> str:
    for rest in block.select("br"):
        rest.replace_with(Text("\n"))
    lines = block.select(LINE_TAGS)
    if lines and len(lines) < MAX_LINE_ELEMENTS and "\n" not in block.text.strip():
        return "\n".join(line.text for line in lines if not line.select_one(LINE_TAGS))
    return block.text.replace("\r\n", "\n").strip("\n")


def _language(block: Element) -> str | None:
    for element in _around(block):
        names = element.attr("class") or ""
        for pattern in (LANGUAGE_CLASS, LANGUAGE_AFTER):
            for found in pattern.finditer(names[:300]):
                if (name := _clean(found[1])) is not None:
                    return name
        for attribute in ("data-lang", "data-language", "data-code-language"):
            if (name := _clean(element.attr(attribute) or "")) is not None:
                return name
    return None


def _around(block: Element) -> Iterator[Element]:
    """Where a language is written: on the code, the block, and the two boxes around it."""
    if (inner := block.select_one("code")) is not None:
        yield inner
    yield block
    up = block.parent
    for _ in range(2):
        if not isinstance(up, Element) or up.tag == "body":
            return
        yield up
        up = up.parent


def _clean(name: str) -> str | None:
    name = name.strip().lower().removeprefix("source-")
    return name if name and len(name) <= 20 and name not in NO_LANGUAGE and re.fullmatch(r"[\w+#.-]+", name) else None
