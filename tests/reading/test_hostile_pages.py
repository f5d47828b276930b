"""The content table of the threat model: each row a page, and the behaviour that is right."""

from __future__ import annotations

import json
import time

import pytest
from turbohtml import parse

from spaniel.errors import Code, SpanielError
from spaniel.reading import extract, read
from tests.stopwatch import growth

URL = "https://example.org/"
VISIBLE = "<p>The visible text of the page.</p>"
pytestmark = pytest.mark.usefixtures("either_judge")


TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    "tag", ["div", "blockquote", "ul", "ul><li", "table><tr><td", "b", "svg", "template", "details", "section hidden"]
)
def test_deep_nesting_keeps_the_text_within_time_and_memory(tag: str) -> None:
    spent = []
    for depth in (1_000, 100_000):
        before = time.process_time()
        page = extract(f"<p>outside</p>{f'<{tag}>' * depth}inner words", url=URL)
        spent.append(time.process_time() - before)
        assert "outside" in page.markdown
    assert spent[-1] < max(0.002, spent[0]) * 3**7, spent  # a hundredfold is nearly seven doublings


GENERATOR = "<meta name=generator content=Discourse>"
SIGNED_POST = "<div class=post><b class=author_information><strong>x</strong></b><i class=post_date>2021-05-02</i><div class=post_body>one two"


def found(kind: str, **more: object) -> str:
    return f"<script type=application/ld+json>{json.dumps({'@type': kind, **more})}</script>"


def told_posts(count: int) -> str:
    posts = [{"@type": "Comment", "text": f"The text of number {i} is here", "author": f"a{i}"} for i in range(count)]
    return found("DiscussionForumPosting", text="Something", comment=posts) + "".join(f"<p>{p['text']}" for p in posts)


