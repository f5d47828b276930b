"""The folder: which files are read, which are only named, and nothing is followed or written that should not be."""

from __future__ import annotations

import os
import socket
import stat
import sys
from contextlib import closing
from pathlib import Path

import pytest

import spaniel.files
from spaniel import registry
from spaniel.errors import SpanielError
from spaniel.registry import folder as files
from spaniel.registry.database import Selection, create
from spaniel.registry.folder import LOCK, authority, file_name, host_of, writing
from tests import programs
from tests.registry.files import MINIMAL, contents, database


def message(call: object, *args: object) -> str:
    with pytest.raises(SpanielError) as caught:
        call(*args)  # type: ignore[operator]
    return caught.value.message


@pytest.mark.req("DB-01")
@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("example.com", "example.com.yaml"),
        ("www.example.com", "www.example.com.yaml"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example.yaml"),
        ("example.com:8080", "example.com%3A8080.yaml"),
        ("127.0.0.1", "127.0.0.1.yaml"),
        ("[2001:db8::1]", "%5B2001%3Adb8%3A%3A1%5D.yaml"),
        ("[::1]:81", "%5B%3A%3A1%5D%3A81.yaml"),
        ("localhost", "localhost.yaml"),
        ("a_b.example", "a_b.example.yaml"),
    ],
)
def test_a_file_is_named_by_its_host(host: str, name: str) -> None:
    assert file_name(host) == name
    assert host_of(name) == host
    assert authority(host) == host


@pytest.mark.parametrize(
    "name",
    ["Example.com.yaml", "example.com.yml", "example.com", ".yaml", "..yaml", "a b.yaml", "bücher.example.yaml",
     "0x7f.1.yaml", "example.com%3a80.yaml", "example.com%2F.yaml", "user@example.com.yaml", "a/b.yaml", "xn--a.yaml",
     "127.1.yaml", "example.com%3A.yaml", "example.com%3A080.yaml", "-.yaml~"],
)  # fmt: skip
def test_a_name_that_no_host_gives_is_nobodys_file(name: str) -> None:
    assert host_of(name) is None


@pytest.mark.req("DB-01")
def test_what_is_not_read_is_named_and_what_nobody_expects_to_be_is_not(tmp_path: Path) -> None:
    found = database(tmp_path, example_com=MINIMAL)
    (tmp_path / "elsewhere").write_bytes(MINIMAL)
    (tmp_path / "link.example.yaml").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "dangling.example.yaml").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.example.yaml")
    (tmp_path / "folder.example.yaml").mkdir()
    with closing(socket.socket(socket.AF_UNIX)) as bound:
        bound.bind(str(tmp_path / "s.example.yaml"))
        for name in (
            "Example.org.yaml", "bücher.example.yaml", "example.org.yml", "example.com.yaml~", ".example.com.yaml.swp",
            ".#example.com.yaml", "#example.com.yaml#", "example.com.yaml.orig", ".spaniel-0123456789abcdef.tmp",
            "README.md", ".gitignore", "registry.toml",
        ):  # fmt: skip
            (tmp_path / name).write_bytes(b"")
        assert [record.url for record in found] == ["http://example.com/"]
        named = {each.name: each.why for each in found.strangers()}
    assert set(named) == {
        "link.example.yaml", "dangling.example.yaml", "pipe.example.yaml", "folder.example.yaml", "s.example.yaml",
        "Example.org.yaml", "bücher.example.yaml", "example.org.yml", "example.com.yaml~", ".example.com.yaml.swp",
        ".#example.com.yaml", "#example.com.yaml#", "example.com.yaml.orig", ".spaniel-0123456789abcdef.tmp",
    }  # fmt: skip
    assert "symbolic link" in named["link.example.yaml"]
    assert "regular file" in named["pipe.example.yaml"]
    assert named["Example.org.yaml"].endswith("should it be example.org.yaml?")
    assert named["bücher.example.yaml"].endswith("should it be xn--bcher-kva.example.yaml?")


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_nothing_is_written_through_what_is_no_file(tmp_path: Path, kind: str) -> None:
    found = database(tmp_path / "urls")
    victim = tmp_path / "victim"
    victim.write_bytes(MINIMAL)
    planted = tmp_path / "urls" / "example.com.yaml"
    if kind == "link":
        planted.symlink_to(victim)
    elif kind == "pipe":
        os.mkfifo(planted)
    else:
        planted.mkdir()

    def add() -> None:
        with found.editing() as editor:
            editor.add("http://example.com/x")

    assert "example.com.yaml" in message(add)
    assert message(found.find, "http://example.com/")
    assert victim.read_bytes() == MINIMAL
    if kind == "link":
        planted.unlink()
        add()  # the control: it was the link
        assert b"/x" in planted.read_bytes()


