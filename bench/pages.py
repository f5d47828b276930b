"""Pages of the size that pages have: real ones where the shared corpus is, else made ones."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

SHARED = Path(__file__).resolve().parent.parent.parent / "shared/corpora/pages"
_WORDS = (
    "the river in spring carries more water than anybody who lives beside it remembers and people walk along its "
    "banks to look at it while engineers measure how fast it rises so that towns below can be warned in time"
).split()


def pages(count: int = 60) -> list[bytes]:
    return _real(count) if SHARED.is_dir() else [_made(random.Random(number)) for number in range(count)]


def _real(count: int) -> list[bytes]:
    """Half of them articles, half of them pages of every kind, spread over the corpus."""
    found: list[Path] = []
    for kind in ("articles", "mixed"):
        files = sorted((SHARED / kind).glob("*.html.gz"))
        found += files[:: max(1, len(files) * 2 // count)][: count // 2]
    return [gzip.decompress(file.read_bytes()) for file in found]


def _made(rng: random.Random) -> bytes:
    """A page with what pages have around their text: scripts, styles, menus, teasers."""

    def text(words: int) -> str:
        return " ".join(rng.choices(_WORDS, k=words)).capitalize() + "."

    def links(number: int) -> str:
        return "".join(f'<li class="menu-item"><a href="/{rng.random()}">{text(3)}</a></li>' for _ in range(number))

    script = "<script>" + "var x=function(){return 'data'};" * rng.randrange(200, 3000) + "</script>"
    style = "<style>" + ".c{margin:0;padding:1px}" * rng.randrange(200, 2000) + "</style>"
    body = "".join(
        f"<h2>{text(5)}</h2>" + "".join(f"<p>{text(rng.randrange(30, 120))}</p>" for _ in range(rng.randrange(2, 6)))
        for _ in range(rng.randrange(3, 14))
    )
    teasers = "".join(f'<div class="teaser"><a href="/t">{text(8)}</a><p>{text(15)}</p></div>' for _ in range(30))
    return (
        f"<!doctype html><html lang=en><head><title>{text(6)}</title>{style}{script}</head><body>"
        f"<nav class=navbar><ul>{links(80)}</ul></nav><main><article><h1>{text(6)}</h1>{body}</article></main>"
        f"<aside class=sidebar>{teasers}</aside><footer><ul>{links(60)}</ul></footer>{script}</body></html>"
    ).encode()
