"""A record: one URL and its keys (DB-05 to DB-07). Unknown keys are kept."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from spaniel.registry.folder import authority
from spaniel.registry.yaml_text import Position, read_plain

if TYPE_CHECKING:
    from spaniel.registry.outline import YamlOutline
    from spaniel.registry.yaml_text import Keys, YamlDocument


PATH = "_path"
LENGTH, SHA256, TYPE, CATEGORIES = "content-length", "content-sha256", "content-type", "categories"
DEPRECATED = "deprecated"  # the category of what is neither checked nor dumped any more

_LENGTH = re.compile(r"0|[1-9][0-9]{0,18}")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")  # a list of URLs would show what follows as another
_SHA256 = re.compile(r"[0-9A-Fa-f]{64}")


class RecordHost(NamedTuple):
    """Where records stand: the file, and the host that it is about."""

    file: str  # its path
    host: str  # with the port, if that is not the scheme's own
    scheme: str
    cnames: tuple[str, ...] = ()
    minds_case: bool = True  # whether paths that differ only in case are different pages

    def key(self, path: str) -> str:
        """What two paths of one page have in common."""
        return path if self.minds_case else lowered(path)


class LinkRecord:
    """One URL of a database. `keys` has all that its document says, every scalar as text."""

    __slots__ = ("home", "keys", "line", "path", "text")

    def __init__(self, home: RecordHost, keys: Keys, line: int, text: str) -> None:
        self.home = home
        self.keys = keys
        self.line = line  # of its '---'
        self.text = text
        self.path = str(keys[PATH])

    @property
    def url(self) -> str:
        return f"{self.home.scheme}://{self.home.host}{self.path}"

    @property
    def host(self) -> str:
        return self.home.host

    @property
    def file(self) -> str:
        return self.home.file

    @property
    def content_length(self) -> int | None:
        """The length of the content in bytes, after redirects; None where any will do."""
        found = self.keys.get(LENGTH)
        return None if found is None else int(str(found))

    @property
    def content_sha256(self) -> str | None:
        """The content's SHA-256 in lower-case hex; None where any content will do."""
        found = self.keys.get(SHA256)
        return None if found is None else str(found).lower()

    @property
    def content_type(self) -> str | None:
        found = self.keys.get(TYPE)
        return str(found) if found else None  # a key without a value says nothing

    @property
    def categories(self) -> tuple[str, ...]:
        return tuple(str(each) for each in self.keys.get(CATEGORIES, ()))

    @property
    def is_deprecated(self) -> bool:
        return DEPRECATED in self.keys.get(CATEGORIES, ())

    def as_dict(self) -> dict[str, object]:
        """For JSON: the URL, where it stands, and its keys; a length is a number."""
        facts: dict[str, object] = {"url": self.url, "file": self.file, "line": self.line, **self.keys}
        return facts | ({LENGTH: self.content_length} if LENGTH in self.keys else {})

    def __repr__(self) -> str:
        return f"LinkRecord({self.url!r})"

    def __eq__(self, other: object) -> bool:
        """The same URL with the same keys, wherever it stands."""
        return isinstance(other, LinkRecord) and (self.url, self.keys) == (other.url, other.keys)

    def __hash__(self) -> int:
        return hash(self.url)


def read_record(document: YamlDocument, home: RecordHost) -> LinkRecord:
    """A record, if it is one; else a complaint with the line of what is wrong."""
    text, line = document
    keys = read_plain(text)
    if keys is None:
        keys = _outline(text, Position(home.file, line)).keys
    if (wrong := flaw(keys)) is not None:
        raise broken_key(text, Position(home.file, line), *wrong)
    return LinkRecord(home, keys, line, text)


def lowered(path: str) -> str:
    """A path in lower case, but for what is percent-encoded; its query may be about something else."""
    head, mark, query = path.partition("?")
    return re.sub("%[0-9a-f]{2}", lambda found: found[0].upper(), head.lower()) + mark + query


def read_keys(text: str, place: Position) -> Keys:
    keys = read_plain(text)
    return _outline(text, place).keys if keys is None else keys