def test_linked_folder_is_refused_and_world_writable_one_is_read_only(tmp_path: Path) -> None:
    found = database(tmp_path / "urls", example_com=MINIMAL)
    (tmp_path / "link").symlink_to(tmp_path / "urls")
    assert "symbolic link" in message(registry.open, tmp_path / "link")
    (tmp_path / "urls").chmod(0o777)
    assert len(list(found)) == 1

    def add() -> None:
        with found.editing() as editor:
            editor.add("http://example.com/x")

    assert "everyone may write" in message(add)
    (tmp_path / "urls").chmod(0o775)  # as a umask of 002 makes it, and a checkout has it
    add()
    assert len(list(found)) == 2


def test_a_file_keeps_its_mode_and_a_new_one_has_the_usual(tmp_path: Path) -> None:
    found = database(tmp_path, a_example=MINIMAL)
    (tmp_path / "a.example.yaml").chmod(0o640)
    old = os.umask(0o022)
    try:
        with found.editing() as editor:
            editor.add("http://a.example/x")
            editor.add("http://b.example/x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a.example.yaml").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "b.example.yaml").stat().st_mode) == 0o644


@pytest.mark.req("DB-04")
def test_changes_made_without_the_lock_are_not_overwritten(tmp_path: Path) -> None:
    found = database(tmp_path, example_com=MINIMAL)

    def add() -> None:
        with found.editing() as editor:
            editor.add("http://example.com/x")
            (tmp_path / "example.com.yaml").write_bytes(b"---\n---\n_path: /by-an-editor\n")

    assert "somebody else has changed it" in message(add)
    assert (tmp_path / "example.com.yaml").read_bytes() == b"---\n---\n_path: /by-an-editor\n"


@pytest.mark.req("DB-04")
def test_an_edit_that_fails_writes_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    found = database(tmp_path, example_com=MINIMAL)
    before = contents(tmp_path)

    def fail() -> None:
        with found.editing() as editor:
            editor.add("http://example.com/x")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert contents(tmp_path) == before


@pytest.mark.req("DB-04")
def test_a_second_writer_waits_and_says_so_when_it_has_waited_long_enough(tmp_path: Path) -> None:
    found = database(tmp_path, example_com=MINIMAL)
    with files.opened(str(tmp_path)) as folder, writing(folder):
        assert (tmp_path / LOCK).exists()

        def add() -> None:
            with found.editing(patience=0.05):
                raise AssertionError

        assert "another process has been writing" in message(add)
        assert len(list(found)) == 1  # readers do not wait
    assert not (tmp_path / LOCK).exists()
    with found.editing(patience=0.05):
        pass  # the control


