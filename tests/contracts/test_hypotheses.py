"""Every hypothesis of the registry keeps the contract, and so does the twin; the contract rejects those made wrong."""

import inspect
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from dpsql.hypothesis import STRATEGIES, Axis, MakeHypothesis, Measurement, ScopedHypothesis
from dpsql.query import Choices, Estimates, LinearQuery
from tests.contracts.hypothesis_contract import HypothesisContract, NarrowHypothesisContract
from tests.support.exact_hypothesis import ExactHypothesis

NARROW = {s.narrow for s in STRATEGIES.values()} | {ScopedHypothesis, ExactHypothesis}
WIDE = {s.wide for s in STRATEGIES.values()} - NARROW


def named(makes: set[MakeHypothesis]) -> list[MakeHypothesis]:
    return sorted(makes, key=name)


def name(make: object) -> str:
    return str(getattr(make, "__name__", make))


@pytest.mark.parametrize("make", named(NARROW), ids=name)
class TestNarrow(NarrowHypothesisContract):
    """The tensor while it fits, the one for each scope above that, and the twin."""


@pytest.mark.parametrize("make", named(WIDE), ids=name)
class TestWide(HypothesisContract):
    """Local models: nothing is measured as a difference in wide tables."""


# --- hypotheses with one thing wrong ------------------------------------------------------------------------------


class StartsSkewed(ExactHypothesis):
    def start(self) -> Estimates:
        return super().start() * np.linspace(0.9, 1.1, self.table.cells).reshape(super().start().shape)


class LosesRows(ExactHypothesis):
    def fitted(self) -> Estimates:
        return super().fitted() * (0.999 if self.measurements else 1.0)


class GoesBelowZero(ExactHypothesis):
    def fitted(self) -> Estimates:
        out = super().fitted()
        if self.measurements:
            out.reshape(-1)[0] -= self.row_count
            out.reshape(-1)[-1] += self.row_count
        return out


class CanBeWrittenTo(ExactHypothesis):
    def contingency(self, columns: tuple[str, ...]) -> Estimates:
        return super().contingency(columns).copy()


class KeepsTheTablesOrder(ExactHypothesis):
    def contingency(self, columns: tuple[str, ...]) -> Estimates:
        return super().contingency(tuple(sorted(columns))).reshape(self.table.shape(columns))


class AnswersOtherwise(ExactHypothesis):
    def answer(self, query: LinearQuery) -> float:
        return super().answer(query) * (1.0 + 1e-6 * len(query.scope))


class ForgetsWhatItAbsorbed(ExactHypothesis):
    def absorb(self, measurement: Measurement) -> None:
        super().absorb(measurement)
        del self.measurements[:-1]


class FitsFromWhereItStands(ExactHypothesis):
    def start(self) -> Estimates:
        return getattr(self, "last", None) if self.measurements and hasattr(self, "last") else super().start()

    def fitted(self) -> Estimates:
        self.last = super().fitted()
        return self.last


class DrawsItsStart(ExactHypothesis):
    def start(self) -> Estimates:
        drawn = np.random.default_rng().uniform(0.9, 1.1, super().start().shape)
        return super().start() * (drawn / drawn.mean() if self.measurements else 1.0)


class SharesItsMeasurements(ExactHypothesis):
    known: list[Measurement] = []  # noqa: RUF012 - shared by mistake

    def absorb(self, measurement: Measurement) -> None:
        super().absorb(measurement)
        self.known.append(measurement)

    def used(self) -> list[Measurement]:
        return [*self.measurements, *self.known]


class LearnsNothing(ExactHypothesis):
    def used(self) -> list[Measurement]:
        return []


class TrustsTheLatest(ExactHypothesis):
    def used(self) -> list[Measurement]:
        return self.measurements


class LooksAtSingleColumns(ExactHypothesis):
    def used(self) -> list[Measurement]:
        return [m for m in super().used() if len(m.scope) == 1]


class LooksAtPairs(ExactHypothesis):
    def used(self) -> list[Measurement]:
        return [m for m in super().used() if len(m.scope) < 3]


class LosesAColumn(ExactHypothesis):
    def coarse_axes(self, columns: tuple[str, ...], sigma: float) -> tuple[Axis, ...] | None:
        return tuple(Axis.cells((c,), self.table.shape((c,))) for c in columns[:-1])


class LeavesPartsEmpty(ExactHypothesis):
    def coarse_axes(self, columns: tuple[str, ...], sigma: float) -> tuple[Axis, ...] | None:
        return tuple(Axis((c,), np.zeros(self.table.shape((c,)), dtype=np.int64), 2) for c in columns)


class SwallowsStrings(ExactHypothesis):
    def absorb(self, measurement: Measurement) -> None:
        if not measurement.text_columns:
            super().absorb(measurement)


class TakesADifferenceForACount(ExactHypothesis):
    def step(self, model: Estimates, m: Measurement) -> Estimates:
        return model if m.has_differences else super().step(model, m)


class AnswersManyOtherwise(ExactHypothesis):
    def answers(self, asked: Choices) -> Estimates:
        return super().answers(asked)[::-1]


WRONG: dict[type[ExactHypothesis], str] = {
    StartsSkewed: "test_it_starts_uniform",
    LosesRows: "test_a_contingency_is_a_table_of_counts_with_the_total",
    GoesBelowZero: "test_a_contingency_is_a_table_of_counts_with_the_total",
    CanBeWrittenTo: "test_a_contingency_cannot_be_written_to",
    KeepsTheTablesOrder: "test_columns_come_in_the_order_that_was_asked_for",
    AnswersOtherwise: "test_answers_are_weights_times_contingencies",
    AnswersManyOtherwise: "test_many_answers_are_the_answers",
    ForgetsWhatItAbsorbed: "test_it_says_what_it_absorbed",
    FitsFromWhereItStands: "test_a_replay_is_equal_bit_by_bit",
    DrawsItsStart: "test_nothing_else_reaches_it",
    SharesItsMeasurements: "test_nothing_else_reaches_it",
    LearnsNothing: "test_what_is_measured_without_noise_is_followed",
    TrustsTheLatest: "test_the_more_precise_of_two_measurements_counts",
    LooksAtSingleColumns: "test_agreeing_pairs_give_the_table_of_the_twin",
    LooksAtPairs: "test_a_hard_round_repairs_what_pairs_cannot_show",
    LosesAColumn: "test_coarse_axes_are_partitions_of_the_columns",
    LeavesPartsEmpty: "test_coarse_axes_are_partitions_of_the_columns",
    SwallowsStrings: "test_measurements_of_strings_are_refused",
    TakesADifferenceForACount: "test_a_difference_of_two_values_is_followed",
}
"""Each with the test that must notice."""


def named_in_the_contract() -> Iterator[str]:
    return (n for n, _ in inspect.getmembers(NarrowHypothesisContract, inspect.isfunction) if n.startswith("test_"))


@pytest.mark.parametrize("wrong", WRONG, ids=name)
def test_the_contract_rejects(wrong: type[ExactHypothesis]) -> None:
    noticing: Callable[[MakeHypothesis], None] = getattr(NarrowHypothesisContract(), WRONG[wrong])
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        noticing(wrong)


def test_every_test_of_the_contract_rejects_something() -> None:
    assert set(named_in_the_contract()) == set(WRONG.values())
