"""What the commands of `spaniel db` take."""

from __future__ import annotations

from spaniel.cli import check_fix, check_options
from spaniel.cli.durations import duration
from spaniel.cli.lists import add_list_options
from spaniel.cli.options import add_config_option, add_format, add_json, add_log_options, add_settings_options, group
from spaniel.defaults import FETCH_JOBS, FETCH_PER_HOST
from spaniel.url.parsing import typed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

    from spaniel.cli.options import Group

URLS = "the URLs; '-' reads a list of them from standard input"
FIELDS = ("fuente_url", "url")


def _add_db(p: ArgumentParser) -> None:
    p.add_argument("--db", metavar="DIR", help="the folder of the database (default: from the settings, else ./urls)")


def for_init(p: ArgumentParser) -> None:
    _add_db(p)
    add_json(p, "print one JSON object")
    add_config_option(p)


def for_add(p: ArgumentParser) -> None:
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


def _add_list(p: ArgumentParser) -> None:
    add_list_options(group(p, "a list on standard input"))


def for_import(p: ArgumentParser) -> None:
    p.add_argument(
        "files", nargs="+", metavar="FILE",
        help="lists of URLs, as 'spaniel batch' takes them; '-' reads standard input",
    )  # fmt: skip
    _add_db(p)
    _add_category(p)
    add_list_options(p, earlier="--from")
    _add_new_records(p)
    p.set_defaults(static=False, type=False)


def _add_category(p: ArgumentParser) -> None:
    p.add_argument(
        "-c", "--category", action="append", default=[], metavar="NAME",
        help="add the records to this category, and keep those that they have; may be repeated",
    )  # fmt: skip


def _add_new_records(p: ArgumentParser) -> None:
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
    """What comes with --online."""
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


def for_rm(p: ArgumentParser) -> None:
    p.add_argument("urls", nargs="+", type=typed, metavar="URL", help=URLS)
    _add_db(p)
    add_json(p)
    _add_list(p)
    add_config_option(p)


def for_mv(p: ArgumentParser) -> None:
    what = "the URL that the record has; '-' reads lines of two URLs from standard input"
    p.add_argument("old", metavar="OLD", type=typed, help=what)
    p.add_argument("new", metavar="NEW", nargs="?", type=typed, help="its new URL")
    _add_db(p)
    add_json(p)
    add_config_option(p)


def for_ls(p: ArgumentParser) -> None:
    _add_db(p)
    add_json(p, "print one JSON object per line, with file and line")
    _add_filters(p)
    add_config_option(p)


def for_dump(p: ArgumentParser) -> None:
    _add_db(p)
    what = "urls (the default), jsonl (all keys of each record) or csv"
    add_format(p, ("urls", "jsonl", "csv"), "urls", what, ("jsonl", "print one JSON object per line"))
    p.add_argument("--deprecated", action="store_true", help="include records of the category 'deprecated'")
    _add_filters(p)
    add_config_option(p)


def _add_filters(p: ArgumentParser) -> Group:
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


def for_check(p: ArgumentParser) -> None:
    _add_db(p)
    check_options.add_report(p)
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
    check_options.add_verdicts(p)
    check_options.add_politeness(p)
    add_settings_options(p)
    add_log_options(p)


def for_fix(p: ArgumentParser) -> None:
    check_fix.add_repair(p)
    for_check(p)


def for_history(p: ArgumentParser) -> None:
    p.add_argument("urls", nargs="+", type=typed, metavar="URL", help=URLS)
    _add_db(p)
    what = "text (the default) or json"
    add_format(p, ("text", "json"), "text", what, ("json", "print one JSON object per line"))
    p.add_argument("--documents", action="store_true", help="results of 'spaniel check', not of 'spaniel db check'")
    _add_list(p)
    add_config_option(p)


def for_show(p: ArgumentParser) -> None:
    p.add_argument("urls", nargs="+", type=typed, metavar="URL", help=URLS)
    _add_db(p)
    add_json(p)
    _add_list(p)
    add_config_option(p)


def for_fmt(p: ArgumentParser) -> None:
    _add_db(p)
    p.add_argument("--check", action="store_true", help="write nothing; list the files that are not formatted")
    add_json(p)
    add_config_option(p)


def for_audit(p: ArgumentParser) -> None:
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
        help="follow links, and propose more specific ones: from the page itself, where one fits the record's title",
    )  # fmt: skip
    _add_requests(web, "the file of the settings; for records of the database, learnt.toml in it")
    add_settings_options(p)
    add_log_options(p)
