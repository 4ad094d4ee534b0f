"""How far models are off by what releases say: the posterior worked out another way, what is learned, and coverage."""

from itertools import pairwise

import numpy as np
import pytest

from dpsql.confidence import DEVIATIONS
from dpsql.session.own.variance_function import (
    ALIKE,
    LEVEL_SCATTER,
    POWER_SCATTER,
    SCATTER,
    SURELY,
    VarianceFunction,
)

UNIT = 50.0


def taught(
    lessons: int, level: float, power: float, seed: int, columns: int = 3, scatter: float = 0.0
) -> VarianceFunction:
    """Of a model with sds of exp(level) (bar / unit)^power units, and noise of its own of .6 to 1.2 units."""
    rng, found = np.random.default_rng(seed), VarianceFunction(UNIT)
    for _ in range(lessons):
        bar, own = UNIT * np.exp(rng.uniform(0.0, 4.0)), UNIT * rng.uniform(0.6, 1.2)
        off = UNIT * np.exp(level + scatter * rng.normal()) * (bar / UNIT) ** power
        found.learn(columns, abs(rng.normal(0.0, np.hypot(off, own))), own, bar)
    return found


def foreseen(found: VarianceFunction, columns: int, bar: float) -> float:
    """The sd of a model of which a measurement that is as far from it as its noise counts for so much."""
    weight, _ = found.weighed(columns, UNIT, UNIT, bar)
    return UNIT * float(np.sqrt(weight / (1.0 - weight)))


# --- what nobody has taught ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("far", [0.0, 40.0, 120.0, 240.0])
@pytest.mark.parametrize("bar", [30.0, 60.0, 900.0])
def test_before_any_lesson_it_is_the_posterior_of_the_prior(far: float, bar: float) -> None:
    """By draws from the prior, each as likely as its distance, in place of a grid."""
    rng, own = np.random.default_rng(3), 60.0
    level = rng.normal(0.0, LEVEL_SCATTER, 400_000) + rng.normal(0.0, SCATTER, 400_000)
    powers = np.array([0.3, 0.5, 0.7, 0.85, 1.0])
    share = np.exp(-0.5 * ((powers - 1.0) / POWER_SCATTER) ** 2)
    power = rng.choice(powers, 400_000, p=share / share.sum())
    off = (UNIT * np.exp(level) * (bar / UNIT) ** power) ** 2
    likely = np.exp(-0.5 * far**2 / (off + own**2)) / np.sqrt(off + own**2)
    likely /= likely.sum()
    weights = off / (off + own**2)
    mean = float((likely * weights).sum())
    left = float((likely * (weights * own**2 + (weights - mean) ** 2 * far**2)).sum())
    weight, variance = VarianceFunction(UNIT).weighed(3, far, own, bar)
    assert weight == pytest.approx(mean, abs=0.02)
    assert variance == pytest.approx(left, rel=0.03)


# --- what is learned -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("level", "power"), [(0.0, 1.0), (-1.0, 1.0), (0.0, 0.5), (0.5, 0.5), (-0.5, 0.3)])
def test_level_and_power_are_found(level: float, power: float) -> None:
    found = taught(600, level, power, 1)
    for bar in (100.0, 400.0, 2000.0):
        assert foreseen(found, 3, bar) == pytest.approx(UNIT * np.exp(level) * (bar / UNIT) ** power, rel=0.35)


def test_wider_bars_say_more() -> None:
    found = taught(300, -0.5, 0.5, 2)
    sds = [foreseen(found, 3, bar) for bar in (25.0, 100.0, 400.0, 1600.0)]
    assert all(a < b for a, b in pairwise(sds))


def test_numbers_of_columns_are_learned_apart_and_a_little_together() -> None:
    found = taught(200, -2.0, 1.0, 3)
    untaught = foreseen(VarianceFunction(UNIT), 5, 400.0)
    assert foreseen(found, 3, 400.0) < 0.5 * untaught
    assert foreseen(found, 3, 400.0) < foreseen(found, 5, 400.0) < untaught
    assert foreseen(taught(20, -2.0, 1.0, 3, ALIKE + 2), ALIKE, 400.0) < 0.8 * untaught  # as all of so many


