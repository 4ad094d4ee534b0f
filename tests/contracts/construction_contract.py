"""What every ``IterativeConstruction`` does; subclasses provide ``make``. Each test rejects a broken one."""

from collections.abc import Iterator
from itertools import permutations
from math import inf

import numpy as np
import pytest

from dpsql.domain import TableDomain
from dpsql.hypothesis import Axis, IterativeConstruction, Measurement
from dpsql.hypothesis.protocol import MakeConstruction
from dpsql.query import Factor, LinearQuery, linear_query
from tests.support.simulated import table_of

TABLE = table_of((4, 3, 2), (True,))
SCOPES = [(), ("a",), ("b",), ("a", "c"), ("a", "b", "c")]
ROWS = 1000.0
ALPHA = 200.0
PLANNED = 100


def question(**picked: list[int]) -> LinearQuery:
    """Rows whose columns have one of the picked values."""
    factors = [
        Factor((c,), np.isin(np.arange(TABLE.shape((c,))[0]), values).astype(np.int64)) for c, values in picked.items()
    ]
    found = linear_query(TABLE, factors)
    assert found is not None
    return found


SINGLE = question(a=[1])
QUESTIONS = (SINGLE, question(a=[0, 1], c=[1]), question(b=[0, 2]), question(a=[2, 3], b=[1], c=[0]), SINGLE)


def released(query: LinearQuery, value: int) -> Measurement:
    return Measurement(query.table, (), np.array(value), 20.0, query=query)


def histories() -> Iterator[list[Measurement]]:
    """No answers, high and low ones, and answers that contradict each other."""
    yield []
    yield [released(q, 900) for q in QUESTIONS]
    yield [released(q, -50) for q in QUESTIONS]
    yield [released(q, v) for v in (0, 1000, 0, 1000) for q in QUESTIONS]


def made(make: MakeConstruction, history: list[Measurement], table: TableDomain = TABLE) -> IterativeConstruction:
    out = make(table, ROWS, ALPHA, PLANNED)
    for m in history:
        out.absorb(m)
    return out


def bits(model: IterativeConstruction) -> list[bytes]:
    cells = [model.contingency(scope).tobytes() for scope in SCOPES]
    return [*cells, *(np.float64(model.answer(q)).tobytes() for q in QUESTIONS)]


class ConstructionContract:
    """Run for every construction of the registry."""

    @pytest.fixture
    def make(self) -> MakeConstruction:
        raise NotImplementedError

    def test_answers_are_counts_of_the_rows(self, make: MakeConstruction) -> None:
        """Finite; the number of rows is known."""
        for history in histories():
            model = made(make, history)
            assert model.table is TABLE and model.row_count == ROWS and 0 < model.alpha <= ROWS
            assert all(np.isfinite(model.answer(q)) for q in QUESTIONS)
            assert float(model.contingency(())) == pytest.approx(ROWS)

    def test_an_update_goes_towards_the_released_answer(self, make: MakeConstruction) -> None:
        for query in QUESTIONS:
            for side in (1.0, -1.0):
                model = made(make, [])
                before = model.answer(query)
                if side < 0:  # nothing is below an empty start
                    for _ in range(3):
                        model.absorb(released(query, 1000))
                    before = model.answer(query)
                model.absorb(released(query, round(before + side * ALPHA)))
                assert side * (model.answer(query) - before) > 0

    def test_contingencies_are_tables_in_the_order_asked_for(self, make: MakeConstruction) -> None:
        for history in histories():
            model = made(make, history)
            for scope in SCOPES:
                cells = model.contingency(scope)
                assert cells.dtype == np.float64 and cells.shape == TABLE.shape(scope)
                assert np.isfinite(cells).all() and not cells.flags.writeable
                for order in permutations(range(len(scope))):
                    turned = model.contingency(tuple(scope[i] for i in order))
                    assert (turned == cells.transpose(order)).all()

    def test_a_replay_is_equal_bit_by_bit(self, make: MakeConstruction) -> None:
        """Whatever was asked in between, and whatever else was made."""
        for history in histories():
            live = made(make, [])
            for m in history:
                live.absorb(m)
                bits(live)
                made(make, history[:1])
            assert all(kept is m for kept, m in zip(live.measurements, history, strict=True))
            assert bits(live) == bits(made(make, list(live.measurements)))

    def test_what_is_no_answer_to_a_query_changes_nothing(self, make: MakeConstruction) -> None:
        count = Measurement("t", (), np.array(990), 5.0)
        cells = Measurement("t", (Axis.cells(("a",), (4,)),), np.array([900, 0, 0, 0]), 5.0)
        for history in histories():
            assert bits(made(make, [*history, count, cells])) == bits(made(make, history))

    def test_it_measures_nothing_else_in_a_hard_round(self, make: MakeConstruction) -> None:
        assert made(make, []).coarse_axes(("a", "b"), 5.0) is None

    def test_the_bound_on_updates_falls_with_alpha(self, make: MakeConstruction) -> None:
        model = made(make, [])
        bounds = [model.update_bound(alpha) for alpha in (10.0, 50.0, 200.0, 1000.0)]
        assert bounds == sorted(bounds, reverse=True)
        assert 0 < bounds[-1] < bounds[0] < inf
