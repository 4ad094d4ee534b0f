"""The warm start in a session: order of durable steps, kills between them, replay, the budget, what is answered how."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import pytest

from dpsql.accounting import Plan
from dpsql.domain import TableDomain
from dpsql.engine.memory_engine import MemoryEngine
from dpsql.errors import BudgetExhausted, EngineError, OperationalError
from dpsql.hypothesis import DenseHypothesis, WideHypothesis
from dpsql.ledger import MemoryLedger
from dpsql.ledger.event import Totals
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.private import Private
from dpsql.query import Counts, Factor, LinearQuery, linear_query
from dpsql.session.asking import Asker
from dpsql.session.planning import HARD_ROUNDS, make_plan, total_cost, warm_units
from dpsql.session.warm_starting import PURPOSE
from tests.support.entropy import SeededEntropy
from tests.support.simulated import table_of

ROWS = 4000
NARROW = table_of((12, 8, 5, 4), (True,))
WIDE = table_of((40, 9, 8, 7, 6, 5, 4, 3), (True,))
MANY = table_of((3,) * 18)


def columns_of(table: TableDomain, seed: int = 5) -> dict[str, list[Any]]:
    """Rows whose columns lean on the first one."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 1000, ROWS)
    out: dict[str, list[Any]] = {}
    for i, c in enumerate(table.finite):
        codes = (first // (i + 1) + rng.integers(0, 2, ROWS)) % c.size
        out[c.name] = [c.values[code] for code in codes.tolist()]
    return out


DATA = {table: columns_of(table) for table in (NARROW, WIDE, MANY)}


def policy(table: TableDomain = NARROW, epsilon: int = 4, neighbors: Any = "add-remove", **mechanism: Any) -> Policy:
    privacy = Privacy(Fraction(epsilon), Fraction(1, 10**6), neighbors, planned_queries=1000)
    return Policy(privacy, (table,), Mechanism(**mechanism))


def query(table: TableDomain, **weights: list[int]) -> LinearQuery:
    factors = [Factor((c.name,), np.array(weights[c.name])) for c in table.finite if c.name in weights]
    found = linear_query(table, factors)
    assert found is not None
    return found


def unit(size: int, code: int) -> list[int]:
    return [int(i == code) for i in range(size)]


def one_of(table: TableDomain, *columns: str) -> LinearQuery:
    """The first value of each column."""
    return query(table, **{c: unit(table.finite_domain(c).size, 0) for c in columns})


class Recorder(MemoryLedger):
    def __init__(self, header: dict[str, str], log: list[str]) -> None:
        super().__init__(header)
        self.log = log

    def reserve(self, cost: int, check: Callable[[Totals], None], payload: Any) -> int:
        number = super().reserve(cost, check, payload)
        self.log.append("reserve")
        return number

    def hard(self, reservation: int, payload: Any) -> None:
        super().hard(reservation, payload)
        self.log.append("hard")

    def release(self, reservation: int, payload: Any, answers: Any = ()) -> None:
        super().release(reservation, payload, answers)
        self.log.append("release")


class Shared(Recorder):
    def changed(self) -> bool:
        return True


class Coins(SeededEntropy):
    """Writes down when it is used; ``stop_at``: the draw of noise that the process does not survive."""

    def __init__(self, seed: int, log: list[str], stop_at: int = 0) -> None:
        super().__init__(seed)
        self.log = log
        self.draws = 0
        self.stop_at = stop_at
        self.hard = False

    def bits(self, n: int) -> int:
        self.log.append("coin")
        return (1 << n) - 1 if self.hard else super().bits(n)

    def discrete_gaussian(self, sigma: Fraction, size: int) -> list[int]:
        self.log.append("noise")
        self.draws += 1
        if self.draws == self.stop_at:
            raise KeyboardInterrupt
        return super().discrete_gaussian(sigma, size)


def ledger_of(rules: Policy) -> Recorder:
    return Shared({"plan": make_plan(rules).to_json()}, [])


def asker_of(rules: Policy, ledger: Recorder, seed: int = 1, stop_at: int = 0) -> tuple[Asker, Coins]:
    plan = Plan.from_json(ledger.header["plan"])
    coins = Coins(seed, ledger.log, stop_at)
    engine = MemoryEngine(rules, {t.name: DATA[t] for t in rules.tables})
    return Asker(rules, plan, engine, ledger, coins), coins


def warm_reserved(ledger: Recorder) -> list[tuple[str, ...]]:
    events = [e for e in ledger.events() if e.kind == "reserve" and e.payload["purpose"] == PURPOSE]
    return [tuple(c) for e in events for c in e.payload["columns"]]


# --- the steps --------------------------------------------------------------------------------------------------


def test_everything_is_durable_before_the_next_coin() -> None:
    rules = policy()
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    asker.ask(one_of(NARROW, "a", "b"))
    contingencies = 6 + 4  # all pairs and triples of four columns, under one reservation
    count, warm_start = ["reserve", "noise", "release"], ["reserve", *["noise"] * contingencies, "release"]
    assert ledger.log == [*count, *warm_start, "reserve", "coin", "coin"]


def test_the_row_count_alone_needs_no_warm_start() -> None:
    rules = policy()
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    total = linear_query(NARROW, [])
    assert total is not None
    answer = asker.ask(total)
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
            answer = asker.ask(q)
            truth = sum(x == a and y == f"b{b}" for x, y in zip(DATA[NARROW]["a"], DATA[NARROW]["b"], strict=True))
            assert (answer.source, answer.error_kind) == ("hypothesis", "calibrated")
            assert answer.certified_bound == state.bound
            assert answer.error is not None
            assert answer.value is not None
            assert answer.error < state.bound / 2
            inside.append(abs(answer.value - truth) <= answer.error)
    assert np.mean(inside) >= 0.9
    assert asker.hard_rounds_left() >= 9


def test_the_whole_table_is_measured_when_its_noise_is_smaller() -> None:
    table = table_of((3, 2))
    DATA[table] = columns_of(table)
    rules = policy(table)
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    answer = asker.ask(one_of(table, "a", "b"))
    assert warm_reserved(ledger) == [("a", "b")]
    assert (answer.source, answer.error_kind) == ("measurement", "exact")  # one cell of an accurate table


def test_cells_of_a_group_by_add_up_to_the_whole() -> None:
    rules = policy()
    asker, _ = asker_of(rules, ledger_of(rules))
    cells = [query(NARROW, a=unit(12, a), b=unit(8, b)) for a in range(12) for b in range(8)]
    parts = asker.ask_together(cells)
    wholes = asker.ask_together([query(NARROW, a=unit(12, a)) for a in range(12)])
    for a, whole in enumerate(wholes):
        assert whole.value is not None
        assert abs(sum(p.value or 0 for p in parts[8 * a : 8 * a + 8]) - whole.value) <= 4  # roundings alone
    assert sum(p.charged > 0 for p in parts) == 1


def test_a_hard_cell_brings_all_cells_of_its_statement_from_one_measurement() -> None:
    rules = policy()
    ledger = ledger_of(rules)
    asker, coins = asker_of(rules, ledger)
    asker.ask(one_of(NARROW, "a"))
    coins.hard = True
    cells = [query(NARROW, a=unit(12, a), c=unit(5, 0)) for a in range(12)]
    answers = asker.ask_together(cells)
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
    assert asker.ask(one_of(NARROW, "a", "b")).charged > 0
    answer = asker.ask(one_of(NARROW, "b", "c"))
    assert (answer.certified, answer.certified_bound, answer.error_kind) == (False, None, "calibrated")
    assert answer.error is not None
    totals = ledger.totals()
    assert totals.reserved == 0
    assert totals.spent <= asker.plan.total_units
    assert asker.hard_rounds_left() == 0
    refusing, _ = asker_of(policy(hard_rounds=1, when_spent="refuse"), ledger, 2)
    with pytest.raises(BudgetExhausted):
        refusing.ask(one_of(NARROW, "c", "d"))


def test_no_certificate_is_shown_that_would_say_nothing() -> None:
    rules = policy(epsilon=1)
    asker, _ = asker_of(rules, ledger_of(rules))
    answer = asker.ask(one_of(NARROW, "a", "b"))
    assert asker.states["t"].theta > 0.05 * ROWS
    assert (answer.certified, answer.certified_bound) == (False, None)
    assert answer.error is not None


# --- kills, restarts, other sessions ------------------------------------------------------------------------------


def test_a_new_process_has_the_same_state_to_the_last_bit() -> None:
    rules = policy()
    ledger = ledger_of(rules)
    asker, coins = asker_of(rules, ledger)
    asker.ask(one_of(NARROW, "a", "b"))
    coins.hard = True
    asker.ask(one_of(NARROW, "a", "b", "c"))
    second, _ = asker_of(rules, ledger, 9)
    for q in (one_of(NARROW, "a"), one_of(NARROW, "b", "d"), one_of(NARROW, "a", "c", "d")):
        ours, theirs = asker.states["t"], second.states["t"]
        assert ours.model is not None
        assert theirs.model is not None
        assert ours.model.estimate(q).hex() == theirs.model.estimate(q).hex()
        assert ours.error_bar(q) == theirs.error_bar(q) is not None
        assert second.path(q) == asker.path(q)
    assert second.purses.shares() == asker.purses.shares()
    spent = ledger.totals().spent
    second.ask(one_of(NARROW, "c", "d"))
    assert ledger.totals().spent == spent


@pytest.mark.parametrize("stop_at", [1, 2, 3, 7, 20, 29])
def test_a_kill_among_the_noise_loses_one_reservation_and_the_next_process_goes_on(stop_at: int) -> None:
    rules = policy(WIDE)
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger, stop_at=stop_at)
    with pytest.raises(KeyboardInterrupt):
        asker.ask(one_of(WIDE, "a", "b", "c"))
    asker.close()
    ledger._append("burn", len(ledger._events), ledger._balance.totals.reserved, {})  # what recovery does
    second, coins = asker_of(rules, ledger, 2)
    answer = second.ask(one_of(WIDE, "f", "g", "h"))
    assert answer.value is not None
    reserved = warm_reserved(ledger)
    assert len(set(reserved)) == len(reserved) == 8 + 28
    model = second.states["t"].model
    assert model is not None
    measured = len(model.dense.measurements)
    lost = 0 if stop_at == 1 else 8 if stop_at <= 9 else 16 if stop_at <= 25 else 12
    assert measured == 8 + 28 - lost
    coins.hard = True
    for i in range(12):
        second.ask(query(WIDE, b=unit(9, i % 9), c=unit(8, i % 8), d=unit(7, 0)))
        assert ledger.totals().spent + ledger.totals().reserved <= second.plan.total_units
    assert second.hard_rounds_left() == 0


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
        asker.ask(one_of(NARROW, "a"))
    assert ledger.totals() == Totals(total_cost(plan, rules, NARROW), 0)
    engine.broken = False
    assert asker.ask(one_of(NARROW, "a")).charged > 0


