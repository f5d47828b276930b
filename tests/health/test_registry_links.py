"""Records as links: what each asserts, which are selected, when they are due, and host aliases."""

from __future__ import annotations

from pathlib import Path

import pytest

from spaniel.errors import SpanielError
from spaniel.health.history import Observed
from spaniel.health.links import Checked, Link, Place
from spaniel.health.registry_links import Priorities, Wanted, asked_as, links, load, read_aliases, wanted
from spaniel.registry.host_file import read_file
from spaniel.verdicts import DAY, Expected, Verdict

NOW = 1_800_000_000.0
SHA = "ab" * 32


def of_file(*records: str, metadata: str = "", scheme: str = "", priorities: Priorities | None = None) -> list[Link]:
    text = "".join(["---\n", metadata, *(f"---\n{record}\n" for record in records)])
    file = read_file(text, "urls/www.example.com.yaml", "www.example.com")
    found = list(links(file.records, priorities or load(), scheme))
    return [link.link if isinstance(link, Checked) else link for link in found]


def of_record(record: str) -> Expected:
    return of_file(record)[0].expected


@pytest.mark.req("DB-06")
def test_record_without_content_accepts_page_or_redirect() -> None:
    assert of_record("_path: /") == Expected(may_redirect=True)


@pytest.mark.req("DB-07")
def test_record_with_content_asserts_it_after_redirects() -> None:
    expected = of_record(f"_path: /\ncontent-length: 12\ncontent-sha256: {SHA.upper()}")
    assert expected == Expected(length=12, sha256=SHA, may_redirect=False)


@pytest.mark.req("DB-07")
@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ("content-type: Text/HTML; charset=utf-8", Expected(content_type="text/html", may_redirect=False)),
        ("content-type: X-301-Redirect", Expected(content_type="x-301-redirect", may_redirect=False)),
        ("content-type: X-302-Redirect", Expected(content_type="x-302-redirect", may_redirect=False)),
        (
            "categories:\n- redirect-ok\ncontent-type: a/b",
            Expected(content_type="a/b", may_redirect=True, redirect_is_fine=True),
        ),
        ("categories:\n- redirect-ok", Expected(redirect_is_fine=True)),
        (
            "categories:\n- content-type-change-ok\ncontent-type: a/b",
            Expected(content_type="a/b", may_redirect=False, type_may_change=True),
        ),
    ],
)
def test_content_types_and_categories_of_real_databases(record: str, expected: Expected) -> None:
    path, _, rest = record.partition("categories")
    assert of_record(f"{'' if path else 'categories' + rest + chr(10)}_path: /\n{path}") == expected


@pytest.mark.req("DB-13")
@pytest.mark.parametrize(
    ("metadata", "scheme", "url"),
    [
        ("", "", "http://www.example.com/a?b"),
        ("https: true\n", "", "https://www.example.com/a?b"),
        ("https: false\n", "", "http://www.example.com/a?b"),
        ("", "https", "https://www.example.com/a?b"),
        ("https: true\n", "http", "http://www.example.com/a?b"),
    ],
)
def test_scheme_is_http_by_default(metadata: str, scheme: str, url: str) -> None:
    assert of_file("_path: /a?b", metadata=metadata, scheme=scheme)[0].url == url


def test_deprecated_record_is_skipped() -> None:
    text = "---\n---\n_path: /\ncategories:\n- deprecated\n"
    (found,) = links(read_file(text, "f", "a.example").records, load())
    assert isinstance(found, Checked)
    assert (found.verdict, found.reason) == (Verdict.SKIPPED, "the record is of the category 'deprecated'")


def test_link_has_the_place_of_its_path() -> None:
    found = of_file("_path: /a", "content-length: 3\n_path: '/b'")
    assert [link.places for link in found] == [
        (Place("urls/www.example.com.yaml", 3, 8),),
        (Place("urls/www.example.com.yaml", 6, 9),),
    ]


def test_priority_is_key_or_category_of_record() -> None:
    found = of_file(
        "_path: /a", "_path: /b\npriority: daily", "_path: /c\ncategories:\n- monthly", "_path: /d\npriority: 3",
        "_path: /e\ncategories:\n- monthly\n- weekly", "_path: /f\ncategories:\n- daily\npriority: monthly",
    )  # fmt: skip
    assert [link.priority for link in found] == ["weekly", "daily", "monthly", "weekly", "weekly", "monthly"]


