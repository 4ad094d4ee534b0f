"""Places among values: what rows give where counts are exact, and in their intervals where they are not."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from math import inf, sqrt

import numpy as np
import numpy.typing as npt
import pytest

from dpsql.postprocess.places import Counts, last, middle, most_frequent, number_of_values, quantile, sum_of_values

SD = 12.0
ALPHA = 0.07
"""95 % intervals may miss so often in 400 releases: 20 expected, 28 allowed (p = .96 each; none here is tight)."""
Floats = npt.NDArray[np.float64]

ONE_VALUE = np.ones(4, dtype=bool)


def exact(counts: list[int]) -> Counts:
    return Counts(np.array(counts, dtype=float), np.zeros(len(counts)), lambda i, j: 0.0)


def noisy(counts: Floats, rng: np.random.Generator, shown: float = 1.0) -> Counts:
    """Independent Gaussians; bars are ``shown`` times what they should be."""
    bar = shown * 1.96 * SD
    values = counts + rng.normal(0.0, SD, len(counts))
    return Counts(values, np.full(len(counts), bar), lambda i, j: bar * sqrt(j - i))


@pytest.mark.parametrize("level", [0.0, 0.1, 0.25, 0.5, 0.75, 1.0])
def test_quantiles_of_exact_counts_are_those_of_the_rows(level: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(40):
        counts = rng.integers(0, 4, 9).tolist()
        rows = np.repeat(np.arange(9), counts)
        if not len(rows):
            assert quantile(exact(counts), level) is None
            continue
        found = quantile(exact(counts), level, between=True)
        assert found is not None
        value = found.at + (found.share * (found.after - found.at))
        assert value == pytest.approx(np.quantile(rows, level))
        assert found.low <= value <= found.high
        disc = quantile(exact(counts), level)
        assert disc is not None and disc.at == np.quantile(rows, level, method="inverted_cdf")


SHAPES = {
    "bell": np.round(4000 * np.exp(-0.5 * ((np.arange(60) - 20) / 8) ** 2)),
    "gaps": np.where(np.arange(60) % 7 == 3, 900.0, 0.0),
    "steep": np.r_[20_000.0, np.full(59, 15.0)],
    "flat": np.full(60, 50.0),
}


def missed(shape: str, told: Callable[[Counts], tuple[float, float] | None], truth: float, shown: float = 1.0) -> float:
    """The share of 400 releases whose interval does not hold the truth; those without one are left out."""
    rng = np.random.default_rng(9)
    found = [told(noisy(SHAPES[shape], rng, shown)) for _ in range(400)]
    known = [f for f in found if f is not None]
    return float(np.mean([not low <= truth <= high for low, high in known])) if known else 0.0


def of_quantile(level: float) -> Callable[[Counts], tuple[float, float] | None]:
    def told(counts: Counts) -> tuple[float, float] | None:
        found = quantile(counts, level, between=True)
        return None if found is None else (found.low, found.high)

    return told


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("level", [0.05, 0.5, 0.75])
def test_the_interval_of_a_quantile_holds_it(shape: str, level: float) -> None:
    rows = np.repeat(np.arange(60), SHAPES[shape].astype(int))
    assert missed(shape, of_quantile(level), float(np.quantile(rows, level))) <= ALPHA


def test_a_quantile_with_narrow_bars_misses() -> None:
    rows = np.repeat(np.arange(60), SHAPES["flat"].astype(int))
    assert missed("flat", of_quantile(0.5), float(np.quantile(rows, 0.5)), shown=0.2) > 2 * ALPHA


def test_the_interval_of_a_quantile_is_not_endless() -> None:
    counts = noisy(SHAPES["bell"], np.random.default_rng(4))
    found = quantile(counts, 0.5)
    assert found is not None and found.high - found.low <= 2


@pytest.mark.parametrize("shape", ["bell", "gaps", "steep"])
def test_no_row_is_missing_at_the_last_value_that_surely_has_rows(shape: str) -> None:
    """With bars of one value at a time, one of the empty values behind the last one would often be called so."""
    truth = float(np.flatnonzero(SHAPES[shape])[-1])
    wrong, behind = 0, 0
    rng = np.random.default_rng(9)
    for _ in range(400):
        found = last(noisy(SHAPES[shape], rng))
        assert found is not None
        wrong += found.sure > truth
        behind += found.behind < SHAPES[shape][found.at + 1 :].sum()
    assert wrong <= 400 * ALPHA
    assert behind <= 400 * ALPHA


def test_an_extreme_with_narrow_bars_is_wrong() -> None:
    empty = np.r_[900.0, np.zeros(59)]
    found = [last(noisy(empty, np.random.default_rng(i), shown=0.5)) for i in range(200)]
    assert sum(f is not None and f.sure > 0 for f in found) > 60
    honest = [last(noisy(empty, np.random.default_rng(i))) for i in range(200)]
    assert sum(f is not None and f.sure > 0 for f in honest) <= 200 * ALPHA


def test_an_extreme_sees_what_all_values_behind_it_add_up_to() -> None:
    counts = np.array([900.0, 30.0, 30.0, 30.0, 30.0])
    for likely, at in ((inf, 3), (1.0, 3), (0.5, 4)):
        found = last(Counts(counts, np.full(5, 40.0), lambda i, j: 40.0, likely=likely))
        assert found is not None and (found.sure, found.at) == (3, at)


def test_an_extreme_is_never_on_the_other_side_of_the_median() -> None:
    """120 values with as many rows as noise has: the last that is sure is the 60th on average."""
    rng, truth, other = np.random.default_rng(4), np.r_[np.full(120, 8.0), np.zeros(60)], 0
    for _ in range(200):
        counts = noisy(truth, rng)
        middle = quantile(counts, 0.5)
        assert middle is not None
        alone, found = last(counts), last(counts, least=middle.at)
        assert alone is not None and found is not None
        assert found.sure == alone.sure and found.at == max(alone.at, middle.at)
        assert found.behind <= alone.behind
        other += alone.at < middle.at
    assert other > 20


def test_noise_behind_the_last_value_is_no_row() -> None:
    """300 values of a thousand: behind the last one noise adds up to half of its bar nearly always."""
    rng, truth = np.random.default_rng(5), np.r_[np.full(300, 200.0), np.zeros(700)]
    counts = [noisy(truth, rng) for _ in range(50)]
    found = [last(c) for c in counts]
    wide = [last(replace(c, likely=0.5)) for c in counts]
    assert sum(f is not None and f.at > 300 for f in found) <= 50 * ALPHA
    assert sum(f is not None and f.at > 400 for f in wide) > 25


def test_the_first_value_is_the_last_of_the_others_order() -> None:
    counts = Counts(np.array([0.0, 90.0, 30.0]), np.full(3, 5.0), lambda i, j: 5.0 * (j - i))
    found = last(counts.reversed)
    assert found is not None and found.at == 1
    assert counts.reversed.joint(0, 1) == 5.0 and counts.reversed.joint(0, 3) == 15.0


def test_nothing_is_said_where_there_may_be_no_row() -> None:
    few = Counts(np.array([3.0, 4.0]), np.full(2, 5.0), lambda i, j: 5.0 * sqrt(j - i))
    assert few.is_within
    assert quantile(few, 0.5) is most_frequent(few, ONE_VALUE[:2]) is last(few) is None
    none = Counts(np.array([]), np.array([]), lambda i, j: 0.0)
    assert quantile(none, 0.5) is most_frequent(none, ONE_VALUE[:0]) is last(none) is None
    assert number_of_values(none) == (0, 0, 0)


def test_the_most_frequent_value_may_be_one_of_those_that_are_as_many_within_their_bars() -> None:
    rng = np.random.default_rng(2)
    truth = np.array([500.0, 510.0, 100.0, 505.0])
    found = [most_frequent(noisy(truth, rng), ONE_VALUE) for _ in range(300)]
    assert all(f is not None and f.low <= 1 <= f.high for f in found)
    sure = most_frequent(noisy(np.array([500.0, 5000.0, 100.0]), rng), ONE_VALUE[:3])
    assert sure is not None and (sure.at, sure.low, sure.high) == (1, 1, 1)


def test_what_several_values_have_together_rules_no_value_out() -> None:
    """The heaviest of a bin's values has as many rows as the bin, or a few of them."""
    counts = Counts(np.array([300.0, 600.0, 2.0, 100.0]), np.full(4, 5.0), lambda i, j: 5.0 * sqrt(j - i))
    for single, ends in (
        ((False, False, False, False), (0, 3)),
        ((True, False, False, False), (0, 1)),
        ((False, False, False, True), (0, 3)),
        ((True, True, True, True), (1, 1)),
    ):
        found = most_frequent(counts, np.array(single))
        assert found is not None and (found.at, found.low, found.high) == (1, *ends)


