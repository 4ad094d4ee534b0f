"""The warm start of wide tables, and the plan that all warm starts are made from."""

from datetime import date
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest

from dpsql.accounting import Plan
from dpsql.domain import DateDomain, NumberDomain, TableDomain
from dpsql.engine.memory import MemoryEngine
from dpsql.hypothesis import DenseHypothesis, WideHypothesis
from dpsql.planning import make_plan
from dpsql.planning.contingencies import triple_cells
from dpsql.planning.plans import HARD_ROUNDS, WARM_HARD_ROUNDS
from dpsql.planning.shares import Shares
from dpsql.planning.ways import LONE_CELLS
from dpsql.private import Private
from dpsql.query import Counts
from dpsql.session.asker import Asker
from tests.support.asking import ask, way_of
from tests.support.simulated import table_of
from tests.support.warm import (
    DATA,
    MANY,
    NARROW,
    ROWS,
    WIDE,
    Coins,
    asker_of,
    columns_of,
    ledger_of,
    one_of,
    policy,
    warm_reserved,
)

# --- wide tables --------------------------------------------------------------------------------------------------


def test_a_wide_table_gets_its_1_ways_then_pairs_on_atoms() -> None:
    rules = policy(WIDE, epsilon=1)
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    answer = ask(asker, one_of(WIDE, "a", "b"))
    model = asker.states["t"].model
    assert model is not None
    assert isinstance(model.hypothesis, WideHypothesis)
    sizes = [len(m.axes) for m in model.hypothesis.measurements]
    assert sizes == [1] * 8 + [2] * 28
    assert any(a.size < a.labels.size for m in model.hypothesis.measurements for a in m.axes)
    assert (answer.certified, answer.error_kind) == (False, "calibrated")
    assert "coin" not in ledger.log  # the pairs know it
    ask(asker, one_of(WIDE, "a", "b", "c"))
    assert ledger.log[-1] == "coin"


def test_three_columns_are_measured_on_unions_of_the_parts_of_their_pairs() -> None:
    rules = policy(WIDE, epsilon=60)  # little noise for 4,000 rows
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    answer = ask(asker, one_of(WIDE, "a", "b", "c"))
    model = asker.states["t"].model
    assert model is not None
    measured = model.hypothesis.measurements
    assert [len(m.axes) for m in measured] == [1] * 8 + [2] * 28 + [3] * 56
    of_pairs = {a.columns: a.labels for m in measured for a in m.axes if len(m.axes) == 2}
    for m in measured[36:]:
        assert m.values.size <= triple_cells(ROWS, m.sigma) * 1.1  # the row count has noise, too
        for axis in m.axes:
            parts = of_pairs[axis.columns]
            unions = [set(axis.labels[parts == part].tolist()) for part in range(int(parts.max()) + 1)]
            assert all(len(found) == 1 for found in unions)
    assert any(a.size < int(of_pairs[a.columns].max()) + 1 for m in measured[36:] for a in m.axes)
    assert answer.error_kind == "calibrated"
    spent = ledger.totals().spent
    second, _ = asker_of(rules, ledger, 3)
    theirs = second.states["t"].model
    assert theirs is not None
    q = one_of(WIDE, "a", "b", "d")
    assert theirs.estimate(q).hex() == model.estimate(q).hex()
    assert ledger.totals().spent == spent


@pytest.mark.parametrize("killed", [True, False])
@pytest.mark.parametrize("stop_at", [38, 94])
def test_what_is_lost_among_three_columns_is_measured_again(stop_at: int, killed: bool) -> None:
    """Both among the triples: every scope is measured once, and a further session has the same model."""
    rules = policy(WIDE, epsilon=60)
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger, stop_at=stop_at)
    ledger.killed = killed
    with pytest.raises(KeyboardInterrupt):
        ask(asker, one_of(WIDE, "a", "b", "c"))
    if killed:
        asker.close()
        ledger.recover()
        ledger.killed = False
        asker, _ = asker_of(rules, ledger, 2)
    ask(asker, one_of(WIDE, "f", "g", "h"))
    third, _ = asker_of(rules, ledger, 3)
    (mine, theirs) = (a.states["t"].model for a in (asker, third))
    assert mine is not None and theirs is not None
    measured = theirs.hypothesis.measurements
    assert len({m.scope for m in measured}) == len(measured) == 8 + 28 + 56
    assert sum(e.kind == "burn" for e in ledger.events()) == 1
    q = one_of(WIDE, "a", "b", "d")
    assert mine.estimate(q).hex() == theirs.estimate(q).hex()
    assert ledger.totals().spent + ledger.totals().reserved <= asker.plan.total_units


