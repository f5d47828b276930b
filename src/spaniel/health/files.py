"""Finds documents in files and folders, and reads their links."""

from __future__ import annotations

import codecs
import io
import os
import re
import stat
import sys
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError
from spaniel.health.documents import kinds
from spaniel.health.documents.data import is_commented_json
from spaniel.health.documents.mentions import Mention
from spaniel.health.links import Place
from spaniel.patterns import MAX_MEMORY, Allowance, glob_expression, matcher, weight
from spaniel.sources.kinds import (
    ALIASES,
    COMPRESSED,
    HEAD,
    FileKind,
    binary_kind,
    is_url_list,
    kind_by_content,
    kind_by_name,
    wide,
)
from spaniel.sources.rows import ChildSitemap, ListOptions, Problems, SourceRow
from spaniel.url.parsing import typed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

LARGEST = 100 << 20  # bytes of a document
XML_DOCUMENT = "xml"  # `--kind xml`: a sitemap or feed with all its links (alternates, images, enclosures)


class DocumentOptions(NamedTuple):
    """How documents are found and read."""

    kind: str = ""  # of all documents; "": recognized by name and content
    fields: tuple[str, ...] = ()  # of JSON, YAML and CSV; (): all values
    extensions: tuple[str, ...] = ()  # of files in folders; (): those of prose
    exclude_paths: tuple[str, ...] = ()  # expressions that match anywhere in a path
    use_gitignore: bool = True
    use_hidden: bool = False
    largest: int = LARGEST
    on_unread: Callable[[str, str], None] | None = None  # takes a file that is not read, and the reason
    on_unused_option: Callable[[str, str], None] | None = (
        None  # takes a file for which an option has no effect, and why
    )
    column: str | None = None  # of tables: its name or number
    read_sitemaps: Callable[[list[str]], Iterator[str]] | None = (
        None  # yields the pages of sitemaps; None: only their URLs
    )
    on_problems: Callable[[Problems], None] | None = None  # takes the problems of a list


DEFAULTS = DocumentOptions()


def gather(inputs: Sequence[str], options: DocumentOptions = DEFAULTS) -> Iterator[Mention]:
    """Yield the links of the inputs: files, folders, glob patterns, `-`, and URLs themselves."""
    for source in inputs:
        if _is_url(source):
            yield Mention(source, Place(""), 0, len(source), "argument")
        elif source == "-":
            yield from _links_of(_standard_input(options.largest), "-", options)
        else:
            for path in documents(source, options):
                try:
                    yield from _links_of(read_bytes(path, options.largest), path, options)
                except SpanielError as error:
                    if path == source:
                        raise
                    if options.on_unread:
                        options.on_unread(path, str(error.details["reason"]))


def _is_url(text: str) -> bool:
    return text[:8].lower().startswith(("http://", "https://"))


# -- LinkFinding documents

SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__"})  # besides hidden ones
LARGEST_IGNORE_FILE = 1 << 20  # bytes of a .gitignore
MOST_IGNORE_LINES = 10_000
WALK_MEMORY = 16 * MAX_MEMORY  # bytes for the patterns of all folders of a walk, one after the other


class IgnoreRule(NamedTuple):
    """One line of a `.gitignore`."""

    matches: Callable[[str], bool]  # takes a path relative to the folder of the file
    is_negated: bool
    is_for_folders: bool


class IgnoreRules(NamedTuple):
    """The rules that apply in a folder: its own and those of the folders above, outermost first."""

    levels: tuple[tuple[str, tuple[IgnoreRule, ...]], ...] = ()
    left: int = MAX_MEMORY  # bytes left for the files of subfolders
    walk: Allowance | None = None  # memory of all folders of the walk

    def within(self, folder: str) -> IgnoreRules:
        """Add the rules of this folder."""
        return self.with_file(folder, os.path.join(folder, ".gitignore"))

    def with_file(self, folder: str, path: str) -> IgnoreRules:
        """Add the rules of a file, which apply to a folder."""
        allowance = Allowance(self.left)
        rules = tuple(_read_rules(path, allowance))
        if self.walk is not None:
            self.walk.take(self.left - allowance.left, path)
        return IgnoreRules((*self.levels, (folder, rules)), allowance.left, self.walk) if rules else self

    def ignores(self, path: str, *, is_folder: bool) -> bool:
        """Whether the last rule that matches ignores the path."""
        for folder, rules in reversed(self.levels):
            relative = os.path.relpath(path, folder).replace(os.sep, "/")
            for rule in reversed(rules):
                if (is_folder or not rule.is_for_folders) and rule.matches(relative):
                    return not rule.is_negated
        return False


