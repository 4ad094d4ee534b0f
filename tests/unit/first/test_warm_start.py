"""The warm start in a session: order of durable steps, kills between them, replay, the budget, what is answered how."""

from concurrent.futures import ThreadPoolExecutor, wait
from re import fullmatch
from typing import Any

import numpy as np
import pytest

from dpsql.engine.memory import MemoryEngine
from dpsql.errors import BudgetExhausted, EngineError
from dpsql.ledger.event import Totals
from dpsql.planning import make_plan
from dpsql.planning.shares import Shares
from dpsql.private import Private
from dpsql.query import Counts, linear_query
from dpsql.session.asker import Asker
from tests.support.asking import ask, ask_all, how
from tests.support.simulated import table_of
from tests.support.warm import (
    DATA,
    NARROW,
    ROWS,
    WIDE,
    Coins,
    Recorder,
    asker_of,
    columns_of,
    ledger_of,
    one_of,
    policy,
    query,
    unit,
    warm_reserved,
)

# --- the steps --------------------------------------------------------------------------------------------------


def test_everything_is_durable_before_the_next_coin() -> None:
    rules = policy()
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    ask(asker, one_of(NARROW, "a", "b"))
    steps = "".join({"reserve": "r", "noise": "n", "release": "!", "coin": "c"}[step] for step in ledger.log)
    assert fullmatch("rn!(rn+!)+rcc", steps)  # the row count, the contingencies, the test


def test_the_row_count_alone_needs_no_warm_start() -> None:
    rules = policy()
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    total = linear_query(NARROW, [])
    assert total is not None
    answer = ask(asker, total)
    assert (answer.source, answer.error_kind, ledger.log) == ("measurement", "exact", ["reserve", "noise", "release"])
    assert warm_reserved(ledger) == []


def test_answers_are_near_the_truth_with_a_calibrated_bar_and_a_certificate() -> None:
    rules = policy()
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    state = asker.states["t"]
    inside = []
    for a in range(12):
        for b in range(8):
            q = query(NARROW, a=unit(12, a), b=unit(8, b))
            answer = ask(asker, q)
            truth = sum(x == a and y == f"b{b}" for x, y in zip(DATA[NARROW]["a"], DATA[NARROW]["b"], strict=True))
            assert (answer.source, answer.error_kind) == ("hypothesis", "calibrated")
            assert answer.certified_bound == state.plan.bound
            assert answer.error is not None
            assert answer.value is not None
            assert answer.error < state.plan.bound / 2
            inside.append(abs(answer.value - truth) <= answer.error)
    assert np.mean(inside) >= 0.9
    assert asker.payments_left() >= asker.plan.hard_rounds - 1


def test_the_whole_table_is_measured_when_its_noise_is_smaller() -> None:
    table = table_of((3, 2))
    DATA[table] = columns_of(table)
    rules = policy(table)
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    answer = ask(asker, one_of(table, "a", "b"))
    assert set(warm_reserved(ledger)) == {("a", "b")}
    assert (answer.source, answer.error_kind) == ("measurement", "exact")  # one cell of an accurate table


def test_cells_of_a_group_by_add_up_to_the_whole() -> None:
    rules = policy()
    asker, _ = asker_of(rules, ledger_of(rules))
    cells = [query(NARROW, a=unit(12, a), b=unit(8, b)) for a in range(12) for b in range(8)]
    parts = ask_all(asker, cells)
    wholes = ask_all(asker, [query(NARROW, a=unit(12, a)) for a in range(12)])
    for a, whole in enumerate(wholes):
        assert whole.value is not None
        assert abs(sum(p.value or 0 for p in parts[8 * a : 8 * a + 8]) - whole.value) <= 4  # roundings alone
    assert sum(p.charged > 0 for p in parts) == 1


def test_a_hard_cell_brings_all_cells_of_its_statement_from_one_measurement() -> None:
    rules = policy()
    ledger = ledger_of(rules)
    asker, coins = asker_of(rules, ledger)
    ask(asker, one_of(NARROW, "a"))
    coins.hard = True
    cells = [query(NARROW, a=unit(12, a), c=unit(5, 0)) for a in range(12)]
    answers = ask_all(asker, cells)
    assert {a.source for a in answers} == {"measurement"}
    assert [a.charged > 0 for a in answers] == [True] + [False] * 11
    assert ledger.log[-2:] == ["noise", "release"]
    assert ledger.log.count("hard") == 1
    assert all(asker.known(q) is not None for q in cells)


