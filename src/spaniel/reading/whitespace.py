"""White space as FR-WF-13b wants it: LF, at most two blank lines, no trailing blanks, one newline at the end."""

from __future__ import annotations

import re

FENCE = re.compile(r"^(?:[ >]|[-*+] |\d{1,9}[.)] )*(`{3,}|~{3,})")


def unix_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def tidy_text(text: str) -> str:
    """For plain text (FR-WF-13c)."""
    return _squeeze(line.rstrip() for line in unix_lines(text).split("\n"))


def tidy_markdown(markdown: str, mend: Callable[[str, str], str]) -> str:
    """For Markdown: each line is mended with a view to the next, but inside a fence it is code and stays (D2-17)."""
    lines = unix_lines(markdown).split("\n")
    kept: list[str] = []
    fence = ""
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        mark = FENCE.match(line) if "``" in line or "~~" in line else None
        if fence:
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
            kept.append(line)
            continue
        fence = mark[1] if mark else ""
        whole = line.rstrip() if fence else mend(line, following).rstrip()
        if whole or kept[-2:] != ["", ""]:
            kept.append(whole)
    text = "\n".join(kept).strip("\n")
    return text + "\n" if text else ""


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
    from collections.abc import Callable, Iterable
