"""`spaniel check` on links of every kind: verdict, line, exit code, and the requests that are made."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from junitparser import JUnitXml

from spaniel.net import resolver
from tests.health.sites import Check, Reply, Site, SiteRequest, check, names, page, to

__all__ = ["check"]

LONG = "<p>" + "The spaniel fetches gently and goes where it is sent every day of the year. " * 5 + "</p>"
ANCHORED = page(f"<h1 id=top-of-it>A page</h1><h2 id=there>There</h2>{LONG}")
FORMATS = ("table", "json", "jsonl", "junit", "markdown", "html", "sarif", "github")


def document(folder: Path, *links: str, name: str = "doc.md") -> str:
    """Write a document with one link per line."""
    file = folder / name
    file.write_text("".join(f"[link]({link})\n" for link in links), encoding="utf-8")
    return str(file)


def lines_of(row: dict[str, object]) -> list[int]:
    return [place["line"] for place in row["places"]]  # type: ignore[attr-defined]


# -- Fragments


@pytest.mark.req("LH-03")
def test_missing_fragment_is_reported_with_its_line_in_every_format(check: Check, tmp_path: Path) -> None:
    with Site({"/p": ANCHORED}) as site:
        links = [site.url("/p"), site.url("/p#there"), site.url("/p#nope"), site.url("/p#top-of-it")]
        doc = document(tmp_path, *links)
        done = check(doc, "--fragments", "-f", "jsonl")
        assert done.code == 1
        bad = [row for row in done.rows().values() if row["verdict"] != "ok"]
        assert [(row["url"], row["verdict"], lines_of(row)) for row in bad] == [(site.url("/p#nope"), "failing", [3])]
        good = [row for row in done.rows().values() if row["verdict"] == "ok"]
        assert [lines_of(row) for row in good] == [[1, 2, 4]]

        junit = check(doc, "--fragments", "-f", "junit")
        suites = JUnitXml.fromstring(junit.out.encode())
        assert (junit.code, suites.tests, suites.failures) == (1, 4, 1)
        assert re.findall(r'line="(\d+)"[^>]*>\s*<failure', junit.out) == ["3"]

        sarif = json.loads(check(doc, "--fragments", "-f", "sarif").out)["runs"][0]["results"]
        regions = [each["locations"][0]["physicalLocation"]["region"]["startLine"] for each in sarif]
        assert ([each["level"] for each in sarif], regions) == (["error"], [3])

        github = [line for line in check(doc, "--fragments", "-f", "github").out.splitlines() if "::notice" not in line]
        assert len(github) == 1
        assert re.match(r"::error file=[^,]*,line=3,", github[0])

        table = check(doc, "--fragments").out
        assert re.findall(r"^ +(\d+):\d+ +failing +(\S+)$", table, re.MULTILINE) == [("3", site.url("/p#nope"))]
        assert f"{site.url('/p#nope')}`" in check(doc, "--fragments", "-f", "markdown").out
        assert f"{site.url('/p#nope')}</a>" in check(doc, "--fragments", "-f", "html").out


@pytest.mark.req("LH-03")
def test_fragments_are_checked_only_with_the_option(check: Check, tmp_path: Path) -> None:
    with Site({"/p": ANCHORED}) as site:
        done = check(document(tmp_path, site.url("/p#nope"), site.url("/p")), "-f", "jsonl")
        assert (done.code, list(done.rows())) == (0, [site.url("/p")])
        assert lines_of(done.rows()[site.url("/p")]) == [1, 2]


@pytest.mark.req("LH-03")
def test_each_missing_fragment_is_a_result_with_its_lines(check: Check, tmp_path: Path) -> None:
    with Site({"/p": ANCHORED, "/gone": Reply(410)}) as site:
        links = [site.url(f"/p#{name}") for name in ("a", "there", "b", "a", ":~:text=x")]
        done = check(document(tmp_path, *links, site.url("/gone#a")), "--fragments", "-f", "jsonl")
        found = {url: (row["verdict"], lines_of(row)) for url, row in done.rows().items()}
        assert found == {
            site.url("/p"): ("ok", [2, 5]),
            site.url("/p#a"): ("failing", [1, 4]),
            site.url("/p#b"): ("failing", [3]),
            site.url("/gone"): ("dead", [6]),
        }
        assert len([each for each in site.requests if each.path == "/p"]) == 1


@pytest.mark.req("LH-03")
def test_missing_fragment_of_a_named_url_fails(check: Check) -> None:
    with Site({"/p": ANCHORED}) as site:
        done = check(site.url("/p#nope"), site.url("/p#there"), "--fragments")
        assert done.code == 1
        assert f"{site.url('/p#nope')}\n" in done.out
        assert check(site.url("/p#nope"), "--fragments", "--fail-on", "dead").code == 0
        assert check(site.url("/p#nope"), "--fragments", "--fail-on", "fragment-missing").code == 1


@pytest.mark.req("LH-03")
def test_fragment_of_a_redirect_replaces_that_of_the_link(check: Check) -> None:
    sites = {"/p": ANCHORED, "/own": to("/p#there"), "/other": to("/p")}
    with Site(sites) as site:
        assert check(site.url("/own#old"), "--fragments").code == 0
        assert check(site.url("/other#old"), "--fragments").code == 1


@pytest.mark.req("LH-03")
def test_fragment_that_a_script_may_create_does_not_fail(check: Check, tmp_path: Path) -> None:
    made = page(f"<div id=app><h2>Install</h2>{LONG}</div><script src=/app.js></script>")
    with Site({"/p": made}) as site:
        done = check(document(tmp_path, site.url("/p"), site.url("/p#install")), "--fragments", "-f", "jsonl")
        assert done.code == 0
        row = done.rows()[site.url("/p#install")]
        assert ([each["remark"] for each in row["findings"]], lines_of(row)) == (["fragment-unknown"], [2])


@pytest.mark.req("LH-03")
def test_missing_fragment_in_the_baseline_does_not_fail(check: Check, tmp_path: Path) -> None:
    with Site({"/p": ANCHORED}) as site:
        known = str(tmp_path / "known.json")
        doc = document(tmp_path, site.url("/p#old"), site.url("/p"))
        assert check(doc, "--fragments", "--write-baseline", known).code == 1
        assert check(doc, "--fragments", "--baseline", known).code == 0
        document(tmp_path, site.url("/p#old"), site.url("/p#new"))
        assert check(doc, "--fragments", "--baseline", known).code == 1


@pytest.mark.req("LH-03")
def test_missing_anchor_of_local_file_is_reported_with_its_line(check: Check, tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text("# Guide\n")
    done = check(document(tmp_path, "guide.md", "guide.md#nope", "guide.md#guide"), "-f", "jsonl")
    bad = [row for row in map(json.loads, done.out.splitlines()) if row["verdict"] == "failing"]
    assert [(row["url"].rpartition("/")[2], lines_of(row)) for row in bad] == [("guide.md#nope", [2])]
    assert done.code == 1


# -- One retry


@pytest.mark.parametrize("first", [Reply(action="reset"), Reply(500), Reply(502), Reply(503), Reply(504)])
@pytest.mark.parametrize("args", [("--fragments",), ()])
def test_reset_or_5xx_is_retried_once(check: Check, tmp_path: Path, first: Reply, args: tuple[str, ...]) -> None:
    """The first request fails, HEAD or GET; the second gets the page."""

    def replies(request: SiteRequest) -> Reply:
        return first if len(site.requests) == 1 else ANCHORED

    with Site(replies) as site:
        done = check(document(tmp_path, site.url("/p#there")), *args, "-f", "jsonl")
        assert (done.code, [row["verdict"] for row in done.rows().values()]) == (0, ["ok"])


def test_failing_host_gets_two_requests(check: Check) -> None:
    with Site(lambda _: Reply(500)) as site:
        assert check(site.url("/p#x"), "--fragments").code == 3
        assert site.methods() == ["GET /p", "GET /p"]
        site.requests.clear()
        assert check(site.url("/p")).code == 3
        assert site.methods() == ["HEAD /p", "GET /p"]


# -- No network


@pytest.mark.req("LH-01")
@pytest.mark.parametrize("count", [1, 2, 3, 9])
def test_mistyped_hosts_are_failing_in_a_run_of_any_size(
    check: Check, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    hosts = [f"mistyped{number}.example" for number in range(count)]
    with names(monkeypatch, dict.fromkeys(hosts, "nxdomain")):
        done = check(*(f"https://{host}/" for host in hosts), "-f", "jsonl")
    assert (done.code, {row["verdict"] for row in done.rows().values()}) == (1, {"failing"})


@pytest.mark.req("LH-01")
@pytest.mark.parametrize(
    ("unanswered", "reached", "unknown", "no_network"),
    [
        (1, 0, 0, True),  # nothing answered
        (9, 0, 0, True),
        (0, 0, 1, False),  # an NXDOMAIN is an answer
        (9, 0, 1, False),
        (2, 1, 1, False),  # 2 of 4: not more than half
        (2, 1, 0, False),  # 2 of 3: fewer than four hosts
        (3, 1, 0, True),  # 3 of 4
        (3, 1, 1, True),  # 3 of 5
        (3, 2, 1, False),  # 3 of 6
    ],
)
def test_no_network_is_detected_by_failed_lookups(
    check: Check, monkeypatch: pytest.MonkeyPatch, unanswered: int, reached: int, unknown: int, no_network: bool
) -> None:
    with Site({"/": page(LONG)}) as site:
        known = {f"there{n}.example": "127.0.0.1" for n in range(reached)}
        known |= {f"mistyped{n}.example": "nxdomain" for n in range(unknown)}
        known |= {f"mute{n}.example": "no answer" for n in range(unanswered)}
        with names(monkeypatch, known):
            done = check(*(site.url("/", host) for host in known), "-f", "json")
    report = json.loads(done.out)
    assert report["summary"]["no_network"] is no_network
    verdicts = {row["url"]: row["verdict"] for row in report["results"]}
    mistyped = {verdict for url, verdict in verdicts.items() if "mistyped" in url}
    assert mistyped <= {"unknown" if no_network else "failing"}
    assert done.code == (1 if unknown and not no_network else 3)


@pytest.mark.req("LH-01")
def test_refused_port_or_name_without_address_is_failing(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    with Site({}) as site:
        closed = site.url("/", "closed.example")
    with names(monkeypatch, {"closed.example": "127.0.0.1", "empty.example": "nodata"}):
        for url in (closed, closed.replace("closed.example", "127.0.0.1"), "https://empty.example/"):
            done = check(url, "-f", "jsonl")
            assert (done.code, [row["verdict"] for row in done.rows().values()]) == (1, ["failing"]), url


@pytest.mark.req("LH-02")
def test_single_404_is_failing_and_410_is_dead(check: Check) -> None:
    with Site({"/gone": Reply(410)}) as site:
        done = check(site.url("/missing"), site.url("/gone"), "-f", "jsonl")
        assert {url: row["verdict"] for url, row in done.rows().items()} == {
            site.url("/missing"): "failing",
            site.url("/gone"): "dead",
        }


# -- Records


RECORD = "---\n---\n_path: {path}\ncategories:\n- redirect-ok\ncontent-type: {kind}\n"


def database(folder: Path, site: Site, text: str) -> str:
    """Write a link database with one file for the host of the site."""
    made = folder / "db"
    made.mkdir(exist_ok=True)
    (made / f"127.0.0.1%3A{site.port}.yaml").write_text(text)
    return str(made)


@pytest.mark.req("DB-07")
@pytest.mark.parametrize("target", ["/new/page", "/", "/login"])
def test_redirect_ok_record_is_ok_for_any_type_after_a_redirect(check: Check, tmp_path: Path, target: str) -> None:
    with Site({"/old/a.gif": to(target, 301), target: page(LONG), "/plain": page(LONG)}) as site:
        for path, verdict in (("/old/a.gif", "ok"), ("/plain", "changed")):
            folder = database(tmp_path, site, RECORD.format(path=path, kind="image/gif"))
            done = check("--db", folder, "-f", "jsonl", command=("db", "check"))
            assert [row["verdict"] for row in done.rows().values()] == [verdict]


@pytest.mark.req("DB-07")
@pytest.mark.parametrize(
    ("one", "other"),
    [("application/javascript", "application/x-javascript"), ("application/zip", "application/x-zip-compressed")],
)
def test_old_and_new_names_of_content_types_are_equal(check: Check, tmp_path: Path, one: str, other: str) -> None:
    for asserted, sent in ((one, other), (other, one), (one.upper(), other), (one, "text/plain")):
        with Site({"/x": Reply(body="x", fields=(f"Content-Type: {sent}; charset=utf-8",))}) as site:
            folder = database(tmp_path, site, f"---\n---\n_path: /x\ncontent-type: {asserted}\n")
            done = check("--db", folder, "-f", "jsonl", command=("db", "check"))
            assert [row["verdict"] for row in done.rows().values()] == ["changed" if sent == "text/plain" else "ok"]
            (Path(folder) / f"127.0.0.1%3A{site.port}.yaml").unlink()


# -- Pages with status 200 that are not the page


@pytest.mark.parametrize(
    ("text", "title", "is_soft"),
    [
        ("<h1>Page not found</h1>", "Shop", True),
        ("<p>Sorry.</p>", "404 Not Found", True),
        ("", "Seite nicht gefunden", True),
        ("<h1>Oops</h1><p>That page does not exist.</p>", "", True),
        ("<div id=root></div><script src=/app.js></script>", "App", False),  # a script may still create the page
        ("", "", False),
    ],
)
def test_short_not_found_page_is_a_soft_404(check: Check, text: str, title: str, is_soft: bool) -> None:
    with Site(lambda _: page(text, title)) as site:
        done = check(site.url("/docs/page"), "--soft-404", "-f", "jsonl")
        (row,) = done.rows().values()
        assert [each["remark"] for each in row["findings"]] == (["soft-404"] if is_soft else [])
        assert check(site.url("/docs/page"), "--soft-404", "--fail-on", "soft-404").code == is_soft


def test_short_page_unlike_its_sibling_is_no_soft_404(check: Check) -> None:
    def replies(request: SiteRequest) -> Reply:
        return page("<h1>Contact</h1>", "Shop") if request.path == "/contact" else page("<h1>Not found</h1>", "Shop")

    with Site(replies) as site:
        done = check(site.url("/contact"), "--soft-404", "-f", "jsonl")
        assert [row["findings"] for row in done.rows().values()] == [[]]


PARKED = page("<h1>This domain is for sale</h1><p>Make an offer to its owner.</p>")


def test_parked_page_is_not_shown_as_ok(check: Check, tmp_path: Path) -> None:
    with Site({"/p": PARKED, "/ok": page(LONG)}) as site:
        doc = document(tmp_path, site.url("/p"), site.url("/ok"))
        table = check(doc)
        assert (table.code, table.out.splitlines()[-1]) == (0, "2 links: 1 ok, 1 parked")
        assert re.search(r"^ +1:\d+ +parked +", table.out, re.MULTILINE)
        assert check(doc, "--fail-on", "parked").code == 1
        assert check(doc, "--fail-on", "soft-404").code == 0
        assert "## Parked (1)" in check(doc, "-f", "markdown").out
        assert '<td class="odd">parked</td>' in check(doc, "-f", "html").out
        junit = check(doc, "--fail-on", "parked", "-f", "junit")
        assert JUnitXml.fromstring(junit.out.encode()).failures == 1
        assert JUnitXml.fromstring(check(doc, "-f", "junit").out.encode()).failures == 0


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_reports_findings_of_real_pages(check: Check, tmp_path: Path, format_: str) -> None:
    """Findings of every kind that a page can cause, in every format."""
    made = page(f"<div id=app>{LONG}</div><script src=/app.js></script>")
    soft = page("<h1>Not found</h1>")
    pages = {"/parked": PARKED, "/missing": ANCHORED, "/made": made}
    with Site(lambda request: pages.get(request.path, soft)) as site:
        links = [site.url(path) for path in ("/parked", "/missing#no", "/made#no", "/soft")]
        done = check(document(tmp_path, *links), "--fragments", "--soft-404", "-f", format_)
        assert done.code == 1, done.err
        for path in ("/parked", "/missing#no", "/soft"):
            assert path in done.out
        if format_ in ("json", "sarif"):
            json.loads(done.out)
        if format_ == "sarif":
            run = json.loads(done.out)["runs"][0]
            rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
            for result in run["results"]:
                assert rules[result["ruleIndex"]] == result["ruleId"]


# -- Meta refresh


def refresh(content: str) -> Reply:
    return page(f'<meta http-equiv="Refresh" content="{content}">Moved.')


@pytest.mark.parametrize(
    ("content", "verdict", "end"),
    [
        ("0; url=/new", "moved", "/new"),
        ("0;URL='/new'", "moved", "/new"),
        ("5, /new", "moved", "/new"),
        ("0; url=/gone", "failing", "/gone"),
        ("0; url=http://169.254.169.254/latest", "blocked", ""),
        ("0; url=/again", "moved", "/again"),  # followed once
        ("30", "ok", ""),  # reloads itself
        ("0; url=/start", "ok", ""),
        ("900; url=/new", "ok", ""),  # a slide show
    ],
)
def test_meta_refresh_is_followed_once(check: Check, content: str, verdict: str, end: str) -> None:
    pages = {"/start": refresh(content), "/new": page(LONG), "/again": refresh("0; url=/new")}
    with Site(pages) as site:
        done = check(site.url("/start"), "-f", "jsonl")
        (row,) = done.rows().values()
        assert row["verdict"] == verdict, row
        if end:
            assert row["evidence"]["final_url"] == site.url(end)
        assert ("GET /new" in site.methods()) == (end == "/new")


def test_meta_refresh_in_noscript_is_not_followed(check: Check) -> None:
    body = f'<noscript><meta http-equiv="refresh" content="0; url=/gone"></noscript>{LONG}'
    with Site({"/a": Reply(body=f"<html><head><title>A</title>{body}"), "/b": page(f"<!--{body}-->{LONG}")}) as site:
        done = check(site.url("/a"), site.url("/b"), "--soft-404", "-f", "jsonl")
        assert [row["verdict"] for row in done.rows().values()] == ["ok", "ok"]


def test_link_without_scheme_is_checked_as_https(check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "page.html"
    file.write_text('<a href="//mistyped.dev/x">a</a>\n<img src="//mistyped.dev/y.png">\n<a href="//">b</a>\n')
    with names(monkeypatch, {"mistyped.dev": "nxdomain"}):
        rows = check(str(file), "-f", "jsonl").rows()
    assert {url: row["verdict"] for url, row in rows.items() if "mistyped" in url} == {
        "https://mistyped.dev/x": "failing",
        "https://mistyped.dev/y.png": "failing",
    }


# -- Ports and connections


@pytest.mark.req("LH-06")
def test_any_port_is_checked_and_private_addresses_are_blocked(check: Check, tmp_path: Path) -> None:
    """The port of the site is not 80 or 443, and no setting allows it; the second host is not on loopback."""
    with Site({"/p": page(LONG), "/out": to("http://10.1.2.3:8080/")}) as site:
        links = [site.url("/p"), site.url("/out"), f"http://10.1.2.3:{site.port}/", "http://169.254.169.254:8443/"]
        done = check(*links, "-f", "jsonl")
        assert [done.rows()[url]["verdict"] for url in links] == ["ok", "blocked", "blocked", "blocked"]


def test_stalled_connection_is_replaced_by_a_new_one(check: Check) -> None:
    def replies(request: SiteRequest) -> Reply:
        return page(LONG) if request.nth == 1 else Reply(action="hang")

    with Site(replies) as site:
        urls = [site.url(f"/{number}") for number in range(4)]
        done = check(*urls, "--timeout", "4", "-f", "jsonl")
        assert [done.rows()[url]["verdict"] for url in urls] == ["ok"] * 4
        assert sum(each.nth > 1 for each in site.requests) == 1  # then no connection is reused


# -- HEAD and GET


def test_trusted_head_needs_one_get_per_host(check: Check, tmp_path: Path) -> None:
    with Site(lambda _: page(LONG)) as site:
        urls = [site.url(f"/docs/{number}") for number in range(12)]
        done = check(document(tmp_path, *urls))
        assert done.code == 0
        assert sorted(site.methods()) == sorted([*(f"HEAD /docs/{n}" for n in range(12)), site.methods("/docs/")[1]])
        assert [each.method for each in site.requests].count("GET") == 1


def test_sibling_is_requested_only_with_soft_404(check: Check) -> None:
    with Site({"/docs/1": page(LONG), "/docs/2": page(LONG), "/docs/3": page(LONG)}) as site:
        urls = [site.url(f"/docs/{number}") for number in (1, 2, 3)]
        assert check(*urls).code == 0
        assert {each.path for each in site.requests} == {"/docs/1", "/docs/2", "/docs/3"}
        site.requests.clear()
        assert check(*urls, "--soft-404").code == 0
        assert len({each.path for each in site.requests}) == 6


@pytest.mark.parametrize("head", [Reply(405), Reply(404), Reply(500), Reply(action="reset")])
def test_host_with_wrong_head_is_requested_by_get(check: Check, head: Reply) -> None:
    with Site(lambda request: head if request.method == "HEAD" else page(LONG)) as site:
        urls = [site.url(f"/{number}") for number in range(5)]
        done = check(*urls, "-f", "jsonl")
        assert {row["verdict"] for row in done.rows().values()} == {"ok"}
        assert [each.method for each in site.requests].count("HEAD") == 1


# -- One unexpected exception


def test_unexpected_exception_is_a_result_and_the_run_continues(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    look_up = resolver._look_up

    async def broken(host: str) -> object:
        if host == "broken.example":
            raise ZeroDivisionError("a bug")
        return await look_up(host)

    monkeypatch.setattr(resolver, "_look_up", broken)
    with Site({"/": page(LONG)}) as site:
        done = check("https://broken.example/", site.url("/"), "-f", "jsonl")
        rows = done.rows()
        assert (rows[site.url("/")]["verdict"], done.code) == ("ok", 3)
        bad = rows["https://broken.example/"]
        assert (bad["verdict"], bad["code"]) == ("unknown", "internal")
        assert "ZeroDivisionError" in done.err