def flaw(keys: Keys) -> tuple[str, str] | None:
    """A key with a value that it cannot have, and why; None where all is well."""
    path = keys.get(PATH)
    if path is None:
        return PATH, "the record has no _path"
    if not isinstance(path, str) or path[:1] != "/":
        return PATH, "_path must begin with '/': it is what follows the host in a URL"
    if found := _CONTROL.search(path):
        what = "a line break" if found[0] in "\r\n\x85\u2028\u2029" else f"the control character U+{ord(found[0]):04X}"
        return (
            PATH,
            f"_path has {what}, which no URL has; write it on one line, and the character as %{ord(found[0]):02X}",
        )
    if "#" in path:
        return PATH, "_path has a fragment ('#…'), which no server ever sees; leave it out, or write %23"
    return None if len(keys) == 1 else _flaw_of_content(keys)


def _flaw_of_content(keys: Keys) -> tuple[str, str] | None:
    if (length := keys.get(LENGTH)) is not None and not _LENGTH.fullmatch(str(length)):
        return LENGTH, "content-length must be a whole number of bytes, in plain digits"
    if (sha256 := keys.get(SHA256)) is not None and not _SHA256.fullmatch(str(sha256)):
        return SHA256, "content-sha256 must be 64 hexadecimal digits"
    if not isinstance(keys.get(TYPE, ""), str):
        return TYPE, "content-type must be text"
    if CATEGORIES in keys and not is_text_list(keys[CATEGORIES]):
        return CATEGORIES, "categories must be a list of words, an item a line ('- word')"
    return None


def is_text_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def broken_key(text: str, place: Position, key: str, reason: str) -> Exception:
    """The complaint about a key, at its own line; at the document's where it is missing."""
    pair = _outline(text, place).pair(key)
    return place.broken(reason) if pair is None else place.broken(reason, pair.line)


def _outline(text: str, place: Position) -> YamlOutline:
    from spaniel.registry.outline import outline  # few records need it, and it costs a tenth of a start

    return outline(text, place)


CNAMES, HTTPS, CASE = "cnames", "https", "case-sensitive-paths"
_TRUTHS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


class HostMetadata(NamedTuple):
    """`keys` has all that the document says, every scalar as text."""

    keys: Keys
    cnames: tuple[str, ...] = ()
    https: bool | None = None  # None where the file does not say
    case_sensitive_paths: bool = True


def read_metadata(document: YamlDocument, file: str, host: str) -> HostMetadata:
    place = Position(file, document.line)
    keys = read_keys(document.text, place)
    if not keys:
        return HostMetadata(keys)
    for key, reason in (_flaw(keys), _flaw_of_names(keys.get(CNAMES, []), host)):
        if reason:
            raise broken_key(document.text, place, key, reason)
    names = tuple(str(name) for name in keys.get(CNAMES, ()))
    return HostMetadata(keys, names, _TRUTHS.get(str(keys.get(HTTPS))), _TRUTHS.get(str(keys.get(CASE)), True))


def _flaw(keys: Keys) -> tuple[str, str]:
    if PATH in keys:
        return PATH, "the first document is about the host, not a record; write '---' twice before the first record"
    for key in (HTTPS, CASE):
        if key in keys and str(keys[key]) not in _TRUTHS:
            return key, f"{key} must be true or false"
    return CNAMES, ""


def _flaw_of_names(names: object, host: str) -> tuple[str, str]:
    if not isinstance(names, list) or not is_text_list(names):
        return CNAMES, "cnames must be a list of hosts, an item a line ('- www.example.com')"
    seen: set[str] = set()
    for name in names:
        meant = authority(name)
        if meant is None:
            return CNAMES, f"'{name}' is not a host"
        if meant != name:
            return CNAMES, f"'{name}' must be written '{meant}'"
        if name == host:
            return CNAMES, f"'{name}' is the file's own host, which is not one of its cnames"
        if name in seen:
            return CNAMES, f"'{name}' stands here twice"
        seen.add(name)
    return CNAMES, ""
