"""`spaniel canon --diff A B`: what a change of policy would move (UN-09)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spaniel.cli.canon_show import colours
from spaniel.cli.lists import Inputs, list_options
from spaniel.errors import SpanielError, shown
from spaniel.url.parsing import requested

if TYPE_CHECKING:
    import argparse

    from spaniel.url.policy import Policy

DIFFERENT = 1


def show_differences(old: Policy, new: Policy, args: argparse.Namespace) -> int:
    """Every URL whose canonical form changes, with both; a refusal is a form too."""
    import json

    red, green, _, off = colours()
    count = changed = 0
    urls = Inputs(args.urls, list_options(args))
    for _, raw in urls:
        before, after = _form(old, raw), _form(new, raw)
        count += 1
        if before == after:
            continue
        changed += 1
        written = requested(raw)
        if args.form in ("json", "jsonl"):
            sys.stdout.write(json.dumps({"original": written, "before": before, "after": after}) + "\n")
        else:
            sys.stdout.write(f"  {shown(written)}\n{red}- {before}{off}\n{green}+ {after}{off}\n")
    sys.stdout.flush()
    sys.stderr.write(f"{changed} of {count} URLs change from {_label(old)} to {_label(new)}\n")
    return urls.exit_code(DIFFERENT if changed else 0)


def _form(policy: Policy, raw: str) -> str:
    try:
        return policy.apply(raw).url
    except SpanielError as error:
        return f"refused: {error.code}"


def _label(policy: Policy) -> str:
    return f"{policy.name} {policy.version}"
