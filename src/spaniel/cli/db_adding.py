"""Links become records: what `spaniel db add` and `import` share."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spaniel.cli.db_folder import ENOUGH
from spaniel.cli.progress import Progress
from spaniel.errors import SpanielError, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spaniel.cli.db_folder import Failures
    from spaniel.registry.database import Registry
    from spaniel.registry.editor import Added, Editor
    from spaniel.registry.sources import Link


def add_links(
    registry: Registry, links: Iterable[Link], categories: list[str], failed: Failures, *, drawn: bool = False
) -> list[Added]:
    """What became of each, once all is written. One that is refused does not stop the others.

    `drawn`: on a terminal, a line says how many files are written.
    """
    done = []
    links = list(links)  # standard input may take its time: nobody else should wait for it
    progress = Progress(None, drawn=drawn)

    def written(_file: str) -> None:
        progress.begin()
        progress.end("", cached=False)

    with registry.editing(written=written) as editor:
        for link in links:
            try:
                done.append(_add(editor, link, categories))
            except SpanielError as error:
                failed(error, link.where or _named(link.url, error))
    progress.clear()
    return done


def _named(url: str, error: SpanielError) -> str:
    """Which of several URLs is meant, where the complaint does not say so itself."""
    told = shown(url, ENOUGH)
    return "" if told in error.message else f"{told}: "


def _add(editor: Editor, link: Link, categories: list[str]) -> Added:
    keys = dict(link.keys)
    if categories:
        known = editor.find(link.url)
        kept = known.categories if known is not None else ()
        keys["categories"] = sorted({*kept, *categories, *map(str, _listed(keys.get("categories")))})
    return editor.add(link.url, keys)


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def tell(added: Added, *, quiet: bool) -> None:
    if quiet:
        return
    record = added.record
    print(f"{'added' if added.is_new else 'known'} {shown(record.url, ENOUGH)}  {shown(record.file)}")
    if added.other_scheme:
        note = f"its file keeps all records as {record.home.scheme}; 'https: true' or 'https: false' in it changes that"
        sys.stdout.flush()
        sys.stderr.write(f"spaniel: {shown(record.url, ENOUGH)}: note: {note}\n")
