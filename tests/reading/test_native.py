"""The compiled judge and the one in Python are one judge: same blocks, same numbers, same odds, on any page."""

from __future__ import annotations

import ast
import gzip
import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.reading.html import parse, walls
from spaniel.reading.html.clean import clean
from spaniel.reading.judge import model as python
from spaniel.reading.metadata.head import head_facts, read_head
from spaniel.reading.text import characters
from spaniel.reading.text.charset import parse_page

native = pytest.importorskip("spaniel.reading.judge.native", reason="not compiled here")
native_characters = pytest.importorskip("spaniel.reading.text.native_characters", reason="not compiled here")

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = Path(__file__).parent / "golden"
PAGES = ROOT.parent / "shared/corpora/pages"
URL = "https://example.org/2024/a-page-of-some-kind"
LISTS = ("parent", "tag", "mask", "weight", "kin", "first", "last", "twins", "elements", "cut")


def agree(html: bytes | str, url: str = URL) -> int:
    """Both judges on one page; answers how many blocks were judged."""
    tree, _ = parse_page(html, None)
    body = tree.select_one("body")
    assert body is not None
    head = read_head(tree, url)
    clean(tree, body)
    facts = head_facts(head, body, url)
    ours, theirs = python.judge(body, facts), native.judge(body, facts)
    for name in LISTS:
        assert getattr(ours.out, name) == getattr(theirs.out, name), name
    for mine, other in zip(ours.out.blocks, theirs.out.blocks, strict=True):
        for name in mine.__slots__:
            assert getattr(mine, name) == getattr(other, name), (name, mine.text)
    assert theirs.words == ours.words
    assert theirs.kinds == pytest.approx(ours.kinds, abs=1e-9)
    assert theirs.odds == pytest.approx(ours.odds, abs=1e-9)
    return len(theirs.odds)


TAGS = "div p ul li table tr td h1 h2 h3 article main section blockquote span a b br pre dl dt dd figure label custom-tag".split()
NAMES = st.one_of(
    st.sampled_from(["topNav", "HTMLBody", "article-content", "sidebar2", "comments", "XMLHttp", "a1B2", "ad", "post_Meta x y", "ſidebar", "٣nav"]),
    st.text(max_size=15),
)  # fmt: skip
WORDS = st.one_of(
    st.sampled_from(
        ["The council met on Monday, and spoke of the bridge.", "Read more", "Share", "$12.99", "Straße:", "ǅ Ǆ ǆ İstanbul",
         "ΣΑΣ", "a\u00a0b\u2003c", "…", "\u200b", "ﬁn “so it is”", "𝐀b 漢字 คำ", "  two  blanks  ", "line\nline\ttab"]
    ),
    st.text(max_size=30),
)  # fmt: skip


@st.composite
def pages(draw: st.DrawFn) -> str:
    parts = [f"<title>{draw(WORDS)}</title><body>"]
    for _ in range(draw(st.integers(1, 30))):
        tag, names, ident = draw(st.sampled_from(TAGS)), draw(NAMES), draw(NAMES)
        quoted = [text.replace("&", "").replace('"', "") for text in (names, ident)]
        parts.append(f'<{tag} class="{quoted[0]}" id="{quoted[1]}">{draw(WORDS)}' * draw(st.sampled_from([1, 1, 1, 5])))
        parts.append(draw(st.sampled_from(["", "", f"</{tag}>", " ", "</div>"])))
    filler = "<p>A paragraph of plain words, long enough for a page to be judged by the model.</p>"
    return "".join(parts) + filler * draw(st.sampled_from([0, 12]))


@given(pages())
def test_both_judge_any_page_alike(html: str) -> None:
    agree(html)


SOURCE = st.lists(
    st.sampled_from(
        ["<b", "<B", "<i", "<strong", "<code class=x>", "<em>", "<p>", "<bold>", "</b>", "</i >", "</I\n>", "</strong>", "</em>", "</", ">", "<", "/", "=", "<a>", "<a href=x>", "</a>", "<br>", "<img src='x'>", "<span>x</span>", "<sup", "</sup>", "<small>", "</small>",
         " a=b", ' a="x"', " a='", "'", '"', "x", " ", "\n", "\f", "é"]
    )
)  # fmt: skip


@given(SOURCE)
def test_both_count_the_same_tags_and_formatting_that_is_left_open(parts: list[str]) -> None:
    body = "".join(parts).encode()
    assert native.count_tags(body) == parse.python_count_tags(body)


@given(st.text("abé -", max_size=40), st.lists(st.text("abé -", min_size=1, max_size=4), unique=True, max_size=6))
def test_both_find_the_same_stems(text: str, stems: list[str]) -> None:
    page, words = text.encode(), tuple(stem.encode() for stem in stems)
    assert sorted(native.stem_places(page, words)) == walls.python_stem_places(page, words)


NOTHING_TO_SEE = (
    "\x00\x1b\t\n\x7f\x9b\u00a0\u00ad\u200b\u200d\u2028\ue000\ufe0f\ufffe\U0001bca0\U0001fffe\U000f0000\U0010ffff"
)


@given(
    st.lists(
        st.one_of(
            st.sampled_from(NOTHING_TO_SEE),
            st.text(max_size=12),
            st.sampled_from(["plain words ", "é", "“so”", "漢字", "𝐀"]),
        )
    )
)
def test_both_see_the_same_characters_that_are_no_text(parts: list[str]) -> None:
    assert native_characters.characters_in("".join(parts)) == characters.characters_in("".join(parts))


@pytest.mark.parametrize("name", sorted(page.stem for page in GOLDEN.glob("*.html")))
def test_both_judge_the_golden_pages_alike(name: str) -> None:
    agree((GOLDEN / f"{name}.html").read_bytes())


@pytest.mark.skipif(not PAGES.is_dir(), reason="the shared corpus is not here")
def test_both_judge_real_pages_alike() -> None:
    judged = 0
    for name in ("articles", "mixed"):
        truth = json.loads((PAGES / f"{name}.json").read_text("utf-8"))
        for key in sorted(truth)[::12]:
            page = gzip.decompress((PAGES / name / f"{key}.html.gz").read_bytes())
            judged += agree(page, truth[key]["url"])
    assert judged > 5_000


def _hook() -> ModuleType:
    pytest.importorskip("hatchling", reason="hatchling is not here")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("python_form", "c_form"),
    [
        ("(0.5 if v1 <= 3 else -0.25)", "(v[1] <= 3.0 ? 0.5 : -0.25)"),
        ("(0.5 if not v0 & 4294967296 else 1)", "(!((long long)v[0] & 4294967296LL) ? 0.5 : 1.0)"),
    ],
)
def test_a_tree_is_turned_into_c(python_form: str, c_form: str) -> None:
    assert _hook().in_c(ast.parse(python_form, mode="eval").body, {"v0": 0, "v1": 1}) == c_form


def test_a_tree_that_has_no_c_form_stops_the_build() -> None:
    with pytest.raises(ValueError, match="no C form"):
        _hook().in_c(ast.parse("v0 ** 2", mode="eval").body, {"v0": 0})
