"""What users read: made from the code where possible, links that work, and every command and example run."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import re
import runpy
import shutil
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
EVERY_PAGE = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
MORE_PAGES = [ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
TAUGHT = [ROOT / "README.md", *sorted((DOCS / "tutorial").glob("*.md")), *sorted((DOCS / "howto").glob("*.md"))]
TRANSCRIPTS: dict[str, Any] = runpy.run_path(str(DOCS / "transcripts.py"))
MADE: dict[str, Any] = runpy.run_path(str(DOCS / "make.py"))["PAGES"]
PICTURES: dict[str, Any] = runpy.run_path(str(DOCS / "make_pictures.py"))
LISTS: dict[str, Any] = runpy.run_path(str(DOCS / "make_lists.py"))
LINK = re.compile(r"\]\(([^)\s]+)\)")
BLOCKS = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def prose(page: Path) -> str:
    return BLOCKS.sub("", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", MADE)
def test_a_page_that_is_made_from_the_code_is_as_the_code_is(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == MADE[name](), "run `make docs`"


# -- Links


def anchors(page: Path) -> set[str]:
    """The names by which a heading can be linked to."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*EVERY_PAGE, *MORE_PAGES], ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(prose(page)):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def check(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [*programs.SPANIEL, "check", "--offline", "--fragments", "--no-history", *arguments]
    return programs.run(command, cwd=cwd, capture_output=True, text=True)


def test_spaniel_check_finds_no_broken_link_in_the_docs(tmp_path: Path) -> None:
    done = check("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs")
    assert done.returncode == 0, done.stdout
    assert int(re.findall(r"(\d+) links?:", done.stdout)[0]) > 100
    (tmp_path / "a.md").write_text("[b](b.md) [c](#nothing)\n", encoding="utf-8")
    assert check(str(tmp_path)).returncode == 1  # the control


def test_every_page_is_two_clicks_from_the_front_page() -> None:
    reached, around = {DOCS / "index.md"}, {DOCS / "index.md"}
    for _ in range(2):
        targets = (
            (page.parent / link.partition("#")[0]).resolve() for page in around for link in LINK.findall(prose(page))
        )
        around = {target for target in targets if target.suffix == ".md"} - reached
        reached |= around
    assert sorted(name_of(page) for page in EVERY_PAGE[1:] if page not in reached and page.parent.name != "adr") == []


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"\]\(([^)]+\.md)\)", LISTS["llms_text"]())
    pages = {page.relative_to(DOCS).as_posix() for page in EVERY_PAGE[1:] if page.parent.name != "adr"}
    assert sorted([*listed, "index.md"]) == sorted({*pages, "adr/index.md"})


def test_the_readme_is_short_and_links_to_pages_instead_of_naming_them() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    assert re.findall(r"`(?:docs/[\w/.-]+|[A-Z]+\.md)`", BLOCKS.sub("", text)) == []
    linked = {link.partition("#")[0] for link in LINK.findall(text)}
    pages = ("index", "tutorial/agents", "tutorial/ingestion", "tutorial/links", "howto/private-hosts", "howto/agents",
             "howto/troubleshooting", "reference/errors", "reference/settings", "explanation/benchmarks",
             "explanation/security", "explanation/architecture")  # fmt: skip
    assert linked >= {f"docs/{page}.md" for page in pages}


# -- Words and names


@pytest.mark.parametrize("page", EVERY_PAGE, ids=name_of)
def test_no_guide_speaks_in_requirement_ids(page: Path) -> None:
    if page.name == "requirements.md":
        return
    assert not REQUIREMENT.search(page.read_text(encoding="utf-8"))


OLD = ("told", "tells", "brought", "whoever", "nobody", "errand", "at hand", "heed", "come to rest",
       "way out", "for good", "colour", "behaviour", "licence", "favour", "recognise", "grey")  # fmt: skip
MADE_OF = re.compile(r"<!-- part: .*?<!-- end -->", re.DOTALL)  # its words are the code's


@pytest.mark.parametrize("page", [*EVERY_PAGE, *MORE_PAGES], ids=name_of)
def test_what_is_written_by_hand_uses_plain_american_english(page: Path) -> None:
    name = page.relative_to(DOCS).as_posix() if page.is_relative_to(DOCS) else ""
    if name in MADE and "<!-- part:" not in page.read_text(encoding="utf-8") and page.parent.name == "reference":
        return
    if name == "explanation/requirements.md":
        return
    text = re.sub(r"`[^`]*`", "", MADE_OF.sub("", prose(page)))
    assert re.findall(rf"\b(?:{'|'.join(OLD)})\b", text, re.IGNORECASE) == []


