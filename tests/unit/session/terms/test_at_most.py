"""What may be charged at most: what is answered for free, what is refused, what is kept."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from dpsql.errors import BudgetExhausted
from dpsql.policy import Policy
from dpsql.query import LinearQuery
from dpsql.result import Answer, Note
from dpsql.session.asker import Asker
from dpsql.session.table_state import TableState
from dpsql.session.terms.at_most import ask_at_most
from dpsql.sql.statement import Statement
from tests.support.asking import ask, way_of
from tests.support.warm import NARROW, WIDE, Recorder, asker_of, ledger_of, policy, query, unit

NOTHING = Statement("", (), None, None)


def opened(rules: Policy) -> tuple[Asker, Recorder]:
    ledger = ledger_of(rules, spares=True)
    return asker_of(rules, ledger)[0], ledger


def at_most(asker: Asker, asked: LinearQuery, most: float = 0.0) -> tuple[Answer, tuple[Note, ...]]:
    with asker.turns.limited(most):
        answers, notes = ask_at_most(asker, NOTHING, [asked])
    return answers[asked.digest], notes


def one(a: int) -> LinearQuery:
    return query(NARROW, a=unit(12, a), b=unit(8, 0))


def test_before_anything_is_measured_all_is_refused_at_no_charge() -> None:
    asker, ledger = opened(policy(NARROW))
    with pytest.raises(BudgetExhausted) as refused:
        at_most(asker, one(0))
    assert refused.value.requested > 0.0 == refused.value.remaining
    assert (ledger.log, ledger.totals().spent, ledger.totals().reserved) == ([], 0, 0)


def test_a_question_that_may_turn_hard_is_answered_untested_and_not_kept() -> None:
    asker, ledger = opened(policy(NARROW))
    ask(asker, one(0))
    assert way_of(asker, one(1)) == "test"
    del ledger.log[:]
    answer, notes = at_most(asker, one(1))
    assert ledger.log == []  # nothing reserved, no coin, no noise
    assert (answer.source, answer.error_kind, answer.certified, answer.charged) == (
        "hypothesis",
        "calibrated",
        False,
        0.0,
    )
    assert answer.error is not None
    assert "not tested" in notes[0].text
    assert asker.known(one(1)) is None  # who asks without a limit has it tested
    ask(asker, one(1))
    assert "coin" in ledger.log


def test_what_is_known_is_free() -> None:
    asker, _ = opened(policy(NARROW))
    answer = ask(asker, one(0))
    again, notes = at_most(asker, one(0))
    assert (again.value, again.charged, notes) == (answer.value, 0.0, ())


def test_where_the_owner_wants_no_answer_without_a_test_it_is_refused() -> None:
    asker, ledger = opened(policy(NARROW, when_spent="refuse"))
    ask(asker, one(0))
    before = ledger.totals().spent
    with pytest.raises(BudgetExhausted):
        at_most(asker, one(1))
    assert ledger.totals().spent == before


def test_a_model_without_a_bar_does_not_answer() -> None:
    asker, _ = opened(policy(NARROW, strategy="pmw"))
    ask(asker, query(NARROW))
    with pytest.raises(BudgetExhausted):
        at_most(asker, one(1))


def test_where_the_worst_is_within_the_limit_it_is_asked_as_ever() -> None:
    asker, _ = opened(policy(NARROW))
    whole = float(asker.plan.epsilon)
    answer, notes = at_most(asker, one(1), whole)
    assert notes == ()
    assert answer.charged > 0
    assert asker.known(one(1)) is not None


@pytest.mark.slow  # the fast twins are the tests around it, for no charge at all
@pytest.mark.parametrize("hard", [False, True])
def test_no_charge_is_above_the_limit_whatever_the_coins_say(hard: bool) -> None:
    rules = policy(WIDE, 1)
    ledger = ledger_of(rules, spares=True)
    asker, coins = asker_of(rules, ledger)
    ask(asker, query(WIDE, a=unit(40, 0)))
    coins.hard = hard
    for most in (0.0, 0.0005, 0.002, 0.01, 0.05, 0.2, 1.0):
        for a in range(3):
            before = ledger.totals().spent
            asked = query(WIDE, a=unit(40, a), b=unit(9, int(most * 8)), c=unit(8, a))
            try:
                at_most(asker, asked, most)
            except BudgetExhausted:
                assert ledger.totals().spent == before
            assert asker.plan.as_epsilon(ledger.totals().spent - before) <= most


def test_a_spare_release_is_not_made_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def far(state: TableState, queries: Sequence[LinearQuery]) -> Any:
        return [10**6] * len(queries)

    monkeypatch.setattr(TableState, "error_bars", far)
    asker, ledger = opened(policy(WIDE, 1))
    ask(asker, query(WIDE, a=unit(40, 0)))
    asked = query(WIDE, a=unit(40, 1), b=unit(9, 1), c=unit(8, 1))
    ask(asker, query(WIDE, a=unit(40, 2), b=unit(9, 1), c=unit(8, 1)))
    assert way_of(asker, asked) == "spare"
    before = ledger.totals().spent
    assert at_most(asker, asked)[0].error == 10**6
    assert ledger.totals().spent == before


@pytest.mark.parametrize("hard", [False, True])
def test_what_others_do_meanwhile_is_not_paid_above_the_limit(hard: bool) -> None:
    """The route is dearer by the time it is taken: no coin is tossed that could charge too much."""
    rules = policy(NARROW)
    ledger = ledger_of(rules, spares=True)
    asker, coins = asker_of(rules, ledger)
    ask(asker, one(0))
    assert way_of(asker, one(1)) == "test"
    coins.hard = hard
    del ledger.log[:]
    before = ledger.totals().spent
    with asker.turns.limited(0.5 * asker.plan.as_epsilon(asker.plan.hard_cost)):
        assert ask(asker, one(1)).source == "hypothesis"
    assert "coin" not in ledger.log
    assert ledger.totals().spent == before
    with asker.turns.limited(asker.plan.as_epsilon(asker.plan.hard_cost)):
        assert ask(asker, one(2)).source == ("measurement" if hard else "hypothesis")
    assert "coin" in ledger.log


def test_own_noise_is_not_paid_above_the_limit() -> None:
    rules = policy(NARROW)
    rules = replace(rules, privacy=replace(rules.privacy, planned_queries=5))
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger)
    assert way_of(asker, one(0)) == "release"
    ask(asker, query(NARROW, a=unit(12, 3)))
    before, share = ledger.totals().spent, asker.payment_epsilon()
    with asker.turns.limited(0.999 * share):
        assert ask(asker, one(1)).charged == 0.0
    assert ledger.totals().spent == before
    with asker.turns.limited(share):
        assert ask(asker, one(2)).charged == pytest.approx(share)


def test_first_measurements_are_not_paid_above_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor waited for: no other session is in the way."""
    monkeypatch.setattr("dpsql.first.turns.sleep", lambda _: pytest.fail("waited"))
    asker, ledger = opened(policy(NARROW))
    with asker.turns.limited(0.0), pytest.raises(BudgetExhausted):
        asker.first_touches(NARROW.name)
    assert ledger.log == []
    asker.first_touches(NARROW.name)
    before = len(ledger.log)
    assert before > 0
    with asker.turns.limited(0.0):
        assert asker.first_touches(NARROW.name, ("a", "b")) == 0.0
    assert len(ledger.log) == before
    assert asker.first_touches(NARROW.name, ("a", "b")) > 0.0


