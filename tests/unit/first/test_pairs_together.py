"""Pairs of a wide table that wait: each for its question, or all of them once questions touched enough columns."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from dpsql.domain import IntegerDomain, NumberDomain, TableDomain
from dpsql.first.touches import Touches
from dpsql.first.warm_start import WarmStart
from dpsql.planning import make_plan, plan_tables
from dpsql.planning.contingencies import (
    INSIDE,
    PAIR_ROWS,
    PARTS,
    TOUCHED,
    first_touch_share,
    later_shares,
    planned_alone,
)
from dpsql.policy import Policy, Privacy
from tests.support.simulated import table_of
from tests.unit.first.test_warm_start_fold import measure_all, noise, progress, release, reserve

COLUMNS = 18
NAMES = "abcdefghijklmnopqr"
PAIRS = 153
FEW = [("a", "b"), ("a", "c"), ("b", "d")]
"""They touch four columns; with a fifth it is a quarter of them."""


def wide(models: int | None = None) -> WarmStart:
    warm = progress((4,) * COLUMNS) if models is None else progress((4,) * COLUMNS, models=models)
    assert [c.name for c in warm.plan.table.finite] == list(NAMES)
    assert 4 < TOUCHED * COLUMNS <= 5
    measure_all(warm)
    return warm


def ask(warm: WarmStart, asked: Sequence[str], first: int, lost: Sequence[int] = ()) -> tuple[int, int]:
    """Measures what the question waits for; (the next free reservation, what it cost)."""
    cost, beside = 0, warm.beside(tuple(asked))
    while chosen := reserve(warm, first, asked, beside):
        cost += sum(p.units for p in chosen)
        if first in lost:
            warm.burnt(first)
        else:
            release(warm, first, chosen)
        first += 1
    return first, cost


def pairs_of(warm: WarmStart) -> list[tuple[str, ...]]:
    return [columns for columns in warm.measured if len(columns) == 2]


def after_few(warm: WarmStart) -> int:
    number = 1000
    for pair in FEW:
        number, _ = ask(warm, pair, number)
    return number


def test_few_columns_bring_their_own_pairs_alone() -> None:
    warm = wide()
    after_few(warm)
    assert pairs_of(warm) == FEW
    assert ask(warm, ("a", "c", "d"), 2000)[1] > 0
    assert set(pairs_of(warm)) == {*FEW, ("a", "d"), ("c", "d")}


def test_the_question_that_touches_enough_brings_all_others_and_pays_what_was_foreseen() -> None:
    warm = wide()
    number, foreseen = after_few(warm), warm.next_units(("b", "e"))
    assert foreseen > 0.5 * warm.planned_units
    _, cost = ask(warm, ("b", "e"), number)
    assert cost == pytest.approx(foreseen, abs=PAIRS)
    assert set(pairs_of(warm)) == set(combinations(NAMES, 2))
    assert pairs_of(warm)[:4] == [*FEW, ("b", "e")]
    assert warm.charged_units <= warm.planned_units
    assert warm.unbegun_units() == 0
    assert warm.next_units(("p", "q")) == 0


def test_those_measured_together_are_as_precise_as_each_other() -> None:
    warm = wide()
    ask(warm, ("b", "e"), after_few(warm))
    found = [warm.measured[pair].sigma for pair in combinations(NAMES, 2) if pair not in (*FEW, ("b", "e"))]
    assert max(found) == pytest.approx(min(found), rel=1e-4)
    shares = [first_touch_share(j, COLUMNS, warm.plan.first_touch) for j in range(5, PAIRS + 1)]
    assert found[0] == pytest.approx(noise(warm.planned_units * float(np.mean(shares))), rel=1e-3)
    early = [warm.measured[pair].sigma for pair in FEW]
    assert early == sorted(early)
    assert early[-1] < found[0]


@pytest.mark.parametrize("together", [1, 10, 150])
def test_the_shares_of_all_add_up_to_those_that_pairs_one_by_one_have(together: int) -> None:
    shares = [first_touch_share(j, COLUMNS, 0.3, together) for j in range(1, PAIRS + 1)]
    assert sum(shares) == pytest.approx(later_shares(0, COLUMNS, 0.3))
    for j in (0, 1, 12, 152, PAIRS):
        assert later_shares(j, COLUMNS, 0.3, together) == pytest.approx(sum(shares[j:]))


def test_a_statement_whose_scopes_touch_enough_together_foresees_all() -> None:
    warm = wide()
    touches = Touches.of(warm.plan)
    touches = Touches(touches.row_count, warm, touches.texts, touches.listed)
    scopes = [("a", "b", "c"), ("d", "e")]
    assert sum(warm.next_units(scope) for scope in scopes) < 0.1 * warm.planned_units  # each by itself
    assert warm.beside_any(scopes) and not any(warm.beside(scope) for scope in scopes)
    row_count = touches.row_count.planned_units
    number, foreseen, cost = 1000, touches.first_units(scopes) - row_count, 0
    for scope in scopes:
        number, paid = ask(warm, scope, number)
        cost += paid
    assert cost <= foreseen == pytest.approx(cost, abs=2 * PAIRS)
    assert touches.first_units(scopes) == row_count


def test_what_was_lost_is_measured_again_from_what_is_left() -> None:
    warm = wide()
    number = after_few(warm)
    ask(warm, ("b", "e"), number, lost=range(number + 2, number + 20, 3))
    assert set(pairs_of(warm)) == set(combinations(NAMES, 2))
    assert warm.charged_units <= warm.planned_units


def test_an_interrupted_look_goes_on_with_the_next_question_that_needs_a_pair() -> None:
    """Questions that need none are free, as they were before."""
    warm = wide()
    number = after_few(warm)
    chosen = reserve(warm, number, ("b", "e"), warm.beside(("b", "e")))
    release(warm, number, chosen)
    assert 4 < len(pairs_of(warm)) < PAIRS
    again = wide()
    after_few(again)
    again.reserved(number, sum(p.units for p in chosen), again.portions_payload(chosen))
    release(again, number, chosen)  # another process, that heard of the same
    assert again.beside(("p", "q")) == warm.beside(("p", "q")) != ()
    for known in (("p",), ("b", "e"), ("a", "b")):
        assert warm.next_units(known) == 0 and warm.is_ready(known) and not warm.beside(known)
    ask(warm, ("p", "q"), number + 1)
    assert set(pairs_of(warm)) == set(combinations(NAMES, 2))


def test_vectors_of_single_columns_are_no_pairs() -> None:
    warm = wide()
    warm.pairs.begin([("a", INSIDE), ("b", PARTS), ("a",), ("a", "b", "c"), ("b", "c")])
    assert len(warm.pairs) == 1 and warm.pairs.is_begun(("b", "c"))


def test_while_others_look_a_question_waits_for_its_own_pairs_alone() -> None:
    warm = wide()
    number = after_few(warm)
    chosen = reserve(warm, number, ("b", "e"), warm.beside(("b", "e")))
    under_way = next(p.columns for p in chosen if p.columns != ("b", "e"))
    assert warm.others_at_work(under_way) and not warm.others_at_work(("a", "b")) and not warm.others_at_work(("r",))
    assert warm.beside(("q", "r")) == () and 0 < warm.next_units(("q", "r")) < 0.1 * warm.planned_units
    release(warm, number, chosen)
    assert warm.beside(("q", "r"))


def test_who_pays_for_no_more_measures_pairs_one_by_one() -> None:
    warm = wide()
    number = after_few(warm)
    with warm.pairs.one_by_one():
        foreseen = warm.next_units(("b", "e"))
        number, cost = ask(warm, ("b", "e"), number)
        assert 0 < cost == pytest.approx(foreseen, abs=3) and cost < 0.01 * warm.planned_units
        assert pairs_of(warm) == [*FEW, ("b", "e")]
    ask(warm, ("p", "q"), number)
    assert len(pairs_of(warm)) == PAIRS
    assert warm.charged_units <= warm.planned_units and warm.unbegun_units() == 0


def test_of_many_rows_a_question_brings_some_of_the_others() -> None:
    warm = wide()
    number = after_few(warm)
    rows = PAIR_ROWS / 10
    found = warm.pairs.beside([("b", "e")], warm.pairs.is_begun, rows)
    assert len(found) == 10 and not {*FEW, ("b", "e")} & set(found)
    while chosen := reserve(warm, number, ("b", "e"), found):
        release(warm, number, chosen)
        number += 1
    assert pairs_of(warm) == [*FEW, ("b", "e"), *found]
    assert warm.pairs.beside([("b", "e")], warm.pairs.is_begun, rows) == ()
    assert len(warm.pairs.beside([("p", "q")], warm.pairs.is_begun, rows)) == 10
    assert not warm.pairs.beside([("p", "q")], warm.pairs.is_begun, 2 * PAIR_ROWS)


def test_whoever_loses_all_ends_with_what_there_is() -> None:
    """Lost pairs are what the purse has to replace, and where it cannot they are given up."""
    warm = wide()
    number, _ = ask(warm, ("b", "e"), after_few(warm), lost=range(1003, 10_000))
    assert warm.is_ready(("q", "r")) and warm.beside(("q", "r")) == ()
    assert (warm.unbegun_units(), warm.next_units(("q", "r"))) == (0, 0)
    assert warm.charged_units <= warm.planned_units and number < 2000


@pytest.mark.parametrize("models", [25, 26])
def test_a_first_question_foresees_vectors_of_single_columns(models: int) -> None:
    """Positions inside bins and parts of ranges were paid for without being foreseen."""
    columns = [NumberDomain(f"x{i}", tuple(map(float, range(0, 101, 10)))) for i in range(4)]
    table = TableDomain("t", (*columns, *table_of((4,) * 16).columns, IntegerDomain("long", 0, 999)))
    rules = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (table,))
    plan = plan_tables(replace(make_plan(rules), models=models), rules)["t"]
    warm = WarmStart(plan)
    assert warm.touched_later
    foreseen = warm.next_units(("a", "b"))
    warm.know_row_count(50_000.0)
    assert sum(p.share for p in planned_alone(table)) == pytest.approx(0.1)
    assert foreseen >= warm.next_units(("a", "b"))
    assert foreseen == pytest.approx(warm.next_units(("a", "b")), rel=1e-3)


def test_a_reservation_that_is_given_back_touches_nothing() -> None:
    warm = wide()
    number = after_few(warm)
    reserve(warm, number, ("b", "e"))
    warm.freed(number)
    assert ask(warm, ("a", "d"), number + 1)[1] < 0.1 * warm.planned_units
    assert len(pairs_of(warm)) == len(FEW) + 1


def test_by_earlier_rules_each_waits_for_its_question() -> None:
    warm = wide(25)
    _, cost = ask(warm, ("b", "e"), after_few(warm))
    assert cost < 0.1 * warm.planned_units
    assert pairs_of(warm) == [*FEW, ("b", "e")]
