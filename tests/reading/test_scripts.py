"""Scripts without blanks between words: their words are counted as those of other scripts are."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.reading import extract
from spaniel.reading.judge import columns
from spaniel.reading.text.words import count_spaced_words, count_words, split_words

ROOT = Path(__file__).resolve().parents[2]
LETTERS = st.text(alphabet="a b\tZé漢字かなカナ々ｱ한ไทยລາວខ្មែမြန်བོད𠀀。、?", max_size=80)


@pytest.mark.req("FG-16")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Home", 1), ("two words", 2), ("首页", 1), ("关于我们", 2), ("iPhone 手机", 2), ("今天天气很好，我们去公园散步。", 7),
        ("東京タワー", 3), ("한국어 문장", 2), ("เข้าสู่ระบบ", 3), ("ភាសាខ្មែរ", 2), ("naïve café", 2),
    ],
)  # fmt: skip
def test_a_text_has_about_as_many_words_as_a_reader_would_say(text: str, words: int) -> None:
    assert count_spaced_words(text) == words
    assert count_words(text) == words


@given(LETTERS)
def test_both_judges_count_alike(text: str) -> None:
    native = pytest.importorskip("spaniel.reading.judge.native", reason="not compiled here")
    assert native.count_words(text) == count_words(text)


@given(LETTERS)
def test_a_text_is_cut_into_all_its_signs(text: str) -> None:
    spaced = " ".join(text.split())
    assert "".join(split_words(spaced)) == spaced.replace(" ", "")


ARTICLES = {
    "zh": "研究人员在过去两年里收集了超过四万份样本，结果与早先的推测并不一致。",
    "ja": "研究チームは二年間にわたって海水の温度を測り、これまでの予想より変化が速いことを示した。",
    "th": "นักวิจัยเก็บตัวอย่างน้ำมานานสองปี และพบว่าอุณหภูมิเปลี่ยนเร็วกว่าที่เคยคาดไว้",
    "km": "អ្នកស្រាវជ្រាវបានប្រមូលសំណាកទឹកអស់រយៈពេលពីរឆ្នាំ ហើយរកឃើញថាសីតុណ្ហភាពប្រែប្រួល។",
}


@pytest.mark.req("FG-16", "FR-WF-13")
@pytest.mark.usefixtures("either_judge")
@pytest.mark.parametrize("language", ARTICLES)
def test_a_news_page_without_blanks_is_an_article(language: str) -> None:
    text = ARTICLES[language]
    body = "".join(f"<p>{number}{text}{text}</p>" for number in range(12))
    links = "".join(f"<li><a href=/{number}>{text[:8]}</a>" for number in range(30))
    page = f"<title>{text[:12]}</title><div class=menu><ul>{links}</ul></div><h1>{text[:12]}</h1><div class=text>{body}</div><div class=hot><ul>{links}</ul></div>"
    document = extract(page, url="https://news.example/2024/0305/123456.html")
    assert document.kind == "article"
    assert document.markdown.count(text) == 24
    assert "news.example/7" not in document.markdown


def _hook() -> object:
    pytest.importorskip("hatchling", reason="hatchling is not here")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_compiled_judge_has_its_columns_from_the_same_table() -> None:
    source = (ROOT / "src/spaniel/reading/judge/columns.py").read_text("utf-8")
    header = _hook().columns_in_c(source)  # type: ignore[attr-defined]
    first, second, again = (line.strip("enum {};").split(", ") for line in header.splitlines())
    assert len(first) == len(columns.NAMES) + 1
    assert len(second) == len(columns.PAGE)
    assert len(again) == len(columns.AGAIN) + 1
    assert again.index("AGAIN_UP_UP") == columns.AGAIN.index("up.up")
    assert first.index("COLUMN_S_LINKED") == columns.NAMES.index("s.linked")
    assert first.index("COLUMN_LIKE_WORDS") == columns.NAMES.index("like.words")
    assert second.index("PAGE_OF_OPEN_GRAPH") == columns.PAGE.index("open graph")
    assert len(set(first)) == len(first)
    used = (ROOT / "src/spaniel/reading/judge/native.pyx").read_text("utf-8")
    assert 'LIKE_WORDS "COLUMN_LIKE_WORDS"' in used
