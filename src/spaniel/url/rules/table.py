"""Every rule by its public name. A policy file may name these and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.url.rules import parts, query
from spaniel.url.rules.rule import Act, Build, Rule

if TYPE_CHECKING:
    from spaniel.tables import Table


def clara(name: str) -> Build:
    """A rule of clara.py, which is loaded by the policies that use it."""

    def build(options: Table) -> Act:
        from spaniel.url.rules import clara as rules

        act: Act = getattr(rules, name)(options)
        return act

    return build


RULES = {
    r.name: r
    for r in (
        Rule("lower-host", "host", "settle", parts.settled),
        Rule("drop-default-port", "port", "settle", parts.settled),
        Rule("resolve-dots", "path", "settle", parts.settled),
        Rule("normalize-escapes", "path", "edit", parts.normalize_escapes),
        Rule("collapse-slashes", "path", "edit", parts.collapse_slashes),
        Rule("drop-trailing-slash", "path", "edit", parts.drop_trailing_slash),
        Rule("upgrade-scheme", "scheme", "edit", parts.upgrade_scheme),
        Rule("map-host", "host", "edit", parts.map_host),
        Rule("drop-fragment", "fragment", "edit", parts.drop_fragment),
        Rule("drop-params", "params", "edit", query.drop_params),
        Rule("drop-session-params", "path", "edit", query.drop_session_params),
        Rule("sort-params", "params", "edit", query.sort_params),
        Rule("strip-pagination", "params", "edit", query.strip_pagination),
        Rule("apply-overrides", "url", "edit", parts.apply_overrides),
        Rule("follow-redirects", "host", "note", clara("follow_redirects"), moves=True),
        Rule("prefer-language", "path", "note", clara("prefer_language"), moves=True),
        Rule("classify-link", "path", "note", clara("classify_link")),
        Rule("store", "path", "note", clara("store")),
    )
}
