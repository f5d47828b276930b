"""`spaniel db` as a person and a script use it: real processes, real files."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from spaniel.cli.main import main
from spaniel.errors import SpanielError
from tests.programs import spaniel
from tests.registry.files import MINIMAL, WILD, contents


@pytest.fixture
def urls(tmp_path: Path) -> Path:
    """An empty database, in the place where commands look for one."""
    assert spaniel("db", "init", cwd=tmp_path).returncode == 0
    return tmp_path / "urls"


def files(urls: Path) -> dict[str, bytes]:
    return {name: raw for name, raw in contents(urls).items() if name != "registry.toml"}


def test_init_creates_the_folder_once(urls: Path) -> None:
    assert (urls / "registry.toml").read_text(encoding="utf-8").startswith("# Rules of this link database.")
    (urls / "registry.toml").write_text('policy = "ingest"\n', encoding="utf-8")
    done = spaniel("db", "init", cwd=urls.parent)
    assert (done.returncode, done.stdout) == (0, "urls is already a database; nothing was changed\n")
    assert (urls / "registry.toml").read_text(encoding="utf-8") == 'policy = "ingest"\n'


@pytest.mark.req("DB-08", "DB-12")
def test_add_puts_records_where_they_belong(urls: Path) -> None:
    done = spaniel("db", "add", "http://example.com", "http://Example.com/b#x", "http://example.com/a", cwd=urls.parent)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "added http://example.com/  urls/example.com.yaml\n"
        "added http://example.com/b  urls/example.com.yaml\n"
        "added http://example.com/a  urls/example.com.yaml\n"
    )
    assert files(urls) == {"example.com.yaml": b"---\n---\n_path: /\n---\n_path: /a\n---\n_path: /b\n"}
    again = spaniel("db", "add", "http://example.com/", cwd=urls.parent)
    assert (again.returncode, again.stdout) == (0, "known http://example.com/  urls/example.com.yaml\n")


@pytest.mark.req("DB-02", "DB-08", "DB-13")
def test_add_uses_cnames_and_reports_a_changed_scheme(urls: Path) -> None:
    (urls / "example.com.yaml").write_bytes(b"---\ncnames:\n- www.example.com\n---\n_path: /\n")
    done = spaniel("db", "add", "https://www.example.com/x", "https://new.example/", cwd=urls.parent)
    assert done.stdout.splitlines() == [
        "added http://example.com/x  urls/example.com.yaml",
        "added https://new.example/  urls/new.example.yaml",
    ]
    assert "its file keeps all records as http" in done.stderr
    assert files(urls)["new.example.yaml"] == b"---\nhttps: true\n---\n_path: /\n"


def test_add_reads_a_list_and_one_bad_line_does_not_stop_the_rest(urls: Path) -> None:
    lines = b"http://a.example/\n# no\nftp://b.example/\n\nhttp://c.example/\n"
    done = spaniel("db", "add", "-q", "--category", "x", "-", cwd=urls.parent, stdin=lines)
    assert (done.returncode, done.stdout) == (1, "")
    assert "line 3: invalid_scheme" in done.stderr
    assert sorted(files(urls)) == ["a.example.yaml", "c.example.yaml"]
    assert files(urls)["a.example.yaml"] == b"---\n---\n_path: /\ncategories:\n- x\n"
    spaniel("db", "add", "--category", "a", "http://a.example/", cwd=urls.parent)
    assert files(urls)["a.example.yaml"] == b"---\n---\n_path: /\ncategories:\n- a\n- x\n"


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        (("add", "ftp://a.example/"), 2, "spaniel: ftp://a.example/: invalid_scheme"),
        (("ls", "--path", "docs"), 2, "--path: must begin with '/'"),
        (("dump", "--host", "a b"), 2, "--host: 'a b' is not a host"),
        (("audit", "."), 1, "is a folder; name the files in it"),
        (("add", "--type", "http://a.example/"), 2, "--type: needs --static"),
        (("add", "--refresh", "http://a.example/"), 2, "--refresh: needs --online"),
        (("import", "--learnt", "x.toml", "x.csv"), 2, "--learnt: needs --online"),
        (("add", "--online", "http://a.example/"), 2, "'exact' has no rule with 'asks = true'"),
        (("audit", "--jobs", "0"), 2, "--jobs: must be 1 to 64"),
        (("audit", "--allowlist", "nowhere.txt"), 2, "allowlist nowhere.txt: cannot be read"),
        (("add", "--policy", "nonsense", "http://a.example/"), 2, "no policy 'nonsense'"),
        (("add", "--db", "nowhere", "http://a.example/"), 2, "spaniel db init"),
        (("rm", "http://a.example/"), 2, "no record of this URL"),
        (("mv", "http://a.example/", "http://b.example/"), 2, "no record of this URL"),
        (("show", "http://a.example/"), 2, "no record of this URL"),
        (("show", "nonsense"), 2, "invalid_url"),
        (("import", "nowhere.txt"), 1, "nowhere.txt: there is no such file"),
        (("audit", "nowhere*.json"), 1, "nowhere*.json: no file has such a name"),
        (("ls", "--db", "registry.toml"), 2, "spaniel db init"),
    ],
)
def test_errors_have_an_exit_code_and_no_traceback(
    urls: Path, command: tuple[str, ...], code: int, message: str
) -> None:
    done = spaniel("db", *command, cwd=urls.parent)
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not files(urls)


def test_rm_and_mv(urls: Path) -> None:
    (urls / "example.com.yaml").write_bytes(WILD)
    moved = spaniel("db", "mv", "https://www.example.com/m51.txt", "https://example.com/m52.txt", cwd=urls.parent)
    assert moved.stdout == "moved to https://example.com/m52.txt  urls/example.com.yaml\n"
    assert files(urls)["example.com.yaml"] == WILD.replace(b"m51", b"m52")
    done = spaniel("db", "rm", "-", "https://example.com/none", cwd=urls.parent, stdin=b"https://example.com/m52.txt\n")
    assert (done.returncode, done.stdout) == (1, "removed https://example.com/m52.txt\n")
    assert files(urls)["example.com.yaml"] == WILD[: WILD.index(b"---\n_path: /m51")]


def test_mv_reads_pairs_and_one_that_fails_does_not_stop_the_rest(urls: Path) -> None:
    (urls / "a.example.yaml").write_bytes(b"---\n---\n_path: /1\n---\n_path: /2\n")
    lines = b"http://a.example/1 http://b.example/1\nhttp://a.example/x\thttp://b.example/x\nhttp://a.example/2\n"
    done = spaniel("db", "mv", "-", cwd=urls.parent, stdin=lines)
    assert (done.returncode, done.stdout) == (1, "moved to http://b.example/1  urls/b.example.yaml\n")
    assert "line 2: bad_args: http://a.example/x: no record of this URL" in done.stderr
    assert "line 3: bad_args: http://a.example/2: two arguments are needed: OLD NEW" in done.stderr


def test_ls_and_show_report_ignored_files(urls: Path) -> None:
    (urls / "example.com.yaml").write_bytes(WILD)
    (urls / "example.com.yaml~").write_bytes(b"")
    done = spaniel("db", "ls", cwd=urls.parent)
    assert done.returncode == 0
    assert "urls/example.com.yaml~ was ignored" in done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "https://example.com/  (text/html)"
    assert lines[3] == "https://example.com/a%20b?x=1&y=%7B2%7D  (deprecated, X-301-Redirect)"
    assert lines[4] == "https://example.com/m51.txt  (1,650,240 bytes, text/plain; charset=utf-8)"
    shown = spaniel("db", "show", "https://example.com/", cwd=urls.parent)
    assert shown.stdout == "https://example.com/\nurls/example.com.yaml:8\n---\n_path: /\ncontent-type: text/html\n"
    facts = json.loads(spaniel("db", "show", "--json", "https://example.com/m51.txt", cwd=urls.parent).stdout)
    assert (facts["file"], facts["line"], facts["content-length"]) == ("urls/example.com.yaml", 25, 1650240)


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ((), 4),
        (("--deprecated",), 5),
        (("--category", "redirect-ok"), 1),
        (("--category", "deprecated"), 0),
        (("--category", "deprecated", "--deprecated"), 1),
        (("--host", "example.com"), 4),
        (("--host", "www.example.com"), 4),
        (("--host", "https://WWW.example.com/x"), 4),
        (("--host", "elsewhere.example"), 0),
        (("--path", "/m"), 1),
        (("--domain", "example.com", "--path-prefix", "/m"), 1),  # as another tool for these files has it
        (("-c", "redirect-ok"), 1),
    ],
)
def test_dump_filters_as_users_of_the_format_expect(urls: Path, options: tuple[str, ...], count: int) -> None:
    (urls / "example.com.yaml").write_bytes(WILD)
    done = spaniel("db", "dump", *options, cwd=urls.parent)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, count)


def test_a_dump_can_be_imported_again(urls: Path, tmp_path: Path) -> None:
    (urls / "example.com.yaml").write_bytes(WILD)
    for form in ("jsonl", "csv"):
        dumped = spaniel("db", "dump", "--deprecated", "-f", form, cwd=tmp_path).stdout
        other = tmp_path / form
        spaniel("db", "init", "--db", str(other))
        done = spaniel("db", "import", "--db", str(other), "--kind", form, "-", stdin=dumped.encode())
        assert (done.returncode, done.stderr) == (0, "spaniel: 5 added, 0 already in the database\n")
        assert files(other)["example.com.yaml"] == b"---\nhttps: true\n" + WILD[WILD.index(b"---\n_path: /\n") :]
    rows = list(csv.DictReader(io.StringIO(dumped)))
    assert rows[2]["categories"] == "content-type-change-ok redirect-ok"


def test_categories_of_several_words_come_back_from_a_table(urls: Path, tmp_path: Path) -> None:
    before = b"---\n---\n_path: /a\ncategories:\n- '[x'\n- v5 client\n---\n_path: /b\ncategories:\n- one\n- two\n"
    (urls / "example.com.yaml").write_bytes(before)
    dumped = spaniel("db", "dump", "-f", "csv", cwd=tmp_path).stdout
    assert dumped.splitlines()[2] == "http://example.com/b,one two,,,"
    spaniel("db", "init", "--db", str(tmp_path / "other"))
    spaniel("db", "import", "--db", str(tmp_path / "other"), "--kind", "csv", "-", stdin=dumped.encode())
    assert files(tmp_path / "other")["example.com.yaml"] == before


def test_import_reports_refused_lines_with_their_place(urls: Path) -> None:
    (urls.parent / "list.txt").write_text("http://a.example/\nnonsense\nhttp://a.example/\n", encoding="utf-8")
    done = spaniel("db", "import", "list.txt", cwd=urls.parent)
    assert done.returncode == 1
    assert "list.txt: line 2: invalid_url" in done.stderr
    assert "1 added, 1 already in the database, 1 refused" in done.stderr
    assert files(urls) == {"a.example.yaml": MINIMAL}


def test_import_adds_categories_and_updates_facts(urls: Path) -> None:
    before = b"---\n---\n_path: /\n# mine\ncategories: # why\n- docs\n- old\ncontent-type: text/plain\nnote: x\n"
    (urls / "a.example.yaml").write_bytes(before)
    rows = "url,categories,content-type\nhttp://a.example/,new docs,text/html\nhttp://a.example/b,only,\n"
    (urls.parent / "list.csv").write_text(rows, encoding="utf-8")
    assert spaniel("db", "import", "list.csv", cwd=urls.parent).returncode == 0
    assert files(urls)["a.example.yaml"] == (
        b"---\n---\n_path: /\n# mine\ncategories: # why\n- docs\n- new\n- old\ncontent-type: text/html\nnote: x\n"
        b"---\n_path: /b\ncategories:\n- only\n"
    )
    before = files(urls)["a.example.yaml"]
    spaniel("db", "import", "list.csv", "-c", "docs", cwd=urls.parent)
    assert files(urls)["a.example.yaml"] == before.replace(b"- only\n", b"- docs\n- only\n")


@pytest.mark.req("DB-11")
def test_fmt_checks_then_writes_then_has_nothing_to_do(urls: Path) -> None:
    (urls / "a.example.yaml").write_bytes(b"---\n---\n_path: /b\n---\n_path: /a\n")
    checked = spaniel("db", "fmt", "--check", cwd=urls.parent)
    assert (checked.returncode, checked.stdout) == (1, "urls/a.example.yaml:3: not formatted\n")
    assert files(urls)["a.example.yaml"] == b"---\n---\n_path: /b\n---\n_path: /a\n"
    assert spaniel("db", "fmt", cwd=urls.parent).returncode == 0
    assert files(urls)["a.example.yaml"] == b"---\n---\n_path: /a\n---\n_path: /b\n"
    assert spaniel("db", "fmt", "--check", cwd=urls.parent).stdout == ""


@pytest.mark.req("DB-11")
@pytest.mark.parametrize("command", ["ls", "dump", "fmt", "audit"])
def test_a_broken_file_is_refused_by_line_and_the_others_are_read(urls: Path, command: str) -> None:
    (urls / "a.example.yaml").write_bytes(b"---\n---\n_path: relative\n")
    (urls / "b.example.yaml").write_bytes(MINIMAL)
    done = spaniel("db", command, cwd=urls.parent)
    assert done.returncode == 1
    assert "urls/a.example.yaml:3:1: _path must begin with '/'" in done.stderr
    if command in ("ls", "dump"):
        assert done.stdout == "http://b.example/\n"


def test_the_folder_comes_from_the_option_or_the_settings(tmp_path: Path) -> None:
    config = tmp_path / "own.toml"
    config.write_text('[spaniel.registry]\nfolder = "links"\n', encoding="utf-8")
    assert spaniel("db", "init", "--config", str(config), cwd=tmp_path).returncode == 0
    assert (tmp_path / "links" / "registry.toml").exists()
    spaniel("db", "init", "--db", str(tmp_path / "other"), cwd=tmp_path, SPANIEL_REGISTRY_FOLDER="third")
    assert (tmp_path / "other").exists()
    assert not (tmp_path / "third").exists()
    (tmp_path / "spaniel.toml").write_text('[spaniel.registry]\nfolder = "/etc"\n', encoding="utf-8")
    refused = spaniel("db", "ls", cwd=tmp_path)
    assert "a project's file may not set this" in refused.stderr


@pytest.mark.req("CP-15")
def test_audit_reads_globs_and_prints_for_people_and_programs(tmp_path: Path) -> None:
    data = tmp_path / "data" / "tramites"
    data.mkdir(parents=True)
    (data / "a.json").write_text(
        '{"entidad": "SEPE", "fuente_url": "https://www.sepe.es/?utm_source=x"}', encoding="utf-8"
    )
    (data / "b.json").write_text('{"fuente_url": "https://a.gob.es/sede-electronica"}', encoding="utf-8")
    deep = "https://www.boe.es/buscar/act.php?id=BOE-A-2000-544"
    (data / "c.json").write_text(json.dumps({"fuente_url": deep}), encoding="utf-8")
    command = ("db", "audit", "data/tramites/*.json", "--field", "fuente_url")
    output = json.loads(spaniel(*command, "-f", "json", cwd=tmp_path).stdout)
    assert [(row["file"], row["class"], row["gap"]) for row in output] == [
        ("data/tramites/a.json", "homepage", True),
        ("data/tramites/b.json", "informative", False),
    ]
    assert output[0]["canonical"] == "https://www.sepe.es"
    done = spaniel(*command, "-f", "csv", "--all", cwd=tmp_path)
    assert [row["gap"] for row in csv.DictReader(io.StringIO(done.stdout))] == ["yes", "", ""]
    assert "3 links (1 homepage, 2 informative); gaps: 1; to review: 1" in done.stderr
    markdown = spaniel(*command, "-f", "markdown", cwd=tmp_path).stdout.splitlines()
    assert markdown[0] == "| file | where | url | canonical | class | gap | note | deeper |"
    assert len(markdown) == 4
    assert "homepage" in spaniel(*command, cwd=tmp_path).stdout
    assert spaniel(*command, cwd=tmp_path).returncode == 0
    assert spaniel(*command, "--strict", cwd=tmp_path).returncode == 1
    assert spaniel("db", "audit", "data/**/c.json", "--strict", cwd=tmp_path).returncode == 0
    misspelt = spaniel("db", "audit", "data/**/c.json", "--field", "fuente_ur", "--strict", cwd=tmp_path)
    assert misspelt.returncode == 1
    assert "no link found in the field 'fuente_ur'; choose another with --field" in misspelt.stderr
    spaniel("db", "init", cwd=tmp_path)
    empty = spaniel("db", "audit", "--strict", cwd=tmp_path)
    assert (empty.returncode, empty.stderr) == (0, "spaniel: 0 links; gaps: 0; to review: 0\n")


def test_audit_of_the_database_skips_deprecated_records(urls: Path) -> None:
    (urls / "example.com.yaml").write_bytes(WILD)
    output = json.loads(spaniel("db", "audit", "--all", "-f", "json", cwd=urls.parent).stdout)
    assert len(output) == 4
    assert output[0]["file"] == "urls/example.com.yaml"


def test_markup_in_data_is_escaped_in_markdown(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"url": "http://a.example/|<b>`x`\\u001b[31m\\n"}', encoding="utf-8")
    for form in ("markdown", "table"):
        out = spaniel("db", "audit", "-f", form, "a.json", cwd=tmp_path).stdout
        assert "\x1b" not in out
    assert "\\|\\<b\\>\\`x\\`" in spaniel("db", "audit", "-f", "markdown", "a.json", cwd=tmp_path).stdout


CONTROL = ["\\n", "\\r", "\\0", "\\t", "\\x1b", "\\x7f", "\\x85", "\\x9b", "\\u2028", "\\L", "\\N"]


@pytest.mark.req("DB-05", "DB-11")
@pytest.mark.parametrize(
    "path",
    [
        *(f'"/a{sign}http://evil.org/x"' for sign in CONTROL),
        "|\n  /a\n  http://evil.org/x",
        "|-\n  /a\n  http://evil.org/x",
        "|\n  /a",
        ">\n  /a\n\n  http://evil.org/x",
        "'/a\n\n  http://evil.org/x'",
    ],
)
def test_control_characters_in_a_path_are_refused(urls: Path, capsys: pytest.CaptureFixture[str], path: str) -> None:
    (urls / "bad.example.yaml").write_text(f"---\n---\n_path: {path}\n", encoding="utf-8")
    (urls / "good.example.yaml").write_bytes(MINIMAL)
    for command in (["dump"], ["dump", "-f", "csv"], ["dump", "-f", "jsonl"], ["ls"], ["show", "http://bad.example/a"]):
        code = main(["db", *command, "--db", str(urls)]) if command[0] != "show" else refused_by_show(urls, command)
        output = capsys.readouterr()
        assert "evil" not in output.out
        assert code in (1, 2)
        if command[0] != "show":
            assert "good.example/" in output.out  # the other file is still read
            assert "bad.example.yaml:3:1: _path has" in output.err


def refused_by_show(urls: Path, command: list[str]) -> int:
    try:
        return main(["db", *command, "--db", str(urls)])
    except SpanielError as error:
        return error.row.exit


@pytest.mark.req("DB-01", "DB-08")
@pytest.mark.parametrize(
    "host", ["aux.example.com", "con.example", "nul.org", "com1.example", "lpt9.example", "prn.de"]
)
def test_file_names_avoid_windows_device_names(urls: Path, capsys: pytest.CaptureFixture[str], host: str) -> None:
    assert main(["db", "add", f"http://{host}/a", f"http://x{host}/", "--db", str(urls)]) == 0
    names = sorted(files(urls))
    assert names == [f"%{ord(host[0]):02X}{host[1:]}.yaml", f"x{host}.yaml"]
    assert main(["db", "add", f"http://{host}/b", "--db", str(urls)]) == 0
    capsys.readouterr()
    assert main(["db", "ls", "--db", str(urls)]) == 0
    assert capsys.readouterr().out.split() == [f"http://{host}/a", f"http://{host}/b", f"http://x{host}/"]
    # A file that was named before there was such a rule is used as it is; of two the second is named.
    (urls / names[0]).rename(urls / f"{host}.yaml")
    assert main(["db", "add", f"http://{host}/c", "--db", str(urls)]) == 0
    assert sorted(files(urls)) == sorted([f"{host}.yaml", f"x{host}.yaml"])
    (urls / names[0]).write_bytes(MINIMAL)
    main(["db", "ls", "--db", str(urls)])
    assert f"{host}.yaml" in capsys.readouterr().err
