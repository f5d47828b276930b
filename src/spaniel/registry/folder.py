"""The folder of a database: which files are read, and how they are read and replaced.

Nothing here follows a link or waits on a pipe; everything uses the descriptor of the open folder.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import SpanielError
from spaniel.files import TEMPORARY_NAME, locked, write_atomically
from spaniel.private_folder import open_shared_folder
from spaniel.registry.yaml_text import LARGEST_FILE, TOO_LARGE, decode
from spaniel.tables import complaint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.private_folder import OpenFolder


SUFFIX = ".yaml"
LONGEST_NAME = 255  # characters, on every file system in use
LOCK = ".spaniel.lock"
RULES = "registry.toml"
LEARNT = "learnt.toml"  # facts about hosts that were learnt online

_ESCAPES = {":": "%3A", "[": "%5B", "]": "%5D"}
_ESCAPE = re.compile("%3A|%5B|%5D|^%[67][0-9A-F]")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9]|lpt[0-9])(?=\.|\Z)", re.IGNORECASE)
_PLAIN_HOST = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)+[a-z]{2,}")
_PUNYCODE = re.compile(r"(?:.*\.)?xn--")
_LEFTOVER = re.compile(
    r".*~|#.*#|\.~.*|\..*\.sw[a-p]|\.#.*|.*\.(?:bak|orig|rej|tmp|swp|old|save)", re.DOTALL | re.IGNORECASE
)
_NEARLY = re.compile(r"(.+)\.ya?ml(?:\.txt)?", re.DOTALL | re.IGNORECASE)  # Windows may hide an ending, and add another


class UnknownFile(NamedTuple):
    """A file in the folder that is not read, and why."""

    name: str
    why: str


def file_name(host: str) -> str:
    """The name of a host's file."""
    name = _plain_name(host)
    if _DEVICE.match(name.removesuffix(SUFFIX)):
        name = f"%{ord(name[0]):02X}{name[1:]}"
    if len(name) > LONGEST_NAME:
        raise complaint("host", f"its {len(host)} characters are too many for the name of a file")
    return name


def file_names(host: str) -> tuple[str, ...]:
    """The names that a host's file may have, the current one first."""
    return tuple(dict.fromkeys((file_name(host), _plain_name(host))))


def _plain_name(host: str) -> str:
    return "".join(_ESCAPES.get(sign, sign) for sign in host) + SUFFIX


def host_of(name: str) -> str | None:
    """The host that a file is about; None where its name is not one of `file_names`."""
    stem = name.removesuffix(SUFFIX)
    if stem == name:
        return None
    if _PLAIN_HOST.fullmatch(stem) and not _PUNYCODE.match(stem):
        return stem
    host = _ESCAPE.sub(lambda found: chr(int(found[0][1:], 16)), stem)
    return host if authority(host) == host and name in file_names(host) else None


def authority(written: str) -> str | None:
    """A host with an optional port, as in URLs; None if it is neither."""
    if _PLAIN_HOST.fullmatch(written) and not _PUNYCODE.match(written):
        return written
    if re.search(r"[/?#@\\\s]", written):
        return None
    from spaniel.url.parsing import parse

    try:
        url = parse(f"http://{written}/")
    except SpanielError:
        return None
    port = written.rpartition(":")[2] if re.search(r":[0-9]+\Z", written) else ""
    return f"{url.host}:{int(port)}" if port else url.host


def stranger(name: str) -> UnknownFile | None:
    """Why a file is not read whose name looks like that of a host file; None for other files."""
    if TEMPORARY_NAME.fullmatch(name):
        return UnknownFile(name, "a writer was killed; the next one removes it")
    if name in (LOCK, RULES):
        return None
    if _LEFTOVER.fullmatch(name):
        return UnknownFile(name, "it looks like something that an editor has left behind")
    if (nearly := _NEARLY.fullmatch(name)) is None:
        return UnknownFile(name, "its name is not that of a host") if name == SUFFIX else None
    meant = authority(nearly[1].lower())
    hint = f"; should it be {file_name(meant)}?" if meant else ""
    if not name.endswith(SUFFIX):
        return UnknownFile(name, f"its name does not end with {SUFFIX}{hint}")
    return UnknownFile(name, f"its name is not that of a host{hint}")


HEAD = 4096  # bytes that hold the first document of nearly every file


class Listing(NamedTuple):
    """The content of a folder: files by host, and files that are not read."""

    files: dict[str, str]  # host -> name, in the order of the hosts: 'a.com' before 'a.com.au'
    strangers: list[UnknownFile]


Version = tuple[int, int, int]  # of a file when it was read: inode, size, mtime


def opened(path: str, *, write: bool = False) -> OpenFolder:
    try:
        return open_shared_folder(path, write=write)
    except FileNotFoundError:
        reason = "there is no such folder; 'spaniel db init' makes one, or name another with --db"
        raise complaint(path, reason) from None
    except OSError as error:
        raise complaint(path, error.strerror or str(error)) from None


