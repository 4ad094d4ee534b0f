"""Where the fit of two columns begins that rise together: against integrals, and where it must not begin so."""

from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from dpsql.domain import IntegerDomain, TableDomain
from dpsql.hypothesis.components import pure
from dpsql.hypothesis.local.clean_tables import CleanTables
from dpsql.hypothesis.local.copula import STEEPEST, copula_of, copula_table
from dpsql.hypothesis.local.pair_table import PairCounts, clean_pair
from dpsql.hypothesis.measurement import Axis, Measurement
from dpsql.hypothesis.normal import normal_cdf, normal_quantile
from dpsql.hypothesis.rules import NEWEST
from dpsql.query import Estimates

NORMAL = NormalDist()
ROWS = np.array([400.0, 2_500.0, 4_000.0, 2_000.0, 900.0, 200.0])
COLUMNS = np.array([6_000.0, 2_500.0, 1_000.0, 400.0, 100.0])
ALONE = np.outer(ROWS, COLUMNS) / ROWS.sum()


def by_integration(rows: Estimates, columns: Estimates, correlation: float) -> Estimates:
    """The copula's cells by a sum over 20,000 numbers of the left column."""
    total, steps = rows.sum(), 20_000
    ends = np.cumsum(rows) / total
    edges = [NORMAL.inv_cdf(e) for e in (np.cumsum(columns) / total)[:-1]]
    out = np.zeros((len(rows), len(columns)))
    for place in range(steps):
        share = (place + 0.5) / steps
        x, row = NORMAL.inv_cdf(share), int(np.searchsorted(ends, share))
        below = [NORMAL.cdf((e - correlation * x) / (1.0 - correlation**2) ** 0.5) for e in edges]
        out[row] += np.diff([0.0, *below, 1.0])
    return np.asarray(out * total / steps)


def test_normal_laws_are_those_of_the_standard_library() -> None:
    z = np.linspace(-6.0, 6.0, 241)
    assert np.allclose(normal_cdf(z), [NORMAL.cdf(x) for x in z], atol=1.6e-7)
    p = np.array([1e-9, 1e-4, 0.01, 0.3, 0.5, 0.8, 0.999])
    assert np.allclose(normal_quantile(p), [NORMAL.inv_cdf(x) for x in p], atol=4.6e-4)
    assert np.isfinite(normal_quantile(np.array([0.0, 1.0]))).all()


@pytest.mark.parametrize("correlation", [-0.9, -0.4, 0.0, 0.5, 0.8, STEEPEST])
def test_its_cells_are_integrals_of_a_normal_law(correlation: float) -> None:
    found = copula_table(ROWS, COLUMNS, correlation)
    assert np.abs(found - by_integration(ROWS, COLUMNS, correlation)).max() < 0.006 * ROWS.sum()
    assert np.allclose(found.sum(axis=1), ROWS)
    assert found.min() >= 0.0


def test_independence_is_the_copula_of_no_correlation() -> None:
    assert np.abs(copula_table(ROWS, COLUMNS, 0.0) - ALONE).max() < 1e-3 * ROWS.sum()


@pytest.mark.parametrize("correlation", [-0.9, -0.5, 0.5, 0.8, 0.95])
def test_the_correlation_is_found_through_noise(correlation: float) -> None:
    rng = np.random.default_rng(3)
    true = by_integration(ROWS, COLUMNS, correlation)
    sums = true.sum(axis=1), true.sum(axis=0)
    found = [copula_of(true + rng.normal(0.0, 20.0, true.shape), 20.0, *sums) for _ in range(20)]
    assert abs(np.mean(found) - correlation) < 0.03
    assert np.std(found) < 0.05


def test_noise_alone_has_nothing_in_common_and_what_is_clear_has() -> None:
    rng = np.random.default_rng(4)

    def share(correlation: float, sigma: float) -> float:
        true = by_integration(ROWS, COLUMNS, correlation)
        sums = true.sum(axis=1), true.sum(axis=0)
        return float(
            np.mean([copula_of(true + rng.normal(0.0, sigma, true.shape), sigma, *sums) != 0 for _ in range(300)])
        )

    assert share(0.0, 100.0) <= 0.01  # beyond three sds one in 370 is
    assert share(0.8, 100.0) > 0.95