def last(verdict: str, days: float) -> Observed:
    return Observed(0.0, NOW - days * DAY, 1, verdict, 200, "", "", "", (), "")


@pytest.mark.parametrize(
    ("priority", "verdict", "days", "due"),
    [
        ("daily", "ok", 0.5, False),
        ("daily", "ok", 0.95, True),  # yesterday's job may have started late
        ("weekly", "ok", 6, False),
        ("weekly", "ok", 7, True),
        ("monthly", "ok", 20, False),
        ("monthly", "ok", 30, True),
        ("monthly", "failing", 2, False),
        ("monthly", "failing", 3, True),  # within ten days it is known whether it is dead
        ("monthly", "unknown", 1, True),
        ("daily", "failing", 1, True),
    ],
)
def test_link_is_due_by_priority_and_sooner_after_failure(priority: str, verdict: str, days: float, due: bool) -> None:
    assert load().is_due(priority, last(verdict, days), NOW) is due


def test_unchecked_link_is_due() -> None:
    assert load().is_due("monthly", None, NOW)


def test_priorities_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('default = "hourly"\n[days]\nhourly = 0\nyearly = 365\n[categories]\nlaw = "yearly"\n')
    own = load(str(file))
    found = of_file("_path: /a", "_path: /b\ncategories:\n- law", priorities=own)
    assert [link.priority for link in found] == ["hourly", "yearly"]
    assert own.is_due("hourly", last("ok", 0), NOW)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('default = "dialy"\n[days]\ndaily = 1\n', "did you mean 'daily'"),
        ('default = "daily"\n[days]\ndaily = 1\n[sooner]\nded = 1\n', "no such verdict"),
        ('default = "daily"\n[days]\ndaily = 1\n[categories]\na = "x"\n', "no priority 'x'"),
        ('default = "daily"\n[days]\ndaily = 1\n[more]\n', "unknown key"),
    ],
)
def test_invalid_priorities_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(text)
    with pytest.raises(SpanielError, match=message):
        load(str(file))


def test_links_are_filtered_by_last_check() -> None:
    known = {"http://a.example/ok": last("ok", 1), "http://a.example/bad": last("failing", 5)}
    all_ = [Link(f"http://a.example/{name}") for name in ("ok", "bad", "new")]
    all_ = [link._replace(priority="weekly") for link in all_]

    def chosen(which: Wanted) -> list[str]:
        skipped = Checked(Link("http://a.example/old"), Verdict.SKIPPED)
        found = wanted([*all_, skipped], which, known.get, load())
        return [(link.link if isinstance(link, Checked) else link).url.rpartition("/")[2] for link in found]

    assert chosen(Wanted()) == ["ok", "bad", "new", "old"]
    assert chosen(Wanted(frozenset({"failing", "dead"}))) == ["bad"]
    assert chosen(Wanted(frozenset({"never"}))) == ["new"]
    assert chosen(Wanted(not_since=NOW - 2 * DAY)) == ["bad", "new"]
    assert chosen(Wanted(due_at=NOW)) == ["bad", "new"]
    assert chosen(Wanted(frozenset({"failing"}), due_at=NOW)) == ["bad"]


@pytest.mark.parametrize(
    ("alias", "url", "requested"),
    [
        ("www.a.example=stage.a.example", "https://www.a.example/x?y=/z", "https://stage.a.example/x?y=/z"),
        ("www.a.example=127.0.0.1:80", "http://www.a.example/", "http://127.0.0.1:80/"),
        ("www.a.example=http://127.0.0.1:8000", "https://www.a.example/b", "http://127.0.0.1:8000/b"),
        ("a.example:8080=b.example", "http://a.example:8080/", "http://b.example/"),
        ("a.example=b.example", "http://www.a.example/", "http://www.a.example/"),
    ],
)
def test_alias_replaces_the_host(alias: str, url: str, requested: str) -> None:
    assert asked_as(read_aliases([alias]))(url) == requested


@pytest.mark.parametrize(
    "invalid", ["a.example", "=b.example", "a.example=", "a.example=ftp://b.example", "a b=c.example"]
)
def test_invalid_alias_is_refused(invalid: str) -> None:
    with pytest.raises(SpanielError, match="must be two hosts"):
        read_aliases([invalid])
