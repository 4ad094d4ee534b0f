"""The least noise for what may be spent, its charge worked out again, and estimates that are right on average."""

from fractions import Fraction
from math import exp, sqrt

import numpy as np
import pytest

from dpsql.accounting import Plan, calibrate
from dpsql.errors import DataError, InternalError
from dpsql.mechanism.randomized_response import least_flips, response_epsilon
from dpsql.private import Private
from dpsql.synthesis.graph.noise import MOST_GAUSSIAN_PAIRS, Noise, least_noise, read
from tests.support.entropy import SeededEntropy

ORDER = calibrate(Fraction(1), Fraction(1, 10**6), hard_rounds=0)
PURSES = calibrate(Fraction(1), Fraction(1, 10**6), hard_rounds=0, releases=1000)
KINDS = ["randomised-response", "gaussian"]


@pytest.mark.parametrize("plan", [ORDER, PURSES], ids=["order", "purses"])
@pytest.mark.parametrize("changed", [1, 2, 6])
def test_responses_are_charged_for_every_pair_that_can_change(plan: Plan, changed: int) -> None:
    units = plan.release_budget // 2
    noise = least_noise(plan, units, changed, 1000, "randomised-response")
    assert noise.cost == changed * plan.pure_cost(response_epsilon(noise.flips)) <= units
    assert changed * plan.pure_cost(response_epsilon(noise.flips - 1)) > units  # all of it is used


@pytest.mark.parametrize("plan", [ORDER, PURSES], ids=["order", "purses"])
@pytest.mark.parametrize("changed", [1, 6])
def test_gaussians_are_charged_for_every_pair_that_can_change(plan: Plan, changed: int) -> None:
    units = plan.release_budget // 2
    noise = least_noise(plan, units, changed, 1000, "gaussian")
    assert noise.cost == plan.release_cost(noise.sigma, changed) <= units
    assert plan.release_cost(noise.sigma * Fraction(999, 1000), changed) > units


def test_the_smaller_variance_is_chosen() -> None:
    """At one order a pure release is charged little; by precision Gaussian noise is the cheaper one."""
    assert ORDER.alpha is not None and PURSES.alpha is None
    assert least_noise(ORDER, ORDER.release_budget, 1, 1000).kind == "randomised-response"
    assert least_noise(PURSES, PURSES.release_budget, 1, 1000).kind == "gaussian"
    assert least_noise(PURSES, PURSES.release_budget, 1, MOST_GAUSSIAN_PAIRS + 1).kind == "randomised-response"


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(DataError, match="no noise 'loud'"):
        least_noise(ORDER, ORDER.release_budget, 1, 1000, "loud")
    with pytest.raises(DataError, match="takes too long"):
        least_noise(ORDER, ORDER.release_budget, 1, MOST_GAUSSIAN_PAIRS + 1, "gaussian")
    for kind in ("auto", *KINDS):
        with pytest.raises(DataError, match="too small"):
            least_noise(ORDER, 0, 1, 1000, kind)


def noises() -> dict[str, Noise]:
    return {
        "randomised-response": Noise("randomised-response", 1, flips=least_flips(Fraction(1))),
        "gaussian": Noise("gaussian", 1, sigma=Fraction(5, 2)),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_estimates_are_unbiased_with_the_variance_they_say(kind: str) -> None:
    noise, pairs = noises()[kind], 6_000
    bits = np.arange(pairs) % 2 == 0
    noisy = read(noise.released(Private(bits), SeededEntropy(5)), pairs)
    error = noisy.values - bits
    assert noisy.sd == pytest.approx(sqrt(noise.variance))
    for these in (bits, ~bits):
        assert abs(error[these].mean()) < 5 * noisy.sd / sqrt(pairs / 2)
        assert error[these].std() == pytest.approx(noisy.sd, rel=0.1)
    assert noise.proxy >= noisy.sd


def test_the_variance_of_a_response_against_its_two_outcomes() -> None:
    f = 1 / (1 + exp(1.0))
    estimates = {0: -f / (1 - 2 * f), 1: (1 - f) / (1 - 2 * f)}
    for bit in (0, 1):
        chances = {bit: 1 - f, 1 - bit: f}
        mean = sum(chances[told] * estimates[told] for told in (0, 1))
        variance = sum(chances[told] * (estimates[told] - bit) ** 2 for told in (0, 1))
        assert mean == pytest.approx(bit)
        assert variance == pytest.approx(noises()["randomised-response"].variance, rel=1e-6)


def test_the_evidence_is_the_ratio_of_likelihoods() -> None:
    told = read(noises()["randomised-response"].released(Private(np.ones(50, dtype=bool)), SeededEntropy(1)), 50)
    assert set(np.round(told.evidence, 5).tolist()) == {1.0, -1.0}
    assert (np.sign(told.evidence) == np.sign(told.values - 0.5)).all()
    drawn = read(noises()["gaussian"].released(Private(np.ones(50, dtype=bool)), SeededEntropy(1)), 50)
    ratio = (np.exp(-((drawn.values - 1) ** 2) / 12.5) / np.exp(-(drawn.values**2) / 12.5)).tolist()
    assert np.exp(drawn.evidence).tolist() == pytest.approx(ratio)


def test_a_record_of_another_kind_is_refused() -> None:
    payload = noises()["gaussian"].released(Private(np.ones(5, dtype=bool)), SeededEntropy(1))
    with pytest.raises(InternalError, match="not known"):
        read({**payload, "noise": "none"}, 5)
