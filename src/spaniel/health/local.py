"""Checks links to local files and to their anchors."""

from __future__ import annotations

import os
import re
import stat
from mimetypes import guess_type
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from spaniel.errors import SpanielError
from spaniel.health.documents import kinds
from spaniel.health.files import LARGEST, read, repository_root
from spaniel.health.filters import SCHEME, TEXT_DIRECTIVE
from spaniel.health.links import Checked, Link, LinkFinding, Remark
from spaniel.sources.kinds import FileKind, kind_by_name
from spaniel.verdicts import Evidence, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spaniel.health.documents.mentions import Mention
    from spaniel.health.links import Place

LINES = re.compile(r"L\d+(?:C\d+)?(?:-L?\d+(?:C\d+)?)?\Z")  # a line of a file on GitHub
TOP = frozenset({"", "top"})  # the start of every page
GENERATED = (".html", ".htm")  # may be generated from another file
LONGEST = 1000  # characters of a path for which a report lists the names that were tried
MOST_FOLDERS = 1000  # whose file names are cached
MOST_TRIED = 12  # names in a report
ON_DISK = Evidence("disk")


class LocalTarget(NamedTuple):
    """The file and anchor that a link names, or why it is not checked."""

    path: str = ""
    fragment: str = ""
    reason: str = ""
    root: str = ""  # files outside of it are not opened


class Fallbacks(NamedTuple):
    """The files that are tried for a missing file. Generators write `x.html` or `x/index.html` for `x.rst`."""

    extensions: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()  # names of a folder's page, with or without extension

    def of(self, path: str) -> Iterator[str]:
        """Yield the files that a path may mean, in the order in which they are tried."""
        bare = path.rstrip("/")
        folder, name = os.path.split(bare)
        stem, extension = os.path.splitext(name)
        if extension.lower() in GENERATED and not path.endswith("/"):
            yield from (os.path.join(folder, f"{stem}.{each}") for each in self._endings if f".{each}" != extension)
            if stem.lower() == "index":
                yield from self.pages(folder)
                yield from (f"{folder}.{each}" for each in self._endings if folder)
            else:
                yield from self.pages(os.path.join(folder, stem))
        elif name and (path.endswith("/") or not self._names_a_file(name, extension)):
            yield from (f"{bare}.{each}" for each in self._endings)
            yield from self.pages(bare)

    def _names_a_file(self, name: str, extension: str) -> bool:
        """`x.md` and `x.png` name a file; `v1.2` may be a page without its extension."""
        return extension.lstrip(".") in self._endings or guess_type(name)[0] is not None

    def pages(self, folder: str) -> Iterator[str]:
        """Yield the possible pages of a folder."""
        for index in self.indexes:
            if "." in index:
                yield os.path.join(folder, index)
            else:
                yield from (os.path.join(folder, f"{index}.{each}") for each in self._endings)

    @property
    def _endings(self) -> Iterator[str]:
        return (each.lstrip(".") for each in self.extensions)


OUTSIDE = LocalTarget(reason="outside the root folder, not checked; --root-dir chooses another root")


class Disk:
    """Looks up files and anchors inside a root folder. Each file is read once."""

    def __init__(self, root: str | None = None, *, largest: int = LARGEST, fallbacks: Fallbacks | None = None) -> None:
        """Links that start with a slash are relative to `root`, and files outside of it are not opened.

        The default root is the repository of each document, else the current folder.
        """
        self._root = os.path.realpath(root) if root else None
        self._largest, self.fallbacks = largest, fallbacks or Fallbacks()
        self._anchors: dict[str, frozenset[str] | None] = {}
        self._roots: dict[str, str] = {}
        self._names: dict[str, dict[str, str]] = {}  # of each folder: its file names by their lower case

    def target(self, mention: Mention) -> LocalTarget:
        written, _, fragment = mention.url.partition("#")
        name = unquote(written.partition("?")[0], errors="surrogateescape")
        if SCHEME.match(name):
            reason = "a file outside the root folder" if name.lower().startswith("file:") else "not a file"
            return LocalTarget(reason=reason)
        if "\0" in name or mention.place.file in ("-", ""):
            return LocalTarget(reason="its document is not in a folder")
        fragment = unquote(fragment.partition(TEXT_DIRECTIVE)[0])
        if not name:
            return LocalTarget(mention.place.file, fragment)
        if name.startswith("/"):
            if self._root is None:
                return LocalTarget(reason="relative to the root of a site; --root-dir says which folder that is")
            return LocalTarget(os.path.join(self._root, name.lstrip("/")), fragment)
        folder, base = os.path.dirname(mention.place.file), mention.base.rpartition("/")[0]
        path = os.path.normpath(os.path.join(folder, base, name)) + ("/" if name.endswith("/") else "")
        return LocalTarget(path, fragment)

    def root_of(self, file: str) -> str:
        """Return the root folder for the links of a document."""
        if self._root is not None:
            return self._root
        folder = os.path.realpath(os.path.dirname(file) or ".")
        if folder not in self._roots:
            here = os.path.realpath(".")
            self._roots[folder] = repository_root(folder) or (here if _is_inside(folder, here) else folder)
        return self._roots[folder]

    def find(self, path: str) -> str | None:
        """Return the file that a path names: itself, the page of a folder, or the source of a generated page."""
        kind = _file_type(path)
        if kind == "file" and not path.endswith("/"):
            return path
        if kind == "folder":
            return next((page for page in self.fallbacks.pages(path) if self._is_file(page)), path)
        return next((page for page in self.fallbacks.of(path) if self._is_file(page)), None)

    def _is_file(self, path: str) -> bool:
        """Most files that are tried do not exist, so a folder is listed once instead of one lookup per name."""
        folder, name = os.path.split(path)
        return name.lower() in self.names_in(folder) and _file_type(path) == "file"

    def names_in(self, folder: str) -> dict[str, str]:
        known = self._names.get(folder)
        if known is None:
            if len(self._names) >= MOST_FOLDERS:
                self._names.clear()
            try:
                known = {name.lower(): name for name in os.listdir(folder or ".")}
            except (OSError, ValueError):
                known = {}
            self._names[folder] = known
        return known

    def has_anchor(self, path: str, fragment: str) -> bool | None:
        """Whether a file has an anchor; None if unknown."""
        if path not in self._anchors:
            self._anchors[path] = self._read_anchors(path)
        known = self._anchors[path]
        if known is None:
            return None
        if fragment in known or f"user-content-{fragment}" in known:
            return True
        return kind_by_name(path) is not FileKind.HTML and fragment.lower() in known  # ids of HTML are case-sensitive

    def _read_anchors(self, path: str) -> frozenset[str] | None:
        try:
            text = read(path, self._largest).text
        except SpanielError:
            return None
        return kinds.anchors(text, kinds.kind_of(path, text))


