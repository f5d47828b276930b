"""The URL Standard's own test data, as a table of facts: input, base, and the URL that comes out, or null.

Where Spaniel is stricter than the standard, the case stands in a list with the reason. That list may only shrink.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spaniel.errors import SpanielError
from spaniel.url import parse

HERE = Path(__file__).resolve().parent
FACTS = json.loads((HERE / "whatwg_facts.json").read_text(encoding="ascii"))
STRICTER = json.loads((HERE / "whatwg_stricter.json").read_text(encoding="ascii"))
STRICTER_AT_MOST = 88


def outcome(text: str, base: str | None) -> str | None:
    try:
        return parse(text, parse(base) if base else None).href
    except SpanielError:
        return None


@pytest.mark.req("FR-WF-04a")
def test_parse_agrees_with_the_standard_but_for_the_listed_cases() -> None:
    differing = {(text, base) for text, base, right in FACTS if outcome(text, base) != right}
    listed = {(text, base) for text, base, _ in STRICTER}
    assert differing == listed


def test_the_list_of_stricter_cases_only_shrinks() -> None:
    assert len(STRICTER) <= STRICTER_AT_MOST
    assert all(reason.startswith("D2-1") for _, _, reason in STRICTER)


def test_being_stricter_never_means_another_url() -> None:
    """A listed case is refused, or loses its credentials; it never leads elsewhere than the standard says."""
    rights = {(text, base): right for text, base, right in FACTS}
    for text, base, reason in STRICTER:
        got, right = outcome(text, base), rights[text, base]
        if got is not None:
            assert "D2-15" in reason
            scheme, _, rest = right.partition("//")
            assert got == f"{scheme}//{rest.partition('@')[2]}"
