"""`web_fetch` as a host calls it: budget, approval, mode, errors; against a real site on loopback."""

from __future__ import annotations

import asyncio
import json
import pickle
from pathlib import Path

import jsonschema
import pytest

from spaniel.app.client import Spaniel
from spaniel.app.settings import Settings, ToolSettings, from_data
from spaniel.pipeline.request import TraceStep
from spaniel.testing import Site, settings_for, text
from spaniel.tool import (
    ToolCtx,
    ToolError,
    ToolExecutor,
    ToolRegistry,
    WebFetchTool,
    for_anthropic,
    for_openai,
    registry_for,
)
from spaniel.tool.web_fetch import OUTPUT_SCHEMA
from spaniel.url.hostlists import domains
from tests.tool.harness import LONG, names, tool_at


class NoClient:
    """Stands where nothing may be fetched."""

    async def answer(self, *_: object) -> None:
        raise AssertionError("fetched")

    async def stored(self, *_: object) -> None:
        raise AssertionError("looked up")

    async def require_form(self, *_: object) -> None:
        pass


def unused(**given: object) -> WebFetchTool:
    return WebFetchTool(NoClient(), ToolSettings(**{"enabled": True, **given}))  # type: ignore[arg-type]


async def refusal(tool: WebFetchTool, args: object, ctx: ToolCtx | None = None) -> dict[str, object]:
    with pytest.raises(ToolError) as caught:
        await tool.execute(args, ctx or ToolCtx(approve=lambda _: True))  # type: ignore[arg-type]
    assert caught.value.tool == "web_fetch"
    assert str(caught.value) == caught.value.message == str(pickle.loads(pickle.dumps(caught.value)))  # noqa: S301
    envelope: dict[str, object] = json.loads(caught.value.message)
    assert {"code", "message", "retryable", "hint"} <= set(envelope)
    assert envelope["hint"] == caught.value.error.model_hint
    return envelope


@pytest.mark.req("D2-10", "FR-WF-01", "FR-WF-03")
async def test_it_is_a_tool_executor_that_answers_json_of_its_schema(tmp_path: Path) -> None:
    async with tool_at({"/a": text("hello")}, tmp_path) as (tool, site):
        executor: ToolExecutor = tool
        assert executor.name == "web_fetch"
        fields = json.loads(await executor.execute({"url": site.url("/a")}, ToolCtx(approve=lambda _: True)))
        again = json.loads(await executor.execute({"url": site.url("/a")}, ToolCtx(approve=lambda _: True)))
    jsonschema.Draft202012Validator.check_schema(OUTPUT_SCHEMA)
    for answer in (fields, again):
        jsonschema.validate(answer, OUTPUT_SCHEMA)
    assert fields["chunks"] == [{"heading": "", "text": "hello", "token_count": 1}]
    assert again["note"] == "cache_hit"


@pytest.mark.req("FR-WF-03a", "FR-WF-15e", "T-WF-CHK-05", "D2-23")
@pytest.mark.parametrize("budget", [400, 1_000, 4_000, 5_000, 12_345, 100_000])
async def test_the_json_never_exceeds_the_smaller_of_both_budgets(tmp_path: Path, budget: int) -> None:
    async with tool_at({"/a": text(LONG)}, tmp_path, allow_auto_execution=True) as (tool, site):
        for ctx in (ToolCtx(budget, 1 << 30), ToolCtx(1 << 30, budget)):
            out = await tool.execute({"url": site.url("/a")}, ctx)
            assert ctx.allow_truncation is False
            fields = json.loads(out)
            assert len(out.encode()) <= budget
            assert fields["truncated"] is (budget < 100_000)
            assert fields.get("truncation_reason") == ("tool_output_limit" if fields["truncated"] else None)
        small = await refusal(tool, {"url": site.url("/a")}, ToolCtx(100, 0))
    assert (small["code"], small["details"]["field"]) == ("bad_args", "max_output_bytes")  # type: ignore[index]


@pytest.mark.req("NFR-WF-OP-01", "NFR-WF-OP-02")
def test_tool_is_side_effecting_and_needs_approval_by_default() -> None:
    assert unused().is_side_effecting()
    assert unused().requires_approval()
    assert unused(allow_auto_execution=True).is_side_effecting()
    assert not unused(allow_auto_execution=True).requires_approval()


