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

A note says what is special about an answer. In Python they are `answer.notes`, in the tool's JSON they are `note`,
with commas between them. `spaniel fetch` says them on standard error, unless `-q` is given. A note is no error:
there is a page.

| note | meaning |
|---|---|
"""


def notes_page() -> str:
    return NOTES_PAGE + "".join(f"| `{note}` | {sentence} |\n" for note, sentence in NOTES.items())


POLICIES = """\
# URL policies and their rules

<!-- Made from src/spaniel/url/ by `make docs`. -->

A policy says when two URLs are the same page. It is a list of rules in a TOML file. Each rule changes one part of
the URL, in the order of the file. `spaniel canon --policy NAME --explain URL` shows each step.

A policy of your own is such a file: `spaniel canon --policy ./mine.toml URL`. Start from the file of a shipped one.
The first rule must be `parse`.

## Rules

| rule | part | what it does | may ask the web | options |
|---|---|---|---|---|
| `parse` | url | Reads the URL. What is not a URL, or could be read in two ways, is refused. |  | {parse} |
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
    told = [
        f"`{name}` {_short(value)}"
        for name, value in step.items()
        if name not in ("rule", "id") and value not in ([], {})
    ]
    return f" with {'; '.join(told)}" if told else ""


def _short(value: object) -> str:
    items = list(value) if isinstance(value, list | dict) else None
    if items is None:
        return str(value).lower() if isinstance(value, bool) else str(value)
    return ", ".join(f"`{item}`" for item in items[:8]) + (f" and {len(items) - 8} more" if len(items) > 8 else "")


PROFILES = """\
# Profiles

<!-- Made from src/spaniel/pipeline/profile.py by `make docs`. -->

A profile says how pages are fetched: URL policy, headers, limits, what is read, what is tried one after the other.
It is a TOML file. `spaniel fetch --profile ./mine.toml URL` uses one of yours; in Python it is
`spaniel.fetch(url, profile="mine.toml")`. Only `name` and `version` must be in it. Change the version when you
change the file: pages are kept in the cache by name and version.

These profiles come with Spaniel: {shipped}.

Where the settings and a profile say different things, the profile's own limits rule. There are two exceptions.
In `web_fetch`, what a settings file says rules. And what is asked for with a call (`--timeout`, `--user-agent`)
rules over every profile.

## Keys

| key | if left out | what it does |
|---|---|---|
"""
PROFILE_KEYS = {  # what the reader of profiles takes, in its words: checked below
    "name": ("must be there", "The name: letters, digits, `-` and `_`"),
    "version": ("must be there", "The version, in any form"),
    "description": ("empty", "What it is for"),
    "policy": ("`exact`", "The [URL policy](policies.md): a name, or a file beside this one"),
    "content": ("{content}", "The kinds of content that are read, of {kinds}"),
    "page_types": ("`false`", "Whether a paywall, a login page and the like are told apart from the page itself"),
    "respect": ("none", "The site's [signals](record.md) that refuse a page"),
    "view": ("`answer`", "What `--format json` prints: {views}"),
    "fallbacks": ('`["http", "browser"]`', "The ways to get a page, tried in this order; see [below](#fallbacks)"),
    "settings_rule": ("`false`", "Whether the settings rule over the limits below"),
    "headers.user_agent": ("from the settings", "How Spaniel names itself to servers"),
    "headers.accept": ("{accept}", "What is asked for"),
    "headers.accept_language": ("{accept_language}", "Languages that are asked for"),
    "headers.accept_encoding": ("{accept_encoding}", "How an answer may be packed"),
    "limits.timeout_seconds": ("from the settings", "Seconds for one fetch, {timeout_seconds}"),
    "limits.total_seconds": (
        f"`{TOTAL_SECONDS.default}`",
        "Seconds for all ways together, {total_seconds}; 0: they share timeout_seconds",
    ),
    "limits.max_redirects": ("from the settings", "Most redirects that are followed, {max_redirects}"),
    "limits.max_download_bytes": ("from the settings", "Largest response in bytes, {max_download_bytes}"),
    "limits.max_text_bytes": (
        "`0`",
        "Bytes that are taken of a long text or page, {max_text_bytes}; 0: all. PDF and JSON are never cut",
    ),
    "limits.default_max_chunk_tokens": ("from the settings", "Tokens of a chunk, {default_max_chunk_tokens}"),
    "limits.max_wait_seconds": (
        f"`{MAX_WAIT_SECONDS.default}`",
        "The longest wait before another try, {max_wait_seconds}",
    ),
    "hosts.max_concurrent": ("{at_once}", "Most requests at one host at a time"),
    "hosts.delay_seconds": ("`0`", "Seconds between two requests to one host"),
    "hosts.respect_delays": ("`false`", "Whether Crawl-delay and Retry-After are waited for"),
    "cache.enabled": ("`true`", "Whether pages are kept in the cache"),
    "cache.ttl_days": ("from the settings", "Days for which a kept page is served"),
    "cache.freshness": (
        "`false`",
        "Whether a page's class says how long it is fresh, and the site is asked again then",
    ),
}


