"""Strings that were not shown: a power law with their mean, and lists of them drawn evenly or by row."""

import numpy as np
import pytest

from dpsql.hypothesis.strings.hidden_keys import hidden_key


def drawn(mean: float, most: int) -> np.ndarray:
    """Counts 1 .. most with the power law of this mean, computed count by count; probability of each."""
    counts = np.arange(1, most + 1, dtype=np.float64)
    low, high = 0.0, 12.0
    for _ in range(60):
        power = (low + high) / 2
        weights = counts**-power
        low, high = (power, high) if (weights * counts).sum() / weights.sum() > mean else (low, power)
    return weights / weights.sum()


@pytest.mark.parametrize(("mean", "most"), [(1.5, 40), (5.0, 75), (20.0, 130), (12.0, 700), (40.0, 9000)])
@pytest.mark.parametrize("by_row", [0.0, 0.3, 1.0])
def test_moments_are_those_of_the_two_ways_to_draw(mean: float, most: int, by_row: float) -> None:
    found = hidden_key(mean, float(most), by_row)
    even = drawn(mean, most)
    counts = np.arange(1, most + 1)
    row = even * counts / (even * counts).sum()
    mixed = (1 - by_row) * even + by_row * row
    expected = float((mixed * counts).sum())
    variance = float((mixed * counts**2).sum()) - expected**2
    assert found.estimate == pytest.approx(expected, rel=0.02)
    assert found.variance == pytest.approx(variance, rel=0.05)
    apart = float((row * counts).sum() - (even * counts).sum())
    assert found.bias == pytest.approx(apart * (by_row * (1 - by_row)) ** 0.5, rel=0.05, abs=0.01)


def test_where_nothing_is_left_nothing_is_expected() -> None:
    assert hidden_key(0.0, 100.0, 0.5).estimate == 0.0
    assert 0 < hidden_key(0.2, 100.0, 0.0).estimate < 0.25
