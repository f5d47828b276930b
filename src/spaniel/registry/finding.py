"""Which file a host belongs to, without reading the others.

A host's own file is known by its name. Only a host that has none may be somebody's cname: then the first document of
each file is read, and nothing else of it. There is no index: 2,000 files are asked in less time than Python takes to
start, and an index could be wrong after a checkout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.registry import folder as files
from spaniel.registry.metadata import CNAMES, read_metadata
from spaniel.registry.naming import file_names, host_of
from spaniel.registry.splitting import split

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaniel.private_folder import OpenFolder


def find_file(folder: OpenFolder, host: str, aliases: Callable[[], dict[str, str]]) -> str | None:
    """The name of the file that a host's records are in; None where there is none yet. Aliases are asked for last."""
    for name in file_names(host):
        if host_of(name) == host and files.version(folder, name) is not None:
            return name
    return aliases().get(host)


def read_aliases(folder: OpenFolder) -> dict[str, str]:
    """Every cname, and the name of its file. Where one cannot be understood, nobody knows whose a host is: refused."""
    found: dict[str, str] = {}
    for host, name in files.listing(folder).files.items():
        head = files.read_head(folder, name)
        if CNAMES in head:
            file = f"{folder.path}/{name}"
            found |= dict.fromkeys(read_metadata(split(head, file).documents[0], file, host).cnames, name)
    return found
