"""`registry.toml` and what it names: lists of hosts, what was learnt, and nothing outside of the folder."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from spaniel import registry
from tests.registry.test_folder import message


@pytest.mark.parametrize("form", ["official.txt", "a list"])
def test_an_allowlist_is_a_list_or_a_file_in_the_folder(tmp_path: Path, form: str) -> None:
    entries = ["gob.example", "*.below.example", "=one.example", "!ads.gob.example"]
    (tmp_path / "official.txt").write_text("# ours\n" + "\n".join(entries), encoding="utf-8")
    named = '"official.txt"' if form == "official.txt" else str(entries)
    (tmp_path / "registry.toml").write_text(f"allowlist = {named}", encoding="utf-8")
    with registry.open(tmp_path).editing() as editor:
        for host in ("gob.example", "www.gob.example", "a.gob.example:8080", "a.below.example", "one.example"):
            assert editor.add(f"http://{host}/").is_new
        found = [message(lambda host=host: editor.add(f"http://{host}/")) for host in ("ads.gob.example", "b.example")]
    place = "official.txt" if form == "official.txt" else "registry.toml"
    line = "line 5" if form == "official.txt" else "entry 4"
    assert f"{line} of " in found[0]
    assert found[0].endswith(f"{place} blocks it")
    assert found[1].endswith(f"{place} names it")


@pytest.mark.parametrize(
    "named",
    [
        "/etc/passwd",
        "../secret.txt",
        "sub/../../secret.txt",
        "sub/list.txt",
        "link.txt",
        "..",
        ".",
        "",
        "a\\b",
        "C:x",
        "a\u0000",
    ],
)
def test_rules_from_a_stranger_lead_to_no_file_outside_of_the_folder(tmp_path: Path, named: str) -> None:
    """What cannot be read as an allowlist is quoted in a complaint: it must not be somebody's secret."""
    (tmp_path / "secret.txt").write_text("s3cret word\n", encoding="utf-8")
    folder = tmp_path / "urls"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "list.txt").write_text("a.example\n", encoding="utf-8")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "own.txt").write_text("a.example\n", encoding="utf-8")
    (folder / "registry.toml").write_text('allowlist = "own.txt"', encoding="utf-8")
    assert registry.open(folder).rules.allowlist  # the control: a file of its own is read
    (folder / "registry.toml").write_text(f"allowlist = {json.dumps(named)}", encoding="utf-8")
    found = message(lambda: registry.open(folder))
    assert found.endswith("registry.toml.allowlist: must be a list of hosts, or the name of a file in the same folder")


def test_an_allowlist_that_never_ends_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "registry.toml").write_text('allowlist = "pipe"', encoding="utf-8")
    assert not list(registry.open(tmp_path))  # listing needs none
    assert "is not a regular file" in message(lambda: registry.open(tmp_path).rules.admit("http://a.example/"))


def test_what_was_learnt_is_read_from_the_folder_and_by_no_link(tmp_path: Path) -> None:
    folder = tmp_path / "urls"
    folder.mkdir()
    (folder / "registry.toml").write_text('policy = "clara"', encoding="utf-8")
    elsewhere = tmp_path / "elsewhere.toml"
    elsewhere.write_text('[preferred_hosts]\n"junta.es" = "www.junta.es"\n', encoding="utf-8")
    assert registry.open(folder).rules.spot("https://junta.es/a").host == "junta.es"
    (folder / "learnt.toml").write_bytes(elsewhere.read_bytes())
    assert registry.open(folder).rules.spot("https://junta.es/a").host == "www.junta.es"
    assert registry.open(folder, policy="exact").rules.spot("https://junta.es/a").host == "junta.es"
    (folder / "learnt.toml").unlink()
    (folder / "learnt.toml").symlink_to(elsewhere)
    assert "symbolic link" in message(lambda: registry.open(folder).rules.spot("https://junta.es/a"))


def test_what_was_learnt_leads_to_no_host_that_the_allowlist_does_not_have(tmp_path: Path) -> None:
    (tmp_path / "registry.toml").write_text('policy = "clara"\nallowlist = ["junta.es"]', encoding="utf-8")
    with registry.open(tmp_path).editing() as editor:
        assert editor.add("https://junta.es/a").is_new
    (tmp_path / "learnt.toml").write_text('[preferred_hosts]\n"junta.es" = "tienda.example"\n', encoding="utf-8")
    with registry.open(tmp_path).editing() as editor:
        assert "tienda.example" in message(lambda: editor.add("https://junta.es/b"))
