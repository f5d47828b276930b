"""What `spaniel check` takes of documents: which are read and how, and which of their links are checked."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from spaniel.cli.lists import add_list_options, report_problems
from spaniel.cli.options import group
from spaniel.errors import shown

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from spaniel.app.settings import Settings
    from spaniel.health.excluding import Rules
    from spaniel.health.local import Fallbacks
    from spaniel.health.verdict import Checked, Link
    from spaniel.sources.rows import Problems

SOURCES = (
    "a document, a folder, a pattern such as 'guide/**/*.md', a URL, or '-' for standard input; Markdown, HTML, text, "
    "reStructuredText and notebooks are read, and every list that 'spaniel batch' reads"
)


def add_documents(p: argparse.ArgumentParser) -> None:
    """Which documents, and how they are read."""

    documents = group(p, "documents")
    documents.add_argument(
        "--sitemap", action="append", default=[], metavar="SOURCE",
        help="check the pages of this sitemap: a file or a URL; may be repeated",
    )  # fmt: skip
    add_list_options(documents, "; documents: markdown, mdx, html, rst, notebook, xml")
    documents.add_argument(
        "--ext", action="append", default=[], metavar="EXT",
        help="in folders: read files with this ending (default: those of Markdown, HTML, text, reStructuredText, "
        "notebooks); may be repeated",
    )  # fmt: skip
    documents.add_argument(
        "--exclude-path", action="append", default=[], metavar="REGEX",
        help="skip documents whose path matches this; may be repeated",
    )  # fmt: skip
    documents.add_argument("--no-gitignore", action="store_true", help="in folders: also read what git ignores")
    documents.add_argument("--hidden", action="store_true", help="in folders: also read hidden files and folders")


def add_choice(p: argparse.ArgumentParser) -> None:
    """Which links."""
    links = group(p, "links")
    links.add_argument(
        "--exclude", action="append", default=[], metavar="REGEX",
        help="skip URLs that match this, as the lines of .lycheeignore do; may be repeated",
    )  # fmt: skip
    links.add_argument(
        "--include", action="append", default=[], metavar="REGEX",
        help="check URLs that match this even if something else excludes them; given alone: only these",
    )  # fmt: skip
    links.add_argument("--include-private", action="store_true", help="also check hosts of this machine and network")
    links.add_argument(
        "--root-dir", metavar="DIR",
        help="the folder that links beginning with '/' are relative to; no file outside of it is read",
    )  # fmt: skip
    links.add_argument(
        "--base", metavar="URL", help="check relative links on the web, relative to this URL, not on the disk"
    )
    links.add_argument(
        "--fallback-extensions", metavar="EXT,EXT",
        help="for a link to a missing local file, try these extensions: x.md or x.rst for 'x.html', 'x/' and 'x' "
        "(default: the setting fallback_extensions; '' tries none)",
    )  # fmt: skip
    links.add_argument(
        "--index-files", metavar="NAME,NAME",
        help="names of a folder's page, with or without an extension (default: the setting index_files)",
    )  # fmt: skip


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
    from spaniel.health.files import Options, gather
    from spaniel.health.local import Disk, check_local
    from spaniel.health.sorting import sort_in_windows
    from spaniel.health.verdict import Checked
    from spaniel.sources.kinds import kind_named
    from spaniel.verdicts import Verdict

    def report(problems: Problems) -> None:
        report_problems(problems)
        unread.count += problems.lost

    kind_named(args.kind)
    options = Options(
        args.kind or "", tuple(args.field), tuple(args.ext), tuple(args.exclude_path),
        use_gitignore=not args.no_gitignore, use_hidden=args.hidden, tell=unread,
        remark=_tell, column=args.column, follow=follow, report=report,
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


def rules_of(args: argparse.Namespace) -> Rules:
    from spaniel.health.excluding import IGNORE_FILE, read_ignore_file, rules

    chosen = rules(args.exclude, args.include, keep_private=args.include_private)
    return chosen._replace(exclude=chosen.exclude + read_ignore_file(IGNORE_FILE))


def _tell(file: str, reason: str) -> None:
    sys.stderr.write(f"spaniel: {shown(file)} {shown(reason)}\n")
