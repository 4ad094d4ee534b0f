"""The row count: measured once whatever sessions do at the same time, waited for, paid again after a loss."""

from contextlib import suppress
from fractions import Fraction
from threading import Timer
from typing import Any

import numpy as np
import pytest

from dpsql.domain import CategoryDomain, TableDomain
from dpsql.errors import BudgetExhausted
from dpsql.first.payload import ROW_COUNT, encode_measurement
from dpsql.first.row_count import RowCount
from dpsql.hypothesis import Measurement
from dpsql.planning import make_plan, plan_tables
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.query import Factor, LinearQuery, linear_query
from dpsql.session.asker import Asker
from tests.support.asking import ask
from tests.support.counted import Counted
from tests.support.entropy import Easy, SeededEntropy
from tests.support.waiting import TookTooLong, impatient
from tests.support.warm import Recorder

COLUMNS = (CategoryDomain("a", ("x", "y"), nullable=False), CategoryDomain("b", ("u", "v"), nullable=False))
TABLES = TableDomain("one", COLUMNS), TableDomain("two", COLUMNS)
ROWS = {"a": ["x"] * 900 + ["y"] * 100, "b": ["u", "v"] * 500}
RULES = Policy(Privacy(Fraction(1), Fraction(1, 10**6), planned_queries=1000), TABLES, Mechanism("pmw", hard_rounds=2))
PLAN = make_plan(RULES)
UNITS = PLAN.release_budget // 2


@pytest.fixture
def ledger() -> Recorder:
    return Recorder({"plan": PLAN.to_json()}, [])


@pytest.fixture(autouse=True)
def briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    impatient(monkeypatch, 5.0)
    monkeypatch.setattr("dpsql.first.turns.CROWD_SECONDS", 5.0)


def session(ledger: Recorder, seed: int = 1) -> Asker:
    return Asker(RULES, PLAN, Counted(RULES, {"one": ROWS, "two": ROWS}), ledger, SeededEntropy(seed))


def easy(ledger: Recorder) -> Asker:
    """A session whose tests are passed, as long as a hard round is left for them."""
    return Asker(RULES, PLAN, Counted(RULES, {"one": ROWS, "two": ROWS}), ledger, Easy(1))


def of_one(column: str) -> LinearQuery:
    found = linear_query(TABLES[0], [Factor((column,), np.array([1, 0]))])
    assert found is not None
    return found


def begin(ledger: Recorder, table: str, cost: int = UNITS) -> int:
    """A row count that another session has begun."""
    return ledger.reserve(cost, lambda _: None, {"purpose": RowCount.purpose, "table": table, "burn": cost})


def counted(ledger: Recorder, table: str) -> int:
    return sum(e.kind == "release" and e.payload["table"] == table for e in ledger.events())


def know(asker: Asker, table: str) -> float:
    return asker.first_touches(table)


def test_the_earlier_reservation_measures_and_the_later_one_waits(ledger: Recorder) -> None:
    other = session(ledger)
    mine = session(ledger, 2)
    first = begin(ledger, "one")
    measured = Measurement("one", (), np.array(1234), 9.0)
    Timer(0.1, ledger.release, (first, encode_measurement(ROW_COUNT, measured))).start()
    assert mine.states["one"].touches.row_count.unbegun_units() == UNITS  # it has not heard of the first yet
    assert know(mine, "one") == 0.0
    assert know(other, "one") == 0.0
    assert [s.states["one"].model.row_count for s in (mine, other)] == [1234.0, 1234.0]  # type: ignore[union-attr]
    assert counted(ledger, "one") == 1
    assert ledger.totals().spent == UNITS


def test_a_budget_that_others_only_reserve_is_waited_for(ledger: Recorder) -> None:
    """Several sessions reserve one table's row count at once; that of the other table is refused to nobody."""
    mine = session(ledger)
    crowd = [begin(ledger, "one") for _ in range(2)]
    crowd += [begin(ledger, "one", PLAN.measure_cost) for _ in range(2)]
    mine.catch_up()
    assert mine.purses.noise_left(ledger.totals()) < UNITS
    for number, reservation in enumerate(crowd):
        Timer(0.1 + 0.02 * number, ledger.free, (reservation,)).start()
    mine.check([LinearQuery("two", ())])
    assert know(mine, "two") == pytest.approx(PLAN.as_epsilon(UNITS))
    assert know(mine, "one") == pytest.approx(PLAN.as_epsilon(UNITS))


