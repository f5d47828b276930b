"""What was learnt about hosts: a TOML file that people read, edit and commit. Reading it opens no door.

It is data like a policy's tables: it says what a canonical URL looks like. Where a rule goes to the web, the guard
judges every hop, whatever stands here; and where there is an allowlist, it has the last word.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from spaniel.defaults import HTTP_ONLY_DAYS
from spaniel.errors import SpanielError
from spaniel.files import locked, write_atomically
from spaniel.tables import Table, complaint, read_toml
from spaniel.url.parsing import parse
from spaniel.url.questions import AnsweredWeb, WebAnswer

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaniel.url.questions import Question

LOCK = ".spaniel-learnt.lock"  # beside the file while it is written
MOST = {"preferred_hosts": 8_000, "http_only": 4_000, "slashes": 2_000, "languages": 1_500, "shorteners": 2_000}
CHANGING = frozenset({"preferred_hosts", "languages", "http_only"})  # whose values, not only whose keys, may change
ABOUT = """\
# What Spaniel has learnt about hosts by asking the web (--online). Edit it, commit it; --refresh asks again.
"""


Entries = dict[str, Any]


class Tables(NamedTuple):
    """The file's tables. A value of None, while it is only in memory: no longer so."""

    preferred_hosts: Entries  # a registrable domain, and the host that it leads to
    http_only: Entries  # a host, and the day on which it was found to lack HTTPS
    slashes: Entries  # a URL whose last slash matters, and the day
    languages: Entries  # a URL, and its versions by language
    shorteners: Entries  # a host whose bare address leads elsewhere, and the day

    def named(self) -> list[tuple[str, Entries]]:
        return [(name, getattr(self, name)) for name in self._fields]


def _empty() -> Tables:
    return Tables({}, {}, {}, {}, {})


def _today() -> date:
    return datetime.now(UTC).date()


class Learnt:
    """What is known from before, and what was learnt since; `save` adds the latter to the file."""

    def __init__(self, tables: Tables | None = None, today: Callable[[], date] = _today, file: str = "") -> None:
        self._before = tables or _empty()
        self._since = _empty()
        self._today = today
        self._file = file

    @classmethod
    def load(cls, path: str | os.PathLike[str], today: Callable[[], date] = _today) -> Learnt:
        """Read a file; one that is not there yet is empty."""
        place = os.fspath(path)
        return cls(_read(place) if os.path.lexists(place) else None, today, place)

    def web(self) -> AnsweredWeb:
        """What is known, as a web that asks nobody: for `policy.explain`."""
        return AnsweredWeb(self.answer, stops=False)

    def answer(self, question: Question) -> WebAnswer | None:
        """What is known of a question; None where it has to be asked."""
        key = question.subject
        if question.kind == "host":
            host = self._find("preferred_hosts", key)
            return None if host is None else WebAnswer(host, f"{host} (learnt)")
        if question.kind == "languages":
            versions = self._find("languages", key)
            return None if versions is None else WebAnswer(versions, f"{', '.join(sorted(versions))} (learnt)")
        table = {"https": "http_only", "slash": "slashes", "shortener": "shorteners"}.get(question.kind)
        day = None if table is None else self._find(table, key)
        if day is None or (table == "http_only" and self._is_old(day)):
            return None
        return WebAnswer(True, f"{'no' if table == 'http_only' else 'yes'} (learnt {day})")

    def _find(self, table: str, key: str) -> Any:
        since = getattr(self._since, table)
        return since[key] if key in since else getattr(self._before, table).get(key)

    def _is_old(self, day: str) -> bool:
        return not timedelta(0) <= self._today() - date.fromisoformat(day) < timedelta(days=HTTP_ONLY_DAYS)

    def learn(self, question: Question, answer: WebAnswer) -> None:
        """Keep what is worth keeping; what is no longer so is taken out. An unknown answer changes nothing."""
        if answer.value is None:
            return
        key, today = question.subject, self._today().isoformat()
        if question.kind == "host":
            self._since.preferred_hosts[key] = answer.value
        elif question.kind == "languages":
            self._since.languages[key] = dict(answer.value) if len(answer.value) > 1 else None
        elif question.kind == "https":
            self._since.http_only[key] = today if answer.value else None
        elif question.kind == "slash":
            self._since.slashes[key] = today if answer.value else None
        elif question.kind == "shortener":
            self._since.shorteners[key] = today if answer.value else None

    def save(self, path: str | os.PathLike[str] | None = None) -> None:
        """Add what was learnt to its file, or to another; where there is none, nothing is kept.

        To the file as it is by now: another run may have written it. `bad_args` where that fails.
        """
        place = self._file if path is None else os.fspath(path)
        if not place:
            return
        try:
            with locked(os.path.join(os.path.dirname(place), LOCK), remove=True):
                old = _read(place) if os.path.lexists(place) else _empty()
                text = _written(_merged(old, self._since)).encode()
                if text != _written(old).encode():  # where nothing was learnt, no file is begun
                    write_atomically(place, text, None, durable=True)
        except OSError as error:
            raise complaint(f"learnt file {place}", f"cannot be written: {error.strerror or error}") from None