def repository_root(folder: str) -> str | None:
    """Return the folder above (or equal) that has a `.git`; None if there is none."""
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return folder


def _rules_above(folder: str) -> IgnoreRules:
    """Return the rules of the repository that contains a folder, without the folder's own."""
    folder = os.path.abspath(folder)
    rules, root = IgnoreRules(walk=Allowance(WALK_MEMORY)), repository_root(folder)
    if root is None:
        return rules
    rules = rules.with_file(root, os.path.join(root, ".git", "info", "exclude"))
    above: list[str] = []
    while folder != root:
        folder = os.path.dirname(folder)
        above.append(folder)
    for each in reversed(above):
        rules = rules.within(each)
    return rules


def _read_rules(path: str, allowance: Allowance) -> Iterable[IgnoreRule]:
    try:
        if not os.path.isfile(path):
            return
        with open(path, "rb") as file:
            lines = file.read(LARGEST_IGNORE_FILE).decode("utf-8-sig", "replace").splitlines()[:MOST_IGNORE_LINES]
    except OSError:
        return
    for line in lines:
        pattern = _without_trailing_blanks(line)
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
            yield IgnoreRule(matcher(expression, path), is_negated, pattern.endswith("/"))
        except SpanielError:
            continue  # an invalid pattern matches nothing, as in git


def _without_trailing_blanks(line: str) -> str:
    """Remove trailing blanks unless they are escaped."""
    bare = line.rstrip(" \t")
    slashes = len(bare) - len(bare.rstrip("\\"))
    return f"{bare} " if slashes % 2 and len(bare) < len(line) else bare


def _anchored(pattern: str) -> str:
    """A pattern with a slash applies to its own folder, one without also to every folder below."""
    if pattern.startswith("/"):
        return pattern[1:]
    return pattern if "/" in pattern else f"**/{pattern}"


def documents(source: str, options: DocumentOptions = DEFAULTS) -> Iterator[str]:
    """Yield the files that an argument names. A file that is named itself is read whatever its extension is."""
    allowance = Allowance()
    excluded = [matcher(each, "--exclude-path", allowance) for each in options.exclude_paths]
    for path in _expanded(source):
        is_folder, is_empty = os.path.isdir(path), True
        for file in _walk(path, options) if is_folder else iter((path,)):
            is_empty = False
            if not any(matches(file.replace(os.sep, "/")) for matches in excluded):
                yield file
        if is_folder and is_empty and path == source:
            reason = "holds no documents of a kind that is read in folders; --ext names other extensions"
            raise SpanielError(Code.BAD_ARGS, field=source, reason=reason)


def _expanded(source: str) -> Iterator[str]:
    if os.path.lexists(source):
        yield source
        return
    names: list[str] = []
    if set("*?[") & set(source):
        from glob import glob

        names = sorted(glob(source, recursive=True))
    if not names:
        raise SpanielError(Code.BAD_ARGS, field=source, reason="there is no such file or folder")
    folders = {name for name in names if os.path.isdir(name)}
    if "**" in source:  # already names the files in the folders
        names = [name for name in names if name not in folders]
    yield from names


def _walk(top: str, options: DocumentOptions) -> Iterator[str]:
    """Yield every document below a folder, in the order of the names.

    Symbolic links are not followed: their targets inside the folder are found by their own names, and those outside do
    not belong to it. So there are no loops either.
    """
    is_wanted = _name_filter(options)
    waiting = [(top, _rules_above(top) if options.use_gitignore else None)]
    while waiting:
        folder, rules = waiting.pop()
        rules = rules.within(os.path.abspath(folder)) if rules is not None else None
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if options.on_unread:
                options.on_unread(folder, f"cannot be read: {error.strerror}")
            continue
        folders = []
        for entry in found:
            if entry.name == ".git" or (not options.use_hidden and entry.name.startswith(".")):
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder and entry.name in SKIPPED_FOLDERS:
                continue
            if rules is not None and rules.ignores(os.path.abspath(entry.path), is_folder=is_folder):
                continue
            if is_folder:
                folders.append((entry.path, rules))
            elif entry.is_file(follow_symlinks=False) and is_wanted(entry.name):
                yield entry.path
        waiting += reversed(folders)


def _name_filter(options: DocumentOptions) -> Callable[[str], bool]:
    if options.extensions:
        endings = tuple(f".{each.lower().lstrip('.')}" for each in options.extensions)
        return lambda name: name.lower().endswith(endings)
    chosen = kinds.DATA if options.fields else kinds.PROSE
    return lambda name: kind_by_name(name) in chosen


