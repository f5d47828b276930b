"""`spaniel doctor`: what Spaniel finds on this machine, well or not, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.cli.long_run import colors
from spaniel.cli.options import add_config_option, add_json, new_parser
from spaniel.errors import shown

if TYPE_CHECKING:
    import argparse

    from spaniel.app.diagnosis import Diagnosis

NOT_WELL = 7  # something local is missing or broken, as in the table of errors


def parser() -> argparse.ArgumentParser:
    p = new_parser(
        "spaniel doctor",
        "Check whether this machine has what Spaniel needs: Python, settings, cache, Chromium, DNS, the guard.\n"
        "Says how to fix what is missing.",
        "Exit code: 0 no problems found; 7 something is missing or broken.",
        examples=[
            ("spaniel doctor", "check this machine"),
            ("spaniel doctor --json --host intranet.example.com", "as JSON; look up this name to check DNS"),
        ],
    )
    p.add_argument(
        "--host", default="example.com", metavar="NAME", help="a name to look up, to check DNS (default: example.com)"
    )
    add_json(p)
    add_config_option(p)
    return p


def main(args: argparse.Namespace) -> int:
    import asyncio
    import json
    import logging

    from spaniel.app.diagnosis import examine

    logging.getLogger("spaniel").setLevel(logging.ERROR)  # what it would warn of is found and said below, but for
    logging.getLogger("spaniel.settings").setLevel(logging.WARNING)  # a number or a variable that is not used as given
    findings = asyncio.run(examine(args.config, args.host))
    for finding in findings:
        print(json.dumps(finding._asdict(), ensure_ascii=False) if args.json else _lines(finding))
    return 0 if all(finding.well for finding in findings) else NOT_WELL


def _lines(finding: Diagnosis) -> str:
    red, green, _, off = colors()
    mark = f"{green}ok {off}" if finding.well else f"{red}BAD{off}"
    line = f"{mark}  {finding.what:9} {shown(finding.found)}"
    return line if finding.well else f"{line}\n     {finding.cure}"
