"""What the commands of `spaniel db` take."""

from __future__ import annotations

from spaniel.cli import check_fix, check_options
from spaniel.cli.durations import duration
from spaniel.cli.options import add_config_option, add_log_options, add_settings_options
from spaniel.defaults import FETCH_JOBS, FETCH_PER_HOST
from spaniel.url.parsing import typed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

URLS = "the URLs; '-' reads them from standard input, one per line ('#' begins a comment)"
LINK_KINDS = ("text", "csv", "json", "jsonl", "sitemap", "bookmarks")
DATA_KINDS = ("json", "jsonl", "csv", "yaml")
FIELDS = ("fuente_url", "url")


def for_all(p: ArgumentParser) -> None:
    p.add_argument("--db", metavar="DIR", help="the folder of the database (default: from the settings, else ./urls)")


def for_init(p: ArgumentParser) -> None:
    add_config_option(p)


def for_add(p: ArgumentParser) -> None:
    p.add_argument("urls", nargs="+", type=typed, metavar="URL", help=URLS)
    p.add_argument(
        "--static",
        action="store_true",
        help="fetch each URL, and record the length and the SHA-256 of its content: it should not change",
    )
    p.add_argument("--type", action="store_true", help="with --static: record the type of the content too")
    _add_new_records(p)


def for_import(p: ArgumentParser) -> None:
    p.add_argument("files", nargs="+", metavar="FILE", help="the files; '-' reads standard input")
    p.add_argument(
        "--from", dest="kind", choices=LINK_KINDS, metavar="KIND",
        help=f"{', '.join(LINK_KINDS)} (default: by what the file holds, and its name)",
    )  # fmt: skip
    p.add_argument("--field", metavar="NAME", help="the column or key that has the URLs (default: url)")
    _add_new_records(p)
    p.set_defaults(static=False, type=False)


def _add_new_records(p: ArgumentParser) -> None:
    told = "put them into this category besides those that they have; may be repeated"
    p.add_argument("-c", "--category", action="append", default=[], metavar="NAME", help=told)
    p.add_argument("--policy", metavar="NAME", help="canonicalize by this policy (default: the database's, else exact)")
    p.add_argument("--explain", action="store_true", help="show each step from a URL to its canonical form")
    told = "ask the web what the policy wants to know: where a URL leads, which host and scheme it prefers (clara asks)"
    p.add_argument("--online", action="store_true", help=told)
    _add_asking(p, "learnt.toml in the database")


def _add_asking(p: ArgumentParser, learnt: str) -> None:
    """What comes with --online."""
    p.add_argument("--refresh", action="store_true", help="with --online: ask again about what was learnt")
    told = f"with --online: use what was learnt about hosts, and add to it (default: {learnt})"
    p.add_argument("--learnt", metavar="FILE", help=told)
    p.add_argument(
        "-j", "--jobs", type=int, default=FETCH_JOBS.default, metavar="N",
        help=f"where the web is asked: how many at once, {FETCH_JOBS.range} (default: {FETCH_JOBS.default}); "
        f"at most {FETCH_PER_HOST} from one host",
    )  # fmt: skip
    add_settings_options(p)
    add_log_options(p)


def for_rm(p: ArgumentParser) -> None:
    p.add_argument("urls", nargs="+", type=typed, metavar="URL", help=URLS)
    add_config_option(p)


def for_mv(p: ArgumentParser) -> None:
    told = "the URL that the record has; '-' reads lines of two URLs from standard input"
    p.add_argument("old", metavar="OLD", type=typed, help=told)
    p.add_argument("new", metavar="NEW", nargs="?", type=typed, help="the URL that it gets")
    add_config_option(p)


def for_ls(p: ArgumentParser) -> None:
    p.add_argument("--json", action="store_true", help="one JSON object per line, with file and line")
    _add_filters(p)
    add_config_option(p)


def for_dump(p: ArgumentParser) -> None:
    p.add_argument(
        "-f", "--format", choices=("urls", "jsonl", "csv"), default="urls", metavar="FORMAT",
        help="urls (the default), jsonl (all that is said of each) or csv",
    )  # fmt: skip
    p.add_argument("--deprecated", action="store_true", help="include records of the category 'deprecated'")
    _add_filters(p)
    add_config_option(p)


