"""Every setting: its place, type, meaning, and who may set it.

The sample file, the environment variables, the flags and docs/reference/settings.md are all made from this table.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from spaniel import defaults

Value = bool | int | str | tuple[int, ...] | tuple[str, ...]

FETCH, OWN = "tools.webfetch", "spaniel"
SECURITY = f"{FETCH}.security"


class Key(NamedTuple):
    """One setting of the SRD's §5.3, or of ours under `[spaniel.…]`."""

    table: str
    name: str
    default: Value
    what: str
    low: int | None = None
    high: int | None = None
    kind: Literal[
        "",
        "domains",
        "header",
        "line",
        "mirrors",
        "mode",
        "names",
        "path",
        "ports",
        "program",
        "resources",
        "template",
        "words",
    ] = ""
    # What runs a program, trusts a file, names a folder, opens the guard, or names a source of copies of pages. A
    # file in the working folder may come from anyone, so it may not set these (D2-31). A new key that names a program,
    # a file, a folder or an address is one of them.
    trusted: bool = False
    flag: str = ""

    @property
    def path(self) -> str:
        return f"{self.table}.{self.name}"

    @property
    def variable(self) -> str:
        """Its environment variable: SPANIEL_ and the path in capitals, without the common table."""
        short = self.path.removeprefix(f"{FETCH}.").removeprefix(f"{OWN}.")
        return "SPANIEL_" + short.upper().replace(".", "_")

    @property
    def range(self) -> str:
        if self.low is None:
            return ""
        return f"{self.low} or more" if self.high is None else f"{self.low} to {self.high}"


def _number(table: str, name: str, number: defaults.Number, what: str, *, flag: str = "") -> Key:
    return Key(table, name, number.default, what, number.low, number.high, flag=flag)