def _merged(old: Tables, new: Tables) -> Tables:
    """A day that says the same as before stays, so that a second run changes no line without need."""
    tables = []
    for (name, before), (_, since) in zip(old.named(), new.named(), strict=True):
        told = {key: value for key, value in since.items() if value is None or name in CHANGING or key not in before}
        left = {key: value for key, value in {**before, **told}.items() if value is not None}
        tables.append(dict(sorted(left.items())[: MOST[name]]))
    return Tables(*tables)


def _written(tables: Tables) -> str:
    """Sorted, one entry on a line: a diff shows what was learnt."""
    lines = [ABOUT.rstrip(), "version = 1"]
    for name, table in tables.named():
        lines += ["", f"[{name}]", *(f"{json.dumps(key)} = {_value(value)}" for key, value in sorted(table.items()))]
    return "\n".join(lines) + "\n"


def _value(value: str | dict[str, str]) -> str:
    if isinstance(value, str):
        return json.dumps(value)
    return "{ " + ", ".join(f"{json.dumps(lang)} = {json.dumps(url)}" for lang, url in sorted(value.items())) + " }"


def _read(path: str) -> Tables:
    """Strictly: whoever edits it is told what is wrong, and where."""
    place = f"learnt file {path}"
    table = Table(read_toml(path, "learnt file"), place)
    if table.number("version", 1) != 1:
        raise complaint(f"{place}.version", "is not known; this Spaniel reads version 1")
    hosts = table.text_map("preferred_hosts")
    for name, host in hosts.items():
        _check_host(name, f"{place}.preferred_hosts")
        _check_host(host, f"{place}.preferred_hosts.{name}")
    days = {name: table.text_map(name) for name in ("http_only", "slashes", "shorteners")}
    for name, entries in days.items():
        for key, day in entries.items():
            (_check_url if name == "slashes" else _check_host)(key, f"{place}.{name}")
            _check_day(day, f"{place}.{name}.{key}")
    languages = _languages(table, place)
    table.close()
    return Tables({**hosts}, {**days["http_only"]}, {**days["slashes"]}, {**languages}, {**days["shorteners"]})


def _languages(table: Table, place: str) -> dict[str, dict[str, str]]:
    part = table.part("languages")
    found = {url: part.text_map(url) for url in part.keys()}  # noqa: SIM118  not a dictionary's
    for url, versions in found.items():
        _check_url(url, f"{place}.languages")
        for lang, version in versions.items():
            if not (2 <= len(lang) <= 3 and lang.isascii() and lang.isalpha()):
                raise complaint(f"{place}.languages.{url}.{lang}", "is no language; write es, ca, fr")
            _check_url(version, f"{place}.languages.{url}.{lang}")
    part.close()
    return found


def _check_host(name: str, place: str) -> None:
    try:
        sound = parse(f"http://{name}/").host == name
    except SpanielError:
        sound = False
    if not sound:
        raise complaint(place, f"{json.dumps(name)} is no host name in lower case, as in www.example.com")


def _check_url(url: str, place: str) -> None:
    try:
        parsed = parse(url)
        sound = url in (parsed.href, parsed.origin)
    except SpanielError:
        sound = False
    if not sound:
        raise complaint(place, f"{json.dumps(url)} is no URL in its normal form, as in https://example.com/a")


def _check_day(day: str, place: str) -> None:
    try:
        date.fromisoformat(day)
    except ValueError:
        raise complaint(place, f"{json.dumps(day)} is no day; write it as 2026-11-30") from None
