"""Reading: Spaniel beside its peers, interleaved page by page: CPU, ratios, and quality where there are corpora."""

from __future__ import annotations

import gzip
import importlib.util
import json
import statistics
import time
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
GOLDEN = ROOT / "tests/reading/golden"
PAGES_PER_SET = 100

Read = Callable[[bytes, str], str]


def _spaniel() -> Read:
    import spaniel

    read = spaniel.extract  # loads its parts, as the imports of the others do
    return lambda html, url: read(html, url=url).markdown


def _trafilatura() -> Read:
    import trafilatura

    return lambda html, url: trafilatura.extract(html, url=url, include_comments=True) or ""


def _readability() -> Read:
    import markdownify
    import readability

    return lambda html, url: str(
        markdownify.markdownify(readability.Document(html.decode("utf-8", "replace")).summary() or "")
    )


def _resiliparse() -> Read:
    from resiliparse.extract.html2text import extract_plain_text

    return lambda html, url: str(extract_plain_text(html.decode("utf-8", "replace"), main_content=True))


def _html_to_markdown() -> Read:
    import html_to_markdown

    def read(html: bytes, url: str) -> str:
        out: Any = html_to_markdown.convert(html.decode("utf-8", "replace"))
        return out if isinstance(out, str) else str(getattr(out, "content", out))

    return read


def _html2text() -> Read:
    import html2text

    return lambda html, url: str(html2text.html2text(html.decode("utf-8", "replace"), baseurl=url))


def _markitdown() -> Read:
    import io

    import markitdown

    made = markitdown.MarkItDown()
    return lambda html, url: str(made.convert_stream(io.BytesIO(html), file_extension=".html").text_content)


PEERS: dict[str, Callable[[], Read]] = {
    "spaniel": _spaniel,
    "trafilatura": _trafilatura,
    "readability+markdownify": _readability,
    "resiliparse": _resiliparse,
    "html-to-markdown": _html_to_markdown,
    "html2text": _html2text,
    "markitdown": _markitdown,
}


def _installed() -> dict[str, Read]:
    found = {}
    for name, make in PEERS.items():
        try:
            found[name] = make()
        except ImportError:
            print(f"  ({name} is not installed)")
    return found


def _pages(name: str) -> dict[str, tuple[bytes, dict[str, Any]]]:
    folder = SHARED / "corpora/pages"
    if not folder.is_dir():
        return {
            page.stem: (page.read_bytes(), {"url": "https://example.org/"}) for page in sorted(GOLDEN.glob("*.html"))
        }
    truth = json.loads((folder / f"{name}.json").read_text("utf-8"))
    step = max(1, len(truth) // PAGES_PER_SET)
    return {
        key: (gzip.decompress((folder / name / f"{key}.html.gz").read_bytes()), truth[key])
        for key in sorted(truth)[::step]
    }


def _scorer() -> Any:
    tool = SHARED / "tools/score-pages"
    if not tool.is_file():
        return None
    loader = SourceFileLoader("score_pages", str(tool))
    spec = importlib.util.spec_from_loader("score_pages", loader)
    if spec is None:
        return None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def _quality(score: Any, name: str, text: str, truth: str) -> float:
    bag = score.shingles if name == "articles" else lambda t: score.Counter(w.lower() for w in score.WORD.findall(t))
    return float(score.f1(*score.overlap(bag(score.plain(text)), bag(score.level(truth)))))


def run() -> None:
    tools, score = _installed(), _scorer()
    for name in ("articles", "mixed"):
        pages = _pages(name)
        spent = dict.fromkeys(tools, 0.0)
        quality: dict[str, list[float]] = {tool: [] for tool in tools}
        for html, truth in pages.values():
            for tool, read in tools.items():
                before = time.process_time()
                try:
                    text = read(html, truth["url"])
                except Exception as error:  # noqa: BLE001 - a peer's crash is a result: it scores nothing
                    text = ""
                    print(f"  {tool} raised {type(error).__name__}")
                spent[tool] += time.process_time() - before
                if score is not None and "text" in truth:
                    quality[tool].append(_quality(score, name, text, truth["text"]))
        print(f"reading, {name}: {len(pages)} pages, F1 in-sample for spaniel (cross-validated: docs/adr/0011)")
        for tool, seconds in sorted(spent.items(), key=lambda item: item[1]):
            mark = f"mean F1 {statistics.mean(quality[tool]):.3f}" if quality[tool] else ""
            print(
                f"  {tool:24} {1e3 * seconds / len(pages):8.2f} CPU ms/page  x{seconds / spent['spaniel']:6.2f}  {mark}"
            )
        if score is None:
            return


if __name__ == "__main__":
    run()
