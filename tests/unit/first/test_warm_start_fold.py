"""What the warm start measures, how far it has come, what its error bars are learned from: public parts, no session."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpsql.errors import LedgerError
from dpsql.first.payload import ANSWER, CONTINGENCY, decode_release, encode_measurement, encode_measurements
from dpsql.first.warm_start import CHUNK, WarmStart
from dpsql.hypothesis import Measurement
from dpsql.planning import make_plan, plan_tables
from dpsql.planning.contingencies import planned_contingencies
from dpsql.planning.plans import WARM_HARD_ROUNDS
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.session.error_bars import lesson
from tests.support.simulated import measured, table_of

CELLS = np.arange(24.0).reshape(2, 3, 4)


def orders(sizes: Sequence[int]) -> set[int]:
    return {len(p.columns) for p in planned_contingencies(table_of(sizes), 50_000.0, 0.04)}


def test_one_contingency_of_everything_when_it_is_less_noisy() -> None:
    assert orders((2, 2, 2)) == {3}
    assert orders((2,) * 6) == {6}
    assert orders((3, 2)) == {2}
    assert orders((16, 7, 5, 2, 2)) == {1, 2, 3}
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


@pytest.mark.parametrize("found", [None, 7, [3], {"kind": CONTINGENCY}, [{"kind": CONTINGENCY}]])
def test_a_release_that_is_no_release_is_a_ledger_error(found: object) -> None:
    with pytest.raises(LedgerError):
        decode_release({"kind": "several", "measurements": found})


def progress(sizes: Sequence[int], units: int = 10**9) -> WarmStart:
    rules = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (table_of(sizes),))
    plan = plan_tables(make_plan(rules), rules)["t"]
    out = WarmStart(replace(plan, warm_units=units, precision=0.04, differences=False))
    out.know_row_count(50_000.0)
    return out


def test_chunks_cover_the_plan_once_and_stay_in_the_purse() -> None:
    warm = progress((9,) * 10)
    seen: list[tuple[str, ...]] = []
    number = 0
    while pending := warm.waiting_contingencies(("a",)):
        number += 1
        columns = [p.columns for p, _ in pending]
        assert number == 1 or len(columns) <= CHUNK
        kept, cost = warm.unbegun_units(), sum(units for _, units in pending)
        warm.reserved(number, cost, columns)
        assert warm.unbegun_units() == kept - cost
        if number == 2:
            warm.freed(number)
            assert warm.unbegun_units() == kept
        elif number == 3:
            warm.burnt(number)
            assert warm.unbegun_units() == kept - cost
        else:
            warm.released(number, [])  # whatever it did not bring is lost
        seen += columns if number != 2 else []
    assert len(seen) == len(set(seen)) == 10 + 45
    assert (warm.unbegun_units(), warm.measured) == (0, {})
    assert 0 <= warm.planned_units - warm.charged_units < 100


def test_what_two_sessions_reserve_at_once_belongs_to_the_first() -> None:
    warm = progress((9,) * 10)
    columns = [p.columns for p, _ in warm.waiting_contingencies(("a",))]
    warm.reserved(5, 10, columns)
    assert warm.others_at_work(("a",))
    warm.reserved(8, 10, columns)
    assert warm.opened_before(8)
    assert not warm.opened_before(5)


def test_pairs_touched_first_get_most_and_all_are_paid() -> None:
    warm = progress((4,) * 18)
    assert warm.touched_later
    warm.reserved(
        1, sum(u for _, u in warm.waiting_contingencies(())), [p.columns for p, _ in warm.waiting_contingencies(())]
    )
    warm.released(1, [])
    names = [c.name for c in warm.plan.table.finite]
    costs = []
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            ((planned, units),) = warm.waiting_contingencies((a, b))
            assert units <= warm.unbegun_units()
            assert warm.next_units((a, b)) == units
            costs.append(units)
            warm.reserved(len(costs) + 1, units, [planned.columns])
            warm.released(len(costs) + 1, [])
            assert not warm.waiting_contingencies((a, b))
    assert costs == sorted(costs, reverse=True)
    assert warm.charged_units <= warm.planned_units
    assert warm.unbegun_units() == 0


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
