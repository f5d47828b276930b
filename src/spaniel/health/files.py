"""The documents that are looked at: files, folders with what git would ignore left out, patterns, standard input."""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError
from spaniel.health.documents import encoding, kinds
from spaniel.health.documents.mention import Mention
from spaniel.health.ignoring import above
from spaniel.health.verdict import Place
from spaniel.patterns import Allowance, matcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spaniel.health.documents.encoding import Decoded
    from spaniel.health.ignoring import Ignored

LARGEST = 100 << 20  # bytes of a document
LEFT_OUT = frozenset({"node_modules", "__pycache__"})  # hidden ones are too
GLOB = frozenset("*?[")
_READ = (
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)  # a pipe that nobody writes to must not hold us up


def _say_nothing(file: str, reason: str) -> None:
    """For whoever does not want to know."""


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


DEFAULTS = Options()


def gather(inputs: Sequence[str], options: Options = DEFAULTS) -> Iterator[Mention]:
    """The links of all that is named: files, folders, patterns, `-`, and addresses themselves."""
    for given in inputs:
        if _is_url(given):
            yield Mention(given, Place(""), 0, len(given), "argument")
        elif given == "-":
            yield from _mentions(_standard_input(options), "-", options)
        else:
            yield from _of_files(given, options)


def _standard_input(options: Options) -> str:
    largest = options.largest
    if sys.stdin is None:  # closed by whoever started us
        raise SpanielError(Code.BAD_ARGS, field="-", reason="there is no standard input to read")
    raw = sys.stdin.buffer.read(largest + 1)
    if len(raw) > largest:
        raise _too_large("standard input", largest)
    return _decoded(raw, "standard input", largest, options.kind).text


def _is_url(given: str) -> bool:
    return given[:8].lower().startswith(("http://", "https://"))


def _of_files(given: str, options: Options) -> Iterator[Mention]:
    for path in documents(given, options):
        try:
            decoded = read(path, options.largest, options.kind)
        except SpanielError as error:
            if path == given:
                raise
            options.tell(path, str(error.details["reason"]))
            continue
        yield from _mentions(decoded.text, path, options)


def _mentions(text: str, path: str, options: Options) -> Iterator[Mention]:
    kind = options.kind or kinds.kind_of(path, text)
    if options.fields and kind not in kinds.DATA:
        data = ", ".join(sorted(kinds.DATA))
        options.remark(path, f"is read as {kind}, which has no fields: --field looks into {data}")
    yield from kinds.mentions(text, path, kind, options.fields)


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
    return _decoded(read_bytes(path, largest), path, largest, kind)


def _decoded(raw: bytes, what: str, largest: int, kind: str) -> Decoded:
    if encoding.is_compressed(raw):
        try:
            raw = encoding.uncompressed(raw, largest)
        except ValueError as error:
            raise SpanielError(Code.BAD_ARGS, field=what, reason=f"cannot be read: {error}") from None
        if len(raw) > largest:
            raise _too_large(what, largest)
    if (binary := encoding.binary_kind(raw)) and not kind:
        reason = f"is {binary}, in which links cannot be found; --kind reads it as text all the same"
        raise SpanielError(Code.BAD_ARGS, field=what, reason=reason)
    return encoding.decode(raw)


def read_bytes(path: str, largest: int) -> bytes:
    try:
        descriptor = os.open(path, _READ)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise SpanielError(Code.BAD_ARGS, field=path, reason="is no ordinary file")
            raw = file.read(largest + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise SpanielError(Code.BAD_ARGS, field=path, reason=f"cannot be read: {reason}") from None
    if len(raw) > largest:
        raise _too_large(path, largest)
    return raw


def _too_large(what: str, largest: int) -> SpanielError:
    return SpanielError(Code.BAD_ARGS, field=what, reason=f"has more than {largest:,} bytes, which are not read")
