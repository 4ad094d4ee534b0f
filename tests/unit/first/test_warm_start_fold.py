"""What the warm start measures, how far it has come, what its error bars are learned from: public parts, no session."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from itertools import combinations, count

import numpy as np
import pytest

from dpsql.accounting.plan import NEWEST_MODELS
from dpsql.domain import BooleanDomain, DateDomain, TableDomain
from dpsql.errors import LedgerError
from dpsql.first.payload import (
    ANSWER,
    CONTINGENCY,
    KEPT_LISTS,
    KeyLists,
    decode_release,
    encode_measurement,
    encode_measurements,
)
from dpsql.first.row_count import RowCount
from dpsql.first.warm_start import WarmStart
from dpsql.hypothesis import Axis, Measurement
from dpsql.planning import Share, make_plan, plan_tables
from dpsql.planning.contingencies import PARTS, first_touch_share, planned_contingencies
from dpsql.planning.plans import WARM_HARD_ROUNDS
from dpsql.planning.portions import AT_STAKE, PORTIONS, Portion
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.session.model.error_bars import lesson
from tests.support.simulated import measured, table_of

CELLS = np.arange(24.0).reshape(2, 3, 4)


def orders(sizes: Sequence[int]) -> set[int]:
    return {len(p.columns) for p in planned_contingencies(table_of(sizes), 50_000.0, 0.04)}


def test_one_contingency_of_everything_when_it_is_less_noisy() -> None:
    assert orders((2, 2, 2)) == {3}
    assert orders((2,) * 6) == {6}
    assert orders((3, 2)) == {2}
    assert orders((16, 7, 5, 2, 2)) == {1, 2, 3, 5}
    assert orders((17, 9, 16, 7, 2, 2)) == {1, 2, 3}
    assert orders((40, 30, 20, 20, 10)) == {1, 2}
    assert orders((4,) * 20) == {1}


def test_several_measurements_in_one_release_are_read_back_exactly() -> None:
    rng = np.random.default_rng(1)
    labels = {"b": np.array([0, 1, 0])}
    written = [(CONTINGENCY, measured(CELLS, "ac", 3.25, rng)), (ANSWER, measured(CELLS, "b", 0.1, rng, labels))]
    read = decode_release(encode_measurements(written))
    assert [kind for kind, _ in read] == [CONTINGENCY, ANSWER]
    for (_, a), (_, b) in zip(written, read, strict=True):
        assert (a.values == b.values).all()
        assert (a.scope, a.sigma) == (b.scope, b.sigma)
        assert all((x.labels == y.labels).all() for x, y in zip(a.axes, b.axes, strict=True))
    ((kind, alone),) = decode_release(encode_measurement(CONTINGENCY, written[0][1]))
    assert (kind, alone.scope) == (CONTINGENCY, ("a", "c"))


def test_equal_lists_of_keys_are_one_object_and_others_are_not() -> None:
    lists, listed = KeyLists(), [["a"], ["b"], [None]]
    first = lists.decode(listed)
    assert first == (("a",), ("b",), (None,))
    assert lists.decode([*listed]) is first
    assert lists.decode([["a"], ["b"]]) == (("a",), ("b",))
    assert lists.decode([["a", "b"], []]) == (("a", "b"), ())  # as flat as the one before
    for i in range(KEPT_LISTS):
        lists.decode([[str(i)]])
    again = lists.decode(listed)
    assert again == first and again is not first


@pytest.mark.parametrize("found", [None, 7, [3], {"kind": CONTINGENCY}, [{"kind": CONTINGENCY}]])
def test_a_release_that_is_no_release_is_a_ledger_error(found: object) -> None:
    with pytest.raises(LedgerError):
        decode_release({"kind": "several", "measurements": found})


def progress(sizes: Sequence[int], units: int = 10**9, models: int = NEWEST_MODELS) -> WarmStart:
    rules = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (table_of(sizes),))
    plan = plan_tables(replace(make_plan(rules), models=models), rules)["t"]
    out = WarmStart(replace(plan, warm_units=units, precision=0.04, differences=False))
    out.know_row_count(50_000.0)
    return out


def reserve(
    warm: WarmStart, number: int, asked: Sequence[str] = ("a",), beside: tuple[tuple[str, ...], ...] = ()
) -> list[Portion]:
    """Reserves what waits; no portions when that is nothing."""
    chosen = warm.waiting_portions(tuple(asked), beside)
    if chosen:
        warm.reserved(number, sum(p.units for p in chosen), warm.portions_payload(chosen))
    return chosen


def noise(units: float) -> float:
    """Its square is inversely proportional to the units; so large that rounding does not matter."""
    return 1e7 * units**-0.5


def release(warm: WarmStart, number: int, chosen: Sequence[Portion]) -> None:
    """Releases zeros for the portions, each with the noise that its units buy."""
    shapes = [(p.columns, warm.plan.table.shape(p.columns)) for p in chosen]
    axes = [tuple(Axis.cells((c,), (n,)) for c, n in zip(columns, shape, strict=True)) for columns, shape in shapes]
    sigmas = [noise(p.units) for p in chosen]
    values = [np.zeros(shape, dtype=np.int64) for _, shape in shapes]
    found = [Measurement("t", *m) for m in zip(axes, values, sigmas, strict=True)]
    warm.released(number, [(CONTINGENCY, m) for m in found])


def measure_all(warm: WarmStart, burn: Callable[[int], bool] = lambda number: False, first: int = 1) -> list[int]:
    """Makes all reservations, of which those that ``burn`` names are lost; what each has cost."""
    costs = []
    for number in count(first):
        left = warm.purse().left
        chosen = reserve(warm, number)
        if not chosen:
            return costs
        costs.append(sum(p.units for p in chosen))
        assert 0 < costs[-1] <= left
        if burn(number):
            warm.burnt(number)
        else:
            release(warm, number, chosen)
    return costs


@pytest.mark.parametrize("nullable", [True, False])
def test_dates_are_measured_with_other_columns_by_the_day_and_by_the_month(nullable: bool) -> None:
    """Each under a name of its own, with the parts of single dates; neither stands for the other."""
    days = DateDomain("day", date(2023, 1, 1), date(2023, 12, 31), nullable=nullable)
    table = TableDomain("t", (days, BooleanDomain("paid", nullable=False)))
    rules = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (table,))
    warm = WarmStart(plan_tables(make_plan(rules), rules)["t"])
    warm.know_row_count(50_000.0)
    sizes: dict[tuple[str, ...], tuple[int, ...]] = {}
    for number in count(1):
        chosen = reserve(warm, number, ("day",))
        if not chosen:
            break
        axes = [warm.axes(p) for p in chosen]
        sizes |= {p.columns: tuple(a.size for a in own) for p, own in zip(chosen, axes, strict=True)}
        values = [np.zeros([a.size for a in own], dtype=np.int64) for own in axes]
        found = [Measurement("t", own, v, noise(p.units)) for own, v, p in zip(axes, values, chosen, strict=True)]
        warm.released(number, [(CONTINGENCY, m) for m in found])
    null = int(nullable)
    assert sizes[("day", "paid", PARTS)] == (12 + null, 2)
    assert sizes[("day", "paid")][0] == 365 + null
    assert sizes[("day", PARTS)] == (12 + null,)
    assert set(warm.measured) == set(sizes)
    assert warm.is_ready(("day", "paid"))
    months, alone = warm.measured["day", "paid", PARTS].axes[0], warm.measured["day", PARTS].axes[0]
    assert np.array_equal(months.labels, alone.labels)


@pytest.mark.parametrize("sizes", [(9,) * 10, (16, 7, 5, 2, 2), (3, 2), (12, 8, 5, 4)])
def test_reservations_cover_the_plan_once_and_stay_in_the_purse(sizes: tuple[int, ...]) -> None:
    warm = progress(sizes)
    planned = planned_contingencies(warm.plan.table, 50_000.0, 0.04)
    costs = measure_all(warm)
    assert set(warm.measured) == {p.columns for p in planned}
    assert [m.scope for _, m in warm.completed()] == list(warm.measured)  # each once
    assert 0 <= warm.planned_units - sum(costs) < 100
    assert warm.unbegun_units() == 0
    for p in planned:  # as precise as planned, in however many portions
        assert warm.measured[p.columns].sigma == pytest.approx(noise(warm.planned_units * p.share), rel=1e-4)


@pytest.mark.parametrize("sizes", [(9,) * 10, (16, 7, 5, 2, 2), (3, 2), (12, 8, 5, 4)])
def test_a_reservation_puts_little_at_stake(sizes: tuple[int, ...]) -> None:
    warm = progress(sizes)
    planned = planned_contingencies(warm.plan.table, 50_000.0, 0.04)
    largest = max(p.share for p in planned) / PORTIONS
    most = warm.planned_units * max(1 / AT_STAKE, largest)
    assert max(measure_all(warm)) <= most * (1 + 1e-6)


@pytest.mark.parametrize("sizes", [(9,) * 10, (16, 7, 5, 2, 2), (3, 2), (12, 8, 5, 4)])
@pytest.mark.parametrize("lost", [{1}, {2, 3}, {1, 2, 3, 5, 8}])
def test_what_was_lost_is_measured_again_from_what_is_left(sizes: tuple[int, ...], lost: set[int]) -> None:
    undisturbed, warm = progress(sizes), progress(sizes)
    largest = max(measure_all(undisturbed))
    costs = measure_all(warm, lost.__contains__)
    assert set(warm.measured) == set(undisturbed.measured)
    assert sum(costs) <= warm.planned_units
    assert sum(costs[n - 1] for n in lost) <= len(lost) * largest
    left = 1.0 - sum(costs[n - 1] for n in lost) / warm.planned_units
    for columns, m in warm.measured.items():  # what came before the loss is as precise as planned
        least = undisturbed.measured[columns].sigma ** -2
        assert m.sigma**-2 >= 0.99 * min(left**2, 1.0) * least


@pytest.mark.parametrize("sizes", [(9,) * 10, (3, 2), (12, 8, 5, 4)])
def test_the_very_last_reservation_may_be_lost(sizes: tuple[int, ...]) -> None:
    warm = progress(sizes)
    last = len(measure_all(progress(sizes)))
    costs = measure_all(warm, lambda number: number == last)
    assert set(warm.measured) == {p.columns for p in planned_contingencies(warm.plan.table, 50_000.0, 0.04)}
    assert sum(costs) <= warm.planned_units
    assert not warm.waiting_portions(("a",))
    assert warm.is_ready(("a",))


def test_whoever_loses_all_ends_with_what_there_is() -> None:
    warm = progress((16, 7, 5, 2, 2))
    costs = measure_all(warm, lambda number: number > 3)
    assert len(costs) < 200
    assert warm.is_ready(("a",))
    assert sum(costs) <= warm.planned_units
    assert (warm.unbegun_units(), warm.next_units(("a",))) == (0, 0)
    assert warm.completed()  # portions of what is given up are known


def test_a_lost_row_count_is_paid_by_the_contingencies() -> None:
    plan = progress((9,) * 10).plan
    row_count = RowCount(plan)
    warm = WarmStart(plan, row_count)
    warm.know_row_count(50_000.0)
    cost = plan.warm_units // 20
    row_count.share = Share(cost, Fraction(3))
    assert warm.purse().left == plan.warm_units
    row_count.reserved(1, cost, {})
    row_count.burnt(1)
    row_count.reserved(2, cost, {})
    row_count.released(2, [])
    assert warm.purse().left == plan.warm_units - cost
    assert sum(measure_all(warm, first=3)) <= plan.warm_units - cost


def test_reservations_of_earlier_versions_are_one_portion_of_each() -> None:
    warm = progress((3, 2))
    payload = {"columns": [["a", "b"]]}
    warm.reserved(1, warm.planned_units, payload)
    axes = tuple(Axis.cells((c,), (n,)) for c, n in (("a", 3), ("b", 2)))
    warm.released(1, [(CONTINGENCY, Measurement("t", axes, np.zeros((3, 2), dtype=np.int64), 2.0))])
    assert list(warm.measured) == [("a", "b")]
    assert warm.is_ready(("a",))
    lost = progress((9,) * 10)
    columns = [p.columns for p in planned_contingencies(lost.plan.table, 50_000.0, 0.04)]
    lost.reserved(1, lost.planned_units // 8, {"columns": [list(c) for c in columns[:10]]})
    lost.burnt(1)
    measure_all(lost, first=2)
    assert set(lost.measured) == set(columns)


def test_what_two_sessions_reserve_at_once_belongs_to_the_first() -> None:
    warm = progress((9,) * 10)
    chosen = reserve(warm, 5)
    payload = {"columns": [list(p.columns) for p in chosen], "portions": [[0, p.rest] for p in chosen]}
    assert warm.others_at_work(("a",))
    warm.reserved(8, 10, payload)
    assert warm.opened_before(8)
    assert not warm.opened_before(5)


def test_a_portion_that_another_session_has_released_is_not_measured_again() -> None:
    warm = progress((3, 2))
    chosen = warm.waiting_portions(("a",))
    payload = warm.portions_payload(chosen)
    assert chosen[0].rest > 0
    for number in (1, 2):
        warm.reserved(number, chosen[0].units, payload)
        assert warm.opened_before(number) == (number == 2)
        if number == 1:
            release(warm, 1, chosen)
    warm.freed(2)
    assert warm.waiting_portions(("a",))


def test_pairs_touched_first_get_most_and_all_are_paid() -> None:
    warm = progress((4,) * 18, models=25)  # since then all that wait are measured together
    assert warm.touched_later
    number = len(measure_all(warm))
    costs = []
    names = [c.name for c in warm.plan.table.finite]
    for a, b in combinations(names, 2):
        costs.append(0)
        whole = warm.next_units((a, b))
        while chosen := reserve(warm, number + 1, (a, b)):  # the last pairs in portions
            number += 1
            release(warm, number, chosen)
            costs[-1] += sum(p.units for p in chosen)
        assert costs[-1] == pytest.approx(whole, abs=9)
        assert not warm.waiting_portions((a, b))
    assert costs == sorted(costs, reverse=True)
    assert warm.charged_units <= warm.planned_units
    assert warm.unbegun_units() == 0


def test_pairs_that_were_lost_take_from_those_that_come_later() -> None:
    warm = progress((4,) * 18, models=25)
    number = len(measure_all(warm))
    names = [c.name for c in warm.plan.table.finite]
    for a, b in combinations(names, 2):
        while chosen := reserve(warm, number + 1, (a, b)):
            number += 1
            assert warm.purse().left >= 0
            if number % 10 == 0:
                warm.burnt(number)
            else:
                release(warm, number, chosen)
    assert warm.charged_units <= warm.planned_units
    pairs = [m.sigma for m in warm.measured.values() if len(m.axes) == 2]
    undisturbed = [
        noise(warm.planned_units * first_touch_share(j + 1, 18, warm.plan.first_touch)) for j in range(len(pairs))
    ]
    assert len(pairs) == 18 * 17 / 2
    assert max(ours / theirs for ours, theirs in zip(pairs, undisturbed, strict=True)) < 2
    assert np.mean(np.array(pairs) / undisturbed) < 1.1


def test_lessons_grow_by_doubling() -> None:
    one = measured(CELLS, "a", 1.0, None)
    pair = measured(CELLS, "ab", 1.0, None)

    def learned(pairs: int, *, growing: bool) -> list[Measurement]:
        return lesson([one, *[pair] * pairs, one], growing=growing)

    assert [len(learned(n, growing=True)) - 2 for n in (0, 7, 8, 15, 16, 40)] == [0, 0, 8, 8, 16, 32]
    assert len(learned(7, growing=False)) == 9


def test_noisier_pairs_ask_for_more_hard_rounds() -> None:
    """The threshold stays above what noise of the pairs alone would trip."""
    rounds = []
    for number in (8, 16, 26):
        privacy = Privacy(Fraction(1), Fraction(1, 10**6), planned_queries=1000)
        rounds.append(
            make_plan(Policy(privacy, (table_of((8,) * number),), Mechanism(warm_start=Fraction(9, 10)))).hard_rounds
        )
    assert rounds == sorted(rounds)
    assert set(rounds) <= set(WARM_HARD_ROUNDS)
    assert rounds[0] < rounds[-1]
