"""Rounding by chance keeps sums as they are on average, and moves no two of them further apart than whole rows."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.mechanism import rounded_by_chance
from dpsql.private import Private
from tests.support.entropy import SeededEntropy

BITS = 24
WHOLE = 1 << BITS


def rounded(shares: list[int], seed: int) -> np.ndarray:
    found = rounded_by_chance(Private(np.array(shares, dtype=np.int64)), len(shares), BITS, SeededEntropy(seed))
    return found.reveal()


def mean_of(share: float, rounding: object) -> float:
    """In sds of the mean of 20,000 roundings by chance, from the share."""
    size = 20_000
    found = rounding([round(share * WHOLE)] * size)  # type: ignore[operator]
    return float((np.mean(found) - share) / sqrt(share * (1 - share) / size))


@pytest.mark.parametrize("share", [0.02, 0.49, 0.5, 0.97])
def test_on_average_a_share_is_what_it_was(share: float) -> None:
    assert abs(mean_of(share, lambda shares: rounded(shares, 5))) < 4.5
    assert mean_of(share, lambda shares: rounded([s + WHOLE // 50 for s in shares], 5)) > 4.5
    assert mean_of(share, lambda shares: rounded([s - WHOLE // 50 for s in shares], 5)) < -4.5


def test_one_number_says_nothing_of_the_next() -> None:
    one, other = rounded([WHOLE // 2] * 40_000, 7).reshape(2, -1)
    assert abs(np.corrcoef(one, other)[0, 1]) < 4.5 / sqrt(20_000)
    assert abs(np.corrcoef(one[:-1], one[1:])[0, 1]) < 4.5 / sqrt(20_000)


@given(st.integers(-(1 << 50), 1 << 50), st.integers(-3 * WHOLE, 3 * WHOLE), st.integers(0, 1 << 30))
def test_it_moves_no_two_sums_further_apart_than_whole_rows(shares: int, change: int, seed: int) -> None:
    """The sensitivity of a vector of sums (docs/privacy.md): with the same chances for both."""
    (one,), (other,) = rounded([shares], seed), rounded([shares + change], seed)
    least, most = sorted((0, -(-change // WHOLE) if change > 0 else change // WHOLE))
    assert least <= other - one <= most
    assert -1 < one - shares / WHOLE < 1


def test_whole_numbers_stay_as_they_are_and_shapes_too() -> None:
    whole = np.arange(-6, 6, dtype=np.int64).reshape(3, 4)
    found = rounded_by_chance(Private(whole * WHOLE), 12, BITS, SeededEntropy(1)).reveal()
    assert (found.shape, found.dtype) == ((3, 4), np.int64) and (found == whole).all()
