"""Cleaned tables of pairs, compared with the same steps as plain products of 0/1 matrices."""

import numpy as np
import pytest

from dpsql.hypothesis.components import pure
from dpsql.hypothesis.local.pair_table import LEVELS, ROUNDS, PairCounts, clean_pair
from dpsql.hypothesis.measurement import Labels
from dpsql.hypothesis.partition import indicator, nested, part_sums, refinement
from dpsql.hypothesis.rules import NEWEST
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
    told = clean_pair(rows, columns, counts, ordered)
    assert np.array_equal(told.left, refinement([c.left for c in counts]))
    np.testing.assert_allclose(told.counts, plain(rows, columns, counts, ordered), rtol=1e-9, atol=1e-12)
