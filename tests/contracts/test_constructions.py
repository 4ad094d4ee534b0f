"""Every construction of the registry keeps the contract; the contract rejects those made wrong."""

import inspect
from collections.abc import Callable

import numpy as np
import pytest

from dpsql.hypothesis import STRATEGIES, Axis, Measurement
from dpsql.hypothesis.iterative.weights import MultiplicativeWeights
from dpsql.hypothesis.protocol import MakeConstruction
from dpsql.query import Estimates, LinearQuery
from tests.contracts.construction_contract import ConstructionContract

MADE = {s.construction.words: s.construction.make for s in STRATEGIES.values() if s.construction is not None}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
class TestConstructions(ConstructionContract):
    """All of them, from their uniform or empty start."""


class CountsInShares(MultiplicativeWeights):
    def contingency(self, columns: tuple[str, ...]) -> Estimates:
        return super().contingency(columns) / self.row_count


class GoesAway(MultiplicativeWeights):
    def update(self, query: LinearQuery, released: float) -> None:
        super().update(query, 2.0 * self.answer(query) - released)


class KeepsTheTablesOrder(MultiplicativeWeights):
    def contingency(self, columns: tuple[str, ...]) -> Estimates:
        return super().contingency(tuple(sorted(columns))).reshape(self.table.shape(columns))


class DrawsItsSteps(MultiplicativeWeights):
    def update(self, query: LinearQuery, released: float) -> None:
        self.eta *= np.random.default_rng().uniform(0.9, 1.1)
        super().update(query, released)


class TakesACountForAnAnswer(MultiplicativeWeights):
    def absorb(self, measurement: Measurement) -> None:
        super().absorb(measurement)
        if measurement.query is None and self.measurements[0].query is not None:
            self.update(self.measurements[0].query, float(measurement.values.sum()))


class MeasuresAScope(MultiplicativeWeights):
    def coarse_axes(self, columns: tuple[str, ...], sigma: float) -> tuple[Axis, ...] | None:
        return tuple(Axis.cells((c,), self.table.shape((c,))) for c in columns)


class BoundsNothing(MultiplicativeWeights):
    def update_bound(self, alpha: float) -> float:
        return alpha


WRONG: dict[type[MultiplicativeWeights], str] = {
    CountsInShares: "test_answers_are_counts_of_the_rows",
    GoesAway: "test_an_update_goes_towards_the_released_answer",
    KeepsTheTablesOrder: "test_contingencies_are_tables_in_the_order_asked_for",
    DrawsItsSteps: "test_a_replay_is_equal_bit_by_bit",
    TakesACountForAnAnswer: "test_what_is_no_answer_to_a_query_changes_nothing",
    MeasuresAScope: "test_it_measures_nothing_else_in_a_hard_round",
    BoundsNothing: "test_the_bound_on_updates_falls_with_alpha",
}


@pytest.mark.parametrize("wrong", WRONG, ids=lambda w: w.__name__)
def test_the_contract_rejects(wrong: type[MultiplicativeWeights]) -> None:
    noticing: Callable[[MakeConstruction], None] = getattr(ConstructionContract(), WRONG[wrong])
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        noticing(wrong)


def test_every_test_of_the_contract_rejects_something() -> None:
    named = {n for n, _ in inspect.getmembers(ConstructionContract, inspect.isfunction) if n.startswith("test_")}
    assert named == set(WRONG.values())
