"""Counts with what a selection compared: unbiased on both sides of the threshold, against integrals and draws."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats

from dpsql.hypothesis import Measurement
from dpsql.hypothesis.strings.compared import with_compared

THRESHOLD = 90


def counts_of(values: list[int] | np.ndarray, sigma: float, null: bool = False) -> Measurement:
    """Counts of as many strings, of NULL last where ``null``."""
    keys = tuple((None if null and i == len(values) - 1 else f"k{i}",) for i in range(len(values)))
    return Measurement("t", (), np.asarray(values, dtype=np.int64), sigma, ("w",), keys)


def expected(own: float, other: float, mean: float, *, shown: bool) -> tuple[float, float]:
    """Mean and variance of a count with noise ``own`` given the mean of it and of what was compared: by integrals."""
    precision = own**-2 + other**-2

    def density(y: float) -> float:
        compared = (mean * precision - y * own**-2) * other**2
        inside = (compared > THRESHOLD + 0.5) == shown
        return float(stats.norm.pdf(y, mean, own**2 / np.hypot(own, other))) if inside else 0.0

    edge = (mean * precision - (THRESHOLD + 0.5) * other**-2) * own**2
    reach = 12 * own**2 / np.hypot(own, other)
    ends = sorted((edge, mean - reach if shown else mean + reach))
    ends = [max(ends[0], mean - reach), min(ends[1], mean + reach)]

    def moment(f: Callable[[float], float]) -> float:
        return float(integrate.quad(lambda y: f(y) * density(y), *ends, limit=200, epsabs=1e-12)[0])

    whole = moment(lambda y: 1.0)
    first = moment(lambda y: y) / whole
    return first, own**2 - moment(lambda y: (y - first) ** 2) / whole


@pytest.mark.parametrize("shown", [True, False])
@pytest.mark.parametrize(("own", "other"), [(12.65, 18.3), (8.7, 10.8), (20.0, 10.0)])
@pytest.mark.parametrize("mean", [60, 80, 90, 95, 110])
def test_it_is_what_the_count_is_expected_to_be_where_the_mean_is_known(
    own: float, other: float, mean: int, shown: bool
) -> None:
    found = with_compared([counts_of([mean], own)], counts_of([mean], other), THRESHOLD, shown=shown)
    value, variance = expected(own, other, float(mean), shown=shown)
    assert found.values[0] == pytest.approx(value, abs=0.51)
    assert found.sigmas is not None
    assert found.sigmas**2 == pytest.approx([variance + 0.25], rel=1e-3)
    assert found.sigma == pytest.approx(float(found.sigmas[0]))


@pytest.mark.parametrize("rows", [60, 75, 90, 105, 130])
def test_neither_side_of_the_threshold_is_off_to_one_side(rows: int) -> None:
    rng, own, other, number = np.random.default_rng(rows), 12.65, 18.3, 60_000
    counts = np.rint(rng.normal(rows, own, number))
    compared = np.rint(rng.normal(rows, other, number))
    for shown in (True, False):
        there = (compared > THRESHOLD) == shown
        if there.sum() < 500:
            continue
        found = with_compared(
            [counts_of(counts[there], own)], counts_of(compared[there], other), THRESHOLD, shown=shown
        )
        off = found.values - rows
        slack = 5 * off.std() / np.sqrt(len(off))
        assert abs(off.mean()) <= slack + 0.02
        assert found.sigma == pytest.approx(off.std(), rel=0.03)
        assert found.sigmas is not None
        inside = np.abs(off) <= 1.96 * found.sigmas
        assert abs(inside.mean() - 0.952) < 0.01 + 4 * np.sqrt(0.05 * 0.95 / len(off))  # each has a sigma of its own
        plain = (counts[there] * other**2 + compared[there] * own**2) / (own**2 + other**2) - rows
        if 75 <= rows <= 105:
            assert abs(plain.mean()) > 4 * slack  # the mean of both is
        assert off.std() < counts[there].std() * 1.01  # and nothing is worse than what was counted


def test_null_was_never_compared() -> None:
    own, other = counts_of([100, 60], 10.0, null=True), counts_of([120, 80], 10.0, null=True)
    assert with_compared([own], other, THRESHOLD, shown=True).values[1] == 70
    assert with_compared([own], replace(other, keys=own.keys), 10**6, shown=True).values[1] == 70


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("threshold", [1, 90, 10**6, 2**60])
@pytest.mark.parametrize("shown", [True, False])
def test_numbers_far_apart_stay_numbers(threshold: int, shown: bool) -> None:
    values = [-(10**9), 0, 90, 10**9]
    compared = [max(v, threshold + 1) if shown else min(v, threshold) for v in values[::-1]]
    for own, other in ((1e-2, 1e4), (1e4, 1e-2), (5.0, 5.0)):
        found = with_compared([counts_of(values, own)], counts_of(compared, other), threshold, shown=shown)
        assert 0.0 < found.sigma <= np.hypot(own, 0.501)
        assert np.abs(found.values).max() < 2**62


def test_the_tail_far_out_joins_the_one_that_is_computed() -> None:
    """At 25 sds below the threshold the series takes over: estimates are monotone across it."""
    own, other = 4.0, 3.0
    means = np.arange(0, 90)
    found = with_compared([counts_of(means, own)], counts_of(means, other), THRESHOLD, shown=True)
    assert (np.diff(found.values) >= 0).all()


def test_where_rounding_would_add_more_than_is_told_counts_stay_as_they_are() -> None:
    """At a large epsilon: noise of .7 counts is not made into noise of .8."""
    counts = counts_of([3, 200], 0.7)
    assert with_compared([counts], counts_of([4, 199], 1.2), THRESHOLD, shown=False) is counts
    assert with_compared([counts_of([3], 1.0)], counts_of([3], 1.0), THRESHOLD, shown=False).sigma < 0.9


def test_portions_are_rounded_once() -> None:
    portions = [counts_of([500], 8.0), counts_of([501], 8.0)]
    found = with_compared(portions, counts_of([503], 8.0), THRESHOLD, shown=True)
    assert (found.values[0], found.sigma) == (501, pytest.approx((64 / 3 + 0.25) ** 0.5))


def test_means_in_the_middle_go_both_ways() -> None:
    rng = np.random.default_rng(1)
    counts, compared = rng.integers(400, 600, 4_000), rng.integers(400, 600, 4_000)
    for shown, sign in ((True, 1), (False, -1)):
        one, other = counts_of(sign * counts, 10.0), counts_of(sign * compared, 10.0)
        found = with_compared([one], other, THRESHOLD, shown=shown)
        assert abs((found.values - sign * (counts + compared) / 2).mean()) < 0.03
