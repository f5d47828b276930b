"""The table of refusals: whole, stable, and safe to print."""

from __future__ import annotations

import json
import pickle
import re
import runpy
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.app.keys import KEYS
from spaniel.app.settings import Settings, from_data
from spaniel.errors import TABLE, Code, SpanielError, shown
from spaniel.net.guard import Guard, Security
from spaniel.net.resolver import SystemResolver
from spaniel.tool import ToolError
from spaniel.url import parse

ROOT = Path(__file__).resolve().parent.parent

REQUIREMENT = re.compile(r"\b(?:FR|NFR|T|IT|D\d|FG|CP|UN|DB)-[\w-]*\d")

REGISTRY = {  # SRD §3.7.2: code -> retryable, details
    "bad_args": (False, {"field", "reason"}),
    "invalid_url": (False, {"url"}),
    "invalid_scheme": (False, {"scheme"}),
    "invalid_host": (False, {"host"}),
    "port_blocked": (False, {"port", "allowed_ports"}),
    "ssrf_blocked": (False, {"blocked_ip", "cidr", "toggle"}),
    "dns_failed": (True, {"host", "error"}),
    "robots_disallowed": (False, {"path", "origin"}),
    "robots_unavailable": (True, {"origin", "error"}),
    "redirect_limit": (False, {"count", "max"}),
    "timeout": (True, {"timeout_ms", "phase"}),
    "network": (True, {"error"}),
    "response_too_large": (False, {"size", "max_bytes"}),
    "unsupported_content_type": (False, {"content_type"}),
    "http_4xx": (False, {"status", "status_text"}),
    "http_5xx": (True, {"status", "status_text"}),
    "browser_unavailable": (False, {"chromium_path", "error"}),
    "browser_crashed": (True, {"error"}),
    "extraction_failed": (False, {"error"}),
    "cache_read_failed": (True, {"path", "error"}),
    "internal": (True, {"error"}),
}


@pytest.mark.req("FR-WF-18")
def test_table_matches_the_srd() -> None:
    assert {str(code) for code in TABLE} == set(REGISTRY) == {str(code) for code in Code}
    for code, (retryable, details) in REGISTRY.items():
        row = TABLE[Code(code)]
        assert row.retryable is retryable
        assert details <= set(row.details)


def test_every_row_is_complete() -> None:
    for row in TABLE.values():
        assert row.meaning
        assert row.hint.endswith(".")
        assert row.model_hint.endswith(".")
        assert row.exit not in (0, 1)
        assert 400 <= row.status <= 599


@pytest.mark.req("FR-WF-18", "FR-WF-18a", "FR-WF-18b", "T-WF-ERR-01")
def test_the_envelope_is_the_srds_json() -> None:
    error = SpanielError(Code.SSRF_BLOCKED, blocked_ip="10.0.0.5", cidr="10.0.0.0/8", toggle="block_private_ips")
    assert json.loads(error.as_json()) == {
        "code": "ssrf_blocked",
        "message": "Connection to 10.0.0.5 is blocked: it is in 10.0.0.0/8",
        "retryable": False,
        "details": {"blocked_ip": "10.0.0.5", "cidr": "10.0.0.0/8", "toggle": "block_private_ips"},
    }


@pytest.mark.req("FR-WF-18b")
def test_details_are_left_out_when_there_are_none() -> None:
    assert set(SpanielError(Code.INTERNAL).as_dict()) == {"code", "message", "retryable"}


def test_message_without_a_detail_is_still_made() -> None:
    assert SpanielError(Code.DNS_FAILED, host="example.com").message == "DNS resolution failed (host: example.com)"


@given(st.text())
def test_external_text_cannot_control_a_terminal(text: str) -> None:
    error = SpanielError(Code.NETWORK, error=f"\x1b[31m{text}\x9b0m\u202e")
    assert error.message.replace(" ", "").isprintable()
    error.as_json().encode()


@pytest.mark.parametrize(
    "sign",
    ["\x00", "\x1b", "\x7f", "\x85", "\x9b", "\u00ad", "\u061c", "\u200b", "\u200f", "\u202a", "\u202e", "\u2028"]
    + ["\u2029", "\u2066", "\u2069", "\ufeff", "\ufff9", "\ufffe", "\U0001bca0", "\U000e0041", "\U0010ffff", "\udcff"],
    ids=ascii,
)
def test_control_characters_are_escaped(sign: str) -> None:
    escape = ascii(sign)[1:-1]
    assert shown(f"https://example.com/a{sign}b") == f"https://example.com/a{escape}b"
    error = SpanielError(Code.INVALID_URL, url=f"http://{sign}/", reason="why")
    assert (error.details["url"], sign in error.as_json()) == (f"http://{escape}/", False)


def test_error_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(SpanielError(Code.TIMEOUT, timeout_ms=20, phase="connect")))  # noqa: S301
    assert error.as_dict() == SpanielError(Code.TIMEOUT, timeout_ms=20, phase="connect").as_dict()


