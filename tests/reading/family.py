"""A family of pages that cost more than they weigh: every element with every attribute, in every shape, at any size.

A page is known by its name, so that another process can make it: `page("td[colspan] nested", 100_000)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

ELEMENTS = (
    "a abbr acronym address applet area article aside audio b base basefont bdi bdo bgsound big blink blockquote body br button canvas "
    "caption center cite code col colgroup command content data datalist dd del details dfn dialog dir div dl dt em embed fieldset "
    "figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe image img input ins isindex "
    "kbd keygen label legend li link listing main map mark marquee math menu menuitem meta meter nav nobr noembed noframes noscript object "
    "ol optgroup option output p param picture plaintext pre progress q rb rbc rp rt rtc ruby s samp script search section select shadow "
    "slot small source spacer span strike strong style sub summary sup svg table tbody td template textarea tfoot th thead time title tr "
    "track tt u ul var video wbr xmp annotation mi mn mo mrow semantics desc foreignobject path g use custom-tag x"
).split()
ATTRIBUTES = {
    "": "",
    "class": "class='nav comment content'", "class-code": "class='highlight language-x lineno'", "class-math": "class=math",
    "class-katex": "class='katex-display'", "class-anchor": "class=headerlink", "class-author": "class='byline author date'",
    "class-gutter": "class=highlighttable", "id": "id=x", "style-hidden": "style='display:none'", "style": "style='color:red'",
    "hidden": "hidden", "aria-hidden": "aria-hidden=true", "aria-controls": "aria-controls=x", "role": "role=navigation",
    "role-layout": "role=presentation", "role-tab": "role=tab", "href": "href=/x", "href-hash": "href='#x'",
    "href-script": "href='javascript:x'", "href-bad": "href='//[x'", "src": "src=/x.png alt=y", "data-src": "data-src='/x' alt=y",
    "srcset": "srcset='/x 1x, /y 2x' alt=y", "alt": "alt=y", "title": "title=t", "colspan": "colspan=1000", "rowspan": "rowspan=1000",
    "span": "span=1000", "name": "name=author content=y", "property": "property=og:title content=y", "itemprop": "itemprop=author",
    "itemprop-date": "itemprop=datePublished", "itemscope": "itemscope itemtype=x", "rel": "rel=canonical href=/x", "rel-author": "rel=author",
    "datetime": "datetime=2020-01-01", "pubdate": "pubdate", "type-tex": "type=math/tex", "type-data": "type=application/ld+json",
    "open": "open", "start": "start=999999999", "value": "value=9", "align": "align=center", "data-lang": "data-lang=py",
    "encoding": "encoding=application/x-tex", "alttext": "alttext=x", "display": "display=block", "shadow": "shadowrootmode=open",
    "lang": "lang=en", "dir": "dir=rtl", "onclick": "onclick=x()", "slot": "slot=x", "cite": "cite=/x", "contenteditable": "contenteditable",
}  # fmt: skip
PARTNERS = ("p", "br", "b", "td", "li", "a href=y", "div")
Make = Callable[[int], str]


def filled(unit: str, size: int) -> str:
    return unit * max(1, size // len(unit.encode()))


def _shapes(opening: str, closing: str) -> dict[str, Make]:
    """In which ways an element can be repeated."""
    both = len(opening) + len(closing)
    shapes: dict[str, Make] = {
        "closed": lambda n: filled(f"{opening}x{closing}", n),
        "empty": lambda n: filled(opening + closing, n),
        "unclosed": lambda n: filled(f"{opening}x ", n),
        "unclosed empty": lambda n: filled(opening, n),
        "nested": lambda n: opening * (n // both) + "x" + closing * (n // both),
        "only closed": lambda n: filled(closing, n),
        "in an article": lambda n: filled(f"<p>{PROSE}</p>" + f"{opening}some words{closing}" * 40, n),
    }
    for partner in PARTNERS:
        shapes[f"alternating with {partner}"] = lambda n, p=partner: filled(f"{opening}x{closing}<{p}>y", n)  # type: ignore[misc]
        shapes[f"nested with {partner}"] = lambda n, p=partner: filled(f"{opening}<{p}>", n)  # type: ignore[misc]
    return shapes


PROSE = "The council met on Monday to discuss the new bridge, and most members spoke in favour of it. " * 3


def names(attributes: dict[str, str] | None = None) -> Iterator[str]:
    for element in ELEMENTS:
        for attribute in ATTRIBUTES if attributes is None else attributes:
            for shape in _shapes("", ""):
                yield f"{element}[{attribute}] {shape}"


def page(name: str, size: int) -> bytes:
    if name in TRICKS:
        return TRICKS[name](size).encode("utf-8", "surrogatepass")
    head, _, shape = name.partition("] ")
    element, _, attribute = head.partition("[")
    given = ATTRIBUTES[attribute]
    return _shapes(f"<{element} {given}>" if given else f"<{element}>", f"</{element}>")[shape](size).encode()


def _numbered(unit: str, size: int) -> str:
    """The unit again and again, each time with another number."""
    return "".join(unit.replace("%", str(i)) for i in range(size // len(unit)))


def _between(before: str, unit: str, after: str = "") -> Make:
    return lambda n: before + filled(unit, n - len(before) - len(after)) + after


LONG_BASE = f"<base href='http://e.x/{'y' * 8000}/'>"
TEX = "<annotation encoding='application/x-tex'>x</annotation>"
DATA = "<script type=application/ld+json>"
DEEP_QUOTE, DEEP_LIST = "<blockquote>" * 400, "<ul><li>" * 250

TRICKS: dict[str, Make] = {
    "a long base and short links": _between(LONG_BASE, "<a href=z>x</a>"),
    "a long base and images": _between(LONG_BASE, "<img src=z alt=x>"),
    "a long base and quotes": _between(LONG_BASE, "<q cite=z>x</q>"),
    "a long base and a list of sources": lambda n: LONG_BASE + "<img alt=x src=y srcset='" + "z 1x," * (n // 5) + "'>",
    "one long link in every paragraph": lambda n: f"<p><a href='/{'y' * 8000}'>" + "<p>x" * (n // 4),
    "formatting opened again": lambda n: "<p>" + _numbered("<b a=%>", n // 2) + "<p>a" * (n // 8),
    "formatting of three sorts opened again": lambda n: "<p>" + _numbered("<b a=%><i b=%><tt c=%>", 4000) + "<p>a" * (n // 4),
    "formatting opened again in a list": lambda n: "<ul>" + _numbered("<b a=%>", 4000) + "<li>a" * (n // 5),
    "formatting whose end is in a comment": lambda n: "<p>" + _numbered("<b a=%><!--</b>-->", 8000) + "<p>a" * (n // 4),
    "formatting whose end is in an attribute": lambda n: "<p>" + _numbered("<b a=% x='</b>'>", 8000) + "<p>a" * (n // 4),
    "formatting whose end is in a cell": lambda n: "<p>" + _numbered("<b a=%>", 4000) + "<table><td>" + "</b>" * 500 + "</table>" + "<p>a" * (n // 4),
    "formatting inside spans": lambda n: ("<span>" * 240 + "".join(f"<b a={i}>" for i in range(240)) + "</span>x" * 240 + "</b>" * 240) * (n // 6000),
    "open brackets": lambda n: "<" * n,
    "ampersands": lambda n: "&" * n,
    "NUL": lambda n: "x" * 600 + "\0" * n,
    "controls": lambda n: "\x01" * n,
    "unknown references": _between("", "&x;"),
    "long references": _between("", "&nvlt;"),
    "bad references": _between("", "&#0;"),
    "empty comments": _between("", "<!---->"),
    "bogus comments": _between("", "<!>"),
    "instructions": _between("", "<?>"),
    "bogus ends": _between("", "</ >"),
    "CDATA": _between("<svg>", "<![CDATA[x]]>"),
    "attributes": lambda n: "<p " + _numbered("a% ", n) + ">x",
    "quoted attributes": lambda n: "<p " + _numbered("a%='' ", n) + ">x",
    "one attribute again and again": _between("<p ", "a ", ">x"),
    "slashes in a tag": _between("<p ", "/", ">x"),
    "equals signs in a tag": _between("<p ", "= ", ">x"),
    "a long class": _between("<p class='", "navAd ", "'>x"),
    "a long style": _between("<p style='", "a:b;", "'>x"),
    "a long link": _between("<a href='", "x", "'>y</a>"),
    "a long alt": _between("<img src=x alt='", "y", "'>"),
    "many classes": lambda n: _numbered("<p class='a%b c%d'>x", n),
    "many styles": lambda n: _numbered("<p style='a:%'>x", n),
    "many ids": lambda n: _numbered("<p id=x%>y", n),
    "many names": lambda n: _numbered("<meta name=a% content=x>", n),
    "many custom elements": lambda n: _numbered("<x-%>y", n),
    "panels": lambda n: _numbered("<a href='#x%'>y</a><p hidden id=x%>y", n),
    "linked data that nests": _between(DATA, "[", "</script>x"),
    "linked data of many objects": _between(DATA + "[", '{"a":1},', "{}]</script>x"),
    "much linked data": _between("", DATA + "{}</script>"),
    "linked data with a page in it": _between(DATA + '{"@type":"Article","articleBody":"', "<p>x</p>", '"}</script>'),
    "words": _between("<p>", "word "),
    "one word": _between("<p>", "x"),
    "words with two blanks": _between("<p>", "xy  "),
    "lines of code": _between("<pre>", "\n"),
    "lines of code in lists": _between("<ul><li>" * 20 + "<pre>", "\n"),
    "lines of code in quotes": _between(DEEP_QUOTE + "<pre>", "x\n"),
    "blanks": _between("<p>", " "),
    "no-break spaces": _between("<p>", "\u00a0"),
    "ideographs": _between("<p>", "漢"),
    "pictures": _between("<p>", "😀"),
    "joiners": _between("<p>", "a\u200d"),
    "noncharacters": _between("<p>", "a\uffff"),
    "terminal commands": _between("<p>", "\x1b["),
    "terminal titles": _between("<p>", "\x1b]x"),
    "back-ticks": _between("<p>", "` "),
    "runs of back-ticks": lambda n: "<p>" + "".join("`" * (i % 50) + "a" for i in range(n // 25)),
    "stars": _between("<p>", "* "),
    "backslashes": _between("<p>", "\\"),
    "underscores": _between("<p>", "_a"),
    "square brackets": _between("<p>", "["),
    "pipes in a cell": _between("<table><tr><th>a<tr><td>", "|"),
    "hashes": _between("<p>", "#\n"),
    "greater signs": _between("<p>", "> "),
    "tildes": _between("<p>", "~"),
    "dollars": _between("<span class=math>$", "$"),
    "a long title": _between("<title>", "x "),
    "a long heading": _between("<h1>", "x ", "</h1>"),
    "years": _between("<p>", "2020 "),
    "prices": _between("", "<p>$1"),
    "the same words": _between("", f"<div><p>{PROSE}</p></div>"),
    "breaks": _between("<p>", "x<br>"),
    "breaks in formatting": _between("<p>x", "<i><br></i>"),
    "breaks in links": _between("<p>x", "<a href=y><br></a>"),
    "wide table": lambda n: "<table><tr>" + "<td>x" * (n // 10) + "<tr>" + "<td>y" * (n // 10),
    "ragged table": lambda n: "<table>" + "".join("<tr>" + "<td>x" * (i % 60) for i in range(n // 155)),
    "tables": _between("", "<table><tr><th>a<th>b<tr><td>c<td>d</table>"),
    "tables in tables": _between("", "<table><tr><td>x<td>"),
    "wide cells": _between("<table><tr><th>a<th>b</tr><tr>", "<td colspan=1000 rowspan=1000>x"),
    "a long cell": lambda n: "<table><tr><th>" + "x" * (n // 2) + "<th>b" + "<tr><td>a<td>b" * (n // 30),
    "gutters": _between("", "<table class=highlighttable><tr><td class=gl>1<td><pre>x</table>"),
    "gutters in gutters": _between("", "<table class=highlighttable><tr><td>"),
    "languages": _between("<pre class='", "language- ", "'>x"),
    "code in boxes": _between("<pre>", "<div>x</div>"),
    "code in spans": _between("<pre>", "<span>x</span>\n"),
    "back-ticks in code": _between("<p><code>", "`"),
    "code with back-ticks": _between("", "<code>`</code>"),
    "items in a cell": _between("<table><tr><th>x<td><ul>", "<li>x"),
    "lists in a cell": _between("<table><tr><th>x<td>", "<ul><li>x<li>y</ul>"),
    "lists in lists in cells": lambda n: "<table><tr><th>x<td>" + ("<ul><li>" * 16 + "x" + "</ul>" * 16 + "<td>") * (n // 220),
    "emphasis over many lines": _between("<p>x<b>", "y<br>"),
    "much emphasis over two lines": _between("<p>", "<b>x<br>y</b>"),
    "emphasis in emphasis over lines": _between("<p>", "<b>x<br><i>y<br>"),
    "pictures between words": _between("<p>", "x<img src=y alt=z>"),
    "rules": _between("<p>x", "<hr>", "<p>y"),
    "blanks that are kept": _between("<p style='white-space:pre'>", "x\n"),
    "blanks that are kept inside each other": _between("", "<b style='white-space:pre'>x\ny"),
    "bold headings": _between("", "<h2><b>x</b></h2>"),
    "bold headings in headings": _between("", "<h2><b>x</b><div><h3><b>y</b><div>"),
    "powers in powers": _between("<math>", "<msup>", "x"),
    "matrices in matrices": _between("<math>", "<mtable><mtr><mtd>", "x"),
    "formulas in formulas": _between("", "<math><mtext>", "x"),
    "small matrices": _between("<math>", "<mtable><mi>x</mtable>"),
    "marks above": _between("<math>", "<mover><mi>x<mi>y</mover>"),
    "empty operators": _between("<math>", "<mo> </mo>"),
    "scripts": _between("<math><mmultiscripts>", "<mi>x</mi>"),
    "bars in a cell": _between("<table><tr><th>x<td>", "<math><mo>|</math>"),
    "formulas": _between("", "<span class=math>$x$</span>"),
    "annotations": _between("", f"<math>{TEX}"),
    "annotations in one formula": _between("<math>", TEX),
    "a long formula and marks": lambda n: "<span class=math>$" + "x" * (n // 2) + "$</span>" + "\ue0000\ue001" * (n // 14),
    "cards": lambda n: _numbered("<a href=/%><div><h3>head</h3><p>text</p></div></a>", n),
    "cards in cards": _between("", "<a href=x><div>"),
    "powers": _between("", "x<sup>2</sup>"),
    "bold beside bold": _between("", "<b>x</b>"),
    "readings": _between("", "<ruby>x<rt>y</rt></ruby>"),
    "terms": _between("<dl>", "<dt>term<dd>meaning"),
    "frames": _between("<frameset>", "<frame src=x>"),
    "noscript": _between("", "<noscript><p>some words</p></noscript>"),
    "a list from a high number": _between("<ol start=999999999>", "<li>x"),
    "lists in lists": _between("", "<ul><li>x"),
    "numbered lists in lists": _between("<ol start=999999999><li>" * 30, "<li>x"),
    "breaks in deep quotes": _between(DEEP_QUOTE, "x<br>"),
    "paragraphs in deep lists": _between(DEEP_LIST, "<p>x</p>"),
    "navigation": _between("<nav>", "<p>some words here</p>", "</nav>"),
    "navigation in navigation": _between("", "<nav>words here "),
    "hidden in hidden": _between("<div hidden>" * 400, "<p>some words here</p>"),
    "hidden without end": _between("", "<div hidden>words "),
    "titles of drawings": _between("", "<svg><title>x</title></svg>"),
    "options": _between("<select>", "<option>x"),
    "buttons in headings": _between("", "<h2><button>x</button></h2>"),
    "shadow roots": _between("", "<div><template shadowrootmode=open>x</template></div>"),
}  # fmt: skip
