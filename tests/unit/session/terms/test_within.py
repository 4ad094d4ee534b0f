"""Bounds that an analyst names: what is free, what the rest costs, what is durable, lost and left."""

from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import pytest

from dpsql.errors import BudgetExhausted, InternalError, UnsupportedQuery
from dpsql.planning import make_plan
from dpsql.policy import Policy
from dpsql.query import Form, LinearQuery, Term
from dpsql.result import Answer, Terms
from dpsql.session.asker import Asker
from dpsql.session.terms.explaining import explained_within
from dpsql.session.terms.price import priced
from dpsql.session.terms.within import ask_within, is_guaranteed
from dpsql.sql.statement import Aggregate, Block, Statement
from tests.support.asking import ask
from tests.support.warm import WIDE, Coins, Recorder, asker_of, ledger_of, policy, query, unit

ASIDE = Fraction(1, 4)
WITHIN = 40.0


def rules_of(neighbors: Any = "add-remove", aside: Fraction = ASIDE) -> Policy:
    return policy(WIDE, 1, neighbors, on_demand=aside)


def opened(rules: Policy, seed: int = 1, stop_at: int = 0) -> tuple[Asker, Recorder, Coins]:
    ledger = ledger_of(rules, spares=True)
    asker, coins = asker_of(rules, ledger, seed, stop_at)
    return asker, ledger, coins


def three(a: int = 0, b: int = 0) -> LinearQuery:
    return query(WIDE, a=unit(40, a), b=unit(9, b), c=unit(8, 0))


def statement_of(*queries: LinearQuery) -> Statement:
    counted = tuple(Form(0.0, (Term(1.0, q),)) for q in queries)
    groups = tuple((i,) for i in range(len(queries)))
    block = Block("b", "t", ("g",), ("BIGINT",), groups, (Aggregate("n", "BIGINT", counted),))
    return Statement("", (block,), None, None)


def within(asker: Asker, *queries: LinearQuery, most: float = WITHIN, charge: float | None = None) -> list[Answer]:
    found = ask_within(asker, statement_of(*queries), queries, Terms(most, charge))
    return [found[q.digest] for q in queries]


def aside_left(asker: Asker) -> int:
    return asker.purses.on_demand_left()


# --- what is paid -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("most", [16.0, 25.0, 25.9, 400.0])
def test_a_count_has_the_bound_that_was_asked_for_and_costs_its_precision(neighbors: Any, most: float) -> None:
    """The charge by the formulas of docs/privacy.md, worked out here from the bound alone."""
    asker, ledger, _ = opened(rules_of(neighbors, Fraction(3, 4)))
    (answer,) = within(asker, three(), most=most)
    assert (answer.source, answer.error_kind) == ("measurement", "exact")
    assert answer.error is not None
    assert int(most) - 1 <= answer.error <= most
    plan, l2_squared = asker.plan, 1 if neighbors == "add-remove" else 2
    sigma = int(most) / 1.96
    precision = l2_squared / (sigma**2 - 4) if plan.alpha is None else float(plan.alpha) * l2_squared / sigma**2
    assert ledger.totals().spent == pytest.approx(precision / 2 * 1e15, rel=1e-3)
    assert answer.charged == pytest.approx(plan.as_epsilon(ledger.totals().spent))
    assert ledger.log == ["reserve", "noise", "release"]  # durable before the noise, no coin, nothing measured first


def test_the_cells_of_a_group_by_are_one_release_and_each_has_the_bound() -> None:
    asker, ledger, _ = opened(rules_of())
    answers = within(asker, *[three(1, b) for b in range(9)])
    assert all(a.error is not None and a.error <= WITHIN for a in answers)
    alone, other, _ = opened(rules_of())
    within(alone, three(1, 0))
    assert ledger.totals().spent == other.totals().spent  # disjoint cells: a person is in one of them
    assert sum(a.charged > 0 for a in answers) == 1


