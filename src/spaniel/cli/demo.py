"""`spaniel demo`: a tour on a site and URLs that ship with Spaniel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.cli.options import Parser, flag, value

if TYPE_CHECKING:
    import argparse

PORT = 8000


def parser() -> Parser:
    return Parser(
        "spaniel demo",
        "Fetch good and bad pages from a small built-in site. Needs no Internet.",
        {
            "Options": [
                flag("--policies", "Show what the four URL policies do"),
                flag("--serve", "Run the site until Ctrl-C, to try commands on it"),
                value("--port", "N", "Port for --serve", type=int, default=PORT),
            ]
        },
        examples=[
            ("spaniel demo", "The tour"),
            ("spaniel demo --policies", "The URL policies"),
            ("spaniel demo --serve --port 8000", "Run the site, to try commands on it"),
        ],
    )


def main(args: argparse.Namespace) -> int:
    if args.policies:
        from spaniel.demo.policies import show_policies

        show_policies()
    elif args.serve:
        from spaniel.demo.server import serve_forever

        serve_forever(args.port)
    else:
        from spaniel.demo.tour import show_tour

        show_tour()
    return 0