def test_the_text_of_an_error_has_its_code_and_its_url_but_not_the_query() -> None:
    plain = SpanielError(Code.HTTP_4XX, status=404, status_text="Not Found")
    assert str(plain) == "http_4xx: The server returned 404 Not Found"
    error = plain.about("https://a.example/b?token=secret")
    assert str(error) == "http_4xx: The server returned 404 Not Found (https://a.example/b?…)"
    assert (error.url, plain.url) == ("https://a.example/b?token=secret", None)
    assert repr(error) == f"SpanielError({str(error)!r})"
    assert pickle.loads(pickle.dumps(error)).url == error.url  # noqa: S301


def blocked(url: str, toggle: str = "block_loopback") -> SpanielError:
    return SpanielError(Code.SSRF_BLOCKED, blocked_ip="x", cidr="y", toggle=toggle).about(url)


def settings_in(hint: str) -> Settings:
    """A hint's settings, read as the file that somebody makes of them."""
    return from_data(tomllib.loads(hint[hint.index("[") :]), "pasted")


@pytest.mark.parametrize(
    ("url", "ports"),
    [
        ("http://127.0.0.1:8000/x", (80, 443, 8000)),
        ("http://localhost:3000", (80, 443, 3000)),
        ("https://app.localhost/?a=:9", (80, 443)),
        ("http://[::1]:5000/", (80, 443, 5000)),
        ("http://user:pw@127.0.0.1:81/", (80, 443, 81)),
    ],
)
def test_blocked_loopback_has_the_settings_that_allow_it(url: str, ports: tuple[int, ...]) -> None:
    port_blocked = SpanielError(Code.PORT_BLOCKED, port=ports[-1], allowed_ports=[80, 443]).about(url)
    for error in (blocked(url), port_blocked):
        security = settings_in(error.hint).security
        assert (security.block_loopback, security.allow_insecure_overrides) == (False, True)
        assert security.allowed_ports == ports
        Guard(SystemResolver(), security).check_form(parse(url))


@pytest.mark.parametrize(
    "error",
    [
        blocked("https://example.com/"),  # by a redirect, or by a name that leads inside
        blocked("http://127.evil.example/"),
        blocked("http://169.254.169.254/", "block_link_local"),
        blocked("http://10.0.0.1/", "block_private_ips"),
        SpanielError(Code.SSRF_BLOCKED, blocked_ip="x", cidr="y", toggle="block_loopback"),
    ],
)
def test_other_blocked_addresses_have_no_settings_in_the_hint(error: SpanielError) -> None:
    assert error.hint == TABLE[Code.SSRF_BLOCKED].hint


def test_blocked_port_has_the_setting_that_allows_it() -> None:
    error = SpanielError(Code.PORT_BLOCKED, port=8080, allowed_ports=[80, 443]).about("https://a.example:8080/")
    security = settings_in(error.hint).security
    assert security == Security(allowed_ports=(80, 443, 8080))


def test_messages_contain_no_requirement_ids() -> None:
    for row in TABLE.values():
        assert not REQUIREMENT.search(f"{row.meaning} {row.message} {row.hint} {row.model_hint}")


# What only a person can do: run a command, set an option or a key of the settings, install something.
FOR_PEOPLE = re.compile(
    r"\bspaniel\b|(?<!\w)--?[a-z]|\btools\.|\w = |\bpip\b|\.toml\b|\binstall|settings file|"
    + "|".join(rf"\b{re.escape(key.name)}\b" for key in KEYS if "_" in key.name),
    re.IGNORECASE,
)
KNOWN_CAUSES: dict[Code, list[dict[str, object]]] = {  # details that change a hint
    Code.BAD_ARGS: [
        {"field": "url", "reason": "is missing"},
        {"field": "approval", "reason": "denied by the user: web_fetch https://a.example/ (http)"},
        {"field": "approval", "reason": "is required, but this host cannot ask the user"},
        {"field": "tools.mode", "reason": "is 'parse_only': no tool is run"},
        {"field": "tools.webfetch.enabled", "reason": "is false: the tool is switched off"},
        {"field": "tools.webfetch.browser.block_resources", "reason": "unknown resource type 'x'"},
        {"field": "/home/x/profile.toml", "reason": "cannot be read: No such file or directory"},
        {"field": "ca_file", "reason": "/x: No such file or directory"},
    ],
    Code.INVALID_HOST: [{"host": "a.example", "reason": "x", "list": "allowlist"}],
    Code.SSRF_BLOCKED: [{"blocked_ip": "127.0.0.1", "cidr": "127.0.0.0/8", "toggle": "block_loopback"}],
    Code.PORT_BLOCKED: [{"port": 8080, "allowed_ports": [80, 443]}],
    Code.NETWORK: [{"error": "x", "cause": cause} for cause in ("certificate", "tls", "connect")],
    Code.HTTP_4XX: [
        {"status": 429, "status_text": "", "retry_after": "3"},
        {"status": 402, "status_text": "", "crawler_price": "USD 1"},
        {"status": 402, "status_text": "", "page_type": "paywall"},
        {"status": 401, "status_text": "", "page_type": "login"},
        {"status": 403, "status_text": "", "page_type": "challenge"},
    ],
    Code.UNSUPPORTED_CONTENT_TYPE: [
        {"content_type": "application/pdf", "kind": "pdf"},
        {"content_type": "application/pdf", "extra": "pdf"},
        {"content_type": "image/png"},
    ],
    Code.BROWSER_UNAVAILABLE: [
        {"chromium_path": "", "error": "x", "cause": cause} for cause in ("missing", "path", "old", "off", "system")
    ],
    Code.EXTRACTION_FAILED: [{"error": "x", "cause": cause} for cause in ("document", "process")],
}


