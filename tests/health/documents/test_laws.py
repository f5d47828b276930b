"""Properties of every document: correct places, agreement with other parsers, linear time, complete results."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaniel.health.documents import html, markdown
from spaniel.health.documents import mentions as plain_text
from spaniel.health.documents.kinds import EXTENSIONS, mentions
from spaniel.health.documents.mentions import LINE_END
from spaniel.health.documents.quoting import SYNTAXES, decode, encode
from spaniel.health.files import DocumentOptions, gather
from tests.health.documents.cases_markdown import CASES
from tests.health.documents.cases_other import KINDS
from tests.health.documents.marked import unmarked
from tests.stopwatch import growth

if TYPE_CHECKING:
    from markdown_it.token import Token

PIECES = (
    "[ ] ( ) ![ ]( ](u1) < > - 1. ` `` ``` ~~~ a b \\ * # === --- | <div> </div> <a_href='x1'> </a> <!-- --> [r] "
    '](<u4>) &amp; <pre> </pre> 2. + _ ** ! u6 https://one.org/a www.one.org "t" \' : {{ }} .. :: _a: , ; '
    "\0 \ufeff é 𝒳"
).split()
SPACES = [" ", "\n", "\n\n", "    ", "\t", "\r\n", ">", "\n- "]
DOCUMENTS = st.lists(st.sampled_from([*(piece.replace("_h", " h") for piece in PIECES), *SPACES]), max_size=40).map(
    "".join
)


@given(DOCUMENTS, st.sampled_from(sorted(EXTENSIONS)))
@settings(max_examples=150, deadline=None)
def test_place_is_that_of_the_target_in_any_text(text: str, kind: str) -> None:
    for one in mentions(text, "f", kind):
        assert 0 <= one.start < one.end <= len(text)
        before = text[: one.start]
        assert one.place.line == 1 + len(LINE_END.findall(before))
        if "\n" not in text[one.start : one.end]:
            assert decode(text[one.start : one.end], one.syntax) == one.url


@given(st.text(alphabet="ab/:?#&=;()<>\"'`|\\ %,_é[]{}\n", min_size=1, max_size=30), st.sampled_from(sorted(SYNTAXES)))
@settings(max_examples=150, deadline=None)
def test_encoded_url_decodes_to_itself(rest: str, syntax: str) -> None:
    url = "http://www.one.org/" + rest.strip()
    back = decode(encode(url, syntax), syntax)
    assert unquote(back) == unquote(url) or syntax in ("csv", "argument", "bare", "yaml", "www")
    assert decode(encode(back, syntax), syntax) == back


def links_of_markdown_it(text: str) -> list[str]:
    """Links and images found by markdown-it, with reference definitions resolved."""
    from markdown_it import MarkdownIt

    found: list[str] = []

    def walk(tokens: list[Token]) -> None:
        for token in tokens:
            if token.type == "inline":
                walk(token.children or [])
            elif token.type in ("link_open", "image") and token.info != "auto":
                found.append(unquote(str(token.attrGet("href") or token.attrGet("src") or "")))

    walk(MarkdownIt("commonmark").enable("table").parse(text))
    return sorted(url for url in found if url)


@pytest.mark.parametrize("seed", range(40))
def test_links_match_markdown_it(seed: int) -> None:
    chosen = random.Random(seed)
    pieces = [piece for piece in PIECES if "one.org" not in piece and piece not in ("[r]", "\0", "{{", "}}")]
    for _ in range(50):
        text = "".join(chosen.choice(pieces + SPACES[:5]).replace("_h", " h") for _ in range(chosen.randint(1, 25)))
        if markdown.front_matter(text)[1] or re.search(r"\]:|--->", text):  # unsupported there, or different
            continue
        found = sorted(unquote(one.url) for one in markdown.markdown_links(text) if one.syntax.startswith("markdown"))
        assert found == links_of_markdown_it(text), repr(text)


MARKS = "::: :  :   :>:> :>\t:- :-:+ :* :-\t:-     :1. :2. :1) :1.\t".split(":")
LINES = (
    "[a](u1);[b;c](u2);`d;e`;;;;```;~~~;````;``` x;===;---;--;***;_ _ _;# [f](u3);#;###;| g | [h](u4) |;|---|:-:|;i | j;x\\;"
    "<div>;</div>;<pre>;</pre>;<!--;-->;<?;?>;<!X;>;<b>;<![CDATA[;]]>"
).split(";")


@pytest.mark.parametrize("seed", range(40))
def test_blocks_match_markdown_it(seed: int) -> None:
    """Except lines with four blanks after quotes and lists, where markdown-it differs from CommonMark."""
    chosen = random.Random(seed)
    for _ in range(100):
        marked = [[*chosen.choices(MARKS, k=3), chosen.choice(LINES)] for _ in range(chosen.randint(2, 7))]
        text = "\n".join("".join(line) for line in marked)
        if markdown.front_matter(text)[1] or re.search(r"(?m)^ {4}", text):
            continue
        found = sorted(one.url for one in markdown.markdown_links(text) if one.syntax.startswith("markdown"))
        assert found == links_of_markdown_it(text), repr(text)


def test_links_match_turbohtml() -> None:
    from turbohtml import parse

    pieces = ["<a href='", "<a href=\"", "x", "'>", '">', "<p>", "</a>", "<!--", "-->", "<b ", ">", "=", "&amp;", " ", "<script>", "</script>", "\n", "<img src=y>"]  # fmt: skip
    chosen = random.Random(1)
    for _ in range(1500):
        text = "<body>" + "".join(chosen.choice(pieces) for _ in range(chosen.randint(1, 20)))
        tree = parse(text)
        wanted = [str(a.attrs["href"] or "") for a in tree.select("a[href]")]
        found = [one.url for one in html.html_links(text) if one.syntax == "attribute" and one.url != "y"]
        assert set(found) == {re.sub(r"[\t\n\r]", "", url.strip()) for url in wanted} - {""}, repr(text)


HOSTILE = {
    "markdown": ["[", "](", "[a](", "![", "<a ", "<!--", "<?", "`", "``` ", "> ", "- ", '[a](b "', "](a", "(((", '[a]: b "\n',
                 "http://a(", "www.a.b(", "| ", "<a b='", "<![CDATA[", "[a](<", "&", "\t", "[^1]: ", "|-\n", "[a][",
                 "<http://a", "`a``b```", "[[a]](", "<a b=\"<a c='", "- \n", "[a](b(", "> - ", "<div\n", "# #", "\r"],
    "html": ["<a ", "<!--", "<script>", "<a href='", "<img srcset='a,", "<", "</", "<a =", "<![CDATA[", "<!", "<a/", "<base>",
             "<svg>", "<svg><style>", "<svg><b></i>", "<svg><g></q>", "<svg><q><desc></g>", "<b><svg><p></b>", "<svg></p>",
             "<style>/*", "<style>url(", "<p style='/*", "<p style='url(http://a", "<style>@import  "],
    "rst": ["`", "``", ":a", ".. ", ".. _a: b\n", "`a <b", "::\n\n ", "http://a ", ".. |a| ", ">>> a\n", ".. _`a"],
    "json": ["[", "{", '"', '"a":', "\\", '"http://a \\u00fc', '"\\'],
    "csv": ['"', ",", '""', '",', 'http://a","', '"a'],
    "yaml": ["[", "{", "- ", "a: ", "? ", "'", "&a ", "a:\n ", "{a, "],
    "mdx": ["{/*", "import a\n", "={", "={a}", "<a b={", "export\n\n", "{/* */", "    <A "],
    "text": ["http://a|", "http://a[", "[]", "http://a[[]", "http://a", "(", "http://(", "www.", "http://a(b[", "http://a."],
    "xml": ["<loc>", "<url><loc>http://a", "<![CDATA["],
    "notebook": ['{"cells":[', '{"cell_type":"markdown","source":"'],
}  # fmt: skip


def grown(piece: str, kind: str, sizes: tuple[int, int], *, floor: float, below: float) -> float:
    """Return the time for a text of the second size relative to one of the first size."""
    small, large = ((piece * size)[:size] for size in sizes)
    return growth(
        lambda: list(mentions(small, "f", kind)), lambda: list(mentions(large, "f", kind)), floor=floor, below=below
    ).times


@pytest.mark.parametrize("kind", HOSTILE)
def test_time_is_linear_for_hostile_text(kind: str) -> None:
    """Sixteen times the text should take sixteen times as long; quadratic time would be 256 times. The limit is 80."""
    for piece in HOSTILE[kind]:
        assert grown(piece, kind, (2_000, 32_000), floor=0.001, below=80) < 80, piece


def tree_of_documents(folder: Path) -> dict[str, list[tuple[int, int, str]]]:
    """Write documents of every kind from the cases, in many orders; return the places of their links."""
    chosen = random.Random(7)
    expected: dict[str, list[tuple[int, int, str]]] = {}
    plain = [case for name, case in CASES.items() if "reference" not in name]
    for number in range(12):
        parts = chosen.sample(plain, len(plain))
        marked = "\n\n<!-- -->\n\n".join(parts if number % 2 else [*parts, *parts])
        kept = marked.replace("\n", "\r\n") if number % 3 == 0 else marked
        _write(folder / f"guide{number}" / "page.md", kept, expected)
    for kind, cases in KINDS.items():
        extension = EXTENSIONS[kind].split()[0]
        for number, case in enumerate(cases.values()):
            _write(folder / kind / f"{number}.{extension}", case, expected)
    return expected


def _write(path: Path, marked: str, expected: dict[str, list[tuple[int, int, str]]]) -> None:
    text, marked_links = unmarked(marked)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    expected[str(path)] = [(one.line, one.column, one.written) for one in marked_links]


def test_all_links_of_a_folder_are_found_with_their_places(tmp_path: Path) -> None:
    expected = tree_of_documents(tmp_path)
    texts = {path: Path(path).read_bytes().decode() for path in expected}
    found: dict[str, list[tuple[int, int, str]]] = {path: [] for path in expected}
    others = sorted(
        path for path in expected if not path.endswith(".xml")
    )  # a sitemap is a list, unless --kind says xml
    as_documents = gather(sorted(expected.keys() - set(others)), DocumentOptions(kind="xml"))
    for one in (*gather(others), *as_documents):
        file = one.place.file
        found[file].append((one.place.line, one.place.column, texts[file][one.start : one.end]))
    assert sum(map(len, expected.values())) > 2_000
    assert found == expected
    assert not [one for all_ in found.values() for one in all_ if "no.org" in one[2]]


BARE = st.lists(
    st.sampled_from(
        ["http://", "www.", "a.b/", "x", "9", "/", "?q=1", "&amp;", ";", ".", ",", "(", ")", "]", "é", "。"]
    )
    | st.sampled_from([" ", "\n", "\u2003", "\x1f", "<", '"', "`", "%", "_", "x" * 600]),
    max_size=12,
).map("".join)


@given(BARE, st.integers(0, 40))
@settings(deadline=None)
def test_fast_path_for_bare_urls_agrees_with_the_slow_one(text: str, limit: int) -> None:
    for end in (len(text), min(limit, len(text))):
        quick = list(plain_text.scan(text, 0, end))
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(plain_text, "PLAIN", re.compile(r"(?!)"))
            assert list(plain_text.scan(text, 0, end)) == quick
