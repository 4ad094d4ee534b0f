"""Variances and their like from sums, against numpy; their intervals reach what sums at the ends of their bars give."""

from math import inf, sqrt
from typing import get_args

import numpy as np
import pytest
from scipy import stats

from dpsql.postprocess.moments import confined, distances_of, moment, moments
from dpsql.query.summary import MomentsKind

RNG = np.random.default_rng(3)
Y, X = RNG.normal(40, 12, 500), RNG.normal(5, 2, 500)
Y = Y + 3 * X
PAIRED = ("corr", "covar_pop", "covar_samp", "regr_intercept", "regr_r2", "regr_slope", "regr_sxx", "regr_sxy")
SLOPE = float(np.polyfit(X, Y, 1)[0])
ORACLE = {
    "var_pop": Y.var(),
    "var_samp": Y.var(ddof=1),
    "stddev_pop": Y.std(),
    "stddev_samp": Y.std(ddof=1),
    "sem": Y.std() / sqrt(500),
    "corr": np.corrcoef(Y, X)[0, 1],
    "covar_pop": np.cov(Y, X, ddof=0)[0, 1],
    "covar_samp": np.cov(Y, X)[0, 1],
    "regr_slope": SLOPE,
    "regr_intercept": Y.mean() - SLOPE * X.mean(),
    "regr_r2": np.corrcoef(Y, X)[0, 1] ** 2,
    "regr_sxx": X.var() * 500,
    "regr_syy": Y.var() * 500,
    "regr_sxy": np.cov(Y, X, ddof=0)[0, 1] * 500,
    "skewness": stats.skew(Y, bias=False),
    "kurtosis": stats.kurtosis(Y, bias=False),
    "kurtosis_pop": stats.kurtosis(Y),
}


def sums(kind: str, y: float, x: float) -> list[float]:
    """The sums that are asked for, each value less its center."""
    a, b = Y - y, X - x
    one = [500.0, float(a.sum()), float((a * a).sum())]
    if kind in ("skewness", "kurtosis", "kurtosis_pop"):
        return [*one, float((a**3).sum()), float((a**4).sum())]
    return (
        one
        if kind not in PAIRED and kind != "regr_syy"
        else [*one, *map(float, (b.sum(), (b * b).sum(), (a * b).sum()))]
    )


@pytest.mark.parametrize("kind", get_args(MomentsKind))
@pytest.mark.parametrize("centers", [(0.0, 0.0), (53.0, -2.0)])
def test_a_function_of_exact_sums_is_numpys(kind: MomentsKind, centers: tuple[float, float]) -> None:
    given = sums(kind, *centers)
    found = moment(kind, given, [0.0] * len(given), centers)
    assert found is not None and found[1] is not None
    assert found[0] == pytest.approx(float(ORACLE[kind]), rel=1e-9)
    assert found[1] == pytest.approx((found[0], found[0]), rel=1e-9)


@pytest.mark.parametrize("kind", get_args(MomentsKind))
def test_the_interval_holds_the_truth_wherever_inside_their_bars_the_sums_are(kind: MomentsKind) -> None:
    """All errors at once, in any combination: the truth is where every sum is one bar or less away."""
    rng, centers = np.random.default_rng(5), (50.0, 5.0)
    truth = np.array(sums(kind, *centers))
    bars = np.abs(truth) * 0.02 + 1.0
    for _ in range(200):
        released = truth + bars * rng.uniform(-1, 1, len(truth))
        found = moment(kind, released.tolist(), bars.tolist(), centers)
        assert found is not None
        if found[1] is not None:
            assert found[1][0] - 1e-9 <= float(ORACLE[kind]) <= found[1][1] + 1e-9
            assert found[1][0] <= found[0] <= found[1][1]


def test_the_interval_of_a_squared_correlation_is_that_of_its_square() -> None:
    """At both ends of the interval the square is more than between them, where the correlation may be 0."""
    rng, without, with_0 = np.random.default_rng(8), 0, 0
    for slope in rng.uniform(-0.6, 0.6, 60):
        y = rng.normal(0, 1, 500)
        x = slope * y + rng.normal(0.2, 1, 500)
        given = [500.0, *map(float, (y.sum(), y @ y, x.sum(), x @ x, x @ y))]
        bars, around = [1.0, 30.0, 30.0, 30.0, 30.0, 60.0], [30.0, 30.0, 30.0, 30.0, 60.0]
        for told in ((), around):
            corr, square = (moment(k, given, bars, (0.0, 0.0), told) for k in ("corr", "regr_r2"))
            assert corr is not None and square is not None and corr[1] is not None and square[1] is not None
            (low, high), found = corr[1], square[1]
            assert square[0] == pytest.approx(corr[0] ** 2)
            assert found[1] == pytest.approx(max(low**2, high**2))
            assert found[0] == pytest.approx(0.0 if low <= 0.0 <= high else min(low**2, high**2))
            with_0 += low < 0.0 < high
            without += not low < 0.0 < high
    assert with_0 > 10 and without > 10


