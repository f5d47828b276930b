"""What a worker of a batch fetches with in a test: for it, every name is at 127.0.0.1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spaniel.app import batching
from spaniel.testing.fakes import FakeResolver

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractAsyncContextManager

    from spaniel.batch.records import Fetch
    from spaniel.hosts import Hosts

WHERE = f"{__name__}:open_fetcher"


def open_fetcher(options: Mapping[str, Any], hosts: Hosts) -> AbstractAsyncContextManager[Fetch]:
    """Like the application's own."""
    return batching.open_fetcher(options, hosts, FakeResolver())
