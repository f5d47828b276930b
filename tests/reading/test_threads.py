"""Threads: each post apart, with who signed it and when; what is no thread gets no such headings."""

from __future__ import annotations

import itertools
import json
import re

import pytest
from markdown_it import MarkdownIt
from turbohtml import parse

from spaniel.reading import extract
from spaniel.reading.data_files import data_file
from spaniel.reading.posts.post import visible_date

pytestmark = pytest.mark.usefixtures("either_judge")

TEXT = "The gate at the end of the garden has been open since Tuesday, and two of the goats are in the orchard again."
REPLY = "Ours did the same last year. We hung a bell on the latch, and since then at least we hear it."


def post(author: str, date: str, text: str, name: str = "message message--post") -> str:
    return (
        f"<article class='{name}'><h4 class=message-name>{author}</h4><p>Member since 2009</p>"
        f"<div class=message-attribution><time datetime=2024-03-02>{date}</time></div>"
        f"<div class=message-body>{text}</div><p>Sent from my shed</p></article>"
    )


def headings(html: str, url: str = "https://forum.example/threads/goats.12/") -> list[str]:
    return re.findall(r"^#{3,6} .*", extract(html, url=url).markdown, re.MULTILINE)


@pytest.mark.req("FR-WF-13", "FR-WF-13a")
@pytest.mark.parametrize("times", [1, 6])
def test_each_post_is_apart_in_order_and_signed(times: int) -> None:
    """Once on a page that is too small to be judged, once on one that is judged."""
    page = "<h1>Goats</h1>" + (post("Ada", "Mar 2, 2024", TEXT) + post("Ben", "Mar 3, 2024", REPLY)) * times
    assert headings(page) == ["### Ada, Mar 2, 2024", "### Ben, Mar 3, 2024"] * times
    markdown = extract(page).markdown
    assert "Member since" not in markdown
    assert "Sent from" not in markdown


@pytest.mark.req("FR-WF-13a")
def test_a_heading_in_a_post_stands_below_the_posts_own() -> None:
    page = post("Ada", "Mar 2, 2024", f"<h1>First</h1><p>{TEXT}</p><h5>Then</h5><p>{REPLY}</p>")
    assert headings(page) == ["### Ada, Mar 2, 2024", "#### First", "##### Then"]


def test_a_post_of_which_nothing_is_kept_gets_no_heading() -> None:
    page = post("Ada", "Mar 2, 2024", TEXT) + post("Nobody", "Mar 3, 2024", "<nav><a href=/>Menu</a></nav>")
    assert headings(page) == ["### Ada, Mar 2, 2024"]


def test_posts_of_which_none_is_signed_make_no_thread() -> None:
    page = post("", "", TEXT) + post("", "", REPLY)
    markdown = extract(page.replace("datetime=2024-03-02", "")).markdown
    assert "---" not in markdown
    assert REPLY in markdown


def test_a_post_that_nobody_signed_gives_no_level_to_those_inside_it() -> None:
    inner = post("Ben", "Mar 3, 2024", REPLY)
    outer = post("", "", TEXT).replace("datetime=2024-03-02", "").replace("</article>", inner + "</article>")
    assert headings(outer + post("Ada", "Mar 4, 2024", TEXT)) == ["### Ben, Mar 3, 2024", "### Ada, Mar 4, 2024"]


def test_the_signed_copy_of_a_text_is_kept_where_a_page_has_it_twice() -> None:
    words = "goat gate latch bell orchard fence ladder apple bucket shed hedge path stile barn hay".split()
    texts = [
        " ".join(f"The {words[(i * k + k) % 15]} is behind the {words[(i + k * k) % 15]}." for k in range(9))
        for i in range(6)
    ]
    posts = "".join(post(f"Ada {i}", "Mar 2, 2024", text) for i, text in enumerate(texts))
    markdown = extract(f"<div><p>{texts[0]}</p></div>{posts}", url="https://forum.example/threads/goats.12/").markdown
    assert markdown.startswith(f"### Ada 0, Mar 2, 2024\n\n{texts[0]}\n")
    assert markdown.count(texts[0]) == 1


ARTICLE = "".join(f"<p>{TEXT} That was the news of day {i}, and {REPLY.lower()}</p>" for i in range(8))


@pytest.mark.req("FR-WF-13", "FG-16")
@pytest.mark.parametrize(
    "comment",
    [
        "<div class='comment'><b class=author>{}</b><time>2 May 2020</time><div class=comment-content>{}</div></div>",
        "<div itemprop=comment itemscope itemtype='https://schema.org/Comment'><b itemprop=author>{}</b><p itemprop=text>{}</p></div>",
        "<div class='thing comment'><p class=tagline><a class=author>{}</a></p><div class=usertext-body>{}</div></div>",
    ],
)
def test_comments_do_not_make_a_thread_of_an_article(comment: str) -> None:
    comments = comment.format("Ada", "About time that somebody said it.") + comment.format("Ben", "I do not agree.")
    page = f"<title>The goats</title><article><h1>The goats</h1>{ARTICLE}</article><section id=comments>{comments}</section>"
    assert headings(page, "https://daily.example/news/2020/05/the-goats-are-in-the-orchard") == []


