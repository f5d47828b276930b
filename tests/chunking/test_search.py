"""Searching the chunks of a page."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaniel.chunking import Chunk, chunk
from spaniel.chunking.search import MAX_CHARACTERS, MAX_TERMS, Match, fold, search, words_of
from tests.stopwatch import growth


def chunks_of(*texts: str, headings: tuple[str, ...] = ()) -> list[Chunk]:
    return [Chunk(headings[-1] if headings else "", text, max(1, len(text) // 4), headings, 0, 0, "") for text in texts]


def found(chunks: list[Chunk], words: str) -> list[int]:
    return [match.number for match in search(chunks, words, len(chunks))]


PAGE = chunks_of(
    "The otter swims in the river and eats fish.",
    "A river is long. The river runs to the sea, and the sea is salt.",
    "Refunds are paid within thirty days. A refund needs a receipt.",
    "The café in the Straße serves naïve guests; İstanbul is far.",
    "東京都は日本の首都です。",
    "京都は古い都です。",
    "ประเทศไทยมีแม่น้ำหลายสาย",
    "Москва — столица России.",
    "서울은 대한민국의 수도이다.",
    "हिन्दी भारत की भाषा है।",
    "السَّلَامُ عَلَيْكُمْ",
    "C++ and 🎉 and snake_case_names and f(x)",
)


@pytest.mark.req("D2-29")
@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("otter", 1), ("OTTER fish", 1), ("sea", 2), ("river sea", 2), ("receipt refund", 3), ("refund", 3),
        ("cafe", 4), ("CAFÉ", 4), ("strasse", 4), ("STRASSE", 4), ("istanbul", 4), ("cafe\u0301", 4),
        ("東京", 5), ("日本 首都", 5), ("日本首都", 5), ("古い都", 6), ("แม่น้ำ", 7), ("москва", 8), ("СТОЛИЦА", 8),
        ("서울", 9), ("\u1109\u1165\u110b\u116e\u11af", 9), ("수도", 9), ("हिन्दी", 10), ("السلام", 11),
        ("🎉", 12), ("snake_case", 12), ("names", 12), ("++", 12), ("ｏｔｔｅｒ", 1),
    ],
)  # fmt: skip
def test_search_ignores_case_and_accents_in_every_script(words: str, first: int) -> None:
    assert found(PAGE, words)[0] == first


@pytest.mark.req("D2-29")
@pytest.mark.parametrize("words", ["", " \n", "xyzzy", "...", '""', "ott", "tter", "大阪府", "🙁"])
def test_missing_words_are_not_found(words: str) -> None:
    assert search(PAGE, words) == []
    assert search([], words) == []


def test_empty_query_finds_nothing() -> None:
    assert search(PAGE, "river", 0) == search(PAGE, "river", -3) == search([], "river") == []
    assert len(search(PAGE, "river", 1)) == 1


@pytest.mark.req("D2-29")
def test_best_match_is_first() -> None:
    matches = search(PAGE, "the river")
    assert [match.number for match in matches][:2] == [2, 1]
    assert all(match.score > 0 for match in matches)
    assert matches[0] == Match(2, matches[0].score)
    assert all(before.score >= after.score for before, after in pairwise(matches))


def test_weights_of_rare_words_and_short_chunks() -> None:
    page = chunks_of("rare " + "filler " * 300, "common word", "common rare", "common word", "common")
    assert found(page, "common rare")[0] == 3
    assert found(page, "rare") == [3, 1]


def test_exact_word_outweighs_a_prefix_match() -> None:
    page = chunks_of("refunds and words", "refund and words", "refunding and words", "unrefunded")
    assert found(page, "refund") == [2, 1, 3]
    assert found(page, "ref") == []


@pytest.mark.req("D2-29")
@pytest.mark.parametrize("quotes", ['"{}"', "“{}”", "„{}“", "«{}»", "「{}」", "『{}』"])
def test_quoted_phrase_comes_first(quotes: str) -> None:
    page = chunks_of(
        "fox brown quick fox brown quick fox brown quick",
        "filler " * 300 + "the *quick* [brown](https://e.x) fox",
        "filler " * 300 + "the **Quick   brown**, slow",
        "quick brownish fox quick fox",
    )
    assert found(page, "quick brown")[0] == 1
    phrased = found(page, quotes.format("quick brown"))
    assert set(phrased[:2]) == {2, 3}
    assert found(page, quotes.format("brown, slow"))[0] == 3
    assert set(phrased) == {1, 2, 3, 4}
    assert found(page, quotes.format("slow brown")) == found(page, "slow brown")


def test_phrase_in_a_script_without_spaces() -> None:
    page = chunks_of("日本と首都。首都と日本。日本、首都", "大きな日本首都圏です" + "話" * 300)
    assert found(page, "日本首都")[0] == 2  # rarer than its pairs
    assert found(page, '"日本首都"')[0] == 2
    assert found(page, '"本首"')[0] == 2


@pytest.mark.req("D2-29")
def test_headings_are_searched() -> None:
    page = chunks_of("Nothing of it.", headings=("Guide", "Refunds")) + chunks_of("Other text.", headings=("Guide",))
    assert found(page, "refunds") == [1]
    assert found(page, '"refunds"') == [1]


words = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8) | st.sampled_from(
    ["river", "Straße", "東京都", "แม่น้ำ", "été", "Ǆ", "ﬁne", "ΣΊΣΥΦΟΣ", "ΐ", "각", "हिन्दी", "x1"]
)
CHANGES: list[Callable[[str], str]] = [str, str.upper, str.lower, partial(unicodedata.normalize, "NFD")]
pages = st.lists(st.lists(words, max_size=12).map(" ".join), min_size=1, max_size=8)


@pytest.mark.req("D2-29")
@settings(max_examples=150)
@given(pages, st.lists(words, min_size=1, max_size=5), st.data())
def test_chunk_with_all_words_matches(texts: list[str], query: list[str], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(texts)))
    page = chunks_of(*texts[:place], "before. " + ", ".join(query) + ": after", *texts[place:])
    change = data.draw(st.sampled_from(CHANGES))
    matches = search(page, change(" ".join(query)), len(page))
    if words_of(fold(" ".join(query))):
        assert place + 1 in {match.number for match in matches}


anything = st.text(st.characters() | st.sampled_from('"“”«» \ud800\udfff\u0301\u1100\u3099*'), max_size=60)


@pytest.mark.req("D2-29")
@settings(max_examples=150)
@given(st.lists(anything, max_size=6), anything, st.integers(-1, 9))
def test_search_is_deterministic_and_never_raises(texts: list[str], query: str, limit: int) -> None:
    page = chunks_of(*texts)
    matches = search(page, query, limit)
    assert matches == search(page, query, limit)
    assert matches == search(page, query, 99)[: max(limit, 0)]
    assert matches == sorted(matches, key=lambda match: (-match.score, match.number))
    assert all(1 <= match.number <= len(page) and match.score > 0 for match in matches)


@given(st.lists(anything.map(lambda text: text.replace("\u1100", "")), min_size=2, max_size=4))
def test_folding_is_additive(texts: list[str]) -> None:
    assert fold("-".join(texts)) == "-".join(map(fold, texts))


@pytest.mark.req("D2-29")
def test_long_query_is_cut() -> None:
    assert found(PAGE, "otter " * 20_000)[0] == 1
    assert found(PAGE, "x" * 100_000) == []
    assert found(PAGE, "zzz " * MAX_CHARACTERS + "otter") == []
    many = " ".join(f"word{n}" for n in range(MAX_TERMS))
    assert found(chunks_of("otter"), f"{many} otter") == []
    assert found(chunks_of("otter"), f"otter {many}") == [1]


SENTENCE = "The lighthouse keeper's daughter counted seventeen herring gulls before breakfast."


@pytest.mark.req("D2-29")
def test_sentence_in_a_long_document() -> None:
    paragraphs = [
        f"On page {n} the keeper of house {n % 7} counted his sheep before he slept." * 6 for n in range(3000)
    ]
    paragraphs[1777] += " " + SENTENCE
    page = chunk("\n\n".join(paragraphs))
    assert len(page) > 300
    for asked in ("herring gulls", f'"{SENTENCE}"', SENTENCE.lower(), "gull breakfast daughter"):
        assert SENTENCE in page[search(page, asked, 3)[0].number - 1].text


HOSTILE = {
    "plain": "the cat sat on the mat ",
    "piled accents": "e" + "\u0301\u0316" * 40,
    "marks in the wrong order": "\u0e48\u0e38",
    "one word": "a",
    "long letters": "\ufdfa ",
    "every character": "".join(map(chr, range(0x4E00, 0x9000))),
    "quotation marks": '"“«',
}


@pytest.mark.req("D2-29", "NFR-WF-PERF-02")
@pytest.mark.parametrize("kind", HOSTILE)
def test_search_is_not_quadratic(kind: str) -> None:
    small, large = (
        chunk((HOSTILE[kind] * (1 + size // len(HOSTILE[kind])))[:size], 2048) for size in (16_000, 16 * 16_000)
    )
    query = f'{HOSTILE[kind][:500]} "{HOSTILE[kind][:50]}" the e a'
    assert growth(lambda: search(small, query, 5), lambda: search(large, query, 5), floor=1e-4, below=64).times < 64


def test_character_cache_is_bounded() -> None:
    from spaniel.chunking.search import _LARGEST, _table

    fold("".join(map(chr, range(0x20000, 0x2F000))))
    assert len(_table) <= _LARGEST
    assert re.fullmatch("[a-z]+", fold("ÀÉÎÕÜ"))
