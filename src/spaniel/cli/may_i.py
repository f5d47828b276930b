"""`spaniel may-i URL`: does robots.txt allow it, and which line says so?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.cli import options as opt
from spaniel.cli.output import print_json
from spaniel.errors import TABLE, Code, SpanielError
from spaniel.url.parsing import typed

if TYPE_CHECKING:
    import argparse

    from spaniel.app.engine import Engine


def parser() -> opt.Parser:
    return opt.Parser(
        "spaniel may-i",
        "Check whether robots.txt allows a URL, and show the line that decides.\n"
        "If it is allowed, the headers of the page are checked too.",
        {
            "Arguments": [opt.argument("url", "URL", "Page that you want to fetch", type=typed)],
            "Options": [
                opt.value("--agent", "TEXT", "Same as --user-agent", dest="user_agent"),
                opt.json_flag("Print one JSON object"),
            ],
            **opt.shared_options(),
        },
        examples=[
            ("spaniel may-i https://example.com/private/", "Yes or no"),
            ("spaniel may-i --json --agent mybot/1.0 https://example.com/", "Another agent"),
        ],
        notes="Exit codes: 0 allowed; 3 not allowed; 4 the site could not be reached.",
    )


def main(args: argparse.Namespace) -> int:
    import asyncio

    from spaniel.app.engine import Engine

    opt.configure_logs(args)

    async def go() -> int:
        async with Engine(opt.settings_from(args)) as engine:
            try:
                return await check_robots(args, engine)
            except SpanielError as error:
                raise error.about(args.url) from None

    return asyncio.run(go())


async def check_robots(args: argparse.Namespace, engine: Engine) -> int:
    """As `main`, with an engine that a test may replace."""
    from spaniel.app.robots import robots_facts

    facts = await robots_facts(engine, args.url)
    if args.json:
        print_json(facts)
    else:
        _print(facts)
    return 0 if facts["allowed"] else TABLE[Code.ROBOTS_DISALLOWED].exit


def _print(facts: dict[str, object]) -> None:
    print("yes" if facts["allowed"] else "no", facts["url"])
    if facts.get("rule"):
        print(f"  {facts['robots_txt']}, line {facts['line']}: {facts['rule']} (group '{facts['group']}')")
    else:
        group = facts.get("group")
        reason = f"no rule of group '{group}' matches" if group else "no group applies to this user agent"
        print(f"  {facts['robots_txt']}: {reason}")
    for name in ("crawl_delay", "content_signal", "x_robots_tag"):
        if name in facts:
            print(f"  {name.replace('_', '-')}: {facts[name]}")
