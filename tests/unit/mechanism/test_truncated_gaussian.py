"""Discrete Gaussians above a place have the law that is left there, unlike wrong ones, and come to an end."""

from fractions import Fraction
from math import exp, fsum

import numpy as np
import pytest

from dpsql.errors import InternalError
from dpsql.mechanism.truncated_gaussian import gaussian_above
from tests.statistical.goodness_of_fit import ALPHA, chi_square, gaussian_law
from tests.support.entropy import SeededEntropy

DRAWS = 6_000


def law_above(sigma: float, place: int) -> dict[int, float]:
    """The discrete Gaussian given that it is above a place: its weights relative to the first one's."""
    least = place + 1
    reach = range(least, max(least, 0) + int(12 * sigma) + 3)
    logs = {x: -x * x / (2 * sigma * sigma) for x in reach}
    top = max(logs.values())
    weights = {x: exp(w - top) for x, w in logs.items()}
    total = fsum(weights.values())
    return {x: w / total for x, w in weights.items()}


@pytest.mark.parametrize(
    ("sigma", "place"),
    [
        (Fraction(4), -1000),
        (Fraction(4), -3),
        (Fraction(4), 0),
        (Fraction(4), 3),
        (Fraction(4), 4),
        (Fraction(4), 20),
        (Fraction(23, 5), 60),
        (Fraction(1, 3), 0),
        (Fraction(1, 8), 0),  # which one draw in 1e14 would pass
        (Fraction(1, 3), 2),
        (Fraction(5, 4), -2),
    ],
)
def test_draws_have_the_law_that_is_left_above_the_place(sigma: Fraction, place: int) -> None:
    drawn = gaussian_above(sigma, [place] * DRAWS, SeededEntropy(1))
    assert min(drawn) > place
    law = law_above(float(sigma), place)
    if max(law.values()) > 1 - 10 / DRAWS:
        assert np.mean([x == place + 1 for x in drawn]) > 0.99
    else:
        assert chi_square(drawn, law) > ALPHA
        for wrong in (0.8, 1.25):
            assert chi_square(drawn, law_above(wrong * float(sigma), place)) < ALPHA


def test_far_below_everything_it_is_the_whole_law() -> None:
    drawn = gaussian_above(Fraction(3), [-(10**12)] * DRAWS, SeededEntropy(2))
    assert chi_square(drawn, gaussian_law(3.0)) > ALPHA


def test_each_place_has_a_draw_of_its_own() -> None:
    places = [-50, 0, 30, 300]
    drawn = np.array([gaussian_above(Fraction(10), places, SeededEntropy(seed)) for seed in range(200)])
    assert (drawn > places).all()
    assert (np.abs(np.corrcoef(drawn.T) - np.eye(4)) < 0.35).all()


@pytest.mark.parametrize("sigma", [Fraction(10**6), Fraction(1 << 50), Fraction(19133, 1024)])
@pytest.mark.parametrize("times", [0.99, 1, 5, 40])
def test_wide_noise_and_far_places_come_to_an_end(sigma: Fraction, times: float) -> None:
    place = int(times * sigma)
    drawn = gaussian_above(sigma, [place] * 20, SeededEntropy(3))
    assert all(place < x < place + 10 * sigma for x in drawn)
    least = sigma / max(times, 1.0) / 20  # about the size of an exponential draw
    assert max(drawn) - place > least


def test_noise_needs_a_scale() -> None:
    with pytest.raises(InternalError):
        gaussian_above(Fraction(0), [1], SeededEntropy(1))
