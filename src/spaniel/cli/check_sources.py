"""What `spaniel check` looks at: documents, folders, addresses and sitemaps, as links of the web and of the disk."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from spaniel.errors import shown
from spaniel.health.excluding import IGNORE_FILE, Rules, read_ignore_file, rules
from spaniel.health.files import Options, gather
from spaniel.health.local import Disk, check_local
from spaniel.health.sorting import sort
from spaniel.health.verdict import Link, Place

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from spaniel.app.settings import Settings
    from spaniel.health.verdict import Checked


def links_of(args: argparse.Namespace, settings: Settings) -> Iterator[Link | Checked]:
    """Links to be asked, and what is known of others: skipped, or found on the disk."""
    urls = [source for source in args.sources if _is_url(source)]
    documents = [source for source in args.sources if not _is_url(source)]
    for link in (*_named(urls), *_of_sitemaps(args.sitemap, settings)):
        yield link if args.fragments else link._replace(fragments=())
    found = sort(gather(documents, _options(args)), _rules(args, settings), args.base)
    yield from found.skipped
    yield from check_local(found.local, Disk(args.root_dir))
    for link in found.web:
        yield link if args.fragments else link._replace(fragments=())


def scope_of(args: argparse.Namespace) -> str:
    """What is checked, whatever folder it is named from."""
    sources = (*args.sources, *args.sitemap)
    named = (source if _is_url(source) or source == "-" else os.path.abspath(source) for source in sources)
    return "\n".join(["check", *named])


def _is_url(source: str) -> bool:
    return source.lower().startswith(("http://", "https://"))


def _named(urls: Iterable[str]) -> Iterator[Link]:
    """Whoever names a link means it: no rule leaves it out."""
    for text in urls:
        url, _, fragment = text.partition("#")
        yield Link(url, (fragment,) if fragment else (), (Place(""),))


def _of_sitemaps(sources: Iterable[str], settings: Settings) -> Iterator[Link]:
    from spaniel.cli.batch_watch import tell_problems

    for source in sources:
        from spaniel.app.batch_sources import ReadSource
        from spaniel.batch.sources.rows import Options as Reading
        from spaniel.batch.sources.rows import Problems
        from spaniel.pipeline.profile import DEFAULT

        problems = Problems()
        for item in ReadSource(source, Reading(), problems, settings, DEFAULT).items():
            yield Link(item.raw.partition("#")[0], places=(Place(source),))
        tell_problems(problems)


def _options(args: argparse.Namespace) -> Options:
    return Options(
        kind=args.kind or "",
        fields=tuple(args.field),
        exclude_paths=tuple(args.exclude_path),
        use_gitignore=not args.no_ignore,
        use_hidden=args.hidden,
        tell=_tell_unread,
    )


def _rules(args: argparse.Namespace, settings: Settings) -> Rules:
    """Hosts of one's own network are checked where the guard lets anybody go there."""
    found = rules(args.exclude, args.include, keep_private=bool(settings.protection_off))
    return found._replace(exclude=(*found.exclude, *read_ignore_file(IGNORE_FILE)))


def _tell_unread(file: str, reason: str) -> None:
    sys.stderr.write(f"spaniel: {shown(file)} is not read: {shown(reason)}\n")
