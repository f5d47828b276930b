"""Documents of other kinds: the ⟦marked targets⟧ are found, and no other URLs."""

HTML = {
    "a": '<p>\n  <a class="x" href="⟦https://one.org/a⟧">https://no.org/</a>',
    "quotes": "<a href='⟦https://one.org/s⟧'>x</a><a href=⟦https://one.org/u⟧>y</a><a href = \"⟦/r⟧\" >",
    "case": '<A HREF="⟦https://one.org/A⟧">x</A>',
    "entities": '<a href="⟦https://one.org/?a=1&amp;b=2&copy=3⟧">x</a><a href="⟦&#47;x&quot;⟧">',
    "blanks": '<a href="  ⟦https://one.org/b⟧\n ">x</a>',
    "over lines": '<a\n  title="a > b"\n  href="⟦https://one.org/l⟧"\n>x</a>',
    "empty": '<a href="">x</a><a href>y</a><a name="n">z</a>',
    "twice": '<a href="⟦first⟧" href="second">x</a>',
    "link": '<link rel="stylesheet" href="⟦s.css⟧"><link rel="preconnect" href="https://no.org"><link rel=icon href=⟦i.ico⟧>',
    "img": '<img src="⟦a.png⟧" alt="https://no.org/" srcset="⟦b.png⟧ 1x, ⟦c,d.png⟧ 2x,\n ⟦e.png⟧">',
    "media": '<video src="⟦v.mp4⟧" poster="⟦p.png⟧"><source src="⟦w.webm⟧"><track src=⟦t.vtt⟧></video><audio src="⟦a.mp3⟧">',
    "iframe": '<iframe src="⟦https://one.org/f⟧"><a href="no"></iframe><embed src="⟦e⟧"><object data="⟦o⟧"></object>',
    "script": '<script src="⟦s.js⟧"></script><script>var a = \'<a href="no">\'; // https://no.org/</script><a href="⟦y⟧">',
    "style": '<style>a { background: url(no.png) } /* url(https://no.org/) */ b { b: url( "⟦https://one.org/c?a&b⟧") }'
    ' @import "⟦https://one.org/i.css⟧"; <a href="no"></style><a href="⟦y⟧">',
    "style of an element": '<p style="a: url(&quot;⟦https://one.org/?a=1&amp;b=2⟧&quot;), URL(⟦https://one.org/x⟧)"><p style="url(no)">',
    "form": '<form action="⟦https://one.org/q⟧"><form method=POST action="https://no.org/"><form action="no"><p action="https://no.org/">',
    "component": '<x-card href="⟦https://one.org/x⟧" to="https://no.org/"><x-card href="no"><base href="https://no.org/" target=_top>',
    "title": '<title><a href="no"></title><textarea><a href="no"></textarea><a href="⟦y⟧">',
    "comment": '<!-- <a href="no"> --><a href="⟦y⟧"><!--><a href="⟦z⟧"><!-- a --!><a href="⟦w⟧">',
    "every element": '<xmp><a href="no"></xmp><noembed><a href="no"></noembed><noframes><a href="no"></noframes><use href="⟦u.svg#i⟧">'
    '<q cite="⟦c⟧"><ins cite="⟦d⟧"><del cite="⟦e⟧"><link imagesrcset="⟦f⟧ 1x"><frame src="⟦g⟧"><table background="⟦h⟧"><td background="⟦i⟧">'
    '<th background="⟦j⟧"><input src="⟦k⟧"><image xlink:href="⟦l⟧"><x-y cite="⟦https://one.org/m⟧" src="⟦https://one.org/n⟧">',
    "short comments": '<!---><a href="⟦x⟧"><!----><a href="⟦y⟧"><!--a--><a href="⟦z⟧"><!--> --><a href="⟦w⟧">',
    "comments in a row": '<!-- a --><!-- <a href="no"> --><a href="⟦y⟧">',
    "CDATA": '<![CDATA[<a href="no">]]><a href="⟦y⟧"><![CDATA[a<b href="no"><a href="⟦z⟧">',
    "ends of scripts": '<script></scripts><a href="no"></SCRIPT\n><a href="⟦y⟧"><script>script <a href="no"></script/><a href="⟦z⟧">',
    "unclosed comment": '<a href="⟦y⟧"><!-- <a href="no">',
    "refresh": '<meta http-equiv="refresh" content="5; url=⟦https://one.org/r⟧"><meta http-equiv=Refresh content="0;URL=\'⟦/x⟧\'">',
    "other meta": '<meta name="x" content="0; url=https://no.org/"><meta property="og:url" content="https://no.org/">',
    "cite": '<blockquote cite="⟦https://one.org/c⟧"></blockquote><area href="⟦a⟧"><form action="no">',
    "svg": '<svg><image href="⟦i.svg⟧"/><use xlink:href="⟦#icon⟧"/><a xlink:href="⟦x⟧"></a></svg>',
    "pre": '<pre><code>https://no.org/ &lt;a href="no"&gt;</code></pre><a href="⟦y⟧">',
    "unclosed": '<a href="⟦y⟧">x<a href="no',
    "doctype": '<!doctype html><html><body background="⟦b.png⟧"><a href="⟦y⟧">',
    "less than": '1 < 2 <3 <a href="⟦y⟧"> </a href="no">',
    "relative ones": '<iframe src="⟦f⟧"></iframe><blockquote cite="⟦c⟧"><source srcset="⟦s⟧ 2x"><a rel="preconnect" href="⟦p⟧">',
    "no pages": '<link rel="dns-prefetch" href="no"><link rel="icon PRECONNECT" href="no"><meta http-equiv="x" content="0; url=no">',
    "no refresh": '<meta http-equiv="refresh"><meta http-equiv="refresh" content="x"><a href="⟦y⟧">',
    "a form that asks": '<form method="get" action="⟦HTTPS://one.org/q⟧"><x-card href="⟦HTTP://one.org/x⟧">',
    "attribute with a slash": '<img src=⟦a/b.png⟧ /><a/href="⟦y⟧">',
}  # fmt: skip
RST = {
    "embedded": "See `Python <⟦https://one.org/⟧>`_ and `it <⟦rel.html⟧>`__.",
    "embedded over lines": "A `text that\ngoes on <⟦https://one.org/x⟧>`_ here.",
    "raw": ".. raw:: html\n\n   <a href='⟦https://one.org/raw⟧'>x</a>\n\n⟦https://one.org/b⟧\n\n.. raw:: latex\n\n   https://no.org/\n",
    "alias": "`text <other_>`_ and ref_ and `a ref`_ and anon__",
    "bare": "At ⟦https://one.org/b⟧, or (⟦https://one.org/c⟧).",
    "literal": "``https://no.org/`` and ``a `b <https://no.org/>`_`` ⟦https://one.org/l⟧",
    "role": ":doc:`Title <x>` :ref:`x` :py:func:`https://no.org/`",
    "target": ".. _name: ⟦https://one.org/t⟧\n.. _`a: b`: ⟦https://one.org/t2⟧\n.. _with\\: colon: ⟦x.html⟧\n",
    "target over lines": ".. _name:\n   ⟦https://one.org/t⟧\n",
    "alias target": ".. _a: b_\n.. _here:\n\nText ⟦https://one.org/h⟧",
    "anonymous": "__ ⟦https://one.org/a⟧\n\n.. __: ⟦https://one.org/b⟧\n",
    "literal block": "Look::\n\n    https://no.org/\n\n      deeper https://no.org/\n\nBack ⟦https://one.org/l⟧\n",
    "literal block in a list": "- a::\n\n      https://no.org/\n\n- b ⟦https://one.org/l⟧\n",
    "alone": "::\n\n  https://no.org/\n\n⟦https://one.org/x⟧",
    "code": ".. code-block:: python\n   :caption: x\n\n   https://no.org/\n\n⟦https://one.org/x⟧",
    "comment": ".. a comment https://no.org/\n   https://no.org/\n\n⟦https://one.org/x⟧",
    "image": ".. image:: ⟦a.png⟧\n   :target: ⟦https://one.org/i⟧\n   :alt: no\n\n.. figure:: ⟦https://one.org/f.png⟧\n\n   Caption ⟦https://one.org/c⟧\n",
    "substitution": ".. |logo| image:: ⟦logo.png⟧\n",
    "note": ".. note:: See ⟦https://one.org/n⟧\n\n   And ⟦https://one.org/m⟧.\n",
    "footnote": ".. [1] See ⟦https://one.org/f⟧\n.. [CIT2002] At ⟦https://one.org/c⟧\n",
    "doctest": ">>> open('https://no.org/')\n'https://no.org/'\n\n⟦https://one.org/d⟧",
    "escape": r"`a <⟦https://one.org/a\_⟧>`_",
    "escaped blank": "`a <⟦b\\ c⟧>`_\n\n.. _d: ⟦e\\ f⟧\n",
}  # fmt: skip
JSON = {
    "value": '{"a": "⟦https://one.org/a⟧", "b": [1, "⟦https://one.org/b⟧", null]}',
    "keys": '{"https://no.org/": "x"}',
    "slashes": r'{"a": "⟦https:\/\/one.org\/a⟧"}',
    "escapes": r'{"a": "⟦https://one.org/\u00fc?a=\"b\"⟧"}',
    "in a text": r'{"a": "See ⟦https://one.org/a⟧.\nOr ⟦http:\/\/one.org\/\u00fc⟧, \"⟦https://one.org/q⟧\"."}',
    "lines": '{"u": "⟦https://one.org/1⟧"}\n{"u": "⟦https://one.org/2⟧"}\n',
    "www": '{"a": "see ⟦www.one.org/a⟧", "b": "⟦WWW.one.org/b⟧ or not"}',
    "a value is taken whole": '["⟦HTTPS://one.org/a.⟧", "⟦https://one.org/(b⟧"]',
    "escapes at an end": r'{"a": "see ⟦\u0068ttps://one.org/\u00fc⟧ \n⟦http\u003a//one.org/b\/⟧\t"}',
    "an escaped line": '{"u": "a\\\n", "v": "⟦https://one.org/a⟧", "w": "see\\\n⟦https://one.org/b⟧"}',
    "broken": '{"u": "⟦https://one.org/1⟧", ]} "⟦https://one.org/2⟧',
}  # fmt: skip
YAML = {
    "styles": "a: ⟦https://one.org/a⟧\nb: \"⟦https://one.org/b⟧\"\nc: '⟦https://one.org/c''d⟧'\n- x\n".replace("- x\n", ""),
    "flow": "a: {u: ⟦https://one.org/a⟧, v: [\"⟦https://one.org/b⟧\", ⟦https://one.org/c⟧]}",
    "escapes": 'a: "⟦https://one.org/\\u00fc⟧"',
    "text": "a: see ⟦https://one.org/a⟧, please\nb: |\n  One ⟦https://one.org/b⟧\n  two\nc: >-\n  x ⟦https://one.org/c⟧\n",
    "comment": "a: 1 # https://no.org/\n# https://no.org/\n",
    "key": "https://no.org/: x\n? https://no.org/\n: ⟦https://one.org/v⟧",
    "alias": "a: &x ⟦https://one.org/a⟧\nb: *x\nc: !!str ⟦https://one.org/c⟧\n",
    "documents": "--- \na: ⟦https://one.org/a⟧\n---\n- ⟦https://one.org/b⟧\n",
    "a value is taken whole": "a: ⟦HTTPS://one.org/a.⟧\nb: \"⟦https://one.org/(b⟧\"\nc: '⟦ftp://one.org/c,⟧'\n",
    "a block of one line": "a: |-\n  ⟦https://one.org/a⟧\nb: >-\n  ⟦https://one.org/b⟧.\n",
    "keys that are lists": "? [⟦https://one.org/a⟧]\n: ⟦https://one.org/b⟧\n? {https://no.org/: ⟦https://one.org/c⟧}\n: x\n",
    "broken": "a: [⟦https://one.org/a⟧\nb: : }",
}  # fmt: skip
CSV = {
    "fields": "id,url\n1,⟦https://one.org/a⟧\n2, ⟦https://one.org/b?x=1;y⟧ \n",
    "quoted": 'id,url\n1,"⟦https://one.org/a,b⟧"\n2,"⟦https://one.org/""q""⟧"\n',
    "text": 'a,b\n"See, ⟦https://one.org/a⟧, or\n⟦https://one.org/b⟧",x\n',
    "semicolons": "id;url\n1;⟦https://one.org/a,b⟧\n",
    "tabs": "id\turl\n1\t⟦https://one.org/a⟧\n",
    "unclosed": 'a,b\n"x,⟦https://one.org/a⟧\ny,⟦https://one.org/b⟧\n',
    "quotes in text": 'a,b\n"say ""⟦https://one.org/a⟧"", ""x"" ⟦https://one.org/b⟧",⟦https://one.org/c⟧\n',
    "capitals and brackets": 'a,b\n"⟦HTTPS://one.org/a.⟧",⟦https://one.org/a_(b)⟧\n',
    "the first row rules": "a|b\nx,y,z,;;;|⟦https://one.org/a,b;c⟧\n",
    "CRLF": 'a,b\r\n1,"⟦https://one.org/a⟧"\r\n2,⟦https://one.org/b⟧\r\n',
}  # fmt: skip
TEXT = {
    "bare": "⟦https://one.org/a⟧ <⟦https://one.org/b⟧> (⟦https://one.org/c⟧) ⟦www.one.org⟧ [x](⟦https://one.org/d⟧)",
    "code is text": "    ⟦https://one.org/a⟧ `⟦https://one.org/b⟧`",
    "ends": "⟦https://one.org/a⟧... ⟦https://one.org/b/⟧; ⟦https://one.org/?q=a⟧&quot; ⟦http://[::1]:80/x⟧",
    "case": "⟦HTTPS://ONE.ORG/a⟧|⟦HTTP://one.org/b⟧ ⟦WWW.one.org⟧",
    "nothing behind": "https://_ http://* ⟦http://a⟧",
    "other marks": "⟦https://one.org/a⟧… ⟦https://one.org/b⟧‽",
    "cells": "|⟦https://one.org/a⟧|⟦https://one.org/b|c⟧|",
    "AsciiDoc": "⟦https://one.org/a⟧[text] link:⟦https://one.org/b⟧[two words] ⟦https://one.org/?c[]=1&d[e]=2⟧ ⟦https://one.org/[x]⟧",
    "NUL": "a\0⟦https://one.org/a⟧\0b",
}  # fmt: skip
XML = {
    "sitemap": '<?xml version="1.0"?>\n<urlset xmlns="http://no.org/ns">\n<url><loc> ⟦https://one.org/?a=1&amp;b=2⟧ </loc>'
    '<xhtml:link rel="alternate" href="⟦https://one.org/de⟧"/></url></urlset>',
    "index": "<sitemapindex><sitemap><loc>⟦https://one.org/s.xml⟧</loc></sitemap></sitemapindex>",
    "feed": "<rss><item><link>⟦https://one.org/i⟧</link><guid>⟦https://one.org/g⟧</guid><link><![CDATA[⟦https://one.org/c&d⟧]]></link>"
    "<enclosure url='⟦https://one.org/e.mp3⟧'/></item></rss>",
    "videos": "<url><video:content_loc>⟦https://one.org/v⟧</video:content_loc><video:player_loc>⟦https://one.org/p⟧</video:player_loc>"
    "<image:loc>⟦https://one.org/i⟧</image:loc><comments>⟦https://one.org/c⟧</comments><url>⟦https://one.org/u⟧</url><x href='no' src='⟦https://one.org/s⟧'/></url>",
    "case and blanks": "<loc>\n ⟦HTTPS://one.org/a⟧\n</loc><LOC>⟦https://one.org/b⟧</LOC><x href=' ⟦HTTP://one.org/c⟧ '/><loc>\u00a0https://no.org/</loc>",
    "no carrier": "<title>https://no.org/</title><x to='https://no.org/' href='no'/><loc>no</loc>",
    "atom": '<feed><link href="⟦https://one.org/a⟧"/><id>urn:x</id></feed>',
}  # fmt: skip
NOTEBOOK = {
    "cells": '{"cells": [{"cell_type": "markdown", "metadata": {}, "source": [\n "# T\\n",\n "[a](⟦https://one.org/a⟧ \\"t\\") `https://no.org/`\\n",\n'
    ' "```\\n", "https://no.org/\\n", "```\\n", "[b](⟦https://one.org/\\\\(⟧)"]},\n{"cell_type": "code", "source": ["https://no.org/"],'
    ' "outputs": [{"text": ["https://no.org/"]}]},\n{"source": "<⟦https://one.org/c⟧>\\u00fc ![x](⟦attachment:x.png⟧)", "cell_type": "markdown"}],\n'
    ' "metadata": {"url": "https://no.org/"}, "nbformat": 4}',
}  # fmt: skip
MDX = {
    "program": 'import A from "https://no.org/a.js"\nimport B from "https://no.org/b.js"\n\nexport const c = {\n  d: "https://no.org/"\n}\n\n'
    "text ⟦https://one.org/a⟧ {/* https://no.org/ */} [b](⟦c.md⟧)\n",
    "components": '<Card\n  href="⟦https://one.org/a⟧"\n>\n  [in](⟦https://one.org/b⟧)\n\n      deep ⟦https://one.org/c⟧\n</Card>\n'
    '<a href={url}>x</a> <Image src="⟦https://one.org/i.png⟧" alt={`x`} />\n',
    "comments": "{/* https://no.org/ */} ⟦https://one.org/a⟧ */ {/* https://no.org/ */} {/*/ https://no.org/ */} {/* ⟦https://one.org/b⟧\n",
    "an empty comment": "{/**/} ⟦https://one.org/a⟧ */ {/* https://no.org/ */}\n",
    "code": "```js\nimport 'https://no.org/'\n```\n`https://no.org/` ⟦https://one.org/d⟧\n",
}  # fmt: skip
NOTEBOOK["heading"] = (
    '{"cells": [{"cell_type": "heading", "source": ["⟦https://one.org/h⟧"]}, {"cell_type": "raw", "source": "https://no.org/"}],'
    ' "other": [{"cell_type": "markdown", "source": "https://no.org/"}]}'
)
KINDS = {
    "mdx": MDX,
    "html": HTML,
    "rst": RST,
    "json": JSON,
    "yaml": YAML,
    "csv": CSV,
    "text": TEXT,
    "xml": XML,
    "notebook": NOTEBOOK,
}
