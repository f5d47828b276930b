"""`spaniel check`: check the links of documents, sites and lists; each gets a verdict and its evidence."""

from __future__ import annotations

import argparse
import os

from spaniel.cli import options as opt
from spaniel.cli.inputs import STANDARD_INPUT, list_rows, report_problems
from spaniel.cli.long_run import say
from spaniel.defaults import CHECK_DELAY_MS, CHECK_JOBS, CHECK_PER_HOST, Number
from spaniel.errors import shown
from spaniel.url.parsing import typed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from spaniel.app.settings import Settings
    from spaniel.cli.options import Groups, Row
    from spaniel.health.filters import LinkFilter
    from spaniel.health.links import Checked, Link
    from spaniel.health.local import Fallbacks
    from spaniel.sources.rows import Problems


FORMATS = ("table", "json", "jsonl", "junit", "markdown", "html", "sarif", "github")
DELAY = Number(CHECK_DELAY_MS.default // 1000, CHECK_DELAY_MS.low // 1000, CHECK_DELAY_MS.high // 1000)  # seconds
EXIT_CODES = """\
Exit codes: 0 no problems found; 1 some links are failing, dead or changed;
3 none of these, but some could not be checked. --fail-on chooses what counts."""


def parser() -> opt.Parser:
    return opt.Parser(
        "spaniel check",
        "Check links: which are ok, moved, blocked, failing or dead, and why.",
        {
            "Arguments": [
                opt.argument(
                    "sources", "SOURCE", "Document, folder, pattern such as 'guide/**/*.md', URL, or '-' for standard "
                    "input; reads Markdown, HTML, text, reStructuredText, notebooks, and the lists of 'spaniel batch'",
                    nargs="*",
                ),
            ],
            "Options": [
                *REPORT,
                opt.flag("--fragments", "Check that the anchors (#...) of links exist"),
                opt.flag("--offline", "Check links between files only; make no requests"),
                opt.flag("--fix", "Show new addresses of links that moved permanently, as a diff"),
            ],
            **REPAIR,
            "Documents": [
                opt.repeated("--sitemap", "SOURCE", "Check the pages of this sitemap: a file or a URL"),
                *list_rows("; documents: markdown, mdx, html, rst, notebook, xml"),
                opt.repeated("--ext", "EXT", "In folders: read files with this extension [default: all known]"),
                opt.repeated("--exclude-path", "REGEX", "Skip documents whose path matches"),
                opt.flag("--no-gitignore", "In folders: also read what git ignores"),
                opt.flag("--hidden", "In folders: also read hidden files and folders"),
            ],
            "Links": [
                opt.repeated("--exclude", "REGEX", "Skip URLs that match, like the lines of .lycheeignore"),
                opt.repeated("--include", "REGEX", "Check URLs that match despite --exclude; alone: only these"),
                opt.flag("--include-private", "Also check hosts of this machine and network"),
                opt.value("--root-dir", "DIR", "Folder that links beginning with '/' refer to; none outside is read"),
                opt.value("--base", "URL", "Check relative links on the web, relative to this URL, not on disk"),
                opt.value(
                    "--fallback-extensions", "EXT,EXT", "Extensions to try for a missing local file: x.md or x.rst for "
                    "'x.html', 'x/' and 'x' [default: setting spaniel.health.fallback_extensions]",
                ),
                opt.value(
                    "--index-files", "NAME,NAME", "Names of a folder's page, with or without an extension "
                    "[default: setting spaniel.health.index_files]",
                ),
            ],
            **VERDICTS,
            **PACE,
            **opt.shared_options(),
        },
        examples=[
            ("spaniel check README.md docs", "A file and a folder"),
            ("spaniel check --offline --fragments docs", "Files and anchors only"),
            ("spaniel check --fix --write docs", "Update links that moved"),
            ("spaniel check --json https://example.com/", "A page, as JSON"),
        ],
        notes=EXIT_CODES,
    )  # fmt: skip


REPORT: list[Row | list[Row]] = [
    opt.formats(FORMATS, f"Report format: {', '.join(FORMATS)}", "json", "Print the report as one JSON document"),
    opt.value("-o", "--output", "FILE", "Write the report to this file ('-': standard output)"),
    opt.flag("--resume", "Resume a run that was stopped or killed"),
    opt.flag("--dry-run", "Make no requests; list what would be requested, by host"),
]
REPAIR: Groups = {
    "Repair (with --fix)": [
        opt.flag("--write", "Change the files instead of showing a diff"),
        opt.flag("--temporary-too", "Also replace links that moved temporarily (302, 303, 307)"),
        opt.flag("--archive", "Replace dead links with archived copies, where known"),
        opt.value("--allowlist", "FILE", "Allow new addresses on these hosts only, one per line"),
    ]
}
VERDICTS: Groups = {
    "Verdicts": [
        opt.repeated("--fail-on", "WHAT", "Exit with 1 for these only, such as dead,changed,parked, or none"),
        opt.flag(
            "--soft-404", "Detect missing pages that answer 200; uses GET, and one more request per link, for a random "
            "name beside it",
        ),
        opt.value("--baseline", "FILE", "Known failures: broken links in this file do not fail the run"),
        opt.value("--write-baseline", "FILE", "Write the links that are broken now to a baseline file"),
        opt.flag("--no-history", "Do not use or record past results"),
    ]
}  # fmt: skip
PACE: Groups = {
    "Speed and politeness": [
        opt.number("-j", "--jobs", "Concurrent requests", of=CHECK_JOBS, setting="spaniel.health.jobs"),
        opt.number("--per-host", "Concurrent requests per host", of=CHECK_PER_HOST, setting="spaniel.health.per_host"),
        opt.value(
            "--delay", "SECONDS", f"Pause between requests to a host, {DELAY.range} "
            "[default: setting spaniel.health.delay_ms]", type=opt.within(DELAY, float),
        ),
        opt.flag("--robots", "Skip links that robots.txt disallows, and respect its Crawl-delay"),
        opt.value("--total-time", "TIME", "End the run after this time, such as 30m", type=opt.duration),
        opt.repeated("--map", "ORIGINAL=ALIAS", "Send requests for host ORIGINAL to ALIAS, such as a staging host"),
    ]
}  # fmt: skip


def main(args: argparse.Namespace) -> int:
    opt.configure_logs(args)
    if not args.sources and not args.sitemap:
        raise opt.bad_argument("SOURCE", "is missing: name a document, a folder or a URL", "spaniel check")
    opt.require(args, "--fix", "--write", "--temporary-too", "--archive", "--allowlist")
    if args.offline and args.sitemap:
        raise opt.bad_argument("--sitemap", "has no effect: --offline makes no requests")
    if args.root_dir is not None and not os.path.isdir(args.root_dir):
        raise opt.bad_argument("--root-dir", f"'{args.root_dir}' is not a folder")
    if args.base and not args.base.lower().startswith(("http://", "https://")):
        raise opt.bad_argument("--base", f"'{args.base}' is not a web address such as https://example.com/docs/")
    from spaniel.app.checking import documents_history
    from spaniel.cli.check_run import LinkCheck, diff_output, fix_documents, own_settings, run_link_check, wishes_of
    from spaniel.health.summary import NOTHING, UNVERIFIED_CODE

    settings = opt.settings_from(args)
    history = None if args.no_history else documents_history(own_settings(args, settings))
    wishes = wishes_of(args)  # read before the first request

    def fix(results: list[Checked]) -> int:
        return fix_documents(results, args, wishes, diff_output(args))

    unread = UnreadDocuments()
    check = LinkCheck(links_of(args, settings, unread), history, scope_of(args), fix if args.fix else None)
    code = run_link_check(args, settings, check)
    return UNVERIFIED_CODE if unread.count and not code and args.fail_on != [NOTHING] else code


# Where the links are

# Extensions of documents: a missing file with one of these is not looked up as a host
DOCUMENTS = (
    ".md", ".rst", ".txt", ".html", ".htm", ".csv", ".json", ".jsonl", ".xml", ".toml", ".yaml", ".yml", ".gz", ".zst",
    ".pdf", ".adoc", ".tex", ".ipynb", ".docx", ".odt", ".org", ".tsv", ".log", ".py", ".js", ".ts", ".sh",
)  # fmt: skip


class UnreadDocuments:
    """Reports documents that are not read, and counts them: their links were not checked."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, file: str, reason: str) -> None:
        self.count += os.path.lexists(file)  # one that was deleted meanwhile has no links any more
        _remark(file, reason)

    def report(self, problems: Problems) -> None:
        report_problems(problems)
        self.count += problems.lost


def links_of(args: argparse.Namespace, settings: Settings, unread: UnreadDocuments) -> Iterator[Link | Checked]:
    """Links to request, and results of others: skipped, or found on disk."""
    from spaniel.health.links import Link

    for link in _all_links(args, settings, unread):
        if not args.fragments and isinstance(link, Link) and link.fragments:
            yield link._replace(fragments=())
        else:
            yield link


def _all_links(args: argparse.Namespace, settings: Settings, unread: UnreadDocuments) -> Iterator[Link | Checked]:
    named = _named_links(source for source in args.sources if _is_url(source))
    if args.offline:
        yield from _skipped(named)
    else:
        yield from named
        yield from _links_of_sitemaps(args.sitemap, settings, unread)
    documents = [source for source in args.sources if not _is_url(source)]
    private = args.include_private or bool(settings.protection_off)  # without the guard, private hosts are meant too
    selected = argparse.Namespace(**vars(args) | {"sources": documents, "include_private": private})

    def follow(urls: list[str]) -> Iterator[str]:
        return (link.url for link in _links_of_sitemaps(urls, settings, unread))

    yield from links_of_documents(selected, unread, fallbacks_of(args, settings), None if args.offline else follow)


def scope_of(args: argparse.Namespace) -> str:
    """What is checked, whatever folder it is named from: `--resume` continues the same scope."""
    sources = (*args.sources, *args.sitemap)
    named = (source if _is_url(source) or source == STANDARD_INPUT else os.path.abspath(source) for source in sources)
    return "\n".join(["check", *named, *(["--fragments"] if args.fragments else [])])


def _is_url(source: str) -> bool:
    """A URL with its scheme, or a domain as people type it, unless it is or looks like a file."""
    if source.lower().startswith(("http://", "https://")):
        return True
    name = source.partition("/")[0].lower()
    return typed(source) != source and not name.endswith(DOCUMENTS) and not os.path.exists(source)


def _named_links(urls: Iterable[str]) -> Iterator[Link]:
    """Links that are arguments: no rule excludes them."""
    from spaniel.health.filters import TEXT_DIRECTIVE
    from spaniel.health.links import Link, Place

    for text in map(typed, urls):
        url, _, fragment = text.partition("#")
        fragment = fragment.partition(TEXT_DIRECTIVE)[0]
        yield Link(url, (fragment,) if fragment else (), (Place("", fragment=fragment),))


def _links_of_sitemaps(sources: Iterable[str], settings: Settings, unread: UnreadDocuments) -> Iterator[Link]:
    """Pages of sitemaps, read as `spaniel batch` reads them: through the guard, or from disk."""
    for source in sources:
        from spaniel.app.sources import ReadSource
        from spaniel.health.links import Link, Place
        from spaniel.pipeline.profile import DEFAULT
        from spaniel.sources.rows import ListOptions, Problems

        problems = Problems()
        for item in ReadSource(source, ListOptions(), problems, settings, DEFAULT).items():
            yield Link(item.raw.partition("#")[0], places=(Place(source),))
        unread.report(problems)


def links_of_documents(
    args: argparse.Namespace,
    unread: UnreadDocuments,
    fallbacks: Fallbacks,
    follow: Callable[[list[str]], Iterator[str]] | None = None,
) -> Iterator[Link | Checked]:
    """Links to request, and results of the others without a request. `follow`: the pages of sitemaps."""
    from spaniel.health.files import DocumentOptions, gather
    from spaniel.health.filters import sort_in_windows
    from spaniel.health.local import Disk, check_local
    from spaniel.sources.kinds import kind_named

    kind_named(args.kind)
    options = DocumentOptions(
        args.kind or "", tuple(args.field), tuple(args.ext), tuple(args.exclude_path),
        use_gitignore=not args.no_gitignore, use_hidden=args.hidden, on_unread=unread,
        on_unused_option=_remark, column=args.column, read_sitemaps=follow, on_problems=unread.report,
    )  # fmt: skip
    disk = Disk(args.root_dir, fallbacks=fallbacks)
    for window in sort_in_windows(gather(args.sources, options), rules_of(args), args.base):
        yield from check_local(window.local, disk)
        yield from window.skipped
        yield from _skipped(window.web) if args.offline else window.web


def _skipped(links: Iterable[Link]) -> Iterator[Checked]:
    from spaniel.health.links import Checked
    from spaniel.verdicts import Verdict

    return (Checked(link, Verdict.SKIPPED, "offline") for link in links)


def fallbacks_of(args: argparse.Namespace, settings: Settings) -> Fallbacks:
    """Names to try for local links: by the options, else by the settings."""
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

    own = link_filter(args.exclude, args.include, keep_private=args.include_private)
    return own._replace(exclude=own.exclude + read_ignore_file(IGNORE_FILE))


def _remark(file: str, reason: str) -> None:
    say(f"{shown(file)} {shown(reason)}")
