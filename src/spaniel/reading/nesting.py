"""What would make Markdown much longer than its page: lists and quotes without end, and runs of line breaks."""

from __future__ import annotations

from turbohtml import Element, Text

INDENTING = frozenset({"ul", "ol", "menu", "blockquote"})  # every line inside begins with some characters for each
INDENTED = ",".join(sorted(INDENTING))
DEEPEST = 16  # of those inside each other; in 745 real pages there are 6 at most
TOO_DEEP = " ".join([f":is({INDENTED})"] * (DEEPEST + 1))
LONGEST_NUMBER = 6  # digits with which a numbered list may begin
BREAKS = 32  # on end, with no text between them; in real pages there are 16 at most


def flatten(root: Element) -> bool:
    """Take away what is too deep or too many of these; answer whether there was any."""
    indented = root.select(INDENTED)
    deep = root.select(TOO_DEEP) if len(indented) > DEEPEST else []
    for element in deep:
        for item in element.children:
            if isinstance(item, Element) and item.tag == "li":
                item.tag = "div"
        element.tag = "div"
    for element in indented:
        if len(element.attr("start") or "") > LONGEST_NUMBER:
            del element.attrs["start"]
    return bool(deep)


def shorten_breaks(root: Element) -> None:
    """Only the first breaks of a run stay: to the writer each looks at all that follow, and no reader sees them."""
    run = 0
    surplus: list[Element] = []
    for node in root.descendants:
        if type(node) is Text:
            if not node.data.isspace():
                run = 0
        elif type(node) is Element and node.tag == "br":
            run += 1
            if run > BREAKS:
                surplus.append(node)
    for node in surplus:
        node.decompose()
