"""The options of one fetch from Python: each name once."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from spaniel.pipeline.request import Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spaniel.browser.rendering import RenderOptions


class FetchKeywords(TypedDict, total=False):
    """The keywords of `Spaniel.fetch`, `spaniel.fetch` and `spaniel.afetch`."""

    no_cache: bool
    force_browser: bool
    allowed_domains: Sequence[str] | None
    blocked_domains: Sequence[str]
    screenshot: bool
    wait_for: str | None
    viewport: tuple[int, int] | None
    idle_ms: int | None
    scrolls: int | None


def request_for(url: str, max_chunk_tokens: int | None, options: FetchKeywords, shown: RenderOptions) -> Request:
    """The request; `shown` are the default rendering options. An unknown name is a `TypeError`."""
    for name in options:
        if name not in FetchKeywords.__annotations__:
            raise TypeError(f"fetch() got an unexpected keyword argument '{name}'")
    return Request(
        url,
        max_chunk_tokens,
        options.get("no_cache", False),
        options.get("force_browser", False),
        options.get("screenshot", False),
        options.get("allowed_domains"),
        options.get("blocked_domains", ()),
        display=displayed(
            shown, options.get("wait_for"), options.get("viewport"), options.get("idle_ms"), options.get("scrolls")
        ),
    )


def displayed(
    shown: RenderOptions,
    wait_for: str | None = None,
    viewport: tuple[int, int] | None = None,
    idle_ms: int | None = None,
    scrolls: int | None = None,
) -> RenderOptions | None:
    """The rendering options of one call: the defaults with what is passed here. None if nothing is."""
    width, height = viewport or (None, None)
    given = {"width": width, "height": height, "idle_ms": idle_ms, "wait_for": wait_for, "scrolls": scrolls}
    given = {name: value for name, value in given.items() if value is not None}
    return shown._replace(**given) if given else None  # type: ignore[arg-type]