def test_questions_over_other_columns_are_paid_together_or_not_at_all() -> None:
    asker, ledger, _ = opened(rules_of())
    first, second = three(), query(WIDE, d=unit(7, 0), e=unit(6, 1))
    answers = within(asker, first, second)
    assert [e.kind for e in ledger.events()] == ["reserve", "release"]
    assert all(a.error is not None and a.error <= WITHIN for a in answers)
    before = ledger.totals()
    one = asker.plan.on_demand_units - asker.fold.demands.used
    narrow = 1.96 * (1e15 / 2 / (one * 0.7)) ** 0.5 + 1  # one such release fits, two do not
    with pytest.raises(BudgetExhausted):
        within(asker, three(5), query(WIDE, d=unit(7, 1), e=unit(6, 2)), most=ceil(narrow) + 1.0)
    assert ledger.totals() == before


def test_a_count_of_several_questions_shares_its_bound_among_them() -> None:
    asker, _, _ = opened(rules_of(aside=Fraction(3, 4)))
    whole, part = query(WIDE, a=[1] * 20 + [0] * 20), query(WIDE, a=[1] * 20 + [0] * 20, b=unit(9, 1))
    form = Form(0.0, (Term(1.0, whole), Term(-1.0, part)))
    block = Block("b", "t", (), (), ((),), (Aggregate("n", "BIGINT", (form,)),))
    found = ask_within(asker, Statement("", (block,), None, None), [whole, part], Terms(60))
    errors = [found[q.digest].error for q in (whole, part)]
    assert all(e is not None and e <= 30 for e in errors)


# --- what is free -----------------------------------------------------------------------------------------------------


def test_what_was_released_within_the_bound_is_free_and_shown_to_all() -> None:
    rules = rules_of()
    asker, ledger, _ = opened(rules)
    (answer,) = within(asker, three())
    spent = ledger.totals().spent
    for again in (within(asker, three(), most=WITHIN + 1)[0], ask(asker, three())):
        assert (again.value, again.error, again.charged) == (answer.value, answer.error, 0.0)
    second, _ = asker_of(rules, ledger, 9)
    for again in (within(second, three())[0], ask(second, three())):
        assert (again.value, again.error, again.certified_bound) == (answer.value, answer.error, answer.certified_bound)
    assert ledger.totals().spent == spent


def test_a_narrower_bound_takes_the_place_of_a_wider_one_in_every_session() -> None:
    rules = rules_of()
    asker, ledger, _ = opened(rules)
    (wide,) = within(asker, three(), most=80)
    (narrow,) = within(asker, three(), most=20)
    assert narrow.error is not None and wide.error is not None and narrow.error <= 20 < wide.error
    second, _ = asker_of(rules, ledger, 9)
    assert ask(second, three()).value == ask(asker, three()).value == narrow.value
    assert within(second, three(), most=80)[0].value == narrow.value


def test_a_models_bar_does_not_count_and_a_certificate_does() -> None:
    bar = Answer(5, 3.0, (2.0, 8.0), "calibrated", "hypothesis", certified=False)
    assert not is_guaranteed(bar, 25)
    assert is_guaranteed(replace(bar, certified=True, certified_bound=20.0), 25)
    assert not is_guaranteed(replace(bar, certified=True, certified_bound=26.0), 25)
    assert is_guaranteed(Answer(5, 25.0, None, "exact", "measurement", certified=True), 25)
    assert not is_guaranteed(Answer(5, 26.0, None, "exact", "measurement", certified=True), 25)


@pytest.mark.slow  # error bars are learned; the fast twin is below
def test_a_worse_answer_does_not_replace_a_better_one() -> None:
    asker, _, _ = opened(rules_of())
    ask(asker, query(WIDE, a=unit(40, 0)))
    near = ask(asker, query(WIDE, a=unit(40, 0), b=unit(9, 1)))
    assert near.error is not None
    if near.error_kind == "calibrated":
        (paid,) = within(asker, query(WIDE, a=unit(40, 0), b=unit(9, 1)), most=near.error + 100)
        assert paid.error is not None and paid.error > near.error
    assert ask(asker, query(WIDE, a=unit(40, 0), b=unit(9, 1))).error == near.error


