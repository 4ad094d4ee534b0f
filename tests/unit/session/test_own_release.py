"""Noise for each question alone: order of durable steps, the purse, replay, other sessions, what is free."""

from fractions import Fraction
from functools import cache
from threading import Timer
from typing import Any

import duckdb
import numpy as np
import pytest

import dpsql
from dpsql.accounting import Plan
from dpsql.engine.memory import MemoryEngine
from dpsql.errors import BudgetExhausted, EngineError, InternalError
from dpsql.ledger.event import Totals
from dpsql.planning import make_plan, plan_tables
from dpsql.planning.measured_axes import own_sd
from dpsql.planning.shares import Shares
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.private import Private
from dpsql.query import Counts, Factor, LinearQuery, linear_query
from dpsql.session.asker import Asker
from dpsql.session.own.release import release_own
from tests.support.asking import ask, ask_all, how, way_of
from tests.support.counted import Counted
from tests.support.warm import DATA, ROWS, WIDE, Coins, Recorder, asker_of, ledger_of, query, unit

QUESTIONS = 4


def few(neighbors: Any = "add-remove", questions: int = QUESTIONS, **mechanism: Any) -> Policy:
    privacy = Privacy(Fraction(1), Fraction(1, 10**6), neighbors, planned_queries=questions)
    return Policy(privacy, (WIDE,), Mechanism(**mechanism))


def opened(rules: Policy, seed: int = 1) -> tuple[Asker, Recorder, Coins]:
    ledger = ledger_of(rules)
    asker, coins = asker_of(rules, ledger, seed)
    assert asker.plan.questions == rules.privacy.planned_queries
    return asker, ledger, coins


def cell(a: int, b: int) -> LinearQuery:
    return query(WIDE, a=unit(40, a), b=unit(9, b))


def row_count() -> LinearQuery:
    found = linear_query(WIDE, [])
    assert found is not None
    return found


def truth(q: LinearQuery) -> int:
    held = np.ones(ROWS, dtype=bool)
    for f in q.factors:
        held &= f.weights[codes(f.columns[0])] != 0
    return int(held.sum())


@cache
def codes(column: str) -> np.ndarray[Any, Any]:
    """The code of each row's value."""
    values = WIDE.finite_domain(column).values
    return np.array([values.index(v) for v in DATA[WIDE][column]])


# --- the steps --------------------------------------------------------------------------------------------------


def test_everything_is_durable_before_the_noise_and_no_coin_is_tossed() -> None:
    asker, ledger, _ = opened(few())
    ask(asker, cell(0, 0))
    ask(asker, query(WIDE, c=unit(8, 1)))
    assert ledger.log == ["reserve", "noise", "release"] * 3  # the row count, and two questions
    purposes = [e.payload["purpose"] for e in ledger.events() if e.kind == "reserve"]
    assert purposes == ["row count", "question", "question"]


def test_an_answer_is_exact_charges_one_share_and_is_near_the_truth() -> None:
    asker, ledger, _ = opened(few())
    ask(asker, row_count())
    spent = ledger.totals().spent
    answer = ask(asker, cell(0, 0))
    cost = Shares(asker.plan, asker.policy).question
    assert ledger.totals() == Totals(spent + cost, 0)
    assert answer.charged == pytest.approx(asker.plan.as_epsilon(cost))
    assert (answer.source, answer.error_kind, answer.certified) == ("measurement", "exact", True)
    assert answer.value is not None
    assert answer.error is not None
    assert abs(answer.value - truth(cell(0, 0))) <= 3 * answer.error
    again = asker.known(cell(0, 0))
    assert again is not None
    assert (again.value, again.charged) == (answer.value, 0.0)


