"""Files of the format with every oddity that people and programs leave in them, and a folder to try them in."""

from __future__ import annotations

from pathlib import Path

from spaniel import registry
from spaniel.registry.database import Registry

MINIMAL = b"---\n---\n_path: /\n"  # the document's own
HASH = "fd3589aa8a72beb48939de884e3ee5324b510c145003f375c77cd4ecb1a79672"

WILD = f"""\
---
case-sensitive-paths: true
cnames:
- cdn.example.com
- other.example
- www.example.com
https: true
---
_path: /
content-type: text/html
---
_path: //double//slash
content-type: text/plain
---
_path: /A%20b?x=1&y=%7B2%7D
categories:
- content-type-change-ok
- redirect-ok
content-type: application/x-javascript
---
_path: /a%20b?x=1&y=%7B2%7D
categories:
- deprecated
content-type: X-301-Redirect
---
_path: /m51.txt
content-length: 1650240
content-sha256: {HASH}
content-type: text/plain; charset=utf-8
""".encode()  # as a plain dumper writes what is found in the world

ODDITIES: dict[str, bytes] = {
    "minimal": MINIMAL,
    "wild": WILD,
    "crlf": WILD.replace(b"\n", b"\r\n"),
    "no newline at the end": WILD.rstrip(b"\n"),
    "crlf, no newline at the end": WILD.replace(b"\n", b"\r\n").rstrip(b"\r\n"),
    "byte order mark": b"\xef\xbb\xbf" + WILD,
    "a comment before all": b"# kept by the web team\n\n" + WILD,
    "comments everywhere": b"--- # about the host\n# names\ncnames: # sorted\n# the first\n- a.example\n---\n"
    b"# above the path\n_path: /a # beside it\n# above the note\nnote: x\n# at the end\n--- # next\n_path: /b\n\n\n",
    "quotes": b'---\n---\n"_path": \'/it\'\'s\'\nnote: "a \\u00e9 \\" b"\n---\n_path: "/z\\u00e9z"\nother: "z\\tz"\n',
    "flow": b"--- {}\n--- {_path: /a, tags: [x, y]}\n---\n_path: /b\ntags: [x, {y: z}]\n",
    "blocks of text": b"---\n---\n_path: /a\nnote: |+\n  one\n\n  two\n\nother: >-\n  folded\n  # no comment\n"
    b"---\n_path: /b\n",
    "indented keys": b"---\n---\n  _path: /a\n  list:\n    - 1\n    - 2\n---\n_path: /b\n",
    "unsorted": b"---\ncnames:\n- z.example\n- a.example\n---\nnote: x\n_path: /b\n---\n_path: /a\n",
    "hash in capitals": f"---\n---\n_path: /a\ncontent-sha256: {HASH.upper()}\n".encode(),
    "hash of digits": f"---\n---\n_path: /a\ncontent-sha256: {'0123456789' * 6}1234\n".encode(),
    "hash like a float": f"---\n---\n_path: /a\ncontent-sha256: {'1' * 30}e{'2' * 33}\n".encode(),
    "words that YAML guesses": b"---\n---\n_path: /no\na: no\nb: 012\nc: 1:30\nd: 2026-11-16\ne: ~\nf: 0x1F\ng: .inf\n",
    "no value": b"---\n---\n_path: /a\nnote:\nother: \n---\n_path: /b\n",
    "ends of documents": b"--- null\n...\n---\n_path: /a\n...\n# after it\n---\n_path: /b\n...\n",
    "first document without its mark": b"cnames:\n- a.example\n---\n_path: /a\n",
    "mark with spaces": b"--- \n---\t\n_path: /a\n",
    "keys that begin like a mark": b"---\n---\n_path: /a\n---draft: x\n---\n_path: /b\n",
    "not only ASCII": "---\n---\n_path: /ñandú\nnota: «así» 😀\n---\n_path: /日本\n".encode(),
    "blank lines": b"---\n\n---\n\n_path: /a\n\nnote: x\n\n---\n_path: /b\n\n",
    "mixed line ends": b"---\r\n---\n_path: /a\r\nnote: x\n",
    "only metadata": b"---\ncnames:\n- a.example\n",
    "a long value": b"---\n---\n_path: /a\nnote: " + b"x" * 60_000 + b"\n",
    "apostrophes": b"---\n---\n_path: /kids'\ncategories:\n- 'a'\n- kids'\n- o'\n- rock'n'roll\nnote: the dogs'\n",
    "nested": b"---\n---\n_path: /a\nx:\n  y:\n  - z: 1\n    w:\n      v: [1, [2, [3]]]\n",
}


def database(folder: Path, **files: bytes) -> Registry:
    """A database of files by their hosts: `example_com=...` is example.com.yaml."""
    folder.mkdir(exist_ok=True)
    for name, raw in files.items():
        (folder / f"{name.replace('_', '.')}.yaml").write_bytes(raw)
    return registry.open(folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
