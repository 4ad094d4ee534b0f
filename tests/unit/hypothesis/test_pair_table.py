"""Cleaned tables of pairs: the same steps as plain products of 0/1 matrices, and cells that are unlike all others."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from dpsql.hypothesis.components import pure
from dpsql.hypothesis.local.nearest_counts import nearest_counts
from dpsql.hypothesis.local.pair_table import LEVELS, NEAR, ROUNDS, TOLD, PairCounts, clean_pair
from dpsql.hypothesis.measurement import Labels
from dpsql.hypothesis.partition import indicator, nested, part_sums, refinement
from dpsql.hypothesis.rules import MODEL_RULES, NEWEST
from dpsql.hypothesis.shrinkage import shrunken
from dpsql.query import Estimates

TINY = 1e-9


def levels(masses: Estimates, part: Labels, ordered: bool) -> dict[int, Estimates]:
    number = int(part.max()) + 1
    found = nested(part_sums(part, masses), [s for pair in LEVELS for s in pair if 0 < s < number], ordered)
    return {0: np.eye(number)} | {size: indicator(labels) for size, labels in found.items()}


def variance(member: Estimates) -> Estimates:
    width = member.sum(axis=1)
    return np.asarray(width * (1.0 - width / float(width.sum())))


def raked(table: Estimates, rows: Estimates, columns: Estimates) -> Estimates:
    table = table * (rows / np.maximum(table.sum(axis=1), TINY))[:, None]
    return np.asarray(table * (columns / np.maximum(table.sum(axis=0), TINY))[None, :])


def plain(
    rows: Estimates, columns: Estimates, counts: list[PairCounts], ordered: tuple[bool, bool], *, halfway: bool
) -> Estimates:
    table = np.outer(rows, columns) / float(rows.sum())
    steps = []
    for c in counts:
        left, right = levels(rows, c.left, ordered[0]), levels(columns, c.right, ordered[1])
        for a, b in dict.fromkeys((a if a in left else 0, b if b in right else 0) for a, b in LEVELS):
            sigma = c.sigma * np.sqrt(np.outer(variance(left[a]), variance(right[b])))
            steps.append((indicator(c.left), indicator(c.right), left[a], right[b], pure(c.values), sigma))
    for _ in range(ROUNDS):
        for m, n, g, h, values, sigma in steps:
            measured = m @ table @ n.T
            model = g @ measured @ h.T
            gap = g @ values @ h.T - g @ pure(measured) @ h.T
            ratio = shrunken(model, gap, sigma, NEWEST.floor) / np.maximum(model, TINY)
            table = raked(table * (m.T @ (g.T @ ratio @ h) @ n), rows, columns)
    if halfway:
        m, n = indicator(counts[-1].left), indicator(counts[-1].right)
        table = np.maximum(table, TINY * np.outer(rows, columns) / float(rows.sum()))
        now = m @ table @ n.T
        nearest = nearest_counts(now + pure(counts[-1].values) - pure(now), now.sum(axis=1), now.sum(axis=0))
        lifts = (now + nearest) / 2 / now
        sigma = counts[-1].sigma * np.sqrt(np.outer(*(variance(np.eye(len(side))) for side in (m, n))))
        table = table * (m.T @ np.where(nearest > TOLD * sigma, lifts, np.minimum(lifts, 1.0)) @ n)
    for _ in range(ROUNDS):
        table = raked(table, rows, columns)
    return table


@pytest.mark.parametrize("halfway", [True, False])
@pytest.mark.parametrize("ordered", [(True, True), (False, True)])
@pytest.mark.parametrize("coarse", [(), (2,), (3, 2)])
def test_a_cleaned_pair_is_the_product_of_its_matrices(
    ordered: tuple[bool, bool], coarse: tuple[int, ...], halfway: bool
) -> None:
    rng = np.random.default_rng(len(coarse))
    cells = [np.arange(n, dtype=np.int64) for n in (23, 18)]
    counts = []
    for wide in (*coarse, 1):
        left, right = cells[0] // wide, cells[1] // wide
        values = rng.normal(20.0, 9.0, (int(left.max()) + 1, int(right.max()) + 1))
        counts.append(PairCounts(left, right, values, 5.0 + wide))
    rows, columns = (rng.exponential(40.0, len(c)) for c in cells)
    columns *= float(rows.sum() / columns.sum())
    told = clean_pair(rows, columns, counts, ordered, replace(NEWEST, held=inf, halfway=halfway))
    assert np.array_equal(told.left, refinement([c.left for c in counts]))
    np.testing.assert_allclose(
        told.counts, plain(rows, columns, counts, ordered, halfway=halfway), rtol=1e-9, atol=1e-9
    )


# --- cells unlike all others -----------------------------------------------------------------------------------------

SIGMA = 40.0


def missing(seed: int) -> tuple[Estimates, Estimates]:
    """Rows that lack a value in one column lack it in the other, too: the true counts and measured ones."""
    rng = np.random.default_rng(seed)
    shares = rng.exponential(1.0, (2, 24))
    true = np.outer(shares[0], shares[1]) * (300_000 / float(shares[0].sum() * shares[1].sum()))
    true[-1, :], true[:, -1], true[-1, -1] = 0.0, 0.0, 9_000.0
    return true, true + rng.normal(0.0, SIGMA, true.shape)


def cleaned(true: Estimates, measured: Estimates, rules: int) -> Estimates:
    rows, columns = (np.arange(n, dtype=np.int64) for n in true.shape)
    counts = [PairCounts(rows, columns, measured, SIGMA)]
    return clean_pair(true.sum(axis=1), true.sum(axis=0), counts, (True, True), MODEL_RULES[rules]).counts


@pytest.mark.parametrize("seed", range(4))
def test_a_cell_that_is_nearly_all_of_its_row_and_column_is_near_its_measurement(seed: int) -> None:
    true, measured = missing(seed)
    before, now = cleaned(true, measured, 8), cleaned(true, measured, 9)
    off = np.abs(pure(measured) - pure(now)) / SIGMA
    possible = now > 1.0  # others would have to be below 0
    assert off[possible].max() < NEWEST.held + 2 * NEAR
    assert before[-1, -1] < measured[-1, -1] - 5 * SIGMA
    assert abs(now[-1, -1] - measured[-1, -1]) < (NEWEST.held + 1) * SIGMA
    assert np.abs(now - true).mean() < np.abs(before - true).mean()
    np.testing.assert_allclose(now.sum(axis=0), true.sum(axis=0), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(now.sum(axis=1), true.sum(axis=1), rtol=1e-2, atol=1e-3)
    assert (now > 0).all()


def test_cells_that_are_near_enough_are_left_as_they_were() -> None:
    rng = np.random.default_rng(3)
    true = np.full((6, 7), 500.0)
    measured = true + rng.normal(0.0, 0.5 * SIGMA, true.shape)
    assert np.array_equal(cleaned(true, measured, 8), cleaned(true, measured, 9))


def test_a_measurement_that_no_table_could_have_ends_all_the_same() -> None:
    """Cells far below 0 beside cells above all the rows there are; margins are kept."""
    true = np.full((5, 5), 100.0)
    measured = np.where(np.eye(5) > 0, 5_000.0, -5_000.0)
    before, now = cleaned(true, measured, 8), cleaned(true, measured, 9)
    assert (now >= np.minimum(before, 1e-6) * NEWEST.floor).all()
    np.testing.assert_allclose(now.sum(axis=0), true.sum(axis=0), rtol=1e-3)
    np.testing.assert_allclose(now.sum(axis=1), true.sum(axis=1), rtol=1e-3)


def test_no_cell_is_taken_below_the_floor_of_what_it_was() -> None:
    """Whatever was measured of it: what was lost for good could not come back when other cells need it."""
    true = np.full((6, 6), 500.0)
    measured = np.full((6, 6), 500.0)
    measured[0, 0], measured[1, 1] = -2_000.0, 3_500.0
    before, now = cleaned(true, measured, 8), cleaned(true, measured, 9)
    assert (now < 0.9 * before).any()
    assert (now >= 0.5 * NEWEST.floor * before).all()


def off(true: Estimates, rules: int) -> tuple[float, float]:
    """Mean distance from the truth, of cells alike and of cells as often as rows are in them, over eight draws."""
    found = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        gap = np.abs(cleaned(true, true + rng.normal(0.0, SIGMA, true.shape), rules) - true)
        found.append((gap.mean(), (gap * true).sum() / true.sum()))
    one, other = np.mean(found, axis=0)
    return float(one), float(other)


def test_where_one_column_follows_from_the_other_cells_keep_their_rows() -> None:
    """A third less off where rows are; older rules give more of them to cells that no row is in."""
    rng = np.random.default_rng(5)
    true = np.full((10, 50), 0.01)
    true[rng.integers(10, size=50), np.arange(50)] = rng.lognormal(5.5, 0.8, 50)
    (before, rows_before), (now, rows_now) = off(true, 11), off(true, 12)
    assert now < 0.9 * before and rows_now < 0.85 * rows_before


def test_empty_cells_keep_no_more_noise_than_before() -> None:
    rng = np.random.default_rng(8)
    true = np.outer(rng.exponential(60.0, 10), rng.exponential(8.0, 40)) * (rng.random((10, 40)) < 0.3) + 0.01
    empty = true < 1.0
    kept = {11: 0.0, 12: 0.0}
    for seed in range(8):
        noise = np.random.default_rng(seed).normal(0.0, SIGMA, true.shape)
        for rules in kept:
            kept[rules] += float(cleaned(true, true + noise, rules)[empty].sum())
    assert kept[12] < 0.95 * kept[11]


def test_where_columns_know_nothing_of_each_other_little_is_lost() -> None:
    """What is shrunken away there comes back by half of what the nearest counts keep of the noise."""
    rng = np.random.default_rng(6)
    true = np.outer(rng.exponential(60.0, 10), rng.exponential(8.0, 40)) + 1.0
    before, now, raw = off(true, 11)[0], off(true, 12)[0], 0.8 * SIGMA
    assert before < now < (before + raw) / 2


def test_older_ledgers_keep_their_pairs() -> None:
    assert [rules.held for rules in MODEL_RULES.values()] == [inf] * 8 + [2.5] * (len(MODEL_RULES) - 8)
