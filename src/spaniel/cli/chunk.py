"""`spaniel chunk FILE`: Markdown in, token-counted chunks out, one JSON object per line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spaniel.cli import options as opt
from spaniel.cli.inputs import read_text
from spaniel.cli.output import as_line
from spaniel.defaults import CHUNK_TOKENS
from spaniel.errors import shown

if TYPE_CHECKING:
    import argparse


def parser() -> opt.Parser:
    return opt.Parser(
        "spaniel chunk",
        "Split Markdown into chunks of at most N tokens (cl100k_base), losing no text.",
        {
            "Arguments": [opt.argument("file", "FILE", "Markdown file; '-' reads standard input")],
            "Options": [
                opt.number("--max-tokens", "Largest chunk in tokens", of=CHUNK_TOKENS),
                [
                    opt.json_flag("Print one JSON object per line (the default)"),
                    opt.flag("--table", "Print a table: tokens, place and heading of each chunk"),
                ],
            ],
        },
        examples=[
            ("spaniel chunk notes.md", "One JSON object per chunk"),
            ("spaniel chunk --max-tokens 400 --table notes.md", "A table"),
            ("spaniel fetch https://example.com/a | spaniel chunk -", "A web page"),
        ],
        notes="Each JSON object has id, heading, text, token_count, heading_path, and the place\n"
        "in the file (start, end).",
    )


def main(args: argparse.Namespace) -> int:
    from spaniel.chunking import chunk

    chunks = chunk(read_text(args.file), args.max_tokens)
    for number, one in enumerate(chunks, 1):
        if args.table:
            print(
                f"{number:5} {one.token_count:5} tokens  {one.start}-{one.end}  {shown(' > '.join(one.heading_path))}"
            )
        else:
            sys.stdout.write(as_line(one.record()))
    return 0
