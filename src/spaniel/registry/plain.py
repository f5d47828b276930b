"""Records in the form that dumpers of YAML write, read by one regular expression.

What it does not recognize is not wrong: `outline` reads it, with libyaml, in ten times the time.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Value = str | list["Value"] | dict[str, "Value"]  # all scalars are text: YAML's guesses about them are traps
    Keys = Mapping[str, Value]

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
