"""The papers' constructions against their definitions spelled out on small universes."""

from itertools import product
from math import exp, log

import numpy as np
import pytest

from dpsql.domain import IntegerDomain, TableDomain, TextDomain
from dpsql.errors import InternalError
from dpsql.hypothesis import Measurement, TableModel
from dpsql.hypothesis.iterative.median import MOST_LISTED, Median, candidate_rows
from dpsql.hypothesis.iterative.sparse_weights import MOST_ELEMENTS, SparseWeights, Structure
from dpsql.hypothesis.iterative.weights import MultiplicativeWeights
from dpsql.hypothesis.structure_size import structure_size
from dpsql.query import Factor, KeyedFactor, LinearQuery
from tests.support.simulated import table_of

ROWS, ALPHA = 1000.0, 200.0
TABLE = table_of((2, 3))
WORDS = TableDomain("t", (IntegerDomain("a", 0, 2, nullable=False), TextDomain("w"), TextDomain("v")))
FIRST = LinearQuery("t", (Factor(("a",), np.array([0, 1])), Factor(("b",), np.array([2, 0, 1]), 2)))
SECOND = LinearQuery("t", (Factor(("a", "b"), np.array([[1, 0, 0], [0, 1, 1]])),))


def weight(query: LinearQuery, cell: tuple[int, int]) -> float:
    """q(x) by its factors."""
    at = dict(zip("ab", cell, strict=True))
    out = 1.0
    for f in query.factors:
        out *= f.weights[tuple(at[c] for c in f.columns)] / f.unit
    return out


def test_multiplicative_weights_are_algorithm_5() -> None:
    model, cells = MultiplicativeWeights(TABLE, ROWS, ALPHA, 10), list(product(range(2), range(3)))
    weights = dict.fromkeys(cells, 1 / 6)
    for query, answer in ((FIRST, 900.0), (SECOND, 10.0), (FIRST, 800.0), (SECOND, 990.0)):
        here = ROWS * sum(weight(query, x) * p for x, p in weights.items())
        assert model.answer(query) == pytest.approx(here)
        lost = {x: weight(query, x) if answer < here else 1 - weight(query, x) for x in cells}
        moved = {x: exp(-ALPHA / (2 * ROWS) * lost[x]) * weights[x] for x in cells}
        weights = {x: p / sum(moved.values()) for x, p in moved.items()}
        model.update(query, answer)
    found = model.contingency(("a", "b"))
    assert [found[x] for x in cells] == pytest.approx([ROWS * weights[x] for x in cells])
    assert model.contingency(("b", "a")).tolist() == found.T.tolist()


def keyed(strings: list[str], cells: list[int], rest: tuple[Factor, ...] = ()) -> LinearQuery:
    keys = tuple((s,) for s in sorted(strings))
    spread = np.tile(np.array(cells), (len(keys), 1))
    return LinearQuery("t", rest, KeyedFactor(("w",), keys, ("a",), spread, 2))


def test_sparse_weights_are_algorithm_1() -> None:
    """All s variables of Definition 3 kept one by one, whichever is the next free one."""
    model = SparseWeights(WORDS, ROWS, 900.0, 10)
    size = structure_size(10_000, 0.9)
    d, h = np.full(size, 1.0 / size), dict[tuple[str, int], int]()
    asked = [
        (keyed(["x", "y"], [2, 1, 0]), 700.0),
        (keyed(["y", "z"], [0, 2, 2]), 300.0),
        (keyed(["x"], [1, 1, 1]), 0.0),
    ]
    for query, answer in asked:
        assert query.keyed is not None
        elements = {
            (k[0], c): query.keyed.weights[i, c] / 2
            for i, k in enumerate(query.keyed.strings)
            for c in range(3)
            if query.keyed.weights[i, c]
        }
        here = ROWS * sum(q * (d[h[x]] if x in h else d[len(h)]) for x, q in elements.items())
        assert model.answer(query) == pytest.approx(here, rel=1e-9)
        for x in elements:
            h.setdefault(x, len(h))
        for x, q in elements.items():
            d[h[x]] *= exp((-0.45 if answer < here else 0.45) * q)
        d /= d.sum()
        model.update(query, answer)
    kept = model.structure(asked[0][0])
    assert kept.assigned == len(h) and kept.size == size and kept.failed == 0
    assert kept.unassigned == pytest.approx(d[-1])
    assert model.answer(keyed(["never", "x"], [2, 2, 2])) == pytest.approx(
        ROWS * (sum(d[h["x", c]] for c in range(3)) + 3 * d[-1])
    )


