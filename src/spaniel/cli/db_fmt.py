"""`spaniel db init` and `fmt`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from spaniel.cli.db_folder import SOME_FAILED, Failures, folder_of, name_strangers, opened
from spaniel.errors import shown

if TYPE_CHECKING:
    import argparse


def run_init(args: argparse.Namespace) -> int:
    from spaniel.registry.database import create

    folder = folder_of(args)
    is_new = create(folder)
    if args.json:
        print(json.dumps({"folder": folder, "rules": f"{folder}/registry.toml", "created": is_new}))
    elif is_new:
        print(f"{shown(folder)} is ready; its rules are in {shown(folder)}/registry.toml")
    else:
        print(f"{shown(folder)} is a database already; nothing was changed")
    return 0


def run_fmt(args: argparse.Namespace) -> int:
    from spaniel.registry.database import misfits, reformat

    registry = opened(args)
    name_strangers(registry)
    failed = Failures(several=True)
    count = 0
    for misfit in (misfits if args.check else reformat)(registry, failed):
        count += 1
        if args.json:
            print(json.dumps({"file": misfit.file, "line": misfit.line, "written": not args.check}))
        else:
            print(f"{shown(misfit.file)}:{misfit.line}: {'not formatted' if args.check else 'formatted'}")
    return SOME_FAILED if failed.count or (args.check and count) else 0
