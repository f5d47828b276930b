"""`Retry-After` in both its forms (RFC 9110 10.2.3)."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

LONGEST = 86_400.0  # a host that says "in a year" is asked again tomorrow


def seconds_until(value: str | None, now: datetime) -> float | None:
    """How long to stay away, from a number of seconds or a date; None where it says neither."""
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), LONGEST)
    from email.utils import parsedate_to_datetime  # loads half a mail client, for the rare date

    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:  # "-0000" means UTC of unknown origin (RFC 5322 3.3)
            moment = moment.replace(tzinfo=UTC)
        return min(max(0.0, (moment - now).total_seconds()), LONGEST)
    except (ValueError, OverflowError):
        return None
