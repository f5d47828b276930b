"""The references of notes, policies and profiles, made from the code; run by make.py."""

from __future__ import annotations

import json
import re
import runpy
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import get_args, get_type_hints
from unittest import mock

import msgspec

from spaniel.cli.notes import NOTES
from spaniel.defaults import MAX_WAIT_SECONDS, TOTAL_SECONDS
from spaniel.hosts import Politeness
from spaniel.net.http import RequestHeaders
from spaniel.pipeline.profile import FALLBACKS, NUMBERS, VIEWS, from_data
from spaniel.pipeline.profile import shipped as shipped_profiles
from spaniel.pipeline.record import CacheRecord, ChecklistItem, Extraction, FallbackRecord, Record
from spaniel.reading.kinds import DEFAULT_KINDS, NAMES
from spaniel.tables import Table
from spaniel.url.policy import Policy
from spaniel.url.policy import load as load_policy
from spaniel.url.policy import shipped as shipped_policies
from spaniel.url.rules.table import RULES
from spaniel.verdicts import MEANINGS, Verdict

BY_HAND = runpy.run_path(str(Path(__file__).with_name("policy_notes.py")))
SOURCE = Path(__file__).resolve().parent.parent / "src" / "spaniel"

NOTES_PAGE = """\
# Notes

<!-- Made from src/spaniel/cli/notes.py by `make docs`. -->

A note says what is special about an answer. There is a page: a note is not an error. In Python they are `answer.notes`; in the tool's
JSON `note`, with commas between them. `spaniel fetch` prints them on standard error, unless `-q` is given.

| note | meaning |
|---|---|
"""


def notes_page() -> str:
    return NOTES_PAGE + "".join(f"| `{note}` | {sentence} |\n" for note, sentence in NOTES.items())


POLICIES = """\
# URL policies and their rules

<!-- Made from src/spaniel/url/ by `make docs`. -->

```sh
spaniel canon --policy ingest 'HTTP://Example.COM:80/docs/../a/?utm_source=blog&id=1'
spaniel canon --policy ingest --explain 'https://example.com/a/?ref=x'
```

When are two URLs the same page? A policy answers that. It is a list of rules in a TOML file. Each rule changes one part of the URL, in
the order of the file. `--explain` shows each step.

| policy | for | in short |
|---|---|---|
| [`exact`](#exact) | fetching and caching | what a server would see as the same request: no parameter is changed |
| [`ingest`](#ingest) | lists of URLs | one spelling per page: HTTPS, no tracking, sorted parameters |
| [`clara`](#clara) | collections of official sources | thirteen steps: sessions, pagination, languages, preferred hosts, classes of links |
| [`curious`](#curious) | deduplication | one identity with a hash, and an overrides file for single hosts |

Your own policy is such a file: `spaniel canon --policy ./mine.toml URL`. Start from the file of a shipped one. The first rule must be
`parse`. In Python it is `spaniel.canonicalize(url, policy="ingest").url`.

## Rules

| rule | part | what it does | may look online | options |
|---|---|---|---|---|
| `parse` | url | Parses the URL. What is not a URL, or could be read in two ways, is refused. |  | {parse} |
"""


