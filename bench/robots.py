"""robots.txt: decisions a second beside protego and robotspy, parsing included and apart; and the worst of patterns."""

from __future__ import annotations

import random
from importlib import import_module
from typing import TYPE_CHECKING

from protego import Protego

from bench.harness import interleave, title, wanted
from spaniel.robots import parse

if TYPE_CHECKING:
    from collections.abc import Callable

RobotsParser = import_module("robots").RobotsParser  # robotspy's; by its bare name it would be taken for this file

AGENT = "forge-webfetch"
SIZES = (5, 200, 2_000)
ROUNDS = 15
WORDS = ("account", "api", "blog", "cart", "catalog", "docs", "download", "forum", "img", "item", "news", "p", "user")
SHAPES = ("{}/", "{}/", "{}/", "{}/", "{}.html", "{}?page=", "{}/*/edit", "*{}.pdf$", "{}*sort=", "{}$")


def rules(count: int) -> str:
    """A file as large sites have them: several groups, most rules plain prefixes, four in ten with `*` or `$`."""
    dice = random.Random(count)
    lines = ["User-agent: otherbot", "User-agent: thirdbot", "Disallow: /", "", "User-agent: *", "Crawl-delay: 1"]
    for _ in range(count):
        path = "/".join((dice.choice(WORDS), f"{dice.choice(WORDS)}-{dice.randrange(count)}")[: dice.randint(1, 2)])
        shape = dice.choice(SHAPES)
        lines.append(f"{dice.choice(('Disallow', 'Disallow', 'Disallow', 'Allow'))}: /{shape.format(path)}")
    return "\n".join([*lines, "", "Sitemap: https://example.com/sitemap.xml", ""])


def paths(count: int) -> list[str]:
    dice = random.Random(1)
    return [
        f"/{dice.choice(WORDS)}/{dice.choice(WORDS)}-{dice.randrange(count)}/{dice.randrange(10**6)}"
        + dice.choice(("", "", ".html", "?page=2"))
        for _ in range(100)
    ]


def deciding(text: str, asked: list[str]) -> dict[str, Callable[[], None]]:
    """Each has parsed the file; only the answers are timed."""
    ours, theirs, third = parse(text.encode()), Protego.parse(text), RobotsParser.from_string(text)
    assert all(ours.decide(AGENT, path).allowed == theirs.can_fetch(path, AGENT) for path in asked), "not the same work"

    def spaniel() -> None:
        for path in asked:
            ours.decide(AGENT, path)

    def protego() -> None:
        for path in asked:
            theirs.can_fetch(path, AGENT)

    def robotspy() -> None:
        for path in asked:
            third.can_fetch(AGENT, path)

    return {"spaniel": spaniel, "protego": protego, "robotspy": robotspy}


def parsing(text: str, path: str) -> dict[str, Callable[[], None]]:
    """The file is parsed for a single answer."""
    body = text.encode()

    def spaniel() -> None:
        parse(body).decide(AGENT, path)

    def protego() -> None:
        Protego.parse(body.decode()).can_fetch(path, AGENT)

    def robotspy() -> None:
        RobotsParser.from_string(body.decode()).can_fetch(AGENT, path)

    return {"spaniel": spaniel, "protego": protego, "robotspy": robotspy}


def many(times: int, contenders: dict[str, Callable[[], None]]) -> dict[str, Callable[[], None]]:
    """Each contender so many times over: one call of a microsecond cannot be timed."""

    def repeated(contender: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            for _ in range(times):
                contender()

        return run

    return {name: repeated(contender) for name, contender in contenders.items()}


def show(what: str, decisions: int, seconds: dict[str, float]) -> None:
    found = "  ".join(f"{name} {decisions / taken:>9,.0f}/s" for name, taken in seconds.items())
    print(f"  {what:<30} {found}")
    for peer in ("protego", "robotspy"):
        wanted(f"{what}, against {peer}", seconds[peer] / seconds["spaniel"], least=1)


def stars() -> float:
    """Milliseconds for a pattern of 2,000 stars on a path of 2 KB that fails it only at the last star."""
    robots = parse(b"User-agent: *\nDisallow: /" + b"*a" * 1_999 + b"*b\n")
    path = "/b" + "a" * 2_046

    def spaniel() -> None:
        robots.decide(AGENT, path)

    return 1_000 * interleave({"spaniel": spaniel}, ROUNDS)["spaniel"]


def run() -> None:
    title("robots.txt, decisions a second")
    for count in SIZES:
        text, asked = rules(count), paths(count)
        repeats = max(1, 1_000 // count)
        decided = interleave(many(repeats, deciding(text, asked)), ROUNDS)
        show(f"{count:,} rules, decide", repeats * len(asked), decided)
        show(f"{count:,} rules, parse and decide", repeats, interleave(many(repeats, parsing(text, asked[0])), ROUNDS))
    wanted("2,000 stars on a 2 KB path, ms", stars(), most=10)