def test_sets_of_columns_share_nothing_and_column_order_does_not_matter() -> None:
    model = SparseWeights(TABLE, ROWS, ALPHA, 10)
    model.update(SECOND, 900.0)
    split = LinearQuery("t", (Factor(("b",), np.array([0, 1, 1])), Factor(("a",), np.array([0, 1]))))
    assert model.structure(split) is model.structure(SECOND)
    assert model.answer(split) > ROWS / model.structure(split).size * 2
    assert model.structure(LinearQuery("t", (Factor(("a",), np.array([0, 1])),))).assigned == 0
    assert model.answer(LinearQuery("t", ())) == ROWS


def test_failure_leaves_the_structure_as_it_is() -> None:
    kept = Structure(3, 1)
    codes = [((), np.array([i])) for i in range(4)]
    assert kept.add(codes[:2]) == [0, 1]
    assert kept.add(codes) is None and (kept.failed, kept.assigned) == (1, 2)
    assert kept.add(codes[1:3]) == [1, 2] and kept.failed == 1


def test_a_query_of_too_many_elements_updates_nothing() -> None:
    table = table_of((1100, 1100))
    assert table.cells > MOST_ELEMENTS
    model = SparseWeights(table, ROWS, ALPHA, 10)
    wide = LinearQuery(
        "t", (Factor(("a",), np.ones(1100, dtype=np.int64)), Factor(("b",), np.ones(1100, dtype=np.int64)))
    )
    before = model.answer(wide)
    model.update(wide, 900.0)
    assert model.answer(wide) == before and model.structure(wide).failed == 1


def test_a_query_that_no_cell_has_a_weight_in_updates_nothing() -> None:
    """``WHERE amount = 40`` of a number column: the value has no share of its bin, and most of its rows."""
    model = SparseWeights(table_of((3, 2)), ROWS, ALPHA, 10)
    nothing = LinearQuery("t", (Factor(("a",), np.zeros(3, dtype=np.int64)),))
    model.update(nothing, 900.0)
    assert model.answer(nothing) == 0.0
    assert (model.structure(nothing).failed, model.structure(nothing).assigned) == (0, 0)


def test_medians_are_algorithm_4() -> None:
    table, planned = table_of((3,)), 3
    model = Median(table, ROWS, ALPHA, planned)
    rows = candidate_rows(ROWS, ALPHA, planned)
    assert rows == 28 == int(np.ceil(25 * log(3)))
    candidates = [c for c in product(range(rows + 1), repeat=3) if sum(c) == rows]
    for query, answer in (
        (LinearQuery("t", (Factor(("a",), np.array([1, 0, 0])),)), 900.0),
        (LinearQuery("t", (Factor(("a",), np.array([0, 1, 1])),)), 0.0),
        (LinearQuery("t", (Factor(("a",), np.array([0, 1, 0])),)), 400.0),
    ):
        weights = query.factors[0].weights
        values = [float(weights @ np.array(c)) for c in candidates]
        here = float(np.median(values))
        assert model.answer(query) == pytest.approx(here / rows * ROWS)
        below = answer < here / rows * ROWS
        candidates = [c for c, v in zip(candidates, values, strict=True) if (v < here if below else v > here)]
        model.update(query, answer)
        assert sorted(np.rint(model.candidates * rows).astype(int).tolist()) == sorted(map(list, candidates))
    assert not model.sampled and f"{len(candidates):,}" in str(model.remark)


def test_medians_are_sampled_where_they_are_too_many() -> None:
    few, many = Median(table_of((3,)), ROWS, ALPHA, 3), Median(table_of((9,)), ROWS, ALPHA, 3)
    assert len(few.candidates) <= MOST_LISTED and not few.sampled
    assert many.sampled and "sampled" in str(many.remark)
    assert many.contingency(("a",)).sum() == pytest.approx(ROWS)


@pytest.mark.parametrize("make", [MultiplicativeWeights, Median])
def test_strings_are_for_sparse_weights_alone(make: type[MultiplicativeWeights] | type[Median]) -> None:
    model = make(TABLE, ROWS, ALPHA, 10)
    with pytest.raises(InternalError):
        model.absorb(Measurement("t", (), np.array([1]), 1.0, ("w",), (("x",),)))
    assert model.measurements == []


def test_a_table_s_model_is_the_construction_and_an_answer_is_no_measurement_of_it() -> None:
    count = Measurement("t", (), np.array(990), 5.0)
    model = TableModel(
        TABLE, count, ALPHA, lambda t, n: pytest.fail("not asked"), lambda t, n: MultiplicativeWeights(t, n, ALPHA, 10)
    )
    answer = Measurement("t", (), np.array(700), 5.0, query=SECOND)
    model.absorb(answer)
    assert model.hypothesis is model.construction and model.hypothesis.measurements == [answer]
    assert model.measured(SECOND) is None and answer.answer(SECOND) is None
    assert model.measured(LinearQuery("t", ())) == (990, 5.0)
    assert model.estimate(SECOND) > 495.0
