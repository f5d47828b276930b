"""The overrides file of document 4: parameters to drop and prefixes to rewrite, host by host (UN-07, UN-10)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import SpanielError
from spaniel.tables import Table, complaint
from spaniel.url.hostlists import host_key
from spaniel.url.parsing import parse
from spaniel.url.rules.edits import Names

if TYPE_CHECKING:
    from spaniel.url.canonical import Draft
    from spaniel.url.rules.edits import Act


class Override(NamedTuple):
    """The overrides of one host."""

    names: Names
    rewrites: tuple[tuple[str, str], ...]


def load(path: str | Path) -> dict[str, Override]:
    """Read an overrides file; an error names its place."""
    import json

    place = str(path)
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"), object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise complaint(f"{place}:{error.lineno}:{error.colno}", f"not JSON: {error.msg}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise complaint(place, f"cannot be read: {error}") from None
    return from_data(data, place)


def from_data(data: object, place: str = "overrides") -> dict[str, Override]:
    """The overrides by host; of two for one host the first counts."""
    table = Table(data, place)
    entries: dict[str, Override] = {}
    for entry in table.tables("overrides"):
        match = entry.table("match")
        host = host_key(match.text("host"))
        if not host:
            raise complaint(f"{match.place}.host", "is not a host name")
        match.close()
        names = Names(entry.texts("drop_query_params", ()))
        rewrites = tuple(_rewrite(rule) for rule in entry.tables("rewrite_rules", []))
        entry.close()
        entries.setdefault(host, Override(names, rewrites))
    table.close()
    return entries


def _rewrite(rule: Table) -> tuple[str, str]:
    prefixes = []
    for key in ("from_prefix", "to_prefix"):
        prefix = rule.text(key)
        try:
            parse(prefix)
        except SpanielError as error:
            raise complaint(f"{rule.place}.{key}", f"must begin a URL: {error.message}") from None
        prefixes.append(prefix)
    rule.close()
    return prefixes[0], prefixes[1]


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if len(table) != len(pairs):
        twice = sorted(key for key, _ in pairs if sum(key == other for other, _ in pairs) > 1)
        raise ValueError(f"the key '{twice[0]}' stands twice in one table")
    return table


def act_on(overrides: dict[str, Override]) -> Act:
    """A rule that applies them: parameters first, then each rewrite once, in order."""

    def act(draft: Draft) -> None:
        override = overrides.get(draft.host)
        if override is None:
            return
        if draft.params is not None:
            for pair in draft.params:
                if override.names.match(pair):
                    draft.drop(pair, "dropped for this host (overrides)")
            draft.params = [pair for pair in draft.params if not override.names.match(pair)] or None
        before = text = draft.text()
        for old, new in override.rewrites:
            if text.startswith(old):
                text = new + text[len(old) :]
        if text != before:
            draft.become(parse(text))

    return act
