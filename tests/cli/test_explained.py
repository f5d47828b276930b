"""What `--explain` draws of a fetch for ingestion: the fallbacks, the checklist, the verdict."""

from __future__ import annotations

import pytest

from spaniel.cli.fetch import draw_record
from spaniel.errors import Code, SpanielError
from spaniel.pipeline.outcome import Attempt, LeftOut, Outcome

URL = "https://a.example/page"


@pytest.mark.req("FG-36", "FG-44")
def test_explain_marks_fallbacks_and_steps(capsys: pytest.CaptureFixture[str]) -> None:
    gone = SpanielError(Code.HTTP_4XX, status=404, status_text="Not Found")
    tried = (
        Attempt("http", URL, gone, 404, (), "headers", 12.0),
        Attempt("archive", URL, gone, 404, (), "headers", 30.4, waited=5.0, elsewhere=True),
        Attempt("queue", URL, None, None, (), "", 1.0, elsewhere=True),
    )
    left_out = (LeftOut("retry", "not after 404\x1b[31m", 1),)
    draw_record(Outcome(URL, URL, refusal=gone, attempts=tried, left_out=left_out))
    drawn = capsys.readouterr().err
    assert drawn.splitlines()[:5] == [
        "  fallbacks",
        "    ✗ http  http_4xx, 12 ms",
        "    - retry  skipped: not after 404\\x1b[31m",
        "    ✗ archive  http_4xx, 30 ms after a wait of 5 s",
        "    ✓ queue  ok, 1 ms",
    ]
    assert f"    ✓ URL validated and normalized  {URL}\n" in drawn
    assert "    ✗ Content extracted and converted to Markdown  http_4xx\n" in drawn
    assert drawn.endswith("  verdict: failing (none)\n")