@pytest.mark.req("NFR-WF-OP-01")
def test_each_registered_tool_is_side_effecting() -> None:
    for automatic in (False, True):
        webfetch = {"enabled": True, "allow_auto_execution": automatic}
        settings = from_data({"tools": {"webfetch": webfetch}}, "test")
        registry = registry_for(NoClient(), settings)  # type: ignore[arg-type]
        assert [tool.is_side_effecting() for tool in registry.advertised()] == [True, True]


@pytest.mark.req("NFR-WF-OP-03", "D2-15")
@pytest.mark.parametrize(
    ("args", "summary"),
    [
        ({"url": "https://Example.com/a/b?token=secret#part"}, "web_fetch https://example.com/a/b (http)"),
        ({"url": "https://me:secret@example.com/a?secret"}, "web_fetch https://example.com/a (http)"),
        ({"url": "http://example.com:8080/", "force_browser": True}, "web_fetch http://example.com:8080/ (browser)"),
        ({"url": "https://app.heavy.example/x"}, "web_fetch https://app.heavy.example/x (browser)"),
        ({"url": "https://notheavy.example/x"}, "web_fetch https://notheavy.example/x (http)"),
        ({"url": "https://bücher.example/ü\u202e"}, "web_fetch https://xn--bcher-kva.example/%C3%BC%E2%80%AE (http)"),
    ],
)
def test_the_summary_has_scheme_host_path_and_method_and_no_more(args: dict[str, object], summary: str) -> None:
    assert unused(js_heavy=domains(["*.Heavy.example", "bücherwurm.example"])).approval_summary(args) == summary


@pytest.mark.req("NFR-WF-OP-03", "FR-WF-18")
def test_there_is_no_summary_of_what_is_no_request() -> None:
    for args in ({}, {"url": "ftp://a.example/"}, ["https://a.example/"]):
        with pytest.raises(ToolError, match='"code"'):
            unused().approval_summary(args)  # type: ignore[arg-type]


@pytest.mark.req("NFR-WF-OP-02")
async def test_nothing_is_fetched_without_approval(tmp_path: Path) -> None:
    asked: list[str] = []

    def no(summary: str) -> bool:
        asked.append(summary)
        return False

    async def yes(summary: str) -> bool:
        asked.append(summary)
        return True

    async with tool_at({"/a": text("hello")}, tmp_path) as (tool, site):
        args = {"url": site.url("/a?q=1")}
        nobody = await refusal(tool, args, ToolCtx())
        denied = await refusal(tool, args, ToolCtx(approve=no))
        unclear = await refusal(tool, args, ToolCtx(approve=lambda _: "yes"))  # type: ignore[arg-type,return-value]
        assert not site.requests
        await tool.execute(args, ToolCtx(approve=yes))
        assert site.requests["/a?q=1"] == 1
    for envelope in (nobody, denied, unclear):
        assert (envelope["code"], envelope["details"]["field"]) == ("bad_args", "approval")  # type: ignore[index]
    assert asked == [f"web_fetch {site.url('/a')} (http)"] * 2


@pytest.mark.req("NFR-WF-OP-02", "FR-WF-02")
async def test_nobody_is_asked_about_a_request_that_is_wrong() -> None:
    def never(_: str) -> bool:
        raise AssertionError("asked")

    for args in ({"url": "http://0x7f.1/"}, {"url": "https://a.example/", "max_chunk_tokens": 1}, {}, ["x"], None):
        assert (await refusal(unused(), args, ToolCtx(approve=never)))["code"] in ("bad_args", "invalid_host")


