"""Webhooks: a job's end, sent to its caller's address. It passes the guard like every other request.

The body is signed: `X-Spaniel-Signature: sha256=HMAC-SHA256(secret, body)`.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from spaniel.errors import SpanielError
from spaniel.net.deadline import Deadline
from spaniel.net.http import RequestOptions
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from spaniel.app.engine import Engine

log = logging.getLogger("spaniel.api")
TRIES = (0.0, 5.0, 30.0, 180.0)  # seconds before each
SECONDS = 15.0  # for one try
MOST_BYTES = 64 << 10  # of the response, which is not used


class Webhook(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Where the end of a job is reported, and how the receiver knows that it was us."""

    url: str
    secret: str = ""
    metadata: dict[str, Any] = {}
    events: list[str] = []  # completed, failed, cancelled; empty: all


async def deliver(engine: Engine, hook: Webhook, kind: str, state: str, job: dict[str, object]) -> None:
    """Send it, and again if the receiver does not answer. Never raises."""
    event = {"finished": "completed"}.get(state, state)
    if hook.events and event not in hook.events:
        return
    body = msgspec.json.encode({"type": f"{kind}.{event}", "id": job["id"], "job": job, "metadata": hook.metadata})
    signature = hmac.new(hook.secret.encode(), body, sha256).hexdigest()
    fields = {"Content-Type": "application/json", "X-Spaniel-Event": f"{kind}.{event}"}
    if hook.secret:
        fields["X-Spaniel-Signature"] = f"sha256={signature}"
    for wait in TRIES:
        await asyncio.sleep(wait)
        try:
            status = await _post(engine, hook.url, body, fields)
        except SpanielError as error:
            log.warning("a webhook was not delivered: %s", error.code, extra={"fields": {"job": job["id"]}})
            if not error.retryable:
                return
            continue
        if status < 500 and status != 429:
            return


async def _post(engine: Engine, address: str, body: bytes, fields: dict[str, str]) -> int:
    """One POST. A redirect is not followed: the guard would judge the next address, but no receiver needs it."""
    url, deadline = parse(address), Deadline(SECONDS)
    target = await engine.guard.vet(url, deadline)
    options = RequestOptions(engine.settings.headers, MOST_BYTES, cut=True, more=fields, content=body)
    page = await engine.http.post(url, target, deadline, options)
    return page.status


def require_sendable(engine: Engine, hook: Webhook) -> None:
    """Refuse an address that could never be sent to, before the job begins."""
    from spaniel.url.allowlist import ANYWHERE

    engine.guard.check_page(parse(hook.url), ANYWHERE)
