"""Cleaned tables of pairs: the same steps as plain products of 0/1 matrices, and cells that are unlike all others."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from dpsql.hypothesis.components import pure
from dpsql.hypothesis.local.pair_table import LEVELS, NEAR, ROUNDS, PairCounts, clean_pair
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


def plain(rows: Estimates, columns: Estimates, counts: list[PairCounts], ordered: tuple[bool, bool]) -> Estimates:
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
    for _ in range(ROUNDS):
        table = raked(table, rows, columns)
    return table


@pytest.mark.parametrize("ordered", [(True, True), (False, True)])
@pytest.mark.parametrize("coarse", [(), (2,), (3, 2)])
def test_a_cleaned_pair_is_the_product_of_its_matrices(ordered: tuple[bool, bool], coarse: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(coarse))
    cells = [np.arange(n, dtype=np.int64) for n in (23, 18)]
    counts = []
    for wide in (*coarse, 1):
        left, right = cells[0] // wide, cells[1] // wide
        values = rng.normal(20.0, 9.0, (int(left.max()) + 1, int(right.max()) + 1))
        counts.append(PairCounts(left, right, values, 5.0 + wide))
    rows, columns = (rng.exponential(40.0, len(c)) for c in cells)
    told = clean_pair(rows, columns, counts, ordered, replace(NEWEST, held=inf))
    assert np.array_equal(told.left, refinement([c.left for c in counts]))
    np.testing.assert_allclose(told.counts, plain(rows, columns, counts, ordered), rtol=1e-9, atol=1e-12)


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


def test_older_ledgers_keep_their_pairs() -> None:
    assert [rules.held for rules in MODEL_RULES.values()] == [inf] * 8 + [2.5] * 3
