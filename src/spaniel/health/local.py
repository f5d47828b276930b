"""Links to local files and to their anchors."""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from itertools import pairwise
from mimetypes import guess_type
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from spaniel.errors import SpanielError
from spaniel.health.documents import html, kinds, markdown, rst
from spaniel.health.documents.quoting import from_markdown
from spaniel.health.files import LARGEST, read
from spaniel.health.filters import SCHEME, TEXT_DIRECTIVE
from spaniel.health.links import Checked, Link, LinkFinding, Remark
from spaniel.verdicts import Evidence, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spaniel.health.documents.mentions import Mention
    from spaniel.health.links import Place

ATTRIBUTES = re.compile(r"[ \t]*\{:?[ \t]*(?:[^{}]*[ \t])?#(?P<id>[\w:.-]+)[^{}]*\}[ \t]*\Z")
LINK = re.compile(
    r"!?\[(?P<text>(?:[^\[\]\\]|\\.){0,999}+)\](?:\((?:[^()\\]|\\.|\([^()]{0,999}+\)){0,4999}+\)|\[[^\]]{0,999}+\])"
)
TAG = re.compile(r"<[A-Za-z/!][^<>]{0,999}+>")
STAYS = frozenset({"L", "M", "Nd", "Pc"})  # categories of letters, marks and digits; not those of "①" and "½"
EMOJI_STYLE = "\ufe0f"  # behind a sign that is to be shown as an emoji: a mark, so that GitHub keeps it alone
EMPHASIS = re.compile(r"(?<!\w)(_{1,3})(?=\S)([^_]{1,999}?)(?<=\S)\1(?!\w)")
UNDERLINES = re.compile(r"([=\-`:'\"~^_*+#<>!$%&(),./;?@\[\\\]{|}])\1*[ \t]*\Z")


def anchors(text: str, kind: str) -> frozenset[str]:
    """Every fragment that leads somewhere in a document."""
    if kind in ("markdown", "mdx"):
        return frozenset(_of_markdown(text, mdx=kind == "mdx"))
    if kind == "html":
        return frozenset(html.ids(text))
    if kind == "rst":
        return frozenset(_of_rst(text))
    return frozenset()


def _of_markdown(text: str, *, mdx: bool) -> Iterator[str]:
    headings: list[str] = []
    for part in markdown.parts(text, mdx=mdx):
        if "<" in part.text:
            yield from html.ids(part.text)
        if isinstance(part, markdown.Heading):
            if named := ATTRIBUTES.search(part.text[-1000:]):
                yield named["id"]
            headings.append(part.text)  # of which GitHub, that has no such ids, takes all
    for name in numbered(slug(heading) for heading in headings):
        yield name
        if EMOJI_STYLE in name:
            yield name.replace(EMOJI_STYLE, "")  # as others have it


def slug(heading: str) -> str:
    """What GitHub makes of a heading: its text in lower case, blanks as hyphens, signs left out."""
    shown = TAG.sub("", LINK.sub(lambda found: found["text"], LINK.sub(lambda found: found["text"], heading)))
    plain = from_markdown(EMPHASIS.sub(r"\2", shown)).strip().lower()
    return "".join(char for char in plain if _stays(char)).replace(" ", "-")


def _stays(char: str) -> bool:
    category = unicodedata.category(char)
    return char in "- " or category in STAYS or category[0] in STAYS


def numbered(slugs: Iterable[str]) -> Iterator[str]:
    """The second of a name gets `-1`, the third `-2`; a number that is taken is left out."""
    taken: dict[str, int] = {}
    for one in slugs:
        name, count = one, taken.get(one, 0)
        while name in taken:
            count += 1
            name = f"{one}-{count}"
        taken[one] = count
        taken.setdefault(name, 0)
        yield name


def _of_rst(text: str) -> Iterator[str]:
    """Titles and targets, as docutils names them."""
    rows = rst.Rows(text)
    for title, line in pairwise(rows):
        shown, under = text[title.start : title.end].strip(), text[line.start : line.end].rstrip()
        if shown and UNDERLINES.fullmatch(under) and len(under) >= len(shown):
            yield _docutils(shown)
    for found in re.finditer(r"^[ \t]*\.\.[ \t]+_`?([^:`\r\n]+)`?:", text, re.MULTILINE):
        yield _docutils(found[1])


