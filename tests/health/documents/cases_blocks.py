"""Blocks of Markdown: the ⟦marked targets⟧ are found, and no other links.

Targets are relative, so that they are not found as bare URLs. A link whose brackets are on two lines shows whether both
lines are in the same block.
"""

INDENTS = {
    "three blanks are no code": "   [x](⟦t⟧)",
    "three blanks in a quote": ">    [x](⟦t⟧)\n\n>     [no](no)",
    "a tab in a quote": ">\t[x](⟦t⟧)\n\n>\t  [no](no)",
    "a tab in a quote in a quote": ">\t>   [x](⟦t⟧)\n\n>\t>\t[x](⟦t⟧)",
    "a tab that an item and its code share": "1.\t\t[no](no)",
    "a tab that an item and its text share": "> 1. a\n>\n>\t [x](⟦t⟧)\n>\n>\t     [no](no)",
    "a tab behind two blanks": "- a\n\n  \t[x](⟦t⟧)\n\n  \t  [no](no)",
    "a tab in an item": "- a\n\n\t [x](⟦t⟧)\n\n\t  [no](no)",
    "a tab behind a number": "12.\ta\n\n    [x](⟦t⟧)\n\nb\n\n1234.\ta\n\n        [x](⟦t⟧)",
    "code is no heading": "a\n    ```\n[x](⟦t⟧)\n\n    # [no](no)",
    "code behind a quote": "> # a\n    [no](no)\n> [x](⟦t⟧)",
    "a quote's mark behind three blanks": "> [x\n   > y](⟦t⟧)",
    "a quote's mark behind four blanks": "> # a\n    > [no](no)",
}  # fmt: skip
ITEMS = {
    "an item that begins with a blank line": "-\n  [x](⟦t⟧)\n\n    [x](⟦t⟧)",
    "an item of two blank lines is over": "-\n\n    [no](no)",
    "an item of two blank lines in another": "- -\n\n    [x](⟦t⟧)",
    "an item that begins with code": "-\n      [no](no)\n\n    [x](⟦t⟧)",
    "an item that begins with code, in its line": "-     [no](no)\n\n     [x](⟦t⟧)",
    "an item that begins with nothing but blanks": "-   \n      [no](no)",
    "the blanks behind a bullet": "-    a\n\n     [x](⟦t⟧)\n\n    [no](no)",
    "the blanks before a bullet": "  - a\n\n    [x](⟦t⟧)\n\n       [x](⟦t⟧)\n\n        [no](no)",
    "an item is as wide as its number": "123. a\n\n     [x](⟦t⟧)\n\n    [no](no)",
    "ten digits are no number": "[x\n1. y](no)\n\n[x\n1234567890. y](⟦t⟧)",
    "a number that ends a paragraph": "[x\n1. y](no)\n\n[x\n2. y](⟦t⟧)\n\n[x\n1) y](no)",
    "an empty item ends no paragraph": "[x\n*\ny](⟦t⟧)\n\n[x\n*  \ny](⟦t⟧)\n\n[x\n* \u00a0\ny](no)",
    "any number ends an item's paragraph": "1. [x\n2. y](no)",
    "a bullet needs a blank": "[x\n-y](⟦t⟧)",
    "a line goes on lazily": "- [x\ny](⟦t⟧)\n\n> [x\ny](⟦t⟧)\n\n> - > [x\ny](⟦t⟧)",
    "an item within a quote": "> - a\n>\n>   [x](⟦t⟧)\n\n    [no](no)",
    "a quote ends with a blank line": "> a\n\n    [no](no)",
    "quotes nested deep": f"{'>' * 100} # a\n{'>' * 100}     [no](no)\n\n{'>' * 101} [x](⟦t⟧)",
}  # fmt: skip
LEAVES = {
    "a heading ends a paragraph": "[x\n# y\nz](no)\n\n[x\n#\nz](no)\n\n[x\n####### y](⟦t⟧)\n\n[x\n#y](⟦t⟧)",
    "a heading is one line": "# [x\ny](no)",
    "a heading leaves the item": "- a\n# b\n\n      [no](no)",
    "an underline ends a paragraph": "[x\n===\ny](no)\n\n[x\n---\ny](no)\n\n[x\n= =\ny](⟦t⟧)",
    "a definition under a heading": "a\n===\n[b]: ⟦t⟧",
    "a lazy line is no underline": "> [x\n===\ny](⟦t⟧)",
    "dashes under a quote are a rule": "> [x\n---\ny](no)",
    "a rule ends a paragraph": "[x\n***\ny](no)\n\n[x\n_ _ _\ny](no)\n\n[x\n- - -\ny](no)\n\n[x\n**\ny](⟦t⟧)\n\n[x\n__*\ny](⟦t⟧)",
    "a rule leaves the item": "- a\n***\n\n      [no](no)",
    "a fence ends a paragraph": "[x\n```\ny](no)\n```\n[x](⟦t⟧)",
    "a fence leaves the item": "- a\n```\n- b](no)\n```\n[x](⟦t⟧)",
    "a fence of ticks has none behind it": "``` [no](no) ```\n[x](⟦t⟧)",
    "a fence of tildes has what it likes behind it": "~~~ ` ~~~\n[no](no)\n~~~\n[x](⟦t⟧)",
    "a fence ends behind three blanks": "```\n[no](no)\n   ```\n[x](⟦t⟧)",
    "a fence does not end behind four blanks": "```\n[no](no)\n    ```\n[no](no)",
    "a fence is as long as it began": "````\n```\n[no](no)\n`````\n[x](⟦t⟧)",
    "a fence has nothing behind its end": "```\n``` a\n[no](no)\n```  \n[x](⟦t⟧)",
    "a fence ends with its item": "- ```\n  [no](no)\n[x](⟦t⟧)",
    "a fence ends with its quote": "> ```\n> [no](no)\n[x](⟦t⟧)",
    "other blanks than a tab do not end a fence": "```\n[no](no)\n```\u00a0\n[no](no)",
}  # fmt: skip
RAW = {
    "what it holds has blank lines": "<pre>\n\n[no](no)\n</pre>\n[x](⟦t⟧)",
    "an instruction": "a\n<?php\n\n[no](no)\n?>\n[x](⟦t⟧)",
    "a declaration": "a\n<!DOCTYPE\n\n[no](no)>\n[x](⟦t⟧)",
    "CDATA": "a\n<![CDATA[\n\n[no](no)\n]]>\n[x](⟦t⟧)",
    "a comment": "a\n<!--\n\n[no](no)\n-->\n[x](⟦t⟧)",
    "it may end in its first line": "<!-- a -->\n[x](⟦t⟧)",
    "a blank line ends it": "<div>\n[no](no)\n\n[x](⟦t⟧)",
    "a closing tag too": "</DIV>\n[no](no)\n\n[x](⟦t⟧)",
    "it ends a paragraph": "[x\n<DIV>\ny](no)\n\n[x\n<address>\ny](no)\n\n[x\n</ul\ny](no)\n\n[x\n<hr/>\ny](no)",
    "any tag alone in its line": "<b>\n[no](no)\n\n</b >\n[no](no)\n\n<b c='d'/>\n[no](no)",
    "no tag alone": "<b> [x](⟦t⟧)\n\n<divx>a\n[x](⟦t⟧)",
    "any tag ends no paragraph": "[x\n<b>\ny](⟦t⟧)",
    "a tag is alone in one line": "<b\nc>\n[x](⟦t⟧)",
    "it ends with its item": "- <div>\n  [no](no)\n[x](⟦t⟧)",
    "it ends with its quote": "> <!--\n[x](⟦t⟧)",
    "it has no end": "<pre>\n\n<a href='⟦t⟧'>",
    "a paragraph above": "[x](⟦t⟧)\n<div>\n[no](no)",
    "it leaves the item": "- a\n<div>\n\n      [no](no)",
    "a tag over lines": "> <a\n>   title='<'\n>   href='⟦t⟧'>\n\n<img alt='a\n   b' src=⟦t⟧>",
}  # fmt: skip
TABLES = {
    "cells are apart": "a | b\n--|--\n[x | y](no) | z",
    "cells of the heading are apart": "[x | y](no)\n--|--",
    "a row of dashes": "a | b\n:-|:-:\n[x | y](no)\n\n|a|\n|-|\n|[x | y](no)\n\na|b\n-|-\n[x | y](no)",
    "as many cells as the row above": "a | b\n---|---|---\n[x | y](⟦t⟧)\n\n|a|b|  \n|-|-|\n[x | y](no)",
    "bars at either end": "|a|b\n-|-|\n[x | y](no)\n\na|b|\n|-|-\n[x | y](no)\n\n|a|\u00a0\n|-|-|\n[x | y](no)",
    "no row of dashes": "[a | b](\n⟦:-⟧\n)",
    "links in every cell": "|[x](⟦t⟧)|[x](⟦t⟧)|\n|-|-|\n|[x](⟦t⟧)|[x](⟦t⟧)|",
    "no definition above": "[a]: ⟦t⟧\n:-\n[x | y](⟦t⟧)",
    "a definition above": "[a]: ⟦t⟧\nb | c\n--|--\n[x | y](no)",
    "a paragraph above is not its header": "[x\ny](⟦t⟧)\na | b\n--|--\n[x | y](⟦t⟧)",
    "bars that are escaped": "a | b\n--|--\n[x \\| y](⟦t⟧) | c",
    "a blank line ends it": "a | b\n--|--\n\n[x | y](⟦t⟧)",
    "a quote ends it": "a | b\n--|--\n> [x | y](⟦t⟧)",
    "an item ends it": "a | b\n--|--\n- [x | y](⟦t⟧)\n\na | b\n--|--\n2. [x | y](⟦t⟧)\n\na | b\n--|--\n-\n[x | y](⟦t⟧)",
    "raw HTML ends it": "a | b\n--|--\n<div>\n[no](no)\n\n[x](⟦t⟧)",
    "a heading ends it": "a | b\n--|--\n# [x | y](⟦t⟧)\n[x | y](⟦t⟧)",
    "a fence ends it": "a | b\n--|--\n```\n[no](no)\n```\n[x | y](⟦t⟧)",
    "a rule ends it": "a | b\n--|--\n***\n[x | y](⟦t⟧)",
    "code ends it": "a | b\n--|--\n\n    [no](no)\n[x | y](⟦t⟧)",
    "it ends with its quote": "> a | b\n> --|--\n[x | y](⟦t⟧)",
    "it ends with its item": "- a | b\n  --|--\n[x | y](⟦t⟧)",
}  # fmt: skip
FOOTNOTES = {
    "four blanks are within": "[^1]: a\n\n    [x](⟦t⟧)\n\n       [x](⟦t⟧)\n\n        [no](no)",
    "blanks behind its mark": "[^1]:     [x](⟦t⟧)",
    "one ends another": "[^1]: [x\n[^2]: y](no)",
    "it ends with the next paragraph": "[^1]: a\n\nb\n\n    [no](no)",
    "nothing but a mark": "[^1]:\n    [x](⟦t⟧)",
}  # fmt: skip
BLOCKS = {
    f"{group}: {name}": case
    for group, cases in (
        ("indents", INDENTS), ("items", ITEMS), ("leaves", LEAVES), ("HTML", RAW), ("tables", TABLES), ("footnotes", FOOTNOTES)
    )
    for name, case in cases.items()
}  # fmt: skip
