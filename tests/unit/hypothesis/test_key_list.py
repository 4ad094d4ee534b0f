"""Strings of one list together: against the posterior of the whole Gaussian vector, by matrices."""

import numpy as np
import numpy.typing as npt
import pytest

from dpsql.confidence import DEVIATIONS
from dpsql.hypothesis import NEWEST
from dpsql.hypothesis.strings.hidden_keys import HiddenKey
from dpsql.hypothesis.strings.key_list import key_list
from dpsql.query import Key

Floats = npt.NDArray[np.float64]


def posterior(own: float, spread: float, noise: Floats) -> tuple[Floats, Floats]:
    """Gain and variances of strings with variance ``own`` each and ``spread`` together, by matrices."""
    number = len(noise)
    prior = own * np.eye(number) + spread * np.ones((number, number))
    gain = prior @ np.linalg.inv(prior + np.diag(noise))
    return gain, prior - gain @ prior


@pytest.mark.parametrize("hidden", [HiddenKey(10.0, 40.0, 15.0), HiddenKey(3.0, 900.0, 1.0), HiddenKey(5.0, 4.0, 0.0)])
@pytest.mark.parametrize("number", [1, 2, 30])
def test_it_is_the_posterior_of_strings_that_share_a_shift(hidden: HiddenKey, number: int) -> None:
    rng = np.random.default_rng(number)
    keys: list[Key] = [(f"s{i}",) for i in range(number)]
    y, noise = rng.normal(20.0, 15.0, number), rng.uniform(4.0, 90.0, number)
    weights = rng.uniform(0.5, 1.0, number)
    found = key_list(
        {k: (y[i], noise[i]) for i, k in enumerate(keys)}, hidden, {k: weights[i] for i, k in enumerate(keys)}
    )
    seen = 1 / (hidden.variance + noise)
    apart, sd = (seen * (y - hidden.estimate)).sum() / seen.sum(), seen.sum() ** -0.5
    gain, _ = posterior(hidden.variance, hidden.bias**2, noise)
    mean = hidden.estimate + gain @ (y - hidden.estimate)
    if abs(apart) * sd**2 > NEWEST.shifted * sd * (sd**2 + hidden.bias**2):  # it would be drawn too far
        gain, _ = posterior(hidden.variance, 0.0, noise)
        middle = hidden.estimate + apart - np.sign(apart) * NEWEST.shifted * sd
        mean = middle + gain @ (y - middle)
    assert np.allclose([found.rows[k] for k in keys], mean)
    _, left = posterior(hidden.variance, 1e6, noise)  # bars take the shift for unknown
    total = sum(found.variances.values()) + (found.error / DEVIATIONS) ** 2
    assert np.isclose(total, weights @ left @ weights, rtol=2e-3)


@pytest.mark.parametrize("number", [1, 5, 40])
def test_bars_cover_strings_that_were_listed_because_they_are_unlike_others(number: int) -> None:
    """Whatever their number of rows is: what was expected of them may be wrong, the noise is known."""
    rng, sigma, hidden = np.random.default_rng(2), 10.0, HiddenKey(2.0, 4.0, 1.0)
    keys: list[Key] = [(f"s{i}",) for i in range(number)]
    for truth in (0, 2, 10, 15, 20, 30, 60):
        inside = 0
        for _ in range(400):
            y = truth + rng.normal(0.0, sigma, number)
            found = key_list({k: (y[i], sigma**2) for i, k in enumerate(keys)}, hidden, dict.fromkeys(keys, 1.0))
            bar = np.hypot(DEVIATIONS * np.sqrt(sum(found.variances.values())), found.error)
            inside += abs(sum(found.rows.values()) - number * truth) <= bar
        assert inside >= 0.9 * 400


def test_of_many_strings_the_sum_is_what_was_measured() -> None:
    hidden = HiddenKey(10.0, 25.0, 20.0)
    keys: list[Key] = [(f"s{i}",) for i in range(400)]
    rng = np.random.default_rng(1)
    truth = rng.poisson(45.0, 400)  # far above what was expected of them
    measured = {k: (float(n + rng.normal(0.0, 6.0)), 36.0) for k, n in zip(keys, truth, strict=True)}
    found = key_list(measured, hidden, dict.fromkeys(keys, 1.0))
    off = abs(sum(found.rows.values()) - truth.sum())
    bound = np.hypot(DEVIATIONS * np.sqrt(sum(found.variances.values())), found.error)
    assert off <= bound <= 1.1 * DEVIATIONS * 6.0 * 20.0


def test_nothing_measured_is_nothing_known() -> None:
    assert key_list({}, HiddenKey(1.0, 1.0, 1.0), {}).rows == {}
