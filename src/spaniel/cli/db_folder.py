"""The database that a command works on, and what commands say of what they find in it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spaniel.cli.main import report
from spaniel.errors import SpanielError, shown

if TYPE_CHECKING:
    import argparse

    from spaniel.registry.database import Registry

SOME_FAILED = 1


def folder_of(args: argparse.Namespace) -> str:
    if args.db:
        return str(args.db)
    from spaniel.app.settings import load

    return load(args.config).registry_folder


def opened(args: argparse.Namespace, policy: str | None = None) -> Registry:
    from spaniel.registry.database import open_registry

    return open_registry(folder_of(args), policy=policy)


def name_strangers(registry: Registry) -> None:
    """Files in the folder that are not read; the user should know that they are not."""
    for found in registry.strangers():
        sys.stderr.write(f"spaniel: {shown(registry.folder)}/{shown(found.name)} is not read: {shown(found.why)}\n")


class Failures:
    """Refusals, shown as they happen. With one argument the exit code is that of its refusal."""

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


def is_several(urls: list[str]) -> bool:
    return len(urls) > 1 or "-" in urls