def test_of_two_answers_the_one_with_the_smaller_error_is_shown() -> None:
    asker, _, _ = opened(rules_of())
    (paid,) = within(asker, three())
    demands, digest = asker.fold.demands, three().digest
    for error, better in ((30.0, True), (50.0, False), (None, False)):
        other = Answer(7, error, None, "calibrated", "hypothesis", certified=False)
        assert (demands.best(digest, other) == other) == better
    assert demands.best(digest, None) is demands.answer(digest)
    assert demands.best("another", None) is None
    assert paid.error == 40.0


# --- what is refused --------------------------------------------------------------------------------------------------


def test_a_bound_that_cannot_be_paid_is_refused_at_no_charge_with_one_that_can() -> None:
    asker, ledger, _ = opened(rules_of())
    with pytest.raises(BudgetExhausted) as refused:
        within(asker, three(), most=5)
    assert (ledger.totals().spent, ledger.totals().reserved, ledger.log) == (0, 0, [])
    assert refused.value.requested > refused.value.remaining == asker.plan.as_epsilon(asker.plan.on_demand_units)
    word = next(w for w in refused.value.hint.split() if w.isdigit())
    with pytest.raises(BudgetExhausted):
        within(asker, three(), most=int(word) - 1)
    assert within(asker, three(), most=int(word))[0].source == "measurement"


def test_a_refusal_names_what_is_known_already_where_nothing_narrower_can_be_paid() -> None:
    asker, _, _ = opened(rules_of(aside=Fraction(1, 16)))
    (answer,) = within(asker, three())
    assert answer.error == WITHIN
    with pytest.raises(BudgetExhausted) as refused:
        within(asker, three(), most=25)
    assert refused.value.hint == "it is known to within 40 already, and nothing narrower can be paid"
    with pytest.raises(BudgetExhausted) as other:
        within(asker, three(1, 1), most=25)
    word = next(w for w in other.value.hint.split() if w.isdigit())
    assert "can be paid" in other.value.hint and int(word) > WITHIN


@pytest.mark.parametrize("other", [query(WIDE, d=unit(7, 0), e=unit(6, 1)), three(0, 1)], ids=["apart", "together"])
def test_of_several_counts_those_that_are_known_are_not_paid_again(other: LinearQuery) -> None:
    """Of two that are known to within 40 and not at all, at most 40 is proposed: that is paid for the second alone."""
    asker, _, _ = opened(rules_of(aside=Fraction(1, 8)))
    known = three()
    within(asker, known)
    with pytest.raises(BudgetExhausted) as refused:
        within(asker, known, other, most=20)
    word = next(w for w in refused.value.hint.split() if w.isdigit())
    assert "can be paid" in refused.value.hint and int(word) <= WITHIN
    with pytest.raises(BudgetExhausted):
        within(asker, known, other, most=int(word) - 1)
    assert within(asker, known, other, most=int(word))[1].source == "measurement"


def test_a_ledger_that_sets_nothing_aside_says_so_and_goes_on() -> None:
    asker, ledger, _ = opened(rules_of(aside=Fraction(0)))
    with pytest.raises(BudgetExhausted, match="sets nothing aside"):
        within(asker, three())
    assert ledger.totals().spent == 0
    explained = explained_within(statement_of(three()), [three()], asker, Terms(WITHIN))
    assert "refused" in explained.notes[0].text
    assert ask(asker, three()).value is not None


def test_no_noise_of_a_plan_with_two_purses_is_small_enough_for_a_bound_of_three() -> None:
    asker, ledger, _ = opened(rules_of(aside=Fraction(9, 10)))
    with pytest.raises(BudgetExhausted):
        within(asker, three(), most=3)
    assert ledger.totals().spent == 0


def test_sums_averages_and_strings_are_refused_in_words() -> None:
    asker, ledger, _ = opened(rules_of())
    form = Form(0.0, (Term(0.5, three()),))
    for aggregate in (Aggregate("s", "DOUBLE", (form,)), Aggregate("a", "DOUBLE", (form,), (form,))):
        block = Block("b", "t", (), (), ((),), (aggregate,))
        with pytest.raises(UnsupportedQuery, match="counts of rows"):
            ask_within(asker, Statement("", (block,), None, None), [three()], Terms(WITHIN))
    assert ledger.totals().spent == 0


