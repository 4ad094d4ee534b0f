"""Tails of the discrete Gaussian against mpmath, term by term with more digits."""

from fractions import Fraction
from math import ceil

import mpmath
import pytest

from dpsql.errors import InternalError
from dpsql.mechanism.gaussian_tail import WIDEST, tail_bounds


def tail(sigma: Fraction, above: int) -> mpmath.mpf:
    """P[Z > above]."""
    s, reach = mpmath.mpf(sigma.numerator) / sigma.denominator, ceil(40 * sigma) + above + 2
    weight = [mpmath.exp(-mpmath.mpf(k * k) / (2 * s * s)) for k in range(reach)]
    return mpmath.fsum(weight[above + 1 :]) / (2 * mpmath.fsum(weight) - 1)


@pytest.mark.parametrize("sigma", [Fraction(1, 1000), Fraction(1, 2), Fraction(3), Fraction(41, 4), Fraction(200, 3)])
@pytest.mark.parametrize("bits", [1, 8, 160, 320])
def test_bounds_are_around_the_tail_and_near_it(sigma: Fraction, bits: int) -> None:
    with mpmath.workdps(220):
        for above in sorted({0, 1, int(sigma), int(3 * sigma), int(9 * sigma), int(18 * sigma), 10**4}):
            low, high = tail_bounds(sigma, above, bits)
            exact = tail(sigma, above) * mpmath.mpf(2) ** bits if above < 10**4 else mpmath.mpf(0)
            assert low <= exact <= high
            assert high - low < 1 << 20


def test_another_scale_is_outside_the_bounds() -> None:
    low, high = tail_bounds(Fraction(3), 5, 160)
    with mpmath.workdps(100):
        for factor in (Fraction(999999, 1000000), Fraction(1000001, 1000000)):
            assert not low <= tail(3 * factor, 5) * 2**160 <= high


@pytest.mark.parametrize("arguments", [(0, 1, 8), (-1, 1, 8), (WIDEST + 1, 1, 8), (1, -1, 8), (1, 1, 0)])
def test_tails_out_of_range_are_refused(arguments: tuple[int, int, int]) -> None:
    sigma, above, bits = arguments
    with pytest.raises(InternalError):
        tail_bounds(Fraction(sigma), above, bits)
