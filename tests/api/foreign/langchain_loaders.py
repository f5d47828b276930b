"""langchain-firecrawl, and langchain-community's FireCrawlLoader: scrape, map, a refusal."""

from __future__ import annotations

from importlib.metadata import version

from langchain_community.document_loaders import FireCrawlLoader
from langchain_firecrawl import FirecrawlLoader
from scene import KEY, Scene, report, scene


def session(at: Scene) -> None:
    page = at.site.url("/otters")
    for loader, name in ((FirecrawlLoader, "langchain-firecrawl"), (FireCrawlLoader, "langchain-community")):
        known = {"api_key": KEY, "api_url": at.base}
        [document] = loader(url=page, mode="scrape", **known).load()
        assert document.page_content.startswith("# Otters\n"), document
        links = [each.page_content for each in loader(url=page, mode="map", **known).load()]
        assert page in " ".join(links), links
        try:
            loader(url="http://10.0.0.1/", mode="scrape", **known).load()
        except Exception as error:  # noqa: BLE001  whichever it raises
            assert "10.0.0.1 is blocked" in str(error), error
        else:
            raise AssertionError("an inside address was fetched")
        report(f"{name} {version(name)}: a page, {len(links)} links, a refusal")


with scene() as the_scene:
    session(the_scene)
