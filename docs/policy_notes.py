"""The hand-written parts of reference/policies.md: rules that look online, and where `curious` differs from Python's urllib."""

from __future__ import annotations

ONLINE = """\
## Rules that look online

A rule with `asks = true` in the policy's file can use the web: `spaniel canon --policy clara --online URL`, or
`await client.canonicalize(url)` in Python. Without `--online` it proposes and changes nothing. Of the shipped policies `clara` has such
rules. [Find canonical links](../howto/canonical-links.md) shows what they do.
"""

# What differs, a URL, what `curious` makes of it, what urllib does (tests/url/test_urllib.py runs both).
URLLIB_ROWS = (
    ("`%20` stays; urllib writes `+`", "https://e.com/a?q=a%20b", "https://e.com/a?q=a%20b", "https://e.com/a?q=a+b"),
    ("`,` and `:` stay as they are", "https://e.com/a?t=12:30,5", "https://e.com/a?t=12:30,5", "https://e.com/a?t=12%3A30%2C5"),
    ("so do brackets and stars", "https://e.com/a?q=(x)*", "https://e.com/a?q=(x)*", "https://e.com/a?q=%28x%29%2A"),
    ("hex digits stay as they are", "https://e.com/a?q=%2f", "https://e.com/a?q=%2f", "https://e.com/a?q=%2F"),
    ("bytes that are not UTF-8 stay", "https://e.com/?x=%E1", "https://e.com/?x=%E1", "https://e.com/?x=%EF%BF%BD"),
    ("a name without `=` stays so", "https://e.com/a?a", "https://e.com/a?a", "https://e.com/a?a="),
    ("other letters in a host: IDNA", "https://bücher.example/a", "https://xn--bcher-kva.example/a", "https://bücher.example/a"),
    ("other letters in a path: encoded", "https://e.com/ñ", "https://e.com/%C3%B1", "https://e.com/ñ"),
    ("spaces in a path: encoded", "https://e.com/a b", "https://e.com/a%20b", "https://e.com/a b"),
    ("dot segments: resolved", "https://e.com/a/../b", "https://e.com/b", "https://e.com/a/../b"),
    ("no scheme: refused", "e.com/a", "refused: invalid_url", "e.com/a"),
)  # fmt: skip

URLLIB = """\
### Where `curious` differs from urllib

`curious` parses URLs as browsers do. Code that uses Python's `urlsplit`, `parse_qsl` and `urlencode` gives another text for these, and so
another hash. If you switch from such code, compare the hashes.

| what | URL | `curious` | urllib |
|---|---|---|---|
"""


def urllib_part() -> str:
    rows = (f"| {what} | `{url}` | `{ours}` | `{theirs}` |" for what, url, ours, theirs in URLLIB_ROWS)
    return URLLIB + "\n".join(rows)
