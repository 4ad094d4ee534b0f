"""Spare releases that last: how many a question is paid as, what reservations say of it, and what it buys."""

from contextlib import suppress
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
import pytest

from dpsql.accounting.plan import NEWEST_MODELS
from dpsql.errors import BudgetExhausted, LedgerError
from dpsql.ledger.event import Event
from dpsql.planning.table_plan import GROUP_SPARES
from dpsql.query import LinearQuery
from dpsql.session.asker import Asker
from dpsql.session.explaining import explanation
from dpsql.session.own.pace import MOST_TIMES, Pace
from dpsql.session.table_state import TableState
from dpsql.session.terms.at_most import ask_at_most
from dpsql.sql.statement import Statement
from tests.support.asking import ask, ask_all, how
from tests.support.warm import WIDE, Coins, Recorder, asker_of, ledger_of, policy, query, unit

PLANNED = 100
SPARES = 60


def reserved(number: int, **payload: Any) -> Event:
    return Event(number, "reserve", number, 1, {"purpose": "spare", **payload})


def spent(needs: np.ndarray, spares: int) -> list[int]:
    """How many spare releases each question that needs one is paid as, in a session of so many planned questions."""
    pace, paid = Pace(spares, len(needs)), list[int]()
    for number, needed in enumerate(needs):
        times = min(pace.times(), spares - pace.used)
        pace.ask()
        if needed and times > 0:
            pace.take(reserved(number, spares=times, **pace.said(times)))
            pace.told()
            paid.append(times)
    return paid


# --- how many ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.15, 0.3, 0.6, 0.9])
@pytest.mark.parametrize(("spares", "planned"), [(60, 100), (600, 1000), (1500, 10_000)])
def test_no_question_goes_without_and_little_is_left(share: float, spares: int, planned: int) -> None:
    for seed in range(5):
        needs = np.random.default_rng(seed).random(planned) < share * spares / planned
        paid = spent(needs, spares)
        assert len(paid) >= 0.95 * needs.sum()
        assert sum(paid) <= spares
        assert sum(paid) >= min(0.75 * spares, 0.6 * MOST_TIMES * len(paid))


def test_who_needs_them_late_finds_most_of_them() -> None:
    """Half of a session needs none: it has shown nothing of the other half, which needs one for each question."""
    needs = np.arange(1000) >= 500
    paid = spent(needs, 600)
    assert paid[0] == MOST_TIMES and paid[-1] == 1
    assert len(paid) >= 0.95 * needs.sum()
    seldom = (np.arange(1000) % 10 == 0) | needs
    assert len(spent(seldom, 600)) >= 0.8 * seldom.sum()


def test_as_planned_each_is_one() -> None:
    needs = np.random.default_rng(1).random(1000) < 0.6
    assert np.mean(spent(needs, 600)) < 1.05


def test_questions_beyond_the_planned_ones_still_find_some() -> None:
    pace = Pace(600, 1000)
    for number in range(3000):
        pace.ask()
        if number % 10 == 0 and pace.used + pace.times() <= 600:
            pace.take(reserved(number, spares=pace.times(), **pace.said(pace.times())))
            pace.told()
    assert 500 < pace.used <= 600


# --- what the ledger says of it -----------------------------------------------------------------------------------


def test_a_fold_of_reservations_knows_what_all_sessions_were_asked() -> None:
    one, other = Pace(60, 100), Pace(60, 100)
    for _ in range(30):
        one.ask()
    event = reserved(1, spares=2, **one.said(2))
    one.told()
    assert event.payload == {"purpose": "spare", "spares": 2, "times": 2, "asked": 30}
    for pace in (one, other):
        pace.take(event)
    assert (one.need(), one.times(), one.used) == (other.need(), other.times(), other.used) and one.used == 2
    need = one.need()
    one.free(1)
    assert one.used == 0 and one.need() < need  # what was asked was asked
    one.restart()
    one.take(event)
    assert one.need() == need


@pytest.mark.parametrize(
    "payload",
    [
        {"spares": 0},
        {"spares": "1"},
        {"spares": 3, "times": 2},
        {"spares": 2, "times": 0},
        {"spares": 1, "asked": -1},
        {"spares": 1, "asked": 1.5},
        {"spares": True},
    ],
)
def test_what_cannot_be_is_refused(payload: dict[str, Any]) -> None:
    with pytest.raises(LedgerError, match="cannot be read"):
        Pace(60, 100).take(reserved(1, **payload))