def test_the_noise_is_what_the_share_buys() -> None:
    """sigma^2 = 4 + K / (s S), S of the analytic Gaussian mechanism: one count for everything has sigma 4.2247.

    s = 1 - 1 / (1 + 2 sqrt(K)): the rest is for the row count.
    """
    plan = make_plan(few())
    expected = (4 + QUESTIONS * 4.2247**2 / 0.8) ** 0.5
    assert float(plan_tables(plan, few())["t"].question.sigma) == pytest.approx(expected, rel=1e-4)


def test_half_of_a_question_is_known_from_the_row_count_and_half_the_noise_is_drawn() -> None:
    """f - n / 2 changes by 1/2 a row: sd of the answer sqrt((sigma / 2)^2 + (row count's sigma / 2)^2)."""
    asker, _, _ = opened(few())
    ask(asker, row_count())
    plan = asker.states["t"].plan
    expected = np.hypot(float(plan.question.sigma), float(plan.row_count.sigma)) / 2
    assert asker.states["t"].own.own_sds([cell(0, 0)]) == pytest.approx([expected], rel=1e-3)
    answer = ask(asker, cell(0, 0))
    assert (answer.error, answer.certified) == (np.ceil(1.96 * expected), True)
    assert answer.certified_bound == np.ceil(plan.certain * asker.states["t"].own.own_sds([cell(0, 0)])[0])


def test_where_rows_are_replaced_a_question_changes_by_one_and_its_cells_by_two() -> None:
    asker, _, _ = opened(few("replace-one"))
    ask(asker, row_count())
    plan = asker.states["t"].plan
    expected = np.hypot(float(plan.question.sigma) / np.sqrt(2), float(plan.row_count.sigma) / 2)
    assert asker.states["t"].own.own_sds([cell(0, 1)]) == pytest.approx([expected], rel=0.02)


def test_rows_that_count_by_fractions_are_released_as_one_number() -> None:
    """As a whole each of the 40 values would be a number, and their noise would add up."""
    asker, _, _ = opened(few())
    ask(asker, row_count())
    sums = LinearQuery("t", (Factor(("a",), np.arange(40), 39),))
    state = asker.states["t"]
    (sd,) = state.own.own_sds([sums])
    assert sd == pytest.approx(state.own.own_sds([cell(0, 0)])[0], rel=0.02)
    assert sd < own_sd([sums], float(state.plan.question.sigma)) / 4
    _, error = how(asker, sums)
    answer = ask(asker, sums)
    assert error == answer.error == np.ceil(1.96 * sd) + 1
    truth_of_sums = float((codes("a") / 39).sum())
    assert abs((answer.value or 0) - truth_of_sums) <= 4 * sd + 1


@pytest.mark.parametrize(("told", "seen"), [(1.0, False), (0.5, True), (2.0, True)])
def test_answers_err_as_much_as_is_said_and_another_sd_would_be_seen(told: float, seen: bool) -> None:
    """120 sessions' first answers about 120 cells; the row count's error is in each of them."""
    off = []
    for seed in range(120):
        asker, _, _ = opened(few(), seed)
        q = cell(seed % 40, seed % 9)
        off.append(((ask(asker, q).value or 0) - truth(q)) / asker.states["t"].own.own_sds([q])[0])
    squares = float(np.square(off).sum()) / told**2
    assert (squares < 79 or squares > 172) == seen  # 120 degrees of freedom: .1 % on either side


def test_the_cells_of_a_group_by_are_one_release() -> None:
    asker, ledger, _ = opened(few())
    ask(asker, row_count())
    before = ledger.totals().spent
    cells = [cell(a, b) for a in range(40) for b in range(9)]
    answers = ask_all(asker, cells)
    assert ledger.totals().spent - before == Shares(asker.plan, asker.policy).question
    assert [a.charged > 0 for a in answers] == [True] + [False] * 359
    assert len({a.error for a in answers}) == 1
    state = asker.states["t"]
    errors = np.array([found[0] - truth(q) for q in cells if (found := state.measured(q)) is not None])
    assert 0.8 < errors.std() / float(state.plan.question.sigma) < 1.2  # answers are moved to what they have in common
    assert len(set(errors.tolist())) > 10  # fresh noise for every part


