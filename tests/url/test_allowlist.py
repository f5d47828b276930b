"""The allowlist: a file of hosts, one on a line; a refusal names the line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.learnt import Learnt
from spaniel.url import load
from spaniel.url.allowlist import Allowlist, read
from spaniel.url.allowlist import load as load_allowlist
from spaniel.url.hostlists import registrable

FILE = """\
# Official sources
boe.es            # the gazette
*.gob.es
=sede.ejemplo.es
aeat.es = agencia.gob.es
bücher.example
!anuncios.gob.es
"""


@pytest.mark.req("CP-09", "CP-27")
@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("boe.es", True),
        ("www.boe.es", True),
        ("diario.boe.es", True),
        ("notboe.es", False),
        ("boe.es.evil.example", False),
        ("agencia.gob.es", True),
        ("www.agencia.gob.es", True),
        ("gob.es", False),  # `*.gob.es` is what is below it
        ("sede.ejemplo.es", True),
        ("www.sede.ejemplo.es", True),  # www makes no difference
        ("otra.sede.ejemplo.es", False),
        ("ejemplo.es", False),
        ("aeat.es", True),
        ("www.aeat.es", True),
        ("sub.aeat.es", False),
        ("xn--bcher-kva.example", True),
        ("mas.xn--bcher-kva.example", True),
        ("anuncios.gob.es", False),
        ("mas.anuncios.gob.es", False),
        ("10.0.0.1", False),
        ("[::1]", False),
    ],
)
def test_who_is_on_the_list(host: str, allowed: bool) -> None:
    assert (host in read(FILE)) is allowed


def test_a_refusal_names_the_file_and_the_line() -> None:
    allowlist = read(FILE, "official.txt")
    assert allowlist.refusal("mas.anuncios.gob.es") == "it is not on the allowlist: line 7 of official.txt blocks it"
    assert allowlist.refusal("tienda.example") == "it is not on the allowlist: no line of official.txt names it"
    with pytest.raises(SpanielError) as caught:
        allowlist.require("tienda.example", "redirect 2")
    assert caught.value.code is Code.INVALID_HOST
    assert caught.value.message.endswith("names it (redirect 2)")
    assert "allowlist" in caught.value.hint


def test_what_is_blocked_stays_so_by_whatever_other_line() -> None:
    allowlist = read("a.es\n=mal.a.es\nb.es = mal.a.es\n!mal.a.es\n")
    assert "mal.a.es" not in allowlist
    assert "b.es" not in allowlist
    assert "bien.a.es" in allowlist


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("boe.es\nhttp://boe.es/", 2, "is not a host"),
        ("boe.es other.es", 1, "is not a host"),
        ("boe.es/path", 1, "is not a host"),
        ("boe.es:80", 1, "is not a host"),
        ("*.*.es", 1, "is not a host"),
        ("sede.*.es", 1, "is not a host"),
        (".boe.es", 1, "is not a host"),
        ("!", 1, "is not a host"),
        ("=", 1, "is not a host"),
        ("boe.es\na.es = b.es", 2, "no line allows"),
        ("boe.es\na.es = c.es\nc.es = boe.es", 2, "only another name"),
        ("bo\x00e.es", 1, "is not a host"),
    ],
)
def test_a_line_that_is_none_is_refused_with_its_number(text: str, line: int, reason: str) -> None:
    with pytest.raises(SpanielError) as caught:
        read(text, "official.txt")
    assert caught.value.code is Code.BAD_ARGS
    assert f"official.txt, line {line}:" in caught.value.message
    assert reason in caught.value.message


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    big = tmp_path / "big.txt"
    big.write_bytes(b"a.es\n" * 300_000)
    latin = tmp_path / "latin.txt"
    latin.write_bytes(b"b\xfccher.example\n")
    empty = tmp_path / "empty.txt"
    empty.write_text("# nothing\n!boe.es\n", encoding="utf-8")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, reason in (
        (big, "more than"),
        (latin, "not UTF-8"),
        (empty, "allows nothing"),
        (tmp_path, "cannot be read"),
        (tmp_path / "none", "cannot be read"),
        (pipe, "not a regular file"),
    ):
        with pytest.raises(SpanielError, match=reason):
            load_allowlist(path)


def test_windows_and_byte_order_marks_are_read_as_they_are_meant(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_bytes(b"\xef\xbb\xbfboe.es\r\n*.gob.es\r\n")
    assert "www.boe.es" in load_allowlist(path)


def test_an_empty_list_allows_all() -> None:
    assert "anything.example" in Allowlist()


@pytest.mark.req("CP-09")
def test_offline_only_the_written_host_is_judged_except_shorteners() -> None:
    policy, web = load("clara").with_allowlist(read(FILE)), Learnt().web()
    assert policy.explain("https://boe.es/a", web).url == "https://www.boe.es/a"
    assert "shortener-unresolved" in policy.explain("https://bit.ly/3abc", web).flags
    with pytest.raises(SpanielError, match="no line of"):
        policy.explain("https://tienda.example/a", web)


def test_a_policy_that_follows_no_redirects_takes_no_allowlist() -> None:
    with pytest.raises(SpanielError, match="has no rule 'follow-redirects'"):
        load("exact").with_allowlist(read(FILE))


def test_only_rules_that_can_ask_may_be_marked_so() -> None:
    from spaniel.url import Policy

    steps = [{"rule": "parse"}, {"rule": "drop-fragment", "asks": True}]
    with pytest.raises(SpanielError, match="has nothing to ask"):
        Policy({"name": "m", "version": "1", "apply": steps}, "m.toml")
    assert load("exact").asks == ()
    assert "follow-redirects" in load("clara").asks


def test_a_policy_with_an_allowlist_travels_to_other_processes() -> None:
    import pickle

    policy = pickle.loads(pickle.dumps(load("clara").with_allowlist(read(FILE))))  # noqa: S301
    with pytest.raises(SpanielError, match="not on the allowlist"):
        policy.explain("https://tienda.example/a", Learnt().web())


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("sede.agencia.gob.es", "agencia.gob.es"),
        ("www.boe.es", "boe.es"),
        ("gob.es", "gob.es"),
        ("10.0.0.1", "10.0.0.1"),
        ("[::1]", "[::1]"),
        ("localhost", "localhost"),
    ],
)
def test_the_registrable_domain(host: str, domain: str) -> None:
    assert registrable(host) == domain
