"""Every rule by its public name. A policy file may name these and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.url.rules import edits
from spaniel.url.rules.edits import Act, Build, UrlRule

if TYPE_CHECKING:
    from spaniel.tables import Table


def lazily(module: str, name: str) -> Build:
    """A rule of a module that is loaded by the policies that use it."""

    def build(options: Table) -> Act:
        from importlib import import_module

        act: Act = getattr(import_module(f"spaniel.url.{module}"), name)(options)
        return act

    return build


RULES = {
    r.name: r
    for r in (
        UrlRule("lower-host", "host", "settle", edits.settled, "Writes the host in lower case."),
        UrlRule("drop-default-port", "port", "settle", edits.settled, "Drops :80 from http and :443 from https."),
        UrlRule("resolve-dots", "path", "settle", edits.settled, "Resolves /./ and /../ in the path."),
        UrlRule(
            "normalize-escapes", "path", "edit", edits.normalize_escapes, "Writes %-escapes of the path in one way."
        ),
        UrlRule("collapse-slashes", "path", "edit", edits.collapse_slashes, "Makes one slash of several in the path."),
        UrlRule(
            "drop-trailing-slash",
            "path",
            "edit",
            edits.drop_trailing_slash,
            "Drops slashes at the end of the path.",
            may_ask=True,
        ),
        UrlRule(
            "upgrade-scheme",
            "scheme",
            "edit",
            edits.upgrade_scheme,
            "Makes https of http, but for listed hosts.",
            may_ask=True,
        ),
        UrlRule(
            "map-host",
            "host",
            "edit",
            edits.map_host,
            "Replaces a host by the form that its site prefers.",
            may_ask=True,
        ),
        UrlRule("drop-fragment", "fragment", "edit", edits.drop_fragment, "Drops what follows #, and notes it."),
        UrlRule("drop-params", "params", "edit", edits.drop_params, "Drops listed parameters of the query."),
        UrlRule(
            "drop-session-params", "path", "edit", edits.drop_session_params, "Drops session ids, also in the path."
        ),
        UrlRule("sort-params", "params", "edit", edits.sort_params, "Sorts the parameters of the query."),
        UrlRule(
            "strip-pagination",
            "params",
            "edit",
            edits.strip_pagination,
            "Drops page numbers, and notes them.",
            may_ask=True,
        ),
        UrlRule(
            "apply-overrides", "url", "edit", edits.apply_overrides, "Applies the overrides file for single hosts."
        ),
        UrlRule(
            "follow-redirects",
            "host",
            "note",
            lazily("rules.redirects", "follow_redirects"),
            "Online, takes the page at the end of the redirects.",
            may_ask=True,
            moves=True,
        ),
        UrlRule(
            "prefer-language",
            "path",
            "note",
            lazily("rules.languages", "prefer_language"),
            "Notes versions in other languages; online, takes the preferred one.",
            may_ask=True,
            moves=True,
        ),
        UrlRule(
            "classify-link",
            "path",
            "note",
            lazily("links", "classify_link"),
            "Says home page, section or informative link.",
            may_ask=True,
        ),
        UrlRule("store", "path", "note", lazily("links", "store"), "Notes the hash of the canonical URL."),
    )
}
