"""Parts of a date that all days of a declared unit share are looked at once in each unit, however many days it has."""

from datetime import date, timedelta

import pytest

from dpsql.domain import DateDomain, TableDomain
from dpsql.sql import FrontEnd
from tests.support.contingency import Counted, seeded
from tests.support.exact import front_of

FIRST, LAST = date(1900, 1, 15), date(2024, 3, 3)
TABLE = TableDomain(
    "t",
    (
        DateDomain("born", FIRST, LAST, "month"),  # 45,000 days, more than are looked at one by one
        DateDomain("entered", date(2010, 2, 1), date(2015, 12, 31), "month"),
        DateDomain("closed", date(2010, 2, 1), date(2025, 12, 31), "month"),
        DateDomain("due", date(2012, 5, 9), date(2014, 11, 2), "quarter"),
        DateDomain("week", date(2012, 12, 20), date(2014, 1, 9), "week"),
    ),
)


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return front_of(TABLE)


@pytest.fixture(scope="module")
def counted() -> Counted:
    rng = seeded(6)
    rows = []
    for _ in range(700):
        entered = date(2010, 2, 1) + timedelta(days=rng.randrange(2150))
        row = (
            FIRST + timedelta(days=rng.randrange(45_000)),
            entered,
            entered + timedelta(days=rng.randrange(3_600)),
            date(2012, 5, 9) + timedelta(days=rng.randrange(900)),
            date(2012, 12, 20) + timedelta(days=rng.randrange(380)),
        )
        rows.append(tuple(None if rng.random() < 0.1 else v for v in row))
    return Counted(TABLE, rows)


@pytest.mark.parametrize(
    "groups",
    [
        "year(born)",
        "date_trunc('decade', born)",
        "monthname(born)",
        "strftime(born, '%y-%m')",
        "EXTRACT(quarter FROM born::DATE)",
        "last_day((born))",
        "make_date(year(born), month(born), 1)",
        "date_part('quarters', due), date_trunc('year', due)",
        "week(week), isoyear(week)",
        "yearweek(week)",
        "date_trunc('year', entered), date_diff('year', entered, closed)",
        "date_diff('month', entered, closed)",
        "year(closed) - year(born)",
        "CASE WHEN year(born) < 1950 THEN year(entered) ELSE 0 END",
    ],
)
def test_groups_are_those_of_duckdb(front: FrontEnd, counted: Counted, groups: str) -> None:
    sql = f"SELECT {groups}, COUNT(*) FROM t GROUP BY {groups}"
    (block,) = front.lower(sql).blocks
    found = {g: counted.exact(n) for g, n in zip(block.groups, block.aggregates[0].numerator, strict=True)}
    assert not any(t.doubt for n in block.aggregates[0].numerator for t in n.terms)
    assert {g: n for g, n in found.items() if n} == {
        tuple(r[:-1]): r[-1] for r in counted.connection.sql(sql).fetchall()
    }


@pytest.mark.parametrize("part", ["month(due)", "year(week)", "day(entered)", "strftime(entered, '%Y-%m-%d')"])
def test_parts_that_change_inside_of_a_unit_are_estimates(front: FrontEnd, counted: Counted, part: str) -> None:
    (block,) = front.lower(f"SELECT {part} AS k, COUNT(*) FROM t GROUP BY k").blocks
    assert any(t.doubt for n in block.aggregates[0].numerator for t in n.terms)


def test_a_cut_beside_them_is_looked_at_by_days(front: FrontEnd, counted: Counted) -> None:
    sql = "SELECT COUNT(*) FROM t WHERE year(entered) = 2013 AND entered >= '2013-03-11'"
    (block,) = front.lower(sql).blocks
    (form,) = block.aggregates[0].numerator
    (truth,) = counted.connection.sql(sql).fetchall()[0]
    assert abs(counted.exact(form) - truth) <= counted.doubt(form) < 20
