"""Every call writes one log line, whatever refused it (FR-WF-19c)."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from spaniel.app.settings import from_data
from spaniel.testing import text
from spaniel.tool import ToolCtx, ToolError, registry_for
from tests.tool.harness import Tools, tools_at

YES = ToolCtx(approve=lambda _: True)


def records(caplog: pytest.LogCaptureFixture) -> list[dict[str, object]]:
    return [{"event": r.getMessage(), **r.fields} for r in caplog.records if r.name == "spaniel.fetch"]  # type: ignore[attr-defined]


async def refused(tools: Tools, tool: str, args: object, ctx: ToolCtx) -> None:
    executor = tools.fetches if tool == "web_fetch" else tools.reads_on
    with pytest.raises(ToolError):
        await executor.execute(args, ctx)  # type: ignore[arg-type]


@pytest.mark.req("FR-WF-19c")
@pytest.mark.parametrize("tool", ["web_fetch", "web_fetch_more"])
async def test_each_refusal_by_a_tool_leaves_one_record(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, tool: str
) -> None:
    def broken(_: str) -> bool:
        raise KeyError("host")

    caplog.set_level(logging.INFO, "spaniel.fetch")
    async with tools_at({"/a": text("hello")}, tmp_path) as tools:
        url = tools.site.url("/a?token=SECRET")
        cases = [  # (arguments, context, code, field, host)
            ({"url": url, "more": 1}, YES, "bad_args", "more", "site.example"),
            ({}, YES, "bad_args", "url", ""),
            ([url], YES, "bad_args", "arguments", ""),
            ({"url": "http://user:SECRET@10.0.0.1/"}, YES, "ssrf_blocked", None, "10.0.0.1"),
            ({"url": "http://user:SECRET@a..b/"}, YES, "invalid_url", None, ""),
        ]
        if tool == "web_fetch":
            cases += [
                ({"url": url}, ToolCtx(), "bad_args", "approval", "site.example"),
                ({"url": url}, ToolCtx(approve=lambda _: False), "bad_args", "approval", "site.example"),
                ({"url": url}, ToolCtx(approve=broken), "internal", None, "site.example"),
            ]
        else:  # there is nothing to approve
            cases.append(({"url": url}, ToolCtx(approve=broken), "bad_args", "url", "site.example"))
        for args, ctx, code, field, host in cases:
            caplog.clear()
            await refused(tools, tool, args, ctx)
            [record] = records(caplog)
            assert (record["event"], record["error_code"], record["requested_host"]) == (code, code, host)
            assert record.get("field") == field
            assert "SECRET" not in json.dumps(record)
        assert not tools.site.requests


@pytest.mark.req("FR-WF-19c", "FR-WF-CFG-PREC-01")
@pytest.mark.parametrize("mode", ["enabled", "parse_only", "disabled"])
@pytest.mark.parametrize("enabled", [True, False])
async def test_a_tool_that_is_off_leaves_one_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: str, enabled: bool
) -> None:
    caplog.set_level(logging.INFO, "spaniel.fetch")
    settings = from_data(
        {"tools": {"mode": mode, "webfetch": {"enabled": enabled, "cache_dir": str(tmp_path)}}}, "test"
    )
    registry = registry_for(None, settings)  # type: ignore[arg-type]
    if mode == "enabled" and enabled:
        return
    for name in ("web_fetch", "web_fetch_more"):
        caplog.clear()
        with pytest.raises(ToolError):
            await registry.execute(name, {"url": "https://a.example/x?SECRET"}, YES)
        [record] = records(caplog)
        field = "tools.mode" if mode != "enabled" else "tools.webfetch.enabled"
        assert (record["error_code"], record["field"], record["url"]) == ("bad_args", field, "https://a.example/x")


@pytest.mark.req("FR-WF-19c")
async def test_a_call_that_is_served_leaves_one_and_so_does_reading_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "spaniel.fetch")
    async with tools_at({"/a": text("hello")}, tmp_path) as tools:
        await tools.fetch("/a")
        await tools.more("/a")
        await refused(tools, "web_fetch", {"url": tools.site.url("/none")}, YES)
    assert [(r["event"], r["cache_hit"]) for r in records(caplog)] == [
        ("fetch_complete", False),
        ("fetch_complete", True),
        ("http_4xx", False),
    ]
