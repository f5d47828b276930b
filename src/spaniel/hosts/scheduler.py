"""The scheduler: decides which item of a run is next, and runs up to a number of them at the same time.

There is a queue for each host, and a heap of hosts by the time at which they may be requested. Hosts with the most
items come first. A host is loaded when a place is free and no other host is ready, so the number of hosts in memory
depends on what is running, not on what is left to do; the others stay in the item source. Usually one item of a host
runs at a time. If its rules allow more, they start when nothing else is ready. An item that waits, for its host or
before a retry, gives its place to others.
"""

from __future__ import annotations

import asyncio
from collections import deque
from heapq import heappop, heappush
from itertools import chain, count
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from spaniel.hosts.hosts import Hosts, current_place
from spaniel.hosts.limits import host_time_over, total_time_over

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence
    from datetime import datetime

    from spaniel.clock import Clock
    from spaniel.errors import SpanielError
    from spaniel.hosts.limits import HostLimits
    from spaniel.net.addresses import Address
    from spaniel.net.resolver import Resolver

AHEAD = 16  # items of a host that are read together
SOON = 5.0  # seconds; a host that waits longer than this keeps no items in memory
LIVE_PER_PLACE, LEAST_LIVE = 3, 1000  # hosts that are due soon: enough that one is always ready (Mercator)
MOST_WAITING = 3  # items that wait for a turn at a host, for each place
MOST_RESTING = 32  # items that wait before a retry, for each place: some 10 KB each
LONGEST_TURN = 2.0  # seconds that an item may wait for a turn at another host; then it waits in that host's queue
MOST_MOVES = 3  # of one item from host to host
NEVER = float("inf")
# What a lease does: its work, waiting for a turn, waiting before a retry, work that needs no place, nothing any more.
RUNNING, WAITING, RESTING, FREE, ENDED = "running", "waiting", "resting", "free", "ended"


class QueuedItem(Protocol):
    @property
    def id(self) -> int: ...


T = TypeVar("T", bound=QueuedItem)
T_co = TypeVar("T_co", bound=QueuedItem, covariant=True)


class Items(Protocol[T_co]):
    """Where items come from: a run store, or a list in memory."""

    def hosts(self) -> Iterator[tuple[str, int]]:
        """Hosts with unfinished items, and how many; those with most first."""

    def of_host(self, host: str, after: int, count: int, /) -> Sequence[T_co]:
        """Unfinished items of a host whose `id` is above `after`, in their order."""


class Readiness(Protocol):
    """What is known of hosts: `Hosts`, or something around it."""

    def ready_at(self, host: str, /) -> float:
        """When a request that is asked for now would begin."""

    def places(self, host: str, /) -> int:
        """How many requests may be under way there."""

    def reason(self, host: str, /) -> str:
        """Why it is waited for."""

    def given_up(self, host: str, /) -> SpanielError | None: ...


class Waiting(NamedTuple):
    """A host that is waited for."""

    host: str
    seconds: float
    reason: str
    left: int  # items


class _Moved(NamedTuple):
    """An item that waits at another host than its own."""

    host: str  # its own
    id: int
    times: int


class _Queue(Generic[T]):
    """One host that has unfinished items."""

    __slots__ = (
        *("after", "again", "begun", "buffer", "host", "in_heap", "is_far", "is_first", "is_shared", "moved", "out"),
        *("refusal", "unread"),
    )

    def __init__(self, host: str) -> None:
        self.host = host
        self.unread = 0  # items that are still in the source, of which some are in `buffer`
        self.after = 0  # the last item that was read
        self.buffer: deque[T] = deque()
        self.again: deque[T] = deque()  # items that are to be tried once more
        self.moved: deque[_Moved] = deque()  # items of other hosts that redirect here
        self.begun = 0  # items that are begun and not finished
        self.out = 0  # of these, without those that wait before a retry
        self.is_first = True  # the first item is alone: it shows how the host behaves
        self.in_heap = self.is_far = self.is_shared = False
        self.refusal: SpanielError | None = None

    @property
    def left(self) -> int:
        """Items that are not under way."""
        return self.unread + len(self.again) + len(self.moved)