@pytest.mark.req("D2-32")
@pytest.mark.parametrize("code", Code)
def test_model_hints_are_possible_for_a_model(code: Code) -> None:
    for details in [{}, *KNOWN_CAUSES.get(code, [])]:
        for url in ("https://a.example/", "http://127.0.0.1:8000/"):
            error = ToolError("web_fetch", SpanielError(code, **details).about(url))
            hint = json.loads(error.message)["hint"]
            assert hint.endswith(".")
            assert not FOR_PEOPLE.search(hint), (details, hint)
    assert FOR_PEOPLE.search(TABLE[Code.REDIRECT_LIMIT].hint)  # the control: a person's hint is found
    assert FOR_PEOPLE.search(TABLE[Code.ROBOTS_DISALLOWED].hint)


@pytest.mark.req("D2-32")
def test_correct_the_value_is_a_hint_for_wrong_values_only() -> None:
    wrong = SpanielError(Code.BAD_ARGS, field="max_chunk_tokens", reason="5 is not between 128 and 2048")
    assert (wrong.hint, wrong.model_hint) == (TABLE[Code.BAD_ARGS].hint, TABLE[Code.BAD_ARGS].model_hint)
    for field, reason in [
        ("approval", "denied by the user: web_fetch https://a.example/ (http)"),
        ("tools.mode", "is 'parse_only': no tool is run"),
        ("tools.webfetch.enabled", "is false: the tool is switched off"),
        ("out.jsonl", "cannot be written: Permission denied"),
        ("standard output", "is closed"),
        ("standard output", "cannot be written: No space left on device"),
        ("spaniel.toml", "the file is there already; add --force to replace it"),
        ("https://a.example/", "no record of this URL"),
    ]:
        error = SpanielError(Code.BAD_ARGS, field=field, reason=reason)
        assert "orrect this" not in error.hint, reason
    for field in ("approval", "tools.mode", "tools.webfetch.enabled"):
        assert "again" not in SpanielError(Code.BAD_ARGS, field=field, reason="x").model_hint


def test_errors_page_matches_the_table() -> None:
    page = runpy.run_path(str(ROOT / "docs" / "make.py"))["errors_page"]()
    assert (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8") == page, "run `make docs`"


@pytest.mark.parametrize(
    ("details", "said"),
    [
        ({"status": 429, "retry_after": "120"}, "Retry-After: 120"),
        ({"status": 402, "page_type": "paywall"}, "requires payment"),
        ({"status": 401, "page_type": "login"}, "requires a login"),
        ({"status": 402, "crawler_price": "USD 0.01"}, "makes no payments"),
        ({"status": 404}, "Check the URL"),
    ],
)
def test_status_hint_depends_on_the_details(details: dict[str, object], said: str) -> None:
    assert said in SpanielError(Code.HTTP_4XX, status_text="", **details).hint


@pytest.mark.req("D2-32")
@pytest.mark.parametrize(
    "details",
    [
        {"field": "tools.mode", "reason": "is 'disabled': no tool is run"},
        {"field": "tools.webfetch.enabled", "reason": "is false: the tool is switched off"},
        {"field": "spaniel.net.ca_file", "reason": "cannot be read"},
        {"field": "profile", "reason": "unknown profile in spaniel.toml; add --profile reader"},
        {"field": "cache", "reason": "run 'spaniel cache verify', or set SPANIEL_CACHE_DIR"},
    ],
)
def test_message_for_a_model_names_no_setting_or_command(details: dict[str, str]) -> None:
    error = SpanielError(Code.BAD_ARGS, **details)
    for word in ("tools.", "spaniel.", "SPANIEL_", "--", "'spaniel ", ".toml"):
        assert word not in error.model_message


@pytest.mark.req("NFR-WF-OP-02", "D2-32")
def test_denied_approval_is_reported_as_denied() -> None:
    error = SpanielError(
        Code.BAD_ARGS, field="approval", reason="denied by the user: web_fetch https://a.example/ (http)"
    )
    assert error.model_message == "The call was not approved (denied by the user: web_fetch https://a.example/ (http))"
    assert not error.retryable
    assert "again" not in error.model_hint
    assert "Do not repeat it" in error.model_hint
