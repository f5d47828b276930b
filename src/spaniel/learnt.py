"""Facts learnt about hosts by `--online`: a TOML file that people read, edit and commit.

Like the tables of a policy, it only affects what a canonical URL looks like. It permits nothing: the guard still
checks every hop of a request, and an allowlist still applies.
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
# Entries per table: together they must stay below the 1 MB that `read_toml` accepts.
MAX_ENTRIES = {"preferred_hosts": 8_000, "http_only": 4_000, "slashes": 2_000, "languages": 1_500, "shorteners": 2_000}
MUTABLE = frozenset({"preferred_hosts", "languages", "http_only"})  # a new value replaces an old one
ABOUT = """\
# What Spaniel has learnt about hosts online (--online). Edit it, commit it; --refresh requests it again.
"""


Entries = dict[str, Any]


class Tables(NamedTuple):
    """The tables of the file. In memory, a value of None removes an entry when the file is saved."""

    preferred_hosts: Entries  # registrable domain -> the host that it redirects to
    http_only: Entries  # host -> the day on which it was found to lack HTTPS
    slashes: Entries  # URL whose trailing slash matters -> the day
    languages: Entries  # URL -> its versions by language
    shorteners: Entries  # host whose front page redirects elsewhere -> the day

    def named(self) -> list[tuple[str, Entries]]:
        return [(name, getattr(self, name)) for name in self._fields]


def _empty() -> Tables:
    return Tables({}, {}, {}, {}, {})


def _today() -> date:
    return datetime.now(UTC).date()


class Learnt:
    """The facts of a file and those learnt since it was read; `save` adds the new ones to the file."""

    def __init__(self, tables: Tables | None = None, today: Callable[[], date] = _today, file: str = "") -> None:
        self._before = tables or _empty()
        self._since = _empty()
        self._today = today
        self._file = file

    @classmethod
    def load(cls, path: str | os.PathLike[str], today: Callable[[], date] = _today) -> Learnt:
        """Read a file; a missing file counts as empty."""
        place = os.fspath(path)
        return cls(_read(place) if os.path.lexists(place) else None, today, place)

    def web(self) -> AnsweredWeb:
        """The facts as a `Web` that makes no requests, for `policy.explain`."""
        return AnsweredWeb(self.answer, stops=False)

    def answer(self, question: Question) -> WebAnswer | None:
        """The stored answer to a question; None if it has to be requested online."""
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
        """Store an answer; an entry that is no longer true is removed. An unknown answer changes nothing."""
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
        """Add the new facts to the file they were read from, or to `path`; without either, do nothing.

        The file is read again first, because another run may have written it. Raises `bad_args` if that fails.
        """
        place = self._file if path is None else os.fspath(path)
        if not place:
            return
        try:
            with locked(os.path.join(os.path.dirname(place), LOCK), remove=True):
                old = _read(place) if os.path.lexists(place) else _empty()
                text = _written(_merged(old, self._since)).encode()
                if text != _written(old).encode():  # do not create a file if nothing was learnt
                    write_atomically(place, text, None, durable=True)
        except OSError as error:
            raise complaint(f"learnt file {place}", f"cannot be written: {error.strerror or error}") from None


def _merged(old: Tables, new: Tables) -> Tables:
    """Merge new facts into old ones. An unchanged entry keeps its day, so that a second run changes no line."""
    tables = []
    for (name, before), (_, since) in zip(old.named(), new.named(), strict=True):
        changes = {key: value for key, value in since.items() if value is None or name in MUTABLE or key not in before}
        merged = {key: value for key, value in {**before, **changes}.items() if value is not None}
        tables.append(dict(sorted(merged.items())[: MAX_ENTRIES[name]]))
    return Tables(*tables)


def _written(tables: Tables) -> str:
    """The file's text: sorted, one entry per line, so that a diff shows what was learnt."""
    lines = [ABOUT.rstrip(), "version = 1"]
    for name, table in tables.named():
        lines += ["", f"[{name}]", *(f"{json.dumps(key)} = {_value(value)}" for key, value in sorted(table.items()))]
    return "\n".join(lines) + "\n"


def _value(value: str | dict[str, str]) -> str:
    if isinstance(value, str):
        return json.dumps(value)
    return "{ " + ", ".join(f"{json.dumps(lang)} = {json.dumps(url)}" for lang, url in sorted(value.items())) + " }"


def _read(path: str) -> Tables:
    """Read and check the file strictly, because people edit it: errors name the key."""
    place = f"learnt file {path}"
    table = Table(read_toml(path, "learnt file"), place)
    if table.number("version", 1) != 1:
        raise complaint(f"{place}.version", "unknown version; this Spaniel reads version 1")
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
                raise complaint(f"{place}.languages.{url}.{lang}", "is not a language code; write es, ca, fr")
            _check_url(version, f"{place}.languages.{url}.{lang}")
    part.close()
    return found


def _check_host(name: str, place: str) -> None:
    try:
        is_valid = parse(f"http://{name}/").host == name
    except SpanielError:
        is_valid = False
    if not is_valid:
        raise complaint(place, f"{json.dumps(name)} is not a host name in lower case, as in www.example.com")


def _check_url(url: str, place: str) -> None:
    try:
        parsed = parse(url)
        is_valid = url in (parsed.href, parsed.origin)
    except SpanielError:
        is_valid = False
    if not is_valid:
        raise complaint(place, f"{json.dumps(url)} is not a URL in its normal form, as in https://example.com/a")


def _check_day(day: str, place: str) -> None:
    try:
        date.fromisoformat(day)
    except ValueError:
        raise complaint(place, f"{json.dumps(day)} is not a date; write it as 2026-11-30") from None
