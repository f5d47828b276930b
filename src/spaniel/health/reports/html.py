"""One self-contained HTML file with filters and the history of each link."""

from __future__ import annotations

import os
from base64 import b64encode
from hashlib import sha256
from html import escape
from typing import TYPE_CHECKING

from spaniel.errors import shown
from spaniel.health.links import Remark, word_of
from spaniel.health.reports import (
    LONGEST,
    WORDS,
    details,
    label,
    needs_attention,
    places_of,
    position,
    totals,
    warnings,
)
from spaniel.verdicts import CONTRADICTED, UNVERIFIED, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from spaniel.health.links import Checked
    from spaniel.health.reports import ReportContext
    from spaniel.health.summary import Summary

MOST_GOOD = 20_000  # links without a problem that are listed: a browser must be able to open the file
MOST_PAST = 30  # earlier checks of a link that are shown
MOST_PLACES = 50
CSS_CLASSES: dict[str, str] = {
    **dict.fromkeys(Verdict, "dim"),
    **dict.fromkeys(CONTRADICTED, "bad"),
    **dict.fromkeys((*UNVERIFIED, Verdict.MOVED), "odd"),
    **dict.fromkeys(Remark, "odd"),
    Verdict.OK: "good",
}


class HtmlReport:
    """Rows are kept as text until the end, because the counts precede them."""

    def __init__(self, out: TextIO, context: ReportContext) -> None:
        self._out, self._context = out, context
        self._rows: dict[str, list[str]] = {word.value: [] for word in WORDS}
        self._good = 0

    def add(self, checked: Checked) -> None:
        if not needs_attention(checked):
            self._good += 1
            if self._good > MOST_GOOD:
                return
        self._rows[word_of(checked)].append(self._row(checked))

    def close(self, summary: Summary) -> None:
        style, script = _file("page.css"), _file("page.js")
        allowed = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'"
        write = self._out.write
        write('<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n')
        write(f'<meta http-equiv="Content-Security-Policy" content="{allowed}">\n')
        write('<meta name="viewport" content="width=device-width, initial-scale=1">\n')
        write(f"<title>{_text(totals(summary))}</title>\n<style>{style}</style>\n</head>\n<body>\n")
        self._write_head(summary)
        write('<div class="scrolled"><table>\n<thead><tr><th>verdict</th><th>link</th><th>where</th>')
        write(f"{'<th>past</th>' if self._context.history else ''}</tr></thead>\n<tbody>\n")
        for rows in self._rows.values():
            write("".join(rows))
        write('</tbody>\n</table></div>\n<p class="empty" hidden>No links match these filters.</p>\n')
        write(f"<script>{script}</script>\n</body>\n</html>\n")

    def _write_head(self, summary: Summary) -> None:
        write = self._out.write
        about = f"Checked {self._context.started} by Spaniel {self._context.version}".strip()
        write(f'<h1>Links</h1>\n<p>{_text(totals(summary))}</p>\n<p class="about">{_text(about)}</p>\n')
        for line in warnings(summary):
            write(f'<p class="warning">{_text(line)}</p>\n')
        if self._good > MOST_GOOD:
            write(f'<p class="warning">{self._good - MOST_GOOD:,} more links without a problem are not listed.</p>\n')
        write('<form class="filters" hidden>\n')  # shown by the script that filters
        for word, rows in self._rows.items():
            if count := len(rows):
                checked = "" if word in (Verdict.OK, Verdict.SKIPPED) and self._has_trouble() else " checked"
                box = f'<input type="checkbox" value="{word}"{checked}>'
                write(f"<label>{box}{word} {count:,}</label>\n")
        if self._has_remarks():
            write('<label><input type="checkbox" value="finding" checked>with a finding</label>\n')
        write('<input type="search" placeholder="Filter by words" aria-label="Filter by words">\n</form>\n')

    def _has_trouble(self) -> bool:
        return any(rows for word, rows in self._rows.items() if word not in (Verdict.OK, Verdict.SKIPPED))

    def _has_remarks(self) -> bool:
        return any(' finding"' in row for rows in self._rows.values() for row in rows)

    def _row(self, checked: Checked) -> str:
        kinds = word_of(checked) + (" finding" if checked.findings else "")
        places = [_text(position(place)) for place in places_of(checked) if place.file]
        more = f"<br>and {len(places) - MOST_PLACES} more" if len(places) > MOST_PLACES else ""
        cells = [
            f'<td class="{CSS_CLASSES[word_of(checked)]}">{_text(label(checked))}</td>',
            f"<td>{_link(checked.link.url)}{_bullets(details(checked))}{_evidence(checked)}</td>",
            f"<td>{'<br>'.join(places[:MOST_PLACES])}{more}</td>",
        ]
        if self._context.history is not None:
            cells.append(f"<td>{_past(self._context.history(checked.link.url))}</td>")
        return f'<tr data-kinds="{kinds}">{"".join(cells)}</tr>\n'


def _file(name: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return file.read()


def _hash(text: str) -> str:
    """Return the hash for the content security policy: the page runs this script or style only."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _text(text: str) -> str:
    return escape(shown(text, LONGEST))


def _link(url: str) -> str:
    """Write a URL as a link if it is safe to open in a browser."""
    if not url.startswith(("http://", "https://")) or shown(url, len(url)) != url:
        return _text(url)
    return f'<a href="{escape(url)}" rel="noopener noreferrer nofollow">{_text(url)}</a>'


def _bullets(lines: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>" if lines else ""


def _evidence(checked: Checked) -> str:
    evidence = checked.evidence
    if not evidence.method:
        return ""
    facts = [f"{evidence.method} {evidence.status or ''}".strip()]
    facts += [f"redirected by {hop.url} ({hop.status})" for hop in evidence.chain]
    facts += [f"address {evidence.address}"] if evidence.address else []
    facts += [f"failed in phase {evidence.phase}"] if evidence.phase else []
    facts += [f"{evidence.attempts} attempts"] if evidence.attempts > 1 else []
    facts += [f"at {evidence.at}"] if evidence.at else []
    return f"<details><summary>evidence</summary>{_bullets([shown(fact, LONGEST) for fact in facts])}</details>"


def _past(seen: Sequence[tuple[str, str]]) -> str:
    bars = []
    for at, verdict in seen[-MOST_PAST:]:
        kind = CSS_CLASSES.get(verdict, "dim")  # a later version may have written other verdicts
        bars.append(f'<i class="{kind}" title="{_text(f"{at} {verdict}")}"></i>')
    return f'<span class="past">{"".join(bars)}</span>'


open_report = HtmlReport
