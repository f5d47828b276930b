"""Where `curious` differs from an implementation on Python's urllib: what docs/reference/policies.md claims is so."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import pytest

from spaniel.errors import SpanielError
from spaniel.url import canonicalize

ROWS = runpy.run_path(str(Path(__file__).resolve().parents[2] / "docs" / "policy_notes.py"))["URLLIB_ROWS"]
DROPPED = "gclid fbclid mc_cid mc_eid ref ref_src cmpid icid ocid".split()


def with_urllib(url: str) -> str:
    """The seven steps of document 4, as one would write them with the standard library."""
    parts = urlsplit(url)
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    port = f":{parts.port}" if parts.port not in (None, usual) else ""
    path = re.sub("/+", "/", parts.path)
    path = path.rstrip("/") if len(path) > 1 else path or "/"
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    kept = [
        (name, value) for name, value in pairs if not name.lower().startswith("utm_") and name.lower() not in DROPPED
    ]
    return urlunsplit((parts.scheme, (parts.hostname or "") + port, path, urlencode(sorted(kept)), ""))


def with_curious(url: str) -> str:
    try:
        return canonicalize(url, "curious").url
    except SpanielError as error:
        return f"refused: {error.code}"


@pytest.mark.req("UN-01", "UN-06")
@pytest.mark.parametrize(("what", "url", "ours", "theirs"), ROWS, ids=[row[0] for row in ROWS])
def test_the_two_differ_as_the_docs_say(what: str, url: str, ours: str, theirs: str) -> None:
    assert (with_curious(url), with_urllib(url)) == (ours, theirs)
    assert ours != theirs


@pytest.mark.parametrize(
    "url",
    [
        "HTTPS://E.com:443/A//b/?b=2&a=1&utm_source=x#top",
        "https://e.com",
        "http://e.com:8080/a/",
        "https://e.com/a?q=a+b",
        "https://e.com/a;b=1?x=1",
    ],
)
def test_on_plain_urls_they_agree(url: str) -> None:
    assert with_curious(url) == with_urllib(url)