@pytest.mark.parametrize("nonempty", [0, 3, 30, 200])
@pytest.mark.parametrize("rows", [1, 10, 40, 300])
def test_the_number_of_values_is_in_its_interval(nonempty: int, rows: int) -> None:
    """Whatever the size of their groups is, those near the bar among them: leaving some out is no bias."""
    truth = np.r_[np.full(nonempty, float(rows)), np.zeros(240 - nonempty)]
    rng = np.random.default_rng(11)
    found = [number_of_values(noisy(truth, rng)) for _ in range(200)]
    assert np.mean([not low <= nonempty <= high for _, low, high in found]) <= ALPHA
    assert all(low <= value <= high for value, low, high in found)


def test_the_number_of_values_with_narrow_bars_is_wrong() -> None:
    truth = np.r_[np.full(20, 300.0), np.zeros(220)]
    rng = np.random.default_rng(11)
    found = [number_of_values(noisy(truth, rng, shown=0.5)) for _ in range(200)]
    assert np.mean([not low <= 20 <= high for _, low, high in found]) > 0.3


def test_values_outside_of_what_is_shown_are_not_likely_and_still_possible() -> None:
    counts = Counts(np.full(20, 8.0), np.full(20, 10.0), lambda i, j: 10.0 * sqrt(j - i))
    assert number_of_values(counts) == (20, 0, 20)
    assert number_of_values(counts, slice(5, 9)) == (4, 0, 20)
    assert sum_of_values(counts, np.arange(20.0), slice(5, 9)) == (5 + 6 + 7 + 8, 0, 190)


