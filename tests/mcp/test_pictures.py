"""A picture of the page, as an image block beside the text; only where it was asked for."""

from __future__ import annotations

from base64 import b64decode, b64encode
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from spaniel.app.settings import Settings, ToolSettings
from spaniel.pipeline.answer import Answer
from spaniel.pipeline.request import Request, Trace
from spaniel.tool.framework import ToolSession
from spaniel.tool.registry import build_registry

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


class Client:
    """Answers with a picture if one is requested."""

    async def stored(self, request: Request) -> None:
        pass

    async def require_form(self, request: Request, trace: Trace | None = None) -> None:
        pass

    async def answer(self, request: Request, trace: Trace | None = None) -> Answer:
        url, at = request.url, datetime.now(UTC)
        picture = PNG if request.picture else None
        return Answer(url, url, at, "T", None, "text", [], "browser", (), {}, picture=picture)


@pytest.mark.parametrize(("asked", "kinds"), [({"screenshot": True}, ["text", "image"]), ({}, ["text"])])
async def test_a_picture_is_an_image_block(asked: dict[str, Any], kinds: list[str]) -> None:
    from spaniel.mcp.server import Handlers

    client = cast("Any", Client())
    registry = build_registry(client, ToolSettings(enabled=True, allow_auto_execution=True), ToolSession())
    handlers = Handlers(client, registry, Settings().mcp)
    result = await handlers._call("web_fetch", {"url": "https://a.example/", **asked}, cast("Any", _Steps()))
    assert [block.type for block in result.content] == kinds
    if len(kinds) == 2:
        image = cast("Any", result.content[1])
        assert (image.mime_type, b64decode(image.data)) == ("image/png", PNG)
        assert image.data == b64encode(PNG).decode()
        assert "picture" not in (result.structured_content or {})


class _Steps:
    def put_nowait(self, _step: object) -> None:
        pass
