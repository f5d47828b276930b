"""Labelled pages for `train_reading.py`: cut into blocks, each with how much of it the truth has."""

from __future__ import annotations

import gzip
import json
import random
import re
import shutil
import subprocess
import sys
from codecs import BOM_UTF8
from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from turbohtml import parse

from reading_own import own_pages
from spaniel.reading.html.clean import clean
from spaniel.reading.html.links import fill_from_noscript
from spaniel.reading.html.math import mark_formulas
from spaniel.reading.html.parse import parse_html
from spaniel.reading.judge.blocks import segment
from spaniel.reading.metadata.head import head_facts, read_head
from spaniel.reading.text import words

if TYPE_CHECKING:
    from pathlib import Path

FOLDS = 5
WORD = re.compile(r"\w+")
TOKEN = re.compile(
    rf"{words.WIDE.pattern[:-1]}|{words.CLOSE.pattern[:-1]}|[^\W{words.WIDE.pattern[1:-2]}{words.CLOSE.pattern[1:-2]}]+"
)
# package -> content, what inside it is not content
DOCS = {
    "rust-doc": ("main", ".sub-container,.out-of-band,#copy-path,.nav-wrapper,#menu-bar,.srclink,a.src"),
    "git-doc": ("body", "#footer"),
    "libgtk-3-doc": ("body", "table.navigation,.footer"),
    "sqlite3-doc": ("body", ".nosearch"),
    "apache2-doc": ("#page-content", "#quickview,.toplang,.top"),
    "libboost1.74-doc": (".section,.refentry,.chapter", ".spirit-nav,.copyright-footer"),
    "openjdk-17-doc": ("main", ".toc nav"),
    "octave-doc": ("body", "div.header"),
    "doxygen-doc": (".contents", "x-none"),
    "python-django-doc": ("#docs-content,.yui-b", ".nav,a.headerlink"),
    "python-scipy-doc": ("main", ".prev-next-area,a.headerlink"),
    "sphinx-doc": ("div[role=main]", "a.headerlink"),
    "python3.11-doc": ("div[role=main]", "a.headerlink"),
    "postgresql-doc-15": ("body", ".navheader,.navfooter"),
    "cmake-doc": ("div[role=main]", "a.headerlink"),
    "nodejs-doc": ("#apicontent", "a.mark"),
    "debian-policy": ("div[role=main]", "a.headerlink"),
}
FOREIGN = {  # likewise, in scripts without blanks
    "aptitude-doc-ja": ("body", ".navheader,.navfooter"),
    "debian-faq-ja": ("body", ".navheader,.navfooter"),
    "debian-faq-zh-cn": ("body", ".navheader,.navfooter"),
    "debian-policy-ja": ("div[role=main],div.body", "a.headerlink"),
    "debian-reference-zh-cn": ("body", ".navheader,.navfooter"),
    "developers-reference-ja": ("body", ".navheader,.navfooter"),
    "gimp-help-ja": ("body", ".navheader,.navfooter"),
    "gimp-help-zh-cn": ("body", ".navheader,.navfooter"),
    "kicad-doc-zh": ("#header,#content", "#toc,#footer"),
    "lilypond-doc-html-ja": ("#main,body", "#tocframe,.nav_table,.footer,#footer"),
    "lilypond-doc-html-zh": ("#main,body", "#tocframe,.nav_table,.footer,#footer"),
    "maint-guide-ja": ("body", ".navheader,.navfooter"),
    "maint-guide-zh-tw": ("body", ".navheader,.navfooter"),
}
# Pages of Chinese sites as `gne` has them in its tests, by folder (or file): the content. Each folder is a site.
NEWS_PACKAGE = "gne==0.4.3"
NEWS = {
    "163/9": "#content", "163": "#endText", "cjddsb": ".single-content", "cjn": "article", "cmse": "#content",
    "csdn": ".news_content", "ednchina": ".article_text", "gamersky": ".gsAreaContextArt", "gsc": ".detailCon",
    "guancha": ".content.all-txt", "gzggw": "#zoom", "hexun": ".art_context", "huanqiu": ".a-con", "ifeng/3": "#artical_real",
    "ifeng": "div[class^=main_content]", "njxfhn": ".post-body", "people": "#rwb_zw,.box_con", "qq/2": "#Cnt-Main-Article-QQ",
    "qq": ".content-article", "shanxi": ".article-body", "sina/2": "#artibody", "sina/3": "#artibody", "sina/4": "#artibody",
    "sina": "#article", "stcn": "#ctrlfscont", "thepaper": ".news_txt", "toutiao": ".article-content", "wechat": "#js_content",
    "xds": ".panel-body", "xinhuanet": "#p-detail,.main-aticle", "zyyfy": "#div_article_content",
}  # fmt: skip
MARKED = ("docs", "foreign", "news", "own")  # groups whose pages have their content marked


class Sample:
    """A page cut into blocks, each with how much of it the truth has."""

    def __init__(self, group: str, name: str, url: str, kind: str, truth: str, html: bytes) -> None:
        self.group, self.name, self.url, self.kind, self.truth, self.html = group, name, url, kind, truth, html
        parts = (urlsplit(url).hostname or "").split(".")
        self.site = (
            ".".join(parts[-3 if len(parts) > 2 and len(parts[-2]) <= 3 else -2 :])
            if group not in MARKED
            else name.partition(":")[0]
        )
        tree = parse_html(html, None, url).tree  # the same steps as formats.html.read_html
        head = read_head(tree, url)
        body = tree.select_one("body")
        mark_formulas(tree)
        fill_from_noscript(tree)
        clean(tree, body)
        self.facts = head_facts(head, body, url)
        self.out = segment(body)
        if group in MARKED:
            self.labels = self._marked()
            self.truth = "\n".join(b.text for b, label in zip(self.out.blocks, self.labels) if label > 0.5)
        else:
            self.labels = label_blocks([b.text for b in self.out.blocks], truth)
        self.sizes = [len(TOKEN.findall(b.text)) for b in self.out.blocks]
        self.names = [(e.attr("class") or "", e.attr("id") or "") for e in self.out.elements]
        self.out.elements = []
        for b in self.out.blocks:
            b.nodes = []

    def _marked(self) -> list[float]:
        marks: list[float] = []
        for i, element in enumerate(self.out.elements):
            mark, up = element.attr("data-truth"), self.out.parent[i]
            marks.append(float(mark) if mark else marks[up] if up >= 0 else 0.0)
        return [marks[b.container] for b in self.out.blocks]


