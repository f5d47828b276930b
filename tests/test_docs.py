"""What users read: made from the code where it can be, with links that lead somewhere and transcripts that hold."""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spaniel.cli.main import COMMANDS
from spaniel.errors import Code
from tests import programs
from tests.cli.commands import commands_in, parse
from tests.test_errors import REQUIREMENT

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
GUIDES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted((DOCS / "guides").glob("*.md"))]
TRANSCRIPTS: dict[str, Any] = runpy.run_path(str(DOCS / "transcripts.py"))
MADE: dict[str, Any] = runpy.run_path(str(DOCS / "make.py"))["PAGES"]
LINK = re.compile(r"\]\(([^)\s]+)\)")
BLOCKS = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", MADE)
def test_a_page_that_is_made_from_the_code_is_as_the_code_is(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == MADE[name](), "run `make docs`"


def anchors(page: Path) -> set[str]:
    """The names by which a heading can be linked to."""
    text = BLOCKS.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", GUIDES, ids=lambda path: path.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(BLOCKS.sub("", page.read_text(encoding="utf-8"))):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_readme_links_to_pages_instead_of_naming_them() -> None:
    text = BLOCKS.sub("", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert re.findall(r"`(?:docs/[\w/.-]+|[A-Z]+\.md)`", text) == []
    linked = {link.partition("#")[0] for link in LINK.findall(text)}
    for page in (*MADE, "quickstart.md", "first-minutes.md", "guides/testing-locally.md"):
        assert f"docs/{page}" in linked


@pytest.mark.parametrize("page", GUIDES, ids=lambda path: path.name)
def test_no_guide_speaks_in_requirement_ids(page: Path) -> None:
    if page.name in ("map.md", "tool.md", "requirements.md"):  # for those who work on it
        return
    assert not REQUIREMENT.search(page.read_text(encoding="utf-8"))


def test_every_code_and_policy_has_its_place() -> None:
    errors = (DOCS / "errors.md").read_text(encoding="utf-8")
    assert all(f"| `{code}` |" in errors for code in Code)
    policies = (DOCS / "policies.md").read_text(encoding="utf-8")
    assert [name for name in ("clara", "curious", "exact", "ingest") if f"## `{name}`" in policies] == [
        "clara", "curious", "exact", "ingest",
    ]  # fmt: skip


LIMIT = re.compile(r"^_?[A-Z_]*(SECONDS|PATIENCE|PAUSE|WAIT|DELAY|BACKOFF)$")
OURS = {  # waits for processes, files and connections of our own: no site has a say in them
    *("net/egress.py", "net/sockets.py", "net/pool.py", "pipeline/readers.py", "pipeline/reading_process.py"),
    *("pipeline/readers.py", "batch/supervisor.py", "batch/ray_workers.py", "batch/worker.py"),
    *("health/journal.py",),
}
OTHERS = {  # no limits on a wait
    *("net/resolver.py: KEPT_SECONDS", "robots/rules.py: _DELAY"),
    "health/pages.py: MOST_REFRESH_SECONDS",
}


@pytest.mark.req("FG-46")
def test_every_limit_on_waiting_has_its_line() -> None:
    """Settings, options, and constants of the code that talks to sites."""
    from spaniel.app.keys import KEYS

    page = (DOCS / "guides" / "waiting.md").read_text(encoding="utf-8")
    waits = [key.path for key in KEYS if key.name.endswith(("_seconds", "_ms"))]
    assert [path for path in waits if f"`{path}`" not in page] == []
    assert all(f"`{flag}`" in page for flag in ("--timeout", "--max-wait", "--delay", "--host-time", "--total-time"))
    source, missing = ROOT / "src" / "spaniel", []
    for package in ("net", "robots", "hosts", "pipeline", "batch", "health"):
        for path in sorted((source / package).rglob("*.py")):
            module = path.relative_to(source).as_posix()
            names = [
                target.id
                for node in ast.parse(path.read_text(encoding="utf-8")).body
                if isinstance(node, ast.Assign)
                for assigned in node.targets
                for target in (assigned.elts if isinstance(assigned, ast.Tuple) else [assigned])
                if isinstance(target, ast.Name) and LIMIT.match(target.id)
            ]
            missing += [
                f"{module}: {name}" for name in names if module not in OURS and f"`{module}: {name}`" not in page
            ]
    assert sorted(set(missing) - OTHERS) == []


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """The port of the site that comes with Spaniel, and a folder with a `spaniel` that starts quickly."""
    folder = tmp_path_factory.mktemp("launcher")
    with TRANSCRIPTS["demo_site"]() as port, programs.launcher(folder) as found:
        yield port, found


@pytest.mark.skipif(sys.platform == "win32", reason="the transcripts are of a POSIX terminal")
@pytest.mark.parametrize("name", ["../README.md", "quickstart.md", "first-minutes.md", "guides/testing-locally.md",
                                  "guides/many-pages.md", "guides/python.md", "guides/registry.md", "guides/ingest.md",
                                  "guides/canonical-links.md", "guides/links.md"])  # fmt: skip
def test_the_transcripts_are_what_a_terminal_shows_today(name: str, demo: tuple[int, Path], tmp_path: Path) -> None:
    assert name in TRANSCRIPTS["PAGES"]
    page = (DOCS / name).read_text(encoding="utf-8")
    port, programs = demo
    assert TRANSCRIPTS["told_again"](page, port, tmp_path, programs) == page, "run `make docs`"


def test_python_examples_pass_a_strict_type_checker(tmp_path: Path) -> None:
    examples: list[str] = []
    for file in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for block in re.findall(r"^```python\n(.*?)^```", file.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            example = tmp_path / f"{file.stem.lower().replace('-', '_')}_{len(examples)}.py"
            example.write_text(block, encoding="utf-8")
            examples.append(str(example))
    assert len(examples) > 5
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml"), *examples]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout


FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NOT_SHELL = {"python", "json", "toml", "text", "xml", "html", "markdown"}
STARTS = re.compile(r"(?:^|[\s;|&(])(?:[\w.~-]*/)*spaniel ([a-z-]+)")
EVERY_PAGE = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def shell_lines(page: Path) -> list[str]:
    """The lines of shell in the blocks of a page; of a terminal's transcript, what was typed."""
    lines: list[str] = []
    for kind, body in FENCE.findall(page.read_text(encoding="utf-8")):
        if kind not in NOT_SHELL:
            typed = body.replace("\\\n", " ").splitlines()
            lines += [line[2:] for line in typed if line[:2] == "$ "] if kind == "console" else typed
    code = (line.partition(" # ")[0] for line in lines)
    return [line for line in code if any(word[1] in COMMANDS for word in STARTS.finditer(line))]


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda path: path.name)
def test_commands_of_a_page_are_understood_by_the_real_parsers(page: Path) -> None:
    for line in shell_lines(page):
        started = list(commands_in(line.rpartition("run: ")[2]))  # of a CI job
        assert started, line
        for arguments in started:
            parse(arguments)
    if page.parent.name == "adr":  # what was decided once, in the words of that time
        return
    for code in re.findall(r"`(spaniel [a-z][^`]*)`", BLOCKS.sub("", page.read_text(encoding="utf-8"))):
        for arguments in commands_in(re.sub(r"[\[\]]|…|\.\.\.", " ", code.replace("\n", " "))):
            parse(arguments, complete=False)


def test_pages_have_commands_to_check() -> None:
    assert len([line for page in EVERY_PAGE for line in shell_lines(page)]) > 80


TAUGHT = [
    ROOT / "README.md",
    DOCS / "quickstart.md",
    DOCS / "first-minutes.md",
    *sorted((DOCS / "guides").glob("*.md")),
]
NEEDS = {"parquet": r"\.parquet\b|\bParquet\b", "ray": r"--engine ray\b", "pdf": r"\bPDFs?\b"}


@pytest.mark.parametrize("page", TAUGHT, ids=lambda path: path.name)
def test_a_page_names_the_extras_that_it_needs(page: Path) -> None:
    """`pip install .`, which README shows, has none of them."""
    text = page.read_text(encoding="utf-8")
    for extra, needs in NEEDS.items():
        if re.search(needs, text):
            assert re.search(rf"pip install '\.\[(?:\w+,)*{extra}(?:,\w+)*\]'", text), extra