class Probe:
    """Stands in for a rule's table in a policy file, to see which options the rule asks for."""

    place = "probe"

    def __init__(self) -> None:
        self.options: list[str] = []

    def _ask(self, name: str, kind: str) -> None:
        if name not in ("rule", "id"):
            self.options.append(f"`{name}` ({kind})")

    def close(self) -> None:
        pass

    def text(self, name: str, default: str | None = None) -> str:
        self._ask(name, "text")
        return "parse" if name == "rule" else default or ""

    def texts(self, name: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        self._ask(name, "list")
        return default or ()

    def truth(self, name: str, *, default: bool) -> bool:
        self._ask(name, "true or false")
        return default

    def number(self, name: str, default: int | None = None) -> int:
        self._ask(name, "number")
        return default or 0

    def text_map(self, name: str) -> dict[str, str]:
        self._ask(name, "table")
        return {}

    def text_lists(self, name: str) -> dict[str, tuple[str, ...]]:
        self._ask(name, "table of lists")
        return {}


def policies_page() -> str:
    """Every rule with its options, and the shipped policies as lists of rules."""
    parse = Probe()
    Policy._read_options(SimpleNamespace(), parse)  # type: ignore[arg-type]  # noqa: SLF001
    lines = [POLICIES.format(parse=", ".join(parse.options)).rstrip()]
    for rule in RULES.values():
        probe = Probe()
        rule.build(probe)  # type: ignore[arg-type]
        asks = "yes" if rule.may_ask else ""
        lines.append(f"| `{rule.name}` | {rule.part} | {rule.what} | {asks} | {', '.join(probe.options)} |")
    lines += ["", BY_HAND["ONLINE"].rstrip()]
    for name in shipped_policies():
        data = tomllib.loads((SOURCE / "url" / "policies" / f"{name}.toml").read_text(encoding="utf-8"))
        lines += ["", f"## `{name}`", "", f"{data['description']}. Version {data['version']}.", ""]
        lines += [f"{number}. `{step['rule']}`{_options_of(step)}" for number, step in enumerate(data["apply"], 1)]
        lines += ["", BY_HAND["urllib_part"]()] if name == "curious" else []
    return "\n".join(lines) + "\n"


def _options_of(step: dict[str, object]) -> str:
    options = [
        f"`{name}` {_short(value)}"
        for name, value in step.items()
        if name not in ("rule", "id") and value not in ([], {})
    ]
    return f" with {'; '.join(options)}" if options else ""


def _short(value: object) -> str:
    items = list(value) if isinstance(value, list | dict) else None
    if items is None:
        return str(value).lower() if isinstance(value, bool) else str(value)
    return ", ".join(f"`{item}`" for item in items[:8]) + (f" and {len(items) - 8} more" if len(items) > 8 else "")


PROFILES = """\
# Profiles

<!-- Made from src/spaniel/pipeline/profile.py by `make docs`. -->

```sh
spaniel fetch --profile ingest --format record https://example.com/article
spaniel fetch --profile ./mine.toml https://example.com/article
```

A profile says how pages are fetched: URL policy, headers, limits, formats, fallbacks. It is a TOML file. In Python:
`spaniel.fetch(url, profile="mine.toml")`. Only `name` and `version` are required. Change the version when you change the file, because
pages are cached by name and version.

Shipped profiles: {shipped}.

A profile's own limits override the settings, except in `web_fetch`, where the settings win. Options of a call (`--timeout`,
`--user-agent`) override every profile.

## Keys

| key | default | what it does |
|---|---|---|
"""
PROFILE_KEYS = {  # what the reader of profiles takes, in its words: checked below
    "name": ("required", "The name: letters, digits, `-` and `_`"),
    "version": ("required", "The version, in any form"),
    "description": ("empty", "What it is for"),
    "policy": ("`exact`", "The [URL policy](policies.md): a name, or a file beside this one"),
    "content": ("{content}", "The kinds of content that are read, of {kinds}"),
    "page_types": ("`false`", "Whether a paywall, a login page and the like are distinguished from the page itself"),
    "respect": ("none", "Signals of the site that refuse a page ([record](record.md))"),
    "view": ("`answer`", "What `--format json` prints: {views}"),
    "fallbacks": ('`["http", "browser"]`', "The ways to get a page, tried in this order: [see below](#fallbacks)"),
    "settings_rule": ("`false`", "Whether the settings override the limits below"),
    "headers.user_agent": ("from the settings", "How Spaniel names itself to servers"),
    "headers.accept": ("{accept}", "The `Accept` header"),
    "headers.accept_language": ("{accept_language}", "The `Accept-Language` header"),
    "headers.accept_encoding": ("{accept_encoding}", "The `Accept-Encoding` header"),
    "limits.timeout_seconds": ("from the settings", "Seconds for one fetch, {timeout_seconds}"),
    "limits.total_seconds": (
        f"`{TOTAL_SECONDS.default}`",
        "Seconds for all fallbacks together, {total_seconds}; 0: they share timeout_seconds",
    ),
    "limits.max_redirects": ("from the settings", "Most redirects that are followed, {max_redirects}"),
    "limits.max_download_bytes": ("from the settings", "Largest response in bytes, {max_download_bytes}"),
    "limits.max_text_bytes": (
        "`0`",
        "Bytes that are used of a long text or page, {max_text_bytes}; 0: all. PDF and JSON are never cut",
    ),
    "limits.default_max_chunk_tokens": ("from the settings", "Tokens of a chunk, {default_max_chunk_tokens}"),
    "limits.max_wait_seconds": (
        f"`{MAX_WAIT_SECONDS.default}`",
        "The longest wait before another try, {max_wait_seconds}",
    ),
    "hosts.max_concurrent": ("{at_once}", "How many requests at once to one host"),
    "hosts.delay_seconds": ("`0`", "Seconds between two requests to one host"),
    "hosts.respect_delays": ("`false`", "Whether Crawl-delay and Retry-After are respected"),
    "cache.enabled": ("`true`", "Whether pages are kept in the cache"),
    "cache.ttl_days": ("from the settings", "Days for which a kept page is served"),
    "cache.freshness": (
        "`false`",
        "Whether a page's [class](../explanation/cache.md#freshness) says how long it is fresh",
    ),
}


FALLBACK_HEAD = """
## Fallbacks

A profile lists ways to get a page. They are tried in this order until one succeeds. The outcome has what was tried (`attempts`), and
what was not and why (`left_out`). An entry with options is a table: `{name = "retry", after_seconds = 5}`. If none succeeds, the error
of the first one is reported.

Every address goes through the guard and robots.txt, wherever it comes from. A refusal is never circumvented: copies are used only if a
page is gone (404, 410) or its site is down.

| fallback | when | what it does |
|---|---|---|
"""
FALLBACK_ROWS = {
    "http": ("first", "Requests the page."),
    "plain_http": (
        "the URL was http, the policy made it https, and the site has no https",
        "Requests it over http. If that works, the host is remembered for a week as one without https.",
    ),
    "retry": (
        "5xx, 429, timeouts, network errors",
        (
            "Waits `after_seconds` (up to a fifth more at random), or as long as the site asked, and tries again. A page that is "
            "answered with 429, or with 503 and `Retry-After`, is requested three times in all."
        ),
    ),
    "retry_after": (
        "429, or 503 with `Retry-After`",
        "As `retry`, for these only. `spaniel batch` adds it to profiles that have fewer than two retries.",
    ),
    "browser": ("the page seems to need its scripts, or the browser was requested", "Renders the page in Chromium."),
    "archive": (
        "the page is gone or its site is down",
        "Looks for the newest copy in the web archive: `[spaniel.archive]` in the [settings](settings.md).",
    ),
    "search_cache": (
        "the same, if an address is set",
        "Looks for a search engine's copy: `[spaniel.search_cache]`. Off unless you set an address.",
    ),
    "mirrors": ("the same, if a mirror is set for the address", "Tries each mirror in turn: `[spaniel.mirrors]`."),
    "queue": (
        "nothing else succeeded",
        "Writes the page down for a person: [`spaniel queue`](../howto/queue.md) lists it.",
    ),
}


def profiles_page() -> str:
    """Every key of a profile, and the shipped ones as they are."""
    names = [f"`{name}`" for name in shipped_profiles()]
    usual = RequestHeaders()
    facts = {
        "views": " or ".join(f"`{view}`" for view in VIEWS),
        "content": ", ".join(f"`{kind}`" for kind in DEFAULT_KINDS),
        "kinds": ", ".join(f"`{kind}`" for kind in NAMES),
        "accept": f"`{usual.accept}`",
        "accept_encoding": f"`{usual.accept_encoding}`",
        "accept_language": f"`{usual.accept_language}`" if usual.accept_language else "none",
        "at_once": f"`{Politeness().at_once}`",
        **{name: number.range for name, number in NUMBERS.items()},
    }
    lines = [PROFILES.format(shipped=", ".join(names)).rstrip()]
    if (taken := profile_keys_taken()) != set(PROFILE_KEYS):
        raise SystemExit(f"docs/make.py and profiles differ in {sorted(taken ^ set(PROFILE_KEYS))}")
    lines += [
        f"| `{key}` | {left.format(**facts)} | {what.format(**facts)} |" for key, (left, what) in PROFILE_KEYS.items()
    ]
    if set(FALLBACK_ROWS) != set(FALLBACKS):
        raise SystemExit(f"docs/make.py and fallbacks differ in {sorted(set(FALLBACK_ROWS) ^ set(FALLBACKS))}")
    lines += [
        FALLBACK_HEAD.rstrip(),
        *(f"| `{name}` | {when} | {does} |" for name, (when, does) in FALLBACK_ROWS.items()),
    ]
    for name in shipped_profiles():
        text = (SOURCE / "pipeline" / "profiles" / f"{name}.toml").read_text(encoding="utf-8")
        lines += ["", f"## `{name}`", "", "```toml", text.rstrip(), "```"]
    return "\n".join(lines) + "\n"


def profile_keys_taken() -> set[str]:
    """Which keys the reader of profiles asks a file for."""
    taken: set[str] = {"fallbacks"}  # read beside the table
    parts = ("headers", "limits", "hosts", "cache")
    original_take, original_has = Table._take, Table.has  # noqa: SLF001

    def note(table: Table, key: str) -> None:
        part = table.place.partition(".")[2]
        if key not in parts:
            taken.add(f"{part}.{key}" if part else key)

    def take(self: Table, key: str, default: object) -> object:
        note(self, key)
        return original_take(self, key, default)

    def has(self: Table, key: str) -> bool:
        note(self, key)
        return original_has(self, key)

    load_policy("exact")  # it is a table of its own, which is read once
    with mock.patch.object(Table, "_take", take), mock.patch.object(Table, "has", has):
        from_data({"name": "probe", "version": "1"}, "probe")
    return taken


RECORD = """\
# The record

<!-- Made from src/spaniel/pipeline/record.py by `make docs`. -->

```sh
spaniel fetch --profile ingest --format record https://example.com/article
```

A record is one JSON object for one URL. It says what came of the fetch: a page, a page that is not available to programs, or an error.
[Get a record of each fetch](../howto/ingest.md) shows it in use. In Python it is `await client.record(url)`.
[record.schema.json](record.schema.json) is the same as JSON Schema.

The verdict is about the requested page. If the text comes from an archive, the verdict is still that of the page itself.
"""


def record_page() -> str:
    """Every field of the record, part by part."""
    lines = [RECORD.rstrip()]
    for part in (Record, Extraction, CacheRecord, FallbackRecord, ChecklistItem):
        title = (part.__doc__ or "").partition("\n")[0]
        lines += ["", f"## `{part.__name__}`", "", title, "", "| field | type | meaning |", "|---|---|---|"]
        hints = get_type_hints(part, include_extras=True)
        lines += [f"| `{name}` | {_type_of(hint)} | {_meaning_of(hint)} |" for name, hint in hints.items()]
    lines += [
        "",
        "## Verdicts",
        "",
        "[How verdicts are decided](../explanation/verdicts.md) has the rules. A record knows no earlier",
    ]
    lines += ["checks: there, `dead` is a 410.", "", "| verdict | means |", "|---|---|"]
    lines += [f"| `{verdict}` | {MEANINGS[verdict]} |" for verdict in Verdict]
    return "\n".join(lines) + "\n"


def _type_of(hint: object) -> str:
    bare = get_args(hint)[0]
    text = str(bare) if get_args(bare) else getattr(bare, "__name__", str(bare))
    text = re.sub(
        r"typing\.|spaniel\.pipeline\.record\.|NoneType", lambda m: "None" if m[0] == "NoneType" else "", text
    )
    return "text" if text.startswith("Literal") else f"`{text}`".replace("|", "\\|")


def _meaning_of(hint: object) -> str:
    return str(get_args(hint)[1].description)


def record_schema() -> str:
    return json.dumps(msgspec.json.schema(Record), indent=2, ensure_ascii=False) + "\n"


PAGES = {
    "reference/notes.md": notes_page,
    "reference/policies.md": policies_page,
    "reference/profiles.md": profiles_page,
    "reference/record.md": record_page,
    "reference/record.schema.json": record_schema,
}
