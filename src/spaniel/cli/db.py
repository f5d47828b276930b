"""`spaniel db`: a database of links. Each command has its row in COMMANDS; only the chosen module is imported."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from spaniel.cli import check
from spaniel.cli.lists import add_list_options
from spaniel.cli.options import (
    add_command,
    add_config_option,
    add_format,
    add_json,
    add_log_options,
    add_settings_options,
    duration,
    group,
    new_parser,
)
from spaniel.defaults import FETCH_JOBS, FETCH_PER_HOST
from spaniel.url.parsing import typed

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from spaniel.cli.options import Example, Group


URLS = "the URLs; '-' reads a list of them from standard input"
FIELDS = ("fuente_url", "url")
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


def _add_db(p: argparse.ArgumentParser) -> None:
    p.add_argument("--db", metavar="DIR", help="the folder of the database (default: from the settings, else ./urls)")


def for_init(p: argparse.ArgumentParser) -> None:
    _add_db(p)
    add_json(p, "print one JSON object")
    add_config_option(p)


def for_add(p: argparse.ArgumentParser) -> None:
    p.add_argument("urls", nargs="+", type=typed, metavar="URL", help=URLS)
    _add_db(p)
    _add_category(p)
    p.add_argument(
        "--static",
        action="store_true",
        help="fetch each URL, and record the length and the SHA-256 of its content: it should not change",
    )
    p.add_argument("--type", action="store_true", help="with --static: also record the type of the content")
    _add_list(p)
    _add_new_records(p)


def _add_list(p: argparse.ArgumentParser) -> None:
    add_list_options(group(p, "a list on standard input"))


def for_import(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "files", nargs="+", metavar="FILE",
        help="lists of URLs, as 'spaniel batch' takes them; '-' reads standard input",
    )  # fmt: skip
    _add_db(p)
    _add_category(p)
    add_list_options(p, earlier="--from")
    _add_new_records(p)
    p.set_defaults(static=False, type=False)


def _add_category(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "-c", "--category", action="append", default=[], metavar="NAME",
        help="add the records to this category, and keep those that they have; may be repeated",
    )  # fmt: skip


def _add_new_records(p: argparse.ArgumentParser) -> None:
    add_json(p)
    p.add_argument("--policy", metavar="NAME", help="canonicalize by this policy (default: the database's, else exact)")
    p.add_argument("--explain", action="store_true", help="show each step from a URL to its canonical form")
    web = group(p, "online")
    web.add_argument(
        "--online", action="store_true",
        help="make the requests that the policy's rules need: redirects, preferred host and scheme (clara has such)",
    )  # fmt: skip
    _add_requests(web, "learnt.toml in the database")
    add_settings_options(p)
    add_log_options(p)


def _add_requests(web: Group, learnt: str) -> None:
    """Options for --online."""
    web.add_argument("--refresh", action="store_true", help="with --online: check again what was learned before")
    web.add_argument(
        "--learnt", metavar="FILE",
        help=f"with --online: use what was learned about hosts, and add to it (default: {learnt})",
    )  # fmt: skip
    web.add_argument(
        "-j", "--jobs", type=int, default=FETCH_JOBS.default, metavar="N",
        help=f"how many requests at once, {FETCH_JOBS.range} (default: {FETCH_JOBS.default}); "
        f"at most {FETCH_PER_HOST} to one host",
    )  # fmt: skip


def for_rm(p: argparse.ArgumentParser) -> None:
    p.add_argument("urls", nargs="+", type=typed, metavar="URL", help=URLS)
    _add_db(p)
    add_json(p)
    _add_list(p)
    add_config_option(p)


def for_mv(p: argparse.ArgumentParser) -> None:
    what = "the URL that the record has; '-' reads lines of two URLs from standard input"
    p.add_argument("old", metavar="OLD", type=typed, help=what)
    p.add_argument("new", metavar="NEW", nargs="?", type=typed, help="its new URL")
    _add_db(p)
    add_json(p)
    add_config_option(p)


def for_ls(p: argparse.ArgumentParser) -> None:
    _add_db(p)
    add_json(p, "print one JSON object per line, with file and line")
    _add_filters(p)
    add_config_option(p)


def for_dump(p: argparse.ArgumentParser) -> None:
    _add_db(p)
    what = "urls (the default), jsonl (all keys of each record) or csv"
    add_format(p, ("urls", "jsonl", "csv"), "urls", what, ("jsonl", "print one JSON object per line"))
    p.add_argument("--deprecated", action="store_true", help="include records of the category 'deprecated'")
    _add_filters(p)
    add_config_option(p)


def _add_filters(p: argparse.ArgumentParser) -> Group:
    which = group(p, "which records")
    which.add_argument(
        "-c", "--category", action="append", default=[], metavar="NAME",
        help="only records of this category; may be repeated: records of any of them",
    )  # fmt: skip
    which.add_argument(
        "--host", "--domain", action="append", default=[], metavar="HOST",
        help="only records of this host, or of the host with this cname; may be repeated",
    )  # fmt: skip
    which.add_argument(
        "--path", "--path-prefix", default="", metavar="PREFIX",
        help="only records whose path begins with this, as in /guide/",
    )  # fmt: skip
    return which


def for_check(p: argparse.ArgumentParser) -> None:
    _add_db(p)
    check.add_report(p)
    which = _add_filters(p)
    which.add_argument(
        "--verdict", action="append", default=[], metavar="WHAT",
        help="only links with this verdict in the last check (failing,dead; never: not checked yet)",
    )  # fmt: skip
    which.add_argument(
        "--since", type=duration, metavar="TIME", help="only links that were not checked within this time, as 12h or 7d"
    )
    which.add_argument(
        "--due", action="store_true",
        help="only links that are due by their priority (daily, weekly, monthly), for a job that runs often",
    )  # fmt: skip
    which.add_argument(
        "--scheme", choices=("http", "https"), metavar="SCHEME",
        help="http or https for all records (default: as their files say, else http)",
    )  # fmt: skip
    check.add_verdicts(p)
    check.add_politeness(p)
    add_settings_options(p)
    add_log_options(p)


def for_fix(p: argparse.ArgumentParser) -> None:
    check.add_repair(p)
    for_check(p)


def for_history(p: argparse.ArgumentParser) -> None:
    p.add_argument("urls", nargs="+", type=typed, metavar="URL", help=URLS)
    _add_db(p)
    what = "text (the default) or json"
    add_format(p, ("text", "json"), "text", what, ("json", "print one JSON object per line"))
    p.add_argument("--documents", action="store_true", help="results of 'spaniel check', not of 'spaniel db check'")
    _add_list(p)
    add_config_option(p)


def for_show(p: argparse.ArgumentParser) -> None:
    p.add_argument("urls", nargs="+", type=typed, metavar="URL", help=URLS)
    _add_db(p)
    add_json(p)
    _add_list(p)
    add_config_option(p)


def for_fmt(p: argparse.ArgumentParser) -> None:
    _add_db(p)
    p.add_argument("--check", action="store_true", help="write nothing; list the files that are not formatted")
    add_json(p)
    add_config_option(p)


def for_audit(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "files", nargs="*", metavar="FILE",
        help="lists or data files, or patterns such as 'data/*.json' (without any: the records of the database)",
    )  # fmt: skip
    _add_db(p)
    formats = ("table", "json", "csv", "markdown")
    what = "table (the default), json, csv or markdown"
    add_format(p, formats, "table", what, ("json", "print a JSON array"))
    p.add_argument("--all", action="store_true", help="also list the links without a problem")
    p.add_argument(
        "--strict",
        action="store_true",
        help="exit with 1 if a link is not informative or refused, or if no link is found",
    )
    p.add_argument(
        "--policy", default="clara", metavar="NAME", help="the policy that classifies links (default: clara)"
    )
    p.add_argument(
        "--allowlist", metavar="FILE", help="refuse links that are not on this list of hosts, or redirect away from it"
    )
    source = group(p, "input")
    add_list_options(source, earlier="--input")
    source.add_argument(
        "--title-field", action="append", default=[], metavar="NAME",
        help="the field that has the title of a record; may be repeated (default: titulo, title, nombre and the like)",
    )  # fmt: skip
    web = group(p, "online")
    web.add_argument(
        "--online", action="store_true",
        help="follow links, and propose more specific ones: from the page itself, if one fits the record's title",
    )  # fmt: skip
    _add_requests(web, "the file of the settings; for records of the database, learnt.toml in it")
    add_settings_options(p)
    add_log_options(p)


COMMANDS = {
    "init": Command(
        "create a database: a folder with its rules", "db_records", for_init,
        [("spaniel db init", "in ./urls"), ("spaniel db init --db links", "in ./links")],
    ),
    "add": Command(
        "add URLs, each in the file of its host", "db_add", for_add,
        [
            ("spaniel db add https://example.com/a https://example.org/", "two records"),
            ("spaniel db add -c docs - < urls.txt", "a list, all in one category"),
            ("spaniel db add --static https://example.com/a.pdf", "with its length and SHA-256"),
        ],
    ),
    "rm": Command(
        "remove URLs", "db_records", for_rm,
        [("spaniel db rm https://example.com/a", "one record"), ("spaniel db rm - < urls.txt", "a list")],
    ),
    "mv": Command(
        "move a record to another URL, with all its keys", "db_records", for_mv,
        [
            ("spaniel db mv https://example.com/old https://example.com/new", "one record"),
            ("spaniel db mv - < moves.txt", "lines of two URLs"),
        ],
    ),
    "ls": Command(
        "list the records", "db_records", for_ls,
        [
            ("spaniel db ls --host example.com", "the records of a host"),
            ("spaniel db ls --category docs --json", "of a category, with file and line"),
        ],
    ),
    "show": Command(
        "show the record of a URL, and where it is", "db_records", for_show,
        [
            ("spaniel db show https://example.com/a", "as it is written"),
            ("spaniel db show --json https://example.com/a", "as JSON"),
        ],
    ),
    "check": Command(
        "check every link of the database", "db_check", for_check,
        [
            ("spaniel db check", "all records"),
            ("spaniel db check --due --json", "those that are due, as JSON"),
            ("spaniel db check --verdict failing,dead", "those that had problems last time"),
        ],
        check.EXIT_CODES,
    ),
    "fix": Command(
        "check links, and move the records of those that moved", "db_check", for_fix,
        [
            ("spaniel db fix", "show what would change, as a diff"),
            ("spaniel db fix --write --host example.com", "change the records of a host"),
        ],
        check.EXIT_CODES,
    ),
    "history": Command(
        "show what checks found about a link", "db_check", for_history,
        [
            ("spaniel db history https://example.com/a", "results and uptime"),
            ("spaniel db history --json https://example.com/a", "as JSON"),
        ],
    ),
    "fmt": Command(
        "write the files in their canonical format", "db_records", for_fmt,
        [
            ("spaniel db fmt", "rewrite the files that need it"),
            ("spaniel db fmt --check", "only list them, and exit with 1"),
        ],
    ),
    "audit": Command(
        "classify the links of data files, and list those without a specific page", "db_audit", for_audit,
        [
            ("spaniel db audit 'data/*.json' --field fuente_url", "the links of some files"),
            ("spaniel db audit --strict --json", "the records of the database, as JSON"),
            ("spaniel db audit --online data.csv", "and propose more specific links"),
        ],
    ),
    "dump": Command(
        "print the URLs for other programs", "db_records", for_dump,
        [
            ("spaniel db dump > urls.txt", "one URL per line"),
            ("spaniel db dump --format csv --category docs", "a category as CSV"),
        ],
    ),
    "import": Command(
        "add the URLs of lists, sitemaps and bookmarks", "db_add", for_import,
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
