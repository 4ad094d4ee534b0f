"""Measurements: noise on every cell, shape and type kept, saturation guarded, nothing said about the data."""

import traceback
from fractions import Fraction

import numpy as np
import pytest

from dpsql.errors import InternalError
from dpsql.mechanism import SystemEntropy, measure
from dpsql.private import Private
from tests.support.entropy import ScriptedEntropy, SeededEntropy


def test_noise_is_added_cell_by_cell() -> None:
    counts = np.arange(6, dtype=np.int64).reshape(2, 3)
    released = measure(Private(counts), Fraction(3), ScriptedEntropy([], [5, -1, 0, 2, 7, -9]))
    assert released.tolist() == [[5, 0, 2], [5, 11, -4]]
    assert released.dtype == np.int64
    assert counts.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3), (3, 2, 2)])
def test_shape_is_kept(shape: tuple[int, ...]) -> None:
    released = measure(Private(np.zeros(shape, dtype=np.int64)), Fraction(3), SeededEntropy(1))
    assert released.shape == shape
    assert released.dtype == np.int64


def test_every_cell_has_noise_of_its_own() -> None:
    released = measure(Private(np.zeros((40, 40), dtype=np.int64)), Fraction(50), SystemEntropy())
    assert len(np.unique(released)) > 100
    assert not np.array_equal(released[0], released[1])


@pytest.mark.parametrize("sigma", [Fraction(0), Fraction(-1), Fraction(2**50 + 1)])
def test_sigma_is_bounded(sigma: Fraction) -> None:
    with pytest.raises(InternalError):
        measure(Private(np.zeros(3, dtype=np.int64)), sigma, SeededEntropy(1))


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.uint64])
def test_only_int64_counts_are_measured(dtype: type) -> None:
    with pytest.raises(InternalError):
        measure(Private(np.zeros(3, dtype=dtype)), Fraction(3), SeededEntropy(1))


def test_huge_counts_neither_overflow_nor_raise() -> None:
    extremes = np.array([2**63 - 1, -(2**63), 2**61, 0], dtype=np.int64)
    released = measure(Private(extremes), Fraction(3), ScriptedEntropy([], [2**61 - 1, -(2**61) + 1, 4, 4]))
    assert released.tolist() == [2**62 - 2, -(2**62) + 2, 2**61 + 3, 4]


@pytest.mark.parametrize("extreme", [2**61, -(2**61), 2**63 - 1, -(2**63)])
def test_saturated_noise_is_refused_without_the_counts(extreme: int) -> None:
    secret = 9876 * 10**5 + 54321
    counts = np.array([secret], dtype=np.int64)
    with pytest.raises(InternalError) as caught:
        measure(Private(counts), Fraction(3), ScriptedEntropy([], [extreme]))
    assert str(secret) not in "".join(traceback.format_exception(caught.value))