def test_what_is_done_without_because_of_the_limit_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor believed to be out of reach: whoever asks without a limit pays for it."""
    monkeypatch.setattr("dpsql.session.terms.at_most.worst_units", lambda *_: 0)  # dearer by the time it is asked
    asker, ledger = opened(policy(WIDE, 1))
    ask(asker, query(WIDE))
    asked, before = query(WIDE, a=unit(40, 1), b=unit(9, 1)), ledger.totals().spent
    answer, notes = at_most(asker, asked)
    assert (answer.charged, ledger.totals().spent) == (0.0, before)
    assert "not tested" in notes[0].text
    assert asker.known(asked) is None
    assert not asker.states[WIDE.name].touches.warm.is_unpaid
    assert ask(asker, asked).charged > 0.0


@pytest.mark.parametrize("most", [0.0, 4.0])
def test_an_answer_that_no_test_is_left_for_is_not_kept_under_a_limit(most: float) -> None:
    """Another session may hold the last hard round, and give it back."""
    rules = policy(NARROW, hard_rounds=1)
    ledger = ledger_of(rules, spares=True)
    one_session, _ = asker_of(rules, ledger)
    other, _ = asker_of(rules, ledger)
    ask(one_session, one(0))
    assert ask(one_session, one(1)).source == "hypothesis"  # holds it
    other.catch_up()
    assert way_of(other, one(2)) == "uncertified"
    assert "not tested" in at_most(other, one(2), most)[1][0].text
    assert other.known(one(2)) is None
    one_session.close()
    other.catch_up()
    assert way_of(other, one(2)) == "test"


def test_what_has_noise_of_its_own_is_asked_before_what_may_do_without() -> None:
    """A spare release of the others could leave nothing for it, and the model answers where none is left."""
    asker, ledger = opened(policy(NARROW))
    ask(asker, one(0))
    del ledger.log[:]
    seen: list[list[str]] = []

    def others() -> dict[str, Answer]:
        seen.append(list(ledger.log))
        return {}

    with asker.turns.limited(4.0):
        ask_at_most(asker, NOTHING, [one(1)], 0, others)
    assert seen == [[]]
    assert "coin" in ledger.log