def _add_filters(p: ArgumentParser) -> None:
    told = "only records of this category; may be repeated, and any of them will do"
    p.add_argument("-c", "--category", action="append", default=[], metavar="NAME", help=told)
    told = "only records of this host, or of the one that has this cname; may be repeated"
    p.add_argument("--host", "--domain", action="append", default=[], metavar="HOST", help=told)
    told = "only records whose path begins with this, as in /guide/"
    p.add_argument("--path", "--path-prefix", default="", metavar="PREFIX", help=told)


def for_check(p: ArgumentParser) -> None:
    _add_filters(p)
    p.add_argument(
        "--verdict", action="append", default=[], metavar="WHAT",
        help="only links of which the last check told this (failing,dead; never: those without a check)",
    )  # fmt: skip
    p.add_argument(
        "--since", type=duration, metavar="TIME", help="only links that were not checked within this time, as 12h or 7d"
    )
    p.add_argument(
        "--due", action="store_true",
        help="only links that are due by their priority (daily, weekly, monthly), for a job that runs often",
    )  # fmt: skip
    p.add_argument(
        "--scheme", choices=("http", "https"), metavar="SCHEME",
        help="http or https for all records (default: as their files say, else http)",
    )  # fmt: skip
    check_options.add_report(p)
    check_options.add_manners(p)
    check_options.add_run(p)
    add_settings_options(p)
    add_log_options(p)


def for_fix(p: ArgumentParser) -> None:
    check_fix.add_wishes(p)
    for_check(p)


def for_history(p: ArgumentParser) -> None:
    p.add_argument("urls", nargs="+", type=typed, metavar="URL", help=URLS)
    p.add_argument(
        "-f", "--format", choices=("text", "json"), default="text", metavar="FORMAT", help="text (the default) or json"
    )
    p.add_argument("--documents", action="store_true", help="what 'spaniel check' has seen, not 'spaniel db check'")
    add_config_option(p)


def for_show(p: ArgumentParser) -> None:
    p.add_argument("urls", nargs="+", type=typed, metavar="URL", help=URLS)
    p.add_argument("--json", action="store_true", help="one JSON object per line")
    add_config_option(p)


def for_fmt(p: ArgumentParser) -> None:
    p.add_argument("--check", action="store_true", help="write nothing; name the files that are not in form")
    add_config_option(p)


def for_audit(p: ArgumentParser) -> None:
    p.add_argument(
        "files", nargs="*", metavar="FILE",
        help="data files, or patterns such as 'data/*.json' (without any: the records of the database)",
    )  # fmt: skip
    p.add_argument(
        "--field", action="append", default=[], metavar="NAME",
        help=f"the field that has the links; may be repeated (default: {' and '.join(FIELDS)})",
    )  # fmt: skip
    p.add_argument(
        "--input", dest="kind", choices=DATA_KINDS, metavar="KIND",
        help=f"how to read the files: {', '.join(DATA_KINDS)} (default: by their names)",
    )  # fmt: skip
    p.add_argument(
        "--title-field", action="append", default=[], metavar="NAME",
        help="the field that has the title of a record; may be repeated (default: titulo, title, nombre and the like)",
    )  # fmt: skip
    p.add_argument("--policy", default="clara", metavar="NAME", help="the policy that classes links (default: clara)")
    p.add_argument("--allowlist", metavar="FILE", help="refuse links that are not on this list of hosts, or leave it")
    p.add_argument(
        "--online", action="store_true",
        help="follow links, and propose deeper ones: from the page itself, where one fits the title of the record",
    )  # fmt: skip
    _add_asking(p, "the file of the settings; for records of the database, learnt.toml in it")
    p.add_argument(
        "-f", "--format", choices=("table", "json", "csv", "markdown"), default="table", metavar="FORMAT",
        help="table (the default), json, csv or markdown",
    )  # fmt: skip
    p.add_argument("--all", action="store_true", help="list the links that are fine too")
    p.add_argument(
        "--strict",
        action="store_true",
        help="exit with 1 if a link is not informative or refused, or if no link is found",
    )
