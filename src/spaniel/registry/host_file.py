"""A host's file: its text as metadata and records, and the same text with records added, changed and removed."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from spaniel.registry.formatting import format_document, format_preamble
from spaniel.registry.record import (
    HTTPS,
    PATH,
    HostMetadata,
    LinkRecord,
    RecordHost,
    broken_key,
    read_metadata,
    read_record,
)
from spaniel.registry.yaml_text import Parts, Position, YamlDocument, as_read, line_end, lines_for, split

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spaniel.registry.yaml_text import Written


class HostFile(NamedTuple):
    """The content of a valid file."""

    home: RecordHost
    metadata: HostMetadata
    records: list[LinkRecord]
    parts: Parts


def read_file(text: str, file: str, host: str, scheme: str = "http") -> HostFile:
    """Parse a file; format errors are refused with line and reason."""
    parts = split(text, file)
    metadata = read_metadata(parts.documents[0], file, host)
    home = RecordHost(file, host, scheme_of(metadata, scheme), metadata.cnames, metadata.case_sensitive_paths)
    records = [read_record(document, home) for document in parts.documents[1:]]
    _refuse_doubles(records)
    return HostFile(home, metadata, records, parts)


def scheme_of(metadata: HostMetadata, otherwise: str) -> str:
    """The scheme of a file's records: as the file says, or as the folder does (DB-13)."""
    return otherwise if metadata.https is None else "https" if metadata.https else "http"


def _refuse_doubles(records: list[LinkRecord]) -> None:
    if len({record.path for record in records}) == len(records):
        return
    seen: dict[str, int] = {}
    for record in records:
        if record.path in seen:
            reason = f"the _path '{record.path}' has a record already, in line {seen[record.path]}"
            raise broken_key(record.text, Position(record.file, record.line), PATH, reason)
        seen[record.path] = record.line


def formatted(file: HostFile) -> str:
    """The formatted file (DB-11)."""
    preamble, (first, *_) = file.parts
    end = line_end(preamble + first.text)
    metadata = format_document(first.text, file.metadata.keys, (file.home.file, first.line), end)
    texts = [
        format_document(record.text, record.keys, (file.home.file, record.line), end)
        for record in sorted(file.records, key=_path_of)
    ]
    return "".join([format_preamble(preamble, end), metadata, *texts])


def _path_of(record: LinkRecord) -> str:
    return record.path


class FileDraft:
    """A file while it is edited: the texts of its documents by path. Unchanged documents keep their bytes."""

    def __init__(self, file: HostFile) -> None:
        self.home = file.home
        self._preamble, documents = file.parts
        self._metadata = documents[0].text
        self._end = line_end(self._preamble + self._metadata)
        self._order = [record.path for record in file.records]
        self._texts = {record.path: record.text for record in file.records}
        self._lines = {record.path: record.line for record in file.records}  # as they were read, for complaints
        self._is_sorted = all(self._order[i] < self._order[i + 1] for i in range(len(self._order) - 1))
        self._names = {} if self.home.minds_case else {self.home.key(path): path for path in reversed(self._order)}

    def __contains__(self, path: object) -> bool:
        return path in self._texts

    def path_of(self, path: str) -> str:
        """A path as spelled in the file; on case-insensitive hosts, new paths are in lower case."""
        return path if path in self._texts else self._names.get(key := self.home.key(path), key)

    def text(self) -> str:
        texts = [self._metadata, *(self._texts[path] for path in self._order)]
        ended = (text if text.endswith("\n") else text + self._end for text in texts[:-1])
        return "".join([self._preamble, *ended, texts[-1]])

    @property
    def is_empty(self) -> bool:
        return not self._order

    @property
    def is_bare(self) -> bool:
        """Whether no content is left."""
        return self.is_empty and not self._preamble and self._metadata.rstrip() == "---"

    def record(self, path: str) -> LinkRecord:
        """A record of the draft. Its line is 0 until the file is written."""
        return read_record(YamlDocument(self._texts[path], 0), self.home)

    def add(self, path: str, keys: Mapping[str, Written]) -> None:
        """Add a record at its sorted position."""
        pairs = sorted({**keys, PATH: path}.items())
        lines = [f"---{self._end}", *(line for key, value in pairs for line in lines_for(key, value, 0, self._end))]
        self._insert(path, "".join(lines))
        if dict(self.record(path).keys) != {key: as_read(value) for key, value in pairs}:
            self.remove(path)
            raise Position(self.home.file).broken("these keys cannot be written so that they are read again")

    def _insert(self, path: str, text: str) -> None:
        read_record(YamlDocument(text, 1), self.home)  # nothing is written that could not be read
        if self._is_sorted:
            at = bisect_left(self._order, path)
        else:
            at = next((i for i, other in enumerate(self._order) if other > path), len(self._order))
        self._order.insert(at, path)
        self._texts[path] = text

    def remove(self, path: str) -> None:
        self._order.remove(path)
        del self._texts[path]
        if self._names.get(key := self.home.key(path)) == path:
            alike = (other for other in self._order if self.home.key(other) == key)
            self._names[key] = next(alike, key)

    def move_in(self, path: str, source: FileDraft, old: str) -> None:
        """Move a record of this file or another to a path."""
        text = source.edited(old, {PATH: path})
        text = text if text.endswith("\n") else text + self._end
        self._insert(path, text.replace("\r\n", "\n").replace("\n", self._end))
        source.remove(old)

    def set(self, path: str, keys: Mapping[str, Written | None]) -> None:
        """Set keys of a record, all or none; None removes one."""
        text = self.edited(path, keys)
        read_record(YamlDocument(text, self._lines.get(path, 1)), self.home)
        self._texts[path] = text

    def edited(self, path: str, keys: Mapping[str, Written | None]) -> str:
        """The text that a record would have."""
        from spaniel.registry.formatting import set_key, unset_key  # with libyaml, which a new record does not need

        text, place = self._texts[path], Position(self.home.file, self._lines.get(path, 1))
        for key, value in keys.items():
            text = unset_key(text, key, place) if value is None else set_key(text, key, value, place)
        return text


def new_file(file: str, host: str, scheme: str, folders_scheme: str) -> HostFile:
    """An empty file, with its scheme if it differs from the folder's."""
    says: Iterable[str] = () if scheme == folders_scheme else lines_for(HTTPS, scheme == "https", 0, "\n")
    return read_file("".join(["---\n", *says]), file, host, folders_scheme)
