"""Paid runs of a session: each step paid once, whatever breaks it off; what is wrong is said before it is paid."""

from fractions import Fraction
from threading import Timer
from typing import Any

import pytest

from dpsql import BudgetExhausted, DataError, LedgerError, UnknownName
from dpsql.errors import EngineError
from dpsql.ledger.event import Event
from dpsql.planning import make_plan
from dpsql.query import LinearQuery
from dpsql.session.asker import Asker
from dpsql.session.synthesizing import Synthesizing
from dpsql.sql.statement import Statement
from dpsql.synthesis import Runs
from dpsql.synthesis.released import SyntheticTable
from dpsql.synthesis.runs import DRAWN, PURPOSE
from dpsql.synthesis.wanted import Part, Wanted
from tests.support import walk
from tests.support.asking import ask
from tests.support.counted import Counted
from tests.support.entropy import SeededEntropy
from tests.support.waiting import impatient
from tests.support.warm import DATA, NARROW, Recorder, one_of, policy

RULES = policy(epsilon=4, strategy="pmw", hard_rounds=2)
PLAN = make_plan(RULES)
ROWS = {name: values[:300] for name, values in DATA[NARROW].items()}
WANTED = Wanted(NARROW.name, walk.NAME, epsilon=Fraction(1, 2))


@pytest.fixture
def ledger() -> Recorder:
    return Recorder({"plan": PLAN.to_json()}, [])


@pytest.fixture(autouse=True)
def briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    impatient(monkeypatch, 5.0)
    monkeypatch.setattr("dpsql.first.turns.CROWD_SECONDS", 0.1)
    monkeypatch.setattr("dpsql.synthesis.methods.METHODS", walk.methods())


def session(ledger: Recorder, seed: int = 1) -> Asker:
    return Asker(RULES, PLAN, Counted(RULES, {NARROW.name: ROWS}), ledger, SeededEntropy(seed))


def refusing(text: str) -> Statement:
    raise AssertionError("no statement was asked")


def made(asker: Asker, wanted: Wanted = WANTED) -> SyntheticTable:
    asker.catch_up()
    return Synthesizing(asker, refusing, wanted).make()


def forecast(asker: Asker, wanted: Wanted = WANTED) -> Any:
    asker.catch_up()
    return Synthesizing(asker, refusing, wanted).forecast()


def steps_of(ledger: Recorder, kind: str = "release") -> list[Event]:
    numbers = {e.reservation for e in ledger.events() if e.kind == "reserve" and e.payload.get("purpose") == PURPOSE}
    return [e for e in ledger.events() if e.kind == kind and e.reservation in numbers]


# --- a run ---------------------------------------------------------------------------------------------------------


def test_a_run_charges_what_it_was_allowed_and_the_same_again_is_free(ledger: Recorder) -> None:
    asker = session(ledger)
    asker.first_touches(NARROW.name)
    before = ledger.totals().spent
    first = made(asker)
    assert first.charged == pytest.approx(0.5, rel=1e-6)
    assert ledger.totals().spent - before <= PLAN.total_units // 8
    assert len(steps_of(ledger)) == 4
    again = made(asker)
    assert again.charged == 0.0 and again.to_arrow().equals(first.to_arrow())
    other = made(session(ledger, 2))
    assert other.charged == 0.0 and other.to_arrow().equals(first.to_arrow())
    assert len(steps_of(ledger)) == 4


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": Fraction(1, 4)},
        {"rows": 50},
        {"options": {"steps": "2"}},
        {"workload": (Part("w", "marginals:1"),)},
        {"seed": 2},  # another part of the workload is held out
    ],
)
def test_a_changed_command_is_a_new_run_and_says_what_the_first_charged(
    ledger: Recorder, change: dict[str, Any]
) -> None:
    asker = session(ledger)
    made(asker)
    changed = Wanted(**{"table": NARROW.name, "method": walk.NAME, "epsilon": Fraction(1, 2), **change})
    found = forecast(asker, changed)
    assert found.run != forecast(asker).run and found.charged == 0.0
    assert [charged for _, charged in found.earlier] == [pytest.approx(0.5, rel=1e-6)]
    assert "earlier runs on this table have charged epsilon 0.5 (walk)" in " ".join(found.sentences)
    assert made(asker, changed).charged > 0.0


def test_the_budget_tells_synthetic_tables_apart(ledger: Recorder) -> None:
    asker = session(ledger)
    asker.first_touches(NARROW.name)
    before = {name: spent for name, spent, _ in asker.purses.shares()}
    assert "synthetic tables" not in before
    rounds = asker.payments_left()
    made(asker)
    after = {name: (spent, planned) for name, spent, planned in asker.purses.shares()}
    assert after["synthetic tables"] == (pytest.approx(0.5, rel=1e-6), 0.0)
    assert after["hard rounds"][0] == pytest.approx(before["hard rounds"], abs=1e-12)
    assert sum(spent for spent, _ in after.values()) == pytest.approx(PLAN.as_epsilon(ledger.totals().spent))
    assert asker.payments_left() <= rounds
    assert asker.fold.runs.spent == sum(e.cost for e in steps_of(ledger))


