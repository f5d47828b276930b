"""`web_fetch_more`: reads on in a page that was fetched, by number or by words, from the cache (D2-29)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError
from spaniel.pipeline.request import Request, bad, checked, require_known, text, whole_number
from spaniel.pipeline.trace import Trace
from spaniel.tool.admission import as_mapping, refusals_recorded, require_approval, require_on, run, summary
from spaniel.tool.framework import Client, ToolCtx, ToolError
from spaniel.tool.recent import RecentPages
from spaniel.tool.schemas import MORE_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spaniel.app.groups import ToolSettings
    from spaniel.chunking import Chunk
    from spaniel.pipeline.answer import Answer

NAME = "web_fetch_more"
DESCRIPTION = (
    "Read on in a page that web_fetch brought, from the copy that is kept, without fetching it again. "
    "Give its url and, as from_chunk, the next_chunk of the answer before; an answer without 'more' is the end. "
    "Or give find: the chunks of the whole page that have these words, best first, each with its number. "
    "A page that is kept no longer is fetched again, and the note says 'fetched_again': its chunks may have changed. "
    "A page that was never fetched is refused: call web_fetch first."
)
FETCHED_AGAIN = "fetched_again"
MOST_FOUND = 10  # chunks: what is further down the list is of little use, and costs a model its attention


class More(NamedTuple):
    """What is asked for, checked."""

    url: str
    from_chunk: int = 1
    from_offset: int = 0
    find: str = ""
    max_chunk_tokens: int | None = None  # None: as the page was last cut


class ReadOn(NamedTuple):
    """A part of a page: what was asked for, how the page is asked for, and the part within the caller's budget."""

    asked: More
    request: Request
    answer: Answer
    fields: dict[str, object]


class WebFetchMoreTool:
    """A `ToolExecutor` that shares `recent` with the tool that fetches."""

    name = NAME
    description = DESCRIPTION
    schema = MORE_SCHEMA

    def __init__(self, client: Client, settings: ToolSettings, recent: RecentPages | None = None) -> None:
        self._client = client
        self._settings = settings
        self._recent = recent or RecentPages()

    def is_side_effecting(self) -> bool:
        return True  # where the page is not cached, and only there, a request leaves the machine

    def requires_approval(self) -> bool:
        """Whether somebody may be asked; nobody is for a page that is cached."""
        return not self._settings.allow_auto_execution

    def approval_summary(self, args: Mapping[str, object]) -> str:
        """What a person is asked where the page would have to be fetched."""
        try:
            return summary(NAME, self._request(read_more(as_mapping(args))), self._settings)
        except SpanielError as error:
            raise ToolError(NAME, error) from error

    async def execute(self, args: Mapping[str, object], ctx: ToolCtx) -> str:
        """The part that was asked for as JSON, within the budget."""
        from spaniel.chunking import serialize

        return serialize((await self.read_on(args, ctx)).fields)

    async def read_on(self, args: Mapping[str, object], ctx: ToolCtx) -> ReadOn:
        """What `execute` does, for hosts that want more than its text."""
        ctx.allow_truncation = False
        return await run(NAME, args, self._read_on(args, ctx))

    async def _read_on(self, args: Mapping[str, object], ctx: ToolCtx) -> ReadOn:
        trace = Trace(ctx.progress)
        with refusals_recorded(args):
            require_on(self._settings)
            asked = read_more(as_mapping(args))
            request = self._request(asked)
            answer = self._recent.held(request) or await self._client.stored(request, trace)
            if answer is None:
                self._require_fetched(asked)
                await require_approval(summary(NAME, request, self._settings), self._settings, ctx)
        if answer is None:
            answer = _noted(await self._client.answer(request, trace))
        self._recent.remember(request, answer)
        with trace.step("fit"):
            fields = part_of(answer, asked, ctx.effective_max_bytes)
        return ReadOn(asked, request, answer, fields)

    def _require_fetched(self, asked: More) -> None:
        """A page that is not kept is fetched again only where this session has fetched it before (D2-42)."""
        if self._recent.asked_for(asked.url) is None:
            reason = "this page was not fetched yet, so that there is nothing to read on in; call web_fetch"
            raise SpanielError(Code.BAD_ARGS, field="url", reason=reason, cause="not_fetched")

    def _request(self, asked: More) -> Request:
        """As the page was asked for before, by whichever of its URLs; else as if for the first time."""
        request = self._recent.asked_for(asked.url) or Request(asked.url)
        if asked.max_chunk_tokens is not None:
            request = request._replace(max_chunk_tokens=asked.max_chunk_tokens)
        return checked(request)


def read_more(args: Mapping[str, object]) -> More:
    """A checked request; what the page itself limits is checked when it is there."""
    require_known(args, More._fields)
    find = args.get("find")
    if find is not None and not isinstance(find, str):
        raise bad("find", "must be text")
    first, offset = whole_number(args, "from_chunk"), whole_number(args, "from_offset")
    asked = More(
        text(args, "url"),
        1 if first is None else first,
        offset or 0,
        (find or "").strip(),
        whole_number(args, "max_chunk_tokens"),
    )
    if asked.from_chunk < 1 or asked.from_offset < 0:
        name = "from_chunk" if asked.from_chunk < 1 else "from_offset"
        raise bad(name, "chunks are numbered from 1, their characters from 0")
    return asked


def part_of(answer: Answer, asked: More, max_bytes: int) -> dict[str, object]:
    """The chunks from a number on, or those that have the words; as many as there is room for."""
    from spaniel.chunking.fit import fit, read_on

    chunks = answer.chunks
    fields = {**answer.fields(), "total_chunks": len(chunks)}
    if not chunks:
        return fit(fields, chunks, max_bytes)
    if asked.find:
        return _found(fields, chunks, asked, max_bytes)
    return read_on(fields, chunks, max_bytes, asked.from_chunk, asked.from_offset)


def _found(fields: dict[str, object], chunks: Sequence[Chunk], asked: More, max_bytes: int) -> dict[str, object]:
    from spaniel.chunking.fit import fit_found
    from spaniel.chunking.search import search

    before = asked.from_chunk - 1
    found = search(chunks[before:], asked.find, len(chunks))
    numbers = [before + match.number for match in found[:MOST_FOUND]]
    return fit_found({**fields, "matches": len(found)}, chunks, numbers, max_bytes)


def _noted(answer: Answer) -> Answer:
    """Somebody else may have fetched it meanwhile."""
    return answer if answer.served_at else answer._replace(notes=(*answer.notes, FETCHED_AGAIN))