BIG = {
    "brackets": lambda n: "<p>" + "[" * n,
    "stars": lambda n: "<p>" + "*" * n,
    "back-ticks": lambda n: "<p>" + "`" * n,
    "runs of back-ticks": lambda n: "<p>" + "".join("`" * (i % 50) + "a" for i in range(n // 25)),
    "angles": lambda n: "<p>" + "<" * n,
    "open anchors": lambda n: "<p>" + "<a " * (n // 3),
    "ampersands": lambda n: "<p>" + "&" * n,
    "backslashes": lambda n: "<p>" + "\\" * n,
    "underscores": lambda n: "<p>" + "a_" * (n // 2),
    "open comments": lambda n: "<!--" * (n // 4),
    "attributes": lambda n: "<p " + " ".join(f"a{i}=1" for i in range(n // 10)) + ">x",
    "classes": lambda n: "<p class='" + "navAd " * (n // 6) + "'>x",
    "wide cells": lambda n: "<table><tr><th>a<th>b</tr><tr>" + "<td colspan=1000 rowspan=1000>x" * (n // 20) + "</table>",
    "lists in cells": lambda n: "<table><tr><th>a" + "<td><ul><li>x<ul><li>y<li><div>" * (n // 30),
    "links": lambda n: "".join(f"<p><a href=/{i}>link {i}</a>" for i in range(n // 10)),
    "cards": lambda n: "".join(f"<a href=/{i}><div><h3>head</h3><p>text</p></div></a>" for i in range(n // 20)),
    "paragraphs": lambda n: "<p>Some words, and then some more words.</p>" * (n // 10),
    "breaks": lambda n: "<p>" + "x<br><br>" * (n // 9),
    "dialogs": lambda n: "<div role=dialog>" * (n // 16) + "<h1>x</h1>" + "words " * (n // 6),
    "questions": lambda n: "<button aria-expanded=false>Why?</button>" * (n // 40),
    "unspaced": lambda n: "<p>" + "漢字かなไทย" * (n // 7),
    "captions": lambda n: "<p>Some words, and then some more words.</p><figcaption>x</figcaption><h2>y</h2>" * (n // 20),
    "quotations": lambda n: "<blockquote>" * (n // 12) + "Some words, and then some more words. " * (n // 40),
    "hidden": lambda n: "<p hidden>no</p><p>yes</p>" * (n // 20),
    "styles": lambda n: "<p style='opacity:0'>no</p><p>yes</p>" * (n // 20),
    "definitions": lambda n: "<dl>" + "<dt>term<dd>meaning" * (n // 20),
    "code": lambda n: "<pre><span class=lineno>1</span>x</pre>" * (n // 20),
    "line numbers": lambda n: "<pre>" + "".join(f"<span>{i}</span>a\n" for i in range(1, n // 10)),
    "neighbours": lambda n: "<p>" + "<span class=a>ab</span><span class=b>Cd" * (n // 20),
    "icons": lambda n: "<p>" + "<i>\uf0c1</i>x " * (n // 10),
    "sleeping images": lambda n: "<figure>" + "<img alt=x><noscript><img src=logo.png alt=y></noscript>" * (n // 20),
    "the same heading": lambda n: "<h2>x</h2>" * (n // 10),
    "posts": lambda n: f"{GENERATOR}<div class=forum>" + f"{SIGNED_POST}</div></div>" * (n // 150),
    "posts in posts": lambda n: GENERATOR + SIGNED_POST * (n // 150),
    "posts without a text": lambda n: GENERATOR + "<div class=comment><p class=tagline>x" * (n // 40),
    "signed siblings": lambda n: f"{GENERATOR}<div class=forum>" + "<div><b class=nick>x<i>y</i></b><time>3 May 2020</time> z</div>" * (n // 80),
    "siblings in siblings": lambda n: GENERATOR + "<div><p>x</p><b class=user>y</b><time>3 May 2020</time>" * (n // 60),
    "prices": lambda n: found("Product", offers={"price": 3}) + "<p>1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 €</p>" * (n // 40),
    "opening hours": lambda n: found("Store", openingHours=[f"Mo {i % 24}:{i % 60:02}-17:59" for i in range(99)]) + "<p>9:00 1.1 2h 3</p>" * (n // 20),
    "ingredients": lambda n: found("Recipe", recipeIngredient=["a" * i for i in range(99)]) + "<p>" + "ab" * (n // 2),
    "told posts": lambda n: told_posts(n // 100),
    "titles without an end": lambda n: "<title " * (n // 7),
    "templates without an end": lambda n: "<template>" * (n // 10),
    "words that are heard": lambda n: "<p>" + "<span class=sr-only>x</span>y" * (n // 30),
    "emphasis in emphasis": lambda n: "<p><b>ä</b>" + "<b>ö <i>x" * (n // 9),
    "the same text": lambda n: "<h1>The same text of all of them</h1>" + "<p class=x{}>The same text<i></i></p>" * (n // 40),
    "idle headings": lambda n: "".join(f"<h{2 + i % 5}>x y</h{2 + i % 5}><p><a href=/>z</a></p>" for i in range(n // 30)) + "<p>Some words, and then some more." * 9,
    "blanks that are kept": lambda n: "<p>" + "<span style='white-space:pre'>x\ny" * (n // 30),
    "bold headings in headings": lambda n: "<h2><b>x</b><div>" * (n // 17) + "y",
    "emphasis over lines": lambda n: "<p>" + "<b>x<br>y</b>" * (n // 15),
    "pictures between words": lambda n: "<p>" + "x<img src=y alt='z  '>" * (n // 20),
    "rules": lambda n: "<p>x" + "<hr>" * (n // 4) + "<p>y",
    "powers": lambda n: "<p><math>" + "<msup><mi>x</mi><mn>2</mn></msup><mo>+</mo>" * (n // 40),
    "powers in powers": lambda n: "<p><math>" + "<msup>" * (n // 6) + "x",
    "formulas in formulas": lambda n: "<p>" + "<math><mtext>" * (n // 13) + "x",
    "empty operators": lambda n: "<p><math>" + "<mo> </mo>" * (n // 10),
    "joiners": lambda n: "<p>" + "a\u200d" * n,
    "terminal": lambda n: "<p>" + "\x1b]x" * n,
}  # fmt: skip


@pytest.mark.parametrize("make", BIG.values(), ids=BIG.keys())
def test_time_grows_no_faster_than_the_page(make: Callable[[int], str]) -> None:
    """t(2n) / t(n) < 3 over four doublings, taken together; a square would be 256 times."""
    small, large = make(4_000), make(64_000)
    grown = growth(lambda: extract(small, url=URL), lambda: extract(large, url=URL), floor=0.005, below=3**4)
    assert grown.times < 3**4
    assert grown.seconds < 1


def test_an_entity_bomb_is_not_expanded() -> None:
    page = '<!DOCTYPE html [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;"><!ENTITY x SYSTEM "file:///etc/passwd">]><p>&b; &x;</p>'
    markdown = extract(page).markdown
    assert "aaaa" not in markdown.replace('a "aaaaaaaaaa"', "")
    assert "root:" not in markdown


HIDDEN = [
    "<div style='display:none'>SECRET</div>", "<div style='DISPLAY : None !important'>SECRET</div>", "<div style='visibility:hidden'>SECRET</div>",
    "<div style='font-size:0'>SECRET</div>", "<div style='font-size:0px'>SECRET</div>", "<div style='opacity:0.0'>SECRET</div>",
    "<div style='position:absolute;left:-10000px'>SECRET</div>", "<div style='text-indent:-9999em'>SECRET</div>",
    "<div style='clip: rect(0, 0, 0, 0)'>SECRET</div>", "<div style='transform:scale(0)'>SECRET</div>", "<div style='color:transparent'>SECRET</div>",
    "<div hidden>SECRET</div>", "<div hidden=until-found>SECRET</div>", "<div aria-hidden=true>SECRET</div>", "<noscript>SECRET</noscript>",
    "<template>SECRET</template>", "<!-- SECRET -->", "<script>SECRET</script>", "<style>SECRET</style>", "<dialog>SECRET</dialog>",
    "<span style='display:none'>SECRET</span>", "<dialog open role=dialog>SECRET</dialog>", "<div role=tooltip>SECRET</div>",
]  # fmt: skip


@pytest.mark.req("FR-WF-13", "NFR-WF-SEC-03")
@pytest.mark.parametrize("html", HIDDEN)
def test_hidden_text_is_dropped(html: str) -> None:
    assert "SECRET" not in extract(VISIBLE + html + VISIBLE).markdown


@pytest.mark.parametrize("html", [h for h in HIDDEN if h.startswith(("<div", "<span", "<noscript", "<dialog open"))])
def test_control_the_same_text_is_there_for_a_reader_that_does_not_look(html: str) -> None:
    assert "SECRET" in parse(html).to_markdown()


@pytest.mark.parametrize(
    "style", ["opacity:0.9", "display:block", "left:-5px", "font-size:10px", "visibility:visible", "color:red"]
)
def test_what_is_only_styled_stays(style: str) -> None:
    assert "seen" in extract(f"{VISIBLE}<div style='{style}'>seen</div>").markdown


@pytest.mark.req("D2-08")
def test_a_panel_that_a_control_opens_is_not_hidden_text() -> None:
    page = f'{VISIBLE}<a href="#spec" role="tab">Specification</a><div id="spec" hidden>Weighs nothing</div><div id="other" hidden>SECRET</div>'
    markdown = extract(page).markdown
    assert "Weighs nothing" in markdown
    assert "SECRET" not in markdown


@pytest.mark.req("D2-08")
@pytest.mark.parametrize(
    "wrap",
    [
        "<div hidden>{}</div>",
        "<div style='opacity:0'>{}</div>",
        "<noscript>{}</noscript>",
        "<nav>{}</nav>",
        "<footer>{}</footer>",
    ],
)
def test_the_only_content_of_a_page_is_never_removed(wrap: str) -> None:
    body = "<p>" + "The article is rendered on the server and waits for a script. " * 5 + "</p>"
    assert "waits for a script" in extract("<p>Loading</p>" + wrap.format(body)).markdown


@pytest.mark.req("D2-08")
@pytest.mark.parametrize(
    "opening", ["<div role=dialog>", "<ul role=menu><li>", "<button>", "<object>", "<div role=search>"]
)
def test_an_element_whose_end_was_lost_does_not_swallow_the_page(opening: str) -> None:
    text = "<p>The council met on Monday and spoke about the bridge until midnight came.</p>" * 8
    assert "until midnight came" in extract(f"<p>Top</p>{opening}close<main><h1>A bridge</h1>{text}</main>").markdown


@pytest.mark.parametrize("opening", ["<div role=dialog>", "<button>", "<object>"])
def test_control_what_holds_no_page_goes_though_it_is_long(opening: str) -> None:
    text = "<p>The council met on Monday and spoke about the bridge until midnight came.</p>" * 8
    end = "</" + opening[1:].split(" ", maxsplit=1)[0].rstrip(">") + ">"
    page = f"<main><h1>A bridge</h1>{text.replace('council', 'board')}</main>{opening}{text}{end}"
    assert "council" not in extract(page).markdown
    assert "board" in extract(page).markdown


@pytest.mark.req("FR-WF-13")
@pytest.mark.parametrize(
    "button",
    ["<button aria-expanded=false>When does it begin?</button>", "<button aria-controls=a>¿Cuándo empieza?</button>",
     "<button class=faq data-target='#a'>The beginning of the work</button>", "<h3><button>The beginning of the work</button></h3>"],
)  # fmt: skip
def test_a_question_on_a_button_that_opens_its_answer_stays(button: str) -> None:
    page = f"<main><h1>Questions</h1>{button}<div id=a>{VISIBLE * 30}</div>{button}<div>{VISIBLE * 30}</div></main>"
    words = button.split(">")[-3 if "h3" in button else -2].split("<", maxsplit=1)[0]
    assert extract(page).markdown.count(words) == 2


@pytest.mark.parametrize(
    "button",
    ["<button>When does it begin?</button>", "<button aria-expanded=false>Menu</button>", "<nav><button aria-expanded=false>Why us?</button></nav>"],
)  # fmt: skip
def test_control_other_buttons_go(button: str) -> None:
    words = button.split("</button>", maxsplit=1)[0].rsplit(">", maxsplit=1)[-1]
    assert words not in extract(f"<main><h1>Questions</h1>{button}<div>{VISIBLE * 30}</div></main>").markdown


@pytest.mark.req("D2-08")
@pytest.mark.parametrize("name", ["thread-list", "read-more", "broad-side", "gradient", "unavailable"])
def test_class_words_match_whole_words(name: str) -> None:
    assert "stays" in extract(f"<p>Some text</p><div class='{name}'>stays</div>").markdown


@pytest.mark.req("FR-WF-13", "T-WF-EXT-01", "D2-08", "FG-16")
@pytest.mark.parametrize(
    "name",
    [
        "nav",
        "navbar",
        "top-nav",
        "topNav",
        "menu",
        "main-menu",
        "sidebar",
        "left-sidebar",
        "footer",
        "header",
        "advertisement",
        "ad-slot",
        "cookie-consent",
    ],
)
def test_boilerplate_classes_go(name: str) -> None:
    assert "GONE" not in extract(f"{VISIBLE}<div class='{name}'>GONE</div>").markdown


@pytest.mark.req("NFR-WF-SEC-03")
@pytest.mark.parametrize(
    "text",
    [
        "\x1b[31mred\x1b[0m",
        "\x1b]0;title\x07x",
        "a\x00b\x01c",
        "a\x9b31mb",
        "\u202etxt.exe",
        "\ufeffx",
        "a\U000e0041\U000e007fb",
        "s\u00adhy",
    ],
)
def test_what_acts_in_a_terminal_or_hides_is_gone(text: str) -> None:
    page = extract(
        f"<title>{text}</title><p>{text}</p><pre>{text}</pre><a href='http://e.x/{text}'>{text}</a>", url=URL
    )
    for out in (page.markdown, page.title or ""):
        assert not [
            c
            for c in out
            if (c < " " and c not in "\n\t") or "\x7f" <= c <= "\x9f" or c in "\u202e\ufeff\u00ad\U000e0041"
        ]
    assert page.hygiene.invisible_characters + page.hygiene.control_characters > 0 or "\x00" in text


STEERING = [*range(0x1BCA0, 0x1BCA4), 0x2028, 0x2029, *range(0xFDD0, 0xFDF0, 5), 0xFDEF]
STEERING += [plane << 16 | last for plane in range(17) for last in (0xFFFE, 0xFFFF)]


@pytest.mark.req("NFR-WF-SEC-03")
@pytest.mark.parametrize("code", STEERING, ids=hex)
def test_separators_controls_and_noncharacters_are_removed_and_counted(code: int) -> None:
    """Just outside these ranges stand characters that stay: see the next test."""
    sign = chr(code)
    page = extract(
        f"<title>a{sign}b</title><p>one{sign}two</p><pre>three{sign}four</pre><img src=x alt='five{sign}'>", url=URL
    )
    assert sign not in page.markdown
    assert sign not in (page.title or "")
    assert page.hygiene.invisible_characters >= 2
    plain = read(f"one{sign}two".encode(), "text/plain", None)
    assert plain.markdown == ("one two\n" if code in (0x2028, 0x2029) else "onetwo\n")
    assert plain.hygiene.invisible_characters == 1


@pytest.mark.parametrize(
    "code", [0x1BC9F, 0x1BCA4, 0x2027, 0x202F, 0xFDCF, 0xFDF0, 0xFFFC, 0xFFFD, 0x1FFFD, 0x20000], ids=hex
)
def test_their_neighbours_stay(code: int) -> None:
    assert chr(code) in read(f"one{chr(code)}two".encode(), "text/plain", None).markdown


@pytest.mark.parametrize("sign", ["\x01", "\u200b", "\uffff"])
def test_a_long_text_is_scrubbed_as_a_short_one_is(sign: str) -> None:
    """A long one is scrubbed in another way, for it may have millions of them."""
    short, long = (read(f"ab{sign}".encode() * count, "text/plain", None) for count in (1_000, 50_000))
    assert short.markdown == "ab" * 1_000 + "\n"
    assert long.markdown == "ab" * 50_000 + "\n"
    assert long.hygiene.invisible_characters + long.hygiene.control_characters == 50_000


def test_the_same_bytes_give_the_same_document_a_thousand_times() -> None:
    html = (VISIBLE + "<ul><li>a<li>b</ul><table><tr><th>x<th>y<tr><td>1<td>2</table>") * 3
    assert len({extract(html, url=URL) for _ in range(1000)}) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"</p>",
        b"<!DOCTYPE html>",
        b"<frameset><frame src=x></frameset>",
        b"\xff\xfe",
        b"<svg><script>x</script></svg>",
    ],
)
def test_next_to_nothing_is_read_without_an_error(body: bytes) -> None:
    assert read(body, "text/html", URL).markdown == ""


def test_a_drawing_with_a_script_is_refused_by_type_and_by_sniffing() -> None:
    drawing = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
    for content_type in ("image/svg+xml", None):
        with pytest.raises(SpanielError) as caught:
            read(drawing, content_type, None)
        assert caught.value.code is Code.UNSUPPORTED_CONTENT_TYPE


@pytest.mark.req("NFR-WF-SEC-03")
@pytest.mark.parametrize("shield", ["\u200b", "\u00ad", "\ufeff", "&nbsp;", "\x07", "\u202e"])
@pytest.mark.parametrize("text", ["# heading", "- item", "1. item", "> quote", "```", "===", "    code"])
def test_an_invisible_character_does_not_shield_marks_from_being_escaped(shield: str, text: str) -> None:
    """Positive control: without the shield the writer escapes the same text."""
    assert (
        extract(f"<p>x</p><p>{shield}{text}</p>").markdown.strip() == extract(f"<p>x</p><p>{text}</p>").markdown.strip()
    )