def test_what_is_promised_is_held() -> None:
    pace = Pace(60, 100)
    with pace.held():
        for _ in range(80):
            pace.ask()
        with pace.held(2):
            assert pace.times() == 2
        assert pace.times() == 1
    assert pace.times() == MOST_TIMES


def test_what_is_foreseen_to_be_needed_is_held_too() -> None:
    """By it is decided which questions get one: those of a statement as they were explained, however many it asks."""
    pace = Pace(60, 100)
    need = pace.need()
    with pace.held():
        for _ in range(80):
            pace.ask()
        with pace.held(1):
            assert pace.need() == need
    assert pace.need() < need


# --- in a session -------------------------------------------------------------------------------------------------


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """``of``: the error bar of what is asked of three columns."""
    known = {"of": 1}
    monkeypatch.setattr(
        TableState, "error_bars", lambda state, qs: [known["of"] if len(q.scope) > 2 else 1 for q in qs]
    )
    return known


def opened(models: int = NEWEST_MODELS) -> tuple[Asker, Recorder]:
    """A session that was asked 20 questions, of which none needed more than the model."""
    made = policy(WIDE, 1)
    ledger = ledger_of(
        replace(made, privacy=replace(made.privacy, planned_queries=PLANNED)), spares=True, models=models
    )
    asker, _ = asker_of(replace(made, privacy=replace(made.privacy, planned_queries=PLANNED)), ledger)
    ask(asker, query(WIDE, a=unit(40, 0)))
    for a in range(20):
        ask(asker, query(WIDE, a=unit(40, a), b=unit(9, 1)))
    assert asker.plan.spares == SPARES
    return asker, ledger


def three(a: int = 0) -> LinearQuery:
    return query(WIDE, a=unit(40, a), b=unit(9, 0), c=unit(8, 0))


