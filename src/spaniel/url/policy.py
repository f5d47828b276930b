"""Policies: an ordered list of rules from a TOML file, applied as a fold.

There is one fold. `apply` runs only the rules that can change the URL, and parses only URLs that need it; `explain`
runs all of them and records each step. A property test checks that their results are equal.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, cast

from spaniel.tables import Table, complaint, nearest, read_toml
from spaniel.url.canonical import CREDENTIALS_WARNING, Canonical, Draft, RuleStep, WatchedDraft
from spaniel.url.policies.compiled import POLICIES
from spaniel.url.rules.edits import idle
from spaniel.url.rules.table import RULES
from spaniel.url.value import LONGEST, Parts, Url, recognize

if TYPE_CHECKING:
    from spaniel.url.allowlist import Allowlist
    from spaniel.url.overrides import Override
    from spaniel.url.parsing import WrittenUrl
    from spaniel.url.questions import Web
    from spaniel.url.rules.edits import Act, UrlRule
    from spaniel.url.rules.redirects import FollowRedirects


class _Step(NamedTuple):
    rule: UrlRule
    id: str
    act: Act
    asks: bool  # whether the policy lets it ask the web


class Policy:
    """How URLs are canonicalized: a name, a version, and rules in their order."""

    def __init__(self, data: object, place: str) -> None:
        self._source = data, place
        table = Table(data, place)
        self.name = table.text("name")
        self.version = table.text("version")
        self.description = table.text("description", "")
        self.overrides_file = table.text("overrides_file", "")  # where a user of this policy looks for one
        steps = table.tables("apply")
        table.close()
        if not steps:
            raise complaint(f"{place}.apply", "must have at least one rule, the first being 'parse'")
        self._read_options(steps[0])
        self._steps = tuple(_build(step) for step in steps[1:])
        self._overrides: dict[str, Override] | None = None
        self._allowlist: Allowlist | None = None
        self._compile()

    def _read_options(self, first: Table) -> None:
        if first.text("rule") != "parse":
            raise complaint(f"{first.place}.rule", "the first rule must be 'parse'")
        self._parse_id = first.text("id", "")
        self._assume_scheme = first.text("assume_scheme", "")
        self._repair_bytes = first.truth("repair_bytes", default=False)
        self._repair_escapes = first.truth("repair_escapes", default=False)
        self._max_length = first.number("max_length", LONGEST)
        first.close()

    def _compile(self) -> None:
        edits = [s for s in self._steps if s.rule.kind == "edit" and s.act is not idle]
        self._edits = tuple(s.act for s in edits)
        self._bare_edits = tuple(s.act for s in edits if s.rule.part != "params")  # for URLs without a query

    def apply(self, raw: str | bytes, web: Web | None = None) -> Canonical:
        """The canonical form of a URL. Raises nothing but `SpanielError`."""
        if web is not None:
            return self.explain(raw, web)
        if isinstance(raw, str) and len(raw) <= self._max_length and (parts := self._recognize(raw)):
            draft = Draft(*parts)
            for act in self._edits if draft.params is not None else self._bare_edits:
                act(draft)
            return Canonical(draft.text(), raw, self)
        original, written, url = self._read(raw)
        if written.credentials or self._assumes_scheme(original):  # this is when to say so
            return self.explain(raw)
        draft = Draft.of(url)
        for act in self._edits:
            act(draft)
        return Canonical(draft.text(), original, self)

    def explain(self, raw: str | bytes, web: Web | None = None) -> Canonical:
        """The same, with every note and every step."""
        original, written, url = self._read(raw)
        draft = WatchedDraft(url, self._shown(written))
        notes = draft.notes
        if written.credentials:
            notes.warnings.append(CREDENTIALS_WARNING)
        if self._assumes_scheme(original):
            notes.warnings.append(f"{self._assume_scheme}:// was put in front of the URL")
        notes.steps.append(RuleStep("parse", self._parse_id, original, draft.display(), ""))
        for i, step in enumerate(self._steps):
            before, was = draft.display(), draft.text()
            remark = _run(step, draft, web)
            if step.rule.moves and draft.text() != was:
                for earlier in self._steps[:i]:
                    _run(earlier, draft, web)
            draft.shown.pop(step.rule.part, None)
            asked = () if web is None else tuple(web.heard())
            notes.steps.append(RuleStep(step.rule.name, step.id, before, draft.display(), remark or "", asked))
        if web is not None and self._allowlist is not None and "shortener-unresolved" not in notes.flags:
            self._allowlist.require(draft.host)  # whatever led there: a rule, or a file that somebody else wrote
        return Canonical(draft.text(), original, self, notes)

    def _recognize(self, raw: str) -> Parts | None:
        """The parts of a plain URL; None where it must be read, or repaired."""
        if self._repair_escapes and "%" in raw and _STRAY.search(raw):
            return None
        return recognize(raw)

    def _read(self, raw: str | bytes) -> tuple[str, WrittenUrl, Url]:
        """The text (without credentials), validated and parsed."""
        from spaniel.url import parsing  # most URLs need none of it, nor its patterns

        original = parsing.as_text(raw)
        text = parsing.tidy(_escape_bytes(original) if self._repair_bytes else original, self._max_length)
        if self._assumes_scheme(text):
            text = f"{self._assume_scheme}://{text.removeprefix('//')}"
        written = parsing.judge(text)
        if self._repair_escapes:  # FG-06, CP-19: a sign that begins no escape needs one itself
            written = written._replace(rest=_STRAY.sub("%25", written.rest))
        return written.text if written.credentials else original, written, parsing.settle(written)

    def _assumes_scheme(self, text: str) -> bool:
        from spaniel.url.parsing import has_scheme

        return bool(self._assume_scheme) and not has_scheme(text.strip())

    def _shown(self, written: WrittenUrl) -> dict[str, str]:
        """The parts that a later rule settles, as they were written."""
        settled = {s.rule.part for s in self._steps if s.rule.kind == "settle"}
        path = re.split("[?#]", written.rest, maxsplit=1)[0] or "/"
        parts = {"host": written.host, "port": f":{written.port}" if written.port else "", "path": path}
        return {part: text for part, text in parts.items() if part in settled}

    @property
    def assumes_scheme(self) -> bool:
        """Whether a URL without a scheme is one to this policy."""
        return bool(self._assume_scheme)

    @property
    def keeps_hosts(self) -> bool:
        """Whether a canonical URL has the host of the URL as it was written, with no request made."""
        return all(s.act is idle or s.rule.kind != "edit" or s.rule.part not in ("host", "url") for s in self._steps)

    @property
    def asks(self) -> tuple[str, ...]:
        """The rules that ask the web, where there is one."""
        return tuple(s.rule.name for s in self._steps if s.asks)

    @property
    def follows(self) -> FollowRedirects | None:
        """The rule by which redirects are followed, if there is one that may ask."""
        found = [s.act for s in self._steps if s.rule.name == "follow-redirects" and s.asks]
        return cast("FollowRedirects", found[0]) if found else None

    def only(self, *ids: str) -> Policy:
        """This policy with only the rules of the given ids."""
        return self._with(tuple(s for s in self._steps if s.id in ids), _overrides=self._overrides)

    def with_allowlist(self, allowlist: Allowlist) -> Policy:
        """This policy with another allowlist; online, other hosts are refused."""
        from spaniel.url.rules.redirects import FollowRedirects

        if all(s.rule.name != "follow-redirects" for s in self._steps):
            raise complaint("allowlist", f"policy '{self.name}' has no rule 'follow-redirects', which would use one")
        steps = (
            s._replace(act=s.act.within(allowlist)) if isinstance(s.act, FollowRedirects) else s for s in self._steps
        )
        return self._with(tuple(steps), _allowlist=allowlist)

    def with_overrides(self, overrides: dict[str, Override]) -> Policy:
        """This policy with an overrides file at its `overrides` rule (UN-07)."""
        if all(s.rule.name != "apply-overrides" for s in self._steps):
            raise complaint("overrides", f"policy '{self.name}' has no rule 'apply-overrides'")
        from spaniel.url.overrides import act_on

        act = act_on(overrides)
        steps = (s._replace(act=act) if s.rule.name == "apply-overrides" else s for s in self._steps)
        return self._with(tuple(steps), _overrides=overrides)

    def _with(self, steps: tuple[_Step, ...], **changes: object) -> Policy:
        changed = object.__new__(Policy)
        changed.__dict__.update(self.__dict__, _steps=steps, **changes)
        Policy._compile(changed)
        return changed

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (*self._source, self._overrides, self._allowlist)


def _rebuild(
    data: object, place: str, overrides: dict[str, Override] | None, allowlist: Allowlist | None = None
) -> Policy:
    policy = Policy(data, place)
    policy = policy if overrides is None else policy.with_overrides(overrides)
    return policy if allowlist is None else policy.with_allowlist(allowlist)


def _run(step: _Step, draft: WatchedDraft, web: Web | None) -> str | None:
    """A rule of a policy; only those with `asks = true` get the web."""
    draft.web = web if step.asks else None
    return step.act(draft)


def _build(table: Table) -> _Step:
    name = table.text("rule")
    rule = RULES.get(name)
    if rule is None:
        raise complaint(f"{table.place}.rule", f"no rule '{name}'; {nearest(name, RULES)}")
    asks = table.truth("asks", default=False)
    if asks and not rule.may_ask:
        able = ", ".join(sorted(r.name for r in RULES.values() if r.may_ask))
        raise complaint(f"{table.place}.asks", f"the rule '{name}' has nothing to ask; those that have: {able}")
    step = _Step(rule, table.text("id", ""), rule.build(table), asks)
    table.close()
    return step


_STRAY = re.compile("%(?![0-9A-Fa-f]{2})")


def _escape_bytes(text: str) -> str:
    """Bytes that are not UTF-8 become the escapes that a server of such URLs expects (CP-19)."""
    return re.sub("[\udc80-\udcff]", lambda m: f"%{ord(m[0]) - 0xDC00:02X}", text)


_SHIPPED: dict[object, Policy] = {}  # those that were asked for


def load(name: str | os.PathLike[str]) -> Policy:
    """A shipped policy by its name, or a policy file by its path (a changed file is read again)."""
    if found := _SHIPPED.get(name):
        return found
    text = os.fspath(name)
    if not (text.endswith(".toml") or "/" in text or "\\" in text):
        if text not in POLICIES:
            raise complaint("policy", f"no policy '{text}'; {nearest(text, POLICIES)}")
        return _SHIPPED.setdefault(text, Policy(POLICIES[text], f"{text}.toml"))
    try:
        changed = os.stat(text).st_mtime_ns
    except (OSError, ValueError) as error:
        raise complaint(f"policy {text}", f"cannot be read: {error}") from None
    return _from_file(text, changed)


def shipped() -> list[str]:
    return sorted(POLICIES)


@lru_cache(maxsize=64)
def _from_file(path: str, _changed: int) -> Policy:
    return _read(path)


def _read(path: str) -> Policy:
    return Policy(read_toml(path, "policy"), os.path.basename(path))


def canonicalize(url: str | bytes, policy: str | os.PathLike[str] | Policy = "exact") -> Canonical:
    """The canonical form of a URL under a policy: a shipped one by name, a file of yours, or a `Policy`."""
    return (policy if isinstance(policy, Policy) else load(policy)).apply(url)
