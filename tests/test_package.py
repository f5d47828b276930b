"""The package as others meet it: lazy, typed, and in order."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import spaniel

ROOT = Path(__file__).resolve().parent.parent


def imported_by(statement: str) -> set[str]:
    script = f"{statement}\nimport sys; print(' '.join(sys.modules))"
    return set(
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    )


def test_importing_the_package_loads_nothing_else() -> None:
    assert not {name for name in imported_by("import spaniel") if name.startswith("spaniel.")}


def test_the_public_names_load_on_first_use() -> None:
    assert spaniel.canonicalize("https://Example.com").url == "https://example.com/"
    assert set(spaniel.__all__) <= set(dir(spaniel))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = spaniel.nothing


def test_help_loads_nothing_heavy() -> None:
    loaded = imported_by(
        "import sys; from spaniel.cli.main import main; sys.stdout = sys.stderr; main([]); sys.stdout = sys.__stdout__"
    )
    assert not loaded & {
        "asyncio",
        "dataclasses",
        "typing",
        "ada_url",
        "rich",
        "tomllib",
        "shutil",
        "spaniel.url",
        "spaniel.errors",
    }


def test_a_plain_url_needs_no_parser() -> None:
    loaded = imported_by("import spaniel; spaniel.canonicalize('https://example.com/a?b=1')")
    assert not loaded & {"ada_url", "cffi", "rich", "dataclasses"}


def test_no_file_names_an_index_or_this_machine() -> None:
    files = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split("\0")
    for name in filter(None, files):
        text = (ROOT / name).read_bytes()
        assert b"index-" + b"url" not in text, name
        assert str(ROOT).encode() + b"/" not in text, name
        if "lock" in name or name.startswith("requirements/"):
            assert b"://" not in text, name


@pytest.mark.req("FR-WF-02")
@pytest.mark.parametrize(
    ("name", "given", "field"),
    [
        ("extract", (None,), "html"),
        ("extract", (b"<p>x", 5), "url"),
        ("chunk", (b"text",), "markdown"),
        ("chunk", ("text", "600"), "max_chunk_tokens"),
        ("canonicalize", (None,), "url"),
        ("fetch", (None,), "url"),
        ("fetch", ("https://example.com/", "600"), "max_chunk_tokens"),
    ],
)
def test_a_wrong_argument_is_told_by_its_name(name: str, given: tuple[object, ...], field: str) -> None:
    with pytest.raises(spaniel.SpanielError) as caught:
        getattr(spaniel, name)(*given)
    assert caught.value.code == "bad_args"
    assert field in str(caught.value)
