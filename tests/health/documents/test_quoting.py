"""URLs are decoded from each syntax and encoded for it."""

from __future__ import annotations

import pytest

from spaniel.health.documents.quoting import SYNTAXES, decode, encode

READ = {
    "markdown": [
        (r"a\)b\_c\\", "a)b_c\\"), (r"a\qb", r"a\qb"), ("a&amp;b&copy;", "a&b©"), ("a&copy=2&copy", "a&copy=2&copy"),
        (r"a\&amp;", "a&amp;"), ("&#35;&#x23;&#X23;", "###"), ("&#12345678;&#x1234567;", "&#12345678;&#x1234567;"), ("&nope;", "&nope;"),
    ],
    "markdown-angled": [("ab", "ab"), (r"a\>b c", "a>b c"), ("&lt;", "<")],
    "autolink": [(r"a\_b", r"a\_b"), ("a&amp;b", "a&b"), ("a&copy", "a&copy")],
    "bare": [(r"a\_b&amp;", r"a\_b&amp;")],
    "www": [("www.one.org", "http://www.one.org")],
    "attribute": [
        ("a&amp;b", "a&b"), ("a&amp/&copy", "a&/©"), ("a&copy=2&ampb&notit;", "a&copy=2&ampb&notit;"), ("&nope;&nope", "&nope;&nope"),
        ("&#47;&#47a&#x2F;&#X2f", "//a//"), (" \t\n\r\f\va\t\n\rb \n", "ab"), ("\u00a0a", "\u00a0a"), ("a b", "a b"),
    ],
    "srcset": [("a&amp;b", "a&b")],
    "xml": [("a&amp;b", "a&b")],
    "json": [(r"a\/\u00fc\"", 'a/ü"'), ("a\t\\/b", "a\t/b"), (r"a\x", r"a\x")],
    "yaml": [("a''b", "a''b")],
    "yaml-single": [("a''b'c", "a'b'c")],
    "csv": [('a""b', 'a""b')],
    "csv-quoted": [('a""b"c', 'a"b"c')],
    "rst": [(r"a\_b\\", "a_b\\"), ("a\n  b", "ab"), (r"a\ b", "a b"), ("a\\", "a\\")],
    "argument": [(r"a\_ b", r"a\_ b")],
    "json>markdown": [(r"a\\)\"&amp;", 'a)"&')],
}  # fmt: skip
WRITTEN = {
    "markdown": [
        ("a(b)c", "a(b)c"), ("a(b", r"a\(b"), ("a)(b", r"a\)\(b"), ("(" * 30 + ")" * 30, "(" * 30 + ")" * 30),
        ("(" * 31 + ")" * 31, r"\(" * 31 + r"\)" * 31), ("a b<c>\x7f\u2003", "a%20b%3Cc%3E%7F%E2%80%83"),
        (r"a\b|c", r"a\\b\|c"), ("a&amp;b&c", "a&amp;amp;b&c"), ("é'\"", "é'\""),
    ],
    "markdown-angled": [("a b(c", "a b(c"), (r"a\<b>|", r"a\\\<b\>\|"), ("\n\x7f", "%0A%7F"), ("&lt;&", "&amp;lt;&")],
    "autolink": [("a b>", "a%20b%3E"), ("a&amp;b", "a&amp;amp;b"), ("a_(", "a_(")],
    "bare": [("a b<", "a%20b%3C"), ("a&amp;", "a&amp;")],
    "www": [("http://www.one.org/a b", "www.one.org/a%20b"), ("https://www.one.org", "https://www.one.org"), ("http://one.org", "http://one.org")],
    "attribute": [("a&b\"c'd<e>f g`\x00", "a&amp;b&quot;c&#39;d&lt;e&gt;f%20g%60%00"), ("é,", "é,")],
    "srcset": [(",,a,b,,", "%2C%2Ca,b%2C%2C"), ("a&b", "a&amp;b")],
    "xml": [("a&b", "a&amp;b")],
    "json": [('a"b\\ü', 'a\\"b\\\\ü')],
    "yaml": [("a b", "a%20b")],
    "yaml-single": [("a'b c", "a''b%20c")],
    "csv": [("a", "a")],
    "csv-quoted": [('a"b\n\r\x00,', 'a""b%0A%0D%00,')],
    "rst": [("ab_", r"ab\_"), ("_a_b", "_a_b"), ("a\t<\x7f\u2003", "a%09%3C%7F%E2%80%83"), (r"a\b c", r"a\\b\ c")],
    "argument": [("a", "a")],
    "json>markdown": [('a("', r"a\\(\"")],
}  # fmt: skip


@pytest.mark.parametrize(("syntax", "written", "url"), [(name, *pair) for name in READ for pair in READ[name]])
def test_url_is_decoded_from_its_syntax(syntax: str, written: str, url: str) -> None:
    assert decode(written, syntax) == url


@pytest.mark.parametrize(("syntax", "url", "written"), [(name, *pair) for name in WRITTEN for pair in WRITTEN[name]])
def test_url_is_encoded_for_its_syntax(syntax: str, url: str, written: str) -> None:
    assert encode(url, syntax) == written


def test_every_syntax_has_cases() -> None:
    assert set(SYNTAXES) == set(READ) - {"json>markdown"} == set(WRITTEN) - {"json>markdown"}
