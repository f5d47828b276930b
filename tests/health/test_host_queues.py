"""Which host next, with which links, in how many hands; what is counted of hosts when it is over."""

from __future__ import annotations

import pytest

from spaniel.health.host_queues import HostQueue, HostQueues
from spaniel.health.ports import Heard, HostCounts
from spaniel.health.spool import Spool
from spaniel.health.verdict import Checked, Link
from spaniel.verdicts import Verdict
from tests.health.test_run import links_at, spool_of


def at(host: str, each: int) -> list[Link]:
    return [Link(f"http://{host}/{number}") for number in range(each)]


def answered(spool: Spool, url: str, heard: Heard) -> None:
    """In an earlier part of the run."""
    assert spool.answered(url, Checked(Link(url), Verdict.OK), heard) is not None


def ask(queues: HostQueues, queue: HostQueue) -> str:
    """Take the next link of a host up."""
    queues.links(queue)
    return queue.take().asked


def test_a_host_may_ask_for_so_much_in_all_and_what_is_heard_twice_counts_once() -> None:
    queue = HostQueue("a", 5, None)
    assert queue.wait(100.0, 30.0, 120.0)
    assert (queue.waits_until, queue.waited) == (130.0, 30.0)
    assert queue.wait(110.0, 10.0, 120.0)  # said before that is over: no more than is waited for anyway
    assert queue.wait(110.0, 20.0, 120.0)
    assert (queue.waits_until, queue.waited) == (130.0, 30.0)
    assert queue.wait(110.0, 20.5, 120.0)
    assert (queue.waits_until, queue.waited) == (130.5, 30.5)
    assert not queue.wait(200.0, 89.6, 120.0)
    assert (queue.waits_until, queue.waited) == (130.5, 30.5)
    assert queue.wait(200.0, 89.5, 120.0)
    assert (queue.waits_until, queue.waited) == (289.5, 120.0)
    assert not queue.wait(300.0, 0.1, 120.0)


def test_a_host_that_may_be_asked_goes_first_and_then_the_one_with_most_links() -> None:
    queues = HostQueues(spool_of([*at("few", 1), *at("many", 3), *at("some", 2)]))
    many = queues.next(0.0)
    assert many is not None
    assert (many.host, many.left, many.unasked) == ("many", 3, 3)
    assert queues.is_ready(0.0)  # others were not even taken up
    assert ask(queues, many) == "http://many/0"
    queues.give_back(many, 10.0)
    some = queues.next(9.9)
    assert some is not None
    assert some.host == "some"
    assert queues.next(10.0) is many
    assert ask(queues, many) == "http://many/1"
    queues.give_back(many, 20.0)
    few = queues.next(10.0)
    assert few is not None
    assert few.host == "few"
    assert queues.next(10.0) is None
    assert not queues.is_ready(19.9)
    assert queues.is_ready(20.0)
    assert queues.soonest() == 20.0


def test_of_those_that_wait_the_soonest_is_next_and_of_equals_the_first() -> None:
    queues = HostQueues(spool_of(links_at(hosts=3, each=2)))
    assert queues.soonest() is None
    hosts = [queues.next(0.0) for _ in range(3)]
    assert queues.next(0.0) is None
    for queue, due in zip(hosts, (7.0, 5.0, 7.0), strict=True):
        assert queue is not None
        ask(queues, queue)
        queues.give_back(queue, due)
    assert queues.soonest() == 5.0
    assert sorted(queues.waiting(6.0)) == [("0.example", 1.0, 2), ("2.example", 1.0, 2)]
    assert sorted(host for host, _, _ in queues.waiting(4.0)) == ["0.example", "1.example", "2.example"]
    assert [queues.next(7.0) for _ in range(3)] == [hosts[1], hosts[0], hosts[2]]


def test_it_is_over_when_nobody_has_a_host_and_none_is_left() -> None:
    queues = HostQueues(spool_of(at("a", 2)))
    assert not queues.is_over()
    queue = queues.next(0.0)
    assert queue is not None
    assert queues.next(0.0) is None
    assert not queues.is_over()
    ask(queues, queue)
    queues.give_back(queue, 0.0)
    assert not queues.is_over()
    assert queues.next(0.0) is queue
    ask(queues, queue)
    assert not queues.is_over()
    queues.give_back(queue, 0.0)
    assert queues.is_over()
    assert queues.soonest() is None


def test_so_many_links_are_read_together_and_each_comes_once() -> None:
    """Memory goes with the hosts that are under way, not with their links."""
    queues = HostQueues(spool_of(at("a", 40)))
    queue = queues.next(0.0)
    assert queue is not None
    sizes, asked = [], []
    while queue.unasked:
        sizes.append(len(queues.links(queue)))
        asked.append(queue.take().asked)
    assert [size for size in sizes if size] == [16, 16, 8]
    assert asked == [f"http://a/{number}" for number in range(40)]


