"""Each redirect limit is written in one place (defaults.py); profiles and policies that set their own are data."""

from __future__ import annotations

import re

from tests.architecture.source import ROOT

WRITTEN = re.compile(r"(?i)(?:redirects|max_hops)['\"]?\s*(?::\s*int\s*)?[=:,]\s*[1-9]")
OWN = {  # what differs from the default on purpose, or must not change with it
    "pipeline/profiles/ingest.toml",  # FG-23, whatever the settings of web_fetch say
    "url/policies/clara.toml",  # CP-09
    "url/policies/compiled.py",  # made from it
}


def test_redirect_limits_are_written_once() -> None:
    source = ROOT / "src" / "spaniel"
    files = [path for path in source.rglob("*") if path.suffix in (".py", ".toml")]
    found = {path.relative_to(source).as_posix() for path in files if WRITTEN.search(path.read_text("utf-8"))}
    assert found - OWN == {"defaults.py"}
    assert found >= OWN