def test_what_neither_rises_nor_falls_begins_at_independence() -> None:
    bent = ALONE.copy()
    change = 0.5 * np.minimum(ALONE[0], ALONE[2] / 10)
    change -= change.mean()
    bent[0] += change
    bent[5] += change
    bent[2] -= 2 * change
    assert copula_of(bent, 1.0, bent.sum(axis=1), bent.sum(axis=0)) == 0.0


def test_where_most_is_of_another_kind_it_begins_at_independence() -> None:
    """What rises is clear, and little beside rows that change places."""
    rising = 0.1 * (copula_table(ROWS, COLUMNS, 0.8) - ALONE)
    other = np.zeros_like(ALONE)
    other[np.ix_([1, 2], [0, 1])] = 700.0 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    assert copula_of(ALONE + rising, 1.0, ROWS, COLUMNS) != 0.0
    assert copula_of(ALONE + 0.5 * (rising + other + other[::-1, ::-1]), 1.0, ROWS, COLUMNS) == 0.0


def test_a_single_part_has_nothing_in_common() -> None:
    assert copula_of(np.array([[3.0, 4.0]]), 1.0, np.array([7.0]), np.array([3.0, 4.0])) == 0.0


def pair(values: Estimates, sigma: float) -> PairCounts:
    parts = [np.arange(n, dtype=np.int64) for n in values.shape]
    return PairCounts(parts[0], parts[1], values, sigma)


def test_far_ends_keep_rows_that_noise_hides() -> None:
    """Half of the top hundredth of one column is in the top hundredth of the other, and lost in noise."""
    size, sigma = 20, 60.0
    masses = np.array([20_000.0 * 0.75**i for i in range(size)])
    true = copula_table(masses, masses, 0.95)
    ones = true.sum(axis=1), true.sum(axis=0)
    ends = np.ix_(range(14, size), range(14, size))
    rng, errors = np.random.default_rng(5), np.zeros(2)
    for _ in range(12):
        counts = [pair(np.rint(true + rng.normal(0.0, sigma, true.shape)), sigma)]
        for place, copulas in enumerate((False, True)):
            clean = clean_pair(*ones, counts, (True, True), replace(NEWEST, copulas=copulas))
            errors[place] += abs(clean.counts[ends].sum() - true[ends].sum())
    assert errors[1] < 0.5 * errors[0]


@pytest.mark.parametrize(("ordered", "copulas"), [((True, False), True), ((False, False), True), ((True, True), False)])
def test_columns_without_an_order_and_older_rules_begin_at_independence(
    ordered: tuple[bool, bool], copulas: bool
) -> None:
    true = by_integration(ROWS, COLUMNS, 0.8)
    counts, ones = [pair(np.rint(true), 30.0)], (true.sum(axis=1), true.sum(axis=0))
    here = clean_pair(*ones, counts, ordered, replace(NEWEST, copulas=copulas)).counts
    without = clean_pair(*ones, counts, ordered, replace(NEWEST, copulas=False)).counts
    assert np.array_equal(here, without)
    if ordered == (True, True):
        assert not np.array_equal(here, clean_pair(*ones, counts, ordered, NEWEST).counts)


def test_sums_of_the_columns_are_kept() -> None:
    true = by_integration(ROWS, COLUMNS, 0.8)
    clean = clean_pair(true.sum(axis=1), true.sum(axis=0), [pair(np.rint(true), 30.0)], (True, True), NEWEST)
    assert np.allclose(clean.counts.sum(axis=1), true.sum(axis=1), rtol=1e-3)
    assert np.allclose(clean.counts.sum(axis=0), true.sum(axis=0), rtol=1e-3)
    assert float(np.abs(pure(clean.counts - true)).max()) < 60.0


NULLABLE = TableDomain("t", tuple(IntegerDomain(c, 0, 11) for c in "ab"))


def with_null(values: Estimates, neither: float, one: float = 0.0) -> Estimates:
    """``values`` beside NULL: rows with neither, and rows without the left one alone, as the right one falls."""
    out = np.zeros(tuple(n + 1 for n in values.shape))
    out[:-1, :-1] = values
    out[-1, :-1] = one * values.sum(axis=0) / values.sum()
    out[-1, -1] = neither
    return out


