"""Many fetches: a plan on disk, a frontier of hosts, workers that own hosts, and output that holds each URL once."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _CallableModule(ModuleType):
    """`spaniel.batch(urls)` is a function for programs, and a package of the same name."""

    def __call__(self, *urls: Any, **options: Any) -> Any:
        from importlib import import_module

        return import_module("spaniel.app.batching").batch(*urls, **options)


sys.modules[__name__].__class__ = _CallableModule
