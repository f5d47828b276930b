"""What holds for every URL, under every policy."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.urls import realistic
from hypothesis import assume, example, given
from hypothesis import strategies as st

from spaniel.errors import SpanielError
from spaniel.url import Canonical, canonicalize, load, parse
from spaniel.url.parsing import judge, settle
from spaniel.url.policy import shipped
from spaniel.url.value import recognize
from tests.url.strategies import anything, urls

ROOT = Path(__file__).resolve().parents[2]
POLICIES = shipped()
policies = st.sampled_from(POLICIES)


def canonical(raw: str, policy: str) -> Canonical:
    try:
        return canonicalize(raw, policy)
    except SpanielError:
        assume(False)
        raise


@pytest.mark.req("UN-08", "FG-12", "D2-16")
@given(urls, policies)
@example("https://h.example/..;jsessionid=1/..;sid=2/b", "clara")
@example("https://boe.es/?page=2", "clara")
@example("https://h.example/%%34%31", "exact")
@example("https://h.example//", "ingest")
def test_canonical_is_a_fixed_point(raw: str, policy: str) -> None:
    once = canonical(raw, policy).url
    assert canonicalize(once, policy).url == once


@given(urls, policies)
def test_the_canonical_url_is_one_that_the_parser_leaves_alone(raw: str, policy: str) -> None:
    result = canonical(raw, policy).url
    assert parse(result).href in (result, f"{result}/")  # the latter where a bare root is text (CP-02)


hidden = st.sampled_from("\u202e\u2066\u200f\u2028\u2029\u200b\ufeff\ufffe\u00ad\U0001bca0\U000e0041\u00a0\udcff")
spoilt = st.one_of(
    st.builds(lambda url, sign, at: url[: at % len(url)] + sign + url[at % len(url) :], urls, hidden, st.integers(0)),
    st.builds("https://h.example/{0}?utm_{0}={0}&page={0}&{0}=1#{0}".format, hidden),
)


@pytest.mark.req("CP-20", "UN-06")
@given(spoilt, policies)
def test_nothing_that_is_said_of_a_url_steers_or_hides_whatever_the_policy(raw: str, policy: str) -> None:
    result = canonical(raw, policy)
    assert result.url.isascii()
    assert all(text.isprintable() for text in strings([result.url, result.as_dict()]))


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from strings([*value, *value.values()])
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings(item)


@pytest.mark.req("CP-16")
@given(urls, policies)
def test_the_explained_run_and_the_compiled_run_agree(raw: str, policy: str) -> None:
    quick = canonical(raw, policy)
    slow = load(policy).explain(raw)
    assert (quick.url, quick.original) == (slow.url, slow.original)
    assert quick.as_dict() == slow.as_dict()
    assert slow.steps[-1].after == quick.url


@given(st.deferred(lambda: st.sampled_from(realistic(5000, seed=7))), policies)
def test_they_agree_on_realistic_urls_too(raw: str, policy: str) -> None:
    assert canonicalize(raw, policy).url == load(policy).explain(raw).url


@given(st.one_of(urls, st.deferred(lambda: st.sampled_from(realistic(5000, seed=9)))))
@example("http://example.com:80/")
@example("https://example.com:443")
@example("http://example.com:65536/")
@example("http://example.com:08/")
def test_what_is_recognized_as_plain_is_what_the_parser_says(raw: str) -> None:
    parts = recognize(raw)
    if parts is not None:
        url = settle(judge(raw))
        assert parts == (url.scheme, url.host, "" if url.port is None else f":{url.port}", *url[3:])
        assert parse(raw) == url


@pytest.mark.req("FR-WF-NORM-01", "FR-WF-NORM-05")
@given(urls)
def test_exact_never_changes_the_origin_or_the_query(raw: str) -> None:
    result = parse(canonical(raw, "exact").url)
    written = parse(raw)
    assert result.origin == written.origin
    assert result.query == written.query
    assert result.fragment is None


@given(anything, policies)
def test_only_spaniel_errors_are_raised(raw: str, policy: str) -> None:
    for run in (load(policy).apply, load(policy).explain):
        try:
            run(raw).as_dict()
        except SpanielError as error:
            error.as_json().encode()


@pytest.mark.parametrize("raw", [None, 7, ["http://example.com"]])
@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_not_text_is_a_bad_argument_in_every_policy(raw: object, policy: str) -> None:
    with pytest.raises(SpanielError, match="expected text"):
        canonicalize(raw, policy)  # type: ignore[arg-type]


@pytest.mark.req("D2-15", "FG-03")
@given(urls.map(lambda url: url.replace("://", "://user:pw@", 1)), policies)
def test_credentials_are_in_nothing_that_comes_out(raw: str, policy: str) -> None:
    result = canonical(raw, policy)
    assert "user:pw" not in repr(result.as_dict())
    assert result.warnings


@given(urls, policies)
def test_a_result_survives_a_process_boundary(raw: str, policy: str) -> None:
    result = canonical(raw, policy)
    assert pickle.loads(pickle.dumps(result)).as_dict() == result.as_dict()  # noqa: S301


@pytest.mark.req("UN-08", "T-WF-DET-02")
def test_every_process_and_hash_seed_gives_the_same() -> None:
    script = (
        "from bench.urls import realistic\nfrom spaniel import canonicalize\n"
        "from hashlib import sha256\nimport json\n"
        f"out = [canonicalize(u, p).as_dict() for u in realistic(400, seed=3) for p in {POLICIES!r}]\n"
        "print(sha256(json.dumps(out).encode()).hexdigest())"
    )
    digests = set()
    for seed in ("0", "1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        digests.add(done.stdout)
    assert len(digests) == 1
