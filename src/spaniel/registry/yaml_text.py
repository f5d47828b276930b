"""YAML files as text: splits documents, parses plain records with one regular expression, and writes values.

A line of `---` cannot be inside a value (YAML 1.2, 9.1.2), so documents are separated without being parsed, and nothing
is lost: joined again they are the file. What `read_plain` does not recognize is not wrong: `outline` reads it with
libyaml, in ten times the time.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from spaniel.tables import complaint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from spaniel.errors import SpanielError

    Value = str | list["Value"] | dict[str, "Value"]  # all scalars are text: YAML's guesses about them are traps
    Keys = Mapping[str, Value]
    from collections.abc import Sequence

    Written = str | int | bool | Sequence[str]


class Position(NamedTuple):
    """A line of a file, counted from 1."""

    file: str
    line: int = 1

    def broken(self, reason: str, line: int = 0, column: int = 0) -> SpanielError:
        """`line` and `column` are counted from 0, within whatever begins here."""
        return complaint(f"{self.file}:{self.line + line}:{column + 1}", reason)


LARGEST_FILE = 16 << 20  # bytes: 100,000 records of one host
TOO_LARGE = f"the file has more than {LARGEST_FILE >> 20} MiB, which is the most that is read: some 100,000 records"
MAX_DOCUMENTS = 250_000  # of one file; many more fit into its bytes, and each takes memory
LONGEST_DOCUMENT = 64 << 10  # characters; libyaml needs a time that grows with the square of some of them
BOM = "\ufeff"

_CONTROLS = bytes(code for code in (*range(32), 127) if chr(code) not in "\t\n\r")
# Characters that YAML does not allow, and line breaks that only YAML knows (editors would count lines differently)
_UNFIT = "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|\r(?!\n)"
_MARK = "\n---"
_AFTER_MARK = ("", " ", "\t", "\r", "\n")
_CONFLICT = "<<<<<<< "
_NO_CONTENT = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?(?:\n|\Z))*")


class YamlDocument(NamedTuple):
    """One document of a file, from its `---` to the next one."""

    text: str
    line: int  # of the file, counted from 1


class Parts(NamedTuple):
    """A file: comments before its first `---`, and its documents; the first is the metadata."""

    preamble: str
    documents: list[YamlDocument]


def decode(raw: bytes, file: str) -> str:
    """The text of a file, if it is text that YAML can hold."""
    place = Position(file)
    if len(raw) > LARGEST_FILE:
        raise place.broken(TOO_LARGE)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode()
        raise place.broken("the file is not UTF-8 text; save it as UTF-8", *_position(before, len(before))) from None
    plain = raw.isascii() and raw.count(b"\r") == raw.count(b"\r\n")
    if plain and len(raw.translate(None, _CONTROLS)) == len(raw):
        return text
    if (found := re.compile(_UNFIT).search(text, text.startswith(BOM))) is not None:  # compiled when first needed
        if found[0] == "\r":
            reason = "a line ends with CR alone; lines end with LF, or with CR LF"
        elif found[0] == "\0":
            reason = "a NUL byte: the file is not text, or is UTF-16; save it as UTF-8"
        else:
            reason = f"the character U+{ord(found[0]):04X} cannot stand here; percent-encode it, or write it escaped"
        raise place.broken(reason, *_position(text, found.start()))
    return text


def split(text: str, file: str) -> Parts:
    """The documents of a file; one that has none is refused."""
    if _CONFLICT in text:
        _refuse_conflict(text, file)
    head, *rest = f"\n{text}".split(_MARK)
    if len(rest) > MAX_DOCUMENTS:
        raise Position(file).broken(f"the file has more than {MAX_DOCUMENTS:,} records")
    whole = _rejoined(rest)
    preamble = head[1:] + ("\n" if whole and head else "")
    texts = [f"---{body}\n" for body in whole[:-1]] + [f"---{body}" for body in whole[-1:]]
    opening = BOM if preamble.startswith(BOM) else ""
    if not _NO_CONTENT.fullmatch(preamble, len(opening)):  # the first document may do without its mark
        texts.insert(0, preamble[len(opening) :])
        preamble = opening
    if not texts:
        raise Position(file).broken("the file has no documents; it begins with '---', and '---' begins each record")
    documents, line = [], 1 + preamble.count("\n")
    for each in texts:
        documents.append(YamlDocument(each, line))
        line += each.count("\n")
        if len(each) > LONGEST_DOCUMENT:
            reason = f"the record has more than {LONGEST_DOCUMENT:,} characters"
            raise Position(file, documents[-1].line).broken(reason)
    return Parts(preamble, documents)


def _refuse_conflict(text: str, file: str) -> None:
    """Checked first, since half of each side might parse as records."""
    if (index := f"\n{text}".find(f"\n{_CONFLICT}")) >= 0:
        reason = "a merge has left a conflict here; keep what is right of both sides, and remove the lines of the marks"
        raise Position(file).broken(reason, *_position(text, index))


def lines_of(text: str) -> list[str]:
    """Lines with their ends. `str.splitlines` would count more of them than YAML does."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def line_end(text: str) -> str:
    """As the first line has it."""
    return "\r\n" if text[: text.find("\n") + 1].endswith("\r\n") else "\n"


