"""``round(x, -1)`` and ``trunc(x, -1)`` of a number column are steps of it, as ``floor(x / 10)`` is."""

from math import inf, nextafter

import pytest

from dpsql.domain import NumberDomain, TableDomain
from dpsql.errors import UnsupportedQuery
from dpsql.sql import FrontEnd
from tests.support.contingency import Counted, seeded
from tests.support.exact import front_of

TABLE = TableDomain("t", (NumberDomain("x", (-250.0, -20.0, 0.0, 7.0, 90.0, 1000.0)),))


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return front_of(TABLE)


@pytest.fixture(scope="module")
def counted() -> Counted:
    rng = seeded(9)
    ends = [float(5 * i) for i in range(-50, 201)]
    near = [y for x in ends for y in (nextafter(x, -inf), x, nextafter(x, inf)) if -250 <= y <= 1000]
    return Counted(TABLE, [(rng.choice([*near, None]),) for _ in range(3000)])


@pytest.mark.parametrize(
    "steps", ["round(x, -1)", "round(x, -2)", "trunc(x, -1)", "round(x / 2, -2)", "round(x, 0)", "round(abs(x), -2)"]
)
def test_counts_of_steps_are_exact(front: FrontEnd, counted: Counted, steps: str) -> None:
    sql = f"SELECT {steps} AS k, COUNT(*) AS n FROM t GROUP BY k"
    (block,) = front.lower(sql).blocks
    truth = dict(counted.connection.execute(sql).fetchall())
    found = {group[0]: form for group, form in zip(block.groups, block.aggregates[0].numerator, strict=True)}
    assert {k: counted.exact(form) for k, form in found.items() if counted.exact(form)} == truth
    assert all(counted.doubt(form) == 0 for form in found.values())


@pytest.mark.parametrize(
    "steps", ["round(x, 1)", "floor(x * 100) / 100", "floor(x * 10)", "CAST(floor(x * 40) AS INTEGER)"]
)
def test_decimals_are_no_steps(front: FrontEnd, steps: str) -> None:
    """There are more than are looked at: those that were listed would not be all groups that have rows."""
    with pytest.raises(UnsupportedQuery, match="more values than can be groups"):
        front.lower(f"SELECT {steps}, COUNT(*) FROM t GROUP BY 1")


def test_conditions_on_fine_steps_are_answered(front: FrontEnd) -> None:
    (block,) = front.lower(
        "SELECT floor(x * 100) / 100 > 3, COUNT(*) FROM t WHERE floor(x * 100) < 900 GROUP BY 1"
    ).blocks
    assert len(block.groups) >= 2


def test_a_division_that_does_not_round_is_told(front: FrontEnd) -> None:
    with pytest.raises(UnsupportedQuery) as refused:
        front.lower("SELECT x // 10, COUNT(*) FROM t GROUP BY 1")
    assert refused.value.hint is not None and "floor(x / 10)" in refused.value.hint and "//" in refused.value.hint


@pytest.mark.parametrize("steps", ["floor(log10(greatest(x, 1)))", "floor(x * x)"])
def test_groups_that_are_no_even_steps_are_ranges(front: FrontEnd, steps: str) -> None:
    """Even steps of a column that spans many powers of ten put nearly all rows into one of them."""
    with pytest.raises(UnsupportedQuery, match="more values than can be groups") as refused:
        front.lower(f"SELECT {steps}, COUNT(*) FROM t WHERE x > 1 GROUP BY 1")
    assert "CASE WHEN x < a" in (refused.value.hint or "")


def test_a_pivot_that_groups_by_the_rest_says_how_it_is_told_by_what(front: FrontEnd) -> None:
    with pytest.raises(UnsupportedQuery, match="more values than can be groups") as refused:
        front.lower("PIVOT (SELECT x > 1 AS large, x FROM t) ON large USING COUNT(*)")
    assert "write GROUP BY" in (refused.value.hint or "")