def test_a_question_is_paid_as_several_and_has_as_much_less_noise(
    bars: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asker, ledger = opened()
    own, drawn = asker.states["t"].own, list[float]()
    draws = Coins.discrete_gaussian
    monkeypatch.setattr(
        Coins, "discrete_gaussian", lambda coins, sigma, size: drawn.append(float(sigma)) or draws(coins, sigma, size)
    )
    bars["of"] = 10**6
    for times in (1, 2, 3):
        with asker.fold.pace.held(times):
            assert own.spare_times([three(times)]) == times
            (part,) = own.parts([three(times)], spare=True)
            words, error = how(asker, three(times))
            answer = ask(asker, three(times))
        assert words == "a measurement of its own, for the model could be far off"
        assert answer.error == pytest.approx(error, abs=1)
        begun = [e for e in ledger.events() if e.kind == "reserve"][-1]
        assert begun.cost == begun.payload["burn"] == times * asker.plan.spare_units
        assert (begun.payload["spares"], begun.payload["times"]) == (times, times)
        assert answer.charged == pytest.approx(asker.plan.as_epsilon(begun.cost))
        assert part.residual is not None
        change = asker.states["t"].plan.weighted_l2_squared(part.residual.low, part.residual.high)
        assert drawn[-1] == float(asker.plan.release_sigma(times * asker.plan.spare_units, change))
        one = float(asker.plan.release_sigma(asker.plan.spare_units, change))
        assert one / drawn[-1] == pytest.approx(sqrt(times), rel=0.03)


def test_another_session_pays_as_many(bars: dict[str, int]) -> None:
    asker, ledger = opened()
    bars["of"] = 10**6
    ask(asker, three(1))
    assert [e for e in ledger.events() if e.kind == "reserve"][-1].payload["asked"] == 22
    second, _ = asker_of(asker.policy, ledger, 5)
    asker.catch_up()
    assert second.fold.pace.times() == asker.fold.pace.times() == 2
    assert second.fold.spares_used() == asker.fold.spares_used()
    assert second.purses.spares_left() == asker.purses.spares_left()


def test_several_are_no_reason_for_more_questions(bars: dict[str, int]) -> None:
    asker, _ = opened()
    own = asker.states["t"].own
    bars["of"] = 10**6
    with asker.fold.pace.held(1):
        (sd,) = own.spare_sds([three()])
        bars["of"] = int(1.3 * 1.96 * sd)
        asker.states["t"].model.version += 1  # type: ignore[union-attr]
        assert own.wants_spare([three()])
    with asker.fold.pace.held(3):
        assert own.wants_spare([three()])
        bars["of"] = 10**6
        asker.states["t"].model.version += 1  # type: ignore[union-attr]
        (fine,) = own.spare_sds([three()])
        bars["of"] = int(1.5 * 1.96 * fine)
        asker.states["t"].model.version += 1  # type: ignore[union-attr]
        assert not own.wants_spare([three()])


def test_groups_are_paid_as_several_groups(bars: dict[str, int]) -> None:
    asker, ledger = opened()
    bars["of"] = 10**6
    with asker.fold.pace.held(2):
        ask_all(asker, [query(WIDE, a=unit(40, a), b=unit(9, 2), c=unit(8, 1)) for a in range(40)])
    assert [e for e in ledger.events() if e.kind == "reserve"][-1].payload["spares"] == 2 * GROUP_SPARES


def test_no_more_than_are_left(bars: dict[str, int]) -> None:
    asker, ledger = opened()
    bars["of"] = 10**6
    units = asker.plan.spare_units
    ledger.reserve(units, lambda _: None, {"purpose": "spare", "table": "t", "burn": units, "spares": SPARES - 2})
    asker.catch_up()
    with asker.fold.pace.held(3):
        assert asker.states["t"].own.spare_times([three()]) == 2
        ask(asker, three())
    assert asker.fold.spares_used() == SPARES


@pytest.mark.parametrize("left", range(1, 8))
def test_the_last_ones_are_explained_as_they_are_paid(bars: dict[str, int], left: int) -> None:
    """The second of two outlines takes what the first leaves, and not as many or none."""
    asker, ledger = opened()
    bars["of"] = 10**6
    units, payment = asker.plan.spare_units, asker.payment.units
    ledger.reserve(units, lambda _: None, {"purpose": "spare", "table": "t", "burn": units, "spares": SPARES - left})
    for _ in range(asker.payments_left()):
        ledger.reserve(payment, lambda _: None, {"purpose": "hard round", "burn": payment, "tests": 1})
    asker.catch_up()
    for _ in range(3000):
        asker.fold.pace.ask()
    assert asker.purses.spares_left() == left and asker.payments_left() == 0
    assert asker.fold.pace.times() == min(left, MOST_TIMES)
    groups = [query(WIDE, a=unit(40, a), b=unit(9, 0), e=unit(6, 0)) for a in range(40)]
    asked = [three(), *groups, query(WIDE, a=unit(40, 0), b=unit(9, 0), d=unit(7, 0))]
    before, explained = ledger.totals().spent, explanation(Statement("", (), None, None), asked, asker).worst_charge
    ask_all(asker, asked)
    assert asker.plan.as_epsilon(ledger.totals().spent - before) == pytest.approx(explained)
    assert asker.purses.spares_left() == 0


def test_a_limit_of_the_charge_is_kept_by_paying_as_fewer(bars: dict[str, int]) -> None:
    asker, ledger = opened()
    bars["of"] = 10**6
    for _ in range(60):
        asker.fold.pace.ask()
    assert asker.fold.pace.times() == MOST_TIMES
    one = asker.plan.as_epsilon(asker.plan.spare_units)
    for most, times in ((1.01 * one, 1), (3.01 * one, 3)):
        before = ledger.totals().spent
        asked = three(times)
        with asker.turns.limited(most):
            answers, notes = ask_at_most(asker, Statement("", (), None, None), [asked])
        assert (answers[asked.digest].source, notes) == ("measurement", ())
        assert ledger.totals().spent - before == times * asker.plan.spare_units
    before = ledger.totals().spent
    with suppress(BudgetExhausted), asker.turns.limited(0.1 * one):
        ask_at_most(asker, Statement("", (), None, None), [three(9)])
    assert ledger.totals().spent == before


def test_ledgers_of_rules_23_pay_each_as_one(bars: dict[str, int]) -> None:
    asker, ledger = opened(models=23)
    bars["of"] = 10**6
    assert asker.fold.pace.times() > 1
    ask(asker, three())
    begun = [e for e in ledger.events() if e.kind == "reserve"][-1]
    assert begun.payload["spares"] == 1 and not {"times", "asked"} & set(begun.payload)
    assert begun.cost == asker.plan.spare_units
