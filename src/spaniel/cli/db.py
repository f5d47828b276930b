"""`spaniel db`: a database of links. Each command is in a module of its own, and only the chosen one is imported."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from spaniel.cli import db_options as options
from spaniel.cli.check_options import EXIT_CODES
from spaniel.cli.options import add_command, new_parser

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from spaniel.cli.options import Example

EPILOG = """\
The database is a folder of YAML files, one for each host: './urls', unless --db or the setting
spaniel.registry.folder names another. 'registry.toml' in it names the policy that canonicalizes URLs.

Exit code: 0 done; 1 something was not found, not added or not formatted; for a single URL the code of its error.
'check' and 'fix' have their own: see 'spaniel db check --help'."""


class Command(NamedTuple):
    what: str
    module: str
    add_options: Callable[[argparse.ArgumentParser], None]
    examples: list[Example]
    epilog: str = ""


COMMANDS = {
    "init": Command(
        "create a database: a folder with its rules", "db_fmt", options.for_init,
        [("spaniel db init", "in ./urls"), ("spaniel db init --db links", "in ./links")],
    ),
    "add": Command(
        "add URLs, each in the file of its host", "db_add", options.for_add,
        [
            ("spaniel db add https://example.com/a https://example.org/", "two records"),
            ("spaniel db add -c docs - < urls.txt", "a list, all in one category"),
            ("spaniel db add --static https://example.com/a.pdf", "with its length and SHA-256"),
        ],
    ),
    "rm": Command(
        "remove URLs", "db_change", options.for_rm,
        [("spaniel db rm https://example.com/a", "one record"), ("spaniel db rm - < urls.txt", "a list")],
    ),
    "mv": Command(
        "move a record to another URL, with all its keys", "db_change", options.for_mv,
        [
            ("spaniel db mv https://example.com/old https://example.com/new", "one record"),
            ("spaniel db mv - < moves.txt", "lines of two URLs"),
        ],
    ),
    "ls": Command(
        "list the records", "db_list", options.for_ls,
        [
            ("spaniel db ls --host example.com", "the records of a host"),
            ("spaniel db ls --category docs --json", "of a category, with file and line"),
        ],
    ),
    "show": Command(
        "show the record of a URL, and where it is", "db_list", options.for_show,
        [
            ("spaniel db show https://example.com/a", "as it is written"),
            ("spaniel db show --json https://example.com/a", "as JSON"),
        ],
    ),
    "check": Command(
        "check every link of the database", "db_check", options.for_check,
        [
            ("spaniel db check", "all records"),
            ("spaniel db check --due --json", "those that are due, as JSON"),
            ("spaniel db check --verdict failing,dead", "those that had problems last time"),
        ],
        EXIT_CODES,
    ),
    "fix": Command(
        "check links, and move the records of those that moved", "db_check", options.for_fix,
        [
            ("spaniel db fix", "show what would change, as a diff"),
            ("spaniel db fix --write --host example.com", "change the records of a host"),
        ],
        EXIT_CODES,
    ),
    "history": Command(
        "show what checks found about a link", "db_history", options.for_history,
        [
            ("spaniel db history https://example.com/a", "results and uptime"),
            ("spaniel db history --json https://example.com/a", "as JSON"),
        ],
    ),
    "fmt": Command(
        "write the files in their canonical format", "db_fmt", options.for_fmt,
        [
            ("spaniel db fmt", "rewrite the files that need it"),
            ("spaniel db fmt --check", "only list them, and exit with 1"),
        ],
    ),
    "audit": Command(
        "classify the links of data files, and list those without a specific page", "db_audit", options.for_audit,
        [
            ("spaniel db audit 'data/*.json' --field fuente_url", "the links of some files"),
            ("spaniel db audit --strict --json", "the records of the database, as JSON"),
            ("spaniel db audit --online data.csv", "and propose more specific links"),
        ],
    ),
    "dump": Command(
        "print the URLs for other programs", "db_list", options.for_dump,
        [
            ("spaniel db dump > urls.txt", "one URL per line"),
            ("spaniel db dump --format csv --category docs", "a category as CSV"),
        ],
    ),
    "import": Command(
        "add the URLs of lists, sitemaps and bookmarks", "db_import", options.for_import,
        [
            ("spaniel db import bookmarks.html", "the bookmarks of a browser"),
            ("spaniel db import --field link -c news list.csv", "a column of a table"),
        ],
    ),
}  # fmt: skip


def parser() -> argparse.ArgumentParser:
    p = new_parser(
        "spaniel db",
        "Keep a database of links in a folder of YAML files, made for version control.",
        EPILOG,
        examples=[
            ("spaniel db init", "create ./urls"),
            ("spaniel db add https://example.com/guide", "add a link"),
            ("spaniel db check", "check all links"),
        ],
    )
    commands = p.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        command.add_options(add_command(commands, name, command.what, command.examples, command.epilog))
    return p


def main(args: argparse.Namespace) -> int:
    module = import_module(f"spaniel.cli.{COMMANDS[args.command].module}")
    code: int = getattr(module, f"run_{args.command}")(args)
    return code