class Lease(Generic[T]):
    """An item, and a place to work on it. It is finished when its work ends, unless `retry` was called."""

    __slots__ = (
        *("due", "is_dropped", "moved", "queue", "_rested", "_scheduler", "state", "task", "_wake"),
        *("host", "item", "refusal"),
    )

    def __init__(self, scheduler: Scheduler[T], queue: _Queue[T], item: T, moved: _Moved | None) -> None:
        self._scheduler, self.queue, self.item, self.refusal = scheduler, queue, item, queue.refusal
        self.host = queue.host  # in whose queue it was: its own, or one that it redirects to
        self.moved = moved
        self.state = RUNNING if queue.refusal is None else FREE
        self.due: float | str | None = None  # seconds after which it is tried again, or the host that it moves to
        self._rested = self.is_dropped = False
        self.task: asyncio.Task[None] | None = None
        self._wake: asyncio.Future[None] | None = None

    def retry(self, after: float = 0.0) -> None:
        """When its work ends, the item goes back to its host's queue; to be tried after so many seconds."""
        self.due = after

    def finish(self) -> None:
        """The item is finished. What its work still does holds its host, and no place."""
        if self.state is RUNNING:
            self._scheduler.change(self, FREE)

    @property
    def left(self) -> int:
        """Other items of its host that are unfinished."""
        return self.queue.left + self.queue.begun - 1

    async def sleep(self, seconds: float, clock: Clock) -> None:
        """Before a request is repeated: others have the place and the host meanwhile. It ends early where the host is
        given up."""
        if self.state is not RUNNING:  # it sleeps already, or its work has ended
            await clock.sleep(seconds)
            return
        self._rested = True
        self._wake = wake = asyncio.get_running_loop().create_future()
        sleep = asyncio.ensure_future(clock.sleep(seconds))
        sleep.add_done_callback(lambda _: self.wake())
        self._scheduler.change(self, RESTING)
        try:
            await wake
            await self.come_back()
        except BaseException:
            self.take_back()
            raise
        finally:
            self._wake = None
            sleep.cancel()

    # A request of this item waits for its turn at a host.

    def may_move(self, host: str, seconds: float) -> bool:
        """To the queue of the host that it would wait for. An item that has slept has been asked for before: begun
        anew, it would be asked for more often than its retries allow."""
        if not self._scheduler.moves or seconds <= LONGEST_TURN or self._rested:
            return False
        if (self.moved and self.moved.times >= MOST_MOVES) or self.due is not None:
            return False
        if self.task is None or self.state in (FREE, ENDED):
            return False
        self.due = host
        self.task.cancel()
        return True

    def leave(self) -> None:
        if self.state is RUNNING:
            self._scheduler.change(self, WAITING)

    async def come_back(self) -> None:
        if self.state in (WAITING, RESTING):
            await self._scheduler.rise(self)

    def take_back(self) -> None:
        if self.state in (WAITING, RESTING):
            self._scheduler.change(self, RUNNING)

    def wake(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    def drop(self) -> None:
        """Its work ends now, and the item stays unfinished."""
        if self.task is not None and self.state not in (FREE, ENDED) and not self.is_dropped:
            self.is_dropped = True
            self.task.cancel()


class PlaceClock:
    """A clock by which a fetch sleeps without its place in the run."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.now: Callable[[], datetime] = clock.now
        self.monotonic: Callable[[], float] = clock.monotonic

    async def sleep(self, seconds: float) -> None:
        lease = current_place.get()
        await (lease.sleep(seconds, self._clock) if isinstance(lease, Lease) else self._clock.sleep(seconds))


class PlaceResolver:
    """A resolver whose lookups hold no place in the run: a name server that does not answer holds up no other host."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    async def resolve(self, host: str) -> Sequence[Address]:
        place = current_place.get()
        if place is None:
            return await self._resolver.resolve(host)
        place.leave()
        try:
            found = await self._resolver.resolve(host)
        except BaseException:
            place.take_back()
            raise
        await place.come_back()
        return found


class Scheduler(Generic[T]):
    """Works on all items of a source: `await scheduler.run(work)`."""

    def __init__(  # noqa: PLR0913
        self,
        items: Items[T],
        hosts: Readiness,
        clock: Clock,
        *,
        at_once: int,
        moves: bool = False,
        first_alone: bool = True,
        more: Callable[[], object] | None = None,
    ) -> None:
        """`moves`: an item whose redirect leads to a host that has no time waits in that host's queue.
        `first_alone`: no other item of a host is begun before the first has ended.
        `more`: called when there is a place and nothing left to begin; `extend` or `no_more` is called after it."""
        self._first_alone = first_alone
        self._items, self._hosts, self._clock, self._at_once, self.moves = items, hosts, clock, at_once, moves
        self._limits: HostLimits | None = None
        if isinstance(hosts, Hosts):
            self._limits = hosts.limits
            hosts.on_give_up(self.give_up)
        self._more, self._is_more_asked = more, False
        self._sources = items.hosts()
        self._all_taken_up = False
        self._queues: dict[str, _Queue[T]] = {}  # hosts in memory
        self._heap: list[tuple[float, int, _Queue[T]]] = []
        self._far = 0  # hosts in it that wait long
        self._shared: deque[_Queue[T]] = deque()
        self._refused: deque[_Queue[T]] = deque()  # hosts that were given up and have items left
        self._delayed: list[tuple[float, int, _Queue[T], T]] = []  # items that are tried again later
        self._host_ends: deque[tuple[float, str]] = deque()
        self._order = count()  # of two that are due at one time, the first to come
        self._leases: set[Lease[T]] = set()
        self._count = dict.fromkeys((RUNNING, WAITING, RESTING, FREE, ENDED), 0)  # of leases, by state
        self._rising: deque[tuple[Lease[T], asyncio.Future[None]]] = deque()
        self._idle: list[asyncio.Future[Lease[T]]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._alarm: asyncio.Task[None] | None = None
        self._alarm_at = NEVER
        self._is_stopping = self._is_paused = self._is_called = False
        self._over: SpanielError | None = None  # the time for the run is
        self._ends_at = NEVER
        self._end: asyncio.Future[None] | None = None
        self._work: Callable[[Lease[T]], Awaitable[None]] | None = None

    # running

    async def run(self, work: Callable[[Lease[T]], Awaitable[None]]) -> bool:
        """Work on every item; whether all are finished. What `work` raises ends the run."""
        self._work = work
        self._end = asyncio.get_running_loop().create_future()
        if self._limits is not None and self._limits.total_time:
            self._ends_at = self._clock.monotonic() + self._limits.total_time
        try:
            self._dispatch()
            await self._end
        finally:
            self._cancel_alarm()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        return not self._is_stopping

    def add(self, host: str, item: T) -> None:
        """One more item, which is not in the source: before the run, while it lasts, or for the next `run`."""
        queue = self._queue(host)
        queue.again.append(item)
        self._put(queue)
        self._share(queue)
        if self._end is not None:
            self._dispatch_soon()

    def extend(self, hosts: Iterator[tuple[str, int]]) -> None:
        """Further hosts of the source."""
        self._sources, self._all_taken_up, self._is_more_asked = chain(self._sources, hosts), False, False
        self._dispatch_soon()

    def no_more(self) -> None:
        """The run ends with the items that it has."""
        self._more = None
        self._dispatch_soon()

    @property
    def has_items(self) -> bool:
        """Whether anything is left to begin."""
        return bool(self._heap or self._delayed or self._refused or not self._all_taken_up)

    def stop(self) -> None:
        """Begin nothing more. What waits for a host has not begun either, and is dropped."""
        self._is_stopping = True
        for lease in list(self._leases):
            if lease.state in (WAITING, RESTING):
                lease.drop()
        self._dispatch()

    def pause(self) -> None:
        """Begin nothing until `resume`: the writer of the results is behind."""
        self._is_paused = True

    def resume(self) -> None:
        if self._is_paused:
            self._is_paused = False
            self._dispatch()

    def give_up(self, host: str, error: SpanielError) -> None:
        """The items that are left of a host come with this refusal, and need no place."""
        queue = self._queues.get(host)
        for lease in list(self._leases) if self._count[RESTING] else ():
            if lease.host == host:
                lease.wake()  # what it does next is not at this host
        if queue is not None and queue.refusal is None:
            self._refuse(queue, error)
            self._dispatch_soon()

    def give_up_all(self, error: SpanielError) -> None:
        """All items that are left come with this refusal."""
        if self._over is not None:
            return
        self._over = error
        if isinstance(self._hosts, Hosts):
            self._hosts.close(error)
        for queue in list(self._queues.values()):
            self._refuse(queue, error)
        while self._delayed:
            _, _, queue, item = heappop(self._delayed)
            queue.again.append(item)
            self._refuse(queue, error)
        for lease in list(self._leases):
            lease.wake()
        self._dispatch_soon()

    @property
    def under_way(self) -> int:
        return len(self._leases)

    def waiting(self) -> Iterator[Waiting]:
        """Hosts that are waited for."""
        now = self._clock.monotonic()
        for due, _, queue in self._heap:
            if due > now and queue.refusal is None:
                yield Waiting(queue.host, due - now, self._hosts.reason(queue.host), queue.left)

    def rest(self) -> Iterator[T]:
        """All items that were not begun, once the run has ended."""
        for queue in list(self._queues.values()):
            while queue.left and (found := self._read(queue)) is not None:
                yield found[0]
        while (taken := self._take_up()) is not None:
            while taken.left and (found := self._read(taken)) is not None:
                yield found[0]
        for _, _, _, item in self._delayed:
            yield item

    # which item next

    def _next(self) -> Lease[T] | None:
        """An item that may be begun now."""
        if self._is_stopping or self._is_paused:
            return None
        if (self._refused or self._over is not None) and (lease := self._next_refusal()) is not None:
            return lease
        if not self._has_place():
            return None
        now = self._clock.monotonic()
        while (queue := self._next_due(now) or self._next_new() or self._next_shared()) is not None:
            at = self._hosts.ready_at(queue.host)
            if queue.refusal is not None:  # looking at the host has shown that it is to be given up
                if (lease := self._next_refusal()) is not None:
                    return lease
            elif at > now and at > self._clock.monotonic():
                self._push(queue, at)
            elif (lease := self._begin(queue)) is not None:
                return lease
        return None

    def _has_place(self) -> bool:
        """Items that wait take no place, up to a bound."""
        most, running = self._at_once, self._count[RUNNING]
        if running + len(self._rising) >= most:
            return False
        waiting, resting = self._count[WAITING] - MOST_WAITING * most, self._count[RESTING] - MOST_RESTING * most
        return running + max(0, waiting) + max(0, resting) < most

    def _next_due(self, now: float) -> _Queue[T] | None:
        while self._delayed and self._delayed[0][0] <= now:
            _, _, queue, item = heappop(self._delayed)
            queue.again.append(item)
            self._put(queue)
        while self._heap and self._heap[0][0] <= now:
            queue = self._pop()
            if queue.refusal is None and queue.left:
                return queue
        return None

    def _next_new(self) -> _Queue[T] | None:
        """A host from the source. Those that wait long are not counted: no number of them keeps the rest waiting."""
        if self._all_taken_up:
            self._ask_for_more()
            return None
        most = max(LIVE_PER_PLACE * self._at_once, LEAST_LIVE)
        if len(self._queues) >= most + self._far:
            return None
        while (queue := self._take_up()) is not None:
            if queue.refusal is None and not queue.in_heap:
                return queue
        self._ask_for_more()
        return None

    def _ask_for_more(self) -> None:
        if self._more is not None and not self._is_more_asked:
            self._is_more_asked = True
            self._more()

    def _take_up(self) -> _Queue[T] | None:
        if self._all_taken_up:
            return None
        found = next(self._sources, None)
        if found is None:
            self._all_taken_up = True
            return None
        host, items = found
        queue = self._queue(host)
        queue.unread = items
        if (error := self._over or self._hosts.given_up(host)) is not None:
            self._refuse(queue, error)
        return queue

    def _queue(self, host: str) -> _Queue[T]:
        queue = self._queues.get(host)
        if queue is None:
            queue = self._queues[host] = _Queue(host)
        return queue

    def _next_shared(self) -> _Queue[T] | None:
        while self._shared:
            queue = self._shared.popleft()
            queue.is_shared = False
            if self._may_share(queue):
                return queue
        return None

    def _share(self, queue: _Queue[T]) -> None:
        if not queue.is_shared and self._may_share(queue):
            queue.is_shared = True
            self._shared.append(queue)

    def _may_share(self, queue: _Queue[T]) -> bool:
        if (queue.is_first and self._first_alone) or queue.in_heap or queue.refusal is not None or not queue.left:
            return False
        return 0 < queue.out < self._hosts.places(queue.host)

    def _next_refusal(self) -> Lease[T] | None:
        """An item of a host that was given up."""
        while self._refused or (self._over is not None and self._take_up() is not None):
            queue = self._refused[0]
            if queue.left and (lease := self._begin(queue)) is not None:
                return lease
            if not queue.left:
                self._refused.popleft()
                self._retire(queue)
        return None

    def _refuse(self, queue: _Queue[T], error: SpanielError) -> None:
        if queue.refusal is None:
            queue.refusal = error
            self._refused.append(queue)
        elif queue not in self._refused:
            self._refused.append(queue)

    def _begin(self, queue: _Queue[T]) -> Lease[T] | None:
        found = self._read(queue)
        if found is None:  # the source has fewer than it said
            self._retire(queue)
            return None
        lease = Lease(self, queue, *found)
        if queue.is_first and self._limits is not None and self._limits.host_time:
            self._host_ends.append((self._clock.monotonic() + self._limits.host_time, queue.host))
        queue.out += 1
        queue.begun += 1
        self._leases.add(lease)
        self._count[lease.state] += 1
        self._share(queue)
        return lease

    def _read(self, queue: _Queue[T]) -> tuple[T, _Moved | None] | None:
        if queue.again:
            return queue.again.popleft(), None
        while queue.moved:
            moved = queue.moved.popleft()
            found = self._items.of_host(moved.host, moved.id - 1, 1)
            if found and found[0].id == moved.id:
                return found[0], moved
        if not queue.buffer and queue.unread:
            queue.buffer.extend(self._items.of_host(queue.host, queue.after, AHEAD))
            if not queue.buffer:
                queue.unread = 0
        if not queue.buffer:
            return None
        item = queue.buffer.popleft()
        queue.unread -= 1
        queue.after = item.id
        return item, None

    # where a host stands

    def _push(self, queue: _Queue[T], due: float) -> None:
        queue.in_heap = True
        heappush(self._heap, (due, next(self._order), queue))
        if due > self._clock.monotonic() + SOON:
            queue.is_far = True
            self._far += 1
            queue.buffer.clear()  # they are read again

    def _pop(self) -> _Queue[T]:
        queue = heappop(self._heap)[2]
        queue.in_heap = False
        if queue.is_far:
            queue.is_far = False
            self._far -= 1
        return queue

    def _put(self, queue: _Queue[T]) -> None:
        """A host that has an item to be begun: among those that are ready or wait."""
        if queue.refusal is not None:
            self._refuse(queue, queue.refusal)
        elif queue.left and not queue.in_heap and queue.out < self._hosts.places(queue.host):
            self._push(queue, self._clock.monotonic())  # whether it is ready is looked at when there is a place for it
        elif not queue.left:
            self._retire(queue)

    def _retire(self, queue: _Queue[T]) -> None:
        if queue.left or queue.begun or self._queues.get(queue.host) is not queue:
            return
        if not any(entry[2] is queue for entry in self._delayed):
            del self._queues[queue.host]

    # leases

    def _dispatch(self) -> None:
        """Give out what may be begun; then wait for the next moment at which something may."""
        self._is_called = False
        if self._end is None or self._end.done():
            return
        self._let_rise()
        self._keep_time()
        while (lease := self._next()) is not None:
            while self._idle:
                worker = self._idle.pop()
                if not worker.done():
                    worker.set_result(lease)
                    break
            else:
                task = asyncio.create_task(self._serve(lease))
                self._tasks.add(task)
                task.add_done_callback(self._served)
        self._look_ahead()

    async def _serve(self, lease: Lease[T]) -> None:
        me = asyncio.current_task()
        loop = asyncio.get_running_loop()
        assert me is not None and self._work is not None  # noqa: S101, PT018  it runs, in a run
        while True:
            lease.task = me
            current_place.set(lease)
            try:
                await self._work(lease)
            except asyncio.CancelledError:
                if lease.is_dropped or isinstance(lease.due, str):
                    if me.uncancel():
                        raise
                elif me.cancelling():
                    raise
                else:  # meant for work that had just ended: this item is tried again
                    lease.retry()
            finally:
                self._finish(lease)
            following = self._next()
            if following is None or self._count[RUNNING] < self._at_once:
                self._dispatch()
            if following is None:
                idle: asyncio.Future[Lease[T]] = loop.create_future()
                self._idle.append(idle)
                following = await idle
            lease = following

    def _served(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self._end is not None and not self._end.done() and not task.cancelled():
            error = task.exception()
            if error is not None:
                self._end.set_exception(error)

    def _finish(self, lease: Lease[T]) -> None:
        queue = lease.queue
        self._leases.discard(lease)
        self.change(lease, ENDED)
        queue.out -= 1
        queue.begun -= 1
        queue.is_first = False
        due = lease.due
        if lease.is_dropped:
            queue.again.append(lease.item)
        elif isinstance(due, str):
            self._move(lease, due)
        elif due is not None:
            if due > 0 and self._over is None:
                heappush(self._delayed, (self._clock.monotonic() + due, next(self._order), queue, lease.item))
            else:
                queue.again.appendleft(lease.item)
        self._put(queue)
        if self._rising:
            self._let_rise()

    def _move(self, lease: Lease[T], host: str) -> None:
        queue = self._queue(host)
        before = lease.moved or _Moved(lease.host, 0, 0)
        queue.moved.append(_Moved(before.host, lease.item.id, before.times + 1))
        if queue is not lease.queue:
            self._put(queue)

    def change(self, lease: Lease[T], state: str) -> None:
        """The state of a lease. One that waits before a retry leaves its host to others."""
        before, lease.state = lease.state, state
        self._count[before] -= 1
        self._count[state] += 1
        if before is RESTING:
            lease.queue.out += 1
        elif state is RESTING:
            lease.queue.out -= 1
            self._put(lease.queue)
        if before is RUNNING and state is not ENDED:
            self._dispatch_soon()

    def _dispatch_soon(self) -> None:
        if not self._is_called:
            self._is_called = True
            asyncio.get_running_loop().call_soon(self._dispatch)

    async def rise(self, lease: Lease[T]) -> None:
        """Continue when there is a place, before any item that has not begun."""
        if self._count[RUNNING] >= self._at_once:
            place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._rising.append((lease, place))
            await place  # `_let_rise` has given it
        else:
            self.change(lease, RUNNING)

    def _let_rise(self) -> None:
        while self._rising and self._count[RUNNING] < self._at_once:
            lease, place = self._rising.popleft()
            if not place.done():
                self.change(lease, RUNNING)
                place.set_result(None)

    # time

    def _keep_time(self) -> None:
        """Give up what has had its time: hosts, and the run."""
        now = self._clock.monotonic()
        while self._host_ends and self._host_ends[0][0] <= now:
            host = self._host_ends.popleft()[1]
            if host in self._queues and isinstance(self._hosts, Hosts) and self._limits is not None:
                self._hosts.give_up(host, host_time_over(host, self._limits.host_time))
        if self._ends_at <= now and self._over is None and self._limits is not None:
            self.give_up_all(total_time_over(self._limits.total_time))

    def _look_ahead(self) -> None:
        """End the run, or wait for the next moment at which an item may be begun."""
        assert self._end is not None  # noqa: S101  it is called in a run
        if self._is_over():
            self._end.set_result(None)
            return
        at = self._ends_at if self._over is None else NEVER
        if self._host_ends:
            at = min(at, self._host_ends[0][0])
        if not self._is_stopping and not self._is_paused and self._has_place():
            for heap in (self._heap, self._delayed):
                if heap:
                    at = min(at, heap[0][0])
        if at < self._alarm_at:
            self._cancel_alarm()
            self._alarm_at = at
            self._alarm = asyncio.create_task(self._ring(at))

    def _is_over(self) -> bool:
        if self._leases:
            return False
        if self._is_stopping:
            return True
        while self._heap and (self._heap[0][2].refusal is not None or not self._heap[0][2].left):
            self._pop()
        return self._all_taken_up and self._more is None and not (self._heap or self._delayed or self._refused)

    async def _ring(self, at: float) -> None:
        await self._clock.sleep(max(0.0, at - self._clock.monotonic()))
        self._alarm, self._alarm_at = None, NEVER
        self._dispatch()

    def _cancel_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm, self._alarm_at = None, NEVER
