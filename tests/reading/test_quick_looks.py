"""Short cuts of reading say what the long way says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.reading.content import is_compiled
from spaniel.reading.html import clean
from spaniel.reading.html.links import PLAIN_TARGET, LinkResolver
from spaniel.reading.metadata.dates import (
    MAY_HAVE_ALL,
    MAY_HAVE_ITEMPROP_DATE,
    MAY_NAME_AUTHOR,
    MAY_NAME_DATE,
    AttributeScan,
)
from spaniel.reading.metadata.head import read_head
from spaniel.reading.text.charset import parse_page

BASES = (
    "https://example.org/2024/a-page?x=1#y",
    "http://EXAMPLE.org:80/a/../b/",
    "https://example.org",
    "https://user:word@example.org:8443/a;b/c?d#e",
    "http://[::1]/a",
    "https://[no address/",
)
TARGETS = st.text(alphabet="abZ09_~=&?+,;:@!$*#-./%\\ '", max_size=12).flatmap(
    lambda rest: st.sampled_from("/#").map(lambda sign: sign + rest)
)


@pytest.mark.req("FR-WF-13a")
@given(st.sampled_from(BASES), st.lists(TARGETS, max_size=8))
def test_a_plain_address_is_made_absolute_like_any_other(base: str, targets: list[str]) -> None:
    resolve, one_by_one = LinkResolver(base, 1 << 20), LinkResolver(base, 1 << 20)
    for target in targets:
        assert resolve(target) == one_by_one._joined(target)


@pytest.mark.req("FR-WF-13a")
def test_root_relative_fast_path_takes_only_unambiguous_urls() -> None:
    plain = ("/", "/a/b.html", "/a?b=c&d=/e", "#part-2", "/a/b/#c", "/a.b/c..d")
    assert [target for target in plain if PLAIN_TARGET.fullmatch(target)] == list(plain)
    others = ("//host/a", "/../a", "/a/../b", "/a//b", "/%2e/a", "a/b", "", "/a b", "/a\\b", "/ü", "/a'b")
    assert not [target for target in others if PLAIN_TARGET.fullmatch(target)]


DECLARATIONS = (
    *("display:none", "DISPLAY : None !important", "visibility:hidden", "visibility:collapse", "transform:scale(0)"),
    *("color:transparent", "-webkit-text-fill-color: transparent", "opacity:0", "opacity: 0.0", "font-size:0px"),
    *("left:-9999px", "top: -1e4px", "text-indent:-999em", "margin-left:!important-5000px", "clip:rect(0 0 0 0)"),
)


@pytest.mark.req("FR-WF-13")
@pytest.mark.parametrize("declaration", DECLARATIONS)
def test_every_way_to_hide_is_found_among_other_declarations(declaration: str) -> None:
    assert clean.hides(f"color:red;{declaration};margin:0")


@pytest.mark.parametrize("style", ["", "color:red", "margin-left:10px;width:50%", "left:-10px", "opacity:.5", "top:0"])
def test_a_style_that_shows_its_element_hides_nothing(style: str) -> None:
    assert not clean.hides(style)


NAMES = ("class", "CLASS", "itemprop", "rel", "data-class", "id")
VALUES = (
    "postdate", "Date", "byline", "By-Author author", "x published", "entry-meta", "datePublished", "author", "posted",
    "d&#97;te", "auth&#111;r", "plain words", "da te", "\u00e9date", "class=author", "",
)  # fmt: skip
WRITTEN = ('{}="{}"', "{}='{}'", "{} = '{}'", "{}={}", '{}\n=\n"{}"')
SHOWN = ("May 3, 2024", "by Ada Lovelace", "Grace Hopper", '<a href="/x">Alan</a>', "<time>2023-05-04</time>")
ELEMENTS = st.tuples(*map(st.sampled_from, (("p", "span", "body", "svg"), WRITTEN, NAMES, VALUES, SHOWN))).map(
    lambda e: f"<{e[0]} {e[1].format(e[2], e[3])}>{e[4]}</{e[0]}>"
)
AROUND = ("", "<!doctype html>", "<script>x = 'class=\"'</script>", "<p title='", "<p class='")


@given(st.sampled_from(AROUND), st.lists(ELEMENTS, max_size=4), st.sampled_from(("utf-8", "shift_jis", "iso-2022-jp")))
def test_a_look_at_the_source_hides_no_author_and_no_date(before: str, elements: list[str], charset: str) -> None:
    source = (before + "".join(elements)).encode(charset, "xmlcharrefreplace")
    tree, _ = parse_page(source, charset)
    assert read_head(tree, None, source).metadata == read_head(tree, None).metadata


def test_a_letter_between_escapes_of_its_charset_is_seen() -> None:
    source = b"<p class='da\x1b(Bte'>May 3, 2024"
    tree, _ = parse_page(source, "iso-2022-jp")
    assert read_head(tree, None, source).metadata.published == "2024-05-03"


@pytest.mark.parametrize(
    ("written", "sort"),
    [
        ("CLASS='x'class = 'postdate'", MAY_NAME_DATE), ("cLaSs=entry-meta", MAY_NAME_DATE), ("class='a\nByline'", MAY_NAME_AUTHOR),
        ("data-x=1 ItemProp\n=\nauthor", MAY_NAME_AUTHOR), ("rel='me author'", MAY_NAME_AUTHOR), ("itemprop='datePublished'", MAY_HAVE_ITEMPROP_DATE),
        (f"class='{'x ' * 5000}'", MAY_HAVE_ALL), ("class='x", MAY_HAVE_ALL), ("class=d&#97;te", MAY_HAVE_ALL),
    ],
)  # fmt: skip
def test_an_attribute_is_seen_however_it_is_written(written: str, sort: int) -> None:
    assert AttributeScan(f"<p {written}>".encode()).may_have(sort)


def test_a_tree_is_not_searched_for_what_its_source_does_not_name() -> None:
    source = b"<p class=lead rel=next itemprop=name>May 3, 2024, by Ada<script>date = 'author byline meta'</script>"
    assert AttributeScan(source).may_have(MAY_HAVE_ALL) == (not is_compiled())
    assert AttributeScan(None).may_have(MAY_HAVE_ALL)