def test_all_portions_of_three_columns_have_the_parts_of_the_first() -> None:
    """Of three columns there is one triple, which is measured in several releases; also after an interrupt."""
    table = table_of((80, 70, 60), (True,))
    rules = policy(table, epsilon=60)
    engine = MemoryEngine(rules, {"t": columns_of(table)})
    ledger = ledger_of(rules)
    plan = Plan.from_json(ledger.header["plan"])
    asker = Asker(rules, plan, engine, ledger, Coins(1, ledger.log, 25))
    with pytest.raises(KeyboardInterrupt):
        ask(asker, one_of(table, "a", "b"))
    ask(asker, one_of(table, "b", "c"))
    released = [m for e in ledger.events() if e.kind == "release" for m in e.payload.get("measurements", ())]
    axes = [repr(m["axes"]) for m in released if len(m["axes"]) == 3]
    assert len(axes) > 2 and len(set(axes)) == 1
    model = asker.states["t"].model
    assert model is not None
    assert [len(m.axes) for m in model.hypothesis.measurements] == [1, 1, 1, 2, 2, 2, 3]


def test_parts_of_three_columns_follow_pairs_where_positions_are_measured_too() -> None:
    """Positions of a number column's rows inside its bins have a name of two words, and a share of their own."""
    number = NumberDomain("a", tuple(float(i) for i in range(41)), nullable=False)
    table = TableDomain("t", (number, *table_of((2, 300, 200), (False, True, True)).finite[1:]))
    rules = policy(table, epsilon=60, hard_rounds=6)
    rng = np.random.default_rng(4)
    data = {c.name: [c.values[i] for i in rng.integers(0, c.size, ROWS).tolist()] for c in table.finite[1:]}
    data["a"] = rng.uniform(0.0, 40.0, ROWS).tolist()
    ledger = ledger_of(rules)
    asker = Asker(rules, Plan.from_json(ledger.header["plan"]), MemoryEngine(rules, {"t": data}), ledger, Coins(1, []))
    ask(asker, one_of(table, "b", "c"))
    model = asker.states["t"].model
    assert model is not None
    measured = [m for m in model.hypothesis.measurements if not m.is_by_value]
    of_pairs = {a.columns: a.labels for m in measured for a in m.axes if len(m.axes) == 2}
    (triple,) = (m for m in measured if len(m.axes) == 3)
    for axis in triple.axes:
        parts = of_pairs[axis.columns]
        assert all(len(set(axis.labels[parts == part].tolist())) == 1 for part in range(int(parts.max()) + 1))


@pytest.mark.parametrize(("models", "aligned"), [(None, True), (28, False)])
def test_a_date_by_the_day_has_its_months_measured_and_pairs_on_parts_of_them(
    models: int | None, aligned: bool
) -> None:
    day = DateDomain("day", date(2023, 1, 1), date(2024, 12, 31), nullable=False)
    table = TableDomain("t", (day, *table_of((2, 300, 200)).finite[1:]))
    rules = policy(table, epsilon=60, hard_rounds=6)
    rng = np.random.default_rng(4)
    data = {c.name: [c.values[i] for i in rng.integers(0, c.size, ROWS).tolist()] for c in table.finite}
    ledger = ledger_of(rules, **({} if models is None else {"models": models}))
    asker = Asker(rules, Plan.from_json(ledger.header["plan"]), MemoryEngine(rules, {"t": data}), ledger, Coins(1, []))
    ask(asker, one_of(table, "day", "b"))
    model = asker.states["t"].model
    assert model is not None
    months = np.array([v.month + 12 * v.year for v in day.values if isinstance(v, date)])
    alone = [m for m in model.hypothesis.measurements if m.scope == ("day",)]
    assert [m.values.size for m in alone] == ([731, 24] if aligned else [731])
    if aligned:
        true = np.bincount([v.month - 1 + 12 * (v.year - 2023) for v in data["day"]], minlength=24)
        assert np.abs(alone[1].values - true).max() < 6 * alone[1].sigma
    (of_pair,) = {
        a.labels.tobytes()
        for m in model.hypothesis.measurements
        if len(m.axes) == 2
        for a in m.axes
        if a.columns == ("day",)
    }
    parts = np.frombuffer(of_pair, dtype=np.int64)
    ends, month_ends = np.flatnonzero(np.diff(parts)), np.flatnonzero(np.diff(months))
    assert 2 < len(ends) < 730
    assert (set(month_ends) <= set(ends) or set(ends) <= set(month_ends)) == aligned


def test_older_rules_measure_no_three_columns() -> None:
    rules = policy(WIDE, epsilon=60)
    ledger = ledger_of(rules, models=19)
    asker, _ = asker_of(rules, ledger)
    ask(asker, one_of(WIDE, "a", "b", "c"))
    model = asker.states["t"].model
    assert model is not None
    assert max(len(m.axes) for m in model.hypothesis.measurements) == 2


