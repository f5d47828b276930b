"""Front matter: the lines between `---` and `---` that tell several pages in one stream apart, and each in its file."""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FENCE = "---\n"


def with_front_matter(facts: Mapping[str, object], markdown: str) -> str:
    """A page under its facts. The first of them says which page it is; those without a value are left out."""
    first = next(iter(facts))
    lines = [f"{name}: {_yaml(value)}\n" for name, value in facts.items() if value or name == first]
    return f"{FENCE}{''.join(lines)}{FENCE}" + (f"\n{_without_forgery(markdown, first)}" if markdown else "")


def _yaml(value: object) -> str:
    """JSON is YAML; every text is quoted, so that none is read as a number, a date or a list."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _without_forgery(markdown: str, first: str) -> str:
    """A page cannot pretend that another begins: its own `---` before such a line becomes the other form of a rule."""
    return re.sub(rf"^---(?=[ \t]*\n[ \t]*{first}:)", "- - -", markdown, flags=re.MULTILINE)
