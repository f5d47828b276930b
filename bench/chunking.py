"""Chunking at 600 tokens on 5 MB of real Markdown: Spaniel, the bare tokenizer pass as the limit, and peers.

Each peer runs with Spaniel's own counter, and as it comes (it then measures characters, four for a token). Rounds are
interleaved; what is printed are medians, and the share of the limit's speed. `over` are chunks that have more than 600
tokens, `lost` is text that is in no chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import metadata
from itertools import cycle

from bench.harness import interleave, title, wanted
from spaniel.chunking import chunk
from spaniel.chunking.search import search
from spaniel.chunking.tokens import cl100k

LIMIT = 600
CHARACTERS = 4 * LIMIT
SIZE = 5_000_000
ROUNDS = 7
COUNTER = cl100k()

Peer = Callable[[str], Sequence[object]]


def real_markdown(size: int) -> str:
    """The Markdown descriptions of the installed packages, each once, then again until there is enough."""
    found = set()
    for distribution in metadata.distributions():
        head, _, body = (distribution.read_text("METADATA") or "").partition("\n\n")
        if "Description-Content-Type: text/markdown" in head:
            found.add(body.replace("<|", "< |"))  # a description of tokenizers would put all on the slower path
    pieces: list[str] = []
    length = 0
    for body in cycle(sorted(found)):
        pieces.append(body)
        length += len(body) + 2
        if length >= size:
            return "\n\n".join(pieces)[:size]
    return ""


def bare(markdown: str) -> Sequence[object]:
    return COUNTER.flat(markdown)


def spaniel(markdown: str) -> Sequence[object]:
    return chunk(markdown, LIMIT)


def chonkie(markdown: str) -> Sequence[object]:
    from chonkie import RecursiveChunker

    return _made("chonkie", lambda: RecursiveChunker(_chonkie_tokenizer(), LIMIT))(markdown)


def chonkie_as_it_comes(markdown: str) -> Sequence[object]:
    from chonkie import RecursiveChunker

    return _made("chonkie as it comes", lambda: RecursiveChunker(chunk_size=CHARACTERS))(markdown)


def langchain(markdown: str) -> Sequence[object]:
    from langchain_text_splitters import MarkdownTextSplitter as Splitter

    made = _made(
        "langchain", lambda: Splitter(chunk_size=LIMIT, chunk_overlap=0, length_function=COUNTER.count).split_text
    )
    return made(markdown)


def langchain_as_it_comes(markdown: str) -> Sequence[object]:
    from langchain_text_splitters import MarkdownTextSplitter as Splitter

    made = _made("langchain as it comes", lambda: Splitter(chunk_size=CHARACTERS, chunk_overlap=0).split_text)
    return made(markdown)


def semantic(markdown: str) -> Sequence[object]:
    from semantic_text_splitter import MarkdownSplitter

    return _made("semantic", lambda: MarkdownSplitter.from_callback(COUNTER.count, LIMIT).chunks)(markdown)


def semantic_as_it_comes(markdown: str) -> Sequence[object]:
    from semantic_text_splitter import MarkdownSplitter

    return _made("semantic as it comes", lambda: MarkdownSplitter(CHARACTERS).chunks)(markdown)


_built: dict[str, Peer] = {}


def _made(name: str, make: Callable[[], Peer]) -> Peer:
    if name not in _built:
        _built[name] = make()
    return _built[name]


def _chonkie_tokenizer() -> object:
    from chonkie.tokenizer import Tokenizer
    from splintr import Tokenizer as Splintr

    tokenizer = Splintr.from_pretrained("cl100k_base")

    class Same(Tokenizer):  # type: ignore[misc]
        def __repr__(self) -> str:
            return "cl100k_base"

        def encode(self, text: str) -> list[int]:
            return tokenizer.encode_ordinary(text)

        def decode(self, tokens: Sequence[int]) -> str:
            return tokenizer.decode_lossy(list(tokens))

        def tokenize(self, text: str) -> list[int]:
            return self.encode(text)

        def count_tokens(self, text: str) -> int:
            return COUNTER.count(text)

    return Same()


def texts(chunks: Sequence[object]) -> list[str]:
    return [piece if isinstance(piece, str) else str(getattr(piece, "text", "")) for piece in chunks]


def measure(runners: Sequence[Peer], markdown: str, rounds: int) -> dict[str, float]:
    return interleave({run.__name__: partial(run, markdown) for run in runners}, rounds)


def compare(runners: Sequence[Peer], markdown: str, rounds: int) -> dict[str, float]:
    taken = measure(runners, markdown, rounds)
    words = len("".join(markdown.split()))
    title(f"{len(markdown) / 1e6:.1f} MB of Markdown at {LIMIT} tokens, median of {rounds} interleaved rounds")
    print(f"  {'':24} {'MB/s':>7} {'of bare':>8} {'Spaniel is':>11} {'chunks':>7} {'over':>5} {'lost':>6}")
    for run in runners:
        name, seconds = run.__name__, taken[run.__name__]
        line = f"  {name:24} {len(markdown) / seconds / 1e6:7.1f} {taken['bare'] / seconds:8.2f}"
        line += f" {seconds / taken['spaniel']:10.2f}x"
        if run is not bare:
            pieces = texts(run(markdown))
            over = sum(COUNTER.count(piece) > LIMIT for piece in pieces)
            lost = words - len("".join("".join(pieces).split()))
            line += f" {len(pieces):7} {over:5} {max(lost, 0):6}"
        print(line)
    return taken


def run() -> None:
    taken = compare([bare, spaniel, chonkie, langchain], real_markdown(SIZE), ROUNDS)
    wanted("share of the bare pass", taken["bare"] / taken["spaniel"], least=0.5)
    best = min(taken["chonkie"], taken["langchain"])
    wanted("against the best peer with the same tokenizer", best / taken["spaniel"], least=1.3)
    slow = [bare, spaniel, semantic, chonkie_as_it_comes, langchain_as_it_comes, semantic_as_it_comes]
    compare(slow, real_markdown(SIZE // 5), 3)
    title("linear: CPU seconds for 1 MB of each")
    for megabytes in (1, 2, 4, 8, 16, 32, 64):
        real = real_markdown(megabytes * 1_000_000)
        word = "a" * (megabytes * 1_000_000)
        each = [measure([spaniel], text, 1)["spaniel"] / megabytes for text in (real, word)]
        print(f"  {megabytes:3} MB  Markdown {each[0]:.4f}  one word {each[1]:.4f}")
    title("finding words: CPU seconds for 1 MB of each")
    for megabytes in (1, 5, 20):
        chunks = chunk(real_markdown(megabytes * 1_000_000), LIMIT)
        asked = {"rare": "xyzzy plugh", "common": "the of and to in", "phrase": '"in the" install'}
        taken = interleave({name: partial(search, chunks, words) for name, words in asked.items()}, 3)
        shown = "  ".join(f"{name} {seconds / megabytes:.4f}" for name, seconds in taken.items())
        print(f"  {megabytes:3} MB  {shown}")
