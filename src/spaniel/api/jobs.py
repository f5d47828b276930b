"""Jobs: batches and link checks that run beside the service, survive a restart, and resume.

A job is a row in a small database and a folder with its list, its run and its results. A process of its own does the
work (`job_process`), so that a large job slows no request. Several servers may share the folder: each claims jobs, and
one whose server has died is claimed again.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import shutil
import sqlite3
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from spaniel.api.errors import bad_argument, not_found, rate_limited
from spaniel.api.webhooks import Webhook, deliver
from spaniel.database import Database, Layout
from spaniel.errors import Code, SpanielError
from spaniel.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from starlette.requests import Request as HttpRequest

    from spaniel.api.access import Caller
    from spaniel.api.service import Service

log = logging.getLogger("spaniel.api")

KINDS = ("batch", "check")
QUEUED, RUNNING, PAUSED, FINISHED, FAILED, CANCELLED = "queued", "running", "paused", "finished", "failed", "cancelled"
OPEN = (QUEUED, RUNNING, PAUSED)
ENDED = (FINISHED, FAILED, CANCELLED)
MOST_RUNNING = 2  # at the same time in one server; the others are queued
LOOK_SECONDS = 0.5  # between two looks at the jobs
CLAIM_SECONDS = 15.0  # after which a job whose server shows no sign of life is claimed by another
KEPT_SECONDS = 7 * 86_400.0  # for which an ended job's results are kept
STOP_SECONDS = 15.0  # for a job to checkpoint when the server stops
CHECKPOINT_SECONDS = 30.0  # for a job that is paused or cancelled: one that reads a long list reaches no checkpoint
MOST_PAGE_BYTES = 10 << 20  # of one page of results
LIST, RESULTS, STATUS = "list.jsonl", "results.jsonl", "status.json"
LAYOUT = Layout(
    "jobs",
    1,
    "CREATE TABLE jobs (id TEXT PRIMARY KEY, caller TEXT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL,"
    " wanted TEXT NOT NULL, created REAL NOT NULL, ended REAL, total INTEGER NOT NULL, options TEXT NOT NULL,"
    " webhook TEXT, progress TEXT NOT NULL, error TEXT, owner TEXT, touched REAL NOT NULL);"
    " CREATE INDEX by_caller ON jobs (caller, created)",
)
COLUMNS = "id, caller, kind, state, wanted, created, ended, total, options, webhook, progress, error"


class Job(NamedTuple):
    """A job as its database has it."""

    id: str
    caller: str
    kind: str
    state: str
    wanted: str  # what its caller wants: run, pause or cancel
    created: float
    ended: float | None
    total: int  # URLs in its list
    options: dict[str, Any]
    webhook: Webhook | None
    progress: dict[str, Any]
    error: str | None

    def as_dict(self) -> dict[str, object]:
        return {
            "id": self.id,
            "kind": self.kind,
            "state": self.state,
            "total": self.total,
            "progress": self.progress,
            "options": {name: value for name, value in self.options.items() if not name.startswith("_")},
            "created": moment(self.created),
            "ended": moment(self.ended) if self.ended is not None else None,
            "expires": moment(self.ended + KEPT_SECONDS) if self.ended is not None else None,
            "error": self.error,
            "results": f"/api/jobs/{self.id}/results",
            "events": f"/api/jobs/{self.id}/events",
        }


class ResultPage(NamedTuple):
    """Some results, and where the next ones begin."""

    lines: list[bytes]
    next: int | None  # an offset in the file; None: there are no more now


def moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


class Jobs:
    """The jobs of this server, and of others that share the folder."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._folder = service.own.jobs_folder
        self._database = Database(self._folder, LAYOUT)
        self._owner = f"{os.uname().nodename if hasattr(os, 'uname') else ''}:{os.getpid()}:{secrets.token_hex(4)}"
        self._running: dict[str, _Running] = {}
        self._deliveries: set[asyncio.Task[None]] = set()
        self._keeper: asyncio.Task[None] | None = None
        self._swept = 0.0
        self._closing = False

    async def __aenter__(self) -> Jobs:
        await asyncio.to_thread(self._open)
        self._keeper = asyncio.create_task(self._keep())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Jobs that run are stopped at a checkpoint, and go on with the next server."""
        self._closing = True
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
        await asyncio.gather(*(running.stop() for running in self._running.values()), return_exceptions=True)
        for running in list(self._running.values()):
            with suppress(OSError, sqlite3.Error):
                self._release(running)
        for task in self._deliveries:
            task.cancel()
        await asyncio.gather(*self._deliveries, return_exceptions=True)
        self._database.close()

    def _open(self) -> None:
        try:
            os.makedirs(self._folder, 0o700, exist_ok=True)
            self._database.write(lambda _: None)
        except (OSError, sqlite3.Error) as error:
            reason = f"cannot be used: {getattr(error, 'strerror', None) or error}"
            raise SpanielError(Code.BAD_ARGS, field="spaniel.serve.jobs_folder", reason=reason) from None

    # What callers do

    def require_room(self, caller: Caller) -> None:
        count = "SELECT COUNT(*) FROM jobs WHERE caller = ? AND state IN (?, ?, ?)"
        held: int = self._database.read(lambda db: db.execute(count, (caller.name, *OPEN)).fetchone()[0], 0)
        if held >= caller.limits.jobs:
            raise rate_limited(30, "unfinished jobs")

    def new_folder(self) -> tuple[str, str]:
        """The id of a job to come, and its folder."""
        id_ = secrets.token_hex(16)
        path = os.path.join(self._folder, id_)
        os.mkdir(path, 0o700)
        return id_, path

    def drop_folder(self, id_: str) -> None:
        shutil.rmtree(os.path.join(self._folder, id_), ignore_errors=True)

    def add(
        self, id_: str, caller: Caller, kind: str, total: int, options: dict[str, Any], webhook: Webhook | None = None
    ) -> Job:
        now = time.time()
        hook = msgspec.json.encode(webhook).decode() if webhook else None
        row = (id_, caller.name, kind, QUEUED, "run", now, None, total, json.dumps(options), hook, "{}", None)
        insert = f"INSERT INTO jobs ({COLUMNS}, owner, touched) VALUES ({', '.join('?' * len(row))}, NULL, ?)"  # noqa: S608
        self._database.write(lambda db: db.execute(insert, (*row, now)))
        return self.job(caller, id_)

    def job(self, caller: Caller, id_: str) -> Job:
        """A job of this caller. Another caller's is as if it were not there."""
        select = f"SELECT {COLUMNS} FROM jobs WHERE id = ? AND caller = ?"  # noqa: S608
        row = self._database.read(lambda db: db.execute(select, (id_, caller.name)).fetchone(), None)
        if row is None:
            raise not_found("There is no such job")
        return self._with_live_progress(_job(row))

    def list(self, caller: Caller, most: int = 100) -> list[Job]:
        select = f"SELECT {COLUMNS} FROM jobs WHERE caller = ? ORDER BY created DESC LIMIT ?"  # noqa: S608
        rows: list[Any] = self._database.read(lambda db: db.execute(select, (caller.name, most)).fetchall(), [])
        return [self._with_live_progress(_job(row)) for row in rows]

    def want(self, caller: Caller, id_: str, wanted: str) -> Job:
        """Pause, resume or cancel a job."""
        job = self.job(caller, id_)
        if job.state in ENDED:
            if wanted == "cancel":
                return job
            raise bad_argument("id", f"the job is {job.state}")
        state = job.state
        if wanted == "run" and state == PAUSED:
            state = QUEUED
        elif wanted == "pause" and state == QUEUED:
            state = PAUSED
        elif wanted == "cancel" and state != RUNNING:
            state = CANCELLED
        ended = time.time() if state == CANCELLED else None
        update = "UPDATE jobs SET wanted = ?, state = ?, ended = ? WHERE id = ? AND state = ?"
        self._database.write(lambda db: db.execute(update, (wanted, state, ended, id_, job.state)))
        return self.job(caller, id_)

    def remove(self, caller: Caller, id_: str) -> None:
        """Forget an ended job and its results; one that runs is cancelled first."""
        job = self.job(caller, id_)
        if job.state not in ENDED:
            self.want(caller, id_, "cancel")
            return
        self._forget(id_)

    def _forget(self, id_: str) -> None:
        self._database.write(lambda db: db.execute("DELETE FROM jobs WHERE id = ?", (id_,)))
        self.drop_folder(id_)

    def path(self, job: Job, name: str) -> str:
        return os.path.join(self._folder, job.id, name)

    def results(self, job: Job, offset: int, most: int) -> ResultPage:
        """The next results from an offset on: whole lines, as many as fit."""
        lines: list[bytes] = []
        size = 0
        try:
            with open(self.path(job, RESULTS), "rb") as file:
                file.seek(offset)
                while len(lines) < most and size < MOST_PAGE_BYTES:
                    line = file.readline()
                    if not line.endswith(b"\n"):  # the end, or one that is being written
                        break
                    lines.append(line)
                    size += len(line)
                is_more = bool(file.readline().endswith(b"\n"))
        except FileNotFoundError:
            return ResultPage([], None if job.state in ENDED else offset)
        is_going_on = job.state not in ENDED
        return ResultPage(lines, offset + size if is_more or is_going_on else None)

    async def events(self, caller: Caller, id_: str) -> AsyncIterator[tuple[str, object]]:
        """The progress of a job whenever it changes, then its end."""
        shown: object = None
        while True:
            job = await asyncio.to_thread(self.job, caller, id_)
            now = job.state, job.progress
            if now != shown:
                shown = now
                yield "progress", job.as_dict()
            if job.state in ENDED or self._closing:
                yield "end", job.as_dict()
                return
            await asyncio.sleep(LOOK_SECONDS)

    def _with_live_progress(self, job: Job) -> Job:
        if job.state != RUNNING:
            return job
        try:
            with open(self.path(job, STATUS), "rb") as file:
                return job._replace(progress=msgspec.json.decode(file.read()))
        except (OSError, msgspec.MsgspecError):
            return job

    # What the server does

    async def _keep(self) -> None:
        """Start what is queued, stop what is not wanted any more, note what has ended."""
        while True:
            try:
                await asyncio.to_thread(self._look)
                for running in list(self._running.values()):
                    if running.process is None:
                        await self._start(running)
                    elif running.has_ended:
                        await self._note_end(running)
            except (OSError, sqlite3.Error) as error:
                log.warning("jobs cannot be looked at: %s", error)
            await asyncio.sleep(LOOK_SECONDS)

    def _look(self) -> None:
        now = time.time()

        def work(db: sqlite3.Connection) -> None:
            for running in self._running.values():
                row = db.execute("SELECT wanted FROM jobs WHERE id = ?", (running.job.id,)).fetchone()
                running.wanted = row[0] if row else "cancel"
                db.execute("UPDATE jobs SET touched = ? WHERE id = ?", (now, running.job.id))
            free = MOST_RUNNING - len(self._running)
            claim = (
                f"SELECT {COLUMNS} FROM jobs WHERE state = ? OR (state = ? AND touched < ?)"  # noqa: S608
                " ORDER BY created LIMIT ?"
            )
            rows = db.execute(claim, (QUEUED, RUNNING, now - CLAIM_SECONDS, max(0, free))).fetchall()
            for row in rows:
                job = _job(row)
                if job.id in self._running:
                    continue
                take = "UPDATE jobs SET state = ?, owner = ?, touched = ? WHERE id = ?"
                db.execute(take, (RUNNING, self._owner, now, job.id))
                self._running[job.id] = _Running(job, os.path.join(self._folder, job.id))

        self._database.write(work)
        for running in self._running.values():
            if running.wanted != "run":
                running.ask_to_stop()
        if now - self._swept > 600:
            self._swept = now
            self._sweep(now)

    def _sweep(self, now: float) -> None:
        """Remove what ended long ago, and folders that no job has."""
        old = "SELECT id FROM jobs WHERE ended IS NOT NULL AND ended < ?"
        rows: list[Any] = self._database.read(lambda db: db.execute(old, (now - KEPT_SECONDS,)).fetchall(), [])
        for (id_,) in rows:
            self._forget(id_)
        found: list[Any] = self._database.read(lambda db: db.execute("SELECT id FROM jobs").fetchall(), [])
        known = {id_ for (id_,) in found}
        for name in os.listdir(self._folder):
            path = os.path.join(self._folder, name)
            is_ours = len(name) == 32 and os.path.isdir(path) and not os.path.islink(path)
            if is_ours and name not in known and now - os.stat(path).st_mtime > 3600:
                shutil.rmtree(path, ignore_errors=True)

    async def _start(self, running: _Running) -> None:
        fields = [(path, value, source) for path, (value, source) in self._service.settings.items()]
        await running.start({"settings": fields, **running.job.options, "kind": running.job.kind})

    async def _note_end(self, running: _Running) -> None:
        """A process has ended: the job is finished, paused, cancelled, or has failed."""
        job, (outcome, error) = running.job, await running.outcome()
        state = {"whole": FINISHED, "stopped": PAUSED, "failed": FAILED}[outcome]
        if outcome == "stopped" and running.wanted == "cancel":
            state = CANCELLED
        elif outcome == "stopped" and running.wanted == "run":
            state = QUEUED  # it was stopped by something else, and goes on
        progress = json.dumps(running.progress())
        ended = time.time() if state in ENDED else None
        update = "UPDATE jobs SET state = ?, ended = ?, progress = ?, error = ?, owner = NULL WHERE id = ?"
        await asyncio.to_thread(
            self._database.write, lambda db: db.execute(update, (state, ended, progress, error, job.id))
        )
        del self._running[job.id]
        if state in ENDED:
            self._service.metrics.job_ended(job.kind, state)
            if job.webhook is not None:
                body = {**job._replace(state=state, ended=ended, error=error, progress=json.loads(progress)).as_dict()}
                task = asyncio.create_task(deliver(self._service.engine, job.webhook, job.kind, state, body))
                self._deliveries.add(task)
                task.add_done_callback(self._deliveries.discard)

    def _release(self, running: _Running) -> None:
        """For the next server."""
        state = QUEUED if running.wanted == "run" else PAUSED if running.wanted == "pause" else CANCELLED
        ended = time.time() if state == CANCELLED else None
        update = "UPDATE jobs SET state = ?, ended = ?, progress = ?, owner = NULL, touched = 0 WHERE id = ?"
        values = state, ended, json.dumps(running.progress()), running.job.id
        self._database.write(lambda db: db.execute(update, values))


