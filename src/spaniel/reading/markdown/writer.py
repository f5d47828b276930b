"""The content as Markdown: the tree is prepared, turbohtml writes it, the text is tidied (FR-WF-13a).

Prepared means: nesting that would make Markdown much longer than its page is flattened, and text that is merely styled
`white-space: pre-wrap` is not code. Some site builders style every paragraph so; code has a `pre`, or its own font."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from turbohtml import Element, Markdown, Text

from spaniel.reading.html.links import MAX_ELEMENTS, prepare_links
from spaniel.reading.html.math import extract_formulas, insert_formulas
from spaniel.reading.markdown.code import INDENTED, prepare_code
from spaniel.reading.markdown.escapes import remove_needless_escapes
from spaniel.reading.markdown.inline import mark_emphasis, separate_elements, split_emphasis
from spaniel.reading.markdown.tables import prepare_tables
from spaniel.reading.text.scrub import scrub, scrub_tree, sub
from spaniel.reading.text.words import RULE, tidy_markdown, truncate_markdown

if TYPE_CHECKING:
    from turbohtml import Document

    from spaniel.reading.steps import OptionalSteps

MAX_NESTING = 16  # of those inside each other; in 745 real pages there are 6 at most
TOO_DEEP = " ".join([f":is({INDENTED})"] * (MAX_NESTING + 1))
MAX_START_DIGITS = 6  # digits with which a numbered list may begin
MAX_BREAKS = 32  # on end, with no text between them; in real pages there are 16 at most


def flatten_deep_lists(root: Element) -> bool:
    """Take away what is too deep or too many of these; answer whether there was any."""
    indented = root.select(INDENTED)
    deep = root.select(TOO_DEEP) if len(indented) > MAX_NESTING else []
    for element in deep:
        for item in element.children:
            if isinstance(item, Element) and item.tag == "li":
                item.tag = "div"
        element.tag = "div"
    for element in indented:
        if len(element.attr("start") or "") > MAX_START_DIGITS:
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
            if run > MAX_BREAKS:
                surplus.append(node)
    for node in surplus:
        node.decompose()


PREFORMATTED = "[style*=white-space i]"
KEEPS_SPACE = re.compile(r"white-space(?:-collapse)?\s*:\s*(?:pre|break)", re.IGNORECASE)
CODE_FONTS = ("mono", "courier", "consolas", "menlo")
MAX_STYLE = 2000  # characters that are looked at
MAX_LINE_BREAKS = 2000  # breaks that may be made on a page: each is an element


def release_preformatted(root: Element) -> None:
    """Text stays text, and breaks its lines where a browser does."""
    room = MAX_LINE_BREAKS
    for element in root.select(PREFORMATTED):
        style = (element.attr("style") or "")[:MAX_STYLE]
        if not KEEPS_SPACE.search(style) or element.tag in ("pre", "code"):
            continue
        if not any(font in style.lower() for font in CODE_FONTS):
            del element.attrs["style"]
            for child in list(element.children):
                if room > 0 and type(child) is Text and "\n" in child.data.strip():
                    room -= _break_lines(child, room)


def _break_lines(text: Text, room: int) -> int:
    """A break for each end of a line; answer how many there are."""
    first, *more = text.data.rstrip().split("\n", room)
    if not first.strip():  # the page's own layout, right behind the tag
        first, *more = more
    text.data = first
    for line in reversed(more):
        text.insert_after(Element("br"), Text(line))
    return len(more)


MIN_ALLOWANCE = 64 << 10  # characters that even the smallest page may become
EXPONENT = re.compile(r"[+\-−–]?[\dn]{1,4}")
# Code spans and escapes are stepped over; the rest is what the writer could not say in Markdown.
LEFTOVER = re.compile(
    r"(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)|\\.|</?(?:strong|em|s|del|code|sub|sup|b|i|u|br)/?>|&#(?:160|10|32|5760|819[2-9]|820[0-2]|8239|8287|12288);[\u2000-\u200a\u3000]*|\u00a0"
)
LONG_LINE = 1 << 16  # characters of a line in which escapes are not looked at one by one: no text has such lines
LEFTOVER_IN_LONG = re.compile(r"(?P<plain>(?:\\.|[^\\`<&\u00a0])++)|" + LEFTOVER.pattern)
LEADING_WIDE_SPACE = re.compile(r"(?<=(?<!\\)\| )\u3000+")  # at the beginning of a table's cell
NESTED_EMPHASIS = ":is(b,strong) b,:is(b,strong) strong,:is(i,em) i,:is(i,em) em"  # bold is no bolder inside of bold
ADJACENT_EMPHASIS = "code+code,strong+strong,b+b,em+em,i+i"


@cache
def markdown_options() -> Markdown:
    made = Markdown(
        tables=Markdown.Tables(header="detect", cell_blocks="text"),
        document=Markdown.Document(line_break="backslash"),
        links=Markdown.Links(autolink=False),
    )
    # turbohtml lays its forty options out anew for each page, which takes as long as a short page takes to write.
    laid_out = made._unpack()  # noqa: SLF001 - where there is no such method, `make types` and every test say so
    vars(made)["_unpack"] = laid_out.copy
    return made


class WrittenMarkdown(NamedTuple):
    """Markdown, and what was taken away so that it is only text."""

    markdown: str
    harmful: int
    invisible: int
    controls: int
    cut: bool = False


def to_markdown(
    doc: Document | None, root: Element, url: str | None, size: int, steps: OptionalSteps
) -> WrittenMarkdown:
    """`size` is that of the page, by which its Markdown is measured; `doc` is None where it has no `<base>`."""
    most = 4 * size + MIN_ALLOWANCE
    too_deep = flatten_deep_lists(root)
    release_preformatted(root)
    too_long = steps.run("code", lambda: prepare_code(root, most), otherwise=False)
    invisible, controls, pictures = scrub_tree(root)
    separate_elements(root, pictures=pictures)
    steps.run("tables", lambda: prepare_tables(root), None)
    breaks = root.select("br")
    steps.run("emphasis", lambda: split_emphasis(breaks), None)
    harmful, unlinked = prepare_links(doc, root, url, size // 2 + MIN_ALLOWANCE)
    formulas = extract_formulas(root)
    steps.run("terms", lambda: _bold_terms(root), None)
    steps.run("small things", lambda: _fix_small_markup(root), None)
    if len(breaks) > MAX_BREAKS:
        shorten_breaks(root)
    written, unseen, acting = scrub(root.to_markdown(markdown_options()))
    markdown = insert_formulas(tidy_markdown(written, _fix_line, rule=RULE), formulas)
    short = truncate_markdown(markdown, most)
    cut = too_deep or too_long or unlinked or short is not markdown
    return WrittenMarkdown(short, harmful, invisible + unseen, controls + acting, cut)


def _bold_terms(root: Element) -> None:
    """A term of a definition list and a summary stand out from what follows them."""
    for term in root.select("dt,summary")[: 4 * MAX_ELEMENTS]:
        if term.select_one("h1,h2,h3,h4,h5,h6,p,div,pre,ul,ol,strong,b,table") is None and next(
            term.stripped_strings, None
        ):
            term.wrap_children(Element("strong"))


def _fix_small_markup(root: Element) -> None:
    for power in root.select("sup")[:MAX_ELEMENTS]:
        text = power.text.strip()
        if EXPONENT.fullmatch(text) and power.select_one("a") is None and _follows_a_value(power):
            power.insert_before(Text("^"))
    for inner in root.select(NESTED_EMPHASIS)[:MAX_ELEMENTS]:
        inner.unwrap()
    for twin in root.select(ADJACENT_EMPHASIS)[:MAX_ELEMENTS]:
        before = twin.previous_sibling
        if isinstance(before, Element) and before.tag == twin.tag:
            before.extend(list(twin.children))
            twin.decompose()
    if readings := root.select("rt"):
        root.remove("rp")
    for reading in readings[:MAX_ELEMENTS]:
        reading.insert_before(Text("("))
        reading.insert_after(Text(")"))
    root.remove("li hr")  # in an item a rule would make a heading of the line before it


def _follows_a_value(power: Element) -> bool:
    before = power.previous_sibling
    text = before.data if isinstance(before, Text) else before.text if isinstance(before, Element) else ""
    return bool(text) and (text[-1].isalnum() or text[-1] in ")]")


def _fix_line(line: str, before: str, following: str) -> str:
    """What the writer leaves: breaks that break nothing, needless backslashes, tags where marks would not work."""
    if line.startswith("|") and "\u3000" in line:
        line = LEADING_WIDE_SPACE.sub("", line)
    if "\\" not in line and "<" not in line and "&#" not in line and "\u00a0" not in line:
        return line
    if _is_broken(line):
        bare = line.rstrip("\\")
        if not (bare.strip("> ") and following.strip("\\> ")):
            line = line[:-1].rstrip()
    if len(line) > LONG_LINE:
        return sub(LEFTOVER_IN_LONG, _fix_match, line)
    if "</" in line:
        line = mark_emphasis(line)
    line = LEFTOVER.sub(_fix_match, line)
    return (
        remove_needless_escapes(line, alone=not _is_broken(before) and not _is_broken(line)) if "\\" in line else line
    )


def _is_broken(line: str) -> bool:
    """Whether a line ends in a backslash that breaks it."""
    return line.endswith("\\") and (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _fix_match(match: re.Match[str]) -> str:
    found = match[0]
    if match.lastgroup == "plain" or found[0] in "`\\":
        return found
    if found[0] in "&\u00a0":  # a space, but where there is one
        whole, end = match.string, match.end()
        return " " if match.start() and whole[match.start() - 1] != " " and whole[end : end + 2] != " |" else ""
    return " " if found == "<br>" else ""
