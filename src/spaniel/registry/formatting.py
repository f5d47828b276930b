"""Formats files (DB-03, DB-11): records, keys and lists are sorted, hashes in lower case, line ends uniform.

Lines are moved, never rewritten, so that the quoting and meaning of values stay.
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING

from spaniel.registry.outline import Pair, YamlOutline, outline
from spaniel.registry.record import CATEGORIES, CNAMES, SHA256
from spaniel.registry.yaml_text import BOM, Position, as_read, line_end, lines_for, lines_of, scalar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spaniel.registry.yaml_text import Keys, Value, Written


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
    """A formatted document; a fixed point."""
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
    """Sort keys with the comments above them, and check that the result means the same."""
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
    """A list in brackets: its words are sorted, and the text between them stays."""
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


def set_key(text: str, key: str, value: Written, place: Position) -> str:
    """Set a key; comments stay, and so does a line that has this value already."""
    found = outline(text, place)
    pair = found.pair(key)
    meant = as_read(value)
    if pair is not None and pair.value == meant:
        return text
    if found.pairs and found.column is None:
        raise place.broken("the document stands within braces ({…}); write a key a line, and it can be edited")
    lines, end = lines_of(text), line_end(text)
    if pair is None:
        at = _place_for(key, found, lines)
        if at == len(lines) and lines and not lines[-1].endswith("\n"):
            lines[-1] += end
        lines[at:at] = lines_for(key, value, found.column or 0, end)
    elif pair.span is not None and isinstance(value, str | int):
        start, stop = pair.span
        line = lines[pair.line]
        lines[pair.line] = line[:start] + scalar(value) + line[stop:]
    else:
        own = None if isinstance(value, str | int) else _edited_list(lines[pair.line : pair.end], pair, value, end)
        lines[pair.line : pair.end] = own or lines_for(key, value, found.column or 0, end)
    return _proved("".join(lines), {**found.keys, key: meant}, place)


def _edited_list(lines: list[str], pair: Pair, value: Sequence[str], end: str) -> list[str] | None:
    """The lines of a list with other items: those that stay keep theirs, with comments and quotes. None where an item
    has more lines than one, or shares its line."""
    items = items_of(lines[1:])
    if not items or not value or not isinstance(pair.value, list) or len(items) != len(pair.value):
        return None
    known = dict(zip(map(str, pair.value), items, strict=True))
    lead = items[0][-1].partition("-")[0]
    if not lines[-1].endswith("\n"):
        items[-1][-1] += end
    return [lines[0], *(line for item in value for line in known.get(item, [f"{lead}- {scalar(item)}{end}"]))]


def unset_key(text: str, key: str, place: Position) -> str:
    """The document without a key; a comment above it stays."""
    found = outline(text, place)
    pair = found.pair(key)
    if pair is None:
        return text
    if found.column is None:
        raise place.broken("the document stands within braces ({…}); write a key a line, and it can be edited")
    lines = lines_of(text)
    del lines[pair.line : pair.end]
    return _proved("".join(lines), {name: value for name, value in found.keys.items() if name != key}, place)


def _place_for(key: str, found: YamlOutline, lines: list[str]) -> int:
    """Where a new key belongs: before the first that sorts after it, and above that one's comments."""
    before: Pair | None = None
    for pair in found.pairs:
        if pair.key > key:
            break
        before = pair
    if before is not None:
        return before.end
    return 1 if lines[:1] and lines[0].startswith("---") else 0


def _proved(text: str, meant: dict[str, Value], place: Position) -> str:
    """The text, after checking that it parses to the intended values (a block scalar may extend further)."""
    if outline(text, place).keys != meant:
        raise place.broken("this record cannot be edited line by line; please edit it by hand")
    return text
