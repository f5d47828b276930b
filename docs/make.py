"""Writes the pages that are made from the code, and the parts of others. A test fails if one of them is out of date."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import TYPE_CHECKING

from spaniel.app.keys import KEYS, Key, toml
from spaniel.errors import TABLE

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).resolve().parent


def errors_page() -> str:
    """Every code of the registry with all that a caller may rely on."""
    lines = [
        "# Errors",
        "",
        "<!-- Made from src/spaniel/errors.py by `make docs`. -->",
        "",
        "Every failure has one of these codes: in Python (`error.code`), in JSON and in the log. A code never changes its",
        "meaning. [Troubleshooting](../howto/troubleshooting.md) says what to do about each.",
        "",
        "| code | meaning | retryable | exit | HTTP | details | what to do |",
        "|---|---|---|---|---|---|---|",
    ]
    for code, row in TABLE.items():
        details = ", ".join(f"`{name}`" for name in row.details)
        retry = "yes" if row.retryable else "no"
        lines.append(f"| `{code}` | {row.meaning} | {retry} | {row.exit} | {row.status} | {details} | {row.hint} |")
    lines += [
        "",
        "- **retryable**: whether the same call may succeed later. `http_4xx` is retryable if the server answered 429 and",
        "  said when to try again (`retry_after`).",
        "- **exit**: the exit code of a command for a single URL. 2: wrong input; 3: forbidden; 4: not reached; 5: refused by",
        "  the server; 6: the content cannot be used; 7: something is missing or broken on this machine; 70: a bug.",
        "- **HTTP**: the status that stands for the code in an HTTP API.",
        "- **what to do**: `error.hint` may say more, if the details allow it.",
    ]
    return "\n".join(lines) + "\n"


SETTINGS = """\
# Settings

<!-- Made from src/spaniel/app/keys.py by `make docs`. -->

```toml title="spaniel.toml"
[tools.webfetch]
user_agent = "my-agent/1.0 (+https://my.example/contact)"
timeout_seconds = 30
```

```sh
spaniel config show
```

Spaniel works without settings. `spaniel config show` prints every value and where it comes from. `spaniel config init --user`
writes a file that has every key, commented out.

## Say who you are

The default user agent, `{agent}`, names no one. If you fetch more than a few pages, tell the people who run the servers how to
reach you, as the file above does. For one run: `spaniel fetch --user-agent "my-agent/1.0 (me@my.example)" URL`. robots.txt is read
for the same name (`my-agent`).

## Where settings come from

A later place overrides an earlier one, key by key.

1. The defaults, as on this page.
2. Your own file: `~/.config/spaniel/spaniel.toml` (`$XDG_CONFIG_HOME/spaniel/spaniel.toml`; on Windows
   `%APPDATA%\\spaniel\\spaniel.toml`).
3. The project's file: `spaniel.toml` in the working folder.
4. The file of `--config`, or else of `$SPANIEL_CONFIG`. It must exist.
5. Environment variables, one for each key.
6. Flags: {flags}.

An unknown key or a wrong value is an error that names file and key. A number out of range is clamped, with a warning; as a flag it is
an error. A [profile](profiles.md) has limits of its own.

## What a project's file may not set

Someone else may have written the file in the working folder, for example of a repository that you cloned. So it may not set what runs
a program, trusts a file, chooses a folder or opens the guard. These keys have "no" under "project" below. Set them in your own file, in
a file that you name with `--config`, or by their variable. `--config spaniel.toml` trusts the project's file completely.

## Environment variables

The variable of a key is `SPANIEL_` and the key in capitals, with `_` for each dot, without the leading `tools.webfetch` or `spaniel`:
`tools.webfetch.browser.chromium_path` is `SPANIEL_BROWSER_CHROMIUM_PATH`.

- Lists have commas: `SPANIEL_SECURITY_ALLOWED_PORTS=80,443,8080`. True and false are `true`, `false`, `1` or `0`.
- An empty variable counts as unset. An unknown variable that begins with `SPANIEL_` is ignored, with a warning.
- `SPANIEL_LOG` is the level of the log (`debug`, `info`, `warning`, `error`, `off`). `-v` and `-q` override it.

## Paths

`cache_dir`, `chromium_path`, `ca_file` and `freshness.file` may contain `$NAME`, `${{NAME}}` and a leading `~`. `${{TEMP}}` is the folder for
temporary files. A relative path begins at the folder of its file. A program's bare name is searched on the PATH.
"""


def settings_page() -> str:
    """Every key with all that a user needs to set it, under how the sources merge."""
    flags = ", ".join(f"`{key.flag}` (`{key.name}`)" for key in KEYS if key.flag)
    agent = next(key.default for key in KEYS if key.name == "user_agent")
    lines = [SETTINGS.format(flags=flags, agent=agent).rstrip()]
    table = ""
    for key in KEYS:
        if key.table != table:
            table = key.table
            lines += ["", f"## `[{table}]`", "", "| key | default | range | what it does | project | variable |"]
            lines.append("|---|---|---|---|---|---|")
        lines.append(_setting_row(key))
    return "\n".join(lines) + "\n"


def _setting_row(key: Key) -> str:
    project = "no" if key.trusted else "yes"
    return f"| `{key.name}` | `{toml(key.default)}` | {key.range} | {key.what} | {project} | `{key.variable}` |"


def _pages(name: str) -> dict[str, Callable[[], str]]:
    pages: dict[str, Callable[[], str]] = runpy.run_path(str(HERE / name))["PAGES"]
    return pages


PAGES: dict[str, Callable[[], str]] = {
    "reference/errors.md": errors_page,
    "reference/settings.md": settings_page,
    **_pages("make_reference.py"),
    **_pages("make_waiting.py"),
    **_pages("make_commands.py"),
    **_pages("make_values.py"),
    **_pages("make_lists.py"),
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")