def test_what_a_release_determines_well_is_free_and_what_it_determines_badly_is_not() -> None:
    asker, ledger, _ = opened(few())
    ask_all(asker, [query(WIDE, a=unit(40, a)) for a in range(40)])
    spent = ledger.totals().spent
    two = query(WIDE, a=[1, 1] + [0] * 38)
    answer = ask(asker, two)
    assert (answer.source, answer.charged, ledger.totals().spent) == ("measurement", 0.0, spent)
    many = ask(asker, query(WIDE, a=[1] * 8 + [0] * 32))
    assert many.charged > 0
    assert many.error is not None
    assert answer.error is not None
    assert many.error < answer.error


def test_the_largest_sd_of_a_group_is_foreseen_to_the_last_bit() -> None:
    asker, _, _ = opened(few())
    ask(asker, row_count())
    group = [query(WIDE, a=[1] * n + [0] * (40 - n)) for n in (2, 5, 9)]
    foreseen = max(asker.states["t"].own.own_sds(group))
    answers = ask_all(asker, group)
    assert max(a.error or 0 for a in answers) == np.ceil(1.96 * foreseen)


# --- the purse ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_the_budget_is_never_exceeded_and_answers_go_on_uncertified(neighbors: Any) -> None:
    asker, ledger, _ = opened(few(neighbors))
    assert asker.payments_left() == QUESTIONS
    paid = 1
    ask_all(asker, [query(WIDE, a=unit(40, a)) for a in range(40)])
    for i in range(1, QUESTIONS + 3):
        answer = ask(asker, query(WIDE, a=unit(40, i), c=unit(8, 0)))
        paid += answer.charged > 0
        totals = ledger.totals()
        assert totals.spent + totals.reserved <= asker.plan.total_units
        if i >= QUESTIONS:
            assert (answer.certified, answer.error, answer.source) == (False, None, "hypothesis")
    assert (paid, asker.payments_left()) == (QUESTIONS, 0)
    coarse = ask(asker, query(WIDE, a=[0] * 20 + [1] * 20, c=[1] * 5 + [0] * 3))  # no part of a release: the model
    assert not coarse.certified
    complement = query(WIDE, a=[int(i != 0) for i in range(40)])
    assert way_of(asker, complement) == "uncertified"
    assert ask(asker, complement).source == "measurement"  # a noisy sum with a guaranteed bound, better than none


def test_refuse_ends_with_the_planned_questions() -> None:
    asker, _, _ = opened(few(when_spent="refuse"))
    for i in range(QUESTIONS):
        ask(asker, query(WIDE, a=unit(40, i)))
    assert (
        sum(r.payments for r in asker.routes([query(WIDE, c=unit(8, 0)), query(WIDE, c=unit(8, 1)), cell(0, 0)])) == 2
    )
    with pytest.raises(BudgetExhausted) as caught:
        ask(asker, query(WIDE, a=unit(40, 9)))
    assert caught.value.requested > caught.value.remaining
    assert "planned question" in str(caught.value)


def test_the_row_count_of_another_table_keeps_its_share() -> None:
    other = type(WIDE)("other", WIDE.columns)
    rules = Policy(few().privacy, (WIDE, other))
    plan = make_plan(rules)
    assert plan.questions == QUESTIONS
    ledger = ledger_of(rules)
    engine = Counted(rules, {"t": DATA[WIDE], "other": DATA[WIDE]})
    asker = Asker(rules, plan, engine, ledger, Coins(1, ledger.log))
    for i in range(QUESTIONS + 2):
        ask(asker, query(WIDE, a=unit(40, i)))
    asker.check([LinearQuery("other", ())])
    answer = ask(asker, query(other, a=unit(40, 0)))
    assert answer.charged == pytest.approx(plan.as_epsilon(Shares(plan, rules).row_count(other)))
    assert not answer.certified
    assert ledger.totals().spent <= plan.total_units