@pytest.mark.parametrize("kind", ["var_pop", "var_samp", "stddev_pop", "stddev_samp", "sem", "regr_sxx", "regr_syy"])
def test_nothing_inside_the_bars_is_farther_than_the_interval(kind: MomentsKind) -> None:
    """Sums of distances may be 0 inside their bars: there the squares around the mean are the most."""
    rng, farther = np.random.default_rng(6), 0
    for _ in range(60):
        values = rng.normal(rng.normal(0, 2), rng.exponential(3), (2, rng.integers(20, 300))).round()
        found = [values.shape[1], values[0].sum(), (values[0] ** 2).sum()]
        if kind.startswith("regr"):
            found += [values[1].sum(), (values[1] ** 2).sum(), (values[0] * values[1]).sum()]
        bars = np.array([found[0] * 0.1, *[abs(s) * rng.choice([0.05, 1.5]) + 20.0 for s in found[1:]]])
        given = moment(kind, found, bars.tolist(), (0.0, 0.0))
        assert given is not None and given[1] is not None
        inside = moments(kind, np.array(found) + bars * rng.uniform(-1, 1, (500, len(found))), (0.0, 0.0))
        inside = inside[np.isfinite(inside)]
        assert given[1][0] - 1e-9 <= inside.min() and inside.max() <= given[1][1] + 1e-9
        farther += inside.max() > 0.9 * given[1][1]
    assert farther > 5  # and it is not wider than it has to be


def test_no_spread_that_is_seen_is_not_no_spread_at_all() -> None:
    found = moment("stddev_pop", [208.0, 0.0, 0.0], [11.0, 3330.0, 13608.0], [0.0])
    assert found is not None and found[1] == (0.0, pytest.approx(sqrt(13608 / 197)))


def test_an_interval_of_half_the_bars_would_miss() -> None:
    rng, centers = np.random.default_rng(5), (50.0, 5.0)
    truth = np.array(sums("var_samp", *centers))
    bars = np.abs(truth) * 0.02 + 1.0
    missed = 0
    for _ in range(200):
        released = truth + bars * rng.choice([-1.0, 1.0], len(truth))
        found = moment("var_samp", released.tolist(), (bars / 2).tolist(), centers)
        assert found is not None and found[1] is not None
        missed += not found[1][0] <= float(ORACLE["var_samp"]) <= found[1][1]
    assert missed > 60


@pytest.mark.parametrize(("rows", "error"), [(5.0, 5.0), (5.0, 8.0), (0.0, 0.0), (-3.0, 0.0), (5.0, None)])
def test_nothing_is_said_where_there_may_be_no_row(rows: float, error: float | None) -> None:
    assert moment("var_pop", [rows, 1.0, 9.0], [error, 0.0, 0.0], [0.0]) is None


def test_one_row_has_no_sample_variance() -> None:
    assert moment("var_samp", [1.0, 3.0, 9.0], [0.0] * 3, [0.0]) is None
    assert moment("var_pop", [1.0, 3.0, 9.0], [0.0] * 3, [0.0]) == (0.0, (0.0, 0.0))


def test_a_correlation_of_which_nothing_is_known_is_from_minus_one_to_one() -> None:
    found = moment("corr", [100.0, 0.0, 50.0, 0.0, 2.0, 5.0], [1.0, 1.0, 60.0, 1.0, 3.0, 1.0], [0.0, 0.0])
    assert found is not None and found[1] == (-1.0, 1.0)
    slope = moment("regr_slope", [100.0, 0.0, 50.0, 0.0, 2.0, 5.0], [1.0, 1.0, 60.0, 1.0, 3.0, 1.0], [0.0, 0.0])
    assert slope is not None and slope[1] is None


def test_a_correlation_of_noise_is_at_most_one() -> None:
    found = moment("corr", [100.0, 0.0, 4.0, 0.0, 4.0, 9.0], [0.0] * 6, [0.0, 0.0])
    assert found == (1.0, (1.0, 1.0))


def test_a_sum_whose_error_is_not_known_leaves_a_value_without_one() -> None:
    assert moment("var_pop", [4.0, 0.0, 8.0], [0.0, None, 2.0], [0.0]) == (2.0, None)


def test_noise_below_no_spread_is_no_spread() -> None:
    found = moment("stddev_pop", [100.0, 0.0, -50.0], [1.0, 0.0, 400.0], [0.0])
    assert found is not None and found[0] == 0.0 and found[1] is not None
    assert found[1][0] == 0.0 and found[1][1] == pytest.approx(sqrt(350 / 99))
    assert not np.isinf(moments("stddev_pop", np.array([[100.0, 0.0, -inf]]), [0.0])).any()


