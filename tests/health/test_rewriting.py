"""New URLs of moved links are written into documents, verified, and nothing else is changed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from spaniel.health.documents.kinds import EXTENSIONS, mentions
from spaniel.health.documents.quoting import encode
from spaniel.health.files import gather
from spaniel.health.links import Checked, Link
from spaniel.health.rewriting import (
    FixOptions,
    FixPlan,
    diff_lines,
    fixed_text,
    plan_fixes,
    read_sources,
    replace_spans,
    write,
)
from spaniel.url.allowlist import read as read_allowlist
from spaniel.verdicts import Move, Verdict
from tests.health.documents.cases_markdown import CASES
from tests.health.documents.cases_other import KINDS
from tests.health.documents.marked import unmarked
from tests.health.gathered import to_links

IN_HTML = "https://new.org/b?x=1&amp;y=(2)"
OLD, NEW = "https://old.org/a", "https://new.org/b?x=1&y=(2)"
SITEMAP = "<urlset><url><loc>{}</loc></url></urlset>"


def moved(link: Link, to: str = NEW, *, is_permanent: bool = True, suspect: str = "") -> Checked:
    return Checked(link, Verdict.MOVED, move=Move(to, is_permanent, bool(suspect), suspect))


def planned(path: Path, to: str = NEW, options: FixOptions | None = None, **more: object) -> FixPlan:
    links = [link for link in to_links(gather([str(path)])) if link.url == OLD]
    results = [moved(link, to, **more) for link in links]  # type: ignore[arg-type]
    return plan_fixes(results, read_sources([str(path)]), options or FixOptions())


def fixed(path: Path, to: str = NEW) -> str:
    plan = planned(path, to)
    assert not plan.unfixed
    [source] = read_sources([str(path)]).values()
    assert write(source, plan.fixes) == ""
    return path.read_bytes().decode()


ALL = [("markdown", case) for case in CASES.values()] + [
    (kind, case) for kind in KINDS for case in KINDS[kind].values()
]


def test_rewriting_every_link_as_itself_changes_nothing() -> None:
    for kind, case in ALL:
        text, _ = unmarked(case)
        found = list(mentions(text, "f", kind))
        same = {(one.start, one.end): text[one.start : one.end] for one in found}
        assert replace_spans(text, same) == text
        again = replace_spans(text, {(one.start, one.end): encode(one.url, one.syntax) for one in found})
        assert [one.url for one in mentions(again, "f", kind)] == [one.url for one in found], case


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("a.md", f"[x]({OLD} 't') <{OLD}>, {OLD}.", f"[x]({NEW} 't') <{NEW}>, {NEW}."),
        ("a.md", f"[x](<{OLD}>)\r\n\r\n[r]: {OLD}#f\r\n", f"[x](<{NEW}>)\r\n\r\n[r]: {NEW}#f\r\n"),
        ("a.md", f"`{OLD}` ![i]({OLD})", f"`{OLD}` ![i]({NEW})"),
        ("a.html", f"<a href='{OLD}'><a href={OLD}#x>", f"<a href='{IN_HTML}'><a href={IN_HTML}#x>"),
        ("a.json", '{"u": "https:\\/\\/old.org\\/a", "t": "see ' + OLD + '"}', f'{{"u": "{NEW}", "t": "see {NEW}"}}'),
        ("a.yaml", f"a: {OLD}\nb: '{OLD}' # c\n", f"a: {NEW}\nb: '{NEW}' # c\n"),
        ("a.csv", f'x,"{OLD}"\r\n{OLD},1\r\n', f'x,"{NEW}"\r\n{NEW},1\r\n'),
        ("a.rst", f"`t <{OLD}>`_\n\n.. _x: {OLD}\n", f"`t <{NEW}>`_\n\n.. _x: {NEW}\n"),
        ("a.ipynb", '{"cells": [{"cell_type": "markdown", "source": ["[a](' + OLD + ')"]}]}',
         '{"cells": [{"cell_type": "markdown", "source": ["[a](' + NEW + ')"]}]}'),
        ("a.txt", f"\ufeff{OLD}", f"\ufeff{NEW}"),
        ("sitemap.xml", SITEMAP.format(OLD), SITEMAP.format(NEW.replace("&", "&amp;"))),
    ],
)  # fmt: skip
def test_new_url_is_written_in_the_syntax_of_its_place(tmp_path: Path, name: str, before: str, after: str) -> None:
    path = tmp_path / name
    path.write_bytes(before.encode())
    assert fixed(path) == after
    assert not planned(path).fixes


@pytest.mark.parametrize(
    ("to", "written"),
    [
        ("https://new.org/a)b", r"[x](https://new.org/a\)b)"),
        ("https://new.org/(a)", "[x](https://new.org/(a))"),
        ("https://new.org/a&copy;", "[x](https://new.org/a&amp;copy;)"),
        ("https://new.org/a|b", r"[x](https://new.org/a\|b)"),
        ("https://new.org/a b<c>", "[x](https://new.org/a%20b%3Cc%3E)"),
        ("https://new.org/#own", "[x](https://new.org/#own)"),
    ],
)
def test_markdown_characters_are_escaped(tmp_path: Path, to: str, written: str) -> None:
    path = tmp_path / "a.md"
    path.write_text(f"[x]({OLD}#f)")
    assert fixed(path, to) == (written if "#" in to else written[:-1] + "#f)")


def test_url_that_would_be_read_differently_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(f"{OLD} and [x]({OLD})")
    plan = planned(path, "https://new.org/a.")
    assert [fix.written for fix in plan.fixes] == ["https://new.org/a."]
    assert [(one.place.column, one.suggestion) for one in plan.unfixed] == [(1, "https://new.org/a.")]
    csv = tmp_path / "a.csv"
    csv.write_text(f"a,{OLD}\n")
    assert [one.reason for one in planned(csv, "https://new.org/a,b").unfixed] == [
        "it cannot be written here; change it manually"
    ]


@pytest.mark.parametrize(
    ("to", "more", "options", "reason"),
    [
        (NEW, {"is_permanent": False}, FixOptions(), "moved temporarily"),
        (NEW, {"suspect": "a deep path ended at the root"}, FixOptions(temporary_too=True), "suspect: a deep path"),
        ("http://new.org/", {}, FixOptions(), "from https to http"),
        ("ftp://new.org/", {}, FixOptions(), "invalid"),
        ("https://u:p@new.org/", {}, FixOptions(), "password"),
        ("", {}, FixOptions(), "unknown"),
        (NEW, {}, FixOptions(refuse_host=read_allowlist("old.org").refusal), "not on the allowlist"),
    ],
)
def test_link_that_may_not_be_fixed_has_a_reason(
    tmp_path: Path, to: str, more: dict[str, object], options: FixOptions, reason: str
) -> None:
    path = tmp_path / "a.md"
    path.write_text(f"[x]({OLD})")
    plan = planned(path, to, options, **more)
    assert not plan.fixes
    assert reason in plan.unfixed[0].reason
    allowed = planned(path, NEW, FixOptions(refuse_host=read_allowlist("new.org").refusal))  # the control
    assert len(allowed.fixes) == 1
    assert len(planned(path, NEW, FixOptions(temporary_too=True), is_permanent=False).fixes) == 1


def test_archived_copy_is_suggested_and_written_with_the_option(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(f"[x]({OLD}#f)")
    [link] = to_links(gather([str(path)]))
    copy = "https://web.archive.org/web/2020/https://old.org/a"
    dead = Checked(link, Verdict.DEAD, archived=copy)
    sources = read_sources([str(path)])
    plan = plan_fixes([dead], sources)
    assert (plan.fixes, plan.unfixed[0].suggestion) == ([], copy)
    [fix] = plan_fixes([dead], sources, FixOptions(archive=True)).fixes
    assert fix.written == f"{copy}#f"
    assert not plan_fixes([Checked(link, Verdict.DEAD)], sources).unfixed


def test_file_changed_since_the_check_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(f"[x]({OLD})")
    links = to_links(gather([str(path)]))
    path.write_text(f"\n[x]({OLD})")
    plan = plan_fixes([moved(link) for link in links], read_sources([str(path)]))
    assert (plan.fixes, "changed since the check" in plan.unfixed[0].reason) == ([], True)
    [source] = read_sources([str(path)]).values()
    fixes = planned(path).fixes
    path.write_text("other")
    assert "changed since the check" in write(source, fixes)
    assert path.read_text() == "other"
    assert read_sources([str(tmp_path / "gone.md")]) == {}


def test_symbolic_link_is_not_written_and_mode_is_kept(tmp_path: Path) -> None:
    real = tmp_path / "real.md"
    real.write_text(f"[x]({OLD})")
    real.chmod(0o640)
    link = tmp_path / "link.md"
    link.symlink_to(real)
    [source] = read_sources([str(link)]).values()
    assert "symbolic link" in write(source, planned(link).fixes)
    assert real.read_text() == f"[x]({OLD})"
    assert fixed(real) == f"[x]({NEW})"
    assert os.stat(real).st_mode & 0o777 == 0o640
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link.md", "real.md"]


def test_relative_links_are_only_suggested(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("[x](a)")
    [link] = to_links(gather([str(path)]), "https://old.org/")
    plan = plan_fixes([moved(link)], read_sources([str(path)]), base="https://old.org/")
    assert (plan.fixes, plan.unfixed[0].suggestion) == ([], NEW)


def test_encoding_of_the_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(f"\xe9 [x]({OLD})".encode("latin-1"))
    assert fixed_bytes(path, NEW) == f"\xe9 [x]({NEW})".encode("latin-1")


def fixed_bytes(path: Path, to: str) -> bytes:
    [source] = read_sources([str(path)]).values()
    assert write(source, planned(path, to).fixes) == ""
    return path.read_bytes()


@pytest.mark.parametrize("kind", ["markdown", *KINDS])
def test_git_applies_the_diff(tmp_path: Path, kind: str) -> None:
    cases = list(CASES.values()) if kind == "markdown" else list(KINDS[kind].values())
    name = f"doc.{EXTENSIONS[kind].split()[0]}"
    for number, end in enumerate(("", "\n", "\n" * 30 + "end")):
        text = "\n\n".join(unmarked(case)[0] for case in cases) + end
        text = text.replace("\n", "\r\n") if number == 1 else text
        path = tmp_path / name
        path.write_bytes(text.encode())
        [source] = read_sources([str(path)]).values()
        changes = {
            (one.start, one.end): f"{text[one.start : one.end]}/new"
            for count, one in enumerate(source.mentions)
            if count % 3 == 0
        }
        diff = "".join(diff_lines(name, text, changes))
        subprocess.run(["git", "apply", "--unsafe-paths", "-"], input=diff.encode(), cwd=tmp_path, check=True)
        assert path.read_bytes().decode() == replace_spans(text, changes)
    assert fixed_text(source, []) == text
    assert "".join(diff_lines(name, text, {})) == ""
