"""The content as Markdown: the tree is put in order, turbohtml writes it, the text is tidied (FR-WF-13a)."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from turbohtml import Element, Markdown, Text

from spaniel.reading.borders import set_borders
from spaniel.reading.code import set_code
from spaniel.reading.emphasis import mark_emphasis, part_emphasis
from spaniel.reading.escapes import without_needless
from spaniel.reading.hygiene import scrub, scrub_tree
from spaniel.reading.kept_blanks import free_kept_blanks
from spaniel.reading.links import MANY, set_links
from spaniel.reading.math import put_formulas, take_formulas
from spaniel.reading.nesting import BREAKS, flatten, shorten_breaks
from spaniel.reading.substitution import sub
from spaniel.reading.tables import set_tables
from spaniel.reading.whitespace import RULE, shortened, tidy_markdown

if TYPE_CHECKING:
    from turbohtml import Document

    from spaniel.reading.steps import Steps

AT_LEAST = 64 << 10  # characters that even the smallest page may become
RAISED = re.compile(r"[+\-−–]?[\dn]{1,4}")
# Code spans and escapes are stepped over; the rest is what the writer could not say in Markdown.
LEFT = re.compile(
    r"(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)|\\.|</?(?:strong|em|s|del|code|sub|sup|b|i|u|br)/?>|&#(?:160|10|32|5760|819[2-9]|820[0-2]|8239|8287|12288);[\u2000-\u200a\u3000]*|\u00a0"
)
LONG = 1 << 16  # characters of a line in which escapes are not looked at one by one: no text has such lines
LEFT_IN_LONG = re.compile(r"(?P<plain>(?:\\.|[^\\`<&\u00a0])++)|" + LEFT.pattern)
WIDE = re.compile(r"(?<=(?<!\\)\| )\u3000+")  # at the beginning of a table's cell
TWICE = ":is(b,strong) b,:is(b,strong) strong,:is(i,em) i,:is(i,em) em"  # bold is no bolder inside of bold
TWINS = "code+code,strong+strong,b+b,em+em,i+i"


@cache
def style() -> Markdown:
    made = Markdown(
        tables=Markdown.Tables(header="detect", cell_blocks="text"),
        document=Markdown.Document(line_break="backslash"),
        links=Markdown.Links(autolink=False),
    )
    # turbohtml lays its forty options out anew for each page, which takes as long as a short page takes to write.
    laid_out = made._unpack()  # noqa: SLF001 - where there is no such method, `make types` and every test say so
    vars(made)["_unpack"] = laid_out.copy
    return made


class Written(NamedTuple):
    """Markdown, and what was taken away so that it is only text."""

    markdown: str
    harmful: int
    invisible: int
    controls: int
    cut: bool = False


def to_markdown(doc: Document | None, root: Element, url: str | None, size: int, steps: Steps) -> Written:
    """`size` is that of the page, by which its Markdown is measured; `doc` is None where it has no `<base>`."""
    most = 4 * size + AT_LEAST
    too_deep = flatten(root)
    free_kept_blanks(root)
    too_long = steps.run("code", lambda: set_code(root, most), otherwise=False)
    invisible, controls, pictures = scrub_tree(root)
    set_borders(root, pictures=pictures)
    steps.run("tables", lambda: set_tables(root), None)
    breaks = root.select("br")
    steps.run("emphasis", lambda: part_emphasis(breaks), None)
    harmful, unlinked = set_links(doc, root, url, size // 2 + AT_LEAST)
    formulas = take_formulas(root)
    steps.run("terms", lambda: _set_terms(root), None)
    steps.run("small things", lambda: _set_small_things(root), None)
    if len(breaks) > BREAKS:
        shorten_breaks(root)
    written, unseen, acting = scrub(root.to_markdown(style()))
    markdown = put_formulas(tidy_markdown(written, _mend, rule=RULE), formulas)
    short = shortened(markdown, most)
    cut = too_deep or too_long or unlinked or short is not markdown
    return Written(short, harmful, invisible + unseen, controls + acting, cut)


def _set_terms(root: Element) -> None:
    """A term of a definition list and a summary stand out from what follows them."""
    for term in root.select("dt,summary")[: 4 * MANY]:
        if term.select_one("h1,h2,h3,h4,h5,h6,p,div,pre,ul,ol,strong,b,table") is None and next(
            term.stripped_strings, None
        ):
            term.wrap_children(Element("strong"))


def _set_small_things(root: Element) -> None:
    for power in root.select("sup")[:MANY]:
        text = power.text.strip()
        if RAISED.fullmatch(text) and power.select_one("a") is None and _follows_a_value(power):
            power.insert_before(Text("^"))
    for inner in root.select(TWICE)[:MANY]:
        inner.unwrap()
    for twin in root.select(TWINS)[:MANY]:
        before = twin.previous_sibling
        if isinstance(before, Element) and before.tag == twin.tag:
            before.extend(list(twin.children))
            twin.decompose()
    if readings := root.select("rt"):
        root.remove("rp")
    for reading in readings[:MANY]:
        reading.insert_before(Text("("))
        reading.insert_after(Text(")"))
    root.remove("li hr")  # in an item a rule would make a heading of the line before it


def _follows_a_value(power: Element) -> bool:
    before = power.previous_sibling
    text = before.data if isinstance(before, Text) else before.text if isinstance(before, Element) else ""
    return bool(text) and (text[-1].isalnum() or text[-1] in ")]")


def _mend(line: str, before: str, following: str) -> str:
    """What the writer leaves: breaks that break nothing, needless backslashes, tags where marks would not work."""
    if line.startswith("|") and "\u3000" in line:
        line = WIDE.sub("", line)
    if "\\" not in line and "<" not in line and "&#" not in line and "\u00a0" not in line:
        return line
    if _is_broken(line):
        bare = line.rstrip("\\")
        if not (bare.strip("> ") and following.strip("\\> ")):
            line = line[:-1].rstrip()
    if len(line) > LONG:
        return sub(LEFT_IN_LONG, _mended, line)
    if "</" in line:
        line = mark_emphasis(line)
    line = LEFT.sub(_mended, line)
    return without_needless(line, alone=not _is_broken(before) and not _is_broken(line)) if "\\" in line else line


def _is_broken(line: str) -> bool:
    """Whether a line ends in a backslash that breaks it."""
    return line.endswith("\\") and (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _mended(match: re.Match[str]) -> str:
    found = match[0]
    if match.lastgroup == "plain" or found[0] in "`\\":
        return found
    if found[0] in "&\u00a0":  # a space, but where there is one
        whole, end = match.string, match.end()
        return " " if match.start() and whole[match.start() - 1] != " " and whole[end : end + 2] != " |" else ""
    return " " if found == "<br>" else ""