# -- Reading the links of a document


def _links_of(raw: bytes, path: str, options: DocumentOptions) -> Iterator[Mention]:
    """Yield the links of a document, or the items of a list; the items are the same in every command."""
    what = "standard input" if path == "-" else path
    raw = _uncompressed(raw, what, options.largest)
    if raw.startswith(b"PAR1") and options.kind in ("", FileKind.PARQUET):
        yield from _items(raw, path, options, FileKind.PARQUET)
        return
    text = _decoded(raw, what, options.kind).text
    kind = ALIASES.get(options.kind) or options.kind or kinds.kind_of(path, text)
    if unused := _unused_option(options, kind):
        if options.on_unused_option:
            options.on_unused_option(path, f"is read as {kind}, {unused}")
        return
    found = kinds.mentions(text, path, kind, (options.column,) if options.column is not None else options.fields)
    if kind in kinds.DATA:
        yield from _data_links(found, _items(raw, path, options, kind), text, kind, is_chosen=_is_chosen(options))
    elif kind == FileKind.BOOKMARKS or (options.kind != XML_DOCUMENT and _is_xml_list(kind, text)):
        yield from _placed_items(found, _items(raw, path, options, kind))
    elif kind == FileKind.TEXT and is_url_list(text):
        yield from _line_items(found, _items(raw, path, options, kind))
    else:
        raw = b""  # frees the memory: for a document only its text is needed
        yield from found


def _unused_option(options: DocumentOptions, kind: str) -> str:
    if options.fields and kind not in kinds.DATA:
        return f"which has no fields: --field looks into {', '.join(sorted(kinds.DATA))}"
    if options.column is not None and kind not in (FileKind.CSV, FileKind.TSV):
        return "where --column means nothing"
    return ""


def _is_xml_list(kind: str, text: str) -> bool:
    """Whether it is a sitemap or a feed rather than another XML document."""
    lists = (FileKind.SITEMAP, FileKind.FEED)
    return kind in lists and kind_by_content(text[:HEAD].encode("utf-8", "replace")) in lists


def _items(raw: bytes, path: str, options: DocumentOptions, kind: str) -> Iterator[Mention]:
    """Yield the items of a list without their columns. Problems in the list are reported as in every command."""
    from spaniel.sources.files import StreamInfo, read_stream  # not needed for documents

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
                yield from _row_mentions(row, path)
    except SpanielError:
        if _is_chosen(options) or kind == FileKind.PARQUET:
            raise  # otherwise it is data, in which links are found anywhere
    for url in options.read_sitemaps(children) if options.read_sitemaps and children else children:
        yield Mention(url, Place(path), 0, 0, "item")
    if problems.lost and not count:
        where, _, reason = problems.first[0].partition(": ")
        where = where.removeprefix(path).lstrip(", ")
        raise SpanielError(Code.BAD_ARGS, field=path, reason=f"{where}: {reason}" if where else reason)
    if problems.lost and count and options.on_problems:
        options.on_problems(problems)


def _row_mentions(row: SourceRow, path: str) -> Iterator[Mention]:
    from spaniel.sources.json_values import urls_of

    line = row.place if isinstance(row.place, int) else 0
    try:
        urls = [row.url] if row.url else [url for url, _ in urls_of(row.record)]
    except ValueError:
        return  # data, in which links are found anywhere
    for url in urls:
        yield Mention(typed(url), Place(path, line), 0, 0, "item")


def _is_chosen(options: DocumentOptions) -> bool:
    return bool(options.fields) or options.column is not None


def _data_links(
    found: Iterator[Mention], items: Iterator[Mention], text: str, kind: str, *, is_chosen: bool
) -> Iterator[Mention]:
    """Yield every link of the data, and further items of the list, which may be written without a scheme.

    Malformed data is an error only if no link was found in it (LH-05). JSON with comments is not malformed.
    """
    known: set[str] = set()
    for mention in found:
        known.add(_without_scheme(mention.url))
        yield mention
    try:
        for item in items:
            # Unless a field or column was chosen, a string without a scheme is not a URL
            if (is_chosen or _is_url(item.url)) and _without_scheme(item.url) not in known:
                yield item
    except SpanielError:
        if kind not in (FileKind.JSON, FileKind.YAML) or not (
            known or (kind == FileKind.JSON and is_commented_json(text))
        ):
            raise


def _without_scheme(url: str) -> str:
    return url.partition("://")[2] or url