@pytest.mark.req("NFR-WF-OP-02", "D2-04")
@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://10.0.0.5/", "ssrf_blocked"),
        ("http://[::1]/", "ssrf_blocked"),
        ("http://a.example:22/", "port_blocked"),
        ("http://blocked.example/", "invalid_host"),
        ("ftp://a.example/", "invalid_scheme"),
        ("http://a..b/", "invalid_url"),
    ],
)
async def test_nobody_is_asked_about_what_is_refused_for_its_form(tmp_path: Path, url: str, code: str) -> None:
    asked: list[str] = []

    def yes(summary: str) -> bool:
        asked.append(summary)
        return True

    security = {"allowed_ports": [80, 443], "blocked_domains": ["blocked.example"]}
    settings = from_data(
        {"tools": {"webfetch": {"enabled": True, "cache_dir": str(tmp_path), "security": security}}}, "t"
    )
    async with Spaniel(settings, names()) as client:
        tool = WebFetchTool(client, settings.tool)
        assert (await refusal(tool, {"url": url}, ToolCtx(approve=yes)))["code"] == code
        assert asked == []
        await refusal(tool, {"url": "http://nowhere.example/"}, ToolCtx(approve=yes))  # the control
    assert asked == ["web_fetch http://nowhere.example/ (http)"]


@pytest.mark.req("NFR-WF-REL-02", "FR-WF-18")
async def test_a_callback_that_breaks_is_an_internal_error() -> None:
    def broken(_: str) -> bool:
        raise KeyError("host")

    assert (await refusal(unused(), {"url": "https://a.example/"}, ToolCtx(approve=broken)))["code"] == "internal"


@pytest.mark.req("FR-WF-CFG-PREC-01", "FR-WF-CFG-PREC-03", "D2-10")
@pytest.mark.parametrize("mode", ["parse_only", "disabled"])
async def test_only_mode_enabled_runs_anything(mode: str) -> None:
    for enabled in (True, False):
        envelope = await refusal(unused(mode=mode, enabled=enabled), {"url": "https://a.example/"})
        assert (envelope["code"], envelope["details"]["field"]) == ("bad_args", "tools.mode")  # type: ignore[index]
    with pytest.raises(ToolError, match=r"tools\.mode"):
        await ToolRegistry(mode).execute("web_fetch", {}, ToolCtx())  # type: ignore[arg-type]


@pytest.mark.req("D2-26", "FR-WF-CFG-02")
async def test_it_is_off_until_it_is_switched_on() -> None:
    envelope = await refusal(unused(enabled=Settings().tool.enabled), {"url": "https://a.example/"})
    assert envelope["details"]["field"] == "tools.webfetch.enabled"  # type: ignore[index]


@pytest.mark.req("FR-WF-CFG-PREC-01", "FR-WF-CFG-PREC-02", "FR-WF-CFG-PREC-03", "FR-WF-CFG-02")
@pytest.mark.parametrize(
    ("mode", "enabled", "registered", "advertised"),
    [
        ("enabled", True, True, True),
        ("enabled", False, False, False),
        ("parse_only", True, True, True),
        ("parse_only", False, False, False),
        ("disabled", True, False, False),
        ("disabled", False, False, False),
    ],
)
def test_mode_and_switch_decide_what_is_in_the_registry(
    mode: str, enabled: bool, registered: bool, advertised: bool
) -> None:
    settings = from_data({"tools": {"mode": mode, "webfetch": {"enabled": enabled}}}, "test")
    registry = registry_for(NoClient(), settings)  # type: ignore[arg-type]
    assert (registry.get("web_fetch") is not None) is registered
    assert [tool.name for tool in registry.advertised()] == (["web_fetch", "web_fetch_more"] if advertised else [])


@pytest.mark.req("FR-WF-01", "D2-10")
async def test_tool_names_are_exact_and_unique() -> None:
    registry = ToolRegistry()
    registry.register(unused())
    assert registry.get("web_fetch")
    for other in ("Web_Fetch", "WEB_FETCH", "webfetch", "web-fetch", "WebFetch", " web_fetch", ""):
        assert registry.get(other) is None
        with pytest.raises(ToolError, match='"bad_args"'):
            await registry.execute(other, {}, ToolCtx())
    with pytest.raises(ValueError, match="already"):
        registry.register(unused())


@pytest.mark.req("D2-26", "FR-WF-CFG-PREC-02")
@pytest.mark.parametrize("name", ["web_fetch", "web_fetch_more"])
async def test_switched_off_tools_name_their_setting(name: str) -> None:
    registry = registry_for(NoClient(), Settings())  # type: ignore[arg-type]
    with pytest.raises(ToolError) as caught:
        await registry.execute(name, {"url": "https://a.example/"}, ToolCtx())
    envelope = json.loads(caught.value.message)
    assert envelope["details"]["field"] == "tools.webfetch.enabled"
    assert "settings file" in caught.value.error.hint
    assert "is disabled" in envelope["hint"]
    with pytest.raises(ToolError, match="unknown tool; available: none"):
        await registry.execute("web_search", {}, ToolCtx())