def test_exact_counts_are_counted() -> None:
    assert number_of_values(exact([3, 0, 1, 0])) == (2, 2, 2)


def test_of_unknown_errors_nothing_is_sure() -> None:
    counts = Counts(np.array([9.0, 0.0]), np.array([np.inf, np.inf]), lambda i, j: np.inf)
    assert number_of_values(counts) == (0, 0, 2)
    assert last(counts) is None


@pytest.mark.parametrize(("nonempty", "rows"), [(0, 0), (3, 400), (8, 5), (12, 40)])
def test_the_sum_of_values_is_in_its_interval(nonempty: int, rows: int) -> None:
    rng = np.random.default_rng(nonempty)
    numbers = np.arange(20.0) * 7 - 40
    truth = np.zeros(20)
    truth[rng.choice(20, nonempty, replace=False)] = rows
    wanted = float(numbers[truth > 0].sum())
    found = [sum_of_values(noisy(truth, rng), numbers) for _ in range(200)]
    assert np.mean([low <= wanted <= high for _, low, high in found]) >= 1 - ALPHA
    assert all(low <= value <= high for value, low, high in found)


def test_the_sum_of_values_with_narrow_bars_is_wrong() -> None:
    rng = np.random.default_rng(5)
    found = [sum_of_values(noisy(np.zeros(20), rng, shown=0.3), np.arange(1.0, 21.0)) for _ in range(200)]
    assert np.mean([low <= 0 <= high for _, low, high in found]) < 1 - ALPHA


def test_the_ends_of_the_sum_are_those_of_all_sets_of_values_that_are_possible() -> None:
    """Every set of at most so many uncertain values, one by one."""
    rng = np.random.default_rng(6)
    for _ in range(30):
        counts = noisy(rng.choice([0.0, 8.0, 90.0], 7), rng)
        numbers = rng.integers(-20, 20, 7).astype(float)
        _, least, most = number_of_values(counts)
        bars = counts.at_once(7) * counts.errors
        sure = counts.values > bars
        sets = [s for n in range(most - least + 1) for s in combinations(numbers[~sure].tolist(), n)]
        sums = [float(numbers[sure].sum()) + sum(s) for s in sets]
        assert sum_of_values(counts, numbers)[1:] == (min(sums), max(sums))


def test_the_sum_of_exact_counts_is_exact() -> None:
    assert sum_of_values(exact([3, 0, 1, 0]), np.array([5.0, 7.0, -9.0, 1.0])) == (-4.0, -4.0, -4.0)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_middle_is_where_the_median_is(shape: str) -> None:
    rng = np.random.default_rng(11)
    for _ in range(50):
        counts = noisy(SHAPES[shape], rng)
        found = quantile(counts, 0.5)
        assert middle(counts) == (None if found is None else found.at)
    assert middle(Counts(np.array([3.0, 4.0]), np.full(2, 5.0), lambda i, j: 5.0 * sqrt(j - i))) is None
