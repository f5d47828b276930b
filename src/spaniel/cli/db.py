"""`spaniel db`: a database of links. Each subcommand is a row of COMMANDS, and three modules have the larger ones.

`db_add` adds and imports, `db_check` checks, fixes and shows the history, `db_audit` classifies.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spaniel.cli import check
from spaniel.cli import options as opt
from spaniel.cli.inputs import LIST, STANDARD_INPUT, Inputs, list_options, list_rows
from spaniel.cli.main import report
from spaniel.cli.output import print_json, write_csv
from spaniel.defaults import FETCH_JOBS, FETCH_PER_HOST
from spaniel.errors import SpanielError, shown
from spaniel.url.parsing import requested, typed
from spaniel.url.value import LONGEST

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping

    from spaniel.cli.options import Groups, Parser, Row
    from spaniel.registry.database import Registry, Selection
    from spaniel.registry.record import LinkRecord

SOME_FAILED = 1
COLUMNS = ("url", "categories", "content-length", "content-sha256", "content-type")

# The options

DB = opt.value("--db", "DIR", "Folder of the database [default: setting spaniel.registry.folder, or ./urls]")
URLS = opt.argument("urls", "URL", "URLs; '-' reads a list from standard input", nargs="+", type=typed)
CATEGORY = opt.repeated("-c", "--category", "NAME", "Add the records to this category, and keep those they have")
RECORDS: list[Row | list[Row]] = [
    opt.repeated("-c", "--category", "NAME", "Records of this category"),
    opt.repeated("--host", "--domain", "HOST", "Records of this host, or of the host with this cname"),
    opt.value("--path", "--path-prefix", "PREFIX", "Records whose path begins with this, such as /guide/", default=""),
]


def online_rows(what: str, learnt: str) -> list[Row | list[Row]]:
    return [
        opt.flag("--online", what),
        opt.flag("--refresh", "With --online: check again what was learned before"),
        opt.value("--learnt", "FILE", f"Use what was learned about hosts; --online updates it [default: {learnt}]"),
        opt.number("-j", "--jobs", f"Concurrent requests (at most {FETCH_PER_HOST} per host)", of=FETCH_JOBS),
    ]


def _simple(
    *arguments: Row,
    options: list[Row | list[Row]] | None = None,
    which: list[Row | list[Row]] | None = None,
) -> Groups:
    """The groups of a subcommand that makes no requests; without `options`, `--json` is its only one."""
    own = [opt.json_flag()] if options is None else options
    groups = {"Arguments": [*arguments], "Options": [DB, *own], "Which records": which or []}
    groups[LIST] = list_rows() if URLS in arguments else []
    groups[opt.SHARED] = [opt.CONFIG]
    return {title: rows for title, rows in groups.items() if rows}


def _new_records(*first: Row, **groups: list[Row]) -> Groups:
    return {
        "Options": [
            DB, CATEGORY, *first, opt.json_flag(),
            opt.value("--policy", "NAME", "Policy that canonicalizes URLs [default: the database's, or exact]"),
            opt.flag("--explain", "Show each step from a URL to its canonical form"),
        ],
        **groups,
        "Online": online_rows(
            "Send the requests that the policy's rules need: redirects, preferred host and scheme",
            "learnt.toml in the database",
        ),
        **opt.shared_options(),
    }  # fmt: skip


def _for_add() -> Groups:
    static = opt.flag("--static", "Fetch each URL, and record length and SHA-256 of content that should not change")
    kind = opt.flag("--type", "With --static: also record the content type")
    return {"Arguments": [URLS], **_new_records(static, kind, **{LIST: list_rows()})}


def _for_import() -> Groups:
    files = opt.argument("files", "FILE", "Lists as for 'spaniel batch'; '-' reads standard input", nargs="+")
    return {"Arguments": [files], **_new_records(Input=list_rows(earlier="--from"))}


def _for_check() -> Groups:
    return {
        "Options": [DB, *check.REPORT],
        "Which records": [
            *RECORDS,
            opt.repeated("--verdict", "WHAT", "Links with this last verdict: failing,dead; never: not checked"),
            opt.value("--since", "TIME", "Links not checked within this time, such as 12h or 7d", type=opt.duration),
            opt.flag("--due", "Links that are due by their priority (daily, weekly, monthly)"),
            opt.value(
                "--scheme", "SCHEME", "http or https for all records [default: as in their files, or http]",
                choices=("http", "https"),
            ),
        ],
        **check.VERDICTS, **check.PACE, **opt.shared_options(),
    }  # fmt: skip


def _for_fix() -> Groups:
    groups = dict(_for_check())
    return {"Options": groups.pop("Options"), "Repair": check.REPAIR["Repair (with --fix)"], **groups}


def _for_audit() -> Groups:
    return {
        "Arguments": [
            opt.argument(
                "files", "FILE", "Lists, data files, or patterns such as 'data/*.json' [default: the database's "
                "records]", nargs="*",
            ),
        ],
        "Options": [
            DB,
            opt.formats(("table", "json", "csv", "markdown"), "table, json, csv, markdown", "json", "Print an array"),
            opt.flag("--all", "Also list links without a problem"),
            opt.flag("--strict", "Exit with 1 if a link is not informative or refused, or if there is none"),
            opt.value("--policy", "NAME", "Policy that classifies links", default="clara"),
            opt.value("--allowlist", "FILE", "Refuse links and redirects to hosts that this file does not list"),
        ],
        "Input": [
            *list_rows(earlier="--input"),
            opt.repeated("--title-field", "NAME", "Field with the record's title [default: titulo, title, ...]"),
        ],
        "Online": online_rows(
            "Follow links, and propose more specific ones from the page itself if one fits the record's title",
            "from the settings, or the database's learnt.toml",
        ),
        **opt.shared_options(),
    }  # fmt: skip


# Shared by the subcommands


def folder_of(args: argparse.Namespace) -> str:
    if args.db:
        return str(args.db)
    from spaniel.app.settings import load

    return load(args.config).registry_folder


def opened(args: argparse.Namespace, policy: str | None = None) -> Registry:
    from spaniel.registry.database import open_registry

    return open_registry(folder_of(args), policy=policy)


def report_ignored_files(registry: Registry) -> None:
    for file in registry.strangers():
        sys.stderr.write(f"spaniel: {shown(registry.folder)}/{shown(file.name)} was ignored: {shown(file.why)}\n")


class Failures:
    """Errors, reported as they happen. With one argument the exit code is that of its error."""

    def __init__(self, *, several: bool) -> None:
        self._several = several
        self.count = 0
        self._first = 0

    def __call__(self, error: SpanielError, where: str = "") -> None:
        sys.stdout.flush()
        report(error, where, hint=not self._several)
        self.count += 1
        self._first = self._first or error.row.exit

    @property
    def exit_code(self) -> int:
        return 0 if not self.count else SOME_FAILED if self._several else self._first


def selection(args: argparse.Namespace, *, deprecated: bool) -> Selection:
    from spaniel.registry.database import ALL, Selection

    if args.path and not args.path.startswith("/"):
        raise opt.bad_argument("--path", "must begin with '/'")
    hosts = tuple(map(_host, args.host))
    wanted = Selection(tuple(args.category), hosts, args.path, deprecated)
    return ALL if wanted == ALL else wanted


def _host(text: str) -> str:
    """A host in the spelling of the files; of a URL, its host."""
    from spaniel.registry.folder import authority

    written = text.partition("://")[2] if "://" in text else text
    host = authority(written.partition("/")[0])
    if host is None:
        raise opt.bad_argument("--host", f"'{text}' is not a host such as www.example.com")
    return host


# Records


def run_ls(args: argparse.Namespace) -> int:
    return _list(args, _as_json_lines if args.json else _as_text, deprecated=True)


def run_dump(args: argparse.Namespace) -> int:
    return _list(args, WRITERS[args.format], deprecated=args.deprecated)


def _list(args: argparse.Namespace, write: Callable[[Iterator[LinkRecord]], None], *, deprecated: bool) -> int:
    registry = opened(args)
    report_ignored_files(registry)
    failed = Failures(several=True)
    write(registry.records(selection(args, deprecated=deprecated), failed))
    return failed.exit_code


def _as_text(records: Iterator[LinkRecord]) -> None:
    write = sys.stdout.write
    for record in records:
        write(f"{shown(record.url, LONGEST)}{_details(record) if len(record.keys) > 1 else ''}\n")


def _details(record: LinkRecord) -> str:
    details = [*record.categories]
    if record.content_length is not None:
        details.append(f"{record.content_length:,} bytes")
    if record.content_type is not None:
        details.append(record.content_type)
    return f"  ({shown(', '.join(details))})" if details else ""


def _as_urls(records: Iterator[LinkRecord]) -> None:
    write = sys.stdout.write
    for record in records:
        write(f"{record.url}\n")


def _as_json_lines(records: Iterator[LinkRecord]) -> None:
    """With file and line."""

    for record in records:
        print_json(record.as_dict())


def _as_portable_json_lines(records: Iterator[LinkRecord]) -> None:

    for record in records:
        print_json({key: value for key, value in record.as_dict().items() if key not in ("file", "line", "_path")})


def _as_csv(records: Iterator[LinkRecord]) -> None:
    from spaniel.registry.links import in_a_cell

    rows = (record.as_dict() | {"categories": in_a_cell(record.categories)} for record in records)
    write_csv(sys.stdout, COLUMNS, rows)


WRITERS = {"urls": _as_urls, "jsonl": _as_portable_json_lines, "csv": _as_csv}


def run_show(args: argparse.Namespace) -> int:
    registry = opened(args)
    failed = Failures(several=opt.is_several(args.urls))
    urls = Inputs(args.urls, list_options(args))
    for place, url in urls:
        try:
            record = registry.find(url)
            if record is None:
                raise opt.bad_argument(url, "no record of this URL")
        except SpanielError as error:
            failed(error, place)
            continue
        if args.json:
            _as_json_lines(iter([record]))
        else:
            print(f"{shown(record.url, LONGEST)}\n{shown(record.file)}:{record.line}")
            print("\n".join(shown(line.rstrip("\r"), LONGEST) for line in record.text.rstrip().split("\n")))
    return urls.exit_code(failed.exit_code)


def run_rm(args: argparse.Namespace) -> int:
    failed = Failures(several=opt.is_several(args.urls))
    urls = Inputs(args.urls, list_options(args))
    with opened(args).editing() as editor:
        removed = []
        for place, url in urls:
            try:
                if editor.remove(url):
                    removed.append(url)
                else:
                    failed(opt.bad_argument(url, "no record of this URL"), place)
            except SpanielError as error:
                failed(error, place)
    for url in removed:
        _print({"removed": requested(url)}, f"removed {shown(url, LONGEST)}", as_json=args.json)
    return urls.exit_code(failed.exit_code)


def run_mv(args: argparse.Namespace) -> int:
    from spaniel.sources.kinds import FileKind
    from spaniel.sources.rows import ListOptions

    failed = Failures(several=args.old == STANDARD_INPUT)
    registry = opened(args)
    lines = Inputs([STANDARD_INPUT], ListOptions(FileKind.TEXT))
    for place, old, new in _pairs(args, lines):
        try:
            if not new:
                raise opt.bad_argument(old, "two arguments are needed: OLD NEW")
            with registry.editing() as editor:
                moved = editor.move(old, new)
        except SpanielError as error:
            failed(error, place)
        else:
            record = moved.record
            facts = {"old": requested(old), "url": record.url, "file": record.file}
            _print(facts, f"moved to {shown(record.url, LONGEST)}  {shown(record.file)}", as_json=args.json)
    return lines.exit_code(failed.exit_code)


def _print(facts: Mapping[str, object], line: str, *, as_json: bool) -> None:
    if as_json:
        print_json(facts)
    else:
        print(line)


def _pairs(args: argparse.Namespace, lines: Inputs) -> Iterator[tuple[str, str, str]]:
    """Place, old and new. Each pair is an edit of its own: those before a failure stay moved."""
    if args.old != STANDARD_INPUT:
        yield "", args.old, args.new or ""
        return
    for place, line in lines:
        old, _, new = line.partition(" ") if " " in line else line.partition("\t")
        yield place, old, new.strip()


def run_init(args: argparse.Namespace) -> int:
    from spaniel.registry.database import create

    folder = folder_of(args)
    is_new = create(folder)
    rules = f"{folder}/registry.toml"
    done = f"created {shown(folder)}; its rules are in {shown(rules)}"
    line = done if is_new else f"{shown(folder)} is already a database; nothing was changed"
    _print({"folder": folder, "rules": rules, "created": is_new}, line, as_json=args.json)
    return 0


def run_fmt(args: argparse.Namespace) -> int:
    from spaniel.registry.database import misfits, reformat

    registry = opened(args)
    report_ignored_files(registry)
    failed = Failures(several=True)
    count = 0
    for misfit in (misfits if args.check else reformat)(registry, failed):
        count += 1
        line = f"{shown(misfit.file)}:{misfit.line}: {'not formatted' if args.check else 'formatted'}"
        facts = {"file": misfit.file, "line": misfit.line, "written": not args.check}
        _print(facts, line, as_json=args.json)
    return SOME_FAILED if failed.count or (args.check and count) else 0


# The table

COMMANDS = {
    "init": opt.Command(
        "Create a database: a folder with its rules", run_init,
        _simple(options=[opt.json_flag("Print one JSON object")]),
        [("spaniel db init", "In ./urls"), ("spaniel db init --db links", "In ./links")],
    ),
    "add": opt.Command(
        "Add URLs, each to the file of its host", "db_add:run_add", _for_add,
        [
            ("spaniel db add https://example.com/a https://example.org/", "Two records"),
            ("spaniel db add -c docs - < urls.txt", "A list, all in one category"),
            ("spaniel db add --static https://example.com/a.pdf", "With length and SHA-256"),
        ],
    ),
    "import": opt.Command(
        "Add the URLs of lists, sitemaps and bookmarks", "db_add:run_import", _for_import,
        [
            ("spaniel db import bookmarks.html", "The bookmarks of a browser"),
            ("spaniel db import --field link -c news list.csv", "A column of a table"),
        ],
    ),
    "ls": opt.Command(
        "List the records", run_ls,
        _simple(
            options=[opt.json_flag("Print one JSON object per line, with file and line")],
            which=RECORDS,
        ),
        [
            ("spaniel db ls --host example.com", "The records of a host"),
            ("spaniel db ls --category docs --json", "Of a category, with file and line"),
        ],
    ),
    "show": opt.Command(
        "Show the record of a URL, and where it is", run_show, _simple(URLS),
        [
            ("spaniel db show https://example.com/a", "As it is written"),
            ("spaniel db show --json https://example.com/a", "As JSON"),
        ],
    ),
    "mv": opt.Command(
        "Move a record to another URL, with all its keys", run_mv,
        _simple(
            opt.argument("old", "OLD", "URL of the record; '-' reads pairs of URLs, one per line", type=typed),
            opt.argument("new", "NEW", "Its new URL", nargs="?", type=typed),
        ),
        [
            ("spaniel db mv https://example.com/old https://example.com/new", "One record"),
            ("spaniel db mv - < moves.txt", "Lines of two URLs"),
        ],
    ),
    "rm": opt.Command(
        "Remove URLs", run_rm, _simple(URLS),
        [("spaniel db rm https://example.com/a", "One record"), ("spaniel db rm - < urls.txt", "A list")],
    ),
    "check": opt.Command(
        "Check every link of the database", "db_check:run_check", _for_check,
        [
            ("spaniel db check", "All records"),
            ("spaniel db check --due --json", "Those that are due, as JSON"),
            ("spaniel db check --verdict failing,dead", "Those with problems last time"),
        ],
        check.EXIT_CODES,
    ),
    "fix": opt.Command(
        "Check links, and move the records of those that moved", "db_check:run_fix", _for_fix,
        [
            ("spaniel db fix", "Show what would change, as a diff"),
            ("spaniel db fix --write --host example.com", "Change the records of a host"),
        ],
        check.EXIT_CODES,
    ),
    "history": opt.Command(
        "Show past results of checks of a link", "db_check:run_history",
        _simple(
            URLS,
            options=[
                opt.formats(("text", "json"), "text or json", "json"),
                opt.flag("--documents", "Results of 'spaniel check' instead of 'spaniel db check'"),
            ],
        ),
        [
            ("spaniel db history https://example.com/a", "Results and uptime"),
            ("spaniel db history --json https://example.com/a", "As JSON"),
        ],
    ),
    "audit": opt.Command(
        "Classify links of data files, and list those without a specific page", "db_audit:run_audit", _for_audit,
        [
            ("spaniel db audit 'data/*.json' --field fuente_url", "The links of some files"),
            ("spaniel db audit --strict --json", "The records of the database"),
            ("spaniel db audit --online data.csv", "Propose more specific links"),
        ],
    ),
    "fmt": opt.Command(
        "Write the files in their canonical format", run_fmt,
        _simple(options=[opt.flag("--check", "Write nothing; list the files that are not formatted"), opt.json_flag()]),
        [
            ("spaniel db fmt", "Rewrite the files that need it"),
            ("spaniel db fmt --check", "Only list them, and exit with 1"),
        ],
    ),
    "dump": opt.Command(
        "Print the URLs for other programs", run_dump,
        _simple(
            options=[
                opt.formats(("urls", "jsonl", "csv"), "urls, jsonl (all keys of each record) or csv", "jsonl"),
                opt.flag("--deprecated", "Include records of the category 'deprecated'"),
            ],
            which=RECORDS,
        ),
        [
            ("spaniel db dump > urls.txt", "One URL per line"),
            ("spaniel db dump --format csv --category docs", "A category as CSV"),
        ],
    ),
}  # fmt: skip


def parser() -> Parser:
    return opt.with_commands(
        "spaniel db",
        "Manage a database of links in a folder of YAML files, made for version control.",
        COMMANDS,
        examples=[
            ("spaniel db init", "Create ./urls"),
            ("spaniel db add https://example.com/guide", "Add a link"),
            ("spaniel db check", "Check all links"),
        ],
        notes="The database has one file for each host, in ./urls unless --db or the setting\n"
        "spaniel.registry.folder names another folder. Its file registry.toml names the\n"
        "policy that canonicalizes URLs.\n\n"
        "Exit codes: 0 done; 1 something was not found, not added or not formatted; for a\n"
        "single URL, the code of its error. For check and fix, see their help.",
    )


def main(args: argparse.Namespace) -> int:
    return opt.chosen(args, COMMANDS)(args)
