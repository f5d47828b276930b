"""Settings in groups, as those take them who are no room of their own: the tool, MCP, rendering, the limits."""

from __future__ import annotations

from typing import Literal, NamedTuple

from spaniel.limits import MAX_REDIRECTS
from spaniel.url.hostlists import HostList

DEFAULT = "default"  # the source of a value that nobody gave
Mode = Literal["enabled", "parse_only", "disabled"]


class ToolSettings(NamedTuple):
    """What of the settings concerns the tool (FR-WF-CFG-02)."""

    mode: Mode = "enabled"
    enabled: bool = False
    allow_auto_execution: bool = False
    js_heavy: HostList = HostList(())  # whose pages are rendered without trying HTTP first (FR-WF-12b)
    mode_source: str = DEFAULT
    enabled_source: str = DEFAULT

    def opted_in(self) -> ToolSettings:
        """For whoever asked for the tool by starting this: it is on unless somebody says otherwise (D2-26)."""
        return self._replace(enabled=self.enabled or self.enabled_source == DEFAULT)

    @property
    def switched_off_by(self) -> str:
        """The file, variable or flag (or the default) for which no call is served; empty where calls are."""
        if self.mode != "enabled":
            return self.mode_source
        return "" if self.enabled else self.enabled_source


class McpSettings(NamedTuple):
    """`[spaniel.mcp]`."""

    max_output_bytes: int = 65_536
    resource_links: bool = False
    max_screenshot_height: int = 8_000


class RenderingSettings(NamedTuple):
    """`[tools.webfetch.rendering]`, and whether there is to be a browser at all."""

    js_heavy: HostList = HostList(())
    spa_fallback: bool = True
    min_extracted_chars: int = 400
    browser_enabled: bool = True
    empty_fallback: bool = True


class LimitSettings(NamedTuple):
    """What a fetch may take, where its profile says nothing."""

    timeout_seconds: int = 20
    max_redirects: int = MAX_REDIRECTS
    default_max_chunk_tokens: int = 600
    max_download_bytes: int = 5_242_880
    cache_ttl_days: int = 7


class BatchSettings(NamedTuple):
    """`[spaniel.batch]`."""

    max_retry_after_seconds: int = 600
    max_crawl_delay_seconds: int = 120
    host_seconds: int = 0
    total_seconds: int = 0


class HealthSettings(NamedTuple):
    """`[spaniel.health]`."""

    jobs: int = 32
    per_host: int = 1
    delay_ms: int = 500
    timeout_seconds: int = 20
    content_seconds: int = 600
    host_wait_seconds: int = 120
    robots: bool = False
    history_folder: str = ""
    priorities_file: str = ""
    fallback_extensions: tuple[str, ...] = ()
    index_files: tuple[str, ...] = ()
