"""`spaniel extract FILE`: HTML that is at hand, as clean Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.cli.files import read_bytes
from spaniel.cli.heading import under_title
from spaniel.cli.options import new_parser

if TYPE_CHECKING:
    import argparse


def parser() -> argparse.ArgumentParser:
    p = new_parser("spaniel extract", "Turn an HTML page into clean Markdown.")
    p.add_argument("file", metavar="FILE", help="an HTML file; '-' reads standard input")
    p.add_argument("--url", metavar="U", help="where the page came from, so that its links become absolute")
    p.add_argument("--content-type", metavar="T", help="the Content-Type it came with (text/html)")
    p.add_argument("--json", action="store_true", help="everything that was understood: title, language, metadata")
    return p


def main(args: argparse.Namespace) -> int:
    import json
    import sys

    from spaniel.reading import extract

    document = extract(read_bytes(args.file), url=args.url, content_type=args.content_type)
    if args.json:
        sys.stdout.write(json.dumps(document.as_dict(), ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(under_title(document.markdown, document.metadata.title or document.title))
    return 0