def test_every_code_and_policy_has_its_place() -> None:
    errors = (DOCS / "reference" / "errors.md").read_text(encoding="utf-8")
    assert all(f"| `{code}` |" in errors for code in Code)
    help_for = re.findall(r"^### `(\w+)`$", (DOCS / "howto" / "troubleshooting.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(help_for) == sorted(map(str, Code))
    policies = (DOCS / "reference" / "policies.md").read_text(encoding="utf-8")
    assert [name for name in ("clara", "curious", "exact", "ingest") if f"## `{name}`" in policies] == [
        "clara", "curious", "exact", "ingest",
    ]  # fmt: skip


SOURCE = ROOT / "src" / "spaniel"


def test_the_packages_that_architecture_and_contributing_name_exist() -> None:
    layers = {name for layer in LISTS["layers"]() for name in layer}
    there = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert layers == there - {"__init__", "__main__"}
    assert set(LISTS["WHAT"]) <= layers
    for page in (DOCS / "explanation" / "architecture.md", ROOT / "CONTRIBUTING.md"):
        for name in re.findall(r"`((?:src|tests|tools|docs|bench|requirements)/[\w./-]+)`", prose(page)):
            assert (ROOT / name).exists(), name
        for name in re.findall(r"`([a-z_]+(?:/[a-z_]+)*\.(?:py|toml|js|pyx))`", prose(page)):
            assert (SOURCE / name).exists() or (ROOT / name).exists(), name
    packages = re.findall(r"`(\w+)`", (DOCS / "explanation" / "architecture.md").read_text(encoding="utf-8"))
    assert layers & set(packages) >= {
        "app",
        "url",
        "net",
        "cache",
        "pipeline",
        "robots",
        "hosts",
        "reading",
        "chunking",
    }


@pytest.mark.parametrize("page", EVERY_PAGE, ids=name_of)
def test_only_architecture_names_modules(page: Path) -> None:
    text = re.sub(r"<!--.*?-->", "", prose(page), flags=re.DOTALL)
    modules = re.findall(r"`((?:\w+/)+\w+\.py)\b", text)
    assert page.name == "architecture.md" or [name for name in modules if (SOURCE / name).exists()] == []


# -- Limits on waiting

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

    page = (DOCS / "reference" / "waiting.md").read_text(encoding="utf-8")
    waits = [key.path for key in KEYS if key.name.endswith(("_seconds", "_ms"))]
    assert [path for path in waits if f"`{path}`" not in page] == []
    assert all(f"`{flag}`" in page for flag in ("--timeout", "--max-wait", "--delay", "--host-time", "--total-time"))
    rows = [row for table in runpy.run_path(str(DOCS / "make_waiting.py"))["TABLES"].values() for row in table()]
    assert all(f"| {row.what} | " in page for row in rows)
    listed, missing = {row.constant for row in rows}, []
    for package in ("net", "robots", "hosts", "pipeline", "batch", "health"):
        for path in sorted((SOURCE / package).rglob("*.py")):
            module = path.relative_to(SOURCE).as_posix()
            names = [
                target.id
                for node in ast.parse(path.read_text(encoding="utf-8")).body
                if isinstance(node, ast.Assign)
                for assigned in node.targets
                for target in (assigned.elts if isinstance(assigned, ast.Tuple) else [assigned])
                if isinstance(target, ast.Name) and LIMIT.match(target.id)
            ]
            missing += [
                f"{module}: {name}" for name in names if module not in OURS and f"{module}: {name}" not in listed
            ]
    assert sorted(set(missing) - OTHERS) == []


# -- Commands


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """The port of the site that comes with Spaniel, and a folder with a `spaniel` that starts quickly."""
    folder = tmp_path_factory.mktemp("launcher")
    with TRANSCRIPTS["demo_site"]() as port, programs.launcher(folder) as found:
        yield port, found


@pytest.mark.skipif(sys.platform == "win32", reason="the transcripts are of a POSIX terminal")
@pytest.mark.parametrize("name", TRANSCRIPTS["pages"]())
def test_the_transcripts_are_what_a_terminal_shows_today(name: str, demo: tuple[int, Path], tmp_path: Path) -> None:
    page = (DOCS / name).read_text(encoding="utf-8")
    port, launchers = demo
    assert TRANSCRIPTS["run_again"](name, page, port, tmp_path, launchers) == page, "run `make docs`"


def test_the_pages_with_transcripts_are_found() -> None:
    assert {"../README.md", "tutorial/agents.md", "howto/private-hosts.md", "howto/batch.md"} <= set(
        TRANSCRIPTS["pages"]()
    )


@pytest.mark.skipif(sys.platform == "win32", reason="the picture is of a POSIX terminal")
def test_the_picture_of_the_terminal_is_of_today(demo: tuple[int, Path], tmp_path: Path) -> None:
    port, launchers = demo
    assert PICTURES["picture"](port, tmp_path, launchers) == (DOCS / "terminal.svg").read_text("utf-8"), (
        "run `make docs`"
    )


def test_a_progress_display_leaves_its_last_line() -> None:
    shown = "[#...] 1 of 2\r\nwaiting\r\n\x1b[A\x1b[K\x1b[A\x1b[Kdone\r\nlong line\rshort"
    assert TRANSCRIPTS["screen"](shown) == "done\nshortline"


FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NOT_SHELL = {"python", "py", "pycon", "json", "toml", "text", "xml", "html", "markdown"}
STARTS = re.compile(r"(?:^|[\s;|&(])(?:[\w.~-]*/)*spaniel ([a-z-]+)")


def shell_lines(page: Path) -> list[str]:
    """The lines of shell in the blocks of a page; of a terminal's transcript, what was typed."""
    lines: list[str] = []
    for kind, body in FENCE.findall(page.read_text(encoding="utf-8")):
        if kind not in NOT_SHELL:
            typed = body.replace("\\\n", " ").splitlines()
            lines += [line[2:] for line in typed if line[:2] == "$ "] if kind == "console" else typed
    code = (line.partition(" # ")[0] for line in lines)
    return [line for line in code if any(word[1] in COMMANDS for word in STARTS.finditer(line))]


@pytest.mark.parametrize("page", EVERY_PAGE, ids=name_of)
def test_commands_of_a_page_are_understood_by_the_real_parsers(page: Path) -> None:
    for line in shell_lines(page):
        started = list(commands_in(line.rpartition("run: ")[2]))  # of a CI job
        assert started, line
        for arguments in started:
            parse(arguments)
    if page.parent.name == "adr":  # what was decided once, in the words of that time
        return
    for code in re.findall(r"`(spaniel [a-z][^`]*)`", prose(page)):
        for arguments in commands_in(re.sub(r"[\[\]]|…|\.\.\.", " ", code.replace("\n", " "))):
            parse(arguments, complete=False)


def test_pages_have_commands_to_check() -> None:
    assert len([line for page in EVERY_PAGE for line in shell_lines(page)]) > 150


def test_make_targets_that_the_pages_name_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for page in [*EVERY_PAGE, *MORE_PAGES]:
        text = page.read_text(encoding="utf-8")
        named = re.findall(r"`make ([a-z-]+)", text) + re.findall(r"^make ([a-z-]+)", text, re.MULTILINE)
        assert set(named) <= targets, page


# -- Python

PYTHON = re.compile(r'^```python(?: title="([\w.]+)")?\n(.*?)^```', re.MULTILINE | re.DOTALL)
RUN_ELSEWHERE = {
    "loop.py": "tests/tool/test_readme.py",
    "test_titles.py": "tests/architecture/test_public_names.py",
    "definitions.py": "test_the_definitions_for_models_are_made",
    "domains.py": "test_untitled_examples_run_against_the_practice_site",
}


def python_blocks() -> list[tuple[Path, str, str]]:
    return [
        (page, title, body) for page in EVERY_PAGE for title, body in PYTHON.findall(page.read_text(encoding="utf-8"))
    ]


def test_python_examples_pass_a_strict_type_checker(tmp_path: Path) -> None:
    examples: list[str] = []
    for file, _, block in python_blocks():
        example = tmp_path / f"{file.stem.lower().replace('-', '_')}_{len(examples)}.py"
        example.write_text(block, encoding="utf-8")
        examples.append(str(example))
    assert len(examples) > 12
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml"), *examples]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout


def test_every_python_example_is_run() -> None:
    """A transcript of its page runs it, or a test that is named here."""
    for page, title, _ in python_blocks():
        ran = re.search(rf"^\$ python {re.escape(title)}\b", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert ran or title in RUN_ELSEWHERE or page.name == "README.md", (page, title)


def test_untitled_examples_run_against_the_practice_site(
    demo: tuple[int, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    port, _ = demo
    monkeypatch.setenv("SPANIEL_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("SPANIEL_SECURITY_ALLOWED_PORTS", str(port))
    monkeypatch.setenv("SPANIEL_SECURITY_BLOCK_LOOPBACK", "false")
    monkeypatch.setenv("SPANIEL_SECURITY_ALLOW_INSECURE_OVERRIDES", "true")
    [readme] = [body for page, title, body in python_blocks() if page.name == "README.md" and not title]
    here = f"http://127.0.0.1:{port}/otters"
    exec(compile(readme.replace("https://example.com/article", here), "README.md", "exec"), {})  # noqa: S102
    assert "Otters come back to the river # Otters" in capsys.readouterr().out

    [domains] = [body for _, title, body in python_blocks() if title == "domains.py"]
    namespace: dict[str, Any] = {}
    exec(compile(domains.replace('["example.com"]', '["127.0.0.1"]'), "domains.py", "exec"), namespace)  # noqa: S102
    assert "weir" in asyncio.run(namespace["read"](here))


def test_the_definitions_for_models_are_made() -> None:
    from spaniel.tool import WebFetchMoreTool, WebFetchTool

    [body] = [body for _, title, body in python_blocks() if title == "definitions.py"]
    namespace: dict[str, Any] = {}
    exec(compile(body, "definitions.py", "exec"), namespace)  # noqa: S102
    nothing: Any = None
    tools = [WebFetchTool(nothing, nothing), WebFetchMoreTool(nothing, nothing)]
    for family in ("gemini", "openai"):
        assert "web_fetch_more" in json.dumps(namespace["definitions"](tools, family))


NEEDS = {"parquet": r"\.parquet\b|\bParquet\b", "ray": r"--engine ray\b", "pdf": r"\bPDFs?\b"}


@pytest.mark.parametrize("page", TAUGHT, ids=name_of)
def test_a_page_names_the_extras_that_it_needs(page: Path) -> None:
    """`pip install .`, which README shows, has none of them."""
    text = page.read_text(encoding="utf-8")
    for extra, needs in NEEDS.items():
        if re.search(needs, text):
            assert re.search(rf"'\.\[(?:\w+,)*{extra}(?:,\w+)*\]'", text), extra


# -- The site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built from a copy of what git would give to a clone, without a network."""
    root = tmp_path_factory.mktemp("clone")
    shutil.copytree(DOCS, root / "docs", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(ROOT / "zensical.toml", root / "zensical.toml")
    nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
    command = [sys.executable, str(root / "docs" / "make_site.py")]
    done = subprocess.run(
        command, env={**os.environ, **nowhere}, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return root / "site"


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 60
    for page in pages:
        html = page.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|img|link|iframe|source)\b[^>]*?(?:src|href)="([^"]+)"', html)
        assert [url for url in loaded if "//" in url] == [], page
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"url\(\"?(?:https?:)?//[^)]*", styles) == []


def test_the_site_has_a_search_and_markdown_beside_each_page(site: Path) -> None:
    found = json.loads((site / "search.json").read_text(encoding="utf-8"))
    assert len(found["items"]) > 300
    for page in EVERY_PAGE[1:]:
        copy = site / page.relative_to(DOCS)
        assert copy.read_bytes() == (site.parent / "docs" / page.relative_to(DOCS)).read_bytes()
        assert copy.with_suffix(".html").is_file()
    assert (site / "llms.txt").is_file()
    assert (site / "reference" / "record.schema.json").is_file()
    assert not list(site.rglob("*.py"))


def test_spaniel_check_finds_no_broken_link_in_the_site(site: Path) -> None:
    done = check("--root-dir", str(site), "--exclude-path", r"404\.html$", str(site), cwd=site)
    assert done.returncode == 0, done.stdout[-3000:]
