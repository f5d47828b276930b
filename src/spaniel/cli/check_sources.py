"""What `spaniel check` looks at: links that are named, pages of sitemaps, and links of documents."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from spaniel.cli.check_documents import fallbacks_of, found
from spaniel.health.sorting import TEXT_DIRECTIVE
from spaniel.health.verdict import Checked, Link, Place
from spaniel.url.parsing import typed
from spaniel.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spaniel.app.settings import Settings
    from spaniel.cli.check_documents import Unread


# Endings of names that mean a document: a file that is missing is not looked up as a host
DOCUMENTS = (
    ".md", ".rst", ".txt", ".html", ".htm", ".csv", ".json", ".jsonl", ".xml", ".toml", ".yaml", ".yml", ".gz", ".zst",
    ".pdf", ".adoc", ".tex", ".ipynb", ".docx", ".odt", ".org", ".tsv", ".log", ".py", ".js", ".ts", ".sh",
)  # fmt: skip


def links_of(args: argparse.Namespace, settings: Settings, unread: Unread) -> Iterator[Link | Checked]:
    """Links to be asked, and what is known of others: skipped, or found on the disk."""
    for link in _all_of(args, settings, unread):
        if not args.fragments and isinstance(link, Link) and link.fragments:
            yield link._replace(fragments=())
        else:
            yield link


def _all_of(args: argparse.Namespace, settings: Settings, unread: Unread) -> Iterator[Link | Checked]:
    named = _named(source for source in args.sources if _is_url(source))
    if args.offline:
        yield from (Checked(link, Verdict.SKIPPED, "offline") for link in named)
    else:
        yield from named
        yield from _of_sitemaps(args.sitemap, settings, unread)
    documents = [source for source in args.sources if not _is_url(source)]
    private = args.include_private or bool(settings.protection_off)  # whoever opens the guard means those hosts too
    chosen = argparse.Namespace(**vars(args) | {"sources": documents, "include_private": private})

    def follow(urls: list[str]) -> Iterator[str]:
        return (link.url for link in _of_sitemaps(urls, settings, unread))

    yield from found(chosen, unread, fallbacks_of(args, settings), None if args.offline else follow)


def scope_of(args: argparse.Namespace) -> str:
    """What is checked, whatever folder it is named from."""
    sources = (*args.sources, *args.sitemap)
    named = (source if _is_url(source) or source == "-" else os.path.abspath(source) for source in sources)
    return "\n".join(["check", *named, *(["--fragments"] if args.fragments else [])])


def _is_url(source: str) -> bool:
    """A URL with its scheme, or a domain as people type it, where it is not a file or the name of one."""
    if source.lower().startswith(("http://", "https://")):
        return True
    name = source.partition("/")[0].lower()
    return typed(source) != source and not name.endswith(DOCUMENTS) and not os.path.exists(source)


def _named(urls: Iterable[str]) -> Iterator[Link]:
    """Whoever names a link means it: no rule leaves it out."""
    for text in map(typed, urls):
        url, _, fragment = text.partition("#")
        fragment = fragment.partition(TEXT_DIRECTIVE)[0]
        yield Link(url, (fragment,) if fragment else (), (Place("", fragment=fragment),))


def _of_sitemaps(sources: Iterable[str], settings: Settings, unread: Unread) -> Iterator[Link]:
    """Pages of sitemaps, which are read as `spaniel batch` reads them: through the guarded door, or from the disk."""
    for source in sources:
        from spaniel.app.sources import ReadSource
        from spaniel.cli.lists import report_problems
        from spaniel.pipeline.profile import DEFAULT
        from spaniel.sources.rows import ListOptions, Problems

        problems = Problems()
        for item in ReadSource(source, ListOptions(), problems, settings, DEFAULT).items():
            yield Link(item.raw.partition("#")[0], places=(Place(source),))
        report_problems(problems)
        unread.count += problems.lost
