"""`spaniel check --offline` on documents: which links are found, and the results of local links."""

from __future__ import annotations

import bz2
import gzip
import json
import random
import re
import resource
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spaniel.cli.main import main
from spaniel.errors import SpanielError
from spaniel.health.files import LARGEST

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Check = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Check:
    """Runs `spaniel check --offline` in an empty folder and returns the results."""
    monkeypatch.chdir(tmp_path)

    def run(*argv: str, files: dict[str, str] | None = None) -> list[dict[str, Any]]:
        for name, text in (files or {}).items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        main(["check", "--offline", "--no-history", "-q", "-f", "json", *argv])
        results: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["results"]
        return results

    return run


def urls(results: list[dict[str, Any]]) -> list[str]:
    return [each["url"] for each in results]


LINK = '<a href="https://one.org/after">x</a>'


@pytest.mark.parametrize("name", "title style script textarea xmp iframe noembed noframes plaintext".split())
@pytest.mark.parametrize("root", ["svg", "math"])
def test_link_after_self_closed_svg_element_is_found(check: Check, name: str, root: str) -> None:
    page = f"<p>a<{root}><g><{name}/></g></{root}>{LINK}"
    assert urls(check("a.html", files={"a.html": page})) == ["https://one.org/after"]
    assert urls(check("a.md", files={"a.md": f"# A\n\n<div>\n<{root}><{name} /></{root}>\n{LINK}\n</div>\n"}))
    # In HTML the same element contains text up to its end tag
    assert not urls(check("b.html", files={"b.html": f"<p>a<{name}>{LINK}"}))


@pytest.mark.parametrize(
    ("page", "is_link"),
    [
        (f"<svg><title>a {LINK}</title></svg>", True),  # an HTML integration point
        (f"<svg><title><title>{LINK}</title></title></svg>", False),
        (f"<svg><desc><style/>{LINK}", False),
        (f"<svg><foreignObject><div><title/>{LINK}", False),
        (f"<svg><foreignObject><p>a</p></foreignObject><title/>{LINK}", True),
        (f"<svg><g><p><title/>{LINK}", False),  # <p> ends SVG
        (f"<svg><font><title/></font>{LINK}", True),
        (f"<svg><font color=red><title/></font>{LINK}", False),
        (f"<div><svg><g></div><title/>{LINK}", False),
        (f"<math><mi><title/>{LINK}", False),
        (f"<math><annotation-xml><title/>{LINK}", True),
        (f'<math><annotation-xml encoding="Text/HTML"><title/>{LINK}', False),
        (f"<math><annotation-xml><svg><title/></svg>{LINK}", True),
        (f"<svg><![CDATA[{LINK}]]></svg>", False),
        (f"<![CDATA[>{LINK}", True),
        (f"<svg/><title/>{LINK}", False),
        (f"<svg a=b/><title/></svg>{LINK}", True),
        (f"<script><!--<script></script>{LINK}--></script>", False),
        (f"<script><!--><script></script>{LINK}", True),
        (f"</a title='>{LINK}'>", False),
        (f'<?xml version="1.0"?><html><script src="https://one.org/s.js"/>{LINK}</html>', True),
    ],
)
def test_svg_and_mathml_are_parsed_as_in_a_browser(check: Check, page: str, is_link: bool) -> None:
    assert ("https://one.org/after" in urls(check("a.html", files={"a.html": page}))) is is_link


def test_link_after_self_closed_title_in_feed_is_found(check: Check) -> None:
    feed = "<rss><channel><title/><item><title>a</title><link>https://one.org/after</link></item></channel></rss>"
    assert urls(check("--ext", "xml", "a.xml", files={"a.xml": feed})) == ["https://one.org/after"]


NAMES = (
    "svg math title style script textarea xmp iframe noembed noframes desc foreignObject g path mi mo mtext "
    "annotation-xml mglyph p div span b i a font table tr td tbody ul li h2 section br img button form mrow dl dd dt"
).split()


