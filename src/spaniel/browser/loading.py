"""What a page and its workers are loading: a request is under way until the last byte of its body has come.

What stays open by its nature (EventSource, WebSocket) is not under way (FR-WF-11e, D2-35), but may speak at any time.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaniel.browser.cdp import CdpSession, Params

MOST_DOCUMENTS = 32  # of a page and its frames that are remembered
# Nobody's content waits for these.
BESIDE = frozenset({"Ping", "Prefetch", "CSPViolationReport", "Manifest", "Media", "TextTrack"})


class RequestTracker:
    """The requests under way. A worker's script is asked for by the page, and its end told by the worker."""

    def __init__(self) -> None:
        self._under_way: dict[str, tuple[str, str]] = {}  # request: the session that asked, the document that it is for
        self._open: set[str] = set()  # what stays open
        self._workers: dict[str, CdpSession] = {}
        self._document = ""  # the request for the document that is shown; a document's loader has its name
        self.documents: list[str] = []  # requests for it, and for those in its frames
        self.stirred = asyncio.Event()
        self.last = 0.0  # when a request began or ended

    @property
    def under_way(self) -> bool:
        return bool(self._under_way)

    @property
    def is_live(self) -> bool:
        """Whether somebody may speak who is not asked: a worker, a socket, a stream of events."""
        return bool(self._open or self._workers)

    def stir(self) -> None:
        self.last = asyncio.get_running_loop().time()
        self.stirred.set()

    def add_worker(self, session: CdpSession) -> None:
        self._workers[session.ident] = session
        self.stir()

    def drop_worker(self, session: CdpSession) -> None:
        self._workers.pop(session.ident, None)
        self._keep(lambda of, _loader: of != session.ident)

    def began_document(self, session: CdpSession, loader: str) -> None:
        """What the document before was loading has nobody who waits for it."""
        self._keep(lambda of, for_document: of != session.ident or for_document == loader)
        self._document = loader
        self.documents = [loader]
        self._open.clear()
        self.stir()

    def ended_document(self) -> None:
        """No more of the document comes; of one that a script stopped, Chromium does not say so."""
        if self._under_way.pop(self._document, None) is not None:
            self.stir()

    async def workers_pause(self) -> None:
        """Until each worker has a moment: one that computes is not asked anything before it is done."""
        asked = [worker.call("Runtime.evaluate", expression="1") for worker in self._workers.values()]
        await asyncio.gather(*asked, return_exceptions=True)

    def heard(self, session: CdpSession, method: str, params: Params) -> None:
        if method == "Network.requestWillBeSent":
            self._begin(session, params)
        elif method in ("Network.loadingFinished", "Network.loadingFailed"):
            self._open.discard(params["requestId"])
            if self._under_way.pop(params["requestId"], None) is not None:
                self.stir()
        elif method == "Network.webSocketCreated":
            self._open.add(params["requestId"])
            self.stirred.set()
        elif method == "Network.webSocketClosed":
            self._open.discard(params["requestId"])

    def _begin(self, session: CdpSession, params: Params) -> None:
        request, kind = params["requestId"], params.get("type", "")
        if kind == "Document" and len(self.documents) < MOST_DOCUMENTS:
            self.documents.append(request)
        if kind == "EventSource":
            self._open.add(request)
            self.stirred.set()
        elif kind not in BESIDE and not params["request"]["url"].startswith("data:"):
            self._under_way[request] = session.ident, params.get("loaderId", "")
            self.stir()

    def _keep(self, wanted: Callable[[str, str], bool]) -> None:
        self._under_way = {request: told for request, told in self._under_way.items() if wanted(*told)}
