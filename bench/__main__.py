"""`python -m bench [name …]`: run the named benchmarks, or all."""

from __future__ import annotations

import sys
from importlib import import_module

BENCHES = (
    "canon", "robots", "door", "reading", "chunking", "cache", "fetch", "ingest", "batch", "batch_workers",
    "registry", "mcp", "browser", "links", "serve",
)  # fmt: skip

if __name__ == "__main__":
    chosen = sys.argv[1:] or BENCHES
    if unknown := set(chosen) - set(BENCHES):
        sys.exit(f"no such benchmark: {', '.join(sorted(unknown))}; there are: {', '.join(BENCHES)}")
    for name in chosen:
        import_module(f"bench.{name}").run()
