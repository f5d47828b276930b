"""Sockets are counted for as long as they are open, and go to judged addresses alone."""

from __future__ import annotations

import socket

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.net.deadline import Deadline
from spaniel.net.guard import Guard, Security
from spaniel.net.sockets import MOST_AT_ONCE, MOST_OPEN, Sockets, descriptors, socket_for
from spaniel.testing import FakeResolver
from spaniel.url import parse


def info(address: str) -> tuple[object, ...]:
    return socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, 80)


async def test_a_socket_counts_until_it_is_closed_and_only_once() -> None:
    count = Sockets(1024)
    made = socket_for(None, count)(info("127.0.0.1"))
    assert count.open == 1
    made.close()
    made.close()
    assert count.open == 0


@pytest.mark.req("FR-WF-06a")
async def test_a_socket_is_made_for_an_address_that_passed_and_for_no_other() -> None:
    guard = Guard(FakeResolver(), Security(block_loopback=False, allow_insecure_overrides=True))
    target = await guard.vet(parse("http://site.example/"), Deadline(5))
    count = Sockets(1024)
    make = socket_for(target, count)
    with pytest.raises(SpanielError) as caught:
        make(info("127.0.0.2"))
    assert caught.value.code is Code.SSRF_BLOCKED
    assert count.open == 0
    make(info("127.0.0.1")).close()  # the control


async def test_no_more_sockets_are_used_than_the_system_has_to_spare(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    monkeypatch.setattr("resource.getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert descriptors() == 2 * MOST_AT_ONCE
    monkeypatch.setattr("resource.getrlimit", lambda _: (64, 64))
    assert descriptors() == 64
    assert Sockets(64).keep == 24
    assert Sockets(1 << 20).keep == MOST_OPEN
