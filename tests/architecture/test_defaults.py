"""Each default is written once, in spaniel/defaults.py: what uses it follows a change, and no one writes it again."""

from __future__ import annotations

import ast
import operator
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from spaniel import defaults
from spaniel.defaults import Number
from tests.architecture.source import PACKAGE

CHANGED = Path(__file__).with_name("changed_defaults.py")
NAMES = {  # by which names a default goes where it is used, in lower case and without dashes
    "USER_AGENT": ("user_agent", "agent"),
    "TIMEOUT_SECONDS": ("timeout_seconds", "timeout"),
    "MAX_WAIT_SECONDS": ("max_wait_seconds", "max_wait", "longest_wait", "wait_seconds"),
    "MAX_REDIRECTS": ("max_redirects", "most_redirects"),
    "MAX_ROBOTS_REDIRECTS": ("max_robots_redirects",),
    "MAX_LINK_REDIRECTS": ("max_link_redirects", "max_redirects"),
    "CHUNK_TOKENS": ("default_max_chunk_tokens", "max_chunk_tokens", "chunk_tokens", "max_tokens"),
    "DOWNLOAD_BYTES": ("max_download_bytes", "download_bytes", "max_bytes"),
    "AT_ONE_HOST": ("at_once", "at_one_host"),
    "FETCH_JOBS": ("jobs", "fetch_jobs"),
    "FETCH_PER_HOST": ("per_host",),
    "CANON_JOBS": ("jobs",),
    "PORTS": ("ports", "allowed_ports", "default_ports"),
    "CACHE_TTL_DAYS": ("ttl_days", "cache_ttl_days"),
    "CACHE_ENTRIES": ("max_entries", "max_cache_entries", "cache_entries"),
    "CACHE_BYTES": ("max_bytes", "max_cache_bytes", "cache_bytes"),
    "ROBOTS_CACHE_ENTRIES": ("cache_entries", "robots_cache_entries"),
    "ROBOTS_CACHE_TTL_HOURS": ("cache_ttl_hours", "ttl_hours", "robots_cache_ttl_hours"),
    "QUEUE_ENTRIES": ("max_entries", "queue_entries"),
    "HTTP_ONLY_DAYS": ("http_only_days",),
    "IDLE_MS": ("idle_ms", "network_idle_ms"),
    "RENDERED_BYTES": ("max_rendered_dom_bytes", "rendered_bytes"),
    "BLOCKED_RESOURCES": ("block_resources", "blocked_resources"),
    "WINDOW_WIDTH": ("width", "viewport_width", "window_width", "widest"),
    "WINDOW_HEIGHT": ("height", "viewport_height", "window_height", "tallest"),
    "SHORT_PAGE_CHARS": ("min_extracted_chars",),
    "OUTPUT_BYTES": ("max_output_bytes", "available_capacity_bytes", "output_bytes"),
    "SCREENSHOT_HEIGHT": ("max_screenshot_height", "screenshot_height"),
    "CHECK_JOBS": ("jobs", "check_jobs"),
    "CHECK_PER_HOST": ("per_host",),
    "CHECK_DELAY_MS": ("delay_ms",),
    "CHECK_TIMEOUT_SECONDS": ("timeout_seconds", "timeout"),
    "CHECK_CONTENT_SECONDS": ("content_seconds",),
    "CHECK_HOST_WAIT_SECONDS": ("host_wait_seconds", "host_patience"),
    "BATCH_JOBS": ("jobs", "batch_jobs"),
    "BATCH_PER_HOST": ("per_host",),
    "BATCH_DELAY_SECONDS": ("delay", "delay_seconds"),
    "BATCH_RETRY_AFTER_SECONDS": ("max_retry_after_seconds", "longest_wait"),
    "BATCH_CRAWL_DELAY_SECONDS": ("max_crawl_delay_seconds", "crawl_delay"),
    "SERVE_PORT": ("port", "serve_port"),
    "SERVE_WORKERS": ("serve_workers",),
    "SERVE_PER_MINUTE": ("requests_per_minute", "per_minute"),
    "SERVE_CONCURRENT": ("concurrent",),
    "SERVE_WAITING": ("waiting",),
    "SERVE_STREAMS": ("streams",),
    "SERVE_JOBS": ("serve_jobs",),
    "SERVE_BODY_BYTES": ("max_body_bytes", "max_body"),
    "SERVE_LIST_BYTES": ("serve_list_bytes",),
}
ZERO = ("TOTAL_SECONDS", "TEXT_BYTES", "SCROLLS", "BATCH_HOST_SECONDS", "BATCH_TOTAL_SECONDS")  # "none", wherever it is
HIGHEST = {  # bounds that were written again with a default; by which names
    "FETCH_JOBS": ("max_jobs", "most_jobs"),
    "CHECK_JOBS": ("max_jobs", "most_jobs"),
    "BATCH_JOBS": ("max_jobs", "most_jobs"),
    "BATCH_PER_HOST": ("most_per_host",),
    "BATCH_DELAY_SECONDS": ("longest_delay",),
    "MAX_WAIT_SECONDS": ("longest_wait",),
    "CHUNK_TOKENS": ("most_chunk_tokens", "most"),
}
OWN = {("spaniel/url/value.py", "default_ports")}  # by scheme (RFC 9110 4.2), whatever may be connected to
FOLDED = {ast.LShift: operator.lshift, ast.Mult: operator.mul, ast.Add: operator.add, ast.Sub: operator.sub}
SAID = re.compile(r"default: *\.?\d|\b\d+ to \d+\b")  # a number in a help text that was not put in


