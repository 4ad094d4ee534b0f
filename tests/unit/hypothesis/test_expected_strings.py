"""Rows expected of strings that somebody listed: sums over many keep what the noise of each would hide."""

import numpy as np
import pytest

from tests.unit.hypothesis.test_keyed_error import counts, keys_of, started

NUMBER, EACH, SIGMA = 400, 25, 100.0


def test_sums_of_listed_strings_survive_their_noise() -> None:
    model, keys = started(), keys_of(NUMBER)
    noise = np.random.default_rng(5).normal(0.0, SIGMA, NUMBER).round().astype(int)
    model.absorb(counts(keys, (EACH + noise).tolist(), SIGMA))
    sparse = model.sparse(("w",))
    whole = NUMBER * EACH
    assert sum(map(sparse.expected, keys)) == pytest.approx(whole, rel=0.3)
    assert abs(sum(map(sparse.weight, keys)) - whole) > 0.3 * whole


def test_what_is_expected_is_the_mean_of_prior_times_likelihood() -> None:
    model, (key,) = started(), keys_of(1)
    model.absorb(counts((key,), [180], 60.0))
    sparse = model.sparse(("w",))
    prior, variance = sparse.unassigned, sparse.variance(("new",))
    grid = np.linspace(-3000.0, 3000.0, 200_001)
    density = np.exp(-((grid - prior) ** 2) / (2 * variance) - (grid - 180.0) ** 2 / (2 * 60.0**2))
    assert sparse.expected(key) == pytest.approx(float((grid * density).sum() / density.sum()), rel=1e-6)


def test_strings_that_were_shown_or_never_measured_keep_their_weight() -> None:
    sparse = started().sparse(("w",))
    for key in (("shown0",), ("new",)):
        assert sparse.expected(key) == sparse.weight(key)