def cleaned(true: Estimates, sigma: float, rng: np.random.Generator, **rules: bool) -> Estimates:
    """The clean pair of a table that was measured with noise of sd ``sigma``; columns alone with a fifth of it."""

    def noisy(counts: Estimates, sd: float) -> Estimates:
        return np.asarray(np.rint(counts + rng.normal(0.0, sd, counts.shape)).astype(np.int64))

    clean = CleanTables(NULLABLE, float(true.sum()), replace(NEWEST, **rules))
    axes = tuple(Axis.cells((c,), (13,)) for c in "ab")
    for axis, counts in zip(axes, (true.sum(axis=1), true.sum(axis=0)), strict=True):
        clean.absorb(Measurement("t", (axis,), noisy(counts, sigma / 5), sigma / 5))
    clean.absorb(Measurement("t", axes, noisy(true, sigma), sigma))
    return clean.pair("a", "b").counts


@pytest.mark.parametrize(
    ("null", "rises", "rules", "begins"),
    [
        (0.3, False, {}, False),
        (0.3, True, {}, True),
        (0.3, True, {"beside_null": False}, False),
        (0.005, True, {}, True),
        (0.005, True, {"beside_null": False}, True),
    ],
)
def test_rows_without_either_value_are_no_columns_that_rise_together(
    null: float, rises: bool, rules: dict[str, bool], begins: bool
) -> None:
    """Columns of 12 values, NULL in the same rows: only their values may rise together, where more than few are NULL
    by the newest rules alone."""
    one = np.full(12, 20_000.0 * (1.0 - null) / 12)
    true = with_null(copula_table(one, one, 0.8 if rises else 0.0), 20_000.0 * null)
    found = [cleaned(true, 20.0, np.random.default_rng(8), copulas=copulas, **rules) for copulas in (False, True)]
    assert np.array_equal(found[0], found[1]) is not begins
    if not rises:  # though their counts would say so
        assert copula_of(true, 20.0, true.sum(axis=1), true.sum(axis=0)) > 0.5


@pytest.mark.parametrize(("neither", "one"), [(8_000.0, 0.0), (0.0, 8_000.0), (4_000.0, 6_000.0)])
def test_far_ends_beside_null_keep_rows_that_noise_hides(neither: float, one: float) -> None:
    masses = np.array([12_000.0 * 0.6**i for i in range(12)])
    true = with_null(copula_table(masses, masses, 0.95), neither, one)
    assert abs(true[8:12, 8:12].sum() / true[8:12].sum() - 0.7) < 0.2  # so many rows of one end have the other
    rng, errors = np.random.default_rng(9), np.zeros(2)
    for _ in range(12):
        seed = int(rng.integers(1 << 32))
        for place, beside in enumerate((False, True)):
            found = cleaned(true, 60.0, np.random.default_rng(seed), beside_null=beside)
            errors[place] += abs(found[8:12, 8:12].sum() - true[8:12, 8:12].sum())
            assert np.allclose(found.sum(), true.sum())
            assert abs(found[12, 12] - true[12, 12]) < 200.0
    assert errors[1] < 0.75 * errors[0]


def test_a_null_that_was_measured_with_values_tells_nothing_of_those_that_have_both() -> None:
    masses = np.array([12_000.0 * 0.6**i for i in range(12)])
    true = with_null(copula_table(masses, masses, 0.95), 8_000.0)
    labels = np.minimum(np.arange(13, dtype=np.int64), 11)
    parts = np.add.reduceat(np.add.reduceat(true, np.arange(12), axis=0), np.arange(12), axis=1)
    counts, ones = [PairCounts(labels, labels, parts, 30.0)], (true.sum(axis=1), true.sum(axis=0))
    found = [clean_pair(*ones, counts, (True, True), apart=(apart, apart)).counts for apart in (True, False)]
    without = clean_pair(*ones, counts, (True, True), replace(NEWEST, copulas=False)).counts
    assert np.array_equal(found[0], without)
    assert not np.array_equal(found[1], without)
