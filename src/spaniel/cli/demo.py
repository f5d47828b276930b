"""`spaniel demo`: what Spaniel does, on examples that ship with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.cli.options import new_parser

if TYPE_CHECKING:
    import argparse


def parser() -> argparse.ArgumentParser:
    return new_parser("spaniel demo", "Show the four policies at work on sample URLs.")


def main(_args: argparse.Namespace) -> int:
    from spaniel.demo.tour import show_policies

    show_policies()
    return 0