def test_a_hard_round_in_a_wide_table_answers_and_leaves_a_constraint() -> None:
    rules = policy(WIDE)
    ledger = ledger_of(rules)
    asker, coins = asker_of(rules, ledger)
    ask(asker, one_of(WIDE, "a", "b"))
    coins.hard = True
    spent = ledger.totals().spent
    answer = ask(asker, one_of(WIDE, "a", "b", "c"))
    assert ledger.totals().spent == spent + asker.plan.hard_cost
    assert answer.source == "measurement"
    assert answer.error_kind == "calibrated"  # only the coin was hard: the model agrees
    payload = ledger.events()[-1].payload
    assert [m["kind"] for m in payload["measurements"]] == ["answer", "contingency"]
    model = asker.states["t"].model
    assert model is not None
    assert [len(m.axes) for m in model.hypothesis.measurements][-2:] == [2, 3]
    sigmas = [float.fromhex(m["sigma"]) for m in payload["measurements"]]
    costs = [asker.plan.release_cost(Fraction(s)) for s in sigmas]
    assert sum(costs) <= asker.plan.measure_cost
    assert min(costs) > 0.49 * asker.plan.measure_cost
    second, _ = asker_of(rules, ledger, 3)
    theirs = second.states["t"].model
    assert theirs is not None
    q = one_of(WIDE, "a", "b", "d")
    assert theirs.estimate(q).hex() == model.estimate(q).hex()


def test_more_than_16_columns_measure_pairs_when_touched_and_never_run_out() -> None:
    rules = policy(MANY, epsilon=20)
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    left = asker.payments_left()
    ask(asker, one_of(MANY, "a"))
    assert warm_reserved(ledger) == [(c.name,) for c in MANY.finite]
    ask(asker, one_of(MANY, "a", "b", "c"))
    assert warm_reserved(ledger)[18:] == [("a", "b"), ("a", "c"), ("b", "c")]
    ask(asker, one_of(MANY, "b", "c"))
    assert len(warm_reserved(ledger)) == 21
    assert asker.payments_left() == left
    names = [c.name for c in MANY.finite]
    for i in range(0, 18, 3):
        ask(asker, one_of(MANY, names[i], names[i + 1], names[i + 2]))
    second, _ = asker_of(rules, ledger, 2)
    q = one_of(MANY, "d", "e", "f")
    assert second.states["t"].error_bar(q) == asker.states["t"].error_bar(q) is not None
    warm = asker.states["t"].touches.warm
    assert warm is not None
    assert warm.charged_units + warm.unbegun_units() <= warm.planned_units
    assert second.purses.shares() == asker.purses.shares()


# --- the plan -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [NARROW, WIDE, MANY])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_the_purses_never_hold_more_than_the_plan(table: TableDomain, neighbors: str) -> None:
    rules = policy(table, neighbors=neighbors)
    plan = make_plan(rules)
    assert plan.hard_rounds in WARM_HARD_ROUNDS
    purses = Shares(plan, rules).contingencies(table) + Shares(plan, rules).row_count(table)
    purses += plan.spares * plan.spare_units
    assert 0.999 * plan.release_budget < purses <= plan.release_budget
    assert plan.release_budget > plan.hard_rounds * plan.hard_cost
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    assert asker.payments_left() == plan.hard_rounds


def test_other_strategies_and_long_columns_alone_have_no_warm_start() -> None:
    long = table_of((LONE_CELLS + 1,))
    for rules in (policy(strategy="pmw"), policy(long)):
        plan = make_plan(rules)
        assert plan.hard_rounds == HARD_ROUNDS
        assert Shares(plan, rules).contingencies(rules.tables[0]) == 0
        assert Shares(plan, rules).row_count(rules.tables[0]) == plan.release_budget


def test_shares_are_fixed_by_the_policy() -> None:
    small, large = (make_plan(policy(warm_start=Fraction(n, 100))) for n in (50, 90))
    assert small.release_budget < large.release_budget
    assert small.hard_cost > large.hard_cost
    bars = []
    for factor in (Fraction(14, 10), Fraction(28, 10)):
        rules = policy(error_factor=factor)
        bars.append(ask(asker_of(rules, ledger_of(rules))[0], one_of(NARROW, "a", "b")).error)
    assert bars[0] < bars[1]


def test_the_public_plan_names_the_warm_start_and_touches_no_data() -> None:
    class Untouchable(MemoryEngine):
        def contingency(self, table: str, columns: tuple[str, ...]) -> Private[Counts]:
            raise AssertionError("an explanation read the table")

    for table in (NARROW, MANY):
        rules = policy(table)
        ledger = ledger_of(rules)
        asker = Asker(rules, make_plan(rules), Untouchable(rules, {"t": DATA[table]}), ledger, Coins(1, ledger.log))
        assert way_of(asker, one_of(table, "a", "b")) in ("test", "model")
        share = asker.plan.as_epsilon(asker.states["t"].touches.first_units([("a", "b")]))
        assert 0 < share < 4
        assert ledger.log == []
    names = reduce(lambda found, row: [*found, row[0]], asker.purses.shares(), [])
    assert names == ["warm start", "hard rounds", "spare releases", "row counts"]


def test_narrow_tables_stay_one_tensor() -> None:
    rules = policy()
    asker, _ = asker_of(rules, ledger_of(rules))
    ask(asker, one_of(NARROW, "a"))
    model = asker.states["t"].model
    assert model is not None
    assert isinstance(model.hypothesis, DenseHypothesis)
