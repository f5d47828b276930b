"""The measure that tests of growth use: it sees a square, and lets alone what grows with its input."""

from __future__ import annotations

from tests.stopwatch import growth


def copies(count: int) -> None:
    """The square of the work: each copy is as long as its number."""
    data = list(range(count))
    for number in range(count):
        _ = data[:number]


def test_square_is_seen() -> None:
    assert growth(lambda: copies(1_000), lambda: copies(16_000), floor=1e-5, below=81).times > 81


def test_work_that_grows_with_its_input_passes() -> None:
    assert growth(lambda: sum(range(20_000)), lambda: sum(range(320_000)), floor=1e-5, below=81).times < 81


def test_reading_that_was_disturbed_is_taken_again() -> None:
    slow = iter([True, False, False])

    def large() -> int:
        return sum(range(3_200_000 if next(slow) else 32_000))

    assert growth(lambda: sum(range(20_000)), large, floor=1e-5, below=20).times < 20
