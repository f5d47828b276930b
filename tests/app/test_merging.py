"""How files, environment and flags merge, and what a file that anybody may have written cannot do."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NamedTuple

import pytest

from spaniel.app.keys import KEYS, Key, toml
from spaniel.app.paths import user_file
from spaniel.app.settings import Settings, load
from spaniel.errors import SpanielError

TIMEOUT, REDIRECTS = "tools.webfetch.timeout_seconds", "tools.webfetch.max_redirects"


class Home(NamedTuple):
    """A user's configuration folder and a project, both empty at first."""

    root: Path

    @property
    def user(self) -> Path:
        return Path(user_file(self.environ))

    @property
    def project(self) -> Path:
        return self.root / "project" / "spaniel.toml"

    @property
    def environ(self) -> dict[str, str]:
        return {"XDG_CONFIG_HOME": str(self.root / "config")}

    def load(
        self,
        path: Path | None = None,
        environ: dict[str, str] | None = None,
        flags: dict[str, object] | None = None,
    ) -> Settings:
        named = str(path) if path else None
        return load(named, {**self.environ, **(environ or {})}, flags=flags, cwd=str(self.project.parent))

    def given(self, **environ: str) -> Settings:
        return self.load(environ=environ)

    def refusal(self, **environ: str) -> str:
        with pytest.raises(SpanielError) as caught:
            self.given(**environ)
        assert caught.value.code == "bad_args"
        return str(caught.value.details["field"]) + ": " + str(caught.value.details["reason"])


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.user.parent.mkdir(parents=True)
    made.project.parent.mkdir()
    return made


def put(path: Path, **values: object) -> Path:
    text = "".join(f"{name} = {value}\n" for name, value in values.items())
    path.write_text(f"[tools.webfetch]\n{text}", encoding="utf-8")
    return path


@pytest.mark.req("D2-31")
def test_each_source_rules_over_those_before_it(home: Home) -> None:
    assert (home.load()[TIMEOUT], home.load().source(TIMEOUT), home.load().file) == (20, "default", None)
    put(home.user, timeout_seconds=30)
    assert (home.load()[TIMEOUT], home.load().source(TIMEOUT)) == (30, str(home.user))
    put(home.project, timeout_seconds=31)
    assert (home.load()[TIMEOUT], home.load().source(TIMEOUT)) == (31, str(home.project))
    environ = {"SPANIEL_CONFIG": str(put(home.root / "env.toml", timeout_seconds=32))}
    assert (home.load(None, environ)[TIMEOUT], home.load(None, environ).file) == (32, environ["SPANIEL_CONFIG"])
    named = put(home.root / "named.toml", timeout_seconds=33)
    assert (home.load(named, environ)[TIMEOUT], home.load(named).source(TIMEOUT)) == (33, str(named))
    environ["SPANIEL_TIMEOUT_SECONDS"] = "34"
    last = home.load(named, environ)
    assert (last[TIMEOUT], last.source(TIMEOUT)) == (34, "SPANIEL_TIMEOUT_SECONDS")
    flagged = home.load(named, environ, {TIMEOUT: 35})
    assert (flagged[TIMEOUT], flagged.source(TIMEOUT)) == (35, "--timeout")
    assert (flagged.asked_for(TIMEOUT), last.asked_for(TIMEOUT), flagged.asked_for(REDIRECTS)) == (True, False, False)


@pytest.mark.req("D2-31")
def test_files_merge_key_by_key(home: Home) -> None:
    """A project's file that says one thing leaves the rest of the user's in force."""
    put(home.user, user_agent='"me/1 (+https://me.example/)"', timeout_seconds=30, max_redirects=1)
    put(home.project, timeout_seconds=31)
    named = put(home.root / "named.toml", max_redirects=3)
    settings = home.load(named)
    assert (settings.headers.user_agent, settings[TIMEOUT], settings[REDIRECTS]) == (
        "me/1 (+https://me.example/)",
        31,
        3,
    )
    assert [place.path for place in settings.looked_for] == [str(home.user), str(home.project), str(named)]


