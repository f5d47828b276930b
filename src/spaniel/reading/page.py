"""The page as a whole in numbers, from which its kind is guessed: article, documentation, forum, product …"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from spaniel.reading.words import bit

if TYPE_CHECKING:
    from spaniel.reading.blocks import Outline
    from spaniel.reading.shapes import Shape

URL_WORDS = {
    word: place
    for place, words in enumerate(
        (
            "blog blogs news article articles story post posts opinion",
            "docs doc documentation manual reference guide guides tutorial tutorials wiki help api learn",
            "forum forums thread threads topic topics viewtopic showthread t questions question discussion community",
            "product products item dp p shop store buy",
            "category categories collection collections c tag tags topic search list browse",
            "service services about pricing solutions contact company features platform",
        ),
        1,
    )
    for word in words.split()
}
GENERATORS = {
    word: place
    for place, words in enumerate(
        (
            "wordpress blogger ghost medium substack",
            "sphinx mkdocs docusaurus hugo jekyll doxygen docbook gitbook javadoc rustdoc docutils asciidoctor vitepress gatsby mediawiki",
            "discourse vbulletin xenforo phpbb invision mybb vanilla flarum smf nodebb lithium khoros",
            "woocommerce shopify magento prestashop opencart bigcommerce",
            "webflow wix squarespace elementor duda framer",
        ),
        1,
    )
    for word in words.split()
}
LINKED_DATA = {
    word.lower(): place
    for place, words in enumerate(
        (
            "NewsArticle Article BlogPosting ReportageNewsArticle LiveBlogPosting OpinionNewsArticle AnalysisNewsArticle",
            "TechArticle APIReference HowTo Course LearningResource SoftwareSourceCode",
            "DiscussionForumPosting QAPage Question SocialMediaPosting Conversation",
            "Product ProductGroup IndividualProduct ProductModel",
            "ItemList CollectionPage SearchResultsPage OfferCatalog Blog",
            "Service LocalBusiness SoftwareApplication FAQPage ProfessionalService Organization AboutPage ContactPage",
        ),
        1,
    )
    for word in words.split()
}
OPEN_GRAPH = {"article": 1, "product": 2, "website": 3, "og:product": 2, "product.item": 2, "object": 4, "profile": 4, "blog": 5}
GROUPS = ("forum", "comment", "product", "review", "card", "docs", "content", "service")
PRICE = re.compile(r"[$€£¥₹]\s?\d|\d\s?(?:€|zł|kr\b|USD|EUR)")
PAGE = (
    "words blocks linked good goodblocks heads h1 articles pres trs forms times imgs prices".split()
    + [f"in.{g}" for g in GROUPS]
    + "og ld url.depth url.dash url.root url.digits url.word generator titlewords main twinshare lis".split()
)


def url_numbers(url: str) -> tuple[float, ...]:
    path = url.partition("://")[2].partition("/")[2].partition("?")[0].partition("#")[0]
    parts = [p for p in path.split("/") if p]
    last = parts[-1] if parts else ""
    words = [URL_WORDS[w] for p in parts for w in (p.lower(),) if w in URL_WORDS]
    host = url.partition("://")[2].partition("/")[0].lower()
    words += [URL_WORDS[w] for w in host.split(".")[:1] if w in URL_WORDS]
    digits = sum(map(str.isdigit, path))
    return (len(parts), last.count("-") + last.count("_"), 1 if not parts else 0, digits, words[0] if words else 0)


class Facts(NamedTuple):
    """What the head says about the page."""

    url: str
    title: str
    open_graph: str
    linked_data: list[str]
    generator: str
    times: int
    images: int


def page_numbers(out: Outline, shapes: list[Shape], facts: Facts) -> tuple[float, ...]:
    """In the order of PAGE."""
    words = sum(s[0] for s in shapes) or 1
    linked = sum(s[0] * s[2] for s in shapes) / words
    good = sum(s[0] * s[8] for s in shapes) / words
    goods = sum(s[8] for s in shapes)
    heads = sum(1 for s in shapes if s[7])
    h1 = sum(1 for s in shapes if s[7] == 1)
    tags: dict[str, int] = {}
    for tag in out.tag:
        tags[tag] = tags.get(tag, 0) + 1
    every = [0] * len(out.tag)
    for i, up in enumerate(out.parent):
        every[i] = out.mask[i] | (every[up] if up > 0 else 0)
    bits = [bit(g) for g in GROUPS]
    under = [0.0] * len(GROUPS)
    for b, s in zip(out.blocks, shapes, strict=True):
        mask = every[b.container]
        for k, one in enumerate(bits):
            if mask & one:
                under[k] += s[0]
    prices = sum(1 for b in out.blocks if len(b.text) < 40 and PRICE.search(b.text))
    ld = min((LINKED_DATA[t.lower()] for t in facts.linked_data if t.lower() in LINKED_DATA), default=0)
    gen = next((GENERATORS[w] for w in re.findall(r"[a-z]+", facts.generator[:80].lower()) if w in GENERATORS), 0)
    best = max((n * (out.last[i] - out.first[i]) for i, n in ((i, out.twins[k]) for i, k in enumerate(out.kin)) if n > 2 and out.last[i] > out.first[i]), default=0)
    return (
        words, len(shapes), linked, good, goods, heads, h1, tags.get("article", 0), tags.get("pre", 0), tags.get("tr", 0),
        tags.get("form", 0), facts.times, facts.images, prices, *[u / words for u in under],
        OPEN_GRAPH.get(facts.open_graph, 6) if facts.open_graph else 0, ld, *url_numbers(facts.url), gen, len(facts.title.split()), tags.get("main", 0), best / (len(shapes) or 1), tags.get("li", 0),
    )  # fmt: skip
