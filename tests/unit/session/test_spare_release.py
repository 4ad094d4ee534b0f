"""Noise of their own for questions that local models could answer badly: when, how many, what is durable and left.

What residual releases do otherwise: tests/unit/session/own.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpsql.accounting.plan import NEWEST_MODELS
from dpsql.errors import BudgetExhausted, LedgerError
from dpsql.planning import plan_tables
from dpsql.planning.measured_axes import own_sds
from dpsql.planning.plans import SPARE_QUESTIONS
from dpsql.policy import Policy
from dpsql.query import Factor, LinearQuery, linear_query
from dpsql.session.asker import Asker
from dpsql.session.own.release import KEPT_CELLS
from dpsql.session.table_state import TableState
from tests.support.asking import ask, ask_all, how, way_of
from tests.support.warm import WIDE, Coins, Recorder, asker_of, ledger_of, policy, query, unit

PLANNED = 24
SPARES = int(SPARE_QUESTIONS * PLANNED)
FAR, NEAR = 10**6, 1
WHOLE = 3


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """``of``: the error bar of every answer of the model over several columns."""
    known = {"of": FAR, "of the first": NEAR}
    monkeypatch.setattr(
        TableState,
        "error_bars",
        lambda state, queries: [known["of" if len(q.scope) > 1 else "of the first"] for q in queries],
    )
    return known


def rules_of(neighbors: Any = "add-remove", **mechanism: Any) -> Policy:
    made = policy(WIDE, 1, neighbors, **mechanism)
    return replace(made, privacy=replace(made.privacy, planned_queries=PLANNED))


def opened(
    rules: Policy, seed: int = 1, stop_at: int = 0, models: int = NEWEST_MODELS
) -> tuple[Asker, Recorder, Coins]:
    """``models``: the rules; those before residual releases (WHOLE) measure the whole question."""
    ledger = ledger_of(rules, spares=True, models=models)
    asker, coins = asker_of(rules, ledger, seed, stop_at)
    assert asker.plan.spares == SPARES
    return asker, ledger, coins


def three(a: int = 0, b: int = 0, c: int = 0) -> LinearQuery:
    return query(WIDE, a=unit(40, a), b=unit(9, b), c=unit(8, c))


def purposes(ledger: Recorder) -> list[str]:
    freed = {e.reservation for e in ledger.events() if e.kind == "free"}
    return [e.payload["purpose"] for e in ledger.events() if e.kind == "reserve" and e.reservation not in freed]


def spent_on_spares(asker: Asker) -> float:
    (found,) = [spent for name, spent, _ in asker.purses.shares() if name == "spare releases"]
    return found


# --- when -----------------------------------------------------------------------------------------------------------


def test_a_question_that_the_model_could_answer_badly_gets_noise_of_its_own(bars: dict[str, int]) -> None:
    asker, ledger, _ = opened(rules_of(), models=WHOLE)
    ask(asker, query(WIDE, a=unit(40, 0)))
    before = ledger.totals().spent
    del ledger.log[:]
    assert way_of(asker, three()) == "spare"
    answer = ask(asker, three())
    assert ledger.log == ["reserve", "noise", "release"]  # durable before the noise; no coin, so no test
    assert purposes(ledger)[-1] == "spare"
    spare = asker.states["t"].plan.spare
    assert ledger.totals().spent - before == spare.units == asker.plan.spare_units
    assert answer.charged == pytest.approx(asker.plan.as_epsilon(spare.units)) == spent_on_spares(asker)
    assert (answer.source, answer.error_kind) == ("measurement", "exact")
    assert answer.error == np.ceil(1.96 * float(spare.sigma))


@pytest.mark.parametrize(("times", "way"), [(0.95, "test"), (1.05, "spare")])
def test_the_bar_is_compared_with_that_of_the_noise(bars: dict[str, int], times: float, way: str) -> None:
    asker, _, _ = opened(rules_of(), models=WHOLE)
    ask(asker, query(WIDE, a=unit(40, 0)))
    (sd,) = own_sds([three()], float(asker.states["t"].plan.spare.sigma))
    bars["of"] = int(times * 1.96 * sd)
    assert way_of(asker, three()) == way


def test_what_is_explained_is_what_is_charged(bars: dict[str, int]) -> None:
    asker, _, _ = opened(rules_of())
    ask(asker, query(WIDE, a=unit(40, 0)))
    words, error = how(asker, three())
    answer = ask(asker, three())
    assert words == "a measurement of its own, for the model could be far off"
    assert error == answer.error


def test_the_cells_of_a_group_by_are_one_release(bars: dict[str, int]) -> None:
    asker, ledger, _ = opened(rules_of(), models=WHOLE)
    ask(asker, query(WIDE, a=unit(40, 0)))
    before = ledger.totals().spent
    group = [query(WIDE, a=unit(40, 1), b=unit(9, b), c=unit(8, 2)) for b in range(9)]
    answers = ask_all(asker, group)
    assert ledger.totals().spent - before == asker.plan.spare_units
    assert sum(a.charged > 0 for a in answers) == 1
    again = ask(asker, query(WIDE, a=unit(40, 1), b=unit(9, 3), c=unit(8, 2)))
    assert (again.value, again.charged) == (answers[3].value, 0.0)


def test_no_model_is_fitted_to_a_spare_release(bars: dict[str, int]) -> None:
    asker, _, _ = opened(rules_of())
    ask(asker, query(WIDE, a=unit(40, 0)))
    ask_all(asker, [query(WIDE, b=unit(9, 0), c=unit(8, 0), d=unit(7, 0))])
    model = asker.states["t"].model
    assert model is not None
    fitted, known = len(model.hypothesis.measurements), len(model.contingencies)
    ask(asker, query(WIDE, b=unit(9, 1), c=unit(8, 1), d=unit(7, 1)))
    assert len(model.hypothesis.measurements) == fitted
    assert len(model.contingencies) == known


def test_the_grid_of_a_large_condition_is_not_kept(bars: dict[str, int]) -> None:
    asker, ledger, _ = opened(rules_of(), models=WHOLE)
    columns = ("a", "b", "c", "d", "e")
    weights = np.zeros(WIDE.shape(columns), dtype=np.int64)
    weights[0] = weights[:, 0] = weights[:, :, 0, 0] = 1
    weights[..., 0] = 1
    assert weights.size > KEPT_CELLS
    either = linear_query(WIDE, [Factor(columns, weights)])
    assert either is not None
    answer = ask(asker, either)
    payload = [e for e in ledger.events() if e.kind == "release"][-1].payload
    assert (payload["kind"], payload["axes"], payload["values"]) == ("one count", [], [answer.value])
    second, _ = asker_of(rules_of(), ledger, 9)
    assert ask(second, either).value == answer.value


# --- how many -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("when_spent", ["uncertified", "refuse"])
def test_when_all_are_made_the_model_answers(bars: dict[str, int], neighbors: Any, when_spent: Any) -> None:
    asker, ledger, _ = opened(rules_of(neighbors, when_spent=when_spent))
    for i in range(SPARES + 3):
        assert way_of(asker, three(i)) == ("spare" if i < SPARES else "test")
        ask(asker, three(i))
        totals = ledger.totals()
        assert totals.spent + totals.reserved <= asker.plan.total_units
    assert purposes(ledger).count("spare") == SPARES
    assert spent_on_spares(asker) == pytest.approx(asker.plan.as_epsilon(SPARES * asker.plan.spare_units))
    assert asker.payments_left() == asker.plan.hard_rounds  # they take nothing from the hard rounds


def test_a_statement_is_planned_for_as_many_as_are_left(bars: dict[str, int]) -> None:
    asker, _, _ = opened(rules_of())
    for i in range(SPARES - 1):
        ask(asker, three(i))
    two = [three(30), query(WIDE, d=unit(7, 0), e=unit(6, 0), f=unit(5, 0))]
    assert [type(r).__name__ for r in asker.routes(two)] == ["SpareRelease", "Tested"]
    assert sum(r.payments for r in asker.routes(two)) == 1


def test_what_was_kept_for_them_may_be_spent(bars: dict[str, int]) -> None:
    """By synthetic tables: then none is promised, and nothing is said to be charged."""
    asker, ledger, _ = opened(rules_of(when_spent="refuse"))
    ask(asker, query(WIDE, a=unit(40, 0)))
    ask_all(asker, [query(WIDE, a=unit(40, 0), b=unit(9, 1))])
    assert way_of(asker, three()) == "spare"
    left = asker.turns.affordable_beside() - asker.plan.spare_units
    ledger.reserve(left, lambda _: None, {"purpose": "other", "burn": left})
    assert way_of(asker, three()) == "spare"  # it pays for one
    rest = asker.plan.spare_units
    ledger.reserve(rest, lambda _: None, {"purpose": "other", "burn": rest})
    assert way_of(asker, three()) == "uncertified"
    before = ledger.totals()
    with pytest.raises(BudgetExhausted):
        ask(asker, three())
    assert ledger.totals() == before


def test_a_kill_among_the_noise_loses_one(bars: dict[str, int]) -> None:
    rules = rules_of()
    asker, ledger, _ = opened(rules)
    ask(asker, query(WIDE, a=unit(40, 0)))
    ask_all(asker, [query(WIDE, a=unit(40, 0), b=unit(9, 1))])
    killed, _ = asker_of(rules, ledger, 3, stop_at=1)
    with pytest.raises(KeyboardInterrupt):
        ask(killed, three())
    ledger.recover()
    second, _ = asker_of(rules, ledger, 2)
    assert second.known(three()) is None
    for i in range(SPARES + 1):
        ask(second, three(i))
        assert ledger.totals().spent + ledger.totals().reserved <= second.plan.total_units
    assert purposes(ledger).count("spare") == SPARES  # the lost one among them
    assert sum(e.kind == "burn" for e in ledger.events()) == 1


def test_two_sessions_do_not_make_more_than_there_are(bars: dict[str, int]) -> None:
    rules = rules_of()
    asker, ledger, _ = opened(rules)
    for i in range(SPARES - 1):
        ask(asker, three(i))
    other = ledger.reserve(asker.plan.spare_units, lambda _: None, {"purpose": "spare", "table": "t", "burn": 1})
    answer = ask(asker, three(30))  # its fold has not seen the other's yet
    assert answer.source == "hypothesis" or answer.charged != asker.plan.as_epsilon(asker.plan.spare_units)
    ledger.free(other)
    asker.catch_up()
    assert way_of(asker, three(31)) == "spare"


def test_a_new_process_has_the_same_state(bars: dict[str, int]) -> None:
    rules = rules_of()
    asker, ledger, _ = opened(rules)
    answer = ask(asker, three())
    second, _ = asker_of(rules, ledger, 9)
    assert second.purses.shares() == asker.purses.shares()
    assert ask(second, three()).value == answer.value
    model, again = asker.states["t"].model, second.states["t"].model
    assert model is not None
    assert again is not None
    assert model.estimate(three(5)).hex() == again.estimate(three(5)).hex()


# --- the noise ------------------------------------------------------------------------------------------------------


def test_all_of_them_cost_the_share_that_the_plan_keeps() -> None:
    """sigma^2 = 4 + (1 / precision of one), the plan's own charge for it, and never more in all than the releases'."""
    for neighbors in ("add-remove", "replace-one"):
        rules = rules_of(neighbors)
        asker, _, _ = opened(rules)
        plan = asker.plan
        table = plan_tables(plan, rules)["t"]
        assert plan.release_cost(table.spare.sigma, table.l2_squared) <= plan.spare_units
        assert plan.spares * plan.spare_units + table.warm_units + table.row_count.units <= plan.release_budget


def test_a_wrong_sampler_would_be_seen(bars: dict[str, int]) -> None:
    """240 cells of one release scatter as its sigma says: half or twice the noise is refused."""
    asker, _, _ = opened(rules_of(), models=WHOLE)
    ask(asker, query(WIDE, a=unit(40, 0)))
    group = [three(a, b, 0) for a in range(40) for b in range(6)]
    answers = ask_all(asker, group)
    counts = asker.bench.engine.contingency("t", ("a", "b", "c"))
    found = np.array([a.value or 0 for a in answers])
    off = counts.map(lambda cells: float((found - cells[:, :6, 0].reshape(-1)).std()))
    ratio = off.map(lambda sd: sd / float(asker.states["t"].plan.spare.sigma))
    assert ratio.map(lambda r: 0.85 < r < 1.15).reveal()
    assert not ratio.map(lambda r: 0.85 < r / 2 < 1.15 or 0.85 < 2 * r < 1.15).reveal()


# --- ledgers of other rules, and broken ones ------------------------------------------------------------------------


@pytest.mark.parametrize("models", [3, 4])
def test_a_row_that_counts_by_a_fraction_is_compared_with_its_own_noise(bars: dict[str, int], models: int) -> None:
    """Which is less than what a conjunction would leave open: there is no short cut."""
    asker, _, _ = opened(rules_of(), models=models)
    ask(asker, query(WIDE, a=unit(40, 0)))
    factors = [Factor(("a",), np.array([5, *[0] * 39]), 256), *three().factors[1:]]
    fraction = linear_query(WIDE, factors)
    assert fraction is not None
    (sd,) = own_sds([fraction], float(asker.states["t"].plan.spare.sigma))
    bars["of"] = int(np.ceil(1.96 * sd)) + 1
    assert way_of(asker, fraction) == "spare"


@pytest.mark.parametrize("spares", ["2", 0, -1, 1.5, None])
def test_a_ledger_that_does_not_say_how_many_is_refused(bars: dict[str, int], spares: Any) -> None:
    asker, ledger, _ = opened(rules_of())
    ledger.reserve(1, lambda _: None, {"purpose": "spare", "table": "t", "burn": 1, "spares": spares})
    with pytest.raises(LedgerError, match="cannot be read"):
        asker.catch_up()
