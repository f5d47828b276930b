"""Tables: spans laid out, layout tables unwrapped, nothing lost (FR-WF-13a)."""

from __future__ import annotations

from turbohtml import Element, Text

MAX_SPAN = 60  # columns a span may reach
MAX_ADDED_CELLS = 5000  # cells that spans may add on one page
LISTS, INNER_LISTS = (f":is(td,th) {inside}:is(ul,menu)" for inside in ("", "li "))
GLUED = ":is(td,th) :is(ol,table)"  # in a cell the writer sets no space behind them
BULLET, INNER_BULLET = "• ", "◦ "
BLOCKS = "h1,h2,h3,h4,h5,h6,ul,ol,pre,blockquote,dl,table,article,section"


def prepare_tables(root: Element) -> None:
    room = MAX_ADDED_CELLS
    tables = root.select("table")
    for table in tables:
        if is_layout(table):
            _unwrap(table)
        else:
            if table.select_one("[colspan],[rowspan]") is not None:
                room = _fill_spans(table, room)
            room = _pad_rows(table, room)
    if tables:
        _flatten_cell_lists(root)


def _flatten_cell_lists(root: Element) -> None:
    """A cell is one line, where `*` begins no item: bullets do, and an item that is alone needs none."""
    lists = root.select(LISTS)
    inner = set(root.select(INNER_LISTS)) if lists else set()
    for around in lists:
        items = [item for item in around.children if isinstance(item, Element) and item.tag == "li"]
        filled = [item for item in items if next(item.stripped_strings, None) or item.select_one("img") is not None]
        for item in filled if len(filled) > 1 else ():
            item.insert(0, Text(INNER_BULLET if around in inner else BULLET))
        for item in items:
            item.tag = "div"
        around.tag = "div"
    for block in root.select(GLUED):
        block.insert_after(Text(" "))


def is_layout(table: Element) -> bool:
    """A table that only places things: one row or one column, or boxes inside, and nothing that names a column."""
    if table.attr("role") in ("presentation", "none"):
        return True
    rows = _rows(table)
    widths = [len(_cells(row)) for row in rows]
    if any(cell.tag == "th" for row in rows for cell in _cells(row)):
        return False
    return (
        not widths
        or max(widths) <= 1
        or len(rows) == 1
        or table.select_one("table") is not None
        or (len(rows) < 4 and table.select_one(BLOCKS) is not None)
    )


def _rows(table: Element) -> list[Element]:
    rows = []
    for child in table.children:
        if isinstance(child, Element):
            if child.tag == "tr":
                rows.append(child)
            elif child.tag in ("thead", "tbody", "tfoot"):
                rows += [row for row in child.children if isinstance(row, Element) and row.tag == "tr"]
    return rows


def _cells(row: Element) -> list[Element]:
    return [cell for cell in row.children if isinstance(cell, Element) and cell.tag in ("td", "th")]


def _unwrap(table: Element) -> None:
    for row in _rows(table):
        for cell in _cells(row):
            cell.tag = "div"
        row.tag = "div"
    for part in list(table.children):
        if isinstance(part, Element) and part.tag in ("thead", "tbody", "tfoot", "caption", "colgroup"):
            part.tag = "div"
    table.tag = "div"


def _fill_spans(table: Element, room: int) -> int:
    """Empty cells where a cell spans; answer how many more may be added."""
    down: dict[int, int] = {}  # column -> rows still covered by a cell above
    for row in _rows(table):
        column = 0
        for cell in _cells(row):
            while room > 0 and down.get(column, 0) > 0:
                down[column] -= 1
                cell.insert_before(Element("td"))
                column, room = column + 1, room - 1
            across, along = min(_span(cell, "colspan"), MAX_SPAN), _span(cell, "rowspan")
            fillers = [Element(cell.tag) for _ in range(min(across - 1, room))]
            if fillers:
                cell.insert_after(*fillers)
            room -= len(fillers)
            if along > 1 and room > 0:
                down.update(dict.fromkeys(range(column, column + across), along - 1))
            column += across
        while room > 0 and down.get(column, 0) > 0:
            down[column] -= 1
            row.append(Element("td"))
            column, room = column + 1, room - 1
    return room


def _pad_rows(table: Element, room: int) -> int:
    """All rows as wide as the widest; a table that cannot be made so is unwrapped: a pipe table has no ragged rows."""
    rows = _rows(table)
    widths = [len(_cells(row)) for row in rows]
    widest = max(widths, default=0)
    lacking = sum(widest - width for width in widths)
    if lacking > room:
        _unwrap(table)
        return room
    for row, width in zip(rows, widths, strict=True):
        for _ in range(widest - width):  # one by one: an element that stands alone takes kilobytes
            row.append(Element("td"))
    return room - lacking


def _span(cell: Element, name: str) -> int:
    value = cell.attr(name)
    if value is None:
        return 1
    del cell.attrs[name]
    digits = value.strip()[:4]
    return max(1, int(digits)) if digits.isdecimal() else 1