def test_the_end_of_the_hard_rounds_leaves_error_bars_but_no_certificate() -> None:
    rules = policy(hard_rounds=1)
    ledger = ledger_of(rules)
    asker, coins = asker_of(rules, ledger)
    coins.hard = True
    assert ask(asker, one_of(NARROW, "a", "b")).charged > 0
    answer = ask(asker, one_of(NARROW, "b", "c"))
    assert (answer.certified, answer.certified_bound, answer.error_kind) == (False, None, "calibrated")
    assert answer.error is not None
    totals = ledger.totals()
    assert totals.reserved == 0
    assert totals.spent <= asker.plan.total_units
    assert asker.payments_left() == 0
    refusing, _ = asker_of(policy(hard_rounds=1, when_spent="refuse"), ledger, 2)
    with pytest.raises(BudgetExhausted):
        ask(refusing, one_of(NARROW, "c", "d"))


def test_hard_rounds_widen_the_bars_of_three_columns_and_more() -> None:
    rules = policy()
    asker, coins = asker_of(rules, ledger_of(rules))
    two, three = one_of(NARROW, "a", "b"), one_of(NARROW, "a", "b", "c")
    ask(asker, one_of(NARROW, "a"))
    state = asker.states["t"]
    state.wide_hard_rounds = 10
    wide, same = state.error_bar(three), state.error_bar(two)
    state.wide_hard_rounds = 0
    narrow = state.error_bar(three)
    assert wide is not None
    assert narrow is not None
    assert 1.4 * narrow <= wide <= 1.6 * narrow + 1
    assert state.error_bar(two) == same
    coins.hard = True
    ask(asker, one_of(NARROW, "b", "c"))
    assert state.wide_hard_rounds == 0  # two columns say nothing of interactions
    ask(asker, one_of(NARROW, "b", "c", "d"))
    assert state.wide_hard_rounds == 1


def test_no_certificate_is_shown_that_would_say_nothing() -> None:
    rules = policy(epsilon=1)
    asker, _ = asker_of(rules, ledger_of(rules))
    answer = ask(asker, one_of(NARROW, "a", "b"))
    assert asker.states["t"].plan.theta > 0.05 * ROWS
    assert (answer.certified, answer.certified_bound) == (False, None)
    assert answer.error is not None


# --- kills, restarts, other sessions ------------------------------------------------------------------------------


def test_a_new_process_has_the_same_state_to_the_last_bit() -> None:
    rules = policy()
    ledger = ledger_of(rules)
    asker, coins = asker_of(rules, ledger)
    ask(asker, one_of(NARROW, "a", "b"))
    coins.hard = True
    ask(asker, one_of(NARROW, "a", "b", "c"))
    second, _ = asker_of(rules, ledger, 9)
    for q in (one_of(NARROW, "a"), one_of(NARROW, "b", "d"), one_of(NARROW, "a", "c", "d")):
        ours, theirs = asker.states["t"], second.states["t"]
        assert ours.model is not None
        assert theirs.model is not None
        assert ours.model.estimate(q).hex() == theirs.model.estimate(q).hex()
        assert ours.error_bar(q) == theirs.error_bar(q) is not None
        assert how(second, q) == how(asker, q)
    assert second.purses.shares() == asker.purses.shares()
    spent = ledger.totals().spent
    ask(second, one_of(NARROW, "c", "d"))
    assert ledger.totals().spent == spent


@pytest.mark.parametrize("stop_at", [1, 2, 3, 7, 20, 29])
def test_a_kill_among_the_noise_loses_one_reservation_and_the_next_process_measures_it_again(stop_at: int) -> None:
    rules = policy(WIDE)
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger, stop_at=stop_at)
    ledger.killed = True
    with pytest.raises(KeyboardInterrupt):
        ask(asker, one_of(WIDE, "a", "b", "c"))
    asker.close()
    ledger.recover()
    ledger.killed = False
    second, coins = asker_of(rules, ledger, 2)
    answer = ask(second, one_of(WIDE, "f", "g", "h"))
    assert answer.value is not None
    model = second.states["t"].model
    assert model is not None
    assert len({m.scope for m in model.hypothesis.measurements}) == len(model.hypothesis.measurements) == 8 + 28
    costs = {e.sequence: e.cost for e in ledger.events() if e.kind == "reserve"}
    (lost,) = (e for e in ledger.events() if e.kind == "burn")
    assert lost.cost == costs[lost.reservation] <= 0.05 * second.plan.total_units
    before, _ = asker_of(rules, ledger_of(rules))
    ask(before, one_of(WIDE, "f", "g", "h"))
    plain = before.states["t"].model
    assert plain is not None
    sigmas = {m.scope: m.sigma for m in plain.hypothesis.measurements}
    assert all(m.sigma <= 1.1 * sigmas[m.scope] for m in model.hypothesis.measurements)
    coins.hard = True
    for i in range(12):
        ask(second, query(WIDE, b=unit(9, i % 9), c=unit(8, i % 8), d=unit(7, 0)))
        assert ledger.totals().spent + ledger.totals().reserved <= second.plan.total_units
    assert second.payments_left() == 0


