"""Soft 404s: the URL of a sibling that cannot exist, and whether two texts are the same page."""

from __future__ import annotations

import pytest

from spaniel.health.page_patterns import PageText, looks_missing, resemblance, sibling_of
from spaniel.url.parsing import parse
from spaniel.url.value import Url
from tests.health.plays import WORDS

PAGE = parse("http://a.test/shop/blue-shoes.html?size=9")
SIBLING = parse("http://a.test/shop/zzz.html")
SORRY = (
    "We could not find what you are looking for. It may have moved, or it may never have been here. Please use the "
    "search field above, or go back to the front page and start again from there."
)


def missing(text: str, of: Url, other: str, sibling: Url) -> bool | None:
    return looks_missing(PageText("", text), of, PageText("", other), sibling)


@pytest.mark.parametrize(
    ("url", "sibling"),
    [
        ("http://a.test/docs/page", "http://a.test/docs/zzz"),
        ("http://a.test/docs/page.html?x=1", "http://a.test/docs/zzz.html"),
        ("http://a.test/docs/page.tar.gz", "http://a.test/docs/zzz.gz"),
        ("http://a.test/docs/v1.2-final-release", "http://a.test/docs/zzz"),
        ("http://a.test/docs/", "http://a.test/zzz/"),
        ("http://a.test/.hidden", "http://a.test/zzz"),
        ("http://a.test/page#part", "http://a.test/zzz"),
        ("http://a.test/", None),
        ("http://a.test/?q=1", None),
    ],
)
def test_sibling_has_the_same_directory_and_extension(url: str, sibling: str | None) -> None:
    found = sibling_of(parse(url), "zzz")
    assert (found and found.href) == sibling


def test_page_equal_to_its_sibling_is_missing() -> None:
    assert missing(SORRY, PAGE, SORRY, SIBLING)
    assert missing(SORRY.upper(), PAGE, SORRY, SIBLING)


def test_words_of_the_url_are_ignored() -> None:
    one = f"Blue shoes size 9: {SORRY} Blue shoes are sold out."
    other = f"zzz: {SORRY} zzz are sold out."
    assert missing(one, PAGE, other, SIBLING)
    assert not missing(one.replace("Blue", "Red"), PAGE, other, SIBLING)


def test_page_that_differs_from_its_sibling_is_not_missing() -> None:
    assert not missing(f"{SORRY} {WORDS}", PAGE, SORRY, SIBLING)
    assert not missing(WORDS * 3, PAGE, SORRY, SIBLING)


def test_short_pages_must_be_equal_including_their_titles() -> None:
    words = [f"word{number}" for number in range(20)]
    assert missing(" ".join(words), PAGE, " ".join(words), SIBLING)
    assert missing(" ".join(words[:19]), PAGE, " ".join(words[:19]), SIBLING)
    assert not missing(" ".join(words[:19]), PAGE, " ".join(words[1:19]), SIBLING)
    assert missing("", PAGE, "", SIBLING) is None
    one, other = PageText("Contact", "Sorry"), PageText("Not found", "Sorry")
    assert looks_missing(other, PAGE, other, SIBLING)
    assert looks_missing(one, PAGE, other, SIBLING) is False


def test_short_page_with_scripts_is_missing_only_if_it_says_so() -> None:
    shell, says_so = PageText("App", "", has_scripts=True), PageText("App", "Page not found", has_scripts=True)
    assert looks_missing(shell, PAGE, PageText("App"), SIBLING) is None
    assert looks_missing(says_so, PAGE, PageText("App", "Page not found"), SIBLING)


@pytest.mark.parametrize(
    "text",
    [
        "申し訳ございませんが、お探しのページは見つかりませんでした。削除されたか、名前が変更された可能性があります。",
        "抱歉，您要找的页面不存在。它可能已被删除、更名，或者暂时无法访问。请返回首页重新开始。",
        "ขออภัย ไม่พบหน้าที่คุณกำลังมองหา อาจถูกลบหรือเปลี่ยนชื่อแล้ว",
    ],
)
def test_scripts_without_blanks_are_compared_by_characters(text: str) -> None:
    assert missing(text, PAGE, text, SIBLING)
    assert not missing(text, PAGE, text[::-1], SIBLING)


def test_resemblance_is_the_share_of_common_shingles() -> None:
    assert resemblance(list("abcdef"), list("abcdef")) == 1
    assert resemblance(list("abcdef"), list("abcdeg")) == 1 / 3
    assert resemblance(list("abcd"), list("abcd")) == 0  # too short for a shingle
    assert resemblance(list("abcdef"), list("ghijkl")) == 0
    long = [str(number) for number in range(1004)]
    assert resemblance(long, long[:954]) == 0.95
