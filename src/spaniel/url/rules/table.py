"""Every rule by its public name. A policy file may name these and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.url.rules import parts, query
from spaniel.url.rules.rule import Act, Build, UrlRule

if TYPE_CHECKING:
    from spaniel.tables import Table


def lazily(module: str, name: str) -> Build:
    """A rule of a module that is loaded by the policies that use it."""

    def build(options: Table) -> Act:
        from importlib import import_module

        act: Act = getattr(import_module(f"spaniel.url.rules.{module}"), name)(options)
        return act

    return build


RULES = {
    r.name: r
    for r in (
        UrlRule("lower-host", "host", "settle", parts.settled, "Writes the host in lower case."),
        UrlRule("drop-default-port", "port", "settle", parts.settled, "Drops :80 from http and :443 from https."),
        UrlRule("resolve-dots", "path", "settle", parts.settled, "Resolves /./ and /../ in the path."),
        UrlRule(
            "normalize-escapes", "path", "edit", parts.normalize_escapes, "Writes %-escapes of the path in one way."
        ),
        UrlRule("collapse-slashes", "path", "edit", parts.collapse_slashes, "Makes one slash of several in the path."),
        UrlRule(
            "drop-trailing-slash",
            "path",
            "edit",
            parts.drop_trailing_slash,
            "Drops slashes at the end of the path.",
            may_ask=True,
        ),
        UrlRule(
            "upgrade-scheme",
            "scheme",
            "edit",
            parts.upgrade_scheme,
            "Makes https of http, but for listed hosts.",
            may_ask=True,
        ),
        UrlRule(
            "map-host",
            "host",
            "edit",
            parts.map_host,
            "Replaces a host by the form that its site prefers.",
            may_ask=True,
        ),
        UrlRule("drop-fragment", "fragment", "edit", parts.drop_fragment, "Drops what follows #, and notes it."),
        UrlRule("drop-params", "params", "edit", query.drop_params, "Drops listed parameters of the query."),
        UrlRule(
            "drop-session-params", "path", "edit", query.drop_session_params, "Drops session ids, also in the path."
        ),
        UrlRule("sort-params", "params", "edit", query.sort_params, "Sorts the parameters of the query."),
        UrlRule(
            "strip-pagination",
            "params",
            "edit",
            query.strip_pagination,
            "Drops page numbers, and notes them.",
            may_ask=True,
        ),
        UrlRule(
            "apply-overrides", "url", "edit", parts.apply_overrides, "Applies the overrides file for single hosts."
        ),
        UrlRule(
            "follow-redirects",
            "host",
            "note",
            lazily("redirects", "follow_redirects"),
            "Online, takes the page at the end of the redirects.",
            may_ask=True,
            moves=True,
        ),
        UrlRule(
            "prefer-language",
            "path",
            "note",
            lazily("languages", "prefer_language"),
            "Notes versions in other languages; online, takes the preferred one.",
            may_ask=True,
            moves=True,
        ),
        UrlRule(
            "classify-link",
            "path",
            "note",
            lazily("clara", "classify_link"),
            "Says home page, section or informative link.",
            may_ask=True,
        ),
        UrlRule("store", "path", "note", lazily("clara", "store"), "Notes the hash of the canonical URL."),
    )
}