# --- kills, restarts, other sessions ------------------------------------------------------------------------------


def test_a_new_process_has_the_same_state_to_the_last_bit() -> None:
    rules = few()
    asker, ledger, _ = opened(rules)
    ask(asker, cell(0, 0))
    ask_all(asker, [query(WIDE, c=unit(8, i), d=unit(7, 0)) for i in range(8)])
    second, _ = asker_of(rules, ledger, 9)
    for q in (cell(0, 0), cell(3, 4), query(WIDE, c=[1, 1] + [0] * 6), query(WIDE, a=unit(40, 3), d=unit(7, 2))):
        ours, theirs = asker.states["t"].model, second.states["t"].model
        assert ours is not None
        assert theirs is not None
        assert ours.estimate(q).hex() == theirs.estimate(q).hex()
        assert how(second, q) == how(asker, q)
    assert second.purses.shares() == asker.purses.shares()
    assert second.payments_left() == asker.payments_left() == QUESTIONS - 2
    assert Plan.from_json(ledger.header["plan"]) == asker.plan


@pytest.mark.parametrize("when_spent", ["uncertified", "refuse"])
@pytest.mark.parametrize("crowd", ["stale", "twice", "question"])
def test_the_last_question_is_paid_although_others_reserve_beside_it(
    monkeypatch: pytest.MonkeyPatch, when_spent: str, crowd: str
) -> None:
    """What is only reserved is given back: an answer without noise of its own would stay for good."""
    monkeypatch.setattr("dpsql.first.turns.CROWD_SECONDS", 20.0)
    other = type(WIDE)("other", WIDE.columns)
    rules = Policy(few(when_spent=when_spent).privacy, (WIDE, other), Mechanism(when_spent=when_spent))  # type: ignore[arg-type]
    ledger = ledger_of(rules)
    engine = Counted(rules, {"t": DATA[WIDE], "other": DATA[WIDE]})
    asker = Asker(rules, make_plan(rules), engine, ledger, Coins(1, ledger.log))
    for i in range(QUESTIONS - 1):
        ask(asker, query(WIDE, a=unit(40, i)))
    plan = asker.plan
    row_count, question = Shares(plan, rules).row_count(other), Shares(plan, rules).question
    begun = [("row count", "other", row_count)] if crowd != "question" else [("question", "t", question)]
    if crowd == "twice":
        begun *= 2
    numbers = [
        ledger.reserve(cost, lambda _: None, {"purpose": purpose, "table": table, "burn": cost})
        for purpose, table, cost in begun
    ]
    if crowd != "stale":
        asker.catch_up()
        Timer(0.1, ledger.free, (numbers[-1],)).start()
    answer = ask(asker, query(WIDE, a=unit(40, 9)))
    assert (answer.source, answer.charged > 0) == ("measurement", True)
    asker.catch_up()
    assert asker.payments_left() == 0


def test_what_is_asked_in_two_sessions_at_the_same_moment_is_paid_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rules, q = few(), cell(0, 0)
    asker, ledger, _ = opened(rules)
    second, _ = asker_of(rules, ledger, 5)
    ask(asker, row_count())
    ask(second, row_count())
    before, reserve = ledger.totals().spent, ledger.reserve
    first: list[Any] = []

    def reserves(*given: Any) -> int:
        if not first:  # the other session has chosen its route by now
            first.append(None)
            first.append(ask(asker, q))
        return reserve(*given)

    monkeypatch.setattr(ledger, "reserve", reserves)
    late = ask(second, q)
    assert first[1].charged > late.charged == 0.0
    assert (late.value, late.error) == (first[1].value, first[1].error)
    totals = ledger.totals()
    assert (totals.spent - before, totals.reserved) == (Shares(asker.plan, rules).question, 0)


