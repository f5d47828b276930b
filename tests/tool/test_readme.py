"""The agent loop of the docs, run as it stands there, with a model that is a script."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from spaniel.testing import Site, text

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "agent-loop.md"


def agent_loop() -> str:
    blocks: list[str] = re.findall(r"```python[^\n]*\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    [found] = [block for block in blocks if "registry_for" in block]
    return found


class Model:
    """Answers as an OpenAI-style chat does, from a list; remembers what it was sent."""

    def __init__(self, *calls: str) -> None:
        self._calls = list(calls)
        self.tools: Any = None
        self.messages: list[dict[str, Any]] = []

    async def chat(self, messages: list[dict[str, Any]], tools: object) -> dict[str, Any]:
        self.tools, self.messages = tools, messages
        if not self._calls:
            return {"role": "assistant", "content": "done"}
        function = {"name": "web_fetch", "arguments": self._calls.pop(0)}
        return {"role": "assistant", "tool_calls": [{"id": f"call {len(messages)}", "function": function}]}


@pytest.mark.req("D2-10", "NFR-WF-OP-02", "NFR-WF-REL-02", "FR-WF-18")
async def test_the_agent_loop_of_the_docs_works_and_survives_its_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def ask(summary: str) -> bool:
        asked.append(summary)
        return "/no" not in summary

    loop: dict[str, Any] = {}
    source = agent_loop()
    assert len([line for line in source.splitlines() if line.strip()]) <= 30
    exec(compile(source, "loop.py", "exec"), loop)  # noqa: S102
    run: Callable[..., Awaitable[str]] = loop["run"]
    async with Site({"/a": text("hello")}) as site:
        here = f"http://127.0.0.1:{site.port}"
        for name, value in {
            "CACHE_DIR": str(tmp_path),
            "SECURITY_ALLOWED_PORTS": str(site.port),
            "SECURITY_BLOCK_LOOPBACK": "false",
            "SECURITY_ALLOW_INSECURE_OVERRIDES": "true",
        }.items():
            monkeypatch.setenv(f"SPANIEL_{name}", value)
        loop["ask"] = ask
        model = Model("{not json", "[]", f'{{"url": "{here}/no"}}', f'{{"url": "{here}/a?q=1"}}')
        assert await run(model.chat, "What is there?") == "done"
        assert set(site.requests) == {"/robots.txt", "/a?q=1"}
    assert [tool["function"]["name"] for tool in model.tools] == ["web_fetch", "web_fetch_more"]
    answers = [message["content"] for message in model.messages if message["role"] == "tool"]
    assert len(answers) == 4
    assert [json.loads(answer).get("code") for answer in answers[1:]] == ["bad_args", "bad_args", None]
    assert json.loads(answers[3])["chunks"][0]["text"] == "hello"
    assert asked == [f"web_fetch {here}/no (http)", f"web_fetch {here}/a (http)"]
