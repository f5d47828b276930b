"""`spaniel demo`: what Spaniel does, on a site and on URLs that ship with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.cli.options import new_parser

if TYPE_CHECKING:
    import argparse

PORT = 8000


def parser() -> argparse.ArgumentParser:
    p = new_parser(
        "spaniel demo",
        "A short tour: fetch good and bad pages from a small site that comes with Spaniel. No Internet is needed.",
        examples=[
            ("spaniel demo", "the tour"),
            ("spaniel demo --policies", "what the URL policies do"),
            ("spaniel demo --serve --port 8000", "run the site, to try commands on it"),
        ],
    )
    p.add_argument("--serve", action="store_true", help="run the small site until Ctrl-C, to try commands on it")
    p.add_argument("--port", type=int, default=PORT, metavar="N", help=f"the port for --serve (default: {PORT})")
    p.add_argument("--policies", action="store_true", help="show what the four URL policies do")
    return p


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
