"""Content encodings: whatever was encoded comes back, wherever the network cut it; what was not, is refused."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import sys
import zlib
from collections.abc import Callable, Iterator
from unittest import mock

import brotli
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spaniel.errors import SpanielError
from spaniel.net import encodings
from spaniel.net.encodings import BAD_DATA, DecoderChain
from spaniel.net.http import RequestOptions
from tests.net.harness import open_harness
from tests.net.servers import Wire, answer, answering, serve
from tests.stopwatch import Stopwatch

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CAP = 1 << 24


def raw_deflate(body: bytes) -> bytes:
    squeeze = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return squeeze.compress(body) + squeeze.flush()


def stored_deflate(body: bytes) -> bytes:
    return zlib.compress(body, 0)


def many_members(body: bytes) -> bytes:
    """RFC 1952 2.2: a gzip file is a series of members, empty ones among them."""
    return b"".join(gzip.compress(body[at : at + 7]) for at in range(0, len(body), 7)) + gzip.compress(b"")


def many_frames(body: bytes) -> bytes:
    """RFC 8878 3.1: frames one after another, skippable ones between them."""
    skippable = b"\x50\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"abc"
    return b"".join(zstd.compress(body[at : at + 7]) + skippable for at in range(0, len(body), 7)) + zstd.compress(b"")


ENCODERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "gzip of many members": ("x-gzip", many_members),
    "deflate": ("deflate", zlib.compress),
    "stored deflate": ("deflate", stored_deflate),
    "raw deflate": ("deflate", raw_deflate),
    "brotli": ("br", brotli.compress),
    "zstd": ("zstd", zstd.compress),
    "zstd of many frames": ("zstd", many_frames),
}
NAMES = sorted(ENCODERS)
SINGLE = [name for name in NAMES if "many" not in name]


def undo(header: str, *pieces: bytes, cap: int = CAP) -> bytes:
    chain = DecoderChain(header, cap)
    body = b"".join(decoded for piece in pieces for decoded in chain.feed(piece))
    chain.close()
    return body


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """Every place is taken as it falls, so that some pieces are empty and some are single bytes."""
    marks = sorted(place % (len(data) + 1) for place in places)
    return [data[start:end] for start, end in zip([0, *marks], [*marks, len(data)], strict=True)]


@contextlib.contextmanager
def small_pieces(size: int) -> Iterator[None]:
    """The bound of one step, so low that ordinary bodies run into it."""
    with mock.patch.object(encodings, "PIECE", size):
        yield


bodies = st.one_of(
    st.binary(max_size=300),
    st.builds(lambda byte, times: bytes([byte]) * times, st.integers(0, 255), st.integers(0, 5_000)),
)


@pytest.mark.req("FR-WF-10c")
@settings(max_examples=150)
@given(bodies, st.lists(st.sampled_from(NAMES), max_size=2), st.lists(st.integers(0, 10_000), max_size=8), st.data())
@example(b"abc" * 30, ["gzip of many members"], [20, 27, 28], None)
@example(b"abc", ["deflate", "brotli"], [1, 1, 2], None)
def test_any_body_through_any_two_encoders_cut_anywhere_decodes_to_itself(
    body: bytes, names: list[str], places: list[int], data: st.DataObject | None
) -> None:
    encoded = body
    for name in names:
        encoded = ENCODERS[name][1](encoded)
    header = ", ".join(ENCODERS[name][0] for name in names)
    with small_pieces(data.draw(st.sampled_from([1, 16, 258, 1 << 16])) if data else 16):
        assert undo(header, *cut(encoded, places)) == body
    if len(encoded) < 500:
        assert undo(header, *(encoded[at : at + 1] for at in range(len(encoded)))) == body


@pytest.mark.req("FR-WF-10c")
@pytest.mark.parametrize("size", [65_535, 65_536, 65_537, 131_072, 1_000_000])
@pytest.mark.parametrize("name", SINGLE)
def test_a_body_of_whole_steps_ends_where_it_ends(name: str, size: int) -> None:
    """With all input taken and a full piece given, there may be more: raw deflate has no trailer to tell."""
    header, encode = ENCODERS[name]
    encoded = encode(bytes(size))
    assert undo(header, encoded) == undo(header, encoded[:-1], encoded[-1:]) == bytes(size)


@pytest.mark.req("NFR-WF-REL-03")
@pytest.mark.parametrize("name", SINGLE)
def test_a_stream_cut_short_anywhere_is_never_taken_for_a_whole_one(name: str) -> None:
    header, encode = ENCODERS[name]
    encoded = encode(bytes(range(200)))
    assert undo(header) == undo(header, b"") == b""  # an empty body is an empty body, whatever its header says
    for end in range(1, len(encoded)):
        with pytest.raises(BAD_DATA):
            undo(header, encoded[:end])


@pytest.mark.req("FR-WF-10c")
@settings(max_examples=150)
@given(
    st.sampled_from(NAMES),
    st.one_of(st.binary(min_size=1, max_size=40), st.sampled_from([b"\x1f", b"\x1f\x8b", b"\0" * 9, b"\x28\xb5"])),
    st.lists(st.integers(0, 10_000), max_size=4),
)
def test_junk_after_the_end_has_one_outcome_wherever_it_is_cut(name: str, junk: bytes, places: list[int]) -> None:
    header, encode = ENCODERS[name]
    body = b"body" * 60_000 if name in SINGLE else b"body"
    sent = encode(body) + junk

    def outcome(pieces: list[bytes]) -> bytes | str:
        try:
            return undo(header, *pieces)
        except BAD_DATA:
            return "refused"

    assert outcome(cut(sent, places)) == outcome([sent])
    assert outcome([sent]) in (body, "refused")


@pytest.mark.req("FR-WF-10c")
@given(st.sampled_from(["gzip", "deflate", "br", "zstd", "gzip, br", "deflate, zstd"]), st.binary(max_size=200))
def test_no_bytes_whatever_raise_anything_but_bad_data(header: str, noise: bytes) -> None:
    with contextlib.suppress(*BAD_DATA):
        undo(header, noise)


@pytest.mark.req("FR-WF-10c")
@pytest.mark.parametrize("name", NAMES)
async def test_every_encoding_is_undone_over_the_wire(name: str) -> None:
    header, encode = ENCODERS[name]
    sent = answer(200, encode(b"hello" * 99), f"Content-Encoding: {header}")
    async with serve(answering(sent)) as server, open_harness(server) as harness:
        assert (await harness.get(server.url())).body == b"hello" * 99


@pytest.mark.req("NFR-WF-REL-03", "FR-WF-19")
@pytest.mark.parametrize("name", NAMES)
async def test_an_encoded_body_cut_short_brings_nothing(name: str) -> None:
    header, encode = ENCODERS[name]
    sent = answer(200, encode(b"hello" * 99)[:-3], f"Content-Encoding: {header}")
    async with serve(answering(sent)) as server, open_harness(server) as harness:
        await harness.refuses(server.url(), "network")


@pytest.mark.req("FR-WF-10e")
@pytest.mark.parametrize("name", ["gzip", "deflate", "raw deflate", "brotli", "zstd"])
async def test_a_bomb_ends_at_the_cap_however_small_it_was_sent(name: str) -> None:
    header, encode = ENCODERS[name]
    cap = 1 << 20
    for layers in (1, 2):
        bomb = bytes(50 * cap)
        for _ in range(layers):
            bomb = encode(bomb) if name != "brotli" else brotli.compress(bomb, quality=3)
        assert len(bomb) < cap / 5
        sent = answer(200, bomb, "Content-Encoding: " + ", ".join([header] * layers))
        async with (
            serve(answering(sent)) as server,
            open_harness(server, options=RequestOptions(max_bytes=cap)) as harness,
        ):
            error = await harness.refuses(server.url(), "response_too_large")
            assert cap < int(str(error.details["size"])) <= cap + (1 << 16)  # counted as it came, a step at a time
            assert await server.all_closed()


@pytest.mark.req("FR-WF-10e")
def test_the_cap_is_the_last_byte_that_passes() -> None:
    cap = 10_000
    noise = bytes(i * i % 251 for i in range(cap))
    assert len(undo("gzip", gzip.compress(noise), cap=cap)) == cap
    with pytest.raises(SpanielError, match="larger than 10 bytes"):
        undo("gzip", gzip.compress(noise), cap=10)


@pytest.mark.req("FR-WF-10e")
def test_two_encodings_may_not_both_reach_far_back() -> None:
    """A decoder holds its window: one of 16 MiB is borne, two took six times the usual cap."""
    for window in range(10, 25):
        encoded = brotli.compress(b"body", lgwin=window)
        assert undo("br", encoded) == b"body"
        for header, sent in (
            ("identity, br, gzip", gzip.compress(encoded)),
            ("gzip, br", brotli.compress(gzip.compress(b"body"), lgwin=window)),
        ):
            if window > 22:
                with pytest.raises(BAD_DATA, match="window"):
                    undo(header, sent)
            else:
                assert undo(header, sent) == b"body"
    wide = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 24})
    with pytest.raises(BAD_DATA):  # RFC 9659: no more than 8 MiB
        undo("zstd", wide.compress(bytes(100), mode=zstd.ZstdCompressor.FLUSH_BLOCK))


EMPTY = {"gzip": gzip.compress(b"", 9), "zstd": zstd.compress(b"")}


@pytest.mark.req("FR-WF-10e", "FR-WF-10a")
@pytest.mark.parametrize("inner", sorted(EMPTY))
async def test_an_encoding_around_nothing_at_all_cannot_hold_up_the_loop(inner: str) -> None:
    """120 MB of streams that are each empty, in a few kilobytes: no byte comes out, so no byte would be counted."""
    nothing = EMPTY[inner] * (120_000_000 // len(EMPTY[inner]))
    sent = answer(200, brotli.compress(nothing, quality=5), f"Content-Encoding: {inner}, br")
    assert len(sent) < 100_000
    late = 0.0

    async def watch() -> None:
        nonlocal late
        while True:
            tick = Stopwatch()
            await asyncio.sleep(0.01)
            late = max(late, tick.seconds)

    async with serve(answering(sent)) as server, open_harness(server) as harness:
        watching = asyncio.create_task(watch())
        await harness.refuses(server.url(), ("response_too_large", "timeout"), 1.0)
        watching.cancel()
        assert late < 1.0, f"the loop stood still for {late:.2f} s"


@pytest.mark.req("FR-WF-10e", "FR-WF-10a")
async def test_a_body_that_comes_byte_by_byte_is_put_together() -> None:
    body = bytes(range(256)) * 4

    async def behave(wire: Wire) -> None:
        await wire.request()
        await wire.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n")
        for byte in gzip.compress(body):
            await wire.send(b"1\r\n%c\r\n" % byte)
            await asyncio.sleep(0)
        await wire.send(b"0\r\n\r\n")

    async with serve(behave) as server, open_harness(server) as harness:
        assert (await harness.get(server.url())).body == body