def test_a_few_comments_that_are_kept_beside_a_text_are_not_the_thread() -> None:
    """On a page too small to be judged all is kept, comments too."""
    comment = (
        "<div class='thing comment'><p class=tagline><a class=author>Ada</a></p><div class=usertext-body>{}</div></div>"
    )
    few, many = comment.format("Quite so."), comment.format(TEXT) + comment.format(REPLY)
    assert headings(f"<p>{TEXT} {REPLY}</p>{few}") == []
    assert headings(f"<p>{TEXT} {REPLY}</p>{many}") == ["### Ada", "### Ada"]


@pytest.mark.parametrize("count", [2, 8])
def test_teasers_are_no_posts(count: int) -> None:
    teaser = "<div class=post><h2><a href=/{0}>Title {0}</a></h2><b class=author>Ada {0}</b><time>{0} May 2020</time><p>{1}</p></div>"
    page = "<div class=forum>" + "".join(teaser.format(i + 1, TEXT) for i in range(count)) + "</div>"
    assert headings(page) == []


def test_control_the_same_without_titles_are_posts() -> None:
    teaser = "<div class=beitrag><b class=author>Ada {0}</b> <time>{0} May 2020</time><p>{1}</p></div>"
    page = "<div class=forum>" + "".join(teaser.format(i + 1, TEXT) for i in range(2)) + "</div>"
    assert headings(page) == ["### Ada 1, 1 May 2020", "### Ada 2, 2 May 2020"]


@pytest.mark.req("NFR-WF-SEC-03")
@pytest.mark.parametrize(
    "name", ["[x](javascript:alert(1))", "*a* _b_ `c`", "<b>x</b>", "a\n\n# b", "1. x", "![i](http://e.x/i.png)", "a | b", "</h3>", "&lt;"]
)  # fmt: skip
def test_a_name_is_text_whatever_it_looks_like(name: str) -> None:
    shown = name.replace("&", "&amp;").replace("<", "&lt;")
    markdown = extract(post(shown, "Mar 2, 2024", TEXT) + post("Ben", "Mar 3, 2024", REPLY)).markdown
    tokens = MarkdownIt("commonmark").parse(markdown)
    titles = [t for before, t in itertools.pairwise(tokens) if before.type == "heading_open"]
    assert {t.type for title in titles for t in title.children or []} <= {"text", "text_special"}
    assert titles[0].content is not None
    assert "".join(t.content for t in titles[0].children or []) == f"{' '.join(name.split())}, Mar 2, 2024"


@pytest.mark.req("FR-WF-13")
def test_linked_data_signs_only_what_the_page_shows() -> None:
    comments = [
        {"@type": "Comment", "text": REPLY, "author": {"name": "Ben"}, "dateCreated": "2024-03-03T10:00:00Z"},
        {"@type": "Comment", "text": "This is nowhere on the page, so it is not told.", "author": {"name": "Nobody"}},
    ]
    data = {"@type": "DiscussionForumPosting", "text": TEXT, "author": {"name": "Ada"}, "comment": comments}
    page = f"<script type='application/ld+json'>{json.dumps(data)}</script><p>{TEXT}</p><p>{REPLY}</p>"
    assert headings(page) == ["### Ada", "### Ben, 2024-03-03"]
    assert "Nobody" not in extract(page).markdown


DATES = {
    "by Joe » Wed Dec 27, 2023 10:00 am": "Wed Dec 27, 2023 10:00 am",
    "Joe7 » 11. Sep 2024, 21:06": "11. Sep 2024, 21:06",
    "Posted March 19, 2024": "March 19, 2024",
    "Aug 08, 2006 #1 2006-08-08T22:13+00:00": "Aug 08, 2006",
    "3 de mayo de 2024 a las 12:30": "3 de mayo de 2024 a las 12:30",
    "2024年5月3日 12:30": "2024年5月3日 12:30",
    "2024. 5. 3. 오후 2:10": "2024. 5. 3. 오후 2:10",
    "le 3 mai 2024 à 10h15": "3 mai 2024 à 10h15",
    "Опубликовано 3 мая 2024 г. 10:15": "3 мая 2024 г. 10:15",
    "2023-11-02 06:23:21": "2023-11-02 06:23:21",
    "Joined 2002": "",
    "3 days ago": "",
    "yesterday at 10:15": "",
    "": "",
}  # fmt: skip


@pytest.mark.parametrize(("text", "date"), DATES.items())
def test_the_date_is_what_the_page_shows(text: str, date: str) -> None:
    assert visible_date(text) == date


def test_where_only_an_age_is_shown_the_day_comes_from_the_attribute() -> None:
    assert headings(post("Ada", "2 hours ago", TEXT)) == ["### Ada, 2024-03-02"]


def test_every_selector_of_the_data_can_be_used() -> None:
    found = data_file("threads")
    page = parse("<p>x</p>")
    for row in [found["microdata"], found["siblings"], *found["program"]]:
        for key in ("author", "date", "body", "below", "title"):
            if isinstance(row.get(key), str) and not (key == "below" and row is found["microdata"]):
                page.select(row[key])