def test_the_unit_is_no_more_than_a_unit() -> None:
    """In another one all that was learned says the same, but for the prior, whose powers are of the unit."""
    one, other = VarianceFunction(UNIT), VarianceFunction(2 * UNIT)
    rng = np.random.default_rng(4)
    for _ in range(400):
        far = abs(rng.normal(0.0, np.hypot(80.0, 60.0)))
        one.learn(3, far, 60.0, 500.0)
        other.learn(3, far, 60.0, 500.0)
    assert foreseen(one, 3, 500.0) == pytest.approx(foreseen(other, 3, 500.0), rel=0.05)


# --- what is shown ---------------------------------------------------------------------------------------------------


def test_models_that_are_near_get_weight_and_models_that_are_far_none() -> None:
    near, far = taught(200, -2.5, 1.0, 5), taught(200, 0.0, 1.0, 5)
    assert near.weighed(3, 30.0, 50.0, 200.0)[0] < 0.3
    assert far.weighed(3, 30.0, 50.0, 2000.0)[0] > 0.95


@pytest.mark.parametrize("times", [SURELY + 0.1, 10.0, 1e4])
def test_a_distance_that_noise_does_not_explain_is_believed(times: float) -> None:
    """Whatever others were off by: a planted interaction is no lesson's."""
    weight, left = taught(500, -4.0, 1.0, 6).weighed(3, times * 50.0, 50.0, 100.0)
    assert 1.0 - 1.0 / times**2 <= weight <= 1.0
    assert left >= 50.0**2  # its bar is not of what it was believed against


def errors(found: VarianceFunction, level: float, seed: int, *, noise: float = 1.0) -> tuple[list[float], list[float]]:
    """What 4,000 answers are off by, and their sds; ``noise``: what is said of the noise, in what it is."""
    rng, off, sds = np.random.default_rng(seed), [], []
    for _ in range(4000):
        bar, own = UNIT * np.exp(rng.uniform(0.0, 4.0)), UNIT * rng.uniform(0.6, 1.2)
        model = UNIT * np.exp(level) * (bar / UNIT) ** 0.6 * rng.normal()
        measured = own * rng.normal()
        weight, left = found.weighed(3, abs(measured - model), noise * own, bar)
        off.append(weight * measured + (1.0 - weight) * model)
        sds.append(np.sqrt(left))
    return off, sds


@pytest.mark.statistical
@pytest.mark.parametrize("level", [-2.0, -1.0, 0.0, 1.0])
def test_bars_cover_what_they_say_and_answers_are_nearly_as_near_as_can_be(level: float) -> None:
    """As if level and power were known; noise of two thirds or of one and a half times what is said is seen."""
    found = taught(300, level, 0.6, 7)
    off, sds = errors(found, level, 8)
    assert 0.93 <= np.mean(np.abs(off) <= DEVIATIONS * np.array(sds)) <= 0.975
    rng, known = np.random.default_rng(8), []
    for _ in range(4000):
        bar, own = UNIT * np.exp(rng.uniform(0.0, 4.0)), UNIT * rng.uniform(0.6, 1.2)
        sd = UNIT * np.exp(level) * (bar / UNIT) ** 0.6
        model, measured = sd * rng.normal(), own * rng.normal()
        known.append((sd**2 * measured + own**2 * model) / (sd**2 + own**2))
    assert np.std(off) <= 1.04 * np.std(known)


@pytest.mark.statistical
def test_wrong_noise_is_seen_on_both_sides() -> None:
    found = taught(300, 1.0, 0.6, 7)
    covered = []
    for noise in (2 / 3, 1.0, 3 / 2):
        off, sds = errors(found, 1.0, 9, noise=noise)
        covered.append(np.mean(np.abs(off) <= DEVIATIONS * np.array(sds)))
    assert covered[0] < 0.9 < 0.93 <= covered[1] <= 0.97 < 0.985 < covered[2]
