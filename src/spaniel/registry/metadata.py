"""A file's first document: what is known of its host (DB-02, DB-13)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spaniel.registry.complaints import Position
from spaniel.registry.naming import authority
from spaniel.registry.record import PATH, broken_key, is_text_list, read_keys

if TYPE_CHECKING:
    from spaniel.registry.plain import Keys
    from spaniel.registry.splitting import YamlDocument

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
