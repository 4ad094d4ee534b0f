"""Pairs of a wide table that wait: each for its question, or all of them once questions touched enough columns."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest

from dpsql.first.touches import Touches
from dpsql.first.warm_start import WarmStart
from dpsql.planning.contingencies import TOUCHED, first_touch_share, later_shares
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
    cost = 0
    while chosen := reserve(warm, first, asked):
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


def test_an_interrupted_look_at_all_goes_on_with_the_next_question() -> None:
    warm = wide()
    number = after_few(warm)
    chosen = reserve(warm, number, ("b", "e"))
    release(warm, number, chosen)
    assert 4 <= len(pairs_of(warm)) < PAIRS
    again = wide()
    after_few(again)
    again.reserved(number, sum(p.units for p in chosen), again.portions_payload(chosen))
    release(again, number, chosen)  # another process, that heard of the same
    assert again.waiting_portions(("p", "q")) == warm.waiting_portions(("p", "q"))
    ask(warm, ("p", "q"), number + 1)
    assert set(pairs_of(warm)) == set(combinations(NAMES, 2))


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