# --- broken off ------------------------------------------------------------------------------------------------------


def test_an_interrupt_waits_until_the_step_is_recorded_and_the_run_goes_on(
    ledger: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    asker = session(ledger)
    monkeypatch.setattr("dpsql.synthesis.methods.METHODS", walk.methods(walk.interrupted_at(2)))
    with pytest.raises(KeyboardInterrupt):
        made(asker)
    assert len(steps_of(ledger)) == 3 and ledger.totals().reserved == 0
    found = forecast(asker)
    assert (found.steps, found.charged) == (3, pytest.approx(3 / 8, rel=1e-6))
    assert "3 steps of this run were recorded before, for epsilon 0.375: they are free" in found.sentences
    rest = made(asker)
    assert rest.charged == pytest.approx(1 / 8, rel=1e-6)
    assert [e.payload["step"] for e in steps_of(ledger)] == [0, 1, 2, 3]


def test_a_step_that_fails_is_lost_and_drawn_again_beside_what_was_allowed(
    ledger: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    asker = session(ledger)

    def fail(number: int) -> None:
        if number == 1:
            raise EngineError("the disk is gone")

    monkeypatch.setattr("dpsql.synthesis.methods.METHODS", walk.methods(fail))
    with pytest.raises(EngineError):
        made(asker)
    assert len(steps_of(ledger)) == 1 and len(steps_of(ledger, "burn")) == 1 and ledger.totals().reserved == 0
    monkeypatch.setattr("dpsql.synthesis.methods.METHODS", walk.methods())
    found = forecast(asker)
    assert found.lost == pytest.approx(1 / 8, rel=1e-6) and found.charged == pytest.approx(1 / 4, rel=1e-6)
    assert any("was lost" in s for s in found.sentences)
    assert made(asker).charged == pytest.approx(3 / 8, rel=1e-6)
    assert asker.fold.runs.spent == sum(e.cost for kind in ("release", "burn") for e in steps_of(ledger, kind))


def test_what_nobody_pays_for_is_not_drawn(ledger: Recorder) -> None:
    """A run that is begun while others spend ends with a refusal, and what it drew is kept."""
    asker = session(ledger)
    asker.first_touches(NARROW.name)
    drawn = []

    def spends(number: int) -> None:
        drawn.append(number)
        if number == 0:  # another session takes nearly all that is left
            left = asker.turns.affordable() - 2 * (PLAN.total_units // 32)
            ledger.reserve(left, lambda totals: None, {"purpose": "question", "burn": left})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpsql.synthesis.methods.METHODS", walk.methods(spends))
        with pytest.raises(BudgetExhausted, match="does not cover the next step") as refused:
            made(asker)
    assert drawn == [0, 1, 2]
    assert len(steps_of(ledger)) == len(drawn)
    assert refused.value.requested > refused.value.remaining


# --- two sessions at once ---------------------------------------------------------------------------------------------


def test_a_step_that_another_session_draws_is_waited_for(ledger: Recorder) -> None:
    mine = session(ledger)
    mine.first_touches(NARROW.name)
    run = forecast(mine).run
    named = {"run": run, "step": 0}
    cost = PLAN.total_units // 32
    first = ledger.reserve(cost, lambda _: None, {"purpose": PURPOSE, "table": NARROW.name, "burn": cost, **named})
    theirs = {"kind": PURPOSE, **named, DRAWN: {"values": [7, 8]}}
    Timer(0.2, ledger.release, (first, theirs)).start()
    found = made(mine)
    assert found.charged == pytest.approx(3 / 8, rel=1e-6)  # the first step is theirs
    assert mine.fold.runs.recorded(run)[0]["values"] == [7, 8]
    assert len(steps_of(ledger)) == 4


def test_of_two_reservations_for_one_step_the_later_is_given_back(ledger: Recorder) -> None:
    """The other one reserves between this session's look and its own reservation."""
    mine = session(ledger)
    mine.first_touches(NARROW.name)
    run, cost = forecast(mine).run, PLAN.total_units // 32
    named = {"run": run, "step": 0}
    reserve, began = ledger.reserve, []

    def late(units: int, check: Any, payload: Any) -> int:
        if not began and payload.get("purpose") == PURPOSE:
            began.append(
                reserve(cost, lambda _: None, {"purpose": PURPOSE, "table": NARROW.name, "burn": cost, **named})
            )
            Timer(0.2, ledger.release, (began[0], {"kind": PURPOSE, **named, DRAWN: {"values": [1]}})).start()
        return reserve(units, check, payload)

    ledger.reserve = late  # type: ignore[method-assign]
    found = made(mine)
    assert found.charged == pytest.approx(3 / 8, rel=1e-6)
    assert len(steps_of(ledger)) == 4 and len(steps_of(ledger, "free")) == 1


# --- refused before anything is paid ---------------------------------------------------------------------------------


def told(word: str) -> tuple[Part, ...]:
    return (Part("w.sql:3", word),)


@pytest.mark.parametrize(
    ("wanted", "error", "said"),
    [
        (Wanted(NARROW.name, walk.NAME), DataError, "say what it may spend"),
        (Wanted(NARROW.name, walk.NAME, epsilon=Fraction(5)), DataError, "at most the ledger's own"),
        (Wanted(NARROW.name, walk.NAME, epsilon=Fraction(0)), DataError, "above 0"),
        (Wanted(NARROW.name, walk.NAME, epsilon=Fraction(4)), BudgetExhausted, "is left for synthetic tables"),
        (Wanted(NARROW.name, "session", epsilon=Fraction(1)), DataError, "pays nothing"),
        (Wanted(NARROW.name, "magic"), DataError, "no method"),
        (Wanted("nobody"), UnknownName, "no private table"),
        (Wanted(NARROW.name, rows=0), DataError, "rows are"),
        (Wanted(NARROW.name, rows=10**8), DataError, "rows are"),
        (Wanted(NARROW.name, options={"nonsense": "1"}), DataError, "session has no options"),
        (
            Wanted(NARROW.name, walk.NAME, epsilon=Fraction(1), options={"step": "1"}),
            DataError,
            "walk has no option step",
        ),
        (Wanted(NARROW.name, workload=told("marginals:9")), DataError, "columns with more than one value"),
    ],
)
def test_what_cannot_be_made_is_refused_and_charges_nothing(
    ledger: Recorder, wanted: Wanted, error: type[Exception], said: str
) -> None:
    asker = session(ledger)
    asker.first_touches(NARROW.name)
    before = ledger.totals().spent
    with pytest.raises(error, match=said) as refused:
        made(asker, wanted)
    assert refused.value.hint  # type: ignore[attr-defined]
    assert ledger.totals().spent == before and ledger.totals().reserved == 0


def test_a_free_method_pays_nothing_after_the_first_look(ledger: Recorder) -> None:
    asker = session(ledger)
    assert made(asker, Wanted(NARROW.name)).charged > 0.0  # the row count
    assert made(asker, Wanted(NARROW.name)).charged == 0.0
    assert not steps_of(ledger)


# --- what is kept for first looks ------------------------------------------------------------------------------------


def test_what_is_kept_for_a_first_look_is_spent_only_when_that_is_said() -> None:
    rules = policy(epsilon=2)
    plan = make_plan(rules)
    ledger = Recorder({"plan": plan.to_json()}, [])

    def begun() -> Asker:
        return Asker(rules, plan, Counted(rules, {NARROW.name: ROWS}), ledger, SeededEntropy(3))

    asker = begun()
    with pytest.raises(BudgetExhausted) as refused:
        made(asker, WANTED)
    assert "--instead-of-first-look" in refused.value.hint
    wanted = Wanted(NARROW.name, walk.NAME, epsilon=Fraction(3, 2), keeps_first_look=False)
    charged = made(asker, wanted).charged
    assert charged == pytest.approx(1.5 + {n: s for n, s, _ in asker.purses.shares()}["row counts"], rel=1e-6)
    assert ask(begun(), LinearQuery(NARROW.name, ())).charged == 0.0
    for column in ("a", "b"):
        ask(begun(), one_of(NARROW, column))  # answered with what is left for a first look, or without one
    totals = ledger.totals()
    assert totals.spent + totals.reserved <= plan.total_units


# --- the fold refuses what it cannot be ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "payload",
    [
        {"kind": PURPOSE, "run": "r", "step": 1, DRAWN: {}},
        {"kind": PURPOSE, "run": "q", "step": 0, DRAWN: {}},
        {"kind": "contingency", "run": "r", "step": 0, DRAWN: {}},
        {"kind": PURPOSE, "run": "r", "step": 0},
        {"kind": PURPOSE, "run": "r", "step": "0", DRAWN: {}},
    ],
)
def test_a_record_that_is_not_the_steps_own_is_an_altered_ledger(payload: dict[str, Any]) -> None:
    runs = Runs()
    runs.reserved(Event(1, "reserve", 1, 5, {"purpose": PURPOSE, "run": "r", "step": 0, "table": "t"}))
    with pytest.raises(LedgerError):
        runs.ended(Event(2, "release", 1, 5, payload))


def test_the_earliest_record_of_a_step_holds_and_both_were_paid() -> None:
    runs = Runs()
    for number in (1, 2):
        runs.reserved(Event(number, "reserve", number, 5, {"run": "r", "step": 0, "table": "t"}))
    assert runs.is_under_way("r", 0, before=2) and not runs.is_under_way("r", 0, before=1)
    for sequence, (number, value) in enumerate(((2, "b"), (1, "a")), start=3):
        runs.ended(Event(sequence, "release", number, 5, {"kind": PURPOSE, "run": "r", "step": 0, DRAWN: {"v": value}}))
    assert runs.recorded("r") == {0: {"v": "b"}} and runs.spent == 10 and dict(runs.spent_on("t")) == {"r": 10}
    assert not runs.is_under_way("r", 0)