def test_a_dearer_bound_than_max_charge_is_refused() -> None:
    asker, ledger, _ = opened(rules_of())
    cost = explained_within(statement_of(three()), [three()], asker, Terms(WITHIN)).worst_charge
    with pytest.raises(BudgetExhausted, match="max_charge"):
        within(asker, three(), charge=0.99 * cost)
    assert ledger.totals().spent == 0
    assert within(asker, three(), charge=1.01 * cost)[0].charged == pytest.approx(cost)


# --- what is explained, left and lost ---------------------------------------------------------------------------------


def test_what_is_explained_is_what_is_charged() -> None:
    asker, ledger, _ = opened(rules_of())
    explained = explained_within(statement_of(three()), [three()], asker, Terms(WITHIN))
    assert ledger.log == []
    (plan,) = explained.plans
    (answer,) = within(asker, three())
    assert (plan.error, plan.worst_charge, plan.source) == (answer.error, answer.charged, "a measurement on demand")
    assert "of what was set aside" in explained.notes[0].text
    again = explained_within(statement_of(three()), [three()], asker, Terms(WITHIN))
    assert (again.worst_charge, again.statements_left) == (0.0, None)


def test_the_purse_shows_what_is_left_and_never_lends() -> None:
    asker, ledger, _ = opened(rules_of())
    plan = asker.plan
    assert aside_left(asker) == plan.on_demand_units > 0
    hard = asker.payments_left()
    within(asker, three())
    (row,) = [(spent, planned) for name, spent, planned in asker.purses.shares() if name == "on demand"]
    assert row == (plan.as_epsilon(ledger.totals().spent), plan.as_epsilon(plan.on_demand_units))
    assert aside_left(asker) == plan.on_demand_units - ledger.totals().spent
    for i in range(1, 100):
        try:
            within(asker, three(i % 40, i % 9))
        except BudgetExhausted:
            break
    assert 0 < ledger.totals().spent <= plan.on_demand_units
    assert asker.payments_left() == hard
    assert asker.turns.affordable() >= asker.purses.unbegun()  # first looks have all that was planned for them


def test_an_interrupt_among_the_noise_loses_what_it_costs_and_no_more() -> None:
    rules = rules_of()
    killed, ledger, _ = opened(rules, 3, stop_at=1)
    with pytest.raises(KeyboardInterrupt):
        within(killed, three())
    ledger.recover()
    second, _ = asker_of(rules, ledger, 2)
    lost = ledger.totals().spent
    assert sum(e.kind == "burn" for e in ledger.events()) == 1
    assert aside_left(second) == second.plan.on_demand_units - lost
    (answer,) = within(second, three())
    assert ledger.totals().spent == 2 * lost
    assert answer.charged == pytest.approx(second.plan.as_epsilon(lost))


def test_of_two_sessions_that_race_for_the_last_units_the_first_is_served() -> None:
    """Both priced it before either had reserved; the later gives its reservation back, whoever draws first."""
    asker, ledger, _ = opened(rules_of())
    units = int(0.9 * asker.plan.on_demand_units)
    other = ledger.reserve(units, lambda _: None, {"purpose": "on demand", "burn": units})
    with pytest.raises(BudgetExhausted) as refused:
        within(asker, three(), most=20)  # its fold has not seen the other's yet
    assert ledger.totals().reserved == units
    assert "another session" in refused.value.message
    ledger.free(other)
    asker.catch_up()
    assert within(asker, three(), most=20)[0].charged > 0


def test_an_equal_question_that_another_session_has_just_released_is_free() -> None:
    rules = rules_of()
    asker, ledger, _ = opened(rules)
    second, _ = asker_of(rules, ledger, 2)
    (answer,) = within(second, three())
    spent = ledger.totals().spent
    (again,) = within(asker, three())  # its fold has not seen it; the reservation is given back
    assert (again.value, again.charged, ledger.totals().spent, ledger.totals().reserved) == (
        answer.value,
        0.0,
        spent,
        0,
    )


