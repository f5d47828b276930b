"""Groups of settings for the tool, MCP, rendering and limits."""

from __future__ import annotations

from typing import Literal, NamedTuple

from spaniel.url.hostlists import HostList

DEFAULT = "default"  # the source of a value that was not set
Mode = Literal["enabled", "parse_only", "disabled"]


class ToolSettings(NamedTuple):
    """The tool's settings (FR-WF-CFG-02)."""

    mode: Mode = "enabled"
    enabled: bool = False
    allow_auto_execution: bool = False
    js_heavy: HostList = HostList(())  # whose pages are rendered without trying HTTP first (FR-WF-12b)
    mode_source: str = DEFAULT
    enabled_source: str = DEFAULT

    def opted_in(self) -> ToolSettings:
        """For a server that the user starts: the tool is on unless it was switched off explicitly (D2-26)."""
        return self._replace(enabled=self.enabled or self.enabled_source == DEFAULT)

    @property
    def switched_off_by(self) -> str:
        """The file, variable or flag (or the default) that switched the tool off; empty if it is on."""
        if self.mode != "enabled":
            return self.mode_source
        return "" if self.enabled else self.enabled_source


class McpSettings(NamedTuple):
    """`[spaniel.mcp]`."""

    max_output_bytes: int
    resource_links: bool
    max_screenshot_height: int


class RenderingSettings(NamedTuple):
    """`[tools.webfetch.rendering]`, and whether a browser may be used at all."""

    js_heavy: HostList
    spa_fallback: bool
    min_extracted_chars: int
    browser_enabled: bool
    empty_fallback: bool


class LimitSettings(NamedTuple):
    """The limits of a fetch, unless its profile sets them."""

    timeout_seconds: int
    max_redirects: int
    default_max_chunk_tokens: int
    max_download_bytes: int
    cache_ttl_days: int


class BatchSettings(NamedTuple):
    """`[spaniel.batch]`."""

    max_retry_after_seconds: int
    max_crawl_delay_seconds: int
    host_seconds: int
    total_seconds: int


class HealthSettings(NamedTuple):
    """`[spaniel.health]`."""

    jobs: int
    per_host: int
    delay_ms: int
    timeout_seconds: int
    content_seconds: int
    host_wait_seconds: int
    robots: bool
    history_folder: str
    priorities_file: str
    fallback_extensions: tuple[str, ...]
    index_files: tuple[str, ...]