def check_local(mentions: Iterable[Mention], disk: Disk) -> Iterator[Checked]:
    """Yield one result for each file and anchor, however often it is mentioned."""
    places: dict[tuple[str, LocalTarget], dict[Place, None]] = {}
    for mention in mentions:
        target = disk.target(mention)
        name = target.path or mention.url
        if target.path:
            target = target._replace(root=disk.root_of(mention.place.file))
            target = target if _is_inside(target.path, target.root) else OUTSIDE
        places.setdefault((name, target), {})[mention.place] = None
    for (name, target), found in places.items():
        link = Link(_short_path(name), (target.fragment,) if target.fragment else (), tuple(found))
        yield _check(link, target, disk)


def _check(link: Link, target: LocalTarget, disk: Disk) -> Checked:
    if target.reason:
        return Checked(link, Verdict.SKIPPED, target.reason)
    page = disk.find(target.path)
    if page is None:
        return Checked(link, Verdict.FAILING, _missing_reason(target.path, disk), evidence=ON_DISK)
    if not _is_inside(page, target.root):  # the page of a folder may be a symbolic link to the outside
        return Checked(link, Verdict.SKIPPED, OUTSIDE.reason)
    has_anchor = target.fragment.lower() in TOP or LINES.match(target.fragment)
    if has_anchor or disk.has_anchor(page, target.fragment) is not False:
        return Checked(link, Verdict.OK, evidence=ON_DISK)
    text = f"{_short_path(page)} has no anchor '#{target.fragment}'"
    if page != target.path and _file_type(target.path) != "folder":
        finding = LinkFinding(Remark.FRAGMENT_UNKNOWN, f"{text}; the generated page may", target.fragment)
        return Checked(link, Verdict.OK, evidence=ON_DISK, findings=(finding,))
    finding = LinkFinding(Remark.FRAGMENT_MISSING, text, target.fragment)
    link = link._replace(url=f"{link.url}#{target.fragment}")
    return Checked(link, Verdict.FAILING, text, evidence=ON_DISK, findings=(finding,))


def _is_inside(path: str, root: str) -> bool:
    """Whether a path is inside the root after resolving symbolic links."""
    real = os.path.realpath(path)
    return real == root or real.startswith(root.rstrip(os.sep) + os.sep)


def _missing_reason(path: str, disk: Disk) -> str:
    """Say what was tried, or that only the case differs: such a link works on some systems only."""
    folder, name = os.path.split(path.rstrip("/"))
    similar = disk.names_in(folder).get(name.lower(), name)
    if similar != name:
        return f"no such file; there is '{similar}'"
    tried = disk.fallbacks.of(os.path.join("", name) + ("/" if path.endswith("/") else ""))
    names = list(tried) if len(path) < LONGEST else []
    more = f" and {len(names) - MOST_TRIED} more" if len(names) > MOST_TRIED else ""
    return f"no such file; tried {', '.join((name, *names[:MOST_TRIED]))}{more}" if names else "no such file"


def _file_type(path: str) -> str:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return ""
    return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else ""


def _short_path(path: str) -> str:
    """Return the path relative to the current folder if it is inside."""
    relative = os.path.relpath(path) if os.path.isabs(path) else path
    return (path if relative.startswith("..") else relative).replace(os.sep, "/")