def random_page(chosen: random.Random) -> str:
    """A page of random tags."""
    parts: list[str] = []
    opened = ["svg"]
    for number in range(chosen.randint(2, 25)):
        kind = chosen.random()
        if kind < 0.25:
            parts.append(f'<a href="https://one.org/{number}">x</a>')
        elif kind < 0.6:
            name = chosen.choice(NAMES if chosen.random() < 0.6 else NAMES[:5] + NAMES[10:12])
            encoding = chosen.choice(["", " encoding='text/html'"]) if name == "annotation-xml" else ""
            color = chosen.choice(["", " color=red"]) if name == "font" else ""
            parts.append(f"<{name}{encoding}{color}{chosen.choice(['', '', '/', ' /'])}>")
            opened.append(name)
        elif kind < 0.85:
            parts.append(f"</{chosen.choice(opened if chosen.random() < 0.8 else NAMES)}>")
        elif kind < 0.9:
            parts.append(chosen.choice(["<![CDATA[", "]]>", "<!--", "-->", "<!-->", "<!", "<?x>", "</>", "</ >"]))
        else:
            parts.append("text ")
    return "".join(parts)


def test_links_of_random_pages_match_the_tree_of_a_parser(check: Check) -> None:
    """Compared with the tree of turbohtml, which follows the HTML standard."""
    import turbohtml

    pages = [random_page(random.Random(seed)) for seed in range(1500)]
    found: dict[str, set[str]] = {f"p{n}.html": set() for n in range(len(pages))}
    for each in check(".", files=dict(zip(found, pages, strict=True))):
        for place in each["places"]:
            found[place["file"].removeprefix("./")].add(each["url"])
    for page, links in zip(pages, found.values(), strict=True):
        tree = turbohtml.parse(page)
        assert links == {str(each.attrs["href"]) for each in tree.select("a[href]")}, page
    assert sum(map(len, found.values())) > 2000


SOURCES = {
    "index.rst": "",
    "guide/usage.rst": "Usage\n=====\n",
    "api/README.md": "# API\n",
    "faq.md": "# FAQ\n",
    "n.ipynb": "{}",
}


@pytest.mark.req("LH-04")
@pytest.mark.parametrize(
    "link",
    [
        *("guide/usage.html", "guide/usage/", "guide/usage", "./guide/usage.htm", "guide/usage.html?x=1", "faq.html"),
        *(
            "api/",
            "api/index.html",
            "api.html",
            "faq/",
            "faq/index.html",
            "index.html",
            "n.html",
            "faq.html#of-the-page",
        ),
    ],
)
def test_link_to_generated_page_resolves_to_its_source(check: Check, link: str) -> None:
    files = SOURCES | {"a.md": f"[x]({link})\n"}
    [found] = check("a.md", files=files)
    assert found["verdict"] == "ok", found["reason"]
    [found] = check("a.md", "--fallback-extensions", "", "--index-files", "")
    assert (found["verdict"] == "ok") is (link == "api/")  # an existing folder


@pytest.mark.req("LH-04")
def test_missing_local_file_is_failing_and_lists_tried_names(check: Check) -> None:
    [found] = check("a.md", files={"a.md": "[x](sub/gone.html)\n"})
    assert found["verdict"] == "failing"
    assert "tried gone.html, gone.md, gone.rst" in found["reason"]
    [found] = check("a.md", "--fallback-extensions", "adoc", "--index-files", "home,start.htm")
    assert found["reason"] == "no such file; tried gone.html, gone.adoc, gone/home.adoc, gone/start.htm"
    assert main(["check", "a.md", "--offline", "--no-history", "-q"]) == 1