def tokens(text: str) -> list[str]:
    return [w.lower() for w in TOKEN.findall(re.sub(r"(?<!\w)_+|_+(?!\w)|[*`¶]+", "", text))]


def label_blocks(texts: list[str], truth: str) -> list[float]:
    """The share of each block's three-word runs that the truth has and no earlier block has used up; of short ones, whether it has them."""
    have = tokens(truth)
    line = f" {' '.join(have)} "
    runs, bag = Counter(zip(have, have[1:], have[2:])), Counter(have)
    labels, split = [0.0] * len(texts), [tokens(text) for text in texts]
    for k, own in enumerate(split):
        if len(own) < 4:
            continue
        mine = list(zip(own, own[1:], own[2:]))
        covered = [False] * len(own)
        for i, run in enumerate(mine):
            if runs[run] > 0:
                covered[i] = covered[i + 1] = covered[i + 2] = True
        labels[k] = sum(covered) / len(own)
        if labels[k] > 0.5:
            runs.subtract(run for run in mine if runs[run] > 0)
            bag.subtract(own)
    for k, own in enumerate(split):
        near = labels[max(0, k - 3) : k] + labels[k + 1 : k + 4]
        if (
            0 < len(own) < 4
            and all(bag[w] > 0 for w in own)
            and f" {' '.join(own)} " in line
            and near
            and max(near) > 0.5
        ):
            labels[k] = 1.0
            bag.subtract(own)
    return labels


def bring(folder: Path) -> None:
    """Unpack the documentation packages that are not there yet, as `apt-get download` has them."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "gne").is_dir():
        get = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--no-binary",
            ":all:",
            "-d",
            folder,
            NEWS_PACKAGE,
        ]
        subprocess.run(get, check=True)
        shutil.unpack_archive(next(folder.glob("gne-*.tar.gz")), folder / "gne", filter="data")
    for package in DOCS | FOREIGN:
        if not (folder / package).is_dir():
            subprocess.run(["apt-get", "download", "-q", package], cwd=folder, check=True)  # noqa: S607
            subprocess.run(["dpkg-deb", "-x", next(folder.glob(f"{package}_*.deb")), folder / package], check=True)  # noqa: S607


def load(corpora: Path, docs: list[Path]) -> list[Sample]:
    samples: list[Sample] = []
    for group in ("articles", "mixed"):
        truth = json.loads((corpora / f"pages/{group}.json").read_text("utf-8"))
        for name in sorted(truth):
            html = gzip.decompress((corpora / f"pages/{group}/{name}.html.gz").read_bytes())
            samples.append(
                Sample(group, name, truth[name]["url"], truth[name].get("type", "article"), truth[name]["text"], html)
            )
    for folder in docs:
        for package in sorted(DOCS | FOREIGN):
            samples += load_docs(folder / package, package) if (folder / package).is_dir() else []
        samples += load_news(folder / "gne")
    samples += [Sample("own", name, url, kind, "", html) for _, name, url, kind, html in own_pages()]
    sites = sorted({s.site for s in samples})
    random.Random(0).shuffle(sites)
    for s in samples:
        s.fold = sites.index(s.site) % FOLDS
    return samples


def load_news(folder: Path) -> list[Sample]:
    """They are stored as UTF-8, whatever they say themselves; their addresses are not known."""
    found: list[Sample] = []
    for file in sorted(folder.glob("gne-*/tests/*/*.html")):
        name = f"{file.parent.name}/{file.stem}"
        where = NEWS.get(name) or NEWS.get(file.parent.name)
        tree = parse(file.read_bytes().decode("utf-8", "replace"), positions=False)
        if where is None or not (roots := tree.select(where)):
            continue
        roots[0].attrs["data-truth"] = "1"
        url = (tree.select_one("link[rel~=canonical i][href],meta[property='og:url']") or tree.root).attr("href") or ""
        sample = Sample("news", name.replace("/", ":"), url, "article", "", BOM_UTF8 + tree.html.encode())
        found += [sample] if len(tokens(sample.truth)) > 60 else []
    return found


def load_docs(folder: Path, package: str, most: int = 10) -> list[Sample]:
    files = sorted(f for f in folder.rglob("*.html") if f.is_file() and 6000 < f.stat().st_size < 400_000)
    random.Random(5).shuffle(files)
    found: list[Sample] = []
    where, without = (DOCS | FOREIGN)[package]
    for file in files:
        tree = parse(file.read_bytes(), positions=False)
        if len(found) >= most or not (roots := tree.select(where)):
            continue
        roots[0].attrs["data-truth"] = "1"
        for element in tree.select(without):
            element.attrs["data-truth"] = "0"
        sample = Sample(
            "docs" if package in DOCS else "foreign",
            f"{package}:{file.name}",
            f"https://{package}.example/{file.relative_to(folder)}",
            "documentation",
            "",
            tree.html.encode(),
        )
        found += [sample] if len(sample.truth.split()) > 40 else []
    return found
