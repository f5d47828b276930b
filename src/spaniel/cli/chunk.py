"""`spaniel chunk FILE`: Markdown in, token-counted chunks out, one JSON object per line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.cli.files import read_text
from spaniel.cli.options import add_json, new_parser
from spaniel.defaults import CHUNK_TOKENS

if TYPE_CHECKING:
    import argparse


def parser() -> argparse.ArgumentParser:
    p = new_parser(
        "spaniel chunk",
        "Cut Markdown into chunks with a limit of tokens (cl100k_base), in order. No text is lost.",
        "Prints one JSON object per line: id, heading, text, token_count, heading_path, and the place in the file\n"
        "(start, end).",
        examples=[
            ("spaniel chunk notes.md", "one JSON object per line for each chunk"),
            ("spaniel chunk --max-tokens 400 --table notes.md", "a table: tokens, place and heading"),
            ("spaniel fetch https://example.com/a | spaniel chunk -", "the chunks of a page"),
        ],
    )
    p.add_argument("file", metavar="FILE", help="a Markdown file; '-' reads standard input")
    p.add_argument(
        "--max-tokens",
        type=int,
        default=CHUNK_TOKENS.default,
        metavar="N",
        help=f"the largest chunk in tokens, {CHUNK_TOKENS.range} (default: {CHUNK_TOKENS.default})",
    )
    form = p.add_mutually_exclusive_group()
    add_json(form, "print one JSON object per line (the default)")
    form.add_argument("--table", action="store_true", help="print a table: tokens, place and heading of each chunk")
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
