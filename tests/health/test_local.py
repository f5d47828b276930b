"""Links between local files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spaniel.app.checking import health_settings
from spaniel.app.settings import Settings
from spaniel.health.documents import kinds
from spaniel.health.documents.markdown import slug
from spaniel.health.documents.mentions import Mention
from spaniel.health.files import gather
from spaniel.health.links import Checked, Place, Remark
from spaniel.health.local import Disk, Fallbacks, check_local
from spaniel.verdicts import Verdict

DEFAULTS = Fallbacks(*(getattr(health_settings(Settings()), name) for name in ("fallback_extensions", "index_files")))


def checked(root: Path, text: str, *, disk: Disk | None = None, name: str = "docs/page.md") -> list[Checked]:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return list(check_local(gather([str(path)]), disk or Disk(str(root), fallbacks=DEFAULTS)))


def anchors(text: str, kind: str) -> frozenset[str]:
    found = kinds.anchors(text, kind)
    assert found is not None
    return found


def verdicts(found: list[Checked]) -> list[str]:
    return [str(one.verdict) for one in found]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    root = tmp_path / "site"
    for name, text in {
        "docs/other.md": '# One\n## One\n## `Code` and *more*!\n<a name="Old"></a>\n## Named {#own-id}\n',
        "docs/a b.md": "# x",
        "docs/page.html": '<p id="top-id"><a name="n">',
        "folder/index.html": '<h1 id="i">',
        "readme/README.md": "# Read me",
        "empty/.keep": "",
        "clean.html": "x",
        "data.bin": "x",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


@pytest.mark.req("LH-04")
@pytest.mark.parametrize(
    ("target", "verdict"),
    [
        ("other.md", "ok"),
        ("./other.md", "ok"),
        ("../docs/other.md", "ok"),
        ("a%20b.md", "ok"),
        ("<a b.md>", "ok"),
        ("other.md?raw=true", "ok"),
        ("other.md#one", "ok"),
        ("other.md#one-1", "ok"),
        ("other.md#One", "ok"),
        ("other.md#one-2", "failing"),
        ("other.md#code-and-more", "ok"),
        ("other.md#Old", "ok"),
        ("other.md#own-id", "ok"),
        ("other.md#named", "failing"),
        ("other.md#named-own-id", "ok"),
        ("other.md#L10-L20", "ok"),
        ("page.html#top-id", "ok"),
        ("page.html#n", "ok"),
        ("page.html#x", "failing"),
        ("#here", "ok"),
        ("#nowhere", "failing"),
        ("#top", "ok"),
        ("#", "ok"),
        ("/folder/", "ok"),
        ("/folder", "ok"),
        ("/folder/#i", "ok"),
        ("/folder#j", "failing"),
        ("/readme#read-me", "ok"),
        ("../empty", "ok"),
        ("../clean", "ok"),
        ("/data.bin#x", "ok"),
        ("missing.md", "failing"),
        ("missing.md#x", "failing"),
        ("Other.md", "failing"),
        ("other.md/", "failing"),
        ("../data.bin/x", "failing"),
        ("a%00b", "skipped"),
        ("../../outside.md", "skipped"),
        ("/../../etc/passwd", "skipped"),
        ("..%2f..%2foutside.md", "skipped"),
        ("file:///etc/passwd", "skipped"),
        ("x" * 5000, "failing"),
    ],
)
def test_relative_link_is_checked_on_disk(site: Path, target: str, verdict: str) -> None:
    (site.parent / "outside.md").write_text("# secret")
    [found] = checked(site, f"# Here\n[x]({target})\n")
    assert found.verdict == verdict
    assert found.evidence.method == ("" if verdict == "skipped" else "disk")


def test_missing_file_and_anchor_have_reasons(site: Path) -> None:
    found = checked(site, "[a](missing.md) [b](Other.md) [c](other.md#gone)\n[again](missing.md)")
    assert found[0].reason == "no such file"
    assert found[1].reason == "no such file; there is 'other.md'"
    assert len(found[0].link.places) == 2
    assert found[2].verdict is Verdict.FAILING
    assert [finding.remark for finding in found[2].findings] == [Remark.FRAGMENT_MISSING]
    assert "has no anchor '#gone'" in found[2].reason
    assert found[2].link.fragments == ("gone",)


def test_file_outside_the_root_is_not_opened(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = site.parent / "secret.md"
    outside.write_text("# secret")
    (site / "docs/to-outside.md").symlink_to(outside)
    (site / "docs/to-inside.md").symlink_to(site / "docs/other.md")
    (site / "docs/trap").mkdir()
    (site / "docs/trap/README.md").symlink_to(outside)
    (site / "docs/guess.html").symlink_to(outside)
    opened: list[str] = []
    real = os.open

    def logged(path: str, *rest: int) -> int:
        opened.append(str(path))
        return real(path, *rest)

    monkeypatch.setattr(os, "open", logged)
    links = "[a](to-outside.md#secret) [b](../../secret.md#secret) [c](to-inside.md#one) [d](trap#secret) [e](guess#x)"
    found = checked(site, links)
    assert verdicts(found) == ["skipped", "skipped", "ok", "skipped", "skipped"]
    assert [name for name in opened if "to-inside" in name]
    assert not [name for name in opened if any(word in name for word in ("secret", "to-outside", "trap", "guess"))]


def test_default_root_is_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "repo/.git").mkdir(parents=True)
    (tmp_path / "repo/README.md").write_text("# R")
    (tmp_path / "out.md").write_text("# O")
    found = checked(
        tmp_path / "repo", "[a](../README.md#r) [b](../../out.md) [c](/README.md)", disk=Disk(fallbacks=DEFAULTS)
    )
    assert verdicts(found) == ["ok", "skipped", "skipped"]
    assert "--root-dir" in found[2].reason
    loose = checked(tmp_path, "[a](x.md) [b](../out.md)", disk=Disk(fallbacks=DEFAULTS), name="loose/p.md")
    assert verdicts(loose) == ["failing", "skipped"]


@pytest.mark.parametrize(
    ("heading", "wanted"),
    [
        ("Hello World", "hello-world"),
        ("Hello, World!", "hello-world"),
        ("A  B", "a--b"),
        ("`code` & more", "code--more"),
        ("[Link](https://one.org/) text", "link-text"),
        ("[![badge](x.svg)](y) Name", "badge-name"),
        ("snake_case and _emphasis_", "snake_case-and-emphasis"),
        ("Ünïcode Ärger 中文", "ünïcode-ärger-中文"),
        ("1.2.3 (2024-01-01)", "123-2024-01-01"),
        ("A – B", "a--b"),
        ("<b>Bold</b> x", "bold-x"),
        ("What's new?", "whats-new"),
        (r"a \* b", "a--b"),
        ("tom &amp; jerry", "tom--jerry"),
        ("🚀 Getting started", "-getting-started"),
        ("⚙️ Settings", "\ufe0f-settings"),
        ("हिन्दी शीर्षक", "हिन्दी-शीर्षक"),
        ("① Circle ½ ２", "-circle--２"),
    ],
)
def test_heading_anchors_match_github(heading: str, wanted: str) -> None:
    assert slug(heading) == wanted


def test_repeated_headings_are_numbered_and_code_has_none() -> None:
    text = (
        "# A\n# A\n# A-1\n# A\nB\n---\n```\n# C\n```\n<h2 id='d'>x</h2>\n\ntext <span id=e></span> {#f}\n# G {: .x #h }"
    )
    assert anchors(text, "markdown") == {"a", "a-1", "a-1-1", "a-2", "b", "d", "e", "g--x-h-", "h"}


def test_emoji_variation_selector_is_optional() -> None:
    assert anchors("# ⚙️ Settings", "markdown") == {"\ufe0f-settings", "-settings"}


def test_html_ids_are_case_sensitive_and_heading_anchors_are_not(site: Path) -> None:
    found = checked(site, "[a](page.html#TOP-ID) [b](other.md#ONE)")
    assert verdicts(found) == ["failing", "ok"]


def test_document_in_current_folder_is_checked(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths are reported relative to the current folder, which is the root."""
    monkeypatch.chdir(site / "docs")
    Path("page.md").write_text("[a](other.md) [b](../clean.html) [c](a%20b.md) [d](gone/)")
    found = list(check_local(gather(["page.md"]), Disk(fallbacks=DEFAULTS)))
    assert [(one.link.url, one.verdict.value) for one in found] == [
        *(("other.md", "ok"), ("../clean.html", "skipped"), ("a b.md", "ok"), ("gone/", "failing"))
    ]
    assert {one.link.fragments for one in found} == {()}
    assert "outside the root" in found[1].reason
    rooted = list(check_local(gather(["page.md"]), Disk(str(site), fallbacks=DEFAULTS)))
    assert rooted[1].verdict is Verdict.OK


