"""Requests as LobeChat, Open WebUI, LibreChat and n8n's Firecrawl node send them, and what they read of the answer."""

from __future__ import annotations

from typing import Any

import requests
from scene import KEY, Scene, report, scene

TOKEN = {"Authorization": f"Bearer {KEY}"}


def post(at: Scene, path: str, body: dict[str, Any], **headers: str) -> Any:
    answer = requests.post(at.base + path, json=body, headers={**TOKEN, **headers}, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()


def lobechat(at: Scene, page: str) -> None:
    headers = {**TOKEN, "Accept": "application/json", "x-send-from": "LobeChat Community"}
    found = requests.get(f"{at.base}/{page}", headers=headers, timeout=60).json()
    assert found["code"] == 200
    assert found["data"]["content"].startswith("# Otters\n")
    assert found["data"]["title"]
    assert isinstance(found["data"]["description"], str)


def open_webui(at: Scene, page: str) -> None:
    found = post(at, "/load", {"urls": [page, at.site.url("/second")]}, **{"User-Agent": "External Web Loader"})
    assert [each["page_content"].split("\n")[0] for each in found] == ["# Otters", "# Second"]
    assert found[0]["metadata"]["source"] == page


def librechat(at: Scene, page: str) -> None:
    body = {
        "url": page, "formats": ["markdown", "rawHtml"], "onlyMainContent": True, "timeout": 7500, "waitFor": 0,
        "maxAge": 0, "mobile": False, "skipTlsVerification": True, "blockAds": True, "removeBase64Images": True,
        "parsePDF": True, "storeInCache": True, "zeroDataRetention": False, "location": {"country": "US"},
    }  # fmt: skip
    for version in ("v1", "v2"):
        found = post(at, f"/{version}/scrape", body)
        assert found["success"] is True
        assert found["data"]["markdown"].startswith("# Otters\n")
        assert "<nav>" in found["data"]["rawHtml"]
        assert found["data"]["metadata"]["sourceURL"] == page


def n8n(at: Scene, page: str) -> None:
    body = {
        "url": page, "formats": [{"type": "markdown"}, {"type": "links"}], "onlyMainContent": True, "parsers": ["pdf"],
        "integration": "n8n", "proxy": "auto", "maxAge": 172_800_000, "removeBase64Images": True, "blockAds": True,
    }  # fmt: skip
    found = post(at, "/v2/scrape", body)
    assert found["data"]["markdown"].startswith("# Otters\n")
    assert found["data"]["links"] == [at.site.url("/second?a=1")]
    links = post(at, "/v2/map", {"url": page, "limit": 10, "includeSubdomains": False, "integration": "n8n"})["links"]
    assert links[0]["url"] == page


with scene() as the_scene:
    for form in (lobechat, open_webui, librechat, n8n):
        form(the_scene, the_scene.site.url("/otters"))
        report(form.__name__.replace("_", " "))
