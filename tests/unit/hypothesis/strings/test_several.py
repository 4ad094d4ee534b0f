"""Keys of several text columns: what the columns' strings say of them, and measurements beside that."""

import numpy as np
import pytest

from dpsql.domain import IntegerDomain, TableDomain, TextDomain
from dpsql.hypothesis import (
    MODEL_RULES,
    NEWEST,
    Axis,
    DenseHypothesis,
    Measurement,
    ModelRules,
    TableModel,
    keyed_error,
)
from dpsql.query import Factor, Key, KeyedFactor, LinearQuery, linear_query

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
    assert few is not None and 10 <= few <= 21


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
    assert np.mean(noisy) < 15.0
    assert keyed_error(model, listing(("x", "p")), 1e9) == pytest.approx(1.96 * 80.0, abs=1.0)  # of its own noise


def test_bars_of_measured_pairs_hold_where_one_column_copies_the_other() -> None:
    """Thirty strings of a hundred rows each, and 900 pairs of which thirty are any: they look like noise."""
    names = [f"s{i}" for i in range(30)]
    model, rng = (
        TableModel(TABLE, Measurement("t", (), np.array(ROWS), 0.0), 100.0, DenseHypothesis),
        np.random.default_rng(1),
    )
    for column in ("v", "w"):
        model.know_distinct(Measurement("t", (), np.array(30), 1.0, (column,)), 60.0)
        keys: tuple[Key, ...] = tuple((name,) for name in names)
        model.absorb(Measurement("t", (), np.full(30, 100, dtype=np.int64), 5.0, (column,), keys), selected=True)
    pairs: tuple[Key, ...] = tuple((v, w) for v in names for w in names)
    true = np.array([100.0 * (v == w) for v, w in pairs])
    noisy = (true + rng.normal(0.0, 60.0, len(pairs))).round().astype(np.int64)
    model.absorb(Measurement("t", (), noisy, 60.0, ("v", "w"), pairs))
    for some in (true > 0, true == 0):
        asked = [listing(pair) for pair, one in zip(pairs, some, strict=True) if one]
        bars = [keyed_error(model, query, 1e9) or 0 for query in asked]
        off = [abs(model.estimate(query) - n) for query, n in zip(asked, true[some], strict=True)]
        assert np.mean([o <= bar for o, bar in zip(off, bars, strict=True)]) > 0.92


def test_answers_rest_on_what_is_known_now_and_not_on_what_was() -> None:
    """As one that hears of all at once: cells of pairs follow all pairs, and the columns alone."""
    cells = Measurement("t", (Axis.cells(("a",), (5,)),), np.full((1, 5), 90), 40.0, ("v", "w"), (("x", "p"),))
    both = Measurement("t", (), np.array([900, 40]), 40.0, ("v", "w"), (("y", "q"), ("x", "q")))
    alone = Measurement("t", (), np.array([3_000]), 5.0, ("v",), (("x",),))
    query = linear_query(TABLE, (Factor(("a",), np.array([1, 0, 0, 0, 0])),), listing(("x", "p")).keyed)
    assert query is not None
    live, later = started(), started()
    for measurement in (cells, both, alone):
        live.absorb(measurement)
        live.estimate(query)
        later.absorb(measurement)
    assert live.estimate(query) == later.estimate(query)
