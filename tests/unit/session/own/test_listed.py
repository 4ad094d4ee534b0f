"""Spare releases for listed strings: when, their noise, what they say, and what a row changes of what is counted."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import hypot, sqrt
from typing import Any

import numpy as np
import pytest

from dpsql.accounting.plan import NEWEST_MODELS
from dpsql.confidence import DEVIATIONS, error_bound
from dpsql.first.payload import RESIDUAL, decode_release
from dpsql.hypothesis import TableModel
from dpsql.planning import make_plan
from dpsql.planning.sensitivity import weighted_l2_squared
from dpsql.planning.shares import Shares
from dpsql.policy import Policy
from dpsql.query import LinearQuery
from dpsql.session.asker import Asker
from dpsql.session.own.own_noise import LISTED_TIMES
from dpsql.session.own.weighing import weighed
from dpsql.session.table_state import TableState
from tests.support.asking import ask, how, way_of
from tests.support.warm import Coins, Recorder, Shared
from tests.unit.first.test_text_start import TABLE, WORDS, asker_of, policy, word

SPARES = 8
FAR = 10**6
LISTED = ("k00", "k07", "r3", "r4", "absent")
TRUE = sum(w in LISTED for w in WORDS)


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """``of``: the error bar of every answer of the model."""
    known = {"of": FAR}
    monkeypatch.setattr(TableState, "error_bars", lambda state, queries: [known["of"]] * len(queries))
    return known


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[Fraction, int]]]:
    """No noise at all; (sigma, numbers) of each draw."""
    found: list[tuple[Fraction, int]] = []

    def nothing(coins: Coins, sigma: Fraction, size: int) -> list[int]:
        found.append((sigma, size))
        return [0] * size

    monkeypatch.setattr(Coins, "discrete_gaussian", nothing)
    yield found


def ruled(neighbors: Any = "add-remove") -> Policy:
    made = policy()
    return replace(made, privacy=replace(made.privacy, neighbors=neighbors))


def opened(rules: Policy, models: int = NEWEST_MODELS) -> tuple[Asker, Recorder]:
    plan = make_plan(rules)
    units = int(Fraction(3, 10) * Shares(plan, rules).spared_starts) // SPARES
    plan = replace(plan, spares=SPARES, spare_units=units, models=models)
    ledger = Shared({"plan": plan.to_json()}, [])
    asker, _ = asker_of(rules, ledger)
    ask(asker, word("k00"))
    ask(asker, word(*LISTED[:-1], a=[1, 0, 0]))  # strings that nobody showed are read, columns are measured
    return asker, ledger


def scarce(asker: Asker) -> float:
    """By how much a spare release has to be better than the model: there are too few for a thousand questions."""
    return sqrt(asker.fold.pace.need() / asker.states["t"].own.spares_left())


def listed(**finite: list[int]) -> LinearQuery:
    return word(*LISTED, **finite)


def test_listed_strings_with_wide_bars_are_counted_together(bars: dict[str, int]) -> None:
    asker, ledger = opened(ruled())
    del ledger.log[:]
    before = ledger.totals().spent
    assert way_of(asker, listed()) == "spare"
    words, error = how(asker, listed())
    answer = ask(asker, listed())
    assert ledger.log[-3:] == ["reserve", "noise", "release"]
    assert ledger.totals().spent - before == asker.plan.spare_units
    assert words == "a measurement of its own, for the model could be far off"
    assert (answer.error, answer.error_kind, answer.certified) == (error, "calibrated", False)
    assert answer.value is not None
    assert abs(answer.value - TRUE) <= 3 * (answer.error or 0.0)
    ask(asker, listed())
    assert ledger.totals().spent - before == asker.plan.spare_units


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_the_noise_is_what_the_charge_buys_for_what_a_row_changes(
    bars: dict[str, int], silent: list[tuple[Fraction, int]], neighbors: str
) -> None:
    asker, ledger = opened(ruled(neighbors))
    state = asker.states["t"]
    del silent[:]
    answer = ask(asker, listed())
    ((sigma, size),) = silent[-1:]
    change = {"add-remove": 1, "replace-one": 4}[neighbors]
    assert size == 1
    assert asker.plan.release_cost(sigma, change) <= asker.plan.spare_units
    assert asker.plan.release_cost(sigma * Fraction(999, 1000), change) > asker.plan.spare_units
    known = state.rows_known()
    assert known is not None
    assert answer.error == error_bound(hypot(float(sigma), known[1]) / 2.0)
    (_, measurement) = decode_release([e for e in ledger.events() if e.kind == "release"][-1].payload)[0]
    assert int(measurement.values) == 2 * TRUE - len(WORDS)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_what_is_counted_changes_by_no_more_than_the_noise_is_made_for(neighbors: Any) -> None:
    """Every table of four rows that count or not, and every neighbour: one row goes, comes, or is another."""
    off = [0]
    for rows in product((0, 1), repeat=4):
        value = 2 * sum(rows) - len(rows)
        others = [rows[:i] + rows[i + 1 :] for i in range(4)] + [(*rows, new) for new in (0, 1)]
        if neighbors == "replace-one":
            others += [(*rows[:i], 1 - rows[i], *rows[i + 1 :]) for i in range(4)]
        off += [abs(value - (2 * sum(other) - len(other))) for other in others]
    assert max(off) ** 2 == weighted_l2_squared(neighbors, TABLE, -1, 1)


@pytest.mark.parametrize("finite", [{}, {"a": [0, 1, 1]}, {"a": [1, 0, 0], "b": [0, 1]}])
def test_without_noise_it_is_the_true_count(
    bars: dict[str, int], silent: list[tuple[Fraction, int]], finite: dict[str, list[int]]
) -> None:
    asker, _ = opened(ruled())
    names = {"a": "xyz", "b": "uv"}
    columns = {"a": "xyzzx", "b": "uvv"}
    true = sum(
        w in LISTED and all(finite[c][names[c].index(columns[c][i % len(columns[c])])] for c in finite)
        for i, w in enumerate(WORDS)
    )
    assert way_of(asker, listed(**finite)) == "spare"
    assert ask(asker, listed(**finite)).value == true


def test_it_is_weighed_with_the_model(bars: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The release itself without noise, the model and the row count with that of the first look."""
    asker, _ = opened(ruled())
    monkeypatch.setattr(Coins, "discrete_gaussian", lambda coins, sigma, size: [0] * size)
    state = asker.states["t"]
    (sd,), known, model = state.own.spare_sds([listed()]), state.rows_known(), state.model
    assert known is not None
    assert model is not None
    monkeypatch.setattr(TableModel, "estimate", lambda _, query: float(TRUE) + 14.0)  # far enough to be told apart
    bars["of"] = int(1.2 * scarce(asker) * LISTED_TIMES * DEVIATIONS * sd)
    said, one, measured = model.estimate(listed()), np.ones(1), (2 * TRUE - len(WORDS) + known[0]) / 2
    answer = ask(asker, listed())
    for times, is_it in ((LISTED_TIMES, True), (1.0, False)):
        bar = bars["of"] / DEVIATIONS / times * one
        ((expected,), _) = weighed(measured * one, sd * one, said * one, bar)
        assert (abs((answer.value or 0) - expected) <= 0.6) == is_it


