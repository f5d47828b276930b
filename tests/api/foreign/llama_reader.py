"""llama-index-readers-web's FireCrawlWebReader: scrape and map."""

from __future__ import annotations

from importlib.metadata import version

from llama_index.readers.web import FireCrawlWebReader
from scene import KEY, Scene, report, scene


def session(at: Scene) -> None:
    page = at.site.url("/otters")
    [document] = FireCrawlWebReader(KEY, api_url=at.base, mode="scrape").load_data(url=page)
    assert document.text.startswith("# Otters\n"), document
    links = [each.text for each in FireCrawlWebReader(KEY, api_url=at.base, mode="map").load_data(url=page)]
    assert page in " ".join(links), links
    report(f"llama-index-readers-web {version('llama-index-readers-web')}: a page, {len(links)} links")


with scene() as the_scene:
    session(the_scene)