def test_a_kill_among_the_noise_loses_one_question() -> None:
    rules = few()
    ledger = ledger_of(rules)
    asker, _ = asker_of(rules, ledger, stop_at=2)  # the first noise is the row count's
    with pytest.raises(KeyboardInterrupt):
        ask(asker, cell(0, 0))
    asker.close()
    ledger.recover()
    second, _ = asker_of(rules, ledger, 2)
    assert second.payments_left() == QUESTIONS - 1
    assert second.known(cell(0, 0)) is None
    assert ask(second, cell(0, 0)).charged > 0
    for i in range(QUESTIONS):
        ask(second, query(WIDE, a=unit(40, i), d=unit(7, 1)))
        assert ledger.totals().spent + ledger.totals().reserved <= second.plan.total_units
    assert second.payments_left() == 0


def test_an_engine_failure_charges_nothing_for_the_question() -> None:
    class Failing(MemoryEngine):
        broken = True

        def contingency(self, table: str, columns: tuple[str, ...]) -> Private[Counts]:
            if columns and self.broken:
                raise EngineError("gone")
            return super().contingency(table, columns)

    rules = few()
    ledger = ledger_of(rules)
    plan = make_plan(rules)
    engine = Failing(rules, {"t": DATA[WIDE]})
    asker = Asker(rules, plan, engine, ledger, Coins(1, ledger.log))
    with pytest.raises(EngineError):
        ask(asker, cell(0, 0))
    assert ledger.totals() == Totals(Shares(plan, rules).row_count(WIDE), 0)
    engine.broken = False
    assert ask(asker, cell(0, 0)).charged > 0


def test_two_sessions_share_the_questions_and_pay_an_equal_one_once() -> None:
    rules = few()
    ledger = ledger_of(rules)
    first, _ = asker_of(rules, ledger)
    second, _ = asker_of(rules, ledger, 2)
    ours = ask(first, cell(0, 0))
    theirs = ask(second, cell(0, 0))  # it has not looked at the ledger since, and sees it once it has reserved
    assert (theirs.value, theirs.charged) == (ours.value, 0.0)
    assert ledger.totals().reserved == 0
    second.catch_up()
    assert first.payments_left() == second.payments_left() == QUESTIONS - 1


THIRDS = "SELECT SUM(CASE a WHEN 1 THEN 1 WHEN 2 THEN 0.3333333 ELSE 0 END) FROM t"


def test_fractions_of_a_row_need_no_noise_that_cannot_be_drawn() -> None:
    """A sum is released in parts of a row; where noise for the parts leaves what is drawn, the question is whole."""
    columns = "".join(f'{c} = {{ type = "integer", min = 0, max = 40 }}\n' for c in "abcdefg")
    tiny = '[privacy]\nepsilon = 0.003\ndelta = 1e-9\nplanned_queries = 3\nneighbors = "replace-one"\n'
    text = f'version = 1\n{tiny}[tables.t]\nunit = "u"\nmax_rows_per_unit = 1000\n[tables.t.columns]\n{columns}'
    with duckdb.connect() as database:
        values = ", ".join(f"r % {i + 7} AS {c}" for i, c in enumerate("abcdefg"))
        database.execute(f"CREATE TABLE t AS SELECT r AS u, {values} FROM range(50) x(r)")
        with dpsql.connect(database, policy=dpsql.load_policy(text), ledger=":memory:") as con:
            assert con.explain(THIRDS).plans[0].source == "a measurement of its own"
            (answer,) = con.execute(THIRDS).answers
            assert answer.charged == pytest.approx(con.budget.spent_epsilon)
            assert (answer.source, answer.certified) == ("measurement", True)


def test_a_question_that_counts_rows_twice_is_refused_before_anything_is_reserved() -> None:
    asker, ledger, _ = opened(few())
    ask(asker, row_count())
    before, factor = list(ledger.log), cell(1, 1).factors[0]
    with pytest.raises(InternalError, match="twice"):
        release_own(asker.states[WIDE.name], [LinearQuery(WIDE.name, (factor, factor))], asker.bench, asker.turns)
    assert ledger.log == before
