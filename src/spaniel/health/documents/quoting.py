"""Reads and writes URLs in each syntax: escapes, character references, quotes."""

from __future__ import annotations

import json
import re
from html import unescape
from html.entities import html5
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PUNCTUATION = r"[!-/:-@\[-`{-~]"
# CommonMark resolves only references that end with a semicolon: `?a=1&copy=2` is left as it is.
REFERENCE = r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
IN_MARKDOWN = re.compile(rf"\\(?P<escaped>{PUNCTUATION})|{REFERENCE}")
REFERENCES = re.compile(REFERENCE)
# HTML attributes resolve some references without a semicolon, unless `=` or a letter follows (HTML 13.2.5.73).
IN_ATTRIBUTES = re.compile(
    r"&(?:#[0-9]{1,7};?|#[xX][0-9a-fA-F]{1,6};?|(?P<name>[A-Za-z][A-Za-z0-9]{0,31}+)(?P<end>;|(?!=)))"
)
NOT_IN_URLS = re.compile(r"[\t\n\r]")
BLANKS = " \t\n\r\f\v"
IN_RST = re.compile(r"\\(?P<blank>\s)|\\(?P<escaped>.)|\s")
UNSAFE = re.compile(r"[\s<>\x00-\x1f\x7f]")
INNER = ">"  # "json>markdown": Markdown in a JSON string


def decode(written: str, syntax: str) -> str:
    """Return the URL that is written in this syntax.

    >>> decode("https://a.example/?x=1&amp;y=2", "attribute")
    'https://a.example/?x=1&y=2'
    """
    outer, inside, inner = syntax.partition(INNER)
    if inside:
        return decode(SYNTAXES[outer][0](written), inner)
    return SYNTAXES[syntax][0](written)


def encode(url: str, syntax: str) -> str:
    """Write a URL in this syntax. If the syntax cannot express it, `decode` returns something else.

    >>> encode("https://a.example/?x=1&y=2", "attribute")
    'https://a.example/?x=1&amp;y=2'
    """
    outer, inside, inner = syntax.partition(INNER)
    if inside:
        return SYNTAXES[outer][1](encode(url, inner))
    return SYNTAXES[syntax][1](url)


def _unchanged(text: str) -> str:
    return text


def _percent(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode())


def from_markdown(written: str) -> str:
    if "\\" not in written and "&" not in written:
        return written
    return IN_MARKDOWN.sub(lambda found: found["escaped"] or unescape(found[0]), written)


def _to_markdown(url: str) -> str:
    """Escape parentheses unless they are balanced, and `|`, which would end a table cell."""
    text = _escape_references(UNSAFE.sub(_percent, url).replace("\\", "\\\\").replace("|", "\\|"))
    return text if _is_balanced(text) else re.sub(r"[()]", r"\\\g<0>", text)


def _is_balanced(text: str) -> bool:
    depth = 0
    for bracket in re.findall(r"[()]", text):
        depth += 1 if bracket == "(" else -1
        if depth < 0 or depth > 30:
            return False
    return depth == 0


def _escape_references(text: str) -> str:
    return REFERENCES.sub(lambda found: f"&amp;{found[0][1:]}", text)


def _to_angled(url: str) -> str:
    escaped = url.replace("\\", "\\\\").replace("<", "\\<").replace(">", "\\>").replace("|", "\\|")
    return _escape_references(re.sub(r"[\x00-\x1f\x7f]", _percent, escaped))


def _from_autolink(written: str) -> str:
    return REFERENCES.sub(lambda found: unescape(found[0]), written)


def _to_autolink(url: str) -> str:
    return _escape_references(UNSAFE.sub(_percent, url))


def _to_bare(url: str) -> str:
    return UNSAFE.sub(_percent, url)


def _from_www(written: str) -> str:
    return f"http://{written}"


def _to_www(url: str) -> str:
    """Only http:// can be omitted. Any other URL is written with its scheme, and `decode` then differs."""
    return _to_bare(url.removeprefix("http://") if url.startswith("http://www.") else url)


def from_attribute(written: str) -> str:
    text = IN_ATTRIBUTES.sub(_attribute_reference, written) if "&" in written else written
    return NOT_IN_URLS.sub("", text.strip(BLANKS))


def _attribute_reference(found: re.Match[str]) -> str:
    name = found["name"]
    if name is None:
        return unescape(found[0])
    return html5.get(name + found["end"], found[0])


ATTRIBUTE_ESCAPES = str.maketrans({"&": "&amp;", '"': "&quot;", "'": "&#39;", "<": "&lt;", ">": "&gt;"})


def _to_attribute(url: str) -> str:
    """Safe in double quotes, in single quotes, and without quotes."""
    return re.sub(r"[\s\x00-\x1f\x7f`]", _percent, url).translate(ATTRIBUTE_ESCAPES)


def _to_srcset(url: str) -> str:
    """Escape a comma at either end, which would separate candidates."""
    return _to_attribute(re.sub(r"^,+|,+$", _percent, url))


def _from_json(written: str) -> str:
    try:
        return str(json.loads(f'"{written}"', strict=False))
    except ValueError:
        return written


def _to_json(url: str) -> str:
    return json.dumps(url, ensure_ascii=False)[1:-1]


def _from_single(written: str) -> str:
    return written.replace("''", "'")


def _to_single(url: str) -> str:
    return UNSAFE.sub(_percent, url).replace("'", "''")


def _from_csv(written: str) -> str:
    return written.replace('""', '"')


def _to_csv(url: str) -> str:
    return re.sub(r"[\r\n\x00]", _percent, url).replace('"', '""')


def _from_rst(written: str) -> str:
    """White space is removed unless it is escaped, as in docutils."""
    return IN_RST.sub(lambda found: " " if found["blank"] else found["escaped"] or "", written)


def _to_rst(url: str) -> str:
    text = re.sub(r"[^\S ]|[<>\x00-\x1f\x7f]", _percent, url).replace("\\", "\\\\").replace(" ", "\\ ")
    return f"{text[:-1]}\\_" if text.endswith("_") else text


SYNTAXES: dict[str, tuple[Callable[[str], str], Callable[[str], str]]] = {  # how a URL is read and written
    "markdown": (from_markdown, _to_markdown),
    "markdown-angled": (from_markdown, _to_angled),
    "autolink": (_from_autolink, _to_autolink),
    "bare": (_unchanged, _to_bare),
    "www": (_from_www, _to_www),
    "attribute": (from_attribute, _to_attribute),
    "srcset": (from_attribute, _to_srcset),
    "xml": (from_attribute, _to_attribute),
    "json": (_from_json, _to_json),
    "yaml": (_unchanged, _to_bare),
    "yaml-single": (_from_single, _to_single),
    "csv": (_unchanged, _unchanged),
    "csv-quoted": (_from_csv, _to_csv),
    "rst": (_from_rst, _to_rst),
    "argument": (_unchanged, _unchanged),
}