@pytest.mark.req("LH-04")
def test_fallback_outside_the_root_is_not_used(check: Check, tmp_path: Path) -> None:
    (tmp_path.parent / "outside.md").write_text("# Outside\n")
    (tmp_path / ".git").mkdir()
    files = {"a.md": "[x](in.html) [y](../outside.html)\n"}
    (tmp_path / "in.md").symlink_to(tmp_path.parent / "outside.md")
    assert [each["verdict"] for each in check("a.md", files=files)] == ["skipped", "skipped"]
    with pytest.raises(SpanielError, match="fallback-extensions"):
        check("a.md", "--fallback-extensions", "../x")


@pytest.mark.req("LH-05")
@pytest.mark.parametrize("name", ["list.txt.gz", "list.txt.zst", "list", "wide.txt"])
def test_compressed_and_utf16_documents_are_read(check: Check, tmp_path: Path, name: str) -> None:
    text = b"https://one.org/a\nhttps://one.org/b\n"
    packed = zstd.compress(text) if name.endswith(".zst") else gzip.compress(text)
    (tmp_path / name).write_bytes(text.decode().encode("utf-16-le") if name == "wide.txt" else packed)
    found = check(name)
    assert urls(found) == ["https://one.org/a", "https://one.org/b"]
    assert found[1]["places"] == [{"file": name, "line": 2, "column": 1}]


@pytest.mark.req("LH-05")
@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("cut.txt.gz", gzip.compress(b"https://one.org/\n" * 1000)[:-20]),
        ("bomb.txt.gz", "bomb"),
        ("a.pdf", b"%PDF-1.7\n1 0 obj"),
        ("a.docx", b"PK\x03\x04\x14\0\x06\0"),
        ("a.png", b"\x89PNG\r\n\x1a\n"),
        ("a.md", bytes(range(256)) * 20),
        ("list.txt.bz2", bz2.compress(b"https://one.org/\n")),
        ("list.parquet", b"PAR1\x15\0"),
        ("nothing.md", None),
        ("folder/nothing.here", None),
        ("./nothing.here", None),
        ("folder", "empty"),
    ],
)
def test_unreadable_source_is_an_error(check: Check, tmp_path: Path, name: str, body: bytes | str | None) -> None:
    if body == "bomb":
        body = gzip.compress(bytes(LARGEST + 2))
    if isinstance(body, bytes):
        (tmp_path / name).write_bytes(body)
    elif body:
        (tmp_path / name).mkdir()
    with pytest.raises(SpanielError) as caught:
        check(name)
    assert caught.value.code == "bad_args"
    assert caught.value.details["field"] == name
    if isinstance(body, bytes):  # in a folder, the file is reported and the run has exit code 3
        (tmp_path / "all").mkdir()
        (tmp_path / name).rename(tmp_path / "all" / name)
        (tmp_path / "all" / "good.txt").write_text("https://one.org/\n")
        argv = ["check", "all", "--ext", name.rpartition(".")[2], "--ext", "txt", "--offline", "--no-history", "-q"]
        assert main(argv) == 3
        assert main([*argv, "--exclude-path", name.replace(".", "[.]")]) == 0


@pytest.mark.req("LH-05")
def test_document_without_links_is_no_error(check: Check) -> None:
    assert check("a.md", "b.txt", files={"a.md": "# A\n", "b.txt": ""}) == []
    assert main(["check", "a.md", "--offline", "--no-history", "-q"]) == 0


