"""Which images are written, and from where."""

from __future__ import annotations

import pytest

from spaniel.reading import extract
from spaniel.reading.html.links import largest_candidate

URL = "https://example.org/dir/page.html"


@pytest.mark.parametrize(
    ("candidates", "best"),
    [
        ("", ""),
        ("a.png", "a.png"),
        ("a.png, b.png 2x", "b.png"),
        ("a.png 1.5x, b.png 1x", "a.png"),
        ("w_1,h_2/a.png 320w, w_9,h_9/b.png 640w", "w_9,h_9/b.png"),
        ("data:image/gif;base64,R0 1w, a.png 2w", "a.png"),
        ("2x", ""),
        ("2x, 3x", ""),
        (", ,", ""),
    ],
)
def test_the_largest_of_a_set(candidates: str, best: str) -> None:
    assert largest_candidate(candidates) == best


@pytest.mark.req("FR-WF-13d", "NFR-WF-SEC-03")
def test_a_waiting_address_is_judged_like_any_other() -> None:
    bad = "".join(f"<img {name}='javascript:a/b.c' alt=bad>" for name in ("data-src", "data-original", "srcset"))
    found = extract(f"<p>text {bad} <img data-src='/a/b.png' alt=good></p>", url=URL).markdown
    assert found == "text ![good](https://example.org/a/b.png)\n"


@pytest.mark.req("NFR-WF-SEC-03")
def test_an_emoji_is_text_and_no_markup() -> None:
    signs = ("ö&lt;\u200bscript&gt;", "é&amp;lt;script&amp;gt;", "ü](javascript:", "\x1b[3", "😀", ":)", ":wave:")
    images = " ".join(f'<img class=emoji src=a.png alt="{sign}">' for sign in signs)
    found = extract(f"<p>a {images} b</p>", url=URL).markdown
    assert found.count("\\<script") == 2
    assert found.count("<script") == 2
    assert "\x1b" not in found
    assert "😀 :)" in found
    assert "wave" not in found


def test_many_images_take_as_long_as_they_are_many() -> None:
    one = "<img src=logo.png alt=x><img alt=y srcset='a.png 1x, b.png 2x'>"
    found = extract(f"<p>text</p><figure>{one * 20_000}</figure>", url=URL).markdown
    assert "logo.png" in found  # beyond those that are looked at, nothing is judged
    assert found.startswith("text")
