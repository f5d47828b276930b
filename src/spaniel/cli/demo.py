"""`spaniel demo`: what Spaniel does, on examples that ship with it."""

from __future__ import annotations

import argparse


def parser() -> argparse.ArgumentParser:
    return argparse.ArgumentParser(prog="spaniel demo", description="Show the four policies at work on sample URLs.")


def main(_args: argparse.Namespace) -> int:
    from spaniel.demo.tour import show_policies

    show_policies()
    return 0
