"""The peers of `bench.batch`: `python batch_peers.py NAME URLS OUT` fetches a list and writes JSON lines with Markdown.

Some have an environment of their own, so only the standard library is imported at the top.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

URLS, OUT = Path(sys.argv[2]).read_text(encoding="utf-8").split(), sys.argv[3]


def line(url: str, markdown: str | None) -> str:
    return json.dumps({"url": url, "markdown": markdown}, ensure_ascii=False) + "\n"


def scrapy() -> None:
    """As its users write it: a spider that reads each page with trafilatura."""
    from scrapy import Spider  # type: ignore[import-not-found]
    from scrapy.crawler import CrawlerProcess  # type: ignore[import-not-found]
    from trafilatura import extract

    with open(OUT, "w", encoding="utf-8") as out:

        class Pages(Spider):  # type: ignore[misc]
            name = "pages"
            start_urls = URLS

            def parse(self, response: Any) -> None:
                out.write(line(response.url, extract(response.text, url=response.url, output_format="markdown")))

        told = {
            "LOG_LEVEL": "ERROR",
            "CONCURRENT_REQUESTS": 64,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
            "DOWNLOAD_DELAY": 0,
        }
        process = CrawlerProcess({**told, "ROBOTSTXT_OBEY": True, "TELNETCONSOLE_ENABLED": False})
        process.crawl(Pages)
        process.start()


def trafilatura() -> None:
    """Its own downloads in threads, as its command line has them."""
    from concurrent.futures import ThreadPoolExecutor

    from trafilatura import extract, fetch_url
    from trafilatura.settings import use_config

    config = use_config()
    config.set("DEFAULT", "SSRF_PROTECTION", "off")  # the pages are on loopback

    def work(url: str) -> str:
        return line(url, extract(fetch_url(url, config=config), url=url, output_format="markdown"))

    with ThreadPoolExecutor(16) as threads, open(OUT, "w", encoding="utf-8") as out:
        out.writelines(threads.map(work, URLS))


async def _crawl4ai() -> list[str]:
    from crawl4ai import AsyncWebCrawler, CacheMode, CrawlerRunConfig
    from crawl4ai.async_crawler_strategy import AsyncHTTPCrawlerStrategy

    config = CrawlerRunConfig(cache_mode=CacheMode.BYPASS, verbose=False, semaphore_count=16)
    async with AsyncWebCrawler(crawler_strategy=AsyncHTTPCrawlerStrategy(), verbose=False) as crawler:
        found = await crawler.arun_many(URLS, config=config)
        return [line(result.url, str(result.markdown)) for result in found]


def crawl4ai() -> None:
    home = os.path.dirname(OUT)
    os.environ |= {"CRAWL4AI_NO_CLOUD_NOTICE": "1", "HOME": home, "CRAWL4_AI_BASE_DIRECTORY": home}
    lines = asyncio.run(_crawl4ai())
    with open(OUT, "w", encoding="utf-8") as out:
        out.writelines(lines)


if __name__ == "__main__":
    {"scrapy": scrapy, "trafilatura": trafilatura, "crawl4ai": crawl4ai}[sys.argv[1]]()