@pytest.mark.parametrize("ask", [know, lambda asker, table: asker.check([LinearQuery(table, ())])])
def test_what_is_spent_is_not_waited_for(ledger: Recorder, ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = session(ledger)
    while mine.purses.noise_left(ledger.totals()) >= UNITS:
        reservation = begin(ledger, "one")
        ledger.release(reservation, encode_measurement(ROW_COUNT, Measurement("one", (), np.array(1000), 9.0)))
    monkeypatch.setattr("dpsql.first.turns.sleep", lambda _: pytest.fail("waits for nothing"))
    with pytest.raises(BudgetExhausted, match="row count of two") as caught:
        ask(mine, "two")
    assert caught.value.requested > caught.value.remaining


def test_a_session_that_measures_is_waited_for_and_named(ledger: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    impatient(monkeypatch, 0.05)
    other, mine, heard = begin(ledger, "one"), session(ledger), list[tuple[str, int]]()
    mine.turns.on_wait = lambda what, seconds: heard.append((what, seconds))
    with pytest.raises(TookTooLong):
        know(mine, "one")
    assert set(heard) == {("one for the first time", 0)}
    assert ledger.totals().reserved == UNITS  # the other's, and nothing else
    ledger.free(other)
    impatient(monkeypatch, 5.0)
    assert know(mine, "one") > 0


def test_there_is_no_end_to_waiting(ledger: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour by the clock; whoever measures is alive, or its reservation is closed."""
    other, mine, heard = begin(ledger, "one"), session(ledger), list[int]()
    mine.turns.on_wait = lambda what, seconds: heard.append(seconds)
    hours = iter(range(0, 36_000, 360))
    monkeypatch.setattr("dpsql.first.turns.monotonic", lambda: next(hours))
    monkeypatch.setattr("dpsql.first.turns.sleep", lambda _: ledger.free(other) if heard[-1] > 7200 else None)
    assert know(mine, "one") > 0
    assert heard[-1] > 7200


def test_a_lost_row_count_is_begun_again() -> None:
    """A killed session's noise was never shown, but it counts; the table must not stay unanswered for that."""
    progress = RowCount(plan_tables(PLAN, RULES)["one"])
    progress.reserved(4, UNITS, {})
    assert (progress.unbegun_units(), progress.charged_units, progress.others_at_work()) == (0, UNITS, True)
    progress.burnt(4)
    assert (progress.unbegun_units(), progress.charged_units, progress.others_at_work()) == (UNITS, UNITS, False)
    progress.reserved(5, UNITS, {})
    progress.reserved(6, UNITS, {})
    assert progress.under_way_units() == UNITS
    assert progress.opened_before(6)
    assert not progress.opened_before(5)
    progress.released(5, [])
    assert progress.opened_before(6)
    assert not progress.others_at_work()  # it is known, whatever else is still reserved for it
    progress.freed(6)
    assert (progress.unbegun_units(), progress.charged_units, progress.others_at_work()) == (0, 2 * UNITS, False)


def test_noise_that_fails_leaves_nobody_waiting(ledger: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = session(ledger)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("dpsql.first.bench.measure", interrupted)
        with pytest.raises(KeyboardInterrupt):
            know(mine, "one")
    assert know(mine, "one") == pytest.approx(PLAN.as_epsilon(UNITS))
    assert counted(ledger, "one") == 1


def test_a_row_count_under_way_is_not_kept_back_twice(ledger: Recorder) -> None:
    mine = session(ledger)
    assert mine.purses.unbegun() == 2 * UNITS
    begin(ledger, "one")
    mine.catch_up()
    assert mine.purses.unbegun() == UNITS
    assert mine.purses.unmeasured() == 2 * UNITS


def test_a_hard_round_is_not_refused_for_a_row_count_that_was_reserved_meanwhile(
    ledger: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = easy(ledger)
    know(mine, "one")
    ledger.reserve(PLAN.hard_cost, lambda _: None, {"tests": 1, "burn": PLAN.test_cost})
    begin(ledger, "two")
    assert mine.purses.unbegun() == UNITS  # it has not heard of that
    with monkeypatch.context() as patch:
        patch.setattr(ledger, "changed", lambda: True)
        assert ask(mine, of_one("a")).certified
    assert not ask(easy(ledger), of_one("b")).certified  # two were planned


def test_a_hard_round_leaves_what_was_given_back_for_a_row_count(ledger: Recorder) -> None:
    mine = easy(ledger)
    know(mine, "one")
    shown = encode_measurement(ROW_COUNT, Measurement("one", (), np.array(1000), 9.0))
    ledger.release(ledger.reserve(PLAN.hard_cost, lambda _: None, {"tests": 1, "burn": PLAN.test_cost}), shown)
    with suppress(KeyboardInterrupt), ledger.drawing(begin(ledger, "two")):
        raise KeyboardInterrupt
    ledger.settle(None)  # lost: its share is one that a hard round would have had
    number = begin(ledger, "two")
    mine.catch_up()
    assert mine.purses.unbegun() == 0
    ledger.free(number)
    assert not ask(mine, of_one("a")).certified
    assert know(mine, "two") == pytest.approx(PLAN.as_epsilon(UNITS))