@pytest.mark.parametrize("kind", [k for k in get_args(MomentsKind) if not k.startswith(("skew", "kurt"))])
@pytest.mark.parametrize("centers", [(0.0, 0.0), (50.0, 5.0), (-300.0, 80.0)])
def test_what_is_known_of_distances_from_the_mean_holds_the_truth(
    kind: MomentsKind, centers: tuple[float, float]
) -> None:
    """Rows are gained and lost, so that every sum is off; of each distance no more is known than how far its sum is."""
    rng, nearer, missed = np.random.default_rng(8), 0, 0
    for _ in range(80):
        weight = 1.0 + 0.2 * rng.normal(size=len(Y)).clip(-3, 3)
        a, b = Y - centers[0], X - centers[1]
        columns = [np.ones(len(Y)), a, a * a, b, b * b, a * b][: len(sums(kind, 0.0, 0.0))]
        truth, released = ([float((w * c).sum()) for c in columns] for w in (np.ones(len(Y)), weight))
        bars = [abs(t - r) * rng.uniform(1.0, 1.5) for t, r in zip(truth, released, strict=True)]
        far = [abs(float(np.dot(times, truth))) * rng.uniform(1.0, 1.5) for times in distances_of(released)]
        found, plain = moment(kind, released, bars, centers, far), moment(kind, released, bars, centers)
        assert found is not None and found[1] is not None and plain is not None
        assert found[1][0] * (1 - 1e-9) - 1e-9 <= float(ORACLE[kind]) <= found[1][1] * (1 + 1e-9) + 1e-9
        assert found[1][0] <= found[0] <= found[1][1]
        nearer += plain[1] is None or found[1][1] - found[1][0] < 0.7 * (plain[1][1] - plain[1][0])
        short = moment(kind, released, bars, centers, [f / 3 for f in far])
        assert short is not None and short[1] is not None
        missed += not short[1][0] <= float(ORACLE[kind]) <= short[1][1]
    assert nearer > 20 or abs(centers[0]) < 100
    assert missed > 8, "a third of what is known holds the truth as well"


def test_distances_from_the_released_means_sum_to_0() -> None:
    for kind in ("var_pop", "corr"):
        given = sums(kind, 7.0, -2.0)
        times = distances_of(given)
        assert len(times) == (2 if kind == "var_pop" else 5)
        assert np.dot(times, given) == pytest.approx(np.zeros(len(times)), abs=1e-6)
    assert distances_of([0.0, 1.0, 2.0]) == distances_of([5.0, 1.0, 2.0, 3.0, 4.0]) == []


def test_an_unknown_distance_changes_nothing() -> None:
    given = [4.0, 0.0, 8.0], [0.0, 0.0, 2.0], [0.0]
    assert moment("var_pop", *given, [0.0, None]) == moment("var_pop", *given, []) == (2.0, (1.5, 2.5))
    assert moment("var_pop", *given, [0.0, 1.0]) == (2.0, (1.75, 2.25))


@pytest.mark.parametrize("kind", ["var_pop", "var_samp", "stddev_pop", "stddev_samp", "sem"])
def test_a_spread_is_within_what_a_stretch_leaves(kind: MomentsKind) -> None:
    """By rows at random, and by those that spread most: half of them at either end."""
    rng, told = np.random.default_rng(3), {"var": np.var, "std": np.std, "sem": lambda x, ddof: np.std(x, ddof=1)}
    for number in (2, 3, 10, 400):
        _, interval = confined(kind, 0.0, (0.0, 1e9), 6.0, float(number))
        assert interval is not None
        for shape in (0.01, 0.3, 1.0):
            rows = 100.0 + 6.0 * rng.beta(shape, shape, number)
            widest = np.r_[np.full(number // 2, 100.0), np.full(number - number // 2, 106.0)]
            spreads = [float(told[kind[:3]](x, ddof=not kind.endswith("_pop"))) for x in (rows, widest)]
            spreads = [s / np.sqrt(number) if kind == "sem" else s for s in spreads]
            assert max(spreads) <= interval[1] + 1e-9
            if number % 2 == 0:
                assert spreads[1] == pytest.approx(interval[1])


def test_what_sums_know_of_a_spread_is_kept() -> None:
    assert confined("stddev_pop", 1.0, (0.5, 1.5), 12.0, 40.0) == (1.0, (0.5, 1.5))
    assert confined("stddev_pop", 1.0, (0.5, 90.0), 12.0, 40.0) == (1.0, (0.5, 6.0))
    assert confined("stddev_pop", 0.0, (0.0, 0.0), 0.0, 40.0) == (0.0, (0.0, 0.0))
    assert confined("stddev_pop", 1.0, None, 12.0, 40.0) == (1.0, None)
    assert confined("skewness", 1.0, (-9.0, 9.0), 12.0, 40.0) == (1.0, (-9.0, 9.0))
