"""The URL while a policy works on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.url.canonical import CanonicalNotes, Dropped

if TYPE_CHECKING:
    from spaniel.url.questions import Web
    from spaniel.url.value import Url


class Draft:
    """The parts of a URL, each in the parser's form, for rules to change."""

    __slots__ = ("bare_root", "fragment", "host", "params", "path", "port", "scheme")

    notes: CanonicalNotes | None = None  # nobody asked
    web: Web | None = None  # offline, or not for this rule to ask

    def __init__(self, scheme: str, host: str, port: str, path: str, query: str | None, fragment: str | None) -> None:
        self.scheme = scheme
        self.host = host
        self.port = port  # ":8080", or "" for the scheme's own
        self.path = path
        self.params = None if query is None else query.split("&")
        self.fragment = fragment
        self.bare_root = False  # "https://example.com" rather than "https://example.com/" (CP-02)

    @classmethod
    def of(cls, url: Url) -> Draft:
        port = "" if url.port is None else f":{url.port}"
        return cls(url.scheme, url.host, port, url.path, url.query, url.fragment)

    def become(self, url: Url) -> None:
        """Take another URL's place: a redirect's target, a rewritten prefix."""
        other = Draft.of(url)
        self.scheme, self.host, self.port, self.path = other.scheme, other.host, other.port, other.path
        self.params, self.fragment = other.params, other.fragment

    def text(self) -> str:
        if self.params is not None:
            text = f"{self.scheme}://{self.host}{self.port}{self.path}?{'&'.join(self.params)}"
        elif self.bare_root and self.path == "/":
            text = f"{self.scheme}://{self.host}{self.port}"
        else:
            text = f"{self.scheme}://{self.host}{self.port}{self.path}"
        return text if self.fragment is None else f"{text}#{self.fragment}"

    def drop(self, pair: str, reason: str) -> None:
        if self.notes is not None:
            name, _, value = pair.partition("=")
            self.notes.dropped.append(Dropped(name, value, reason))

    def flag(self, name: str) -> None:
        if self.notes is not None and name not in self.notes.flags:
            self.notes.flags.append(name)


class WatchedDraft(Draft):
    """A draft whose changes are written down.

    `shown` holds parts as they were written, until a rule settles them; rules never read it.
    """

    __slots__ = ("notes", "shown", "web")

    def __init__(self, url: Url, shown: dict[str, str]) -> None:
        port = "" if url.port is None else f":{url.port}"
        super().__init__(url.scheme, url.host, port, url.path, url.query, url.fragment)
        self.notes: CanonicalNotes = CanonicalNotes()
        self.shown = shown
        self.web: Web | None = None

    def display(self) -> str:
        """The text with the parts that no rule has settled yet as they were written."""
        if not self.shown:
            return self.text()
        held = {part: getattr(self, part) for part in self.shown}
        for part, written in self.shown.items():
            setattr(self, part, written)
        try:
            return self.text()
        finally:
            for part, settled in held.items():
                setattr(self, part, settled)