def test_settings_files_are_listed_if_missing_too(home: Home) -> None:
    put(home.project, timeout_seconds=31)
    assert home.load().looked_for == (
        ("user", str(home.user), False),
        ("project", str(home.project), True),
    )


def test_the_project_is_the_working_folder(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    put(home.project, timeout_seconds=31)
    monkeypatch.chdir(home.project.parent)
    settings = load(environ=home.environ)
    assert (settings[TIMEOUT], settings.source(TIMEOUT)) == (31, "spaniel.toml")


TRUSTED = [key for key in KEYS if key.trusted]


def as_toml(key: Key) -> str:
    return f"[{key.table}]\n{key.name} = {toml(key.default)}\n"


@pytest.mark.req("D2-31")
@pytest.mark.parametrize("key", TRUSTED, ids=[key.path for key in TRUSTED])
def test_a_projects_file_may_not_set_what_runs_trusts_or_opens(home: Home, key: Key) -> None:
    """Not even to its default: the user may have chosen otherwise."""
    home.project.write_text(as_toml(key), encoding="utf-8")
    fields = home.refusal()
    assert fields.startswith(f"{home.project}: {key.path}: ")
    assert str(home.user) in fields
    assert "--config" in fields
    assert key.variable in fields
    home.project.rename(home.user)  # the controls: the same file where it counts
    assert home.load().source(key.path) == str(home.user)
    home.user.rename(home.root / "named.toml")
    assert home.load(home.root / "named.toml").source(key.path) == str(home.root / "named.toml")


@pytest.mark.req("D2-31")
@pytest.mark.parametrize("key", [key for key in KEYS if not key.trusted], ids=lambda key: key.path)
def test_a_projects_file_may_set_the_rest(home: Home, key: Key) -> None:
    home.project.write_text(as_toml(key), encoding="utf-8")
    assert home.load().source(key.path) == str(home.project)


def test_whoever_names_the_projects_file_trusts_it(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.project.write_text("[tools.webfetch.security]\nallowed_ports = [81]\n", encoding="utf-8")
    monkeypatch.chdir(home.project.parent)
    assert load("spaniel.toml", home.environ).security.allowed_ports == (81,)
    assert load(None, {**home.environ, "SPANIEL_CONFIG": str(home.project)}).security.allowed_ports == (81,)
    with pytest.raises(SpanielError, match="may not set this"):
        load(None, home.environ)


def test_in_the_users_own_folder_the_file_is_the_users(home: Home) -> None:
    home.user.write_text("[tools.webfetch.security]\nallowed_ports = [81]\n", encoding="utf-8")
    settings = load(None, home.environ, cwd=str(home.user.parent))
    assert settings.security.allowed_ports == (81,)
    assert [place.whose for place in settings.looked_for] == ["user"]


def test_a_relative_configuration_folder_is_nobodys(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """`XDG_CONFIG_HOME=.config` would make a folder of the project's the user's own."""
    planted = home.project.parent / ".config" / "spaniel" / "spaniel.toml"
    planted.parent.mkdir(parents=True)
    put(planted, cache_dir='"/evil"')
    monkeypatch.chdir(home.project.parent)
    monkeypatch.setenv("HOME", str(home.root))
    assert load(None, {"XDG_CONFIG_HOME": ".config"})["tools.webfetch.cache_dir"] == ""
    absolute = load(None, {"XDG_CONFIG_HOME": str(home.project.parent / ".config")})  # the control
    assert absolute["tools.webfetch.cache_dir"] == "/evil"


@pytest.mark.req("D2-31")
def test_relative_path_starts_at_its_settings_file(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else what lies in a cloned folder would be trusted, or run, for a user whose file says `ca.pem`."""
    home.user.write_text(
        '[tools.webfetch]\ncache_dir = "caches"\n[tools.webfetch.browser]\nchromium_path = "bin/chromium"\n'
        '[spaniel.net]\nca_file = "ca.pem"\n',
        encoding="utf-8",
    )
    monkeypatch.chdir(home.project.parent)
    settings, folder = home.load(), home.user.parent
    assert settings.cache.folder == str(folder / "caches")
    assert settings.browser.chromium_path == str(folder / "bin" / "chromium")
    assert settings.ca_file == str(folder / "ca.pem")
    home.user.write_text('[tools.webfetch.browser]\nchromium_path = "chromium"\n', encoding="utf-8")
    assert home.load().browser.chromium_path == "chromium"  # a bare name: for the PATH


@pytest.mark.parametrize(
    ("variable", "text", "expected"),
    [
        ("SPANIEL_TIMEOUT_SECONDS", "soon", "must be a whole number"),
        ("SPANIEL_TIMEOUT_SECONDS", "2.5", "must be a whole number"),
        ("SPANIEL_TIMEOUT_SECONDS", "9" * 5000, "must be a whole number"),
        ("SPANIEL_ENABLED", "maybe", "must be true or false"),
        ("SPANIEL_SECURITY_ALLOWED_PORTS", "80,x", "must be a list of ports"),
        ("SPANIEL_SECURITY_ALLOWED_PORTS", "80,0", "a port is a number from 1 to 65535"),
        ("SPANIEL_TOOLS_MODE", "on", "must be one of"),
        ("SPANIEL_USER_AGENT", "x\r\nEvil: 1", "one line of text"),
        ("SPANIEL_CACHE_DIR", "$NOWHERE/x", "the variable NOWHERE is not set"),
    ],
)
def test_a_variable_that_is_wrong_is_refused_by_its_name(home: Home, variable: str, text: str, expected: str) -> None:
    refusal = home.refusal(**{variable: text})
    assert refusal.startswith(f"{variable}: ")
    assert expected in refusal


def test_variables_are_read_as_people_write_them(home: Home) -> None:
    settings = home.given(
        SPANIEL_ENABLED="1",
        SPANIEL_BROWSER_ENABLED="FALSE",
        SPANIEL_SECURITY_ALLOWED_PORTS=" 80, 8080 ,",
        SPANIEL_RENDERING_JS_HEAVY_DOMAINS="a.example, b.example",
        SPANIEL_MAX_REDIRECTS="",
        SPANIEL_CACHE_DIR="${PLACE}/pages",
        PLACE="/p",
    )
    assert (settings.tool.enabled, settings.uses_browser) == (True, False)
    assert settings.security.allowed_ports == (80, 8080)
    assert "b.example" in settings.rendering.js_heavy_domains
    assert settings.source(REDIRECTS) == "default"  # an empty variable is none
    assert settings.cache.folder == "/p/pages"


def test_variable_is_clamped_and_unknown_one_is_warned_about(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "spaniel"):
        settings = home.given(SPANIEL_TIMEOUT_SECONDS="999", SPANIEL_TIMEOUT="9", SPANIEL_LOG="off", OTHER="x")
    assert settings[TIMEOUT] == 300
    unknown, outside = sorted(caplog.messages, key=lambda message: "range" in message)
    assert "SPANIEL_TIMEOUT is ignored" in unknown
    assert "did you mean 'SPANIEL_TIMEOUT_SECONDS'?" in unknown
    assert outside == "SPANIEL_TIMEOUT_SECONDS = 999 is out of range; 300 is used"


def test_a_flag_outside_its_range_is_refused(home: Home) -> None:
    with pytest.raises(SpanielError, match="--timeout: must be 1 to 300"):
        home.load(flags={TIMEOUT: 301})
    assert home.load(flags={TIMEOUT: 300})[TIMEOUT] == 300


def test_a_tool_that_is_off_says_who_switched_it_off(home: Home) -> None:
    assert home.load().tool.switched_off_by == "default"
    assert home.load().tool.opted_in().switched_off_by == ""
    put(home.user, enabled="false")
    assert home.load().tool.opted_in().switched_off_by == str(home.user)
    assert home.given(SPANIEL_ENABLED="true").tool.switched_off_by == ""
    assert home.given(SPANIEL_TOOLS_MODE="disabled").tool.opted_in().switched_off_by == "SPANIEL_TOOLS_MODE"
