"""The links that `spaniel check` checks: named URLs, pages of sitemaps, links of documents."""

from __future__ import annotations

import argparse
import os
import sys

from spaniel.cli.lists import report_problems
from spaniel.errors import shown
from spaniel.health.filters import TEXT_DIRECTIVE
from spaniel.health.links import Checked, Link, Place
from spaniel.url.parsing import typed
from spaniel.verdicts import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from spaniel.app.settings import Settings
    from spaniel.health.filters import LinkFilter
    from spaniel.health.local import Fallbacks
    from spaniel.sources.rows import Problems


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
        from spaniel.pipeline.profile import DEFAULT
        from spaniel.sources.rows import ListOptions, Problems

        problems = Problems()
        for item in ReadSource(source, ListOptions(), problems, settings, DEFAULT).items():
            yield Link(item.raw.partition("#")[0], places=(Place(source),))
        report_problems(problems)
        unread.count += problems.lost


class Unread:
    """Says of documents which are not read, and why, and counts them: links that nobody knows are not well."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, file: str, reason: str) -> None:
        self.count += os.path.lexists(file)  # one that has gone meanwhile has no links any more
        _tell(file, reason)


def found(
    args: argparse.Namespace,
    unread: Unread,
    fallbacks: Fallbacks,
    follow: Callable[[list[str]], Iterator[str]] | None = None,
) -> Iterator[Link | Checked]:
    """Links to be asked for, and what is known of the others without asking. `follow`: the pages of sitemaps."""
    from spaniel.health.files import DocumentOptions, gather
    from spaniel.health.filters import sort_in_windows
    from spaniel.health.local import Disk, check_local
    from spaniel.sources.kinds import kind_named

    def report(problems: Problems) -> None:
        report_problems(problems)
        unread.count += problems.lost

    kind_named(args.kind)
    options = DocumentOptions(
        args.kind or "", tuple(args.field), tuple(args.ext), tuple(args.exclude_path),
        use_gitignore=not args.no_gitignore, use_hidden=args.hidden, on_unread=unread,
        on_unused_option=_tell, column=args.column, read_sitemaps=follow, on_problems=report,
    )  # fmt: skip
    disk = Disk(args.root_dir, fallbacks=fallbacks)
    for chosen in sort_in_windows(gather(args.sources, options), rules_of(args), args.base):
        yield from check_local(chosen.local, disk)
        yield from chosen.skipped
        if args.offline:
            yield from (Checked(link, Verdict.SKIPPED, "offline") for link in chosen.web)
        else:
            yield from chosen.web


def fallbacks_of(args: argparse.Namespace, settings: Settings) -> Fallbacks:
    """What is tried for local links: as the options say, else as the settings do."""
    from spaniel.app.checking import health_settings
    from spaniel.app.values import file_names
    from spaniel.health.local import Fallbacks

    own = health_settings(settings)
    extensions, indexes = args.fallback_extensions, args.index_files
    return Fallbacks(
        own.fallback_extensions if extensions is None else file_names(extensions, "--fallback-extensions"),
        own.index_files if indexes is None else file_names(indexes, "--index-files"),
    )


def rules_of(args: argparse.Namespace) -> LinkFilter:
    from spaniel.health.filters import IGNORE_FILE, link_filter, read_ignore_file

    chosen = link_filter(args.exclude, args.include, keep_private=args.include_private)
    return chosen._replace(exclude=chosen.exclude + read_ignore_file(IGNORE_FILE))


def _tell(file: str, reason: str) -> None:
    sys.stderr.write(f"spaniel: {shown(file)} {shown(reason)}\n")
