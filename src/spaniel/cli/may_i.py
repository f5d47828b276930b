"""`spaniel may-i URL`: does robots.txt allow it, and which line says so?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.cli.options import (
    add_json,
    add_log_options,
    add_settings_options,
    configure_logs,
    new_parser,
    settings_from,
)
from spaniel.errors import TABLE, Code, SpanielError
from spaniel.url.parsing import typed

if TYPE_CHECKING:
    import argparse

    from spaniel.app.engine import Engine


def parser() -> argparse.ArgumentParser:
    p = new_parser(
        "spaniel may-i",
        "Check whether a site's robots.txt allows a URL, and show which line says so.\n"
        "If it is allowed, the headers of the page itself are checked too.",
        "Exit code: 0 allowed; 3 not allowed; 4 the site could not be reached.",
        examples=[
            ("spaniel may-i https://example.com/private/", "yes or no"),
            ("spaniel may-i --json --user-agent mybot/1.0 https://example.com/", "another user agent"),
        ],
    )
    p.add_argument("url", type=typed, metavar="URL", help="the page that you want to fetch")
    p.add_argument("--agent", dest="user_agent", metavar="TEXT", help="the same as --user-agent")
    add_json(p, "print one JSON object")
    add_settings_options(p)
    add_log_options(p)
    return p


def main(args: argparse.Namespace) -> int:
    import asyncio

    from spaniel.app.engine import Engine

    configure_logs(args)

    async def go() -> int:
        async with Engine(settings_from(args)) as engine:
            try:
                return await ask(args, engine)
            except SpanielError as error:
                raise error.about(args.url) from None

    return asyncio.run(go())


async def ask(args: argparse.Namespace, engine: Engine) -> int:
    """Ask and print; apart from `main`, so that it can be tried with an engine that may look at loopback."""
    from spaniel.app.robots import robots_facts

    facts = await robots_facts(engine, args.url)
    if args.json:
        import json

        print(json.dumps(facts, ensure_ascii=False))
    else:
        _tell(facts)
    return 0 if facts["allowed"] else TABLE[Code.ROBOTS_DISALLOWED].exit


def _tell(facts: dict[str, object]) -> None:
    print("yes" if facts["allowed"] else "no", facts["url"])
    if facts.get("rule"):
        print(f"  {facts['robots_txt']}, line {facts['line']}: {facts['rule']} (group '{facts['group']}')")
    else:
        group = facts.get("group")
        print(
            f"  {facts['robots_txt']}: " + (f"no rule of group '{group}' speaks of it" if group else "no group is ours")
        )
    for name in ("crawl_delay", "content_signal", "x_robots_tag"):
        if name in facts:
            print(f"  {name.replace('_', '-')}: {facts[name]}")
