"""A running `spaniel serve` for the sessions, and a site on loopback: `python session.py PYTHON`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from program import Web, program, settings, web

KEY = "fc-a-key-of-the-test"


class Scene(NamedTuple):
    """A server, by its base URL, and the site that it fetches from."""

    base: str
    site: Web


@contextmanager
def scene() -> Iterator[Scene]:
    with (
        web() as site,
        tempfile.TemporaryDirectory() as folder,
        program(settings(Path(folder), [site.port]), python=sys.argv[1]) as running,
    ):
        yield Scene(running.base, site)


def report(what: str) -> None:
    print(f"  {what}")
