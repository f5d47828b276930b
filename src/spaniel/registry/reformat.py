"""Every file of a database brought into its one form, or asked whether it is in it (DB-11)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spaniel.registry import folder as files
from spaniel.registry.host_file import formatted
from spaniel.registry.lock import writing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.registry.database import Refused, Registry
    from spaniel.registry.host_file import HostFile


class FormatProblem(NamedTuple):
    """A file that is not in its form, and the first line that would change."""

    file: str
    line: int


def misfits(registry: Registry, refused: Refused | None = None) -> Iterator[FormatProblem]:
    """The files that formatting would change. Nothing is written."""
    for file in registry.files(refused):
        text, wanted = _text(file), formatted(file)
        if text != wanted:
            yield FormatProblem(file.home.file, _first_difference(text, wanted))


def reformat(registry: Registry, refused: Refused | None = None) -> Iterator[FormatProblem]:
    """The same, and each is written as it is told."""
    with files.opened(registry.folder, write=True) as folder, writing(folder):
        files.sweep(folder)
        for misfit in misfits(registry, refused):
            name = misfit.file.removeprefix(f"{folder.path}/")
            text, known = files.read_text(folder, name)
            files.write_text(folder, name, formatted(registry.read(folder, name, text)), known)
            yield misfit


def _text(file: HostFile) -> str:
    return file.parts.preamble + "".join(document.text for document in file.parts.documents)


def _first_difference(text: str, wanted: str) -> int:
    lines, others = text.split("\n"), wanted.split("\n")
    same = (i for i, (one, other) in enumerate(zip(lines, others, strict=False)) if one != other)
    return 1 + next(same, min(len(lines), len(others)) - 1)
