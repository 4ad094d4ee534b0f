"""Strings of one list together: against the posterior of the whole Gaussian vector, by matrices."""

import numpy as np
import pytest

from dpsql.confidence import DEVIATIONS
from dpsql.hypothesis.strings.hidden_keys import HiddenKey
from dpsql.hypothesis.strings.key_list import key_list
from dpsql.query import Key


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
    prior = hidden.variance * np.eye(number) + hidden.bias**2 * np.ones((number, number))
    gain = prior @ np.linalg.inv(prior + np.diag(noise))
    mean = hidden.estimate + gain @ (y - hidden.estimate)
    left = prior - gain @ prior
    assert np.allclose([found.rows[k] for k in keys], mean)
    total = sum(found.variances.values()) + (found.error / DEVIATIONS) ** 2
    assert np.isclose(total, weights @ left @ weights)


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
