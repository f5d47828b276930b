"""Durations as people write them: 90s, 30m, 12h, 7d, 2w."""

from __future__ import annotations

import argparse

from spaniel.errors import shown

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def duration(text: str) -> float:
    """Seconds; a type for argparse."""
    number, unit = text[:-1], text[-1:]
    if unit not in UNITS or not number.replace(".", "", 1).isdecimal():
        raise argparse.ArgumentTypeError(f"'{shown(text)}' is an invalid duration; write 90s, 30m, 12h, 7d or 2w")
    return float(number) * UNITS[unit]
