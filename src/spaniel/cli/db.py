"""`spaniel db`: a database of links. Each command is in a module of its own, and only the chosen one is imported."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from spaniel.cli import db_options as options
from spaniel.cli.options import new_parser

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    Adds = Callable[[argparse.ArgumentParser], None]

EPILOG = """\
The database is a folder of YAML files, one for each host: './urls', unless --db or the setting
spaniel.registry.folder names another. 'registry.toml' in it says which policy canonicalizes URLs.

Exit code: 0 done; 1 something was not found, not added or not in form; for a single URL the code of its error.
'check' has codes of its own: 0 all is well; 1 links are failing, dead or changed; 3 some could not be told."""

# What each command does, where it is, and what it takes
COMMANDS: dict[str, tuple[str, str, Adds]] = {
    "init": ("begin a database: a folder, and its rules", "db_fmt", options.for_init),
    "add": ("add URLs, each in its place", "db_add", options.for_add),
    "rm": ("remove URLs", "db_change", options.for_rm),
    "mv": ("move a record to another URL, with all that it says", "db_change", options.for_mv),
    "ls": ("list the records", "db_list", options.for_ls),
    "show": ("show what the database has for a URL, and where", "db_list", options.for_show),
    "check": ("check every link, and say what is well and what is not", "db_check", options.for_check),
    "fix": ("check links, and move the records of those that have moved", "db_check", options.for_fix),
    "history": ("show what was seen of a link by checks", "db_history", options.for_history),
    "fmt": ("bring the files into their one form", "db_fmt", options.for_fmt),
    "audit": ("class the links of data files, list those without a specific page", "db_audit", options.for_audit),
    "dump": ("print the URLs for other programs", "db_list", options.for_dump),
    "import": ("add the URLs of lists, sitemaps and bookmarks", "db_import", options.for_import),
}  # fmt: skip


def parser() -> argparse.ArgumentParser:
    p = new_parser("spaniel db", "Keep a database of links in a folder, made to live in version control.", EPILOG)
    made = p.formatter_class
    commands = p.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (what, _, add) in COMMANDS.items():
        sub = commands.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.", formatter_class=made)
        options.for_all(sub)
        add(sub)
    return p


def main(args: argparse.Namespace) -> int:
    module = import_module(f"spaniel.cli.{COMMANDS[args.command][1]}")
    code: int = getattr(module, f"run_{args.command}")(args)
    return code
