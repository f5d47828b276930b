"""Counting tokens: exact, offline, and pluggable."""

from __future__ import annotations

import subprocess
import sys

import pytest

from spaniel.chunking.tokens import cl100k, counting

# Made with tiktoken 0.14 and its own pattern; 10,003 other texts, random ones and slices of real pages, agreed with
# tiktoken and with rs-bpe, which ships a vocabulary of its own.
KNOWN = {
    "": 0,
    "a": 1,
    "Hello, world!": 4,
    "The quick brown fox jumps over the lazy dog.": 10,
    "antidisestablishmentarianism": 6,
    "https://example.com/a?b=c#d": 10,
    "été, naïve, Straße": 7,
    "今日は良い天気ですね。": 12,
    "안녕하세요 세계": 9,
    "مرحبا بالعالم": 10,
    "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466": 18,
    "🇫🇷🇩🇪": 12,
    "```python\nprint('hi')\n```\n": 9,
    "| a | b |\n|---|---|\n| 1 | 2 |\n": 17,
    "1234567890": 4,
    "I'll we've DON'T": 6,
    "\n\n\n": 1,
    " \t \n  x": 4,
    "x" * 100: 13,
    " " * 100 + "x": 3,
    "\xa0\u3000\u2028": 4,
    "\r\n\r\n": 1,
    "## Title ##\n\n- one\n- two\n": 10,
    "e\u0301\u0301": 3,
}
SPECIAL = {"<|endoftext|>": 7, "<|im_start|>user<|im_end|>": 13}


@pytest.mark.req("FR-WF-14")
@pytest.mark.parametrize(("text", "tokens"), [*KNOWN.items(), *SPECIAL.items()])
def test_counts_equal_tiktoken(text: str, tokens: int) -> None:
    assert cl100k().count(text) == tokens


@pytest.mark.req("D2-19")
@pytest.mark.parametrize("text", SPECIAL)
def test_special_token_is_ordinary_text(text: str) -> None:
    around = f"before {text} after"
    spelled = cl100k().count("before ") + cl100k().count(" after")
    assert cl100k().count(around) > spelled + 3
    assert counting(around, cl100k())(around) == cl100k().count(around)


def test_special_tokens_begin_with_the_searched_prefix() -> None:
    from splintr import Tokenizer

    assert all(name.startswith("<|") for name in Tokenizer.from_pretrained("cl100k_base").special_tokens())


def test_both_ways_of_counting_agree() -> None:
    for text, tokens in KNOWN.items():
        assert counting(text, cl100k())(text) == tokens


def test_tokenizer_is_loaded_on_first_count() -> None:
    check = "import sys, spaniel.chunking; sys.exit('splintr' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
