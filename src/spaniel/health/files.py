"""Documents in files and folders, and the links that they mention."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError
from spaniel.health.documents import encoding, kinds
from spaniel.health.documents.data import is_commented_json
from spaniel.health.documents.mentions import Mention
from spaniel.health.links import Place
from spaniel.patterns import MAX_MEMORY, Allowance, glob_expression, matcher, weight
from spaniel.sources.kinds import ALIASES, HEAD, FileKind, binary_kind, is_url_list, kind_by_content
from spaniel.sources.rows import ChildSitemap, ListOptions, Problems, SourceRow
from spaniel.url.parsing import typed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from spaniel.health.documents.encoding import Decoded

LARGEST_IGNORE_FILE = 1 << 20  # bytes of a .gitignore
MOST = 10_000  # lines
WALK_BYTES = 16 * MAX_MEMORY  # of all folders one after the other


class Rule(NamedTuple):
    """One line of a `.gitignore`."""

    matches: Callable[[str], bool]  # a path that is relative to the file's folder
    is_negated: bool
    is_for_folders: bool


class Ignored(NamedTuple):
    """The rules that hold in a folder: its own, and those of the folders above, the outermost first."""

    levels: tuple[tuple[str, tuple[Rule, ...]], ...] = ()
    left: int = MAX_MEMORY  # that the files of further folders may take
    walk: Allowance | None = None  # what all folders together may take, one after the other

    def within(self, folder: str) -> Ignored:
        """With those of this folder."""
        return self.with_file(folder, os.path.join(folder, ".gitignore"))

    def with_file(self, folder: str, path: str) -> Ignored:
        """With the lines of a file, which hold for a folder."""
        allowance = Allowance(self.left)
        rules = tuple(_rules(path, allowance))
        if self.walk is not None:
            self.walk.take(self.left - allowance.left, path)
        return Ignored((*self.levels, (folder, rules)), allowance.left, self.walk) if rules else self

    def covers(self, path: str, *, is_folder: bool) -> bool:
        """The last line that matches decides."""
        for folder, rules in reversed(self.levels):
            relative = os.path.relpath(path, folder).replace(os.sep, "/")
            for rule in reversed(rules):
                if (is_folder or not rule.is_for_folders) and rule.matches(relative):
                    return not rule.is_negated
        return False


def above(folder: str) -> Ignored:
    """The rules of the repository that a folder is in, but for its own."""
    folder = os.path.abspath(folder)
    way = [folder]
    while not os.path.exists(os.path.join(way[-1], ".git")):
        parent = os.path.dirname(way[-1])
        if parent == way[-1]:
            return Ignored(walk=Allowance(WALK_BYTES))
        way.append(parent)
    ignored = Ignored(walk=Allowance(WALK_BYTES)).with_file(way[-1], os.path.join(way[-1], ".git", "info", "exclude"))
    for one in reversed(way[1:]):
        ignored = ignored.within(one)
    return ignored


def _ignore_lines(path: str) -> Iterable[str]:
    try:
        if not os.path.isfile(path):
            return ()
        with open(path, "rb") as file:
            return file.read(LARGEST_IGNORE_FILE).decode("utf-8-sig", "replace").splitlines()[:MOST]
    except OSError:
        return ()


def _rules(path: str, allowance: Allowance) -> Iterable[Rule]:
    for line in _ignore_lines(path):
        pattern = _without_blanks(line)
        if not pattern or pattern.startswith("#"):
            continue
        is_negated = pattern.startswith("!")
        pattern = pattern[1:] if is_negated else pattern
        bare = pattern.rstrip("/")
        expression = glob_expression(_anchored(bare)) if bare else None
        if expression is None:
            continue
        allowance.take(weight(expression), f"{path} (--no-gitignore leaves it out)")
        try:
            yield Rule(matcher(expression, path), is_negated, pattern.endswith("/"))
        except SpanielError:
            continue  # a pattern that is none matches nothing, as in git


def _without_blanks(line: str) -> str:
    """Blanks at the end do not count, unless escaped."""
    bare = line.rstrip(" \t")
    slashes = len(bare) - len(bare.rstrip("\\"))
    return f"{bare} " if slashes % 2 and len(bare) < len(line) else bare


def _anchored(pattern: str) -> str:
    """A pattern with a slash is for its own folder; one without is for every folder below too."""
    if pattern.startswith("/"):
        return pattern[1:]
    return pattern if "/" in pattern else f"**/{pattern}"


LARGEST = 100 << 20  # bytes of a document
LEFT_OUT = frozenset({"node_modules", "__pycache__"})  # hidden ones are too
GLOB = frozenset("*?[")
XML_DOCUMENT = "xml"  # a sitemap or feed with all its links: alternates, images, enclosures
_READ = (
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)  # a pipe that nobody writes to must not hold us up


def _say_nothing(file: str, reason: str) -> None:
    """For callers without a use for it."""


def _ignore(problems: Problems) -> None:
    """For callers without a use for it."""


class Options(NamedTuple):
    """How documents are found and read."""

    kind: str = ""  # that all are read as; "" by their names
    fields: tuple[str, ...] = ()  # of JSON, YAML and CSV; "" all values
    extensions: tuple[str, ...] = ()  # of files in folders; () those of prose
    exclude_paths: tuple[str, ...] = ()  # expressions, found anywhere in a path
    use_gitignore: bool = True
    use_hidden: bool = False
    largest: int = LARGEST
    tell: Callable[[str, str], None] = _say_nothing  # of a file that is not read: which, and why
    remark: Callable[[str, str], None] = _say_nothing  # of a file with which an option has nothing to do
    column: str | None = None  # of tables: its name or number
    follow: Callable[[list[str]], Iterator[str]] | None = None  # the pages of these sitemaps; None: only name them
    report: Callable[[Problems], None] = _ignore  # what is wrong in a list


DEFAULTS = Options()


def gather(inputs: Sequence[str], options: Options = DEFAULTS) -> Iterator[Mention]:
    """The links of all that is named: files, folders, patterns, `-`, and addresses themselves."""
    for given in inputs:
        if _is_url(given):
            yield Mention(given, Place(""), 0, len(given), "argument")
        elif given == "-":
            yield from _links_of(_standard_input(options.largest), "-", options)
        else:
            yield from _of_files(given, options)


def _standard_input(largest: int) -> bytes:
    if sys.stdin is None:  # closed by the parent process
        raise SpanielError(Code.BAD_ARGS, field="-", reason="standard input is closed")
    raw = sys.stdin.buffer.read(largest + 1)
    if len(raw) > largest:
        raise _too_large("standard input", largest)
    return raw


def _is_url(given: str) -> bool:
    return given[:8].lower().startswith(("http://", "https://"))


def _of_files(given: str, options: Options) -> Iterator[Mention]:
    for path in documents(given, options):
        try:
            yield from _links_of(read_bytes(path, options.largest), path, options)
        except SpanielError as error:
            if path == given:
                raise
            options.tell(path, str(error.details["reason"]))


def _links_of(raw: bytes, path: str, options: Options) -> Iterator[Mention]:
    """The links of a document, or the items of a list, which are the same that every command reads of it."""
    what = "standard input" if path == "-" else path
    raw = _uncompressed(raw, what, options.largest)
    if raw.startswith(b"PAR1") and options.kind in ("", FileKind.PARQUET):
        yield from _items(raw, path, options, FileKind.PARQUET)
        return
    text = _decoded(raw, what, options.kind).text
    kind = ALIASES.get(options.kind) or options.kind or kinds.kind_of(path, text)
    if options.fields and kind not in kinds.DATA:
        data = ", ".join(sorted(kinds.DATA))
        options.remark(path, f"is read as {kind}, which has no fields: --field looks into {data}")
        return
    if options.column is not None and kind not in (FileKind.CSV, FileKind.TSV):
        options.remark(path, f"is read as {kind}, where --column means nothing")
    found = kinds.mentions(text, path, kind, (options.column,) if options.column is not None else options.fields)
    if kind in kinds.DATA:
        yield from _data(found, _items(raw, path, options, kind), text, kind, is_chosen=_is_chosen(options))
    elif kind == FileKind.BOOKMARKS or (options.kind != XML_DOCUMENT and _is_xml_list(kind, text)):
        yield from _placed(found, _items(raw, path, options, kind))
    elif kind == FileKind.TEXT and is_url_list(text):
        yield from _lines(found, _items(raw, path, options, kind))
    else:
        raw = b""  # a document takes the memory of its text, and no more
        yield from found


def _is_xml_list(kind: str, text: str) -> bool:
    """Whether it is a sitemap or a feed, and not another XML document."""
    return kind in (FileKind.SITEMAP, FileKind.FEED) and kind_by_content(text[:HEAD].encode("utf-8", "replace")) in (
        FileKind.SITEMAP,
        FileKind.FEED,
    )


def _items(raw: bytes, path: str, options: Options, kind: str) -> Iterator[Mention]:
    """The items of a list, without columns. What is wrong in it is reported as every command reports it."""
    from spaniel.sources.files import StreamInfo, read_stream  # which a run over documents has no use for

    problems, children = Problems(), []
    records = kind in (FileKind.JSON, FileKind.JSONL, FileKind.YAML) and not options.fields
    wanted = ListOptions(options.kind or None, options.column, options.fields, records)
    count = 0
    try:
        for row in read_stream(io.BytesIO(raw), StreamInfo(path, path), wanted, problems):
            count += 1
            if isinstance(row, ChildSitemap):
                children.append(row.url)
            else:
                yield from _mentions(row, path)
    except SpanielError:
        if _is_chosen(options) or kind == FileKind.PARQUET:
            raise  # else it is data in which links are found wherever they are
    for url in options.follow(children) if options.follow and children else children:
        yield Mention(url, Place(path), 0, 0, "item")
    if problems.lost and not count:
        where, _, reason = problems.first[0].partition(": ")
        where = where.removeprefix(path).lstrip(", ")
        raise SpanielError(Code.BAD_ARGS, field=path, reason=f"{where}: {reason}" if where else reason)
    if problems.lost and count:
        options.report(problems)


def _mentions(row: SourceRow, path: str) -> Iterator[Mention]:
    line = row.place if isinstance(row.place, int) else 0
    for url in [row.url] if row.url else _urls_of(row.record):
        yield Mention(typed(url), Place(path, line), 0, 0, "item")


def _urls_of(record: object) -> list[str]:
    from spaniel.sources.json_values import urls_of

    try:
        return [url for url, _ in urls_of(record)]
    except ValueError:
        return []  # data whose links are found wherever they are


def _is_chosen(options: Options) -> bool:
    return bool(options.fields) or options.column is not None


def _data(
    found: Iterator[Mention], items: Iterator[Mention], text: str, kind: str, *, is_chosen: bool
) -> Iterator[Mention]:
    """Every link of the data, and the items of the list among which some are written without a scheme.

    Data that is not well-formed is an error only where no link was found in it (LH-05), and not for its comments.
    """
    known: set[str] = set()
    for mention in found:
        known.add(_without_scheme(mention.url))
        yield mention
    try:
        for item in items:
            # Without a field or column that says so, a string that does not look like an address is not one
            if (is_chosen or _is_url(item.url)) and _without_scheme(item.url) not in known:
                yield item
    except SpanielError:
        if kind not in (FileKind.JSON, FileKind.YAML) or not (
            known or (kind == FileKind.JSON and is_commented_json(text))
        ):
            raise


def _without_scheme(url: str) -> str:
    return url.partition("://")[2] or url


def _placed(found: Iterator[Mention], items: Iterator[Mention]) -> Iterator[Mention]:
    """The items, each at the place where its URL is written."""
    places: dict[str, deque[Mention]] = {}
    for mention in found:
        places.setdefault(mention.url.strip(), deque()).append(mention)
    for item in items:
        known = places.get(item.url)
        yield (known.popleft() if len(known) > 1 else known[0]) if known else item


def _lines(found: Iterator[Mention], items: Iterator[Mention]) -> Iterator[Mention]:
    """The items of a list with one on each line; a comment is not one."""
    mention = next(found, None)
    for item in items:
        while mention is not None and mention.place.line < item.place.line:
            mention = next(found, None)
        is_same = mention is not None and mention.place.line == item.place.line and mention.url == item.url
        yield mention if is_same and mention is not None else item._replace(place=item.place._replace(column=1))


def documents(given: str, options: Options = DEFAULTS) -> Iterator[str]:
    """The files that an argument stands for. What is named itself is read whatever its name is."""
    allowance = Allowance()
    excluded = [matcher(one, "--exclude-path", allowance) for one in options.exclude_paths]
    for path in _named(given):
        is_folder, is_empty = os.path.isdir(path), True
        for one in _walk(path, options) if is_folder else iter((path,)):
            is_empty = False
            if not any(matches(one.replace(os.sep, "/")) for matches in excluded):
                yield one
        if is_folder and is_empty and path == given:
            reason = "holds no documents of a kind that is read in folders; --ext names other extensions"
            raise SpanielError(Code.BAD_ARGS, field=given, reason=reason)


def _named(given: str) -> Iterator[str]:
    if os.path.lexists(given):
        yield given
        return
    names: list[str] = []
    if GLOB & set(given):
        from glob import glob

        names = sorted(glob(given, recursive=True))
    if not names:
        raise SpanielError(Code.BAD_ARGS, field=given, reason="there is no such file or folder")
    folders = {name for name in names if os.path.isdir(name)}
    if "**" in given:  # which has named what is in the folders already
        names = [name for name in names if name not in folders]
    yield from names


def _walk(top: str, options: Options) -> Iterator[str]:
    """Every document below a folder, in the order of their names. Symbolic links are not followed: what they lead to
    inside the folder is met by its own name, and what is outside is none of ours; so there are no loops either."""
    wanted = _wanted(options)
    waiting = [(top, above(top) if options.use_gitignore else None)]
    while waiting:
        folder, ignored = waiting.pop()
        ignored = ignored.within(os.path.abspath(folder)) if ignored is not None else None
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            options.tell(folder, f"cannot be read: {error.strerror}")
            continue
        folders = []
        for entry in found:
            if not options.use_hidden and entry.name.startswith("."):
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if (is_folder and entry.name in LEFT_OUT) or entry.name == ".git" or _is_ignored(ignored, entry, is_folder):
                continue
            if is_folder:
                folders.append((entry.path, ignored))
            elif entry.is_file(follow_symlinks=False) and wanted(entry.name):
                yield entry.path
        waiting += reversed(folders)


def _is_ignored(ignored: Ignored | None, entry: os.DirEntry[str], is_folder: bool) -> bool:
    return ignored is not None and ignored.covers(os.path.abspath(entry.path), is_folder=is_folder)


def _wanted(options: Options) -> Callable[[str], bool]:
    if options.extensions:
        endings = tuple(f".{one.lower().lstrip('.')}" for one in options.extensions)
        return lambda name: name.lower().endswith(endings)
    chosen = kinds.DATA if options.fields else kinds.PROSE
    return lambda name: kinds.by_name(name) in chosen


def read(path: str, largest: int = LARGEST, kind: str = "") -> Decoded:
    """A document as text. Raises `bad_args`, with the reason; what is no text is read where its kind is given."""
    return _decoded(_uncompressed(read_bytes(path, largest), path, largest), path, kind)


def _uncompressed(raw: bytes, what: str, largest: int) -> bytes:
    if not encoding.is_compressed(raw):
        return raw
    try:
        raw = encoding.uncompressed(raw, largest)
    except ValueError as error:
        raise SpanielError(Code.BAD_ARGS, field=what, reason=f"cannot be read: {error}") from None
    if len(raw) > largest:
        raise _too_large(what, largest)
    return raw


def _decoded(raw: bytes, what: str, kind: str) -> Decoded:
    if (binary := binary_kind(raw)) and not kind:
        reason = f"is {binary}, in which links cannot be found; --kind reads it as text all the same"
        raise SpanielError(Code.BAD_ARGS, field=what, reason=reason)
    return encoding.decode(raw)


def read_bytes(path: str, largest: int) -> bytes:
    try:
        descriptor = os.open(path, _READ)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise SpanielError(Code.BAD_ARGS, field=path, reason="is not a regular file")
            raw = file.read(largest + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise SpanielError(Code.BAD_ARGS, field=path, reason=f"cannot be read: {reason}") from None
    if len(raw) > largest:
        raise _too_large(path, largest)
    return raw


def _too_large(what: str, largest: int) -> SpanielError:
    return SpanielError(Code.BAD_ARGS, field=what, reason=f"has more than {largest:,} bytes, which are not read")
