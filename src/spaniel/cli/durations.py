"""Durations as people write them, 90s, 30m, 12h, 7d, 2w, and as they read them."""

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


def in_words(seconds: float) -> str:
    """To two places: `3 h 20 min`."""
    for size, unit, smaller, name in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} {int(seconds % size // smaller)} {name}"
    return f"{seconds:.1f} s"
