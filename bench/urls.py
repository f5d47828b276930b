"""Realistic URLs from a seeded generator: the mix that a crawl's frontier or a news feed has."""

from __future__ import annotations

import random

_WORDS = (
    "news article market science health world travel review guide update report analysis opinion video live "
    "how why what best first new local state city school water energy data cloud model python release notes "
    "security election budget climate space food music film game team season player price history archive"
).split()
_HOSTS = [
    f"{prefix}{word}{tail}.{tld}"
    for prefix in ("www.", "", "blog.", "docs.")
    for word in _WORDS[:24]
    for tail in ("", "-daily", "hub")
    for tld in ("com", "org", "co.uk", "io", "de")
]
_TRACKING = (
    "utm_source=twitter",
    "utm_medium=social",
    "utm_campaign=spring_sale",
    "gclid=Cj0KCQ",
    "fbclid=IwAR1",
    "ref=hp",
)
_CONTENT = ("id={n}", "page={m}", "q={w}+{v}", "lang=en", "sort=date", "category={w}", "v={n}")


def _query(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.45:
        return ""
    pairs = [
        p.format(n=rng.randrange(10**6), m=rng.randrange(1, 40), w=rng.choice(_WORDS), v=rng.choice(_WORDS))
        for p in rng.sample(_CONTENT, rng.randrange(0 if kind < 0.75 else 1, 4))
    ]
    if kind < 0.75:
        pairs += rng.sample(_TRACKING, rng.randrange(1, 4))
    return "?" + "&".join(pairs) if pairs else ""


def _path(rng: random.Random) -> str:
    kind = rng.random()
    slug = "-".join(rng.sample(_WORDS, rng.randrange(2, 7)))
    if kind < 0.08:
        return rng.choice(("", "/"))
    if kind < 0.40:
        return f"/{rng.randrange(2005, 2027)}/{rng.randrange(1, 13):02}/{slug}" + rng.choice(("", "/", ".html"))
    if kind < 0.90:
        return f"/{rng.choice(_WORDS)}/{slug}-{rng.randrange(10**6)}" + rng.choice(("", "", "/"))
    if kind < 0.95:
        return f"/wiki/{slug.title()}%20({rng.choice(_WORDS)})"
    if kind < 0.98:
        return f"//{rng.choice(_WORDS)}/./{slug}/../{slug}/"
    return f"/straße/{slug}"


def _url(rng: random.Random) -> str:
    scheme, host = rng.choice(("https", "https", "https", "http")), rng.choice(_HOSTS)
    odd = rng.random()
    if odd < 0.03:
        host = host.title()
    elif odd < 0.05:
        host += ":443" if scheme == "https" else ":80"
    elif odd < 0.06:
        host = "bücher." + host
    fragment = "#" + rng.choice(_WORDS) if rng.random() < 0.06 else ""
    return f"{scheme}://{host}{_path(rng)}{_query(rng)}{fragment}"


def realistic(count: int, seed: int = 1) -> list[str]:
    rng = random.Random(seed)
    return [_url(rng) for _ in range(count)]