def _docutils(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


HAVE_ANCHORS = frozenset({"markdown", "mdx", "html", "rst"})
LINES = re.compile(r"L\d+(?:C\d+)?(?:-L?\d+(?:C\d+)?)?\Z")  # of a file as GitHub shows it
TOP = frozenset({"", "top"})  # the beginning of every page
GENERATED = (".html", ".htm")  # what a documentation generator makes of another file
LONGEST = 1000  # characters of a path, of which a report lists what was tried
MOST_FOLDERS = 1000  # whose names are remembered
MOST_TRIED = 12  # names that a report lists
ON_DISK = Evidence("disk")


class Target(NamedTuple):
    """Where a link leads on the disk, or why nobody looks there."""

    path: str = ""
    fragment: str = ""
    reason: str = ""
    root: str = ""  # outside of which nobody looks


class Fallbacks(NamedTuple):
    """What is tried for a link to a file that is missing. Generators write `x.html` or `x/index.html` for `x.rst`."""

    extensions: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()  # a folder's page, with or without an extension

    def of(self, path: str) -> Iterator[str]:
        """The files that a path may mean, beside itself, in the order in which they are tried."""
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
        """`x.md` and `x.png` mean that very file; `v1.2` may be a page without its extension."""
        return extension.lstrip(".") in self._endings or guess_type(name)[0] is not None

    def pages(self, folder: str) -> Iterator[str]:
        """The files that are a folder's page."""
        for index in self.indexes:
            if "." in index:
                yield os.path.join(folder, index)
            else:
                yield from (os.path.join(folder, f"{index}.{each}") for each in self._endings)

    @property
    def _endings(self) -> Iterator[str]:
        return (each.lstrip(".") for each in self.extensions)


OUTSIDE = Target(reason="outside the root, where nobody looks; --root-dir names another root")


class Disk:
    """Looks at files inside a root, each once."""

    def __init__(self, root: str | None = None, *, largest: int = LARGEST, fallbacks: Fallbacks | None = None) -> None:
        """`root` is what links that begin with a slash are relative to, and what nobody looks outside of. Without
        one it is the repository that a document is in, or the folder one is in."""
        self._root = os.path.realpath(root) if root else None
        self._largest, self.fallbacks = largest, fallbacks or Fallbacks()
        self._anchors: dict[str, frozenset[str] | None] = {}
        self._roots: dict[str, str] = {}
        self._names: dict[str, dict[str, str]] = {}  # of folders: the names in them, by their lower case

    def target(self, mention: Mention) -> Target:
        written, _, fragment = mention.url.partition("#")
        address, _, _ = written.partition("?")
        name = unquote(address, errors="surrogateescape")
        folder = os.path.dirname(mention.place.file)
        if SCHEME.match(name):
            return Target(reason="a file outside the root" if name.lower().startswith("file:") else "not a file")
        if "\0" in name or mention.place.file in ("-", ""):
            return Target(reason="its document has no folder")
        fragment = unquote(fragment.partition(TEXT_DIRECTIVE)[0])
        if not name:
            return Target(mention.place.file, fragment)
        base = mention.base.rpartition("/")[0]
        if name.startswith("/"):
            if self._root is None:
                return Target(reason="relative to the root of a site; say which folder that is: --root-dir")
            return Target(os.path.join(self._root, name.lstrip("/")), fragment)
        return Target(
            os.path.normpath(os.path.join(folder, base, name)) + ("/" if name.endswith("/") else ""), fragment
        )

    def root_of(self, file: str) -> str:
        """The root that holds for the links of a document."""
        if self._root is not None:
            return self._root
        folder = os.path.realpath(os.path.dirname(file) or ".")
        if folder not in self._roots:
            self._roots[folder] = _repository(folder) or _here(folder)
        return self._roots[folder]

    def find(self, path: str) -> str | None:
        """The file that a path means: itself, the page of a folder, or the source that a page is made from."""
        kind = _kind(path)
        if kind == "file" and not path.endswith("/"):
            return path
        if kind == "folder":
            return next((page for page in self.fallbacks.pages(path) if self._is_file(page)), path)
        return next((page for page in self.fallbacks.of(path) if self._is_file(page)), None)

    def _is_file(self, path: str) -> bool:
        """Most of what is tried is not there: a folder is listed once, and not asked for each name."""
        folder, name = os.path.split(path)
        return name.lower() in self.names_in(folder) and _kind(path) == "file"

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
        """Whether a file has an anchor; None where nobody can say."""
        if path not in self._anchors:
            self._anchors[path] = self._read(path)
        known = self._anchors[path]
        if known is None:
            return None
        if fragment in known or f"user-content-{fragment}" in known:
            return True
        return kinds.by_name(path) != "html" and fragment.lower() in known  # ids that are written are case-sensitive

    def _read(self, path: str) -> frozenset[str] | None:
        try:
            text = read(path, self._largest).text
        except SpanielError:
            return None
        kind = kinds.kind_of(path, text)
        return anchors(text, kind) if kind in HAVE_ANCHORS else None


def check_local(mentions: Iterable[Mention], disk: Disk) -> Iterator[Checked]:
    """What is to be said of links to files: one verdict for each file and anchor, whatever number of places."""
    places: dict[tuple[str, Target], dict[Place, None]] = {}
    for mention in mentions:
        target = disk.target(mention)
        name = target.path or mention.url
        if target.path:
            target = target._replace(root=disk.root_of(mention.place.file))
            target = target if _is_inside(target.path, target.root) else OUTSIDE
        places.setdefault((name, target), {})[mention.place] = None
    for (name, target), found in places.items():
        yield _judge(Link(_shown(name), (target.fragment,) if target.fragment else (), tuple(found)), target, disk)


def _judge(link: Link, target: Target, disk: Disk) -> Checked:
    if target.reason:
        return Checked(link, Verdict.SKIPPED, target.reason)
    page = disk.find(target.path)
    if page is not None and not _is_inside(page, target.root):  # a folder's page may be a link that leads out
        return Checked(link, Verdict.SKIPPED, OUTSIDE.reason)
    if page is None:
        reason = _missing(target.path, disk)
        return Checked(link, Verdict.FAILING, reason, evidence=ON_DISK)
    if target.fragment.lower() in TOP or LINES.match(target.fragment):
        return Checked(link, Verdict.OK, evidence=ON_DISK)
    if disk.has_anchor(page, target.fragment) is False:
        if page != target.path and _kind(target.path) != "folder":
            told = LinkFinding(
                Remark.FRAGMENT_UNKNOWN,
                f"{_shown(page)} has no anchor '#{target.fragment}'; the generated page may",
                target.fragment,
            )
            return Checked(link, Verdict.OK, evidence=ON_DISK, findings=(told,))
        told = LinkFinding(
            Remark.FRAGMENT_MISSING, f"{_shown(page)} has no anchor '#{target.fragment}'", target.fragment
        )
        link = link._replace(url=f"{link.url}#{target.fragment}")
        return Checked(link, Verdict.FAILING, told.text, evidence=ON_DISK, findings=(told,))
    return Checked(link, Verdict.OK, evidence=ON_DISK)


def _is_inside(path: str, root: str) -> bool:
    """Whether a path lies in the root, symbolic links resolved."""
    real = os.path.realpath(path)
    return real == root or real.startswith(root.rstrip(os.sep) + os.sep)


def _missing(path: str, disk: Disk) -> str:
    """What was tried. Where only the case differs, that is said: it works on one system and on another it does not."""
    folder, name = os.path.split(path.rstrip("/"))
    alike = disk.names_in(folder).get(name.lower(), name)
    if alike != name:
        return f"no such file; there is '{alike}'"
    tried = disk.fallbacks.of(os.path.join("", name) + ("/" if path.endswith("/") else ""))
    names = list(tried) if len(path) < LONGEST else []
    more = f" and {len(names) - MOST_TRIED} more" if len(names) > MOST_TRIED else ""
    return f"no such file; tried {', '.join((name, *names[:MOST_TRIED]))}{more}" if names else "no such file"


def _kind(path: str) -> str:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return ""
    return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else ""


def _shown(path: str) -> str:
    """As short as it can be told from here."""
    relative = os.path.relpath(path) if os.path.isabs(path) else path
    return (path if relative.startswith("..") else relative).replace(os.sep, "/")


def _repository(folder: str) -> str:
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return ""
        folder = parent
    return folder


def _here(folder: str) -> str:
    here = os.path.realpath(".")
    return here if folder == here or folder.startswith(here.rstrip(os.sep) + os.sep) else folder
