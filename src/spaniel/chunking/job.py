"""What is known while one text is cut into pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class SplitJob(NamedTuple):
    """The text at hand, its view (see blocks), how it is counted, and the most tokens that a piece may have.

    Before `body` nothing is cut: headings that go with what follows them.
    """

    text: str
    view: str
    count: Callable[[str], int]
    additive: bool
    limit: int
    body: int = 0