class Binding(NamedTuple):
    """A value that is written with a name: a constant, a field, a parameter, an argument, an entry."""

    name: str
    value: object
    line: int


def folded(node: ast.expr | None) -> object:
    """The value of a literal, or of arithmetic with literals; None of everything else."""
    if isinstance(node, ast.BinOp) and type(node.op) in FOLDED:
        left, right = folded(node.left), folded(node.right)
        if isinstance(left, int) and isinstance(right, int):
            return FOLDED[type(node.op)](left, right)
        return None
    try:
        return ast.literal_eval(node) if node is not None else None
    except (ValueError, TypeError):
        return None


def bindings(tree: ast.AST) -> Iterator[Binding]:
    for node in ast.walk(tree):
        for name, value in _pairs(node):
            if (found := folded(value)) is not None:
                yield Binding(name.lstrip("_-").replace("-", "_").lower(), found, getattr(value, "lineno", 0))


def _pairs(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, value
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            for target, value in zip(targets, values, strict=False):
                yield target.id if isinstance(target, ast.Name) else "", value
        case ast.AnnAssign(target=ast.Name(id=name), value=value):
            yield name, value
        case ast.arguments():
            given = [*node.posonlyargs, *node.args]
            yield from ((arg.arg, value) for arg, value in zip(given[::-1], node.defaults[::-1], strict=False))
            yield from ((arg.arg, value) for arg, value in zip(node.kwonlyargs, node.kw_defaults, strict=True))
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, value
        case ast.Call():
            yield from _arguments(node)


def _arguments(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Of `add_argument("--jobs", default=8)` and `Key(TABLE, "jobs", 8, …)`: the name that is said, and the value."""
    said = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    for word in call.keywords:
        if word.arg == "default" and said:
            yield max(said, key=len), word.value
    called = call.func.id if isinstance(call.func, ast.Name) else ""
    if called == "Key" and len(call.args) > 2 and said:
        yield said[0] if isinstance(call.args[1], ast.Constant) else "", call.args[2]


def written_again(tree: ast.AST) -> list[tuple[str, Binding]]:
    """The defaults that this module writes for itself."""
    found = []
    for binding in bindings(tree):
        for name, aliases in NAMES.items():
            value = getattr(defaults, name)
            if binding.name in aliases and _same(binding.value, value.default if isinstance(value, Number) else value):
                found.append((name, binding))
        for name, aliases in HIGHEST.items():
            if binding.name in aliases and _same(binding.value, getattr(defaults, name).high):
                found.append((name, binding))
    return found


def _same(written: object, value: object) -> bool:
    if isinstance(written, (bool, list, dict)):
        return False
    if isinstance(value, int) and value <= 1:  # one at a time: of jobs, workers, shards, of anything
        return False
    return written == value


def places() -> dict[str, list[str]]:
    """Where each default is written, in all modules and profiles."""
    found: dict[str, list[str]] = {name: [] for name in (*NAMES, *ZERO)}
    for node in ast.parse((PACKAGE / "defaults.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name) and target.id in found:
                    found[target.id].append(f"defaults.py:{node.lineno}")
    for path in sorted(PACKAGE.rglob("*.py")):
        module = path.relative_to(PACKAGE.parent).as_posix()
        if module == "spaniel/defaults.py":
            continue
        for name, binding in written_again(ast.parse(path.read_text(encoding="utf-8"))):
            if (module, binding.name) not in OWN:
                found[name].append(f"{module}:{binding.line}")
    return found


def test_every_default_is_looked_for() -> None:
    known = {name for name in vars(defaults) if name.isupper()}
    assert known - {"DAY_SECONDS", "YEAR_SECONDS", "MAX_BYTES"} == {*NAMES, *ZERO}


def test_each_default_is_written_in_one_place() -> None:
    assert {name: where for name, where in places().items() if len(where) != 1} == {}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("JOBS, MAX_JOBS = 64, 512", {"BATCH_JOBS", "CHECK_JOBS"}),
        ("class A(NamedTuple):\n    chunk_tokens: int = 600", {"CHUNK_TOKENS"}),
        ("def f(max_bytes=5 * 1024 * 1024): pass", {"DOWNLOAD_BYTES"}),
        ("def f(*, content_seconds=600.0): pass", {"CHECK_CONTENT_SECONDS"}),
        ("p.add_argument('-j', '--jobs', type=int, default=8)", {"FETCH_JOBS"}),
        ("Key(FETCH, 'cache_ttl_days', 7, 'Days')", {"CACHE_TTL_DAYS"}),
        ("FALLBACK = {'max_wait_seconds': 60}", {"MAX_WAIT_SECONDS"}),
        ("user_agent: str = 'forge-webfetch/1.0'", {"USER_AGENT"}),
        ("jobs: int = BATCH_JOBS.default", set()),
        ("jobs: int = 5", set()),
    ],
)
def test_a_default_that_is_written_again_is_found(source: str, names: set[str]) -> None:
    assert names <= {name for name, _ in written_again(ast.parse(source))}
    assert bool(names) == bool(written_again(ast.parse(source)))


def test_no_profile_repeats_a_default() -> None:
    from spaniel.pipeline.profile import NUMBERS

    repeated = []
    for path in sorted((PACKAGE / "pipeline" / "profiles").glob("*.toml")):
        profile = tomllib.loads(path.read_text(encoding="utf-8"))
        own = profile.get("limits", {})
        repeated += [
            f"{path.name}: {name}"
            for name, number in NUMBERS.items()
            if name != "max_redirects" and own.get(name) == number.default
        ]
        if profile.get("hosts", {}).get("at_once") == defaults.AT_ONE_HOST:
            repeated.append(f"{path.name}: at_once")
        if profile.get("cache", {}).get("ttl_days") == defaults.CACHE_TTL_DAYS.default:
            repeated.append(f"{path.name}: ttl_days")
        if profile.get("headers", {}).get("user_agent") == defaults.USER_AGENT:
            repeated.append(f"{path.name}: user_agent")
    assert repeated == []


def test_no_help_text_has_a_number_of_its_own() -> None:
    own = []
    for path in sorted((PACKAGE / "cli").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "help":
                texts = [part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant)]
                own += [f"{path.name}: {text}" for text in texts if isinstance(text, str) and SAID.search(text)]
    assert own == []


def run(before: str, *looks: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", f"import runpy{before}; runpy.run_path({str(CHANGED)!r}, run_name='__main__')", *looks],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def test_settings_help_docs_and_behaviour_follow_a_changed_default() -> None:
    ran = run("")
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr
    assert int(ran.stderr.split()[0]) > 150


def test_a_module_with_a_default_of_its_own_does_not_follow() -> None:
    """The control: a module that was loaded before the change has the old values, like one that writes them again."""
    ran = run(", spaniel.chunking.chunks", "parts")
    assert "chunk: 600 instead of " in ran.stdout
