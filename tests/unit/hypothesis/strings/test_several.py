"""Keys of several text columns: what the columns' strings say of them, and measurements beside that."""

import numpy as np
import pytest

from dpsql.domain import IntegerDomain, TableDomain, TextDomain
from dpsql.hypothesis import MODEL_RULES, NEWEST, DenseHypothesis, Measurement, ModelRules, TableModel, keyed_error
from dpsql.query import Key, KeyedFactor, LinearQuery, linear_query

TABLE = TableDomain("t", (IntegerDomain("a", 0, 3), TextDomain("v", (1,)), TextDomain("w")))
ROWS = 10_000
OF_V, OF_W = {"x": 4_000, "y": 1_000, None: 20}, {"p": 2_000, "q": 300, None: 10}


def started(rules: ModelRules = NEWEST, *, columns: tuple[str, ...] = ("v", "w")) -> TableModel:
    model = TableModel(TABLE, Measurement("t", (), np.array(ROWS), 0.0), 100.0, DenseHypothesis, rules=rules)
    for column, found in (("v", OF_V), ("w", OF_W)):
        if column in columns:
            model.know_distinct(Measurement("t", (), np.array(200), 1.0, (column,)), 120.0)
            keys: tuple[Key, ...] = tuple((value,) for value in found)
            counted = np.array(list(found.values()), dtype=np.int64)
            model.absorb(Measurement("t", (), counted, 5.0, (column,), keys), selected=True)
    return model


def listing(*keys: Key, columns: tuple[str, ...] = ("v", "w")) -> LinearQuery:
    found = linear_query(TABLE, (), KeyedFactor(columns, keys, (), np.ones(len(keys), dtype=np.int64)))
    assert found is not None
    return found


def test_pairs_have_the_rows_of_independent_columns() -> None:
    model = started()
    assert model.estimate(listing(("x", "p"))) == pytest.approx(800)
    assert model.estimate(listing(("x", "q"), ("y", "p"))) == pytest.approx(120 + 200)
    assert model.estimate(listing(("x", None))) == pytest.approx(4)
    hidden = model.sparse(("w",)).unassigned
    assert model.estimate(listing(("y", "unheard of"))) == pytest.approx(hidden / 10)


def test_before_all_selections_nothing_is_guessed() -> None:
    for model in (started(columns=("v",)), started(MODEL_RULES[34])):
        assert model.estimate(listing(("x", "p"))) < 1.0
        assert keyed_error(model, listing(("x", "p")), 1e9) is None


def test_a_prefix_and_its_column_are_not_independent() -> None:
    model = started()
    assert model.estimate(listing(("x", "x"), columns=("v", "v[:1]"))) < 1.0


def test_bars_reach_from_none_to_all_rows_of_the_rarer_strings() -> None:
    model = started()
    bar = keyed_error(model, listing(("x", "q")), 1e9)
    assert bar is not None and 180 <= bar <= 200  # 300 - 120, with what noise hides
    assert keyed_error(model, listing(("x", "q")), 150.0) == 120  # of 150 rows that a condition leaves 30 more: none
    few = keyed_error(model, listing(("y", None)), 1e9)
    assert few is not None and few <= 21


@pytest.mark.parametrize(("true", "least", "most"), [(800, 700, 900), (2_000, 1_700, 2_000), (0, 0, 300)])
def test_measured_pairs_are_weighed_with_the_guess(true: int, least: int, most: int) -> None:
    """Of 200 pairs one is asked for; noise of 80."""
    model, rng = started(), np.random.default_rng(true)
    others: tuple[Key, ...] = tuple(("y", f"o{i}") for i in range(200))
    counted = np.concatenate([[true], np.full(200, 5)]) + rng.normal(0.0, 80.0, 201)
    keys: tuple[Key, ...] = (("x", "p"), *others)
    model.absorb(Measurement("t", (), counted.round().astype(np.int64), 80.0, ("v", "w"), keys))
    assert least <= model.estimate(listing(("x", "p"))) <= most
    noisy = [abs(model.estimate(listing(key)) - model.sparse(("w",)).unassigned / 10) for key in others]
    assert np.mean(noisy) < 8.0
    bar = keyed_error(model, listing(("x", "p")), 1e9)
    assert bar is not None and bar < 1.96 * 80.0 + 2