class _Running:
    """A job whose process this server started."""

    def __init__(self, job: Job, folder: str) -> None:
        self.job, self._folder = job, folder
        self.wanted = job.wanted
        self.process: asyncio.subprocess.Process | None = None
        self._asked: float | None = None  # when it was asked to stop

    async def start(self, spec: dict[str, Any]) -> None:
        command = "import sys; sys.path[:] = sys.argv[2:]; from spaniel.api.job_process import main; main(sys.argv[1])"
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", command, self._folder, *sys.path),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the server, which stops its jobs
        )
        if self.process.stdin is not None:
            self.process.stdin.write(json.dumps(spec).encode() + b"\n")

    @property
    def has_ended(self) -> bool:
        return self.process is not None and self.process.returncode is not None

    def ask_to_stop(self) -> None:
        """The process ends at its next checkpoint when its input does; or is killed, which is safe."""
        if self.process is None:
            return
        if self._asked is None:
            self._asked = time.monotonic()
            if self.process.stdin is not None:
                self.process.stdin.close()
        elif time.monotonic() - self._asked > CHECKPOINT_SECONDS:
            with suppress(ProcessLookupError):
                self.process.kill()

    async def stop(self) -> None:
        if self.process is None:
            return
        self.ask_to_stop()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self.process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()

    async def outcome(self) -> tuple[str, str | None]:
        """How it ended, and why if it failed. A process that was killed goes on: `stopped`."""
        status = self._status()
        if (end := status.get("end")) in ("whole", "failed"):
            return str(end), status.get("error")
        crashes = status.get("crashes", 0)
        code = self.process.returncode if self.process is not None else 0
        if end is None and code not in (0, -9, -15):
            return "failed", f"the job's process ended with code {code} ({crashes} times before)"
        return "stopped", None

    def progress(self) -> dict[str, Any]:
        return {name: value for name, value in self._status().items() if name not in ("end", "error")}

    def _status(self) -> dict[str, Any]:
        try:
            with open(os.path.join(self._folder, STATUS), "rb") as file:
                found: dict[str, Any] = msgspec.json.decode(file.read())
                return found
        except (OSError, msgspec.MsgspecError):
            return {}


def jobs_of(request: HttpRequest) -> Jobs:
    jobs: Jobs = request.app.state.jobs
    return jobs


def write_status(folder: str, status: dict[str, Any]) -> None:
    write_atomically(os.path.join(folder, STATUS), json.dumps(status).encode(), None)


def write_list(folder: str, urls: Iterator[str]) -> int:
    """The list of a job; how many URLs it has."""
    count = 0
    with open(os.path.join(folder, LIST), "xb") as file:
        for url in urls:
            file.write(msgspec.json.encode({"url": url}) + b"\n")
            count += 1
    return count


def _job(row: tuple[Any, ...]) -> Job:
    id_, caller, kind, state, wanted, created, ended, total, options, webhook, progress, error = row
    hook = msgspec.json.decode(webhook, type=Webhook) if webhook else None
    return Job(
        *(id_, caller, kind, state, wanted, created, ended, total, json.loads(options), hook),
        json.loads(progress),
        error,
    )
