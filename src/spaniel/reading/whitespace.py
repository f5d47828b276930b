"""White space as FR-WF-13b wants it: LF, at most two blank lines, no trailing blanks, one newline at the end."""

from __future__ import annotations

import re

FENCE = re.compile(r"^(?:[ >]|[-*+] |\d{1,9}[.)] )*(`{3,}|~{3,})")


def unix_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def tidy_text(text: str) -> str:
    """For plain text (FR-WF-13c)."""
    return _squeeze(line.rstrip() for line in unix_lines(text).split("\n"))


def tidy_markdown(markdown: str) -> str:
    """For Markdown: what stands inside a fence is code and keeps its blanks (D2-17)."""
    if "```" not in markdown and "~~~" not in markdown:
        return tidy_text(markdown)
    lines: list[str] = []
    fence = ""
    for line in unix_lines(markdown).split("\n"):
        mark = FENCE.match(line)
        if not fence:
            line = line.rstrip()
            fence = mark[1] if mark else ""
            if not line and lines[-2:] == ["", ""]:
                continue
        elif mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
            fence = ""
        lines.append(line)
    return "\n".join(lines).strip("\n") + "\n" if any(lines) else ""


def _squeeze(lines: Iterable[str]) -> str:
    kept: list[str] = []
    blank = 0
    for line in lines:
        blank = 0 if line else blank + 1
        if blank <= 2:
            kept.append(line)
    text = "\n".join(kept).strip("\n")
    return text + "\n" if text else ""


TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
