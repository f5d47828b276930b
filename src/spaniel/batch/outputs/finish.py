"""From finished parts to the output that was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.batch.outputs.form import Form, form_of
from spaniel.batch.outputs.pages import PageTree
from spaniel.batch.outputs.parquet import write_parquet, write_parquet_folder
from spaniel.batch.outputs.stored import raw_lines
from spaniel.errors import Code, SpanielError
from spaniel.files import replacing
from spaniel.runs.parts import packed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

PIECE = 1 << 20


def finish(parts: Sequence[str], out: str, *, again: bool = False) -> None:
    """Make `out` of parts (`.jsonl`, `.jsonl.zst`; for `.warc.gz` such parts); `again`: perhaps not for the first time.

    A file appears whole or not at all, and so does a folder of Parquet files; pages come one by one.
    """
    form = form_of(out)
    if all(form_of(part) == form for part in parts):
        write_whole(out, _pieces(parts))
    else:
        write_lines(raw_lines(parts), out, again=again)


def write_lines(lines: Iterable[bytes], out: str, *, again: bool = False) -> None:
    """Records, a line each, in the form that the output's name asks for."""
    form = form_of(out)
    if form == Form.JSONL:
        write_whole(out, lines)
    elif form == Form.JSONL_ZST:
        write_whole(out, map(packed, _together(lines)))
    elif form == Form.PARQUET:
        write_parquet(lines, out)
    elif form == Form.PARQUET_FOLDER:
        write_parquet_folder(lines, out, again=again)
    elif form == Form.PAGES:
        _write_pages(lines, out)
    else:
        raise SpanielError(Code.BAD_ARGS, field=out, reason="WARC files are made of WARC files only")


def write_whole(out: str, pieces: Iterable[bytes]) -> None:
    try:
        with replacing(out, None, durable=True) as file:
            file.writelines(pieces)
    except OSError as error:
        raise SpanielError(Code.BAD_ARGS, field=out, reason=f"cannot be written: {error.strerror}") from None


def _pieces(paths: Iterable[str]) -> Iterator[bytes]:
    """Parts of one form, one after another, are a file of that form."""
    for path in paths:
        try:
            with open(path, "rb") as file:
                while piece := file.read(PIECE):
                    yield piece
        except OSError as error:
            raise SpanielError(Code.BAD_ARGS, field=path, reason=f"cannot be read: {error.strerror}") from None


def _together(lines: Iterable[bytes]) -> Iterator[bytes]:
    """As much as compresses well."""
    held: list[bytes] = []
    size = 0
    for line in lines:
        held.append(line)
        size += len(line)
        if size >= PIECE:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def _write_pages(lines: Iterable[bytes], out: str) -> None:
    import msgspec

    folder = PageTree(out)
    for line in lines:
        folder.write(msgspec.json.decode(line))
