"""Links become records: what `spaniel db add` and `import` share."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spaniel.cli.long_run import Display
from spaniel.defaults import FETCH_JOBS
from spaniel.errors import Code, SpanielError, json_safe, shown
from spaniel.url.parsing import requested
from spaniel.url.value import LONGEST

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from spaniel.cli.db_folder import Failures
    from spaniel.registry.database import Added, Editor, Registry
    from spaniel.registry.links import NewLink


def check(args: argparse.Namespace) -> None:
    """Options that do not go together are refused before anything is done."""

    if args.type and not args.static:
        raise SpanielError(Code.BAD_ARGS, field="--type", reason="is for --static")
    for name in ("refresh", "learnt"):
        if getattr(args, name) and not args.online:
            raise SpanielError(Code.BAD_ARGS, field=f"--{name}", reason="is for --online")
    if not FETCH_JOBS.allows(args.jobs):
        raise SpanielError(Code.BAD_ARGS, field="--jobs", reason=f"must be {FETCH_JOBS.range}")


def add_links(
    registry: Registry, links: Iterable[NewLink], categories: list[str], failed: Failures, *, drawn: bool = False
) -> list[tuple[NewLink, Added]]:
    """What became of each, once all is written. One that is refused does not stop the others.

    `drawn`: on a terminal, a line says how many files are written.
    """
    done = []
    links = list(links)  # standard input may take its time: nobody else should wait for it
    files = 0
    display = Display(lambda: [[f"{files:,} files written"]], quiet=not drawn)

    def written(_file: str) -> None:
        nonlocal files
        files += 1
        display.update()

    with registry.editing(written=written) as editor:
        for link in links:
            try:
                done.append((link, _add(editor, link, categories)))
            except SpanielError as error:
                failed(error, place_of(link, error))
    display.clear()
    return done


def explained(registry: Registry, links: Iterable[NewLink], failed: Failures) -> Iterable[NewLink]:
    """The same links with every step of the way to their canonical form; nobody is asked."""
    for link in links:
        try:
            yield link._replace(found=registry.rules.explain(link.url))
        except SpanielError as error:
            failed(error, place_of(link, error))


def place_of(link: NewLink, error: SpanielError) -> str:
    """Where a link stands; else which one is meant, where the complaint does not say so itself."""
    told = shown(link.url, LONGEST)
    return link.where or ("" if told in error.message else f"{told}: ")


def _add(editor: Editor, link: NewLink, categories: list[str]) -> Added:
    """What is said of a link rules over what the record says, but for categories, which are added to those it has."""
    keys = {**link.keys}
    said = keys.pop("categories", [])
    wanted = {*categories, *(map(str, said) if isinstance(said, list) else ())}
    url = link.url if link.found is None else link.found.url
    return editor.add(url, keys, categories=wanted, canonical=link.found is not None)


def tell(link: NewLink, added: Added, args: argparse.Namespace) -> None:
    """What became of a link."""
    quiet, explain = args.quiet, args.explain
    if args.json:
        _print_json(link, added, explain=explain)
        if not quiet:
            tell_notes(link, added)
        return
    if link.found is not None and explain:
        from spaniel.cli.canon_show import explained as show_steps

        show_steps(iter([link.found]), True)
    if quiet:
        return
    record = added.record
    url = shown(record.url, LONGEST)
    was = f"  (was {shown(link.url, LONGEST)})" if link.found is not None and link.url.rstrip("/") not in url else ""
    print(f"{'added' if added.is_new else 'known'} {url}  {shown(record.file)}{was}")
    tell_notes(link, added)


def _print_json(link: NewLink, added: Added, *, explain: bool) -> None:
    import json

    from spaniel.cli.canon_show import record_of

    record = added.record
    facts: dict[str, object] = {"url": record.url, "given": requested(link.url), "file": record.file}
    facts["added"] = added.is_new
    if link.found is not None:
        facts["canonical"] = record_of(link.found, explain)
    print(json_safe(json.dumps(facts, ensure_ascii=False)))


def tell_notes(link: NewLink, added: Added) -> None:
    """What somebody should know, or look at."""
    record = added.record
    notes = []
    if added.other_scheme:
        notes.append(
            f"its file keeps all records as {record.home.scheme}; 'https: true' or 'https: false' in it changes that"
        )
    if link.found is not None and link.found.flags:
        notes.append(f"flagged {', '.join(link.found.flags)}")
    sys.stdout.flush()
    for note in notes:
        sys.stderr.write(f"spaniel: {shown(record.url, LONGEST)}: note: {note}\n")
