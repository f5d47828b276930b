"""`spaniel db init` and `fmt`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.cli.db_folder import SOME_FAILED, Failures, folder_of, name_strangers, opened
from spaniel.errors import shown

if TYPE_CHECKING:
    import argparse


def run_init(args: argparse.Namespace) -> int:
    from spaniel.registry.database import create

    folder = folder_of(args)
    if create(folder):
        print(f"{shown(folder)} is ready; its rules are in {shown(folder)}/registry.toml")
    else:
        print(f"{shown(folder)} is a database already; nothing was changed")
    return 0


def run_fmt(args: argparse.Namespace) -> int:
    from spaniel.registry.reformat import misfits, reformat

    registry = opened(args)
    name_strangers(registry)
    failed = Failures(several=True)
    count = 0
    for misfit in (misfits if args.check else reformat)(registry, failed):
        count += 1
        print(f"{shown(misfit.file)}:{misfit.line}: {'not in form' if args.check else 'written in form'}")
    return SOME_FAILED if failed.count or (args.check and count) else 0
