"""Anchors of pages: found as in browsers, and not reported as missing if a script may create them."""

from __future__ import annotations

import pytest

from spaniel.health.pages import look_for

HTML = "text/html; charset=utf-8"
STATIC = """<html><head><script src=/analytics.js></script></head><body><h1 id=intro>Intro</h1>
<h2><a name="old-way"></a>Old</h2><p id="Größe">x</p><h3 id="user-content-setup">Setup</h3><p id="a%20b">y</p>
<input name=field><div id="">z</div></body></html>"""
SCRIPTED = "<html><body><h2>Install</h2><p id=other>x</p><script>make_anchors()</script></body></html>"
DATA_ONLY = "<html><body><h2>Install</h2><script type='application/ld+json'>{}</script></body></html>"
BARE = "<html><body><h2>Install</h2><p>x</p></body></html>"


def found(name: str, page: str = STATIC, content_type: str = HTML, *, is_whole: bool = True) -> bool | None:
    (fragment,) = look_for([name], page.encode(), content_type, is_whole=is_whole)
    assert fragment.name == name
    return fragment.found


@pytest.mark.parametrize(
    "name",
    [
        "intro",
        "#intro",
        "old-way",
        "Größe",
        "Gr%C3%B6%C3%9Fe",
        "setup",
        "user-content-setup",
        "a%20b",
        "top",
        "TOP",
        "",
        "#",
    ],
)
def test_fragment_that_a_browser_finds_exists(name: str) -> None:
    assert found(name) is True


@pytest.mark.parametrize("name", ["Intro", "field", "größe", "nothing", "intro%20"])
def test_fragment_that_no_browser_finds_is_missing(name: str) -> None:
    assert found(name) is False


def test_text_directive_is_not_part_of_the_fragment() -> None:
    assert found(":~:text=anything") is True
    assert found("intro:~:text=anything") is True
    assert found("outro:~:text=anything") is False


@pytest.mark.parametrize("name", ["!/inbox", "/inbox", "L10", "L10-L20", "L10-20", "page=3", "a=b&c"])
def test_fragment_for_scripts_is_unknown(name: str) -> None:
    assert found(name, BARE) is None
    assert found(name) is None


def test_anchor_that_a_script_may_create_is_unknown() -> None:
    assert found("install", SCRIPTED) is None
    assert found("other", SCRIPTED) is True
    assert found("install", BARE) is False
    assert found("install", DATA_ONLY) is False  # data creates no anchors
    assert found("L10x", BARE) is False


@pytest.mark.parametrize("tag", ["h1", "h2", "h3", "h4", "h5", "h6", "section"])
def test_page_with_static_heading_anchors_creates_none(tag: str) -> None:
    page = f"<body><{tag} id=one>One</{tag}><p>x</p><script src=/a.js></script></body>"
    assert found("two", page) is False
    assert found("two", page.replace(" id=one", "")) is None
    inside = page.replace(" id=one>", "><a name=one></a>")
    assert found("two", inside) is (None if tag == "section" else False)


@pytest.mark.parametrize(
    "kind", ["application/json", "application/ld+json", "importmap", "speculationrules", "IMPORTMAP"]
)
def test_script_element_with_data_creates_no_anchors(kind: str) -> None:
    page = f"<body><h2>Two</h2><script type={kind}>{{}}</script></body>"
    assert found("two", page) is False
    assert found("two", page.replace(kind, "module")) is None


def test_missing_fragment_of_truncated_page_is_unknown() -> None:
    assert found("nothing", is_whole=False) is None
    assert found("intro", is_whole=False) is True


def test_only_html_has_anchors() -> None:
    assert found("page=2", "%PDF-1.7", "application/pdf") is None
    assert found("intro", STATIC, "text/plain") is None
    assert found("top", "x", "text/plain") is True
    assert found("intro", STATIC, "application/xhtml+xml") is True
    assert found("intro", STATIC, "TEXT/HTML") is True


def test_several_fragments_are_looked_up_at_once() -> None:
    seen = look_for(("intro", "nothing"), STATIC.encode(), HTML, is_whole=True)
    assert [(fragment.name, fragment.found) for fragment in seen] == [("intro", True), ("nothing", False)]
