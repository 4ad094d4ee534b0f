"""Strings that were not counted by a column follow what the counted ones leave of it, not the table as a whole."""

import numpy as np
import pytest

from dpsql.hypothesis import Axis, DenseHypothesis, Measurement, TableModel, keyed_error
from dpsql.hypothesis.strings.rest import rest_of
from dpsql.query import Factor
from tests.support.simulated import table_of
from tests.unit.hypothesis.test_keyed_error import counts, keys_of, listing

SIZE, HEAVY, LIGHT, EACH = 4, 3, 400, 10
REST = np.array([0.1, 0.2, 0.3, 0.4])


def started() -> TableModel:
    """Three strings have 3,000 rows each, all at the first value; of 400 light ones each has 10, as REST says."""
    rows = HEAVY * 3_000 + LIGHT * EACH
    model = TableModel(table_of((SIZE,)), Measurement("t", (), np.array(rows), 0.0), 100.0, DenseHypothesis)
    column = (Axis.cells(("a",), (SIZE,)),)
    whole = (LIGHT * EACH * REST).astype(np.int64)
    whole[0] += HEAVY * 3_000
    model.absorb(Measurement("t", column, whole, 5.0))
    model.know_distinct(Measurement("t", (), np.array(HEAVY + LIGHT), 1.0, ("w",)), 60.0)
    shown = keys_of(HEAVY, "heavy")
    model.absorb(counts(shown, [3_000] * HEAVY, 5.0), selected=True)
    cells = np.zeros((HEAVY, SIZE), dtype=np.int64)
    cells[:, 0] = 3_000
    model.absorb(Measurement("t", column, cells, 15.0, ("w",), shown))
    return model


def test_lists_of_light_strings_with_a_condition_are_within_their_bars() -> None:
    model, keys = started(), keys_of(100, "light")
    model.absorb(counts(keys, [EACH] * 100, 5.0))
    for value in range(SIZE):
        query = listing(tuple(sorted(keys)), Factor(("a",), np.eye(SIZE, dtype=np.int64)[value]))
        bar = keyed_error(model, query, np.inf)
        assert bar is not None
        assert abs(model.estimate(query) - 100 * EACH * REST[value]) <= min(bar, 60)


def test_heavy_strings_keep_their_own_cells() -> None:
    found = started().sparse(("w",)).keyed_contingency(keys_of(HEAVY, "heavy"), ("a",))
    assert np.abs(found - np.array([3_000, 0, 0, 0])).max() < 20


def test_the_rest_is_what_strings_leave() -> None:
    """Within the noise that it says; a whole without any is found as it is."""
    rng, sigma = np.random.default_rng(3), 20.0
    cells = 2_000.0 * rng.dirichlet([0.3] * SIZE, 5)
    whole = cells.sum(axis=0) + 3_000.0 * REST
    exact = rest_of(whole, cells, np.full(5, 1e-6))
    assert exact.shares == pytest.approx(REST, abs=1e-4)
    inside = []
    for _ in range(200):
        found = rest_of(whole, cells + rng.normal(0.0, sigma, cells.shape), np.full(5, sigma**2))
        assert found.shares.sum() == pytest.approx(1.0)
        inside.append(np.abs(found.shares - REST) <= 1.96 * np.sqrt(found.variances))
    assert 0.9 <= np.mean(inside) <= 0.99


def test_strings_that_are_alike_say_nothing_new() -> None:
    """Their noise would hide the shares of the table."""
    rng, rows = np.random.default_rng(4), np.full(50, 2_000.0)
    cells = np.outer(rows, REST)
    whole = cells.sum(axis=0) + 1_000.0 * REST
    found = rest_of(whole, cells + rng.normal(0.0, 60.0, cells.shape), np.full(50, 3_600.0))
    assert found.shares == pytest.approx(REST, abs=0.01)


def test_nothing_left_is_like_the_whole() -> None:
    cells = np.array([[100.0, 0.0], [0.0, 300.0]])
    assert rest_of(np.array([100.0, 300.0]), cells, np.ones(2)).shares.tolist() == [0.25, 0.75]
