"""Keys: the SRD's own, and never one for two questions."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.cache import key_for
from spaniel.cache.folder import CacheFolder
from spaniel.errors import Code, SpanielError

URLS = st.one_of(
    st.sampled_from(["https://a.example/", "https://a.example/http", "https://a.example/p@1"]), st.text(max_size=40)
).filter(lambda url: "\n" not in url)
RENDERINGS = st.sampled_from(["http", "browser"])
NAMES = st.one_of(st.sampled_from(["ingest", "ingest1", "i", "http", ""]), st.text(max_size=8)).filter(
    lambda name: not set(name) & {"@", "\n"} and name != "web_fetch"
)
VERSIONS = st.one_of(st.sampled_from(["1", "11", "1@1"]), st.text(max_size=4)).filter(lambda text: "\n" not in text)
OVERRIDES = st.one_of(st.sampled_from(["", "block_loopback=false", "i@1"]), st.text(max_size=8)).filter(
    lambda text: "\n" not in text
)
PROFILES = st.one_of(st.just(("web_fetch", "1")), st.tuples(NAMES, VERSIONS))  # the first: the SRD's
QUESTIONS = st.builds(
    lambda url, rendering, profile, overrides: (url, rendering, *profile, overrides),
    URLS, RENDERINGS, PROFILES, OVERRIDES,
)  # fmt: skip


@pytest.mark.req("FR-WF-16", "T-WF-DET-01")
@pytest.mark.parametrize("rendering", ["http", "browser"])
def test_the_key_is_the_sha256_that_the_srd_names(rendering: str) -> None:
    url = "https://example.com/page?a=1"
    assert key_for(url, rendering).hex == hashlib.sha256(f"{url}\n{rendering}".encode()).hexdigest()
    assert key_for(url, rendering) == key_for(url, rendering, "web_fetch", 7)


@pytest.mark.req("D2-24")
def test_another_profile_appends_its_name_and_version() -> None:
    url = "https://example.com/page"
    wanted = hashlib.sha256(f"{url}\nhttp\ningest@3".encode()).hexdigest()
    key = key_for(url, "http", "ingest", 3)
    assert key.hex == wanted == key_for(url, "http", "ingest", "3").hex
    assert key[:3] == (url, "http", "ingest@3")  # what it was made of is compared with what a file says
    assert key_for(url, "http", "ingest") == key_for(url, profile="ingest", version=1)


@pytest.mark.req("FR-WF-16", "D2-24")
@pytest.mark.parametrize(("profile", "third"), [("web_fetch", ""), ("ingest", "ingest@1")])
def test_overrides_stand_on_the_fourth_line(profile: str, third: str) -> None:
    """Else what is in the cache would not be found again by the next version."""
    wanted = hashlib.sha256(f"https://a.example/\nhttp\n{third}\nblock_loopback".encode()).hexdigest()
    assert key_for("https://a.example/", "http", profile, 1, "block_loopback").hex == wanted


@pytest.mark.req("FR-WF-16")
def test_the_srds_own_profile_is_not_part_of_the_key() -> None:
    assert key_for("https://example.com/", "browser")[:3] == ("https://example.com/", "browser", None)


@pytest.mark.req("FR-WF-16")
def test_text_that_no_encoding_holds_has_a_key_too() -> None:
    wanted = hashlib.sha256(b"https://a.example/\xed\xa0\x80\nhttp").hexdigest()
    assert key_for("https://a.example/\ud800").hex == wanted


@pytest.mark.req("FR-WF-16", "D2-24")
@given(URLS, RENDERINGS, PROFILES)
def test_without_overrides_a_key_is_what_it_was_before_there_were_any(
    url: str, rendering: str, profile: tuple[str, str]
) -> None:
    named = [] if profile[0] == "web_fetch" else ["@".join(profile)]
    wanted = hashlib.sha256("\n".join([url, rendering, *named]).encode("utf-8", "surrogatepass")).hexdigest()
    assert key_for(url, rendering, *profile, overrides="").hex == key_for(url, rendering, *profile).hex == wanted


@pytest.mark.req("FR-WF-16", "D2-24")
@given(URLS, RENDERINGS, PROFILES, OVERRIDES, OVERRIDES)
def test_what_was_fetched_under_other_overrides_is_kept_apart(
    url: str, rendering: str, profile: tuple[str, str], one: str, two: str
) -> None:
    keys = [key_for(url, rendering, *profile, overrides=text) for text in (one, two)]
    assert (keys[0].hex == keys[1].hex) == (one == two)
    assert [key.overrides for key in keys] == [one, two]  # compared with what a file says


@pytest.mark.req("FR-WF-16", "D2-24", "T-WF-CCH-04")
@given(QUESTIONS, QUESTIONS)
def test_two_keys_are_equal_exactly_when_the_questions_are(one: tuple[str, ...], two: tuple[str, ...]) -> None:
    assert (key_for(*one).hex == key_for(*two).hex) == (one == two)


@pytest.mark.req("FR-WF-16", "D2-24")
@pytest.mark.parametrize(
    ("question", "reason"),
    [
        (("https://a.example/\nhttp", "http"), "canonical_url: holds a line break"),
        (("https://a.example/", "HTTP"), "rendering_method: is none of http, browser"),
        (("https://a.example/", "http", "a@b", "1"), "profile: holds '@' or a line break"),
        (("https://a.example/", "http", "a\nb", "1"), "profile: holds '@' or a line break"),
        (("https://a.example/", "http", "a", "1\n2"), "profile: holds '@' or a line break"),
        (("https://a.example/", "http", "a", "1", "b\nc"), "overrides: holds a line break"),
    ],
)
def test_what_separates_the_parts_may_not_be_in_them(question: tuple[str, ...], reason: str) -> None:
    with pytest.raises(SpanielError) as caught:
        key_for(*question)
    assert (caught.value.code, caught.value.message) == (Code.BAD_ARGS, reason)


@pytest.mark.req("T-WF-DET-01")
@pytest.mark.parametrize("seed", ["0", "1"])
def test_another_process_makes_the_same_key(seed: str) -> None:
    """Whatever Python hashes texts to there."""
    url = "https://example.com/päge?a=1"
    code = "import sys; from spaniel.cache import key_for; print(key_for(sys.argv[1], 'browser').hex)"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, url], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == key_for(url, "browser").hex == hashlib.sha256(f"{url}\nbrowser".encode()).hexdigest()


@pytest.mark.req("FR-WF-16a", "FR-WF-16b", "T-WF-CCH-05")
@pytest.mark.parametrize("url", ["https://a.example/../../etc/passwd", "https://a.example/%00/\x00", "../" * 99, ""])
def test_the_path_is_made_of_the_hash_alone(tmp_path: Path, url: str) -> None:
    key = key_for(url)
    assert Path(CacheFolder(str(tmp_path)).path(key.hex)) == tmp_path / key.hex[:2] / f"{key.hex}.json"
    assert len(key.hex) == 64
    assert set(key.hex) <= set("0123456789abcdef")
