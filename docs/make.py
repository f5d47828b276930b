"""Writes the pages of this folder that are made from the code. A test fails when one of them has drifted."""

from __future__ import annotations

import runpy
from pathlib import Path

from spaniel.app.keys import KEYS, Key, toml
from spaniel.errors import TABLE

HERE = Path(__file__).resolve().parent


def errors_page() -> str:
    """Every code of the registry with all that a caller may rely on."""
    lines = [
        "# Errors",
        "",
        "<!-- Made from src/spaniel/errors.py by `make docs`. -->",
        "",
        "Every failure has one of these codes: in Python (`error.code`), in JSON, and in the logs. A code never",
        "changes its meaning. `retryable` says whether the same call may work later. `exit` is the exit code of the",
        "command line: 2 wrong input, 3 forbidden, 4 not reached, 5 refused by the server, 6 content that cannot be",
        "used, 7 something is missing or broken on this machine, 70 a bug. `HTTP` is the status of Spaniel's own API.",
        "",
        "Some errors know more than this table. `error.hint` then says more, and `http_4xx` is retryable if the",
        "server answered 429 and said when to come back (`retry_after`). A site that cannot be reached at all is",
        "`network` or `dns_failed`; `robots_unavailable` means that only its robots.txt could not be read.",
        "",
        "| code | meaning | retryable | exit | HTTP | details | what to do |",
        "|---|---|---|---|---|---|---|",
    ]
    for code, row in TABLE.items():
        details = ", ".join(f"`{name}`" for name in row.details)
        retry = "yes" if row.retryable else "no"
        lines.append(f"| `{code}` | {row.meaning} | {retry} | {row.exit} | {row.status} | {details} | {row.hint} |")
    return "\n".join(lines) + "\n"


SETTINGS = """\
# Settings

<!-- Made from src/spaniel/app/keys.py by `make docs`. -->

Spaniel works without any settings. `spaniel config show` prints every value and where it came from. `spaniel
config init --user` writes a file with every key, commented out.

## Where settings come from

Settings are read from these places. A later place rules over an earlier one, key by key: a file that sets one
key leaves the others as they are.

1. The defaults, as this page shows them.
2. The user's file: `~/.config/spaniel/spaniel.toml` (`$XDG_CONFIG_HOME/spaniel/spaniel.toml`; on Windows
   `%APPDATA%\\spaniel\\spaniel.toml`).
3. The project's file: `spaniel.toml` in the working folder.
4. The file that `--config` names; without `--config`, the one that `$SPANIEL_CONFIG` names. It must exist.
5. Environment variables, one for each key.
6. Flags: {flags}.

A key, a table or a value that Spaniel does not know is an error: it names the file, the key and what is wrong.
A number outside its range is brought into the range, with a warning. (A flag outside its range is an error.)

A [profile](profiles.md) (`--profile`) has limits of its own. Its page says which of the two rules.

## What a project's file may not set

Anybody may have written the file in the working folder, for example of a repository that you have cloned. It
may not set what runs a program, trusts a file, chooses a folder or opens the guard. Such a key in a project's
file is an error. Set it in the user's file, in a file that you name with `--config`, or by its variable. In the
tables below these keys have "no" under "project".

`--config spaniel.toml` trusts the project's file with every key.

## Environment variables

The variable of a key is `SPANIEL_` and the key in capitals, with `_` for each dot. The leading `tools.webfetch`
or `spaniel` is left out: `tools.webfetch.browser.chromium_path` is `SPANIEL_BROWSER_CHROMIUM_PATH`.

- true and false: `true`, `false`, `1`, `0`.
- Lists: items with commas between them, `SPANIEL_SECURITY_ALLOWED_PORTS=80,443,8080`.
- An empty variable is the same as none.
- A variable that begins with `SPANIEL_` and belongs to no key is ignored, with a warning.

Two more variables are no settings: `SPANIEL_CONFIG` names a settings file. `SPANIEL_LOG` is the level of the
log (`debug`, `info`, `warning`, `error`, `off`); `-v` and `-q` rule over it. Nothing hides the warning that
protection is off.

## Paths

`cache_dir`, `chromium_path`, `ca_file` and `freshness.file` may contain `$NAME`, `${{NAME}}` and a leading `~`.
`${{TEMP}}` is the folder for temporary files where no such variable is set. A relative path in a file begins at
the folder of the file. A program's bare name is looked for on the PATH.

## Say who you are

The default user agent, `{agent}`, names nobody. If you fetch more than a few pages, tell the people who run the
servers how to reach you. Write it into the user's file:

```toml
[tools.webfetch]
user_agent = "my-agent/1.0 (+https://my.example/contact)"
```

Or set it for one run: `spaniel fetch --user-agent "my-agent/1.0 (me@my.example)" URL`, or `SPANIEL_USER_AGENT`.
robots.txt is asked for the same name (`my-agent`).
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


PAGES = {
    "errors.md": errors_page,
    "settings.md": settings_page,
    **runpy.run_path(str(HERE / "make_reference.py"))["PAGES"],
    **runpy.run_path(str(HERE / "make_waiting.py"))["PAGES"],
    **runpy.run_path(str(HERE / "make_values.py"))["PAGES"],
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")
