"""Every setting that there is: where it stands, what it may be, what it does, who may set it.

The sample file, the environment's variables, the flags and docs/settings.md are all made from this table.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from spaniel.limits import MAX_REDIRECTS

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
        "", "domains", "header", "line", "mirrors", "mode", "names", "path", "ports", "program", "resources", "template"
    ] = ""
    # What runs a program, trusts a file, names a folder, opens the guard, or says whose word passes for a page's. A
    # file in the working folder may come from anybody, so it may not set these (D2-31). A new key that names a program,
    # a file, a folder or an address is one of them.
    trusted: bool = False
    flag: str = ""

    @property
    def path(self) -> str:
        return f"{self.table}.{self.name}"

    @property
    def variable(self) -> str:
        """Its environment variable: SPANIEL_ and the path in capitals, without the table that all would begin with."""
        short = self.path.removeprefix(f"{FETCH}.").removeprefix(f"{OWN}.")
        return "SPANIEL_" + short.upper().replace(".", "_")

    @property
    def range(self) -> str:
        if self.low is None:
            return ""
        return f"{self.low} or more" if self.high is None else f"{self.low} to {self.high}"


KEYS: tuple[Key, ...] = (
    Key("tools", "mode", "enabled", "enabled, parse_only (tools are described, never run) or disabled", kind="mode"),
    Key(FETCH, "enabled", False, "Offer the web_fetch tool"),
    Key(
        FETCH, "user_agent", "forge-webfetch/1.0", "How Spaniel names itself to servers",
        kind="header", flag="--user-agent",
    ),
    Key(
        FETCH, "timeout_seconds", 20, "Seconds for one fetch, redirects and robots.txt included", 1, 300,
        flag="--timeout",
    ),
    Key(FETCH, "max_redirects", MAX_REDIRECTS, "Most redirects that are followed", 0, 20),
    Key(FETCH, "default_max_chunk_tokens", 600, "Tokens of a chunk where the request says nothing", 128, 2048),
    Key(FETCH, "cache_dir", "", "Folder of the cache (empty: the user's cache folder)", kind="path", trusted=True),
    Key(FETCH, "cache_ttl_days", 7, "Days for which a cached page is served", 0, 36_500),
    Key(FETCH, "max_cache_entries", 10_000, "Most pages in the cache", 1, 100_000_000),
    Key(FETCH, "max_cache_bytes", 1 << 30, "Largest size of the cache in bytes (0: no limit)", 0, 1 << 62),
    Key(FETCH, "max_download_bytes", 5_242_880, "Largest response in bytes", 1024, 104_857_600),
    Key(FETCH, "robots_cache_entries", 1024, "Most robots.txt files kept, in memory and on disk", 1, 1_000_000),
    Key(FETCH, "robots_cache_ttl_hours", 24, "Hours for which a robots.txt file is kept", 0, 8_760),
    Key(FETCH, "allow_auto_execution", False, "Run the tool without asking for approval", trusted=True),
    Key(f"{FETCH}.http", "use_system_proxy", False, "Use HTTP_PROXY, HTTPS_PROXY and NO_PROXY", trusted=True),
    Key(f"{FETCH}.browser", "enabled", True, "Use a browser where a page needs one"),
    Key(
        f"{FETCH}.browser", "chromium_path", "", "The Chromium to run (empty: search the PATH)",
        kind="program", trusted=True,
    ),
    Key(f"{FETCH}.browser", "network_idle_ms", 20_000, "Longest wait for a page to come to rest", 0, 300_000),
    Key(f"{FETCH}.browser", "max_rendered_dom_bytes", 5_242_880, "Largest rendered page in bytes", 1024, 104_857_600),
    Key(
        f"{FETCH}.browser", "block_resources", ("image", "font", "media"), "Kinds of resources that are not loaded",
        kind="resources",
    ),
    Key(f"{FETCH}.browser", "viewport_width", 1280, "Width of the browser's window in pixels", 100, 4096),
    Key(
        f"{FETCH}.browser", "viewport_height", 8000, "Its height; in a tall one nothing need be scrolled to",
        100, 16_384,
    ),
    Key(
        f"{FETCH}.browser", "wait_for", "", "A CSS selector that a page must match before it is read (empty: none)",
        kind="line",
    ),
    Key(f"{FETCH}.browser", "scrolls", 0, "How often a page is scrolled to its end, as long as it grows", 0, 100),
    Key(
        f"{FETCH}.browser", "no_sandbox", False,
        "Run Chromium without its sandbox, where there is none to be had and another wall stands around Spaniel",
        trusted=True,
    ),
    Key(SECURITY, "block_private_ips", True, "Block private addresses (RFC 1918)", trusted=True),
    Key(SECURITY, "block_loopback", True, "Block this machine (127.0.0.0/8, ::1)", trusted=True),
    Key(SECURITY, "block_link_local", True, "Block link-local addresses (169.254.0.0/16, fe80::/10)", trusted=True),
    Key(SECURITY, "block_reserved", True, "Block all other reserved addresses", trusted=True),
    Key(
        SECURITY, "allowed_ports", (80, 443), "Ports that may be connected to (empty: the default)",
        1, 65_535, "ports", trusted=True,
    ),
    Key(SECURITY, "allow_insecure_overrides", False, "Must be true to set a block_ key to false", trusted=True),
    Key(
        SECURITY, "allowed_domains", (), "Domains that pages may come from, with all below them (empty: any)",
        kind="domains", trusted=True,
    ),
    Key(
        SECURITY, "blocked_domains", (), "Domains that nothing is fetched from, with all below them",
        kind="domains", trusted=True,
    ),
    Key(
        f"{FETCH}.rendering", "js_heavy_domains", (), "Domains whose pages go to the browser at once",
        kind="domains",
    ),
    Key(f"{FETCH}.rendering", "spa_fallback_enabled", True, "Use the browser for pages that a script would fill"),
    Key(f"{FETCH}.rendering", "min_extracted_chars", 400, "Only where HTTP brought fewer characters", 0, 1_000_000),
    Key(f"{FETCH}.rendering", "empty_fallback", True, "Use the browser for a page with scripts that came without text"),
    Key(f"{FETCH}.robots", "fail_open", False, "Fetch a page although its robots.txt cannot be read"),
    Key(
        f"{OWN}.freshness", "file", "", "Classes and rules for how long pages stay fresh, over Spaniel's own (TOML)",
        kind="path", trusted=True,
    ),
    Key(f"{OWN}.mcp", "max_output_bytes", 65_536, "Largest answer of a call over MCP in bytes", 1024, 104_857_600),
    Key(f"{OWN}.mcp", "resource_links", False, "Link the chunks that did not fit an answer as MCP resources"),
    Key(f"{OWN}.mcp", "max_screenshot_height", 8_000, "Tallest screenshot over MCP in pixels", 100, 16_384),
    Key(
        f"{OWN}.registry", "folder", "urls", "Folder of the link database, for 'spaniel db'",
        kind="path", trusted=True,
    ),
    Key(
        f"{OWN}.canon", "learnt_file", "", "File of what is learnt about hosts online (empty: none is kept)",
        kind="path", trusted=True,
    ),
    Key(
        f"{OWN}.net", "ca_file", "", "Certificates to trust besides the system's (PEM)",
        kind="path", trusted=True,
    ),
    Key(
        f"{OWN}.archive", "available", "https://archive.org/wayback/available?url={url}",
        "Where the web archive is asked whether it has a copy (empty: it is not used)", kind="template", trusted=True,
    ),
    Key(
        f"{OWN}.archive", "snapshot", "https://web.archive.org/web/{timestamp}id_/{url}",
        "Where a copy of the web archive is fetched from", kind="template", trusted=True,
    ),
    Key(
        f"{OWN}.search_cache", "template", "", "Where a search engine has its copies, with {url} (empty: off)",
        kind="template", trusted=True,
    ),
    Key(
        f"{OWN}.mirrors", "prefixes", (),
        "Mirrors, each in one text: the beginning of addresses, a space, and what stands in its place at the mirror",
        kind="mirrors", trusted=True,
    ),
    Key(f"{OWN}.health", "jobs", 32, "Links that are checked at once", 1, 512),
    Key(f"{OWN}.health", "per_host", 1, "Of these at one host", 1, 512),
    Key(f"{OWN}.health", "delay_ms", 500, "Milliseconds between two requests of a check to one host", 0, 600_000),
    Key(f"{OWN}.health", "timeout_seconds", 20, "Seconds for the answer of a link, redirects included", 1, 3_600),
    Key(f"{OWN}.health", "content_seconds", 600, "Seconds for a link whose content is compared", 1, 86_400),
    Key(f"{OWN}.health", "host_wait_seconds", 120, "Longest time that a check waits for one host", 0, 86_400),
    Key(f"{OWN}.health", "robots", False, "Check nothing that robots.txt disallows, and keep to its Crawl-delay"),
    Key(
        f"{OWN}.health", "history_folder", "", "Folder of the history of links in documents (empty: the user's own)",
        kind="path", trusted=True,
    ),
    Key(
        f"{OWN}.health", "priorities_file", "", "How often links are due, in place of Spaniel's own table (TOML)",
        kind="path", trusted=True,
    ),
    Key(
        f"{OWN}.health", "fallback_extensions", ("html", "md", "rst", "mdx", "ipynb", "markdown", "adoc", "txt"),
        "Extensions that a link to a missing local file is tried with: of 'x.html', 'x/' and 'x', in this order",
        kind="names",
    ),
    Key(
        f"{OWN}.health", "index_files", ("index", "README", "readme"),
        "Names of a folder's page, without an extension (the fallback extensions are tried) or with one",
        kind="names",
    ),
    Key(
        f"{OWN}.batch", "max_retry_after_seconds", 600,
        "Longest Retry-After that a batch waits for; a host that asks for more is given up", 0, 86_400,
    ),
    Key(
        f"{OWN}.batch", "max_crawl_delay_seconds", 120,
        "Longest Crawl-delay that a batch keeps to; a host that asks for more is given up", 0, 86_400,
    ),
    Key(f"{OWN}.batch", "host_seconds", 0, "Seconds that a batch may spend on one host (0: no limit)", 0, 31_536_000),
    Key(f"{OWN}.batch", "total_seconds", 0, "Seconds that a whole batch may take (0: no limit)", 0, 31_536_000),
    Key(f"{OWN}.queue", "max_entries", 10_000, "Most pages in the queue of those that failed", 1, 1_000_000),
)  # fmt: skip
BY_PATH = {key.path: key for key in KEYS}


def sample() -> str:
    """A settings file with every key at its default, commented out, for a user to start from."""
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
    """A value as TOML writes it, and safe to print: nothing in a text steers a terminal."""
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
