"""One file per page: safe file names from URLs, and no other file overwritten."""

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
    """Markdown with YAML front matter. The first fact identifies the page; facts without a value are left out."""
    first = next(iter(facts))
    lines = [f"{name}: {_yaml(value)}\n" for name, value in facts.items() if value or name == first]
    return f"{FENCE}{''.join(lines)}{FENCE}" + (f"\n{_without_forgery(markdown, first)}" if markdown else "")


def _yaml(value: object) -> str:
    """Encode a value as JSON, which is valid YAML: quoted text is never read as a number, a date or a list."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _without_forgery(markdown: str, first: str) -> str:
    """Rewrite `---` lines of a page that would look like the front matter of another page as `- - -`."""
    return re.sub(rf"^---(?=[ \t]*\n[ \t]*{first}:)", "- - -", markdown, flags=re.MULTILINE)


MAX_NAME_CHARS = 120  # of a file name: file systems allow 255 bytes, and a hash and a suffix are added
HEAD_BYTES = 16 << 10  # the first fact of a file, which has the URL, is within these bytes
RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)")  # by Windows, with any extension


class PageFolder:
    """A folder with one file per page.

    An existing file is overwritten only if it has the same page. A page whose name is taken by another one gets a
    name with a hash of its URL, so that names do not depend on the order of the pages.
    """

    def __init__(self, path: str, suffix: str) -> None:
        self.path = path
        self._suffix = suffix
        self._taken: dict[str, str] = {}
        try:
            os.makedirs(path, exist_ok=True)
        except OSError as error:
            raise SpanielError(Code.BAD_ARGS, field=path, reason=f"cannot be created: {error.strerror}") from None

    def write(self, source: str, text: str) -> str:
        """Write the page from `source` (a URL or a file) and return the path of its file."""
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
        raise SpanielError(Code.BAD_ARGS, field=path, reason="already exists and is not this page; move it away")


def name_of(source: str) -> str:
    """A file name for a URL or a path that is valid everywhere: lower case, `_` for `/`, `-` for other characters."""
    rest = re.sub(r"^[a-z]+://", "", source.lower())
    parts = [re.sub(r"[^a-z0-9.]+", "-", part).strip("-.") for part in rest.partition("#")[0].split("/")]
    name = "_".join(part for part in parts if part)[:MAX_NAME_CHARS].rstrip("-._") or "page"
    return f"{name}-page" if RESERVED.match(name) else name


def digest_of(source: str, digits: int = 10) -> str:
    """A hash that distinguishes two pages with the same file name."""
    from hashlib import sha256

    return sha256(source.encode("utf-8", "surrogateescape")).hexdigest()[:digits]


def holds(path: str, source: str) -> bool:
    """Whether a file was written for this page by an earlier run."""
    if os.path.islink(path):
        return False
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD_BYTES).decode("utf-8", "replace")
    except OSError:
        return False
    quoted = json.dumps(source, ensure_ascii=False)
    return head.startswith(tuple(f"{start}{quoted}" for start in STARTS))


STARTS = ("---\nurl: ", "---\nfile: ", '{"requested_url": ', '{"file": ')  # of each output format
