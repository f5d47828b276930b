"""What is run: each scenario is a folder of its own and commands that follow each other in it."""

from __future__ import annotations

from typing import NamedTuple

from tests.outputs.world import FIRST, PORT, SECOND, THIRD

SETTINGS = f"""[tools.webfetch]
cache_dir = "cache"
[tools.webfetch.browser]
enabled = false
[tools.webfetch.security]
allow_insecure_overrides = true
block_loopback = false
allowed_ports = [{PORT}]
[spaniel.archive]
available = ""
"""
LIST = f"""# a list
{FIRST}/article
{FIRST}/second?utm_source=x&b=2&a=1

{FIRST}/missing
{SECOND}/far
{FIRST}/article#twice
{FIRST}/moved
{FIRST}/private
{FIRST}/gone
{FIRST}/forbidden
{FIRST}/pay
{FIRST}/plain
{FIRST}/data.json
{FIRST}/picture
{FIRST}/empty
not a url
javascript:alert(1)
"""
DOCUMENT = f"""# Links

A [good one]({FIRST}/article), a [moved one]({FIRST}/moved), a [temporary one]({FIRST}/temporary).
A [missing one]({FIRST}/missing "with a title") and <{FIRST}/gone>.

[ref]: {FIRST}/foreign
See [ref], {FIRST}/forbidden and [an anchor]({FIRST}/second#part), [none]({FIRST}/second#nope).
A [file](other.md), [another](absent.md), [loop]({FIRST}/loop), [parked]({FIRST}/parked).
"""
OTHER = "# Other\n\n[back](links.md#links)\n"
PAGE = f'<!doctype html><a href="{FIRST}/article">a</a>\n<img src="/picture">\n<a href="{FIRST}/moved">m</a>\n'
CSV = f"name,url\nfirst,{FIRST}/article\nsecond,{FIRST}/second\n"
JSONL = f'{{"url": "{FIRST}/article"}}\n{{"url": "{FIRST}/second"}}\n'
OPTIONS = ("--config", "settings.toml")
FAST = ("--delay", "0", "--workers", "1", "-j", "1", *OPTIONS)


class Scenario(NamedTuple):
    name: str
    commands: tuple[tuple[str, ...], ...]
    files: dict[str, str] = {}  # noqa: RUF012
    shown: tuple[str, ...] = ()  # files whose content counts, after all commands; the name decides how they are read


def fetches() -> tuple[tuple[str, ...], ...]:
    formats = [("fetch", f"{FIRST}/article", "-f", name, *OPTIONS) for name in ("markdown", "page", "json", "chunks")]
    kinds = [("fetch", f"{FIRST}{path}", "-f", "json", "--profile", "reader", *OPTIONS)
             for path in ("/plain", "/data.json", "/rows.csv", "/feed.xml", "/sitemap.xml", "/empty")]  # fmt: skip
    refused = [("fetch", f"{FIRST}{path}", *OPTIONS)
               for path in ("/missing", "/gone", "/broken", "/loop", "/private", "/picture", "/login", "/pay")]  # fmt: skip
    bad = [("fetch", url, *OPTIONS) for url in ("ftp://x/", "http://10.0.0.1/", "http://0177.0.0.1/", "http://a b/")]
    return (*formats, *kinds, *refused, *bad)


