"""`spaniel chunk FILE`: Markdown in, token-counted chunks out, one JSON object per line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.cli.files import read_text
from spaniel.cli.options import new_parser
from spaniel.defaults import CHUNK_TOKENS

if TYPE_CHECKING:
    import argparse


def parser() -> argparse.ArgumentParser:
    p = new_parser(
        "spaniel chunk",
        "Cut Markdown into chunks of at most so many tokens (cl100k_base), in order. No text is lost.",
        "Prints one JSON object per line: id, heading, text, token_count, heading_path, and the place in the file\n"
        "(start, end).",
    )
    p.add_argument("file", metavar="FILE", help="a Markdown file; '-' reads standard input")
    p.add_argument(
        "--max-tokens",
        type=int,
        default=CHUNK_TOKENS.default,
        metavar="N",
        help=f"the most tokens of a chunk, {CHUNK_TOKENS.range} (default: {CHUNK_TOKENS.default})",
    )
    p.add_argument("--table", action="store_true", help="a table for people: tokens, place and heading of each chunk")
    return p


def main(args: argparse.Namespace) -> int:
    import json

    from spaniel.chunking import chunk
    from spaniel.errors import shown

    chunks = chunk(read_text(args.file), args.max_tokens)
    for number, one in enumerate(chunks, 1):
        if args.table:
            print(
                f"{number:5} {one.token_count:5} tokens  {one.start}-{one.end}  {shown(' > '.join(one.heading_path))}"
            )
        else:
            print(json.dumps(one.record(), ensure_ascii=False))
    return 0
