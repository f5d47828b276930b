"""Certificates that will soon be over: told while there is time to renew them."""

from __future__ import annotations

import math

from spaniel.health.verdict import Finding, Remark

DAY = 86_400.0
SOON = 14 * DAY


def ending(ends: float | None, now: float) -> Finding | None:
    """What is to be said of a certificate that ends within fourteen days."""
    if ends is None or ends - now > SOON:
        return None
    days = math.floor((ends - now) / DAY)
    left = "in less than a day" if days < 1 else "in 1 day" if days == 1 else f"in {days} days"
    return Finding(Remark.CERTIFICATE_ENDING, f"Its certificate ends {left}.")
