"""Where pages go and in which form: standard output, one file, or a folder with one file per page."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import contextmanager

from spaniel.cli.files import replacing
from spaniel.page_files import PageFolder, with_front_matter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TextIO


class Output:
    """Pages one after the other. Several are separated: Markdown by front matter, JSON by lines."""

    def __init__(self, file: TextIO, name: str, *, several: bool) -> None:
        self._file = file
        self._written = 0
        self.name = name  # empty: standard output
        self.has_front_matter = several

    def page(self, _source: str, text: str) -> None:
        if self.has_front_matter and self._written and text.startswith("---\n"):
            self._file.write("\n")
        self._file.write(text)
        self._written += 1

    def refusal(self, line: str) -> None:
        """An error as a program reads it, in its place among the pages."""
        self._file.write(line)

    def flush(self) -> None:
        self._file.flush()


class FolderOutput(Output):
    """A file for each page. Errors have no place here: they are on standard error."""

    def __init__(self, folder: PageFolder) -> None:
        super().__init__(sys.stdout, folder.path, several=True)
        self._folder = folder
        self.last = ""  # the last file

    def page(self, source: str, text: str) -> None:
        self.last = self._folder.write(source, text)

    def refusal(self, line: str) -> None:
        pass


@contextmanager
def opened(path: str | None, suffix: str, *, several: bool) -> Iterator[Output]:
    """The output that `-o` names; a folder is one that ends with a slash, or is there."""
    if not path:
        yield Output(sys.stdout, "", several=several)
    elif path.endswith(("/", os.sep)) or os.path.isdir(path):
        yield FolderOutput(PageFolder(path, suffix))
    else:
        with replacing(path) as file:
            yield Output(file, path, several=several)


def as_markdown(facts: Mapping[str, object], markdown: str, output: Output) -> str:
    """A page for people; `facts` are what front matter says of it, its title among them."""
    if output.has_front_matter:
        return with_front_matter(facts, markdown)
    title = facts.get("title")
    return under_title(markdown, title if isinstance(title, str) else None)


def as_line(record: Mapping[str, object], data: str | None = None) -> str:
    """A record on one line. `data` is JSON text: a value in it, with all its digits, not a text in quotes."""
    line = json.dumps(record, ensure_ascii=False)
    if data is not None:
        from msgspec.json import format as formatted

        line = f'{line[:-1]}, "data": {formatted(data, indent=-1)}}}'
    return line + "\n"


HEADING = re.compile(r"^# ", re.MULTILINE)
NEAR = 3000  # characters in which a page's own heading is searched
MEANINGFUL = re.compile(r"([\\`*_\[\]<>]|&(?=#?\w+;))")
IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
TARGET = re.compile(r"\]\([^)]*\)")


def under_title(markdown: str, title: str | None) -> str:
    """Markdown that begins with the page's title, unless it says its title itself or has a heading of its own."""
    if not title or not markdown or HEADING.search(markdown, 0, NEAR) or _has_title(markdown[:NEAR], title):
        return markdown
    escaped = MEANINGFUL.sub(r"\\\1", title)
    return f"# {escaped}\n\n{markdown}"


def _has_title(text: str, title: str) -> bool:
    """Whether a line of the text is the title, as a heading of any level or otherwise."""
    wanted = _letters(title)
    return bool(wanted) and any(_letters(TARGET.sub("]", IMAGE.sub("", line))) == wanted for line in text.split("\n"))


def _letters(text: str) -> str:
    """Letters and digits: what two spellings of a title have in common."""
    return "".join(sign for sign in text.casefold() if sign.isalnum())
