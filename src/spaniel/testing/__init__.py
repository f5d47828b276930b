"""For tests of your own code: a site on loopback, a Spaniel that may fetch it, a fake resolver and clock."""

from spaniel.testing.fakes import FakeClock, FakeResolver
from spaniel.testing.site import Page, Reply, Site, html, redirect, settings_for, spaniel_for, text

__all__ = [
    "FakeClock",
    "FakeResolver",
    "Page",
    "Reply",
    "Site",
    "html",
    "redirect",
    "settings_for",
    "spaniel_for",
    "text",
]
