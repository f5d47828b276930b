"""The one form of a file (DB-03, DB-11): records, keys and lists in order, hashes in lower case, lines that end alike.

Lines are moved, never written anew: what a value means to others, and how it is quoted, is not ours to decide.
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING

from spaniel.registry.complaints import Position
from spaniel.registry.metadata import CNAMES
from spaniel.registry.record import CATEGORIES, SHA256
from spaniel.registry.splitting import BOM, lines_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spaniel.registry.outline import Pair, YamlOutline
    from spaniel.registry.plain import Keys

SORTED_LISTS = (CATEGORIES, CNAMES)
_ITEM = re.compile(r"[ \t]*-(?:[ \t]|\r?\n|\Z)")
_ASIDE = re.compile(r"[ \t]*(?:#[^\n]*)?\r?\n?")
# A list in brackets, of words that are bare or quoted; no comment, and nothing else within. No step is taken twice: the
# quantifiers are possessive, or many spaces would take a time that grows with their square
_SPACE = r"[ \t\r\n]*+"
_BARE = r"[^\[\]{}'\"#,\s][^\[\]{}#,\s]*+(?:[ \t]++[^\[\]{}#,\s]++)*+"
_WORD = rf"""(?:'(?:[^'\n]|'')*+'|"(?:[^"\\\n]|\\.)*+"|{_BARE})"""
_WORDS = rf"{_WORD}(?:{_SPACE},{_SPACE}{_WORD})*+"
_FLOW = rf"(?s)([^\[#]*+\[{_SPACE})({_WORDS})({_SPACE},?+{_SPACE}\].*)"  # compiled where it is needed, which is rare
_FLOW_WORD = rf"{_WORD}(?={_SPACE}(?:,|\Z))"
_BARE_MARK = re.compile(r"---[ \t]+(?=\r?\n|\Z)")


def format_document(text: str, keys: Keys, place: tuple[str, int], end: str) -> str:
    """A document in its one form; what is in it already comes back as it is."""
    if not _has_lines_in_form(text, end):
        text = re.sub("\r?\n", end, _BARE_MARK.sub("---", text, count=1))
        text = text if text.startswith("---") else f"---{end}{text}"
        text = text if text.endswith("\n") else text + end
    return text if _has_keys_in_order(keys) else _ordered(text, Position(*place))


def format_preamble(text: str, end: str) -> str:
    """The comments before the first document; a byte order mark says nothing in UTF-8."""
    return re.sub("\r?\n", end, text.removeprefix(BOM))


def _has_lines_in_form(text: str, end: str) -> bool:
    """Of what has more on its first line than `---` it is not known."""
    if not text.startswith(f"---{end}") or text[-1] != "\n":
        return False
    returns = text.count("\r")
    return returns == (0 if end == "\n" else text.count("\n"))


def _has_keys_in_order(keys: Keys) -> bool:
    if len(keys) > 1:
        names = list(keys)
        if names != sorted(names):
            return False
    for name in SORTED_LISTS:
        if name in keys and isinstance(items := keys[name], list) and items != sorted(items, key=str):
            return False
    return SHA256 not in keys or keys[SHA256] == str(keys[SHA256]).lower()


def _ordered(text: str, place: Position) -> str:
    """Keys with the comments above them are moved; then it is read again, for it must mean the same."""
    from spaniel.registry.outline import outline

    found = outline(text, place)
    if found.column is None:
        return text
    lines = lines_of(text)
    blocks = [(pair.key, _block(lines, start, pair)) for start, pair in _starts(found)]
    in_order = (line for _, block in sorted(blocks, key=itemgetter(0)) for line in block)
    moved = "".join([lines[0], *in_order, *lines[found.pairs[-1].end :]])
    return moved if _means_the_same(outline(moved, place), found) else text


def _starts(found: YamlOutline) -> list[tuple[int, Pair]]:
    """Each key with the line where what belongs to it begins: after the key before it, or after the mark."""
    starts = [1, *(pair.end for pair in found.pairs[:-1])]
    return list(zip(starts, found.pairs, strict=True))


def _block(lines: list[str], start: int, pair: Pair) -> list[str]:
    above, own = lines[start : pair.line], lines[pair.line : pair.end]
    if pair.key in SORTED_LISTS and isinstance(pair.value, list):
        flow = re.fullmatch(_FLOW, "".join(own))
        return above + (_sorted_words(flow, pair.value) if flow else [own[0], *_sorted_items(own[1:], pair.value)])
    if pair.key == SHA256 and pair.span is not None:
        begin, end = pair.span
        own = [own[0][:begin] + own[0][begin:end].lower() + own[0][end:], *own[1:]]
    return above + own


def _sorted_items(lines: list[str], values: Sequence[object]) -> list[str]:
    """Items of a line each, with the comments above them; anything else stays as it is."""
    items = items_of(lines)
    if items is None or len(items) != len(values):
        return lines
    return [line for _, item in sorted(zip(map(str, values), items, strict=True), key=itemgetter(0)) for line in item]


def items_of(lines: list[str]) -> list[list[str]] | None:
    """The lines of a list, item by item: each has its own line, and the comments above it. None where one has more."""
    items: list[list[str]] = [[]]
    for line in lines:
        items[-1].append(line)
        if _ITEM.match(line):
            items.append([])
        elif not _ASIDE.fullmatch(line):
            return None
    return None if items.pop() else items


def _sorted_words(flow: re.Match[str], values: Sequence[object]) -> list[str]:
    """A list in brackets: its words change places, and what stands between them stays."""
    words = list(re.finditer(_FLOW_WORD, flow[2]))
    if len(words) != len(values):
        return lines_of(flow[0])
    in_order = sorted(zip(map(str, values), (word[0] for word in words), strict=True), key=itemgetter(0))
    text, at = [], 0
    for word, (_, instead) in zip(words, in_order, strict=True):
        text += [flow[2][at : word.start()], instead]
        at = word.end()
    return lines_of(f"{flow[1]}{''.join(text)}{flow[2][at:]}{flow[3]}")


def _means_the_same(moved: YamlOutline, found: YamlOutline) -> bool:
    """Keys and values, whatever their order; and hashes, whatever their case."""

    def plain(pair: Pair) -> object:
        if pair.key in SORTED_LISTS and isinstance(pair.value, list):
            return sorted(map(str, pair.value))
        return str(pair.value).lower() if pair.key == SHA256 else pair.value

    return {pair.key: plain(pair) for pair in moved.pairs} == {pair.key: plain(pair) for pair in found.pairs}
