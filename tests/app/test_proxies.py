"""The system's proxies, as the environment names them."""

from __future__ import annotations

import logging

import pytest

from spaniel.app.proxies import system_proxies, unused_proxies, warn_of_unused_proxies
from spaniel.errors import SpanielError
from spaniel.url import parse


def chosen(url: str, **environ: str) -> str | None:
    proxies = system_proxies(environ)
    proxy = proxies.choose(parse(url)) if proxies else None
    return proxy.url if proxy else None


@pytest.mark.req("FR-WF-10d", "D2-20")
@pytest.mark.parametrize(
    ("url", "environ", "proxy"),
    [
        ("http://a.example/", {}, None),
        ("http://a.example/", {"HTTP_PROXY": "http://p:3128"}, "http://p:3128"),
        ("http://a.example/", {"http_proxy": "p:3128"}, "http://p:3128"),
        ("https://a.example/", {"HTTP_PROXY": "http://p:3128"}, None),
        ("https://a.example/", {"HTTPS_PROXY": "http://s:3128"}, "http://s:3128"),
        ("https://a.example/", {"ALL_PROXY": "http://all:1"}, "http://all:1"),
        ("http://a.example/", {"HTTP_PROXY": "http://p:1", "NO_PROXY": "b.example, .example"}, None),
        ("http://a.example/", {"HTTP_PROXY": "http://p:1", "NO_PROXY": "a.example"}, None),
        ("http://x.a.example/", {"HTTP_PROXY": "http://p:1", "NO_PROXY": "a.example"}, None),
        ("http://ba.example/", {"HTTP_PROXY": "http://p:1", "NO_PROXY": "a.example"}, "http://p:1"),
        ("http://a.example/", {"HTTP_PROXY": "http://p:1", "no_proxy": "*"}, None),
        ("http://a.example/", {"HTTP_PROXY": "http://attacker:1", "REQUEST_METHOD": "GET"}, None),
        ("http://a.example/", {"http_proxy": "http://p:1", "REQUEST_METHOD": "GET"}, "http://p:1"),
    ],
)
def test_the_proxy_for_a_url(url: str, environ: dict[str, str], proxy: str | None) -> None:
    assert chosen(url, **environ) == proxy


def test_a_proxy_that_is_not_http_is_refused() -> None:
    with pytest.raises(SpanielError, match="only http:// proxies"):
        system_proxies({"ALL_PROXY": "socks5://p:1080"})


@pytest.mark.parametrize(
    ("environ", "names"),
    [
        ({}, ()),
        ({"HTTPS_PROXY": ""}, ()),
        ({"NO_PROXY": "*"}, ()),
        ({"HTTPS_PROXY": "http://p:1"}, ("HTTPS_PROXY",)),
        ({"all_proxy": "socks5://p:1", "HTTP_PROXY": "http://p:1"}, ("HTTP_PROXY", "all_proxy")),
        ({"HTTP_PROXY": "http://client:1", "REQUEST_METHOD": "GET"}, ()),  # a client's header, no proxy
        ({"http_proxy": "http://p:1", "REQUEST_METHOD": "GET"}, ("http_proxy",)),
    ],
)
def test_a_proxy_that_is_set_and_would_not_be_used_is_known(environ: dict[str, str], names: tuple[str, ...]) -> None:
    assert unused_proxies(environ) == names


def test_an_unused_proxy_is_told_once_and_without_its_password(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "spaniel"):
        warn_of_unused_proxies({})
        for _ in range(3):
            warn_of_unused_proxies({"https_proxy": "http://me:SECRET@p.example:1"})
    (message,) = caplog.messages
    assert message.startswith("a proxy is set (https_proxy) but not used")
    assert "use_system_proxy = true" in message
    assert "SECRET" not in message