def _rejoined(bodies: list[str]) -> list[str]:
    """A line may begin with `---` and mean something else: `---draft: yes` is a key."""
    if all(body[:1] in _AFTER_MARK for body in bodies):
        return bodies
    whole: list[str] = []
    for body in bodies:
        if body[:1] in _AFTER_MARK or not whole:
            whole.append(body)
        else:
            whole[-1] += _MARK + body
    return whole


def _position(text: str, index: int) -> tuple[int, int]:
    """Line and column of a character, counted from 0."""
    return text.count("\n", 0, index), index - (text.rfind("\n", 0, index) + 1)


_KEY = r"[A-Za-z_][A-Za-z0-9_-]{0,127}"  # YAML itself ends at 1,024
# Words of printable ASCII, one space between them; none ends with a colon, none but the first may begin as a comment
# would, and the first begins as no other kind of value does
_WORDS = r"[/0-9A-Za-z_](?:[!-~]*[!-9;-~])?(?: [!\"$-9;-~](?:[!-~]*[!-9;-~])?)*"
_VALUE = rf"(?:{_WORDS}|'[!-&(-~]+')"
_PLAIN = re.compile(rf"---(?:\r?\n{_KEY}:(?: {_VALUE}|(?:\r?\n- {_VALUE})+))*\r?\n?")
_PAIR = re.compile(rf"\n({_KEY}):(?: ([^\r\n]+)|((?:\r?\n- [^\r\n]+)+))")
_SCALAR = re.compile(_WORDS)


def read_plain(text: str) -> dict[str, Value] | None:
    """The keys of a document in their order; None where it is not of this form, or has a key twice."""
    if not _PLAIN.fullmatch(text):
        return None
    pairs = _PAIR.findall(text)
    keys: dict[str, Value] = {}
    for key, scalar, items in pairs:  # no calls in here: it runs for every key of a database
        keys[key] = _items(items) if items else scalar if scalar[0] != "'" else scalar[1:-1]
    return keys if len(keys) == len(pairs) else None


def is_plain_scalar(text: str) -> bool:
    """Whether a value can be written as it is, as far as its signs go."""
    return _SCALAR.fullmatch(text) is not None


def _items(text: str) -> list[Value]:
    items = [line[2:] for line in text.replace("\r", "").split("\n")[1:]]
    return [item if item[0] != "'" else item[1:-1] for item in items]


# Text that some version of YAML reads as something else: a hash may be all digits, or look like 12e34 (DB-13)
_GUESSED = re.compile(
    r"~|null|true|false|yes|no|on|off|y|n|[-+]?\.(?:inf|nan)"
    r"|[-+]?(?:[0-9][0-9_]*)?\.?[0-9_]*(?:e[-+]?[0-9]+)?|[-+]?0[xob][0-9a-f_]+|[-+]?[0-9][0-9_:]*(?:\.[0-9_]*)?"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt \t].*)?",
    re.IGNORECASE,
)


def scalar(value: str | int | bool) -> str:
    """One line, whatever the text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if is_plain_scalar(value) and not _GUESSED.fullmatch(value):
        return value
    if value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return '"' + "".join(map(_escaped, value)) + '"'


def _escaped(sign: str) -> str:
    if sign in '"\\':
        return f"\\{sign}"
    return sign if sign.isprintable() else f"\\U{ord(sign):08x}"


def lines_for(key: str, value: Written, indent: int, end: str) -> list[str]:
    """A key and its value; a list has an item a line, as dumpers write it."""
    lead = " " * indent
    if isinstance(value, str | int):
        return [f"{lead}{scalar(key)}: {scalar(value)}{end}"]
    if not value:
        return [f"{lead}{scalar(key)}: []{end}"]
    return [f"{lead}{scalar(key)}:{end}", *(f"{lead}- {scalar(item)}{end}" for item in value)]


def as_read(value: Written) -> Value:
    """A value as it is read again: text, or a list of texts."""
    if isinstance(value, bool):
        return scalar(value)
    return str(value) if isinstance(value, str | int) else [str(item) for item in value]