def test_what_is_put_back_is_next() -> None:
    queues = HostQueues(spool_of(at("a", 3)))
    queue = queues.next(0.0)
    assert queue is not None
    queues.links(queue)
    first = queue.take()
    queue.put_back(first)
    assert queue.unasked == 3
    assert queue.take() is first


def test_a_host_is_shared_after_its_first_link_in_as_many_hands_as_may_be() -> None:
    queues = HostQueues(spool_of(at("a", 5)), 2)
    queue = queues.next(0.0)
    assert queue is not None
    for _ in range(1):  # alone
        ask(queues, queue)
        assert not queues.share(queue)
        queues.give_back(queue, 0.0)
        assert queues.next(0.0) is queue
    ask(queues, queue)
    assert queues.share(queue)
    assert not queues.share(queue)  # it is there already
    assert queues.is_ready(0.0)
    assert queues.next(0.0) is queue
    ask(queues, queue)
    assert not queues.share(queue)  # in two hands, and that is enough
    assert queues.next(0.0) is None
    queues.give_back(queue, 5.0)
    queues.give_back(queue, 9.0)
    assert queues.soonest() == 5.0
    assert queues.next(5.0) is queue
    ask(queues, queue)
    assert queues.share(queue)
    assert queues.next(5.0) is queue
    ask(queues, queue)
    assert not queues.share(queue)  # there is nothing left to ask
    queues.give_back(queue, 5.0)
    assert not queues.is_over()
    assert queues.counts == HostCounts()
    queue.hear(Heard.ANSWER)
    queues.give_back(queue, 5.0)
    assert queues.is_over()
    assert queues.counts == HostCounts(asked=1, reached=1)  # once, however many had it


@pytest.mark.req("LH-01")
@pytest.mark.parametrize(
    ("heard", "counts"),
    [
        ((Heard.ANSWER,), HostCounts(1, reached=1)),
        ((Heard.LOOKUP_ANSWER, Heard.ANSWER, Heard.LOOKUP_ANSWER), HostCounts(1, reached=1)),
        ((Heard.NO_LOOKUP_ANSWER, Heard.LOOKUP_ANSWER), HostCounts(1, looked_up=1)),
        ((Heard.NO_LOOKUP_ANSWER,), HostCounts(1, unanswered=1)),
        ((Heard.SILENT,), HostCounts(1)),
        ((None,), HostCounts()),
    ],
)
@pytest.mark.parametrize("is_left", [False, True])
def test_a_host_counts_once_it_was_asked(heard: tuple[Heard | None, ...], counts: HostCounts, is_left: bool) -> None:
    queues = HostQueues(spool_of(at("a", 2 if is_left else 1)))
    queue = queues.next(0.0)
    assert queue is not None
    ask(queues, queue)
    for each in heard:
        queue.hear(each)
    queues.give_back(queue, 0.0)
    assert queues.counts == (HostCounts() if is_left else counts)
    queues.count_the_rest()
    assert queues.counts == counts


@pytest.mark.req("LH-01")
def test_what_hosts_said_in_an_earlier_part_of_the_run_still_counts() -> None:
    spool = spool_of([*at("done", 1), *at("mute", 1), *at("begun", 3), *at("silent", 2), *at("new", 1)])
    earlier = {"done/0": Heard.ANSWER, "mute/0": Heard.NO_LOOKUP_ANSWER, "begun/0": Heard.ANSWER}
    for url, heard in (earlier | {"silent/0": Heard.SILENT}).items():
        answered(spool, f"http://{url}", heard)
    queues = HostQueues(spool)
    assert queues.counts == HostCounts(2, reached=1, unanswered=1)
    found = {}
    while (queue := queues.next(0.0)) is not None:
        found[queue.host] = queue.left, queue.heard
    assert found == {"begun": (2, Heard.ANSWER), "silent": (1, Heard.SILENT), "new": (1, None)}


def test_the_rest_is_all_that_nobody_has_asked() -> None:
    queues = HostQueues(spool_of([*at("a", 20), *at("b", 2), *at("c", 1)]))
    queue = queues.next(0.0)
    assert queue is not None
    assert ask(queues, queue) == "http://a/0"
    queues.give_back(queue, 100.0)
    rest = [queued.asked for queued in queues.rest()]
    assert sorted(rest) == sorted([*(f"http://a/{n}" for n in range(1, 20)), "http://b/0", "http://b/1", "http://c/0"])