def test_folder_page_that_links_outside_is_skipped(site: Path) -> None:
    (site.parent / "outside.md").write_text("# secret")
    (site / "docs/trap").mkdir()
    (site / "docs/trap/README.md").symlink_to(site.parent / "outside.md")
    [found] = checked(site, "[a](trap)")
    assert (found.verdict, found.link.places[0].column) == (Verdict.SKIPPED, 5)
    assert "outside the root" in found.reason


def test_name_without_extension_needs_fallbacks(site: Path) -> None:
    assert verdicts(checked(site, "[a](../clean)", disk=Disk(str(site)))) == ["failing"]
    assert verdicts(checked(site, "[a](../clean/)")) == ["ok"]


def test_non_utf8_name_is_found_and_wrong_case_reported(site: Path) -> None:
    with open(os.fsencode(site / "docs") + b"/caf\xe9.md", "wb") as file:
        file.write(b"# x")
    found = checked(site, "[a](caf%E9.md) [b](../Folder/)")
    assert verdicts(found) == ["ok", "failing"]
    assert found[1].reason == "no such file; there is 'folder'"


def test_relative_link_from_standard_input_is_skipped(site: Path) -> None:
    mention = Mention("other.md", Place("-", 1, 1), 0, 8, "markdown")
    [found] = check_local([mention], Disk(str(site)))
    assert (found.verdict, found.reason, found.link.url) == (
        *(Verdict.SKIPPED, "its document is not in a folder"),
        "other.md",
    )