def test_a_replay_knows_the_same() -> None:
    rules = rules_of()
    asker, ledger, _ = opened(rules)
    within(asker, *[three(1, b) for b in range(9)])
    within(asker, three(1, 3), most=20)
    second, _ = asker_of(rules, ledger, 9)
    assert second.purses.shares() == asker.purses.shares()
    for b in range(9):
        assert second.known(three(1, b)) == asker.known(three(1, b))


# --- the noise --------------------------------------------------------------------------------------------------------


def test_the_noise_is_that_of_the_bound() -> None:
    """360 cells of one release scatter as 1.96 sd = the bound says: 20 % more or less is refused."""
    asker, _, _ = opened(rules_of())
    group = [three(a, b) for a in range(40) for b in range(9)]
    answers = within(asker, *group)
    counts = asker.bench.engine.contingency("t", ("a", "b", "c"))
    found = np.array([a.value or 0 for a in answers])
    off = counts.map(lambda cells: float(((found - cells[:40, :9, 0].reshape(-1)) ** 2).mean() ** 0.5))
    ratio = off.map(lambda sd: sd * 1.96 / WITHIN)
    assert ratio.map(lambda r: 0.87 < r < 1.13).reveal()
    assert not ratio.map(lambda r: 0.87 < r * 0.75 < 1.13 or 0.87 < r * 1.3 < 1.13).reveal()


# --- what is set aside ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", [{}, {"strategy": "pmw"}, {"hard_rounds": 3}])
@pytest.mark.parametrize("planned", [3, 1000])
@pytest.mark.parametrize("aside", [Fraction(1, 100), ASIDE])
def test_the_owners_share_is_taken_off_all_others_alike(mechanism: Any, planned: int, aside: Fraction) -> None:
    made = policy(WIDE, 1, **mechanism, on_demand=aside)
    made = replace(made, privacy=replace(made.privacy, planned_queries=planned))
    plan = make_plan(made)
    share = float(aside)
    measured = plan.hard_rounds * plan.measure_cost
    tests = plan.hard_rounds * float(plan.slope) ** 2 / 2 * 1e15
    whole = tests + measured + plan.release_budget
    if plan.alpha is None:
        assert plan.on_demand_units / whole == pytest.approx(share, rel=0.1)  # each release pays for its own rounding
    assert plan.on_demand_units > 0
    assert type(plan).from_json(plan.to_json()) == plan


@pytest.mark.parametrize(
    ("aside", "number"), [(Fraction(1, 20), {40: 1, 100: 7}), (Fraction(1, 10), {40: 2, 50: 3, 100: 14})]
)
def test_what_a_share_pays_for(aside: Fraction, number: dict[int, int]) -> None:
    """The figures of docs/policy.md, at (1, 1e-6)."""
    plan = make_plan(rules_of(aside=aside))
    for bound, times in number.items():
        found = priced(plan, 1, (three(),), [bound])
        assert found is not None
        assert plan.on_demand_units // found.share.units == times


def test_nothing_set_aside_is_the_plan_as_it_was() -> None:
    plan = make_plan(policy(WIDE, 1, on_demand=Fraction(0)))
    assert plan == make_plan(policy(WIDE, 1))
    assert "on_demand" not in plan.to_json()
    assert policy(WIDE, 1, on_demand=Fraction(0)).digest == policy(WIDE, 1).digest != rules_of().digest


def test_a_question_that_counts_rows_twice_is_refused_before_anything_is_reserved() -> None:
    asker, ledger, _ = opened(rules_of())
    ask(asker, query(WIDE, a=unit(40, 0)))
    before, factor = list(ledger.log), unit(9, 0)
    twice = query(WIDE, a=unit(40, 1))
    twice = replace(twice, factors=(*twice.factors, *query(WIDE, a=unit(40, 1), b=factor).factors))
    with pytest.raises(InternalError, match="twice"):
        within(asker, twice)
    assert ledger.log == before