SCENARIOS = (
    Scenario("fetch", fetches()),
    Scenario(
        "fetch_many",
        (
            ("fetch", f"{FIRST}/article", f"{FIRST}/missing", f"{SECOND}/far", *OPTIONS),
            ("fetch", "-", "-f", "page", *OPTIONS),
            ("fetch", f"{FIRST}/article", f"{SECOND}/far", "-o", "pages/", *OPTIONS),
        ),
    ),
    Scenario(
        "ingest",
        tuple(
            ("fetch", f"{FIRST}{path}", "--profile", "ingest", "-f", "record", "--chunks", "--max-wait", "1s", *OPTIONS)
            for path in ("/article", "/moved", "/missing", "/gone", "/private", "/pay", "/forbidden", "/data.json", "/article?ref=x")
        ),
    ),
    Scenario("cache", (("fetch", f"{FIRST}/article", "-q", *OPTIONS), ("cache", "ls", *OPTIONS), ("cache", "show", f"{FIRST}/article", *OPTIONS), ("cache", "verify", *OPTIONS))),
    Scenario("may_i", tuple(("may-i", f"{FIRST}{path}", *more, *OPTIONS) for path in ("/article", "/private/x") for more in ((), ("--json",)))),
    Scenario(
        "extract",
        (("extract", "page.html"), ("extract", "page.html", "--url", f"{FIRST}/x", "--json"), ("extract", "rows.csv", "data.jsonl"), ("extract", "absent.html")),
        {"page.html": PAGE, "rows.csv": CSV, "data.jsonl": JSONL},
    ),
    Scenario("chunk", (("chunk", "links.md", "--max-tokens", "128"), ("chunk", "links.md", "--table")), {"links.md": DOCUMENT * 3}),
    Scenario(
        "canon",
        (
            ("canon", "HTTP://Example.COM:80/docs/../api/v2/?ref=twitter&utm_source=blog&format=json", "--policy", "ingest"),
            ("canon", "http://example.com/a?b=%zz", "--explain", "--policy", "ingest"),
            ("canon", "https://www.boe.es/buscar/act.php?id=BOE-A-2023-12345&p=2#x", "--policy", "clara", "--json"),
            ("canon", "https://www.gencat.cat/ca/tramits/;jsessionid=1?lang=ca", "--policy", "clara", "--explain"),
            ("canon", "http://Example.com//a//b/?utm_x=1&z=1&a=2", "--policy", "curious", "--jsonl"),
            ("canon", "https://example.com/a/?ref=1", "https://example.com/b", "--diff", "exact", "ingest"),
            ("canon", "http://127.1/", "javascript:1", "https://example.com/ok", "--table"),
            ("canon", f"{FIRST}/moved", "--online", "--policy", "clara", "--json", *OPTIONS),
        ),
    ),
    Scenario(
        "batch_jsonl",
        (("batch", "urls.txt", "-o", "out.jsonl", *FAST), ("batch", "urls.txt", "-o", "out.jsonl", "--resume", *FAST), ("batch", "urls.txt", "-o", "out.jsonl", *FAST)),
        {"urls.txt": LIST},
        ("out.jsonl", "out.jsonl.batch/summary.json"),
    ),
    Scenario(
        "batch_warc",
        (("batch", "rows.csv", "-o", "out.jsonl", "--warc", *FAST),),
        {"rows.csv": CSV},
        ("out.jsonl", "out.jsonl.warc.gz"),
    ),
    Scenario("batch_parquet", (("batch", "data.jsonl", "-o", "out.parquet", *FAST),), {"data.jsonl": JSONL}, ("out.parquet",)),
    Scenario("batch_pages", (("batch", f"{FIRST}/sitemap.xml", "-o", "pages/", *FAST),), {}, ("pages/**/*",)),
    Scenario(
        "batch_shards",
        (
            ("batch", "urls.txt", "-o", "a.jsonl", "--shard", "1/2", *FAST),
            ("batch", "urls.txt", "-o", "b.jsonl", "--shard", "2/2", *FAST),
            ("batch", "merge", "a.jsonl", "b.jsonl", "-o", "all.jsonl", "--sort"),
            ("batch", "urls.txt", "-o", "c.jsonl", "--dry-run", *FAST),
        ),
        {"urls.txt": LIST},
        ("all.jsonl",),
    ),
    Scenario(
        "check_reports",
        tuple(
            ("check", "links.md", "page.html", "-f", name, "--no-history", "-j", "1", "--delay", "0", *more, *OPTIONS)
            for name, more in (("table", ()), ("json", ()), ("jsonl", ("--fragments",)), ("junit", ("--fragments",)), ("markdown", ()), ("html", ()), ("sarif", ()), ("github", ()))
        ),
        {"links.md": DOCUMENT, "other.md": OTHER, "page.html": PAGE},
    ),
    Scenario(
        "check_history",
        (
            ("check", "links.md", "-j", "1", "--delay", "0", "--write-baseline", "known.json", *OPTIONS),
            ("check", "links.md", "-j", "1", "--delay", "0", "--baseline", "known.json", "-f", "jsonl", *OPTIONS),
            ("check", "links.md", "-j", "1", "--delay", "0", "--fix", *OPTIONS),
            ("check", "links.md", "--offline", *OPTIONS),
            ("check", "links.md", "--dry-run", *OPTIONS),
            ("check", "links.md", "-j", "1", "--delay", "0", "--fix", "--write", "--temporary-too", "-q", *OPTIONS),
        ),
        {"links.md": DOCUMENT, "other.md": OTHER},
        ("known.json", "links.md"),
    ),
    Scenario(
        "registry",
        (
            ("db", "init", *OPTIONS),
            ("db", "add", "https://example.com/a?b=1", "https://www.example.com/z", "https://other.example/", *OPTIONS),
            ("db", "add", f"{FIRST}/article", f"{FIRST}/moved", f"{FIRST}/missing", *OPTIONS),
            ("db", "import", "rows.csv", *OPTIONS),
            ("db", "import", f"{FIRST}/sitemap.xml", *OPTIONS),
            ("db", "ls", *OPTIONS),
            ("db", "show", f"{FIRST}/article", *OPTIONS),
            ("db", "dump", *OPTIONS),
            ("db", "fmt", "--check", *OPTIONS),
            ("db", "rm", "https://example.com/a?b=1", "https://other.example/", "https://www.example.com/z", *OPTIONS),
            ("db", "check", "-j", "1", "--delay", "0", *OPTIONS),
            ("db", "check", "-j", "1", "--delay", "0", "-f", "jsonl", *OPTIONS),
            ("db", "check", "-j", "1", "--delay", "0", "-f", "sarif", *OPTIONS),
            ("db", "history", f"{FIRST}/missing", *OPTIONS),
            ("db", "fix", "-j", "1", "--delay", "0", *OPTIONS),
        ),
        {"rows.csv": CSV},
        ("urls/*",),
    ),
    Scenario(
        "queue",
        (
            ("fetch", f"{FIRST}/forbidden", "--profile", "ingest", "-f", "record", *OPTIONS),
            ("queue", "ls", *OPTIONS),
            ("queue", "show", "1", *OPTIONS),
            ("queue", "export", *OPTIONS),
            ("queue", "done", "1", *OPTIONS),
        ),
    ),
    Scenario("wrong_input", (("fetch",), ("fetch", "x", "--format", "nope"), ("nope",), ("batch", "absent.txt", "-o", "o.jsonl"), ("check", "absent.md"), ("db", "ls"), ("chunk", "absent.md"), ("canon", "x", "--policy", "nope"))),
)  # fmt: skip
_ = THIRD