def test_anchors_of_rst_files_are_checked(site: Path) -> None:
    (site / "docs/guide.rst").write_text("My Title\n========\n")
    found = checked(site, "[a](guide.rst#my-title) [b](guide.rst#other)")
    assert verdicts(found) == ["ok", "failing"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("# A", {"a"}), ("# A ##", {"a"}), ("# A \t## \t", {"a"}), ("# A ##\u00a0", {"a-"}),
        ("# A X", {"a-x"}), ("# ##", {""}), ("###### A", {"a"}), ("A\n-", {"a"}), ("A\nB\n=", {"ab"}),
        ("a\n\n    # B", set()), ("```\n# B\n```", set()), ("<div>\n# B", set()), ("> # B", {"b"}),
        ("- # B\n  C\n  ==", {"b", "c"}), ("a | b\n--|--\nc | d", set()), ("[a]: b\n\n# C", {"c"}),
        ("---\na: b\n---\n# C", {"c"}),
    ],
)  # fmt: skip
def test_markdown_headings_are_anchors(text: str, wanted: set[str]) -> None:
    assert anchors(text, "markdown") == wanted


def test_headings_in_mdx_components_are_anchors() -> None:
    text = "<Card>\n# A\n\n    ## B\n</Card>\n"
    assert anchors(text, "mdx") == {"a", "b"}
    assert anchors(text, "markdown") == set()


def test_html_anchors_are_ids_and_names_of_a_and_map() -> None:
    page = '<a href="x"><a name="n"><input name="no"><map name="m"><p id="i" name="no"><!-- <p id="no"> -->'
    assert anchors(page, "html") == {"n", "m", "i"}


def test_rst_titles_and_targets_are_anchors() -> None:
    text = "My Title\n========\n\n.. _some target:\n\nSub-section 1\n-------------\n"
    assert anchors(text, "rst") == {"my-title", "some-target", "sub-section-1"}
