"""Canonicalization beside its peers, and the command line's cold start."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from bench.harness import child_cpu, interleave, process, title, wanted
from bench.urls import realistic

COUNT = 100_000


def run() -> None:
    throughput()
    cold_start()


def throughput() -> None:
    import ada_url
    import courlan
    import url_normalize
    import w3lib.url
    import yarl

    import spaniel

    urls = realistic(COUNT)
    few = urls[: COUNT // 20]  # for the slow ones; rates are per URL

    def over(function: Callable[[str], object], some: list[str] = urls) -> Callable[[], None]:
        def case() -> None:
            for url in some:
                function(url)

        return case

    canonicalize = spaniel.canonicalize
    title(f"canonicalize, {COUNT:,} realistic URLs")
    took = interleave(
        {
            "ada_url.normalize_url (the limit)": over(ada_url.normalize_url),
            "spaniel curious": over(lambda url: canonicalize(url, "curious")),
            "spaniel curious, with hash": over(lambda url: canonicalize(url, "curious").canonical_hash),
            "spaniel exact": over(canonicalize),
            "spaniel clara": over(lambda url: canonicalize(url, "clara")),
            "yarl.URL": over(lambda url: str(yarl.URL(url)), few),
            "w3lib.canonicalize_url": over(w3lib.url.canonicalize_url, few),
            "courlan.clean_url": over(courlan.clean_url, few),
            "url_normalize": over(url_normalize.url_normalize, few),
        }
    )
    scale = len(urls) / len(few)
    rates = {name: COUNT / (s * (scale if name[0] in "ywcu" else 1)) for name, s in took.items()}
    limit = rates["ada_url.normalize_url (the limit)"]
    for name, rate in rates.items():
        print(f"  {name:36} {rate:10,.0f} URLs/s   {rate / limit:5.2f} of the limit")
    ours = rates["spaniel curious"]
    wanted("curious / ada_url", ours / limit, least=0.4)
    wanted("curious / w3lib", ours / rates["w3lib.canonicalize_url"], least=3)
    wanted("curious / courlan", ours / rates["courlan.clean_url"], least=3)


def cold_start() -> None:
    title("cold start, CPU, in bare Python starts")
    python, spaniel = sys.executable, str(Path(sys.executable).with_name("spaniel"))
    took = interleave(
        {
            "python -c pass": process([python, "-c", "pass"]),
            "spaniel --help": process([spaniel, "--help"]),
            "spaniel canon URL": process([spaniel, "canon", "https://example.com/a?b=1"]),
            "spaniel canon URL, odd": process([spaniel, "canon", "HTTPS://Example.com/a?b=1"]),
        },
        rounds=21,
        clock=child_cpu,
    )
    bare = took["python -c pass"]
    for name, seconds in took.items():
        print(f"  {name:36} {seconds * 1000:6.1f} ms   {seconds / bare:5.2f}")
    wanted("--help", took["spaniel --help"] / bare, most=3)
    wanted("canon URL", took["spaniel canon URL"] / bare, most=3)