@pytest.mark.req("LH-05")
def test_compressed_standard_input_is_read(check: Check, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(gzip.compress(b"https://one.org/a\n"))
    with (tmp_path / "in").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert urls(check("-")) == ["https://one.org/a"]


GREEDY = r"\w{110}x"
FILES = [
    (".lycheeignore", GREEDY, 400),
    (".lycheeignore", r"(?:(?:\w{10}){10}){1}", 100),
    (".lycheeignore", r"(?x) \p{L} { 110 } # letters", 100),
    (".lycheeignore", r"(?P<all>[\w.]){110}", 100),
    (".lycheeignore", "a", 200_000),
    (".gitignore", "[^a]" * 2000, 400),
]


@pytest.mark.parametrize(("file", "line", "count"), FILES)
def test_pattern_file_that_needs_too_much_memory_is_refused(check: Check, file: str, line: str, count: int) -> None:
    good = {"docs/a.md": "<https://one.org/a> <https://one.org/secret>\n", ".git/HEAD": ""}
    assert len(check("docs", files=good | {file: "secret\n" * 300})) == 2  # three hundred lines are fine
    before = peak()
    with pytest.raises(SpanielError) as caught:
        check("docs", files={file: f"{line}\n" * count})
    assert file in str(caught.value.details["field"])
    assert "memory" in caught.value.message
    assert peak() - before < 128 << 20


def test_pattern_files_of_nested_folders_share_a_memory_limit(check: Check) -> None:
    files = {".git/HEAD": "", "docs/a.md": "x"}
    folder = "docs"
    for number in range(40):
        folder += f"/{number}"
        files[f"{folder}/.gitignore"] = f"{'[^a]' * 1000}\n" * 2
        files[f"{folder}/b.md"] = "x"
    with pytest.raises(SpanielError, match="memory"):
        check("docs", files=files)
    assert check("docs", "--no-gitignore") == []


def test_hostile_pattern_of_a_policy_is_matched_in_linear_time(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(
        'name = "own"\nversion = "1"\n[[apply]]\nrule = "parse"\n'
        '[[apply]]\nrule = "drop-session-params"\nnames = []\npattern = "(?:a|a)*b"\n'
    )
    from spaniel.url.policy import load

    policy = load(str(tmp_path / "own.toml"))
    assert policy.apply(f"https://one.org/?{'a' * 60}=1&aab=2").url == f"https://one.org/?{'a' * 60}=1"


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


# The peak memory of this program alone: wait4 includes the memory of the parent before exec.
PRINT_PEAK_MEMORY = """
import re, sys
from pathlib import Path
from spaniel.cli.main import main
from spaniel.errors import SpanielError
try:
    code = main(sys.argv[1:])
except SpanielError as error:
    code = error.row.exit
print(code, re.search(r"VmHWM:\\s+([0-9]+) kB", Path("/proc/self/status").read_text())[1], file=sys.stderr)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
@pytest.mark.parametrize(
    ("name", "line", "count"),
    [
        ("short.md", "[](a) ", 60_000),
        ("definitions.md", "[x{0}]: https://h.org/{0}\n", 40_000),
        ("a.html", "<svg><g>", 67_000),
        ("a.rst", "\n", 470_000),
        ("links.rst", "`a <//b>`_\n", 27_000),
        ("a.yaml", "- ", 335_000),
        ("a.txt", "https://h.org/{0}\n", 20_000),
        ("a.xml", "<a>", 200_000),
        ("a.json", "[", 200_000),
    ],
    ids=lambda value: value if isinstance(value, str) and "." in value[:15] and value[0].isalpha() else "",
)
def test_memory_is_proportional_to_the_document(tmp_path: Path, bare: int, name: str, line: str, count: int) -> None:
    """At most 64 MB plus twelve times the document, including the interpreter."""
    text = "".join(line.format(number) for number in range(count))
    peak_memory = measure_memory(tmp_path / name, text)
    assert peak_memory < (64 << 20) + 12 * len(text)
    assert peak_memory < bare + (24 << 20) + 12 * len(text)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> int:
    return measure_memory(tmp_path_factory.mktemp("bare") / "a.md", "[](a)")


def measure_memory(path: Path, text: str) -> int:
    path.write_text(text)
    command = [sys.executable, "-c", PRINT_PEAK_MEMORY, "check", str(path), "--dry-run", "--no-history", "-q"]
    run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    code, peak_memory = run.stderr.split()[-2:]
    assert code == ("2" if path.name in ("a.yaml", "a.json") else "0")  # nested too deeply
    return int(peak_memory) * 1024


LONG = "x" * 150_000
FENCED = "https://in.code/ [x](in-code)\n"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[x](a{0})\n" * 12_000, 12_000),
        ("- [x](a{0})\n\n" * 12_000, 12_000),
        ("> [x](a{0})\n" * 12_000, 12_000),
        ("[x](a{0}) " * 12_000, 12_000),
        ("a{0} | [x](a{0})\n---|---\n\n" * 8_000, 8_000),
        ("```\n" + FENCED * 6_000 + "```\n[x](a{0})\n", 1),
        ("> ~~~~ text\n" + f"> {FENCED}" * 6_000 + "> ~~~~\n\n[x](a{0})\n", 1),
        ("1. a\n\n   ```\n" + f"   {FENCED}" * 6_000 + "   ```\n\n   [x](a{0})\n", 1),
        ("- a\n\n  - b\n\n" + "    [x](a{0})\n\n    ```\n    [x](no)\n    ```\n\n" * 4_000, 4_000),
        ("<!--\n" + FENCED * 6_000 + "-->\n\n[x](a{0})\n", 1),
        ("<pre>\n" + "\n[x](no)\n" * 16_000 + "</pre>\n\n[x](a{0})\n", 1),
        ("<div>\n" + "[x](no)\n" * 20_000 + "</div>\n\n[x](a{0})\n", 1),
        ("    [x](no)\n" * 16_000 + "\n[x](a{0})\n", 1),
        (LONG + "\n\n" + LONG + " [x](a{0})\n===\n\n" + LONG + "\n[x](a{0})", 2),
        ("[x][y]\n" * 20_000 + "\n[y]: a{0}\n", 1),
        ("\u00e9 [\U0001f600](a{0})\r\n\r" * 8_000, 8_000),
    ],
    ids=range(16),
)
def test_long_document_read_in_parts_has_all_links(check: Check, text: str, wanted: int) -> None:
    """A long document is read in parts, even if a single block is longer than a part."""
    numbers = iter(range(1_000_000))
    text = re.sub(r"a\{0\}(?=\))|(?<=: )a\{0\}", lambda _: f"https://h.org/{next(numbers)}", text)
    found = check("a.md", files={"a.md": text})
    assert len(found) == wanted
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for each in found[:: max(1, wanted // 100)]:
        (place,) = each["places"]
        assert lines[place["line"] - 1].startswith(each["url"], place["column"] - 1)


def test_link_in_many_parts_of_a_long_list_is_reported_once(check: Check) -> None:
    text = "[a](gone.md) <https://one.org/>\n" * 15_000
    found = check("a.md", files={"a.md": text})
    assert sorted(urls(found)) == ["gone.md", "https://one.org/"]
    assert {len(each["places"]) for each in found} == {1000}


@pytest.mark.parametrize("form", ["json", "jsonl", "sarif"])
def test_json_reports_escape_terminal_control_characters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    monkeypatch.chdir(tmp_path)
    name = "a\x9b31m\u202etxt\u2066\u200f\x85.md"
    (tmp_path / name).write_text("[x](gone\u202e\x9b.md)\n", encoding="utf-8")
    main(["check", name, "--offline", "--no-history", "-q", "-f", form])
    out = capsys.readouterr().out
    assert not [sign for sign in out if unicodedata.category(sign) in ("Cc", "Cf") and sign != "\n"]
    assert "\\u202e" in out
    if form == "json":
        assert json.loads(out)["results"][0]["places"][0]["file"] == name


@pytest.mark.req("LH-03")
@pytest.mark.parametrize("box", ["[x]", "[ ]"])
def test_anchors_of_document_with_task_list_are_found(check: Check, box: str) -> None:
    target = f"# First\n\n- {box} a task\n\n## Last one\n"
    files = {"a.md": "[1](b.md#first) [2](b.md#last-one) [3](b.md#nope)\n", "b.md": target}
    found = check("a.md", "--fragments", files=files)
    assert {each["url"]: each["verdict"] for each in found} == {
        "b.md": "ok",
        "b.md#nope": "failing",
    }