def _placed_items(found: Iterator[Mention], items: Iterator[Mention]) -> Iterator[Mention]:
    """Yield the items, each with the place where its URL is written."""
    places: dict[str, deque[Mention]] = {}
    for mention in found:
        places.setdefault(mention.url.strip(), deque()).append(mention)
    for item in items:
        known = places.get(item.url)
        yield (known.popleft() if len(known) > 1 else known[0]) if known else item


def _line_items(found: Iterator[Mention], items: Iterator[Mention]) -> Iterator[Mention]:
    """Yield the items of a list with one URL per line; URLs in comments are not items."""
    mention = next(found, None)
    for item in items:
        while mention is not None and mention.place.line < item.place.line:
            mention = next(found, None)
        is_same = mention is not None and mention.place.line == item.place.line and mention.url == item.url
        yield mention if is_same and mention is not None else item._replace(place=item.place._replace(column=1))


# -- Bytes and text

_READ = (  # opening a pipe without a writer must not block
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)
DECLARED_ENCODING = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?([A-Za-z][\w.:-]{0,39})")
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before the one of UTF-16, which is its prefix
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class DecodedText(NamedTuple):
    """A text and its encoding: `encoded(text)` returns the original bytes."""

    text: str
    encoding: str
    mark: bytes  # the byte order mark at the start

    def encoded(self, text: str) -> bytes:
        """Encode a text. Raises `UnicodeEncodeError` for characters that the encoding does not have."""
        return self.mark + text.encode(self.encoding, _error_handler(self.encoding))


def read(path: str, largest: int = LARGEST, kind: str = "") -> DecodedText:
    """Read a document as text. Raises `bad_args` with a reason; binary data is read only if its kind is given."""
    return _decoded(_uncompressed(read_bytes(path, largest), path, largest), path, kind)


def read_bytes(path: str, largest: int) -> bytes:
    """Read a regular file. Raises `bad_args` with a reason."""
    try:
        descriptor = os.open(path, _READ)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise SpanielError(Code.BAD_ARGS, field=path, reason="is not a regular file")
            raw = file.read(largest + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise SpanielError(Code.BAD_ARGS, field=path, reason=f"cannot be read: {reason}") from None
    return _within_limit(raw, path, largest)


def _standard_input(largest: int) -> bytes:
    if sys.stdin is None:  # closed by the parent process
        raise SpanielError(Code.BAD_ARGS, field="-", reason="standard input is closed")
    return _within_limit(sys.stdin.buffer.read(largest + 1), "standard input", largest)


def _within_limit(raw: bytes, what: str, largest: int) -> bytes:
    if len(raw) > largest:
        raise SpanielError(Code.BAD_ARGS, field=what, reason=f"has more than {largest:,} bytes, which are not read")
    return raw


def _uncompressed(raw: bytes, what: str, largest: int) -> bytes:
    if not raw.startswith(COMPRESSED):
        return raw
    from spaniel.sources.streams import BROKEN, uncompressed

    try:
        raw = uncompressed(io.BytesIO(raw)).read(largest + 1)
    except BROKEN as error:
        reason = f"cannot be read: its compression is broken: {error}"
        raise SpanielError(Code.BAD_ARGS, field=what, reason=reason) from None
    return _within_limit(raw, what, largest)


def _decoded(raw: bytes, what: str, kind: str) -> DecodedText:
    if (binary := binary_kind(raw)) and not kind:
        reason = f"is {binary}, in which links cannot be found; --kind reads it as text all the same"
        raise SpanielError(Code.BAD_ARGS, field=what, reason=reason)
    return decode(raw)


def decode(raw: bytes) -> DecodedText:
    """Decode by byte order mark, else as UTF-8, else as declared, else as Latin-1, which keeps every byte."""
    for mark, encoding in BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            try:
                return DecodedText(raw[len(mark) :].decode(encoding, _error_handler(encoding)), encoding, mark)
            except UnicodeDecodeError:
                break
    for encoding, errors in ((wide(raw[:HEAD]), "surrogatepass"), ("utf-8", "strict")):
        try:
            if encoding:
                return DecodedText(raw.decode(encoding, errors), encoding, b"")
        except UnicodeDecodeError:
            pass
    if declared := DECLARED_ENCODING.search(raw[:2048]):
        try:
            name = codecs.lookup(declared[1].decode("ascii")).name
            text = raw.decode(name)
            if name not in ("utf-7", "utf-8") and text.encode(name) == raw:
                return DecodedText(text, name, b"")
        except (LookupError, UnicodeError):
            pass
    return DecodedText(raw.decode("latin-1"), "latin-1", b"")


def _error_handler(encoding: str) -> str:
    return "surrogateescape" if encoding == "utf-8" else "surrogatepass" if encoding.startswith("utf-") else "strict"
