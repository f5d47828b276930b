"""Pages of our own making in scripts without blanks, for `train_reading.py`: sentences of `reading_pages/`, set in layouts.

A layout stands for a site: class names, order and furniture differ as they do between sites. What is content is marked
with `data-truth`, which the samples take for their labels. Seeds are fixed: the same pages are made each time.
"""

from __future__ import annotations

import random
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SENTENCES = Path(__file__).parent / "reading_pages/sentences.toml"
PAGES = 3  # of each layout in each language


class Pen:
    """Writes pieces of a page in one language."""

    def __init__(self, words: dict[str, Any], seed: str) -> None:
        self.words, self.chance = words, random.Random(seed)

    def some(self, what: str, least: int, most: int) -> list[str]:
        have = self.words[what]
        return [self.chance.choice(have) for _ in range(self.chance.randint(least, most))]

    def paragraph(self, least: int = 1, most: int = 4) -> str:
        space = " " if self.words["lang"] in ("th", "lo") else ""
        return space.join(self.some("text", least, most))

    def paragraphs(self, least: int, most: int, around: str = "<p>{}</p>") -> str:
        return "".join(around.format(self.paragraph()) for _ in range(self.chance.randint(least, most)))

    def links(self, what: str, least: int, most: int, around: str = "<li>{}</li>") -> str:
        return "".join(
            around.format(f'<a href="/{self.chance.randint(1, 9999)}.html">{text}</a>')
            for text in self.some(what, least, most)
        )

    def label(self) -> str:
        return self.chance.choice(self.words["labels"])

    def title(self) -> str:
        return self.chance.choice(self.words["teasers"])


def portal(pen: Pen, title: str) -> str:
    return f"""<div class="topbar"><ul>{pen.links("nav", 6, 14)}</ul></div><div class="wrap"><div class="crumbs">{pen.links("nav", 2, 3, "{} &gt; ")}</div>
<div class="left_col"><h1>{title}</h1><div class="info"><span>{pen.label()}</span><span>{pen.label()}</span></div>
<div id="content_area" data-truth="1">{pen.paragraphs(3, 14)}</div><div class="keywords">{pen.links("nav", 2, 4, "{} ")}</div>
<div class="share">{pen.label()}</div><div class="rel_news"><h3>{pen.label()}</h3><ul>{pen.links("teasers", 4, 10)}</ul></div></div>
<div class="right_col"><div class="mod"><h4>{pen.label()}</h4><ul>{pen.links("teasers", 6, 12)}</ul></div><div class="mod">{pen.label()}</div></div></div>
<div class="footer">{pen.links("nav", 4, 9, "{} | ")}<p>{pen.label()} {pen.label()}</p></div>"""


def blog(pen: Pen, title: str) -> str:
    notes = "".join(
        f'<li class="comment"><cite>{pen.label()}</cite><p>{text}</p></li>' for text in pen.some("notes", 0, 12)
    )
    return f"""<header class="site-header"><a href="/">{pen.title()}</a><nav><ul>{pen.links("nav", 3, 7)}</ul></nav></header>
<main><article class="post hentry"><header><h1 class="entry-title">{title}</h1><p class="entry-meta">{pen.label()}</p></header>
<div class="entry-content" data-truth="1">{pen.paragraphs(2, 6)}<h2>{pen.title()}</h2>{pen.paragraphs(1, 5)}<blockquote><p>{pen.paragraph(1, 2)}</p></blockquote>
<ul>{"".join(f"<li>{text}</li>" for text in pen.some("text", 2, 5))}</ul>{pen.paragraphs(1, 3)}</div></article>
<section id="comments"><h3>{pen.label()}</h3><ol class="comment-list">{notes}</ol></section></main>
<aside class="widget-area"><ul>{pen.links("teasers", 4, 8)}</ul></aside><footer>{pen.label()}</footer>"""


def newspaper(pen: Pen, title: str) -> str:
    cards = "".join(
        f'<div class="card"><a href="/x"><h3>{t}</h3></a><p>{pen.paragraph(1, 1)}</p></div>'
        for t in pen.some("teasers", 4, 9)
    )
    return f"""<div class="gnav">{pen.links("nav", 5, 12, "<span>{}</span>")}</div><div id="main"><section class="article"><h1>{title}</h1>
<time>{pen.label()}</time><div class="article__body" data-truth="1"><p class="lead">{pen.paragraph(1, 2)}</p><figure><img src="a.jpg"><figcaption>{pen.paragraph(1, 1)}</figcaption></figure>
{pen.paragraphs(2, 9)}</div><p class="copyright">{pen.label()}</p></section><section class="ranking"><h2>{pen.label()}</h2>{cards}</section></div>
<div class="bottom"><ul>{pen.links("nav", 4, 8)}</ul></div>"""


