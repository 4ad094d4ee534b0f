"""Queries that bars are learned from: of rows that the model has too, for noise is cut away where it has none."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from dpsql.hypothesis.bars import random_queries
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.bars.lesson import learn_calibration
from dpsql.hypothesis.bars.random_queries import queries_of_rows
from dpsql.hypothesis.local.wide import WideHypothesis
from dpsql.hypothesis.measurement import Measurement
from dpsql.hypothesis.rules import NEWEST
from dpsql.policy import Mechanism
from dpsql.query import Estimates, Factor, linear_query
from tests.support.simulated import all_of, marginal, table_of

SHAPE = (12, 60, 3)
TABLE = table_of(SHAPE, (True, False, False))
NAMES = tuple(c.name for c in TABLE.finite)
SIGMA = 30.0
FACTOR = float(Mechanism().error_factor)


def flown(rng: np.random.Generator) -> Estimates:
    """Most of the 60 places are reached by one or two of the 12 carriers: pairs are nearly all 0."""
    cells = np.zeros(SHAPE)
    for place in range(SHAPE[1]):
        carriers = rng.choice(SHAPE[0], size=int(rng.integers(1, 3)), replace=False)
        cells[carriers, place] = rng.lognormal(5.0, 1.0) * rng.dirichlet(np.ones(3 * len(carriers))).reshape(-1, 3)
    return np.rint(cells)


CELLS = flown(np.random.default_rng(3))


def wide(found: Sequence[Measurement]) -> WideHypothesis:
    out = WideHypothesis(TABLE, float(CELLS.sum()))
    for m in found:
        out.absorb(m)
    return out


def coverage_of(found: Sequence[Measurement]) -> Coverage:
    return Coverage(TABLE, float(CELLS.sum()), found)


def noisy(seed: int) -> list[Measurement]:
    rng = np.random.default_rng(seed)
    return [*all_of(CELLS, 1, SIGMA, rng), *all_of(CELLS, 2, SIGMA, rng)]


def of_cells(columns: tuple[str, ...]) -> Estimates:
    return marginal(CELLS, NAMES, columns)


SCOPES = [*combinations(NAMES, 2), NAMES]


def test_rows_of_the_model_meet_them() -> None:
    found = queries_of_rows(coverage_of(noisy(1)), SCOPES, 90, np.random.default_rng(2), of_cells)
    assert len({q.digest for q in found}) == len(found) > 60
    assert {q.scope for q in found} == set(SCOPES)
    assert min(q.estimate(of_cells(q.scope)) for q in found) >= 1.0
    widths = {(c, int(f.weights.sum())) for q in found for f in q.factors for c in f.columns}
    assert {n for c, n in widths if c != NAMES[0]} == {1}  # values without an order stand alone
    assert len({n for c, n in widths if c == NAMES[0]}) > 4


def test_values_are_drawn_as_often_as_rows_have_them() -> None:
    """Of a column alone, by chi-square against its shares: too even and too uneven draws are both rejected."""
    shares = np.array([0.6, 0.3, 0.1])

    def drawn(counts: Estimates) -> Estimates:
        found = np.zeros(3)
        for seed in range(900):
            (query,) = queries_of_rows(coverage_of([]), [NAMES[2:]], 1, np.random.default_rng(seed), lambda _: counts)
            found[int(query.factors[0].weights.argmax())] += 1
        return found

    def distance(found: Estimates) -> float:
        return float(((found - found.sum() * shares) ** 2 / (found.sum() * shares)).sum())

    assert distance(drawn(shares)) < 18.4  # 2 degrees of freedom: 1e-4
    assert distance(drawn(np.sqrt(shares))) > 18.4
    assert distance(drawn(shares**2)) > 18.4


def test_nothing_is_drawn_where_there_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    assert queries_of_rows(coverage_of([]), [], 10, rng, of_cells) == []
    assert queries_of_rows(coverage_of([]), SCOPES, 10, rng, lambda c: np.minimum(of_cells(c), 0.0)) == []
    monkeypatch.setattr(random_queries, "_MOST_CELLS", 100)
    assert {q.scope for q in queries_of_rows(coverage_of([]), SCOPES, 60, rng, of_cells)} == {(NAMES[0], NAMES[2])}


@pytest.mark.statistical
def test_bars_hold_of_a_carrier_and_where_it_flies_to() -> None:
    """Cells that rows are in are drawn towards the many that none is in; bars that never saw one do not know of it. A
    table that is nearly all empty under noise of twice its mean cell is an extreme one: five in six are covered."""
    covered: dict[bool, list[bool]] = {True: [], False: []}
    pair = of_cells(NAMES[:2])
    there = [(int(i), int(j)) for i, j in np.argwhere(pair > 3 * SIGMA)]
    for seed in range(4):
        found = noisy(seed)
        answer = wide(found).answer
        for rows_met, inside in covered.items():
            rules = replace(NEWEST, rows_met=rows_met, coarsely=False, excluded=False)  # what noise hides is another
            bars = learn_calibration(TABLE, float(CELLS.sum()), found, wide, simulations=4, rules=rules)
            for i, j in there:
                factors = [
                    Factor((c,), np.eye(n, dtype=np.int64)[k])
                    for c, n, k in zip(NAMES, SHAPE[:2], (i, j), strict=False)
                ]
                query = linear_query(TABLE, factors)
                assert query is not None
                bar = bars.bound(query, FACTOR)
                assert bar is not None
                inside.append(abs(answer(query) - pair[i, j]) <= bar)
    assert np.mean(covered[True]) > 0.82 > 0.75 > np.mean(covered[False])
