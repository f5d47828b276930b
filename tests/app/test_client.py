"""The Python surface: what `help`, `repr` and a first script show, against a real site on loopback."""

from __future__ import annotations

import inspect
import pydoc
from collections.abc import Callable
from pathlib import Path

import pytest

import spaniel
from spaniel import Answer, Outcome, Spaniel, SpanielError
from spaniel.app.client import FetchKeywords
from spaniel.chunking import Chunk
from spaniel.pipeline.outcome import Attempt
from spaniel.pipeline.request import Request
from spaniel.reading import Document, Metadata
from spaniel.testing import Site, spaniel_for, text
from spaniel.url import Canonical
from tests.test_errors import REQUIREMENT

PAGE = (
    200,
    {"Content-Type": "text/html"},
    b"<title>Otters return - The Daily Otter</title><h1>Otters return</h1>"
    + b"<p>Otters are back in the river.</p>" * 90,
)
LINE = 200  # characters: what a prompt shows of a value


def here(site: Site, cache: Path) -> dict[str, object]:
    """Settings by their short names, that let a client look at a site on loopback."""
    return {
        "security_block_loopback": False,
        "security_allow_insecure_overrides": True,
        "security_allowed_ports": [site.port],
        "cache_dir": str(cache),
    }


async def test_values_show_themselves_in_one_short_line(tmp_path: Path) -> None:
    async with Site({"/a": PAGE}) as site, spaniel_for(site, cache=tmp_path) as client:
        answer = await client.fetch(site.url("/a?" + "x" * 500))
        outcome = await client.outcome(Request(site.url("/a")))
        gone = await client.outcome(Request(site.url("/gone")))
    document = spaniel.extract(PAGE[2])
    for value in (answer, answer.chunks[0], outcome, outcome.found, gone, document, gone.attempts[0]):
        assert len(repr(value)) <= 2 * LINE
        assert "\n" not in repr(value)
    assert repr(answer).startswith("Answer('http://site.example:")
    assert "'Otters return'" in repr(answer)
    assert "http_4xx" in repr(gone)
    assert (isinstance(answer, Answer), isinstance(outcome, Outcome)) == (True, True)


async def test_an_error_names_its_url(tmp_path: Path) -> None:
    async with Site({}) as site, spaniel_for(site, cache=tmp_path) as client:
        with pytest.raises(SpanielError) as caught:
            await client.fetch(site.url("/gone"))
    assert str(caught.value) == f"http_4xx: The server returned 404 Status ({site.url('/gone')})"
    assert caught.value.url == site.url("/gone")


async def test_settings_and_a_profile_can_be_passed_with_a_call(tmp_path: Path) -> None:
    (tmp_path / "text.toml").write_text('name = "text"\nversion = "1"\ncontent = ["text"]\n', encoding="utf-8")
    async with Site({"/a": PAGE, "/b": text("hello")}) as site:
        url = f"http://127.0.0.1:{site.port}"
        settings = {**here(site, tmp_path / "cache"), "user_agent": "otter/1"}
        answer = await spaniel.afetch(f"{url}/a", settings=settings)
        assert answer.title == "Otters return"
        assert {headers["user-agent"] for headers in site.seen} == {"otter/1"}
        with pytest.raises(SpanielError, match="unsupported_content_type"):
            await spaniel.afetch(f"{url}/a", profile=tmp_path / "text.toml", settings=settings)
        async with Spaniel.from_config(None, profile=str(tmp_path / "text.toml"), **settings) as client:
            assert (await client.fetch(f"{url}/b")).markdown == "hello\n"
            assert client.settings["tools.webfetch.user_agent"] == "otter/1"


def test_arguments_override_the_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[tools.webfetch]\nuser_agent = "file/1"\nmax_redirects = 2\n', encoding="utf-8")
    settings = Spaniel.from_config(str(file), user_agent="call/1").settings
    assert (settings["tools.webfetch.user_agent"], settings["tools.webfetch.max_redirects"]) == ("call/1", 2)
    for wrong, fields in (
        ({"user_agnet": "x"}, "did you mean 'user_agent'?"),
        ({"timeout_seconds": 0}, "timeout_seconds: must be 1 to 300"),
        ({"robots_fail_open": "yes"}, "robots_fail_open: must be true or false"),
    ):
        with pytest.raises(SpanielError) as caught:
            Spaniel.from_config(None, **wrong)
        assert fields in str(caught.value)


def test_help_shows_names_without_requirement_ids() -> None:
    assert (spaniel.fetch.__name__, spaniel.afetch.__name__) == ("fetch", "afetch")
    for thing in [*(getattr(spaniel, name) for name in spaniel.__all__), Chunk, Document, Metadata, Canonical, Attempt]:
        assert inspect.getdoc(thing), thing
        fields = pydoc.plain(pydoc.render_doc(thing))
        assert not REQUIREMENT.search(fields), thing
        assert "SRD" not in fields, thing


@pytest.mark.req("FR-WF-13e", "FG-17")
async def test_title_is_the_headline_and_the_tool_has_the_title_element(tmp_path: Path) -> None:
    async with Site({"/a": PAGE, "/plain": text("hello")}) as site, spaniel_for(site, cache=tmp_path) as client:
        for _ in range(2):  # from the site, then from the cache
            answer = await client.fetch(site.url("/a"))
            assert answer.title == answer.metadata["title"] == "Otters return"
            assert answer.page_title == answer.as_dict()["title"] == "Otters return - The Daily Otter"
        plain = await client.fetch(site.url("/plain"))
        assert (plain.title, plain.metadata["title"], "title" in plain.as_dict()) == (None, None, False)


@pytest.mark.parametrize("fetch", [Spaniel.fetch, spaniel.afetch, spaniel.fetch])
def test_each_fetch_option_is_documented_and_accepted(fetch: Callable[..., object]) -> None:
    """By its annotation, which type checkers read; the names stand in one place."""
    assert inspect.signature(fetch).parameters["options"].annotation == "Unpack[FetchKeywords]"
    fields = inspect.getdoc(Spaniel.fetch) or ""
    assert [name for name in FetchKeywords.__annotations__ if f"\n{name} " not in fields] == []


async def test_an_option_that_is_none_is_refused_as_by_any_function(tmp_path: Path) -> None:
    async with Site({}) as site, spaniel_for(site, cache=tmp_path) as client:
        with pytest.raises(TypeError, match="unexpected keyword argument 'wait_four'"):
            await client.fetch(site.url("/"), wait_four="#late")  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="unexpected keyword argument 'wait_four'"):
            await spaniel.afetch(site.url("/"), settings=here(site, tmp_path), wait_four="#late")  # type: ignore[call-arg]
        assert not site.requests