def test_an_interrupted_session_does_without_what_it_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpsql.session.warm_starting.WAIT_SECONDS", 0.1)
    rules = policy()
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger, stop_at=4)
    with pytest.raises(KeyboardInterrupt):
        asker.ask(one_of(NARROW, "a"))
    answer = asker.ask(one_of(NARROW, "a"))
    assert answer.value is not None
    other, _ = asker_of(rules, ledger, 2)
    with pytest.raises(OperationalError):  # its reservation is still open, perhaps at work
        other.ask(one_of(NARROW, "b"))
    plan = asker.plan
    assert ledger.totals().spent + ledger.totals().reserved <= plan.total_units


def test_a_session_waits_for_another_that_is_measuring(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = policy()
    ledger = ledger_of(rules)
    first, _ = asker_of(rules, ledger)
    second, _ = asker_of(rules, ledger, 2)
    original, answered = ledger.release, []

    def meanwhile(reservation: int, payload: Any, answers: Any = ()) -> None:
        if payload["kind"] == "several":
            with ThreadPoolExecutor(1) as pool:
                waiting = pool.submit(second.ask, one_of(NARROW, "a"))
                assert not wait([waiting], timeout=0.2).done
                original(reservation, payload, answers)
                answered.append(waiting.result(60))
        else:
            original(reservation, payload, answers)

    monkeypatch.setattr(ledger, "release", meanwhile)
    ours = first.ask(one_of(NARROW, "b"))
    assert ours.charged > 0
    (theirs,) = answered
    assert (theirs.charged, theirs.error_kind) == (0.0, "calibrated")
    assert len(warm_reserved(ledger)) == 10


def test_two_sessions_measure_nothing_twice() -> None:
    rules = policy()
    ledger = ledger_of(rules)
    first, _ = asker_of(rules, ledger)
    second, _ = asker_of(rules, ledger, 2)
    first.ask(one_of(NARROW, "a"))
    second.catch_up()
    second.ask(one_of(NARROW, "b"))
    assert len(warm_reserved(ledger)) == 10
    assert second.hard_rounds_left() == 9  # the first session keeps one in reserve
    assert first.hard_rounds_left() == 9


# --- wide tables --------------------------------------------------------------------------------------------------


def test_a_wide_table_gets_its_1_ways_then_pairs_on_atoms() -> None:
    rules = policy(WIDE, epsilon=1)
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    answer = asker.ask(one_of(WIDE, "a", "b"))
    model = asker.states["t"].model
    assert model is not None
    assert isinstance(model.dense, WideHypothesis)
    sizes = [len(m.axes) for m in model.dense.measurements]
    assert sizes == [1] * 8 + [2] * 28
    assert any(a.size < a.labels.size for m in model.dense.measurements for a in m.axes)
    assert (answer.certified, answer.error_kind) == (False, "calibrated")
    assert "coin" not in ledger.log  # the pairs know it
    asker.ask(one_of(WIDE, "a", "b", "c"))
    assert ledger.log[-1] == "coin"


def test_a_hard_round_in_a_wide_table_answers_and_leaves_a_constraint() -> None:
    rules = policy(WIDE)
    ledger = ledger_of(rules)
    asker, coins = asker_of(rules, ledger)
    asker.ask(one_of(WIDE, "a", "b"))
    coins.hard = True
    spent = ledger.totals().spent
    answer = asker.ask(one_of(WIDE, "a", "b", "c"))
    assert ledger.totals().spent == spent + asker.plan.hard_cost
    assert (answer.source, answer.error_kind) == ("measurement", "exact")
    payload = ledger.events()[-1].payload
    assert [m["kind"] for m in payload["measurements"]] == ["answer", "contingency"]
    model = asker.states["t"].model
    assert model is not None
    assert [len(m.axes) for m in model.dense.measurements][-2:] == [2, 3]
    sigmas = [float.fromhex(m["sigma"]) for m in payload["measurements"]]
    assert sum(s**-2 for s in sigmas) <= float(asker.plan.sigma) ** -2 * (1 + 1e-9)
    second, _ = asker_of(rules, ledger, 3)
    theirs = second.states["t"].model
    assert theirs is not None
    q = one_of(WIDE, "a", "b", "d")
    assert theirs.estimate(q).hex() == model.estimate(q).hex()


def test_more_than_16_columns_measure_pairs_when_touched_and_never_run_out() -> None:
    rules = policy(MANY, epsilon=20)
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    left = asker.hard_rounds_left()
    asker.ask(one_of(MANY, "a"))
    assert warm_reserved(ledger) == [(c.name,) for c in MANY.finite]
    asker.ask(one_of(MANY, "a", "b", "c"))
    assert warm_reserved(ledger)[18:] == [("a", "b"), ("a", "c"), ("b", "c")]
    asker.ask(one_of(MANY, "b", "c"))
    assert len(warm_reserved(ledger)) == 21
    assert asker.hard_rounds_left() == left
    names = [c.name for c in MANY.finite]
    for i in range(0, 18, 3):
        asker.ask(one_of(MANY, names[i], names[i + 1], names[i + 2]))
    second, _ = asker_of(rules, ledger, 2)
    q = one_of(MANY, "d", "e", "f")
    assert second.states["t"].error_bar(q) == asker.states["t"].error_bar(q) is not None
    warm = asker.states["t"].warm
    assert warm is not None
    assert warm.charged + warm.pending_units() <= warm.units
    assert second.purses.shares() == asker.purses.shares()


# --- the plan -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [NARROW, WIDE, MANY])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_the_purses_never_hold_more_than_the_plan(table: TableDomain, neighbors: str) -> None:
    rules = policy(table, neighbors=neighbors)
    plan = make_plan(rules)
    assert plan.hard_rounds in (10, 30, 100)
    purses = warm_units(plan, rules, table) + total_cost(plan, rules, table)
    assert 0.999 * plan.release_budget < purses <= plan.release_budget
    assert plan.release_budget > plan.hard_rounds * plan.hard_cost
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    assert asker.hard_rounds_left() == plan.hard_rounds


def test_other_strategies_and_single_columns_have_no_warm_start() -> None:
    single = table_of((5,))
    for rules in (policy(strategy="pmw"), policy(strategy="sparse-pmw"), policy(single)):
        plan = make_plan(rules)
        assert plan.hard_rounds == HARD_ROUNDS
        assert warm_units(plan, rules, rules.tables[0]) == 0
        assert total_cost(plan, rules, rules.tables[0]) == plan.release_budget


def test_shares_are_fixed_by_the_policy() -> None:
    small, large = (make_plan(policy(warm_start=Fraction(n, 100))) for n in (50, 90))
    assert small.release_budget < large.release_budget
    assert small.hard_cost > large.hard_cost
    bars = []
    for factor in (Fraction(14, 10), Fraction(28, 10)):
        rules = policy(error_factor=factor)
        bars.append(asker_of(rules, ledger_of(rules))[0].ask(one_of(NARROW, "a", "b")).error)
    assert bars[0] < bars[1]


def test_the_public_plan_names_the_warm_start_and_touches_no_data() -> None:
    class Untouchable(MemoryEngine):
        def contingency(self, table: str, columns: tuple[str, ...]) -> Private[Counts]:
            raise AssertionError("an explanation read the table")

    for table in (NARROW, MANY):
        rules = policy(table)
        ledger = ledger_of(rules)
        asker = Asker(rules, make_plan(rules), Untouchable(rules, {"t": DATA[table]}), ledger, Coins(1, ledger.log))
        assert asker.path(one_of(table, "a", "b"))[0] in ("test", "model")
        share = asker.purses.first_share("t", [("a", "b")])
        assert 0 < share < 4
        assert ledger.log == []
    names = reduce(lambda found, row: [*found, row[0]], asker.purses.shares(), [])
    assert names == ["warm start", "hard rounds", "row counts"]


def test_narrow_tables_stay_one_tensor() -> None:
    rules = policy()
    asker, _ = asker_of(rules, ledger_of(rules))
    asker.ask(one_of(NARROW, "a"))
    model = asker.states["t"].model
    assert model is not None
    assert isinstance(model.dense, DenseHypothesis)
