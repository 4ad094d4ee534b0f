"""How far neighbours can be apart, by trying all of them, and that all noise of a plan is made for it."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dpsql.domain import BooleanDomain, IntegerDomain, TableDomain, TextDomain
from dpsql.planning import TextStart, make_plan, plan_tables
from dpsql.planning.sensitivity import contingency_l2_squared, indicators_changed, query_sensitivity
from dpsql.policy import Mechanism, Policy, Privacy

CELLS = 3
COLUMNS = (BooleanDomain("a"), IntegerDomain("b", 0, 5))
TEXT = TextDomain("w", (1,))


def policy(neighbors: Any, c: int, text: bool = False, queries: int = 100_000, **mechanism: Any) -> Policy:
    columns = (*COLUMNS, TEXT) if text else COLUMNS
    table = TableDomain("t", columns, *(("u", c) if c > 1 else ()))
    privacy = Privacy(Fraction(1), Fraction(1, 10**6), neighbors, queries)
    return Policy(privacy, (table,), Mechanism(**mechanism))


def units_of(c: int) -> list[npt.NDArray[np.int64]]:
    """The counts that one unit of at most ``c`` rows can make in a contingency."""
    chosen = (rows for n in range(c + 1) for rows in combinations_with_replacement(range(CELLS), n))
    return [np.bincount(np.array(rows, dtype=np.int64), minlength=CELLS) for rows in chosen]


def changes(neighbors: str, c: int) -> Iterator[npt.NDArray[np.int64]]:
    """What a contingency changes by between neighbours: a unit comes or goes, or another takes its place."""
    nothing = [np.zeros(CELLS, dtype=np.int64)]
    for one, other in product(units_of(c), nothing if neighbors == "add-remove" else units_of(c)):
        yield one - other


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("c", [1, 2, 3])
def test_sensitivities_are_the_largest_changes_between_neighbours(neighbors: str, c: int) -> None:
    rules = policy(neighbors, c)
    queries = [np.array(weights) for weights in product((0, 1), repeat=CELLS)]
    assert max(int(d @ d) for d in changes(neighbors, c)) == contingency_l2_squared(rules, rules.tables[0])
    assert max(abs(int(q @ d)) for d in changes(neighbors, c) for q in queries) == query_sensitivity(rules.tables[0])


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("c", [1, 2])
def test_indicators_change_by_as_many_entries_as_rows_at_most(neighbors: Any, c: int) -> None:
    """Whether there is a row, for all tables with others' rows in any of the cells; here there are enough cells."""
    cells, most = 4, 0
    units = [np.array(u) for n in range(c + 1) for u in combinations_with_replacement(range(cells), n)]
    nothing = [np.array([], dtype=np.int64)]
    for others in product((0, 1), repeat=cells):
        for one, other in product(units, nothing if neighbors == "add-remove" else units):
            with_one, with_other = (
                np.array(others) + np.bincount(u.astype(np.int64), minlength=cells) > 0 for u in (one, other)
            )
            most = max(most, int((with_one != with_other).sum()))
    assert most == indicators_changed(neighbors, policy(neighbors, c).tables[0])


def scales(start: TextStart) -> list[Fraction]:
    """The noise of all releases of a text column's first touch, in counts."""
    return [start.select_sigma, start.distinct_sigma, start.count_sigma, *[start.pair_sigma] * len(start.paired)]


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("c", [1, 3])
@pytest.mark.parametrize(
    "kind", [{"text": True}, {"strategy": "pmw"}, {"queries": 3}], ids=["starts", "net", "questions"]
)
def test_all_noise_of_a_plan_is_made_for_the_largest_change(neighbors: str, c: int, kind: dict[str, Any]) -> None:
    rules = policy(neighbors, c, **kind)
    plan = make_plan(rules)
    table = plan_tables(plan, rules)["t"]
    largest = max(int(d @ d) for d in changes(neighbors, c))
    assert table.l2_squared == largest  # contingencies of a warm start are measured with it
    singles = [(table.row_count.units, table.row_count.sigma), (table.question.units, table.question.sigma)]
    paid = [(units, [sigma]) for units, sigma in [*singles, (plan.measure_cost, table.net.sigma)] if units]
    paid += [(start.units, scales(start)) for start in table.texts.values()]
    assert len(paid) > 1
    assert all(sum(plan.release_cost(sigma, largest) for sigma in made) <= units for units, made in paid)
