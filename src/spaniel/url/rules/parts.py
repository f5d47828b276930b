"""Rules on scheme, host, path and fragment."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spaniel.url.hostlists import HostList, host_key
from spaniel.url.rules.rule import idle

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spaniel.tables import Table
    from spaniel.url.draft import Draft
    from spaniel.url.rules.rule import Act


def settled(_options: Table) -> Act:
    """The parser has done it already (lower-case host, no default port, no dot segments)."""
    return idle


def apply_overrides(_options: Table) -> Act:
    """The place in a policy where an overrides file is applied (overrides.py); without one it does nothing."""
    return idle


def upgrade_scheme(options: Table) -> Act:
    """HTTP becomes HTTPS, but for hosts known to lack it and for explicit ports (FG-13, CP-01, CP-03)."""
    http_only = HostList(options.texts("http_only", ()))

    def act(draft: Draft) -> str | None:
        if draft.scheme != "http" or draft.port:
            return "an explicit port keeps its scheme" if draft.port else None
        if draft.host in http_only or (draft.web is not None and draft.web.lacks_https(draft.host)):
            draft.flag("http-only")
            return "this host has no HTTPS"
        draft.scheme = "https"
        return None

    return act


def map_host(options: Table) -> Act:
    """The form of its name that a domain itself prefers: from a table, or as it was discovered (CP-07, CP-24)."""
    known = {host_key(bare): host_key(form) for bare, form in options.text_map("hosts").items()}
    unsure = HostList(options.texts("unsure", ()))

    def act(draft: Draft) -> str | None:
        bare = draft.host
        form = known.get(bare)
        if form is None:
            return None if draft.web is None else take_discovered_host(draft, known)
        draft.host = form
        if bare in unsure:
            draft.flag("host-form-unsure")
            return "the table marks this form as still to be checked"
        return None

    return act


def take_discovered_host(draft: Draft, known: Mapping[str, str]) -> str | None:
    """The host that the bare domain leads to, for the domain and its www form; other hosts are what they are."""
    from spaniel.url.registrable import registrable

    host, domain = draft.host, registrable(draft.host)
    if draft.web is None or draft.port or domain in known or host not in (domain, f"www.{domain}"):
        return None
    form = draft.web.preferred_host(domain)
    if form is None or form == host:
        return None
    draft.host = form
    there = draft.web.redirects(draft.text())
    if there is None or (there.arrived and not there.hops):
        return f"the domain itself prefers {form}"
    draft.host = host  # a form under which this page is not there is no form of it
    draft.flag("host-form-unproved")
    return f"the domain prefers {form}, but this page is not there"


def drop_fragment(_options: Table) -> Act:
    """Fragments never reach a server; what was there is noted (CP-06)."""

    def act(draft: Draft) -> str | None:
        if draft.fragment is None:
            return None
        if draft.notes is not None:
            draft.notes.fragment_note = f"#{draft.fragment}"
        draft.fragment = None
        return None

    return act


def collapse_slashes(_options: Table) -> Act:
    runs = re.compile("//+")

    def act(draft: Draft) -> None:
        if "//" in draft.path:
            draft.path = runs.sub("/", draft.path)

    return act


def drop_trailing_slash(options: Table) -> Act:
    """All of them, so that the result is a fixed point; at the root only where the policy says so (CP-02)."""
    at_root = options.truth("at_root", default=False)

    def act(draft: Draft) -> str | None:
        path = draft.path
        if path[-1] == "/":
            if draft.web is not None and path != "/" and draft.web.needs_slash(draft.text()):
                draft.flag("trailing-slash-kept")
                return "kept: without it the server has another page"
            draft.path = path.rstrip("/") or "/"
            draft.bare_root = at_root
        return None

    return act


_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def _normal_escape(found: re.Match[str]) -> str:
    if found[1] is None:
        return "%25"  # D2-16: else "%%34%31" would need two passes
    char = chr(int(found[1], 16))
    return char if char in _UNRESERVED else found[0].upper()


def normalize_escapes(_options: Table) -> Act:
    """Upper-case hex, unreserved characters decoded, reserved ones left (FR-WF-NORM-06)."""
    escapes = re.compile("%([0-9A-Fa-f]{2})?")

    def act(draft: Draft) -> None:
        if "%" in draft.path:
            draft.path = escapes.sub(_normal_escape, draft.path)

    return act
