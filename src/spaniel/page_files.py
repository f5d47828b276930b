"""One file for each page: safe names from URLs, and nothing of somebody else's written over."""

from __future__ import annotations

import json
import os
import re

from spaniel.errors import Code, SpanielError

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


LONGEST = 120  # characters of a name; file systems take 255 bytes
HEAD = 16 << 10  # bytes in which a file says which page it holds
RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)")  # by Windows, with any ending


class PageFolder:
    """A folder with a file for each page.

    A file that is there is written over only if it holds the same page. Another page whose name would be the same
    gets a name of its own, with a hash of its URL: so names do not depend on the order of the pages.
    """

    def __init__(self, path: str, suffix: str) -> None:
        self.path = path
        self._suffix = suffix
        self._taken: dict[str, str] = {}
        try:
            os.makedirs(path, exist_ok=True)
        except OSError as error:
            raise SpanielError(Code.BAD_ARGS, field=path, reason=f"cannot be made: {error.strerror}") from None

    def write(self, source: str, text: str) -> str:
        """Write the page that came from `source` (a URL, or a file); the path of its file."""
        from spaniel.files import write_atomically

        path = self._path(source)
        try:
            write_atomically(path, text.encode("utf-8", "backslashreplace"), None)
        except OSError as error:
            raise SpanielError(Code.BAD_ARGS, field=path, reason=f"cannot be written: {error.strerror}") from None
        return path

    def _path(self, source: str) -> str:
        stem = name_of(source)
        for name in (stem + self._suffix, f"{stem}-{digest_of(source)}{self._suffix}"):
            path = os.path.join(self.path, name)
            holder = self._taken.get(name)
            if holder == source or (holder is None and (not os.path.lexists(path) or holds(path, source))):
                self._taken[name] = source
                return path
        raise SpanielError(Code.BAD_ARGS, field=path, reason="is there already and is not this page; move it away")


def name_of(source: str) -> str:
    """A name that any file system takes, from a URL or a path: lower case, `_` for `/`, `-` for whatever else."""
    rest = re.sub(r"^[a-z]+://", "", source.lower())
    parts = [re.sub(r"[^a-z0-9.]+", "-", part).strip("-.") for part in rest.partition("#")[0].split("/")]
    name = "_".join(part for part in parts if part)[:LONGEST].rstrip("-._") or "page"
    return f"{name}-page" if RESERVED.match(name) else name


def digest_of(source: str, digits: int = 10) -> str:
    """What tells apart two pages whose names would be the same."""
    from hashlib import sha256

    return sha256(source.encode("utf-8", "surrogateescape")).hexdigest()[:digits]


def holds(path: str, source: str) -> bool:
    """Whether a file is what was written for this page before."""
    if os.path.islink(path):
        return False
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD).decode("utf-8", "replace")
    except OSError:
        return False
    said = json.dumps(source, ensure_ascii=False)
    return head.startswith(tuple(f"{start}{said}" for start in STARTS))


STARTS = ("---\nurl: ", "---\nfile: ", '{"requested_url": ', '{"file": ')  # how each format begins
