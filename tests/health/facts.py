"""Short constructors for observations and verdicts in tests."""

from __future__ import annotations

from spaniel.errors import Code
from spaniel.health.judging import judge
from spaniel.health.links import Checked, Link
from spaniel.verdicts import NOTHING, Evidence, Expected, Hop, Observation, Past

URL = "http://site.test/docs/page"
LINK = Link(URL)
NOW = 1_800_000_000.0
HASH = "a" * 64


def answer(status: int | None, method: str = "GET", *chain: Hop, final: str = URL, **facts: object) -> Observation:
    return Observation(NOW, Evidence(method, status, chain, final), **facts)  # type: ignore[arg-type]


def refusal(code: Code, cause: str = "", *chain: Hop, method: str = "GET", **facts: object) -> Observation:
    evidence = Evidence(method, None, chain, "http://end.test/")
    return Observation(NOW, evidence, str(code), "The sentence of it", cause, **facts)  # type: ignore[arg-type]


def judged(observation: Observation, past: Past = NOTHING, **expected: object) -> Checked:
    link = Link(URL, expected=Expected(**expected))  # type: ignore[arg-type]
    checked = judge(observation, link, past)
    assert checked.link is link
    return checked