@pytest.mark.req("DB-04")
def test_the_lock_of_a_killed_writer_holds_nobody_up(tmp_path: Path) -> None:
    found = database(tmp_path, example_com=MINIMAL)
    script = (
        "import os, sys, signal\nfrom spaniel import registry\n"
        "with registry.open(sys.argv[1]).editing(): os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = programs.run([sys.executable, "-c", script, str(tmp_path)], check=False, timeout=60)
    assert done.returncode == -9
    assert (tmp_path / LOCK).exists()
    with found.editing(patience=0.05) as editor:
        editor.add("http://example.com/x")
    assert sorted(contents(tmp_path)) == ["example.com.yaml"]


@pytest.mark.parametrize("plant", [lambda path: path.symlink_to("elsewhere"), os.mkfifo, lambda path: path.mkdir()])
def test_a_planted_lock_is_refused(tmp_path: Path, plant: object) -> None:
    found = database(tmp_path / "urls", example_com=MINIMAL)
    plant(tmp_path / "urls" / LOCK)  # type: ignore[operator]

    def add() -> None:
        with found.editing(patience=0.05):
            raise AssertionError

    assert f"{LOCK}: " in message(add)
    assert "remove it" in message(add)
    assert not (tmp_path / "urls" / "elsewhere").exists()


@pytest.mark.req("DB-04")
def test_a_lock_that_its_holder_removed_meanwhile_locks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between our opening the file and our locking it, its holder removes it, and a third process makes another."""
    take = spaniel.files.try_lock
    opened: list[int] = []

    def removed_first(descriptor: int) -> bool:
        if not opened:
            (tmp_path / LOCK).rename(tmp_path / "removed")
            (tmp_path / LOCK).touch()
        opened.append(os.fstat(descriptor).st_ino)
        return take(descriptor)

    monkeypatch.setattr(spaniel.files, "try_lock", removed_first)
    with files.opened(str(tmp_path)) as folder, writing(folder, 5):
        assert opened == [(tmp_path / "removed").stat().st_ino, (tmp_path / LOCK).stat().st_ino]


def test_unwritable_folder_is_reported_without_the_lock_file(tmp_path: Path) -> None:
    urls = tmp_path / "urls"
    urls.mkdir()
    with files.opened(str(urls)) as folder:

        def write() -> None:
            with writing(folder, 0.05):
                raise AssertionError

        urls.rmdir()  # root can write to every folder
        reason = message(write)
    assert "the folder cannot be written to" in reason
    assert LOCK not in reason


def test_what_killed_writers_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    found = database(tmp_path, example_com=MINIMAL)
    for name in (".spaniel-0123456789abcdef.tmp", ".spaniel-x.tmp", "notes.tmp", "example.com.yaml~"):
        (tmp_path / name).write_bytes(b"x")
    with found.editing():
        pass
    assert set(contents(tmp_path)) == {"example.com.yaml", ".spaniel-x.tmp", "notes.tmp", "example.com.yaml~"}


@pytest.mark.req("DB-02", "DB-08")
def test_a_cname_leads_to_the_file_of_the_main_host(tmp_path: Path) -> None:
    found = database(
        tmp_path,
        example_com=b"---\ncnames:\n- cdn.example\n- www.example.com\n---\n_path: /\n",
        other_example=b"# cnames are none\n---\n---\n_path: /\n",
    )
    with found.editing() as editor:
        added = editor.add("http://www.example.com/x")
        assert editor.add("http://cdn.example/x").is_new is False
    assert added.record.url == "http://example.com/x"
    assert not (tmp_path / "www.example.com.yaml").exists()
    assert (record := found.find("http://cdn.example/x"))
    assert record.url == "http://example.com/x"
    assert found.find("http://nobody.example/x") is None


@pytest.mark.req("DB-11")
def test_unreadable_cnames_prevent_new_host_files(tmp_path: Path) -> None:
    found = database(tmp_path, broken_example=b"---\ncnames: nonsense\n---\n", fine_example=MINIMAL)

    def add(url: str) -> None:
        with found.editing() as editor:
            editor.add(url)

    assert message(add, "http://new.example/").startswith(f"{tmp_path}/broken.example.yaml:2:1: cnames must be a list")
    add("http://fine.example/x")  # which has one already
    assert sorted(contents(tmp_path)) == ["broken.example.yaml", "fine.example.yaml"]


@pytest.mark.parametrize("before", [b"", b"# a comment\n", b"#" * 5_000 + b"\n"])
def test_metadata_longer_than_the_first_bytes_are_found_too(tmp_path: Path, before: bytes) -> None:
    names = "".join(f"- alias-{number:05}.example\n" for number in range(2_000))
    found = database(tmp_path, example_com=before + f"---\ncnames:\n{names}---\n_path: /\n".encode())
    assert (record := found.find("http://alias-01999.example/"))
    assert record.host == "example.com"


@pytest.mark.req("DB-08")
def test_adding_to_a_host_with_a_file_opens_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = database(tmp_path, **{f"host{number}_example": MINIMAL for number in range(20)})
    opened: list[str] = []
    real = os.open

    def watched(path: str, *args: object, **kwargs: object) -> int:
        opened.append(str(path))
        return real(path, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", watched)
    with found.editing() as editor:
        editor.add("http://host7.example/x")
    assert {name for name in opened if name.endswith(".yaml")} == {"host7.example.yaml"}


def test_a_database_is_made_once_and_for_everybody(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "urls"
    assert create(str(folder))
    assert not create(str(folder))
    assert stat.S_IMODE(folder.stat().st_mode) & 0o077  # to be shared, unlike a cache
    assert sorted(contents(folder)) == ["registry.toml"]
    assert not list(registry.open(folder))


@pytest.mark.req("DB-13")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('policy = "nonsense"', "registry.toml.policy: no policy 'nonsense'"),
        ('policy = "../mine.toml"', "must be the name of a policy"),
        ('policy = "/etc/mine.toml"', "must be the name of a policy"),
        ('scheme = "ftp"', "must be http or https"),
        ('allowlist = ["http://x/"]', "registry.toml, entry 1: 'http://x/' is not a host"),
        ("allowlist = []", "registry.toml: allows nothing; write a domain into it"),
        ("allowlist = 3", "registry.toml.allowlist: must be a list of texts"),
        ('allowlist = ["a.example", "!"]', "registry.toml, entry 2: '' is not a host"),
        ('allowlist = "nowhere.txt"', "nowhere.txt: cannot be read: No such file"),
        ('polcy = "exact"', "did you mean 'policy'?"),
        ("policy = 3", "must be text"),
        ("nonsense", "not TOML"),
    ],
)
def test_rules_that_are_wrong_are_refused_by_key(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "registry.toml").write_text(text, encoding="utf-8")

    def use() -> None:
        registry.open(tmp_path).rules.admit("http://example.com/")

    assert reason in message(use)


@pytest.mark.req("DB-08", "DB-13")
def test_the_rules_of_a_folder_say_policy_scheme_and_hosts(tmp_path: Path) -> None:
    (tmp_path / "registry.toml").write_text(
        'policy = "ingest"\nscheme = "https"\nallowlist = ["example.com"]', encoding="utf-8"
    )
    found = registry.open(tmp_path)
    with found.editing() as editor:
        added = editor.add("HTTP://Docs.Example.com:80/a/?utm_source=x&b=1")
        with pytest.raises(SpanielError) as caught:
            editor.add("https://elsewhere.example/")
    assert added.record.url == "https://docs.example.com/a?b=1"
    assert (tmp_path / "docs.example.com.yaml").read_bytes() == b"---\n---\n_path: /a?b=1\n"
    assert "elsewhere.example" in caught.value.message
    exact = registry.open(tmp_path, policy="exact")
    with exact.editing() as editor:
        assert (
            editor.add("http://plain.example.com/a/?utm_source=x").record.url
            == "http://plain.example.com/a/?utm_source=x"
        )
    assert (tmp_path / "plain.example.com.yaml").read_bytes() == b"---\nhttps: false\n---\n_path: /a/?utm_source=x\n"


def test_a_policy_of_ones_own_stands_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        'name = "mine"\nversion = "1"\n[[apply]]\nrule = "parse"\n[[apply]]\nrule = "drop-params"\nnames = ["x"]\n',
        encoding="utf-8",
    )
    (tmp_path / "registry.toml").write_text('policy = "mine.toml"', encoding="utf-8")
    assert registry.open(tmp_path).rules.spot("http://a.example/?x=1&y=2").path == "/?y=2"


@pytest.mark.req("DB-08")
@pytest.mark.parametrize(
    ("url", "policy", "path"),
    [
        ("http://example.com", "exact", "/"),
        ("https://example.com/#top", "clara", "/"),
        ("http://example.com?b=1", "exact", "/?b=1"),
        ("http://example.com/a/../b;v=1?c#d", "exact", "/b;v=1?c"),
        ("http://example.com/ñ", "exact", "/%C3%B1"),
    ],
)
def test_a_url_becomes_a_path_under_the_policy(tmp_path: Path, url: str, policy: str, path: str) -> None:
    with registry.open(database(tmp_path).folder, policy=policy).editing() as editor:
        assert editor.add(url).record.path == path


def test_a_record_is_found_as_it_is_written_and_as_the_policy_writes_it(tmp_path: Path) -> None:
    found = database(tmp_path, example_com=b"---\n---\n_path: /%7euser\n---\n_path: /b\n")
    assert found.find("http://example.com/%7euser")  # which the policy would spell otherwise
    assert found.find("HTTP://EXAMPLE.com:80/x/../b#c")
    for nonsense in ("", "nonsense", "ftp://example.com/", "http://../x", "http://a b/", "\x00"):
        with pytest.raises(SpanielError):
            found.find(nonsense)


def test_files_come_in_the_order_of_their_hosts(tmp_path: Path) -> None:
    """'a.com' before 'a.com.au', though the names of their files sort the other way round."""
    found = database(tmp_path, a_com_au=MINIMAL, a_com=MINIMAL, **{"a-b.com": MINIMAL})
    assert [record.host for record in found] == sorted(record.host for record in found)
    assert [record.host for record in found] == ["a-b.com", "a.com", "a.com.au"]


def test_asked_for_one_host_only_its_file_is_read(tmp_path: Path) -> None:
    base = {"a_example": b"---\ncnames:\n- www.a.example\n---\n_path: /1\n", "b_example": MINIMAL}
    found = database(tmp_path, **base, c_example=b"---\n---\nbroken\n")
    for host, count in (("a.example", 1), ("www.a.example", 1), ("b.example", 1), ("d.example", 0)):
        assert len(list(found.records(Selection(hosts=(host,))))) == count
    with pytest.raises(SpanielError):
        list(found.records(Selection(hosts=("c.example",))))
    with pytest.raises(SpanielError):
        list(found.records())
