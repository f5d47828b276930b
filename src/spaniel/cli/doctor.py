"""`spaniel doctor`: check what Spaniel needs on this machine, and how to fix what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.cli import options as opt
from spaniel.cli.long_run import colors
from spaniel.cli.output import print_json
from spaniel.errors import shown

if TYPE_CHECKING:
    import argparse

    from spaniel.app.diagnosis import Diagnosis

SOME_MISSING = 7  # as in the table of errors


def parser() -> opt.Parser:
    return opt.Parser(
        "spaniel doctor",
        "Check what Spaniel needs on this machine: Python, settings, cache, Chromium,\n"
        "DNS, the SSRF guard. Shows how to fix what is missing.",
        {
            "Options": [
                opt.value("--host", "NAME", "Name to look up, to check DNS", default="example.com"),
                opt.json_flag(),
                opt.CONFIG,
            ]
        },
        examples=[
            ("spaniel doctor", "Check this machine"),
            ("spaniel doctor --json --host intranet.example.com", "As JSON, with another name"),
        ],
        notes="Exit codes: 0 no problems found; 7 something is missing or broken.",
    )


def main(args: argparse.Namespace) -> int:
    import asyncio
    import logging

    from spaniel.app.diagnosis import examine

    logging.getLogger("spaniel").setLevel(logging.ERROR)  # the findings include its warnings, except those about
    logging.getLogger("spaniel.settings").setLevel(logging.WARNING)  # numbers and variables that are not used as given
    findings = asyncio.run(examine(args.config, args.host))
    for finding in findings:
        if args.json:
            print_json(finding._asdict())
        else:
            print(_lines(finding))
    return 0 if all(finding.well for finding in findings) else SOME_MISSING


def _lines(finding: Diagnosis) -> str:
    red, green, _, off = colors()
    mark = f"{green}ok {off}" if finding.well else f"{red}BAD{off}"
    line = f"{mark}  {finding.what:9} {shown(finding.found)}"
    return line if finding.well else f"{line}\n     {finding.cure}"