KEYS: tuple[Key, ...] = (
    Key("tools", "mode", "enabled", "enabled, parse_only (tools are described, never run) or disabled", kind="mode"),
    Key(FETCH, "enabled", False, "Offer the web_fetch tool"),
    Key(
        FETCH, "user_agent", defaults.USER_AGENT, "The User-Agent header",
        kind="header", flag="--user-agent",
    ),
    _number(
        FETCH, "timeout_seconds", defaults.TIMEOUT_SECONDS, "Seconds for one fetch, redirects and robots.txt included",
        flag="--timeout",
    ),
    _number(FETCH, "max_redirects", defaults.MAX_REDIRECTS, "How many redirects are followed"),
    _number(
        FETCH, "default_max_chunk_tokens", defaults.CHUNK_TOKENS, "Tokens of a chunk, unless the request sets it"
    ),
    Key(FETCH, "cache_dir", "", "Folder of the cache (empty: the user's cache folder)", kind="path", trusted=True),
    _number(FETCH, "cache_ttl_days", defaults.CACHE_TTL_DAYS, "Days for which a cached page is served"),
    _number(FETCH, "max_cache_entries", defaults.CACHE_ENTRIES, "How many pages the cache keeps"),
    _number(FETCH, "max_cache_bytes", defaults.CACHE_BYTES, "Largest size of the cache in bytes (0: no limit)"),
    _number(FETCH, "max_download_bytes", defaults.DOWNLOAD_BYTES, "Largest response in bytes"),
    _number(
        FETCH, "robots_cache_entries", defaults.ROBOTS_CACHE_ENTRIES,
        "How many robots.txt files are kept, in memory and on disk",
    ),
    _number(
        FETCH, "robots_cache_ttl_hours", defaults.ROBOTS_CACHE_TTL_HOURS, "Hours for which a robots.txt file is kept"
    ),
    Key(FETCH, "allow_auto_execution", False, "Run the tool without asking for approval", trusted=True),
    Key(f"{FETCH}.http", "use_system_proxy", False, "Use HTTP_PROXY, HTTPS_PROXY and NO_PROXY", trusted=True),
    Key(f"{FETCH}.browser", "enabled", True, "Use a browser if a page needs one"),
    Key(
        f"{FETCH}.browser", "chromium_path", "", "The Chromium to run (empty: search the PATH)",
        kind="program", trusted=True,
    ),
    _number(f"{FETCH}.browser", "network_idle_ms", defaults.IDLE_MS, "Longest wait for a page to finish loading"),
    _number(f"{FETCH}.browser", "max_rendered_dom_bytes", defaults.RENDERED_BYTES, "Largest rendered page in bytes"),
    Key(
        f"{FETCH}.browser", "block_resources", defaults.BLOCKED_RESOURCES, "Types of resources that are not loaded",
        kind="resources",
    ),
    _number(f"{FETCH}.browser", "viewport_width", defaults.WINDOW_WIDTH, "Width of the browser's window in pixels"),
    _number(
        f"{FETCH}.browser", "viewport_height", defaults.WINDOW_HEIGHT,
        "Its height; a tall window makes scrolling unnecessary",
    ),
    Key(
        f"{FETCH}.browser", "wait_for", "", "A CSS selector that a page must match before it is read (empty: none)",
        kind="line",
    ),
    _number(
        f"{FETCH}.browser", "scrolls", defaults.SCROLLS, "How often a page is scrolled to its end while it grows"
    ),
    Key(
        f"{FETCH}.browser", "no_sandbox", False,
        "Run Chromium without its sandbox; only if Spaniel itself runs in a container or sandbox",
        trusted=True,
    ),
    Key(SECURITY, "block_private_ips", True, "Block private addresses (RFC 1918)", trusted=True),
    Key(SECURITY, "block_loopback", True, "Block this machine (127.0.0.0/8, ::1)", trusted=True),
    Key(SECURITY, "block_link_local", True, "Block link-local addresses (169.254.0.0/16, fe80::/10)", trusted=True),
    Key(SECURITY, "block_reserved", True, "Block all other reserved addresses", trusted=True),
    Key(
        SECURITY, "allowed_ports", defaults.PORTS, "Ports that may be connected to (empty: the default)",
        1, 65_535, "ports", trusted=True,
    ),
    Key(SECURITY, "allow_insecure_overrides", False, "Must be true to set a block_ key to false", trusted=True),
    Key(
        SECURITY, "allowed_domains", (), "Domains that pages may come from, with their subdomains (empty: any)",
        kind="domains", trusted=True,
    ),
    Key(
        SECURITY, "blocked_domains", (), "Domains that nothing is fetched from, with their subdomains",
        kind="domains", trusted=True,
    ),
    Key(
        f"{FETCH}.rendering", "js_heavy_domains", (), "Domains whose pages are rendered without trying HTTP first",
        kind="domains",
    ),
    Key(f"{FETCH}.rendering", "spa_fallback_enabled", True, "Use the browser for pages that a script would fill"),
    _number(
        f"{FETCH}.rendering", "min_extracted_chars", defaults.SHORT_PAGE_CHARS,
        "Only if HTTP returned fewer characters",
    ),
    Key(f"{FETCH}.rendering", "empty_fallback", True, "Use the browser for a page that has scripts and no text"),
    Key(f"{FETCH}.robots", "fail_open", False, "Fetch a page even if its robots.txt cannot be read"),
    Key(
        f"{OWN}.freshness", "file", "", "Freshness classes and rules that override the built-in ones (TOML)",
        kind="path", trusted=True,
    ),
    _number(f"{OWN}.mcp", "max_output_bytes", defaults.OUTPUT_BYTES, "Largest answer of a call over MCP in bytes"),
    Key(f"{OWN}.mcp", "resource_links", False, "Link the chunks that did not fit an answer as MCP resources"),
    _number(
        f"{OWN}.mcp", "max_screenshot_height", defaults.SCREENSHOT_HEIGHT, "Tallest screenshot over MCP in pixels"
    ),
    Key(
        f"{OWN}.registry", "folder", "urls", "Folder of the link database, for 'spaniel db'",
        kind="path", trusted=True,
    ),
    Key(
        f"{OWN}.canon", "learnt_file", "", "File for what is learnt about hosts online (empty: not stored)",
        kind="path", trusted=True,
    ),
    Key(
        f"{OWN}.net", "ca_file", "", "Certificates to trust in addition to the system's (PEM)",
        kind="path", trusted=True,
    ),
    Key(
        f"{OWN}.archive", "available", "https://archive.org/wayback/available?url={url}",
        "Where the web archive is asked for a copy (empty: it is not used)", kind="template", trusted=True,
    ),
    Key(
        f"{OWN}.archive", "snapshot", "https://web.archive.org/web/{timestamp}id_/{url}",
        "Where a copy of the web archive is fetched from", kind="template", trusted=True,
    ),
    Key(
        f"{OWN}.search_cache", "template", "", "URL of a search engine's cached copies, with {url} (empty: off)",
        kind="template", trusted=True,
    ),
    Key(
        f"{OWN}.mirrors", "prefixes", (),
        "Mirrors, each as one text: a prefix of addresses, a space, and its replacement",
        kind="mirrors", trusted=True,
    ),
    _number(f"{OWN}.health", "jobs", defaults.CHECK_JOBS, "Links that are checked at the same time"),
    _number(f"{OWN}.health", "per_host", defaults.CHECK_PER_HOST, "Of these at one host"),
    _number(
        f"{OWN}.health", "delay_ms", defaults.CHECK_DELAY_MS,
        "Milliseconds between two requests of a check to one host",
    ),
    _number(
        f"{OWN}.health", "timeout_seconds", defaults.CHECK_TIMEOUT_SECONDS,
        "Seconds for the response of a link, redirects included",
    ),
    _number(
        f"{OWN}.health", "content_seconds", defaults.CHECK_CONTENT_SECONDS,
        "Seconds for a link whose content is compared",
    ),
    _number(
        f"{OWN}.health", "host_wait_seconds", defaults.CHECK_HOST_WAIT_SECONDS,
        "Longest time that a check waits for one host",
    ),
    Key(f"{OWN}.health", "robots", False, "Skip what robots.txt disallows, and respect its Crawl-delay"),
    Key(
        f"{OWN}.health", "history_folder", "", "Folder of the history of links in documents (empty: the user's own)",
        kind="path", trusted=True,
    ),
    Key(
        f"{OWN}.health", "priorities_file", "", "How often links are due, in place of the built-in table (TOML)",
        kind="path", trusted=True,
    ),
    Key(
        f"{OWN}.health", "fallback_extensions", ("html", "md", "rst", "mdx", "ipynb", "markdown", "adoc", "txt"),
        "Extensions tried for a link to a missing local file: for 'x.html', 'x/' and 'x', in this order",
        kind="names",
    ),
    Key(
        f"{OWN}.health", "index_files", ("index", "README", "readme"),
        "Index files of a folder, without an extension (the fallback extensions are tried) or with one",
        kind="names",
    ),
    _number(
        f"{OWN}.batch", "max_retry_after_seconds", defaults.BATCH_RETRY_AFTER_SECONDS,
        "Longest Retry-After that a batch waits for; a host that asks for more is given up",
    ),
    _number(
        f"{OWN}.batch", "max_crawl_delay_seconds", defaults.BATCH_CRAWL_DELAY_SECONDS,
        "Longest Crawl-delay that a batch respects; a host that asks for more is given up",
    ),
    _number(
        f"{OWN}.batch", "host_seconds", defaults.BATCH_HOST_SECONDS,
        "Seconds that a batch may spend on one host (0: no limit)",
    ),
    _number(
        f"{OWN}.batch", "total_seconds", defaults.BATCH_TOTAL_SECONDS,
        "Seconds that a whole batch may take (0: no limit)",
    ),
    Key(
        f"{OWN}.serve", "profile", "reader", "Profile of the drop-in APIs of 'spaniel serve'", kind="line",
    ),
    Key(
        f"{OWN}.serve", "profiles", ("web_fetch", "reader", "ingest"),
        "Profiles that callers of the service may choose", kind="names",
    ),
    _number(
        f"{OWN}.serve", "requests_per_minute", defaults.SERVE_PER_MINUTE,
        "Requests of one caller in a minute (0: no limit)"
    ),
    _number(f"{OWN}.serve", "concurrent", defaults.SERVE_CONCURRENT, "Requests of one caller at the same time"),
    _number(f"{OWN}.serve", "waiting", defaults.SERVE_WAITING, "Further requests of one caller that wait"),
    _number(f"{OWN}.serve", "streams", defaults.SERVE_STREAMS, "Event streams of one caller at the same time"),
    _number(f"{OWN}.serve", "jobs", defaults.SERVE_JOBS, "Unfinished jobs of one caller"),
    _number(f"{OWN}.serve", "max_body_bytes", defaults.SERVE_BODY_BYTES, "Largest body of a request in bytes"),
    _number(
        f"{OWN}.serve", "max_list_bytes", defaults.SERVE_LIST_BYTES, "Largest list of a job that is uploaded, in bytes"
    ),
    Key(
        f"{OWN}.serve", "allowed_hosts", (), "Further names that the service answers to (Host header)",
        kind="words", trusted=True,
    ),
    Key(
        f"{OWN}.serve", "allowed_origins", (), "Web pages that may call the service, such as https://app.example.com",
        kind="words", trusted=True,
    ),
    Key(
        f"{OWN}.serve", "trusted_proxies", (), "Addresses of proxies whose X-Forwarded-For is believed",
        kind="words", trusted=True,
    ),
    Key(f"{OWN}.serve", "tokens_file", "", "Named tokens of callers (TOML; empty: none)", kind="path", trusted=True),
    Key(
        f"{OWN}.serve", "jobs_folder", "", "Folder of the service's jobs (empty: the user's own)",
        kind="path", trusted=True,
    ),
    _number(
        f"{OWN}.queue", "max_entries", defaults.QUEUE_ENTRIES, "How many failed pages the queue keeps"
    ),
)  # fmt: skip
BY_PATH = {key.path: key for key in KEYS}
BY_VARIABLE = {key.variable: key for key in KEYS}


def sample() -> str:
    """A settings file with every key at its default, commented out."""
    lines = ["# Spaniel's settings. Every key is shown at its default; uncomment a line to set it."]
    table = ""
    for key in KEYS:
        if key.table != table:
            table = key.table
            lines += ["", f"[{table}]"]
        notes = [note for note in (key.range, "not in a project's file" if key.trusted else "") if note]
        about = f"{key.what} ({'; '.join(notes)})" if notes else key.what
        lines.append(f"# {key.name} = {toml(key.default)}  # {about}")
    return "\n".join(lines) + "\n"


def toml(value: Value) -> str:
    """A value as TOML, safe to print on a terminal."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    if isinstance(value, int):
        return str(value)
    return '"' + "".join(map(_escaped, value)) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    return char if char.isprintable() else f"\\U{ord(char):08X}"