LADDER = """
## Fallbacks

A profile lists ways to get a page, its fallbacks. They are tried in this order. The outcome has what was tried
(`attempts`), and what was not and why (`left_out`). A way with options is a
table: `{name = "retry", after_seconds = 5}`. If no way brings the page, the error of the first one is told.

Every address is guarded, and asks robots.txt, wherever it comes from. Whoever said no is not got round: copies are
looked for only if a page is gone (404, 410) or its site is down.

| way | when | what it does |
|---|---|---|
"""
LADDER_ROWS = {
    "http": ("first", "Asks the site."),
    "plain_http": (
        "HTTP was asked for, the policy made HTTPS of it, and there is none",
        "Asks over HTTP. If that works, the host is known to lack HTTPS for a week.",
    ),
    "retry": (
        "5xx, 429, no answer in time, network errors",
        (
            "Waits `after_seconds` (up to a fifth more by chance), or as long as the site asked for, and asks again. "
            "A page that is answered with 429, or with 503 and `Retry-After`, is asked for three times in all."
        ),
    ),
    "retry_after": (
        "429, or 503 that says when to come back",
        "As `retry`, after these alone. `spaniel batch` adds it to profiles that have fewer than two retries.",
    ),
    "browser": ("the page seems to need its scripts, or the browser was asked for", "Renders the page in Chromium."),
    "archive": (
        "the page is gone or its site is down",
        "Asks the web archive for its newest copy: `[spaniel.archive]` in the [settings](settings.md).",
    ),
    "search_cache": (
        "likewise, if an address is set",
        "Asks a search engine for its copy: `[spaniel.search_cache]`. It is off unless you set an address.",
    ),
    "mirrors": ("likewise, if a mirror is set for the address", "Asks each mirror in turn: `[spaniel.mirrors]`."),
    "queue": (
        "nothing brought the page",
        "Writes the page down for a person: [`spaniel queue`](guides/queue.md) lists it.",
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
    if set(LADDER_ROWS) != set(FALLBACKS):
        raise SystemExit(f"docs/make.py and rungs differ in {sorted(set(LADDER_ROWS) ^ set(FALLBACKS))}")
    lines += [LADDER.rstrip(), *(f"| `{name}` | {when} | {does} |" for name, (when, does) in LADDER_ROWS.items())]
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

`spaniel fetch --profile ingest --format json URL` prints one record for each URL, as one JSON object per line. It
says what came of the fetch, whatever that was: a page, a page that is not given out, or an error. In Python it is
`await client.record(url)`. [record.schema.json](record.schema.json) is the same as JSON Schema.

A record never lies about the page that was asked for: if the text comes from an archive, the verdict is still that
of the page itself.
"""


def record_page() -> str:
    """Every field of the record, part by part."""
    lines = [RECORD.rstrip()]
    for part in (Record, Extraction, CacheRecord, FallbackRecord, ChecklistItem):
        title = (part.__doc__ or "").partition("\n")[0]
        lines += ["", f"## `{part.__name__}`", "", title, "", "| field | type | meaning |", "|---|---|---|"]
        hints = get_type_hints(part, include_extras=True)
        lines += [f"| `{name}` | {_type_of(hint)} | {_meaning_of(hint)} |" for name, hint in hints.items()]
    lines += ["", "## Verdicts", "", "The same table decides the verdicts of `spaniel check` and `spaniel db check`."]
    lines += ["A record knows no earlier checks: there, `dead` is a 410.", "", "| verdict | means |", "|---|---|"]
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
    "notes.md": notes_page,
    "policies.md": policies_page,
    "profiles.md": profiles_page,
    "record.md": record_page,
    "record.schema.json": record_schema,
}