@pytest.mark.req("D2-26")
@pytest.mark.parametrize(("said", "on"), [({}, True), ({"enabled": True}, True), ({"enabled": False}, False)])
def test_starting_a_server_switches_the_tool_on_unless_set(said: dict[str, bool], on: bool) -> None:
    settings = from_data({"tools": {"webfetch": said}}, "spaniel.toml")
    assert settings.tool.opted_in().enabled is on


@pytest.mark.req("D2-38", "FR-WF-02")
async def test_rendering_arguments_need_another_profile(tmp_path: Path) -> None:
    url = "https://a.example/"
    async with Site({}) as site:
        settings = settings_for(site, cache=tmp_path, enabled=True)
        schemas = {}
        for profile in ("web_fetch", "reader", "ingest"):
            async with Spaniel(settings, profile=profile) as client:
                tool = registry_for(client, settings).get("web_fetch")
                assert tool is not None
                schemas[profile] = tool.schema
                for name, value in (("wait_for", "#x"), ("scroll", 3)):
                    args = {"url": url, name: value}
                    if profile == "web_fetch":
                        with pytest.raises(ToolError, match="unknown parameter"):
                            tool.approval_summary(args)
                    else:
                        assert tool.approval_summary(args) == f"web_fetch {url} (browser)"
                for name, wrong in (("wait_for", 3), ("wait_for", "p" * 1001), ("scroll", 101), ("scroll", -1)):
                    with pytest.raises(ToolError, match="bad_args"):
                        tool.approval_summary({"url": url, name: wrong})
    srd = {"url", "max_chunk_tokens", "no_cache", "force_browser", "screenshot"}
    for profile, schema in schemas.items():
        assert schema["additionalProperties"] is False
        more = set() if profile == "web_fetch" else {"wait_for", "scroll"}
        assert set(schema["properties"]) == srd | more  # type: ignore[call-overload]
        jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.req("FR-WF-02", "D2-10")
def test_the_definition_is_rendered_for_both_families_of_models() -> None:
    tool = unused()
    openai, anthropic = for_openai(tool), for_anthropic(tool)
    assert (openai["type"], set(openai)) == ("function", {"type", "function"})
    assert set(openai["function"]) == {"name", "description", "parameters"}  # type: ignore[call-overload]
    assert set(anthropic) == {"name", "description", "input_schema"}
    schema = anthropic["input_schema"]
    assert schema == openai["function"]["parameters"]  # type: ignore[index]
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate({"url": "https://a.example/", "no_cache": True}, schema)
    for wrong in ({}, {"url": ""}, {"url": "x", "more": 1}, {"url": "x", "max_chunk_tokens": 127}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)
    json.dumps([openai, anthropic])


@pytest.mark.req("D2-10")
async def test_progress_tells_each_step_as_it_ends(tmp_path: Path) -> None:
    steps: list[TraceStep] = []
    async with tool_at({"/a": text("hello")}, tmp_path, allow_auto_execution=True) as (tool, site):
        await tool.execute({"url": site.url("/a")}, ToolCtx(progress=steps.append))
    assert [step.name for step in steps][:6] == ["parse", "normalize", "check_cache", "guard", "robots", "fetch"]


@pytest.mark.req("NFR-WF-REL-02")
async def test_cancelling_a_call_is_no_error_of_the_tool(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def slow() -> tuple[int, dict[str, str], bytes]:
        begun.set()
        await asyncio.sleep(30)
        return text("late")

    async with Site({"/slow": slow, "/a": text("hello")}) as site:
        settings = settings_for(site, cache=tmp_path, allow_auto_execution=True)
        async with Spaniel(settings, names()) as client:
            tool = WebFetchTool(client, settings.tool)
            call = asyncio.ensure_future(tool.execute({"url": site.url("/slow")}, ToolCtx()))
            await begun.wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert "hello" in await tool.execute({"url": site.url("/a")}, ToolCtx())