def listing(folder: OpenFolder) -> Listing:
    files: dict[str, str] = {}
    strangers: list[UnknownFile] = []
    for entry in sorted(folder.entries(), key=lambda entry: entry.name):
        host = host_of(entry.name)
        if host is None:
            found = stranger(entry.name)
        elif entry.is_symlink():
            found = UnknownFile(entry.name, "it is a symbolic link, and links are not followed")
        elif not entry.is_file(follow_symlinks=False):
            found = UnknownFile(entry.name, "it is not a regular file")
        elif host in files:
            found = UnknownFile(entry.name, f"its host has the file {files[host]} already; join the two")
        else:
            files[host], found = entry.name, None
        if found is not None:
            strangers.append(found)
    return Listing(dict(sorted(files.items())), strangers)


def read_text(folder: OpenFolder, name: str) -> tuple[str, Version]:
    """A file's text, and which version of the file it is."""
    file = f"{folder.path}/{name}"
    with _translated(file):
        descriptor = folder.open_file(name)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise complaint(file, "it is not a regular file")
            if found.st_size > LARGEST_FILE:
                raise complaint(file, TOO_LARGE)
            raw = _read(descriptor, found.st_size)
        finally:
            os.close(descriptor)
    return decode(raw, file), _version(found)


def read_head(folder: OpenFolder, name: str) -> str:
    """The beginning of a file, with its complete first document. Invalid bytes are reported when the file is read."""
    with _translated(f"{folder.path}/{name}"):
        descriptor = folder.open_file(name)
        try:
            raw, size = os.read(descriptor, HEAD), HEAD
            while not _has_two_marks(raw) and len(raw) < LARGEST_FILE and (more := os.read(descriptor, size)):
                raw, size = raw + more, size * 4
        finally:
            os.close(descriptor)
    return raw.decode(errors="replace")


def _has_two_marks(raw: bytes) -> bool:
    """Whether the first document is complete: a second one begins."""
    bodies = (b"\n" + raw).split(b"\n---")[1:]
    return sum(body[:1] in (b" ", b"\t", b"\r", b"\n") for body in bodies) >= 2


def write_text(folder: OpenFolder, name: str, text: str, known: Version | None) -> None:
    """Replace a file atomically and durably; refused if it has changed since it was read."""
    file = f"{folder.path}/{name}"
    with _translated(file):
        if version(folder, name) != known:
            raise complaint(file, "somebody else has changed it meanwhile; nothing was written to it, run this again")
        write_atomically(folder.at(name), text.encode(), None, durable=True, dir_fd=folder.descriptor)


def remove(folder: OpenFolder, name: str, known: Version | None) -> None:
    file = f"{folder.path}/{name}"
    with _translated(file):
        if version(folder, name) != known:
            raise complaint(file, "somebody else has changed it meanwhile; it was not removed, run this again")
        folder.remove(name)


def version(folder: OpenFolder, name: str) -> Version | None:
    try:
        return _version(folder.status(name))
    except FileNotFoundError:
        return None


def sweep(folder: OpenFolder) -> None:
    """Remove temporary files of killed writers. The caller holds the lock."""
    for entry in list(folder.entries()):
        if TEMPORARY_NAME.fullmatch(entry.name):
            with suppress(OSError):
                folder.remove(entry.name)


def _version(found: os.stat_result) -> Version:
    return found.st_ino, found.st_size, found.st_mtime_ns


def _read(descriptor: int, size: int) -> bytes:
    raw = os.read(descriptor, size)
    while len(raw) < size and (more := os.read(descriptor, size - len(raw))):
        raw += more
    return raw


@contextmanager
def _translated(file: str) -> Iterator[None]:
    """Convert `OSError` to our errors, with the file's path."""
    try:
        yield
    except OSError as error:
        raise complaint(file, error.strerror or str(error)) from None


PATIENCE = 30.0  # seconds; the lock is held only briefly: pages are fetched before it is taken


@contextmanager
def writing(folder: OpenFolder, patience: float = PATIENCE) -> Iterator[None]:
    """Hold the folder's lock. Other writers wait."""
    lock = locked(folder.at(LOCK), wait=patience, remove=True, mode=0o666, dir_fd=folder.descriptor)
    with ExitStack() as held:
        try:
            held.enter_context(lock)
        except TimeoutError:
            reason = f"another process has been writing here for {patience:g} seconds; try again when it is done"
            raise complaint(folder.path, reason) from None
        except OSError as error:
            raise _unwritable(folder, error) from None
        yield


def _unwritable(folder: OpenFolder, error: OSError) -> SpanielError:
    """Names the folder; the lock file only if that is the problem."""
    if isinstance(error, IsADirectoryError):
        return complaint(f"{folder.path}/{LOCK}", "it is not a regular file; remove it")
    with suppress(OSError):
        folder.status(LOCK)
        reason = f"cannot be opened for writing: {error.strerror}; remove it if no other process is writing here"
        return complaint(f"{folder.path}/{LOCK}", reason)
    return complaint(folder.path, f"the folder cannot be written to: {error.strerror}")