def breaks(pen: Pen, title: str) -> str:
    text = "<br><br>".join("　　" + pen.paragraph() for _ in range(pen.chance.randint(3, 9)))
    return f"""<table width="980"><tr><td>{pen.links("nav", 6, 12, "{} | ")}</td></tr></table><table width="980"><tr><td class="title"><b>{title}</b></td></tr>
<tr><td class="src">{pen.label()}　{pen.label()}</td></tr><tr><td class="cont" data-truth="1">{text}</td></tr><tr><td align="right">{pen.label()}</td></tr></table>
<table><tr><td>{pen.links("teasers", 5, 10, "・{}<br>")}</td></tr></table><p align="center">{pen.label()}</p>"""


def thread(pen: Pen, title: str) -> str:
    posts = "".join(
        f'<div class="post"><div class="author">{pen.label()}</div><div class="message" data-truth="1">{pen.paragraphs(1, 3)}</div><div class="sig">{pen.label()}</div></div>'
        for _ in range(pen.chance.randint(3, 9))
    )
    return f"""<div id="nav">{pen.links("nav", 4, 8, "{} ")}</div><h2 class="thread-title" data-truth="1">{title}</h2><div class="posts">{posts}</div>
<div class="pager">{pen.links("nav", 2, 3, "{} ")}</div><div class="hot">{pen.links("teasers", 3, 8)}</div>"""


def manual(pen: Pen, title: str) -> str:
    parts = "".join(
        f"<section><h2>{pen.title()}</h2>{pen.paragraphs(1, 3)}<pre>make install\n./run --help</pre><dl><dt>{pen.title()}</dt><dd>{pen.paragraph(1, 2)}</dd></dl></section>"
        for _ in range(pen.chance.randint(2, 5))
    )
    return f"""<div class="sidebar"><ul>{pen.links("teasers", 6, 14)}</ul></div><div class="document"><div class="body" role="main" data-truth="1"><h1>{title}</h1>
<p>{pen.paragraph()}</p>{parts}</div></div><div class="related">{pen.links("nav", 2, 4, "{} ")}</div>"""


def goods(pen: Pen, title: str) -> str:
    rows = "".join(f"<tr><th>{pen.chance.choice(pen.words['nav'])}</th><td>{pen.title()}</td></tr>" for _ in range(5))
    return f"""<div class="header">{pen.links("nav", 6, 12, "<a>{}</a>")}</div><div class="product" ><h1 data-truth="1">{title}</h1><span class="price" data-truth="1">￥{pen.chance.randint(20, 9000)}</span>
<div class="desc" data-truth="1">{pen.paragraphs(2, 6)}</div><table class="spec" data-truth="1">{rows}</table></div><div class="recommend">{pen.links("teasers", 6, 12)}</div>
<div class="foot">{pen.label()} {pen.links("nav", 4, 8, "{} ")}</div>"""


def magazine(pen: Pen, title: str) -> str:
    return f"""<div class="css-1x2 hd">{pen.links("nav", 5, 9, "<div>{}</div>")}</div><div class="css-9k"><h1 class="css-t">{title}</h1><div class="css-b">{pen.label()}</div>
<div class="css-7" data-truth="1">{pen.paragraphs(1, 3, '<div class="css-p">{}</div>')}</div><div class="css-ad">{pen.label()}</div>
<div class="css-7" data-truth="1">{pen.paragraphs(2, 8, '<div class="css-p">{}</div>')}</div><div class="css-r"><div>{pen.label()}</div>{pen.links("teasers", 3, 6, "<div>{}</div>")}</div></div>
<div class="css-f">{pen.label()}</div>"""


LAYOUTS: dict[str, tuple[str, Callable[[Pen, str], str]]] = {
    "portal": ("article", portal), "blog": ("article", blog), "newspaper": ("article", newspaper), "breaks": ("article", breaks),
    "magazine": ("article", magazine), "thread": ("forum", thread), "manual": ("documentation", manual), "goods": ("product", goods),
}  # fmt: skip
PATHS = {
    "article": "2024/0305/{}.html",
    "forum": "thread-{}-1.html",
    "documentation": "docs/{}.html",
    "product": "item/{}",
}


def own_pages() -> Iterator[tuple[str, str, str, str, bytes]]:
    """Layout, name, address, kind of page, and the page with its content marked."""
    languages = tomllib.loads(SENTENCES.read_text("utf-8"))
    for layout, (kind, draw) in LAYOUTS.items():
        for language, words in languages.items():
            for number in range(PAGES):
                pen = Pen(words, f"{layout}/{language}/{number}")
                title = pen.title()
                head = f'<!DOCTYPE html><html lang="{words["lang"]}"><head><meta charset="utf-8"><title>{title} - {pen.title()}</title></head><body>'
                url = f"https://{layout}.example/" + PATHS[kind].format(pen.chance.randint(1000, 99999))
                yield (
                    layout,
                    f"{layout}:{language}:{number}",
                    url,
                    kind,
                    (head + draw(pen, title) + "</body></html>").encode(),
                )
