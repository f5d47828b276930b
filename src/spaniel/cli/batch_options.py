"""What `spaniel batch` takes: what is read and written, how fast, and which part of it."""

from __future__ import annotations

from spaniel.app.batch_wiring import PROFILE
from spaniel.cli.durations import duration
from spaniel.cli.lists import add_list_options
from spaniel.cli.options import add_json
from spaniel.defaults import BATCH_DELAY_SECONDS, BATCH_JOBS, BATCH_PER_HOST

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

WHOLE = "1/1"  # all of the input in one shard


def add_common(p: argparse.ArgumentParser) -> None:
    """From where, to where, and how each page is fetched."""
    p.add_argument(
        "sources", nargs="+", metavar="SOURCE",
        help="a list of URLs: text, CSV, TSV, JSON, JSONL, YAML or Parquet, also .gz and .zst; a sitemap, a feed or "
        "bookmarks; a pattern (*.csv); the URL of one of these; a site (https://example.com/); '-' is standard input",
    )  # fmt: skip
    p.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="where to write: FILE.jsonl, FILE.jsonl.zst, FILE.parquet, or DIR/ for pages",
    )
    again = p.add_mutually_exclusive_group()
    again.add_argument("--resume", action="store_true", help="resume a run that was stopped")
    again.add_argument("--overwrite", action="store_true", help="start again, and remove what is at OUT")
    p.add_argument("--dry-run", action="store_true", help="plan only, and show what would be fetched")
    p.add_argument("--limit", type=int, metavar="N", help="take only the first N URLs")
    p.add_argument(
        "--profile", default=PROFILE, metavar="FILE", help=f"how to fetch: a name or a TOML file (default: {PROFILE})"
    )
    p.add_argument("--cache", action="store_true", help="use and fill the page cache (it is off in a batch)")
    p.add_argument(
        "--warc",
        action="store_true",
        help="also keep the raw HTTP traffic: in OUT.warc.gz, or in OUT.warc/ where OUT is a folder",
    )
    add_json(p, "print the summary (or the plan of --dry-run) as one JSON object on standard output")


def add_input(p: argparse.ArgumentParser) -> None:
    """How sources are read."""
    source = p.add_argument_group("input")
    add_list_options(source, ", site", earlier="--from")


def add_pace(p: argparse.ArgumentParser) -> None:
    """How many at once, and how gently."""
    pace = p.add_argument_group("speed and politeness")
    pace.add_argument(
        "-j", "--jobs", type=int, default=BATCH_JOBS.default, metavar="N",
        help=f"how many pages at once in each worker, {BATCH_JOBS.range} (default: {BATCH_JOBS.default})",
    )  # fmt: skip
    pace.add_argument(
        "--workers", type=int, metavar="N", help="how many processes fetch (default: one for each processor core)"
    )
    pace.add_argument(
        "--per-host",
        type=int,
        default=BATCH_PER_HOST.default,
        metavar="N",
        help=f"how many requests at once to one host (default: {BATCH_PER_HOST.default})",
    )
    pace.add_argument(
        "--delay", type=float, default=float(BATCH_DELAY_SECONDS.default), metavar="S",
        help=f"seconds between an answer of a host and the next request to it (default: {BATCH_DELAY_SECONDS.default})",
    )  # fmt: skip
    pace.add_argument(
        "--hosts", metavar="FILE", help='a TOML file with rules for some hosts: ["example.com"], per_host and delay'
    )
    pace.add_argument(
        "--host-time", type=duration, metavar="TIME",
        help="give a host up after this time, for example 30m; its other pages get records that say so",
    )  # fmt: skip
    pace.add_argument(
        "--total-time", type=duration, metavar="TIME",
        help="end the run after this time, for example 8h; what is left gets records that say so",
    )  # fmt: skip


def add_shards(p: argparse.ArgumentParser) -> None:
    """Which part of the input, and where workers run."""
    shards = p.add_argument_group("several machines")
    shards.add_argument(
        "--shard", default=WHOLE, metavar="I/N", help="fetch one of N parts of the input; domains stay together"
    )
    shards.add_argument("--shards", type=int, metavar="N", help="for plan: how many shards")
    shards.add_argument("--sort", action="store_true", help="for merge: put the records in the order of the input")
    shards.add_argument(
        "--engine", choices=("local", "ray"), default="local",
        help="where workers run: processes here, or actors of a Ray cluster (default: local)",
    )  # fmt: skip
    shards.add_argument(
        "--parts",
        default="",
        metavar="PLACE",
        help="workers write the records themselves, as parts in this folder or address (s3://…); OUT lists them",
    )
    shards.add_argument(
        "--address",
        default="",
        metavar="HOST",
        help="for --engine ray: the cluster, or 'auto' (default: start one here)",
    )