@pytest.mark.parametrize(("times", "spare"), [(0.95, False), (1.15, True)])
def test_the_bar_is_compared_with_that_of_the_noise(bars: dict[str, int], times: float, spare: bool) -> None:
    asker, _ = opened(ruled())
    (sd,) = asker.states["t"].own.spare_sds([listed()])
    bars["of"] = round(times * scarce(asker) * LISTED_TIMES * DEVIATIONS * sd)
    assert (way_of(asker, listed()) == "spare") == spare


def test_only_one_count_of_listed_strings_is(bars: dict[str, int]) -> None:
    asker, _ = opened(ruled())
    state = asker.states["t"]
    assert state.own.wants_spare([listed()])
    assert not state.own.wants_spare([word("k00"), word("k01")])
    half = replace(listed(), keyed=replace(listed().keyed, unit=2))  # type: ignore[type-var]
    assert not state.own.wants_spare([half])


def test_older_ledgers_test_them(bars: dict[str, int]) -> None:
    asker, _ = opened(ruled(), models=8)
    assert way_of(asker, listed()) == "test"


def test_a_restart_knows_the_answer_and_learns_nothing_from_it(bars: dict[str, int]) -> None:
    rules = ruled()
    asker, ledger = opened(rules)
    answer = ask(asker, listed())
    payload = [e for e in ledger.events() if e.kind == "release"][-1].payload
    assert (payload["kind"], payload["lessons"]) == (RESIDUAL, [])
    again, _ = asker_of(rules, ledger, 2)
    assert ask(again, listed()).value == answer.value
    assert again.states["t"].misfit.times(3) == 1.0
    assert again.states["t"].own.spares_left() == SPARES - 2
