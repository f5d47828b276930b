"""Links within a paragraph of Markdown: the ⟦marked targets⟧ are found, and no other links.

Targets are relative, as in `cases_blocks`. An unmarked link without a target is recognized by its surroundings: links do
not contain links.
"""

BRACKETS = {
    "round brackets": "[x](⟦a(b)c(d(e)f)g⟧) [x](⟦\\(⟧) [x](⟦(a)⟧)",
    "round brackets that are not closed": "[x](a(b) [x](⟦t⟧) [x](a(b )",
    "round brackets nested": f"[x](⟦{'(' * 32}t{')' * 32}⟧)",
    "what is longer is data": f"[x](⟦{'t' * 16383}⟧) [x]({'t' * 16384})",
    "some that are none, and a long target": f"{'[a](b( ' * 3}[x](⟦{'t' * 1000}⟧)",
    "many that are none": f"{'[a](b( ' * 200}[x](⟦{'t' * 199}⟧)",
    "blanks in a target": "[x](a b) [x](<⟦a b⟧>)",
    "blanks and lines around a target": "[x]( \n ⟦t⟧ \n ) [x](\n\nt)",
    "a target in angles": "[x](<⟦a)b⟧>) [x](<⟦a\\>b⟧>) [x](<a\nb>) [x](<a<b>)",
    "a title": "[x](⟦t⟧ \"a\\\"b\") [x](⟦t⟧ 'a\\'b') [x](⟦t⟧ (a\\)b)) [x](⟦t⟧\n\"a\\\nb\"\n)",
    "no title": "[x](t \"a\"b) [x](t 'a) [x](t (a(b))",
    "an empty target": "[x [y]() z](no) [x [y](<>) z](no) [x [y]( ) z](no)",
    "an image in a link": "[x ![y](⟦t⟧) z](⟦t⟧) ![x [y](t) z](⟦t⟧) ![x ![y](t) z](⟦t⟧)",
    "a link in an image in a link": "[x ![y [z](t)](⟦t⟧)](no)",
    "brackets that are open": "[[[x](⟦t⟧) ]](t) [x]](t) [x [y](⟦t⟧) [z](⟦t⟧)",
    "brackets behind a link": "[x [y](⟦t⟧) z] [x](⟦t⟧)",
    "an escaped bracket": "\\[x](t) [x\\](t) ![x\\]](⟦t⟧) \\![x](⟦t⟧) [x\\\\](⟦t⟧)",
}  # fmt: skip
REFERENCES = {
    "a reference is a link": "[x [y][a] z](no)\n\n[a]: ⟦t⟧",
    "one that is its own text": "[x [a][] z](no) [x [a] z](no)\n\n[a]: ⟦t⟧",
    "one that is not defined": "[x [y][b] z](⟦t⟧) [x [b][] z](⟦t⟧) [x [b] z](⟦t⟧)\n\n[a]: ⟦t⟧",
    "text behind its own text": "[x [a]](no) [x [a](b c)](no)\n\n[a]: ⟦t⟧",
    "an image by its label": "[x ![a] z](⟦t⟧)\n\n[a]: ⟦t⟧",
    "case and blanks": "[x [y][ A\n  ß] z](no)\n\n[a SS]: ⟦t⟧",
    "escapes in a label": "[x [y][a\\]b] z](no) [x [y][a\\\nb] z](no)\n\n[a\\]b]: ⟦t⟧\n[a\\\nb]: ⟦t⟧",
    "a label within a label": "[x [y][a[b] z](⟦t⟧)\n\n[a]: ⟦t⟧",
    "a long label": f"[x [y][{'a' * 999}] z](no)\n\n[{'a' * 999}]: ⟦t⟧\n\n[{'b' * 1000}]: no",
    "a blank label": "[ ]: no\n\n[]: no",
    "no definition without a colon": "[a] : no\n\n[a]",
    "no definition with more behind it": "[a]: no b\n\n[a]: no 'b' c",
    "no definition without a target": "[a]:\n\n[x [a] z](⟦t⟧)\n\n[a]: b(c",
    "an empty definition": "[a]: <>\n\n[x [a] z](no)",
    "a definition with a title": "[a]: ⟦t⟧ 'a'\n[b]: ⟦t⟧\n  'a\nb'\n[c]: ⟦t⟧\n'a' [x](⟦t⟧)",
    "a title too close": "[a]: <no>'b'",
    "a title with more behind it": "[a]: ⟦t⟧\n'b' c\n[d]: no",
    "definitions above a heading": "[a]: ⟦t⟧\nb [x](⟦t⟧)\n===",
    "a heading defines nothing": "# [a]: no",
    "blanks before and behind": "   [a]:   ⟦t⟧   \n[b]: \n ⟦t⟧\n[c]:⟦t⟧\n[d]: <⟦t⟧>",
}  # fmt: skip
OTHERS = {
    "code": "`[no](no)` ``a ` [no](no)`` ` [x](⟦t⟧) ``",
    "code is none behind an escape": "\\`[x](⟦t⟧)` `a\\` [x](⟦t⟧)",
    "code in a text": "[`]`](⟦t⟧) [`](no)`](⟦t⟧)",
    "an autolink binds tighter": "<⟦ab:`⟧> [x](⟦t⟧) ` [x <⟦ab:](no)⟧> y](⟦t⟧)",
    "no autolink": "<a:> [x](⟦t⟧) <ab: c> [x](⟦t⟧) <1a:`> [no](no) `",
    "a mail address binds tighter": "<a`b@one.org> [x](⟦t⟧) `c",
    "no mail address": "<é`b@one.org> [no](no) `c",
    "a tag binds tighter": "[x <a b='](no)'> y](⟦t⟧) <a b=\"`\"> [x](⟦t⟧) `",
    "a closing tag": "a </b > [x](⟦t⟧) </b c='`'> [no](no) `",
    "a comment": "a <!-- [no](no) --> [x](⟦t⟧) <!--> [x](⟦t⟧) <!---> [x](⟦t⟧) -->",
    "an instruction": "a <? [no](no) ?> [x](⟦t⟧) ?>",
    "a declaration": "a <!X [no](no) > [x](⟦t⟧) >",
    "none of these": "a < [x](⟦t⟧) --> < [x](⟦t⟧) ?> < [x](⟦t⟧) ]]> < [x](⟦t⟧) > <!1 [x](⟦t⟧) >",
    "what is not closed": "a <!-- [x](⟦t⟧) <? [x](⟦t⟧) <![CDATA[ [x](⟦t⟧) <!X [x](⟦t⟧)",
    "code as a tag": "<CODE>[n](n)</code> [x](⟦t⟧) <code>[x](⟦t⟧)",
    "a statement is one in MDX alone": "import [x](⟦t⟧)",
}  # fmt: skip
INLINE = {
    f"{group}: {name}": case
    for group, cases in (("brackets", BRACKETS), ("references", REFERENCES), ("others", OTHERS))
    for name, case in cases.items()
}
