"""The discrete Gaussian's Renyi divergence at an integer shift is at most alpha d^2 / (2 sigma^2) (CKS20, Thm 4)."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpsql.accounting import gaussian_cost


def divergence(alpha: float, shift: int, sigma: float) -> float:
    """D_alpha(N_Z(shift, sigma^2) || N_Z(0, sigma^2)), by summation in logarithms."""
    reach = int(60 * sigma + alpha * abs(shift) + 60)
    x = np.arange(-reach, reach + 1, dtype=np.float64)
    plain = -(x**2) / (2 * sigma**2)
    terms = alpha * -((x - shift) ** 2) / (2 * sigma**2) + (1 - alpha) * plain
    return float((np.logaddexp.reduce(terms) - np.logaddexp.reduce(plain)) / (alpha - 1))


@given(st.floats(0.3, 60), st.floats(1.05, 60), st.integers(1, 4))
def test_divergence_is_at_most_the_charge(sigma: float, alpha: float, shift: int) -> None:
    charge = float(gaussian_cost(Fraction(alpha), Fraction(shift * shift), Fraction(sigma)))
    assert divergence(alpha, shift, sigma) <= charge * (1 + 1e-9) + 1e-9


def test_the_charge_is_tight() -> None:
    assert divergence(17.0, 1, 4.5) > 0.999 * float(gaussian_cost(Fraction(17), Fraction(1), Fraction(9, 2)))
    assert divergence(17.0, 1, 4.4) > float(gaussian_cost(Fraction(17), Fraction(1), Fraction(9, 2)))
