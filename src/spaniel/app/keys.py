"""Every setting that there is: where it stands, what it may be, what it does. The sample file is made from this."""

from __future__ import annotations

from typing import Literal, NamedTuple

Value = bool | int | str | tuple[int, ...] | tuple[str, ...]


class Key(NamedTuple):
    """One setting of the SRD's §5.3, or of ours under `[spaniel.…]`."""

    table: str
    name: str
    default: Value
    what: str
    low: int | None = None
    high: int | None = None
    kind: Literal["", "ports", "path", "mode"] = ""

    @property
    def path(self) -> str:
        return f"{self.table}.{self.name}"


_FETCH = "tools.webfetch"

KEYS: tuple[Key, ...] = (
    Key("tools", "mode", "enabled", "enabled, parse_only (described, never run) or disabled", kind="mode"),
    Key(_FETCH, "enabled", False, "Enable the web_fetch tool"),
    Key(_FETCH, "user_agent", "forge-webfetch/1.0", "User-Agent header"),
    Key(_FETCH, "timeout_seconds", 20, "Request timeout, redirects and robots.txt included", 1, 300),
    Key(_FETCH, "max_redirects", 5, "Max redirect hops", 0, 20),
    Key(_FETCH, "default_max_chunk_tokens", 600, "Default chunk size", 128, 2048),
    Key(_FETCH, "cache_dir", "", "Cache directory (variables expanded; empty: the user's cache folder)", kind="path"),
    Key(_FETCH, "cache_ttl_days", 7, "Cache entry TTL", 0, 36_500),
    Key(_FETCH, "max_cache_entries", 10_000, "Max cached entries", 1, 100_000_000),
    Key(_FETCH, "max_cache_bytes", 1 << 30, "Max size of the cache (0: no limit)", 0),
    Key(_FETCH, "max_download_bytes", 5_242_880, "Max response size in bytes", 1024, 104_857_600),
    Key(_FETCH, "robots_cache_entries", 1024, "Max robots.txt cache entries", 1, 1_000_000),
    Key(_FETCH, "robots_cache_ttl_hours", 24, "robots.txt cache TTL", 0, 8_760),
    Key(_FETCH, "allow_auto_execution", False, "Skip the approval prompt (use with caution)"),
    Key(f"{_FETCH}.http", "use_system_proxy", False, "Use HTTP_PROXY/HTTPS_PROXY"),
    Key(f"{_FETCH}.browser", "enabled", True, "Enable browser mode and fallback"),
    Key(f"{_FETCH}.browser", "chromium_path", "", "Path to Chromium (empty: search PATH)", kind="path"),
    Key(f"{_FETCH}.browser", "network_idle_ms", 20_000, "Max wait for network idle", 0, 300_000),
    Key(f"{_FETCH}.browser", "max_rendered_dom_bytes", 5_242_880, "Max DOM size", 1024, 104_857_600),
    Key(f"{_FETCH}.browser", "block_resources", ("image", "font", "media"), "CDP resource types to block"),
    Key(f"{_FETCH}.security", "block_private_ips", True, "Block RFC 1918 ranges"),
    Key(f"{_FETCH}.security", "block_loopback", True, "Block 127.0.0.0/8, ::1"),
    Key(f"{_FETCH}.security", "block_link_local", True, "Block 169.254.0.0/16, fe80::/10"),
    Key(f"{_FETCH}.security", "block_reserved", True, "Block other reserved ranges"),
    Key(
        f"{_FETCH}.security",
        "allowed_ports",
        (80, 443),
        "Allowed destination ports (empty: default)",
        1,
        65_535,
        "ports",
    ),
    Key(f"{_FETCH}.security", "allow_insecure_overrides", False, "Required to disable SSRF protections"),
    Key(f"{_FETCH}.rendering", "js_heavy_domains", (), "Domains that skip HTTP mode"),
    Key(f"{_FETCH}.rendering", "spa_fallback_enabled", True, "Enable SPA detection fallback"),
    Key(f"{_FETCH}.rendering", "min_extracted_chars", 400, "Threshold for SPA fallback", 0, 1_000_000),
    Key(f"{_FETCH}.robots", "fail_open", False, "Allow fetch if robots.txt is unavailable"),
    Key("spaniel.mcp", "max_output_bytes", 65_536, "Largest answer of a tool call over MCP", 1024, 104_857_600),
    Key("spaniel.mcp", "max_chunk_bytes", 33_554_432, "Memory for chunks that can be read again", 0, 4_294_967_296),
    Key("spaniel.net", "ca_file", "", "Certificates to trust besides the system's (PEM)", kind="path"),
)


def sample() -> str:
    """A settings file with every key at its default, commented out, for a user to start from."""
    lines = ["# Spaniel's settings. Every key is shown at its default; take away a '#' to set it."]
    table = ""
    for key in KEYS:
        if key.table != table:
            table = key.table
            lines += ["", f"[{table}]"]
        span = f" ({key.low} to {key.high})" if key.low is not None and key.high is not None else ""
        lines.append(f"# {key.name} = {toml(key.default)}  # {key.what}{span}")
    return "\n".join(lines) + "\n"


def toml(value: Value) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)