def test_an_engine_failure_charges_nothing_for_the_warm_start() -> None:
    class Failing(MemoryEngine):
        broken = True

        def contingency(self, table: str, columns: tuple[str, ...]) -> Private[Counts]:
            if columns and self.broken:
                raise EngineError("gone")
            return super().contingency(table, columns)

    rules = policy()
    ledger = ledger_of(rules)
    plan = make_plan(rules)
    engine = Failing(rules, {"t": DATA[NARROW]})
    asker = Asker(rules, plan, engine, ledger, Coins(1, ledger.log))
    with pytest.raises(EngineError):
        ask(asker, one_of(NARROW, "a"))
    assert ledger.totals() == Totals(Shares(plan, rules).row_count(NARROW), 0)
    engine.broken = False
    assert ask(asker, one_of(NARROW, "a")).charged > 0


def test_an_interrupted_session_measures_again_what_it_lost_and_keeps_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dpsql.first.turns.sleep", lambda _: pytest.fail("waits for nobody"))
    rules = policy()
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger, stop_at=4)
    with pytest.raises(KeyboardInterrupt):
        ask(asker, one_of(NARROW, "a"))
    answer = ask(asker, one_of(NARROW, "a"))
    assert answer.value is not None
    other, _ = asker_of(rules, ledger, 2)
    assert ask(other, one_of(NARROW, "b")).charged == 0.0
    plan = asker.plan
    assert ledger.totals().spent + ledger.totals().reserved <= plan.total_units


def test_a_session_waits_for_another_that_is_measuring(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = policy()
    ledger = ledger_of(rules)
    first, _ = asker_of(rules, ledger)
    second, _ = asker_of(rules, ledger, 2)
    original, answered = ledger.release, []

    def meanwhile(reservation: int, payload: Any, answers: Any = ()) -> None:
        warm = first.states["t"].touches.warm
        if warm_reserved(ledger) and warm.unbegun_units() == 0 and not answered:  # under way is the last one
            with ThreadPoolExecutor(1) as pool:
                waiting = pool.submit(ask, second, one_of(NARROW, "a"))
                assert not wait([waiting], timeout=0.2).done
                original(reservation, payload, answers)
                answered.append(waiting.result(60))
        else:
            original(reservation, payload, answers)

    monkeypatch.setattr(ledger, "release", meanwhile)
    ours = ask(first, one_of(NARROW, "b"))
    assert ours.charged > 0
    (theirs,) = answered
    assert (theirs.charged, theirs.error_kind) == (0.0, "calibrated")
    model = second.states["t"].model
    assert model is not None
    assert len(model.hypothesis.measurements) == 4 + 6 + 4


def test_two_sessions_measure_nothing_twice() -> None:
    rules = policy()
    ledger = ledger_of(rules)
    first, _ = asker_of(rules, ledger)
    second, _ = asker_of(rules, ledger, 2)
    ask(first, one_of(NARROW, "a"))
    steps = warm_reserved(ledger)
    assert len(set(steps)) == 4 + 6 + 4
    second.catch_up()
    ask(second, one_of(NARROW, "b"))
    assert warm_reserved(ledger) == steps
    assert second.payments_left() == second.plan.hard_rounds - 1  # the first session keeps one in reserve
    assert first.payments_left() == first.plan.hard_rounds - 1


def test_progress_is_told_from_the_first_contingency_to_the_last_simulation() -> None:
    told: list[tuple[str, str, int, int]] = []
    rules = policy(WIDE)
    Recorder.lessons.clear()
    asker, _ = asker_of(rules, ledger_of(rules))
    asker.on_progress = lambda *step: told.append(step)
    asker.states[WIDE.name].on_progress = asker.on_progress
    ask_all(asker, [one_of(WIDE, "a", "b", "c")])
    assert list(dict.fromkeys(what for _, what, _, _ in told)) == ["contingencies", "simulations for error bars"]
    assert {table for table, _, _, _ in told} == {WIDE.name}
    for what in ("contingencies", "simulations for error bars"):
        steps = [(done, of) for _, found, done, of in told if found == what]
        assert steps == sorted(steps) and all(done < of for done, of in steps)
