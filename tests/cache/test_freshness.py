"""Which class a page is of, and how long that keeps it fresh: the shipped rules, a user's over them, their order."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.cache.freshness import LISTS, OTHER, Freshness, FreshnessClass, PageTraits, from_data, load
from spaniel.errors import Code, SpanielError
from spaniel.url import parse

SHIPPED = load()


def named(url: str, content_type: str = "text/html", types: tuple[str, ...] = (), generator: str = "") -> str:
    return SHIPPED.classify(parse(url), content_type, types, generator).name


@pytest.mark.req("FG-38")
def test_the_seven_classes_of_the_document_have_its_hours() -> None:
    hours = {name: found.ttl // timedelta(hours=1) for name, found in SHIPPED.classes.items() if found.ttl}
    assert hours == {
        "api-docs": 72, "blog": 168, "news": 24, "repository": 48, "answers": 168, "specs": 720, "status": 1,
    }  # fmt: skip
    assert SHIPPED.classes[OTHER] == FreshnessClass(OTHER, None)


@pytest.mark.req("FG-38")
@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://docs.python.org/3/library/re.html", "api-docs"),
        ("https://requests.readthedocs.io/en/latest/", "api-docs"),
        ("https://example.com/docs/start", "api-docs"),
        ("https://example.com/v1/openapi.json", "api-docs"),
        ("https://blog.example.com/a", "blog"),
        ("https://example.com/2026/blog/a", "blog"),
        ("https://someone.substack.com/p/a", "blog"),
        ("https://example.com/news", "news"),
        ("https://example.com/News/today", "news"),
        ("https://news.example.com/", "news"),
        ("https://github.com/owner/project", "repository"),
        ("https://raw.githubusercontent.com/owner/project/main/a.md", "repository"),
        ("https://example.com/project/README.md", "repository"),
        ("https://stackoverflow.com/questions/1/a", "answers"),
        ("https://unix.stackexchange.com/q/1", "answers"),
        ("https://www.rfc-editor.org/rfc/rfc9110", "specs"),
        ("https://www.w3.org/TR/html/", "specs"),
        ("https://datatracker.ietf.org/doc/html/rfc9110", "specs"),
        ("https://status.example.com/", "status"),
        ("https://www.githubstatus.com/", "status"),
        ("https://example.com/status", "status"),
        ("https://example.com/", OTHER),
        ("https://www.w3.org/about", OTHER),
        ("https://example.com/newsroom", OTHER),  # a segment is a whole one
        ("https://example.com/user/status/1", OTHER),
        ("https://notgithub.com/", OTHER),
        ("https://github.com.evil.example/", OTHER),
    ],
)
def test_a_page_is_known_by_its_url(url: str, name: str) -> None:
    assert named(url) == name


@pytest.mark.req("FG-38")
def test_a_page_is_known_by_its_type_its_linked_data_and_its_generator() -> None:
    url = "https://example.com/a"
    assert named(url, types=("NewsArticle",)) == "news"
    assert named(url, types=("WebPage", "https://schema.org/BlogPosting")) == "blog"
    assert named(url, types=("schema:QAPage",)) == "answers"
    assert named(url, types=("liveblogposting",)) == "status"
    assert named(url, generator="Sphinx 8.1") == "api-docs"
    assert named(url, generator=" ghost 5") == "blog"
    assert named(url, "application/openapi+json; charset=utf-8") == "api-docs"
    assert named(url, "text/html", ("Article",), "Unheard of") == OTHER
    assert named("https://blog.example.com/", types=("NewsArticle",)) == "news"  # the page's own word goes first


def user(tmp_path: Path, text: str) -> Freshness:
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    return load(os.fspath(file))


@pytest.mark.req("FG-38")
def test_the_rules_of_a_user_come_first_and_the_classes_are_added(tmp_path: Path) -> None:
    mine = user(
        tmp_path,
        '[classes]\nnews = 6\nwiki = 12\nother = 100\n[[rules]]\nclass = "wiki"\nhosts = ["docs.example.com"]\n'
        '[[rules]]\nclass = "other"\nhosts = ["*.bücher.example"]\npaths = ["/blog/"]\n',
    )
    assert mine.classify(parse("https://docs.example.com/")) == FreshnessClass("wiki", timedelta(hours=12))
    assert mine.classify(parse("https://docs.example.org/")).name == "api-docs"
    assert mine.classify(parse("https://news.example.com/")) == FreshnessClass("news", timedelta(hours=6))
    assert mine.classify(parse("https://a.bücher.example/blog")) == FreshnessClass(OTHER, timedelta(hours=100))
    assert mine.classify(parse("https://a.bücher.example/weblog")).name == "blog"
    assert set(mine.classes) == {*SHIPPED.classes, "wiki"}


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("[clases]\na = 1\n", "clases", "did you mean 'classes'?"),
        ("[classes]\na = 1.5\n", "classes.a", "whole number"),
        ("[classes]\na = 0\n", "classes.a", "between 1 and 87600"),
        ("[classes]\na = 87601\n", "classes.a", "between 1 and 87600"),
        ('[classes]\n"" = 1\n', "classes", "text in one line"),
        ('[classes]\n"a\\n" = 1\n', "classes", "text in one line"),
        ("rules = 1\n", "rules", "list of tables"),
        ('[[rules]]\nhosts = ["a"]\n', "rules[0].class", "missing"),
        ('[[rules]]\nclass = "blogs"\nhosts = ["a"]\n', "rules[0].class", "did you mean 'blog'?"),
        ('[[rules]]\nclass = "blog"\n', "rules[0]", "matches every page"),
        ('[[rules]]\nclass = "blog"\nhosts = []\n', "rules[0]", "matches every page"),
        ('[[rules]]\nclass = "blog"\nhost = ["a"]\n', "rules[0].host", "did you mean 'hosts'?"),
        ('[[rules]]\nclass = "blog"\nhosts = "a"\n', "rules[0].hosts", "list of texts"),
        ('[[rules]]\nclass = "blog"\nhosts = ["*"]\n', "rules[0].hosts", "'*'"),
        ('[[rules]]\nclass = "blog"\nhosts = ["a.*.b"]\n', "rules[0].hosts", "'a.*.b'"),
        ('[[rules]]\nclass = "blog"\nhosts = ["https://a/"]\n', "rules[0].hosts", "'https://a/'"),
        ('[[rules]]\nclass = "blog"\npaths = ["/"]\n', "rules[0].paths", "'/'"),
        ('[[rules]]\nclass = "blog"\ngenerators = [" "]\n', "rules[0].generators", "''"),
        ("classes = [\n", "", "not TOML"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_place(tmp_path: Path, text: str, place: str, message: str) -> None:
    with pytest.raises(SpanielError) as caught:
        user(tmp_path, text)
    assert caught.value.code is Code.BAD_ARGS
    assert place in str(caught.value.details["field"])
    assert message in str(caught.value.details["reason"])


@pytest.mark.req("FG-38")
def test_the_shortest_and_the_longest_time(tmp_path: Path) -> None:
    mine = user(tmp_path, "[classes]\nshort = 1\nlong = 87600\n")
    assert (mine.named("short").ttl, mine.named("long").ttl) == (timedelta(hours=1), timedelta(days=3650))


@pytest.mark.req("FG-38")
@pytest.mark.parametrize(
    ("rule", "url", "other"),
    [
        ('hosts = [" A.Example "]', "https://a.example/", "https://b.example/"),
        ('host_labels = ["WIKI"]', "https://wiki.a.example/", "https://a.wiki.example/"),
        ('paths = ["Notes"]', "https://a.example/notes/1", "https://a.example/x/notes"),
        ('path_words = ["notes"]', "https://a.example/x/Notes/1", "https://a.example/x/notes1"),
        ('path_ends = [".TXT"]', "https://a.example/x.txt", "https://a.example/x.txt/y"),
        ('hosts = ["a.example"]\npaths = ["/x/"]', "https://a.example/x", "https://a.example/y"),
    ],
)
def test_a_rule_is_compared_in_one_spelling(tmp_path: Path, rule: str, url: str, other: str) -> None:
    mine = user(tmp_path, f'[classes]\nmine = 5\n[[rules]]\nclass = "mine"\n{rule}\n')
    assert mine.classify(parse(url)).name == "mine"
    assert mine.classify(parse(other)).name != "mine"


@pytest.mark.req("FG-38")
@pytest.mark.parametrize(
    ("rule", "fields"),
    [
        ('content_types = ["Text/X"]', {"content_type": " TEXT/x ; charset=y"}),
        ('types = ["https://schema.org/Recipe"]', {"types": ("recipe",)}),
        ('types = ["Recipe"]', {"types": ("Thing", "http://a.example:80/ns/Recipe ")}),
        ('generators = ["Otter"]', {"generator": " otter 2"}),
    ],
)
def test_so_is_what_a_page_says_of_itself(tmp_path: Path, rule: str, fields: dict[str, Any]) -> None:
    mine = user(tmp_path, f'[classes]\nmine = 5\n[[rules]]\nclass = "mine"\n{rule}\n')
    assert mine.classify(parse("https://a.example/"), **fields).name == "mine"
    assert mine.classify(parse("https://a.example/")).name == OTHER


def test_a_file_that_is_not_there_is_told() -> None:
    with pytest.raises(SpanielError, match="cannot be read"):
        load("nowhere.toml")


@pytest.mark.req("FG-38")
def test_a_class_that_is_asked_for_must_be_one() -> None:
    assert SHIPPED.named("news").ttl == timedelta(hours=24)
    with pytest.raises(SpanielError) as caught:
        SHIPPED.named("new")
    assert caught.value.details == {
        "field": "freshness_class",
        "reason": "there is no class 'new'; did you mean 'news'?",
    }


VALUES: dict[str, list[str]] = {
    "hosts": ["a.example", "*.example"],
    "host_labels": ["a", "b"],
    "paths": ["/x", "/x/y"],
    "path_words": ["x", "y"],
    "path_ends": ["y", "/x"],
    "content_types": ["text/html"],
    "types": ["Thing"],
    "generators": ["gen"],
}
RULES = st.lists(
    st.fixed_dictionaries(
        {"class": st.sampled_from(["one", "two", "three"])},
        optional={key: st.lists(st.sampled_from(VALUES[key]), min_size=1) for key in LISTS},
    ).filter(lambda rule: len(rule) > 1),
    max_size=5,
)
PAGES = st.tuples(
    st.sampled_from(["a.example", "b.example", "c.test"]),
    st.sampled_from(["/", "/x", "/x/y", "/xy", "/y/x"]),
    st.sampled_from(["text/html", "text/plain"]),
    st.sampled_from([(), ("Thing",)]),
    st.sampled_from(["", "Gen 1"]),
)


def made(rules: list[dict[str, Any]], under: Freshness | None = None) -> Freshness:
    return from_data({"classes": {"one": 1, "two": 2, "three": 3}, "rules": rules}, "made", under)


@pytest.mark.req("FG-38")
@given(RULES, RULES, PAGES)
def test_the_first_rule_that_matches_decides_and_the_users_come_first(
    own: list[dict[str, Any]], shipped: list[dict[str, Any]], page: tuple[str, str, str, tuple[str, ...], str]
) -> None:
    host, path, content_type, types, generator = page
    url = parse(f"https://{host}{path}")
    chosen = made(own, made(shipped)).classify(url, content_type, types, generator)
    alone = [made([rule]).classify(url, content_type, types, generator).name for rule in (*own, *shipped)]
    assert chosen.name == next((name for name in alone if name != OTHER), OTHER)


@given(st.text(), st.text(), st.lists(st.text()), st.text())
def test_whatever_a_page_says_it_has_a_class(path: str, content_type: str, types: list[str], generator: str) -> None:
    url = parse("https://example.com/")._replace(path=f"/{path}")
    assert SHIPPED.classify(url, content_type, types, generator).name in SHIPPED.classes
    assert PageTraits.of(url, content_type, types, generator).host == "example.com"
