"""`spaniel check` on documents, up to where somebody would be asked; and what `--fix` shows and writes."""

from __future__ import annotations

import argparse
import io
import subprocess
from pathlib import Path

import pytest

from spaniel.cli.check import UnreadDocuments, links_of_documents, parser
from spaniel.cli.check_run import fix_documents, wishes_of
from spaniel.cli.db_check import fix_records
from spaniel.errors import SpanielError
from spaniel.health.links import Checked, Link, Place
from spaniel.health.local import Fallbacks
from spaniel.health.rewriting import FixOptions
from spaniel.registry.database import create, open_registry
from spaniel.verdicts import Move, Verdict


def parsed(*argv: str) -> argparse.Namespace:
    return parser().parse_args(argv)


def repair(found: list[Checked], args: argparse.Namespace, out: io.StringIO) -> int:
    return fix_documents(found, args, wishes_of(args), out)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text(
        "[w](https://one.org/a#f) [x](https://one.org/secret) [l](b.md) [m](gone.md) <mailto:a@b.org>\n"
    )
    (tmp_path / "docs/b.md").write_text("# B\n[again](https://one.org/a) http://localhost/\n")
    (tmp_path / ".lycheeignore").write_text("secret\n")
    return tmp_path


def link_states(*argv: str) -> dict[str, str]:
    return {
        one.url if isinstance(one, Link) else one.link.url: "asked" if isinstance(one, Link) else str(one.verdict)
        for one in links_of_documents(parsed(*argv), UnreadDocuments(), Fallbacks())
    }


def test_links_are_requested_looked_up_on_disk_or_skipped(tree: Path) -> None:
    wanted = {
        "https://one.org/a": "asked",
        "https://one.org/secret": "skipped",
        "docs/b.md": "ok",
        "docs/gone.md": "failing",
        "mailto:a@b.org": "skipped",
        "http://localhost/": "skipped",
    }
    assert link_states("docs") == wanted
    assert link_states("docs", "--include-private") == wanted | {"http://localhost/": "asked"}
    assert link_states("docs", "--include", "secret") == wanted | {"https://one.org/secret": "asked"}
    assert link_states("docs", "--exclude", "//one") == wanted | {"https://one.org/a": "skipped"}
    assert link_states("docs", "--offline") == wanted | {"https://one.org/a": "skipped"}
    assert "https://two.org/b.md" in link_states("docs", "--base", "https://two.org/")
    assert "docs/gone.md" not in link_states("docs", "--exclude-path", r"a\.md$")
    with pytest.raises(SpanielError, match="--exclude"):
        link_states("docs", "--exclude", "(")


def results(url: str, to: str, *places: Place) -> list[Checked]:
    return [Checked(Link(url, (), places), Verdict.MOVED, move=Move(to, is_permanent=True))]


def test_fix_shows_a_diff_and_writes_with_write(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checked = results("https://one.org/a", "https://two.org/b", Place("docs/a.md", 1, 5), Place("docs/b.md", 2, 9))
    before = (tree / "docs/a.md").read_text()
    out = io.StringIO()
    assert repair(checked, parsed("docs", "--fix"), out) == 0
    assert (tree / "docs/a.md").read_text() == before
    assert "2 links would change; add --write to change the files" in capsys.readouterr().err
    subprocess.run(["git", "apply", "--check", "-"], input=out.getvalue().encode(), cwd=tree, check=True)
    assert repair(checked, parsed("docs", "--fix", "--write"), out) == 0
    assert (tree / "docs/a.md").read_text() == before.replace("one.org/a#f", "two.org/b#f")
    assert "docs/b.md: 1 link changed" in capsys.readouterr().err


def test_fix_reports_links_that_were_not_changed(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checked = results("https://one.org/a", "https://two.org/b", Place("docs/a.md", 1, 5), Place("docs/a.md", 9, 9))
    (tree / "allowed").write_text("one.org\n")
    repair(checked, parsed("docs", "--fix", "--write", "--allowlist", "allowed"), io.StringIO())
    assert (
        "docs/a.md:1:5: https://one.org/a was not changed: its new host two.org is not written"
        in capsys.readouterr().err
    )
    (tree / "docs").chmod(0o555)
    try:
        repair(checked, parsed("docs", "--fix"), io.StringIO())
    finally:
        (tree / "docs").chmod(0o755)
    assert "docs/a.md:9:9: https://one.org/a was not changed: the file has changed" in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_diff_on_a_terminal_has_no_control_characters(tree: Path) -> None:
    (tree / "docs/a.md").write_text("\x1b]0;evil\x07 [w](https://one.org/a)\n")
    out = Terminal()
    repair(results("https://one.org/a", "https://two.org/b", Place("docs/a.md", 1, 15)), parsed("docs"), out)
    assert "\x1b" not in out.getvalue()
    assert "two.org/b" in out.getvalue()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    folder = tmp_path / "urls"
    create(str(folder))
    with open_registry(str(folder)).editing() as editor:
        editor.add("http://one.org/a", {"note": "kept"})
        editor.add("http://one.org/b")
        editor.add("http://two.org/x")
    return folder


def fixed(database: Path, *checked: tuple[str, str], write: bool = False, wishes: FixOptions | None = None) -> str:
    out = io.StringIO()
    found_ = [one for url, to in checked for one in results(url, to, Place("urls/one.org.yaml", 3, 8))]
    fix_records(open_registry(str(database)), found_, wishes or FixOptions(), out, write=write)
    return out.getvalue()


def test_record_moves_with_all_its_keys(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {path.name: path.read_text() for path in database.iterdir()}
    diff = fixed(database, ("http://one.org/a", "http://three.org/new#f"))
    assert {path.name: path.read_text() for path in database.iterdir()} == files
    assert "+_path: /new" in diff
    assert "1 record would move; add --write to change the files" in capsys.readouterr().err
    fixed(database, ("http://one.org/a", "http://three.org/new#f"), write=True)
    registry = open_registry(str(database))
    [moved] = [record for record in registry if record.host == "three.org"]
    assert (moved.path, moved.keys["note"]) == ("/new", "kept")
    assert registry.find("http://one.org/a") is None
    assert registry.find("http://one.org/b") is not None


def test_record_that_may_not_move_is_reported(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (database / "registry.toml").write_text('allowlist = ["one.org", "two.org"]\n')
    fixed(
        database,
        ("http://one.org/a", "http://evil.org/"),
        ("http://one.org/b", "http://two.org/x"),
        ("http://two.org/x", "https://two.org/x"),
        write=True,
    )
    told_ = capsys.readouterr().err
    assert "evil.org" in told_
    assert "there is a record of this URL already" in told_
    assert "only the scheme differs" in told_
    assert sorted(record.url for record in open_registry(str(database))) == [
        "http://one.org/a",
        "http://one.org/b",
        "http://two.org/x",
    ]
