"""Years, quarters and months between two dates are differences of parts of each: no grid of all pairs of days."""

from datetime import date, timedelta

import pytest

from dpsql.domain import CategoryDomain, DateDomain, TableDomain
from dpsql.errors import UnsupportedQuery
from dpsql.sql import FrontEnd
from tests.support.contingency import Counted, seeded
from tests.support.exact import front_of

BORN, ADMITTED = date(1920, 1, 1), date(2020, 1, 1)
TABLE = TableDomain(
    "t",
    (
        DateDomain("born", BORN, date(2023, 12, 31), "day"),
        DateDomain("admitted", ADMITTED, date(2023, 12, 31), "day"),
        CategoryDomain("g", ("a", "b")),
    ),
)
DIFFERENCES = [
    f"{name}('{part}', born, admitted)" for name in ("date_diff", "datediff") for part in ("year", "quarter")
]


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return front_of(TABLE, by_value=False)


@pytest.fixture(scope="module")
def counted() -> Counted:
    rng = seeded(4)
    rows = [
        (
            rng.choice([BORN + timedelta(days=rng.randrange(37_000)), None]),
            rng.choice([ADMITTED + timedelta(days=rng.randrange(1_400)), ADMITTED]),
            rng.choice("ab"),
        )
        for _ in range(600)
    ]
    return Counted(TABLE, rows)


@pytest.mark.parametrize("difference", [*DIFFERENCES, "date_diff('months', admitted, born)"])
def test_sums_and_averages(front: FrontEnd, counted: Counted, difference: str) -> None:
    sql = f"SELECT SUM({difference}), AVG({difference}), COUNT({difference}) FROM t WHERE g = 'a'"
    (block,) = front.lower(sql).blocks
    summed, averaged, number = block.aggregates
    total, average, rows = counted.connection.execute(sql).fetchall()[0]
    assert counted.exact(summed.numerator[0]) == pytest.approx(total, abs=1e-2)
    assert averaged.denominator is not None
    assert counted.exact(averaged.denominator[0]) == counted.exact(number.numerator[0]) == rows
    center = averaged.centers[0] if averaged.centers else 0.0
    assert counted.exact(averaged.numerator[0]) == pytest.approx((average - center) * rows, abs=1e-2)


@pytest.mark.parametrize("where", [f"{DIFFERENCES[0]} >= 65", f"{DIFFERENCES[2]} BETWEEN 18 AND 40 AND g = 'b'"])
def test_conditions(front: FrontEnd, counted: Counted, where: str) -> None:
    sql = f"SELECT COUNT(*) FROM t WHERE {where}"
    (block,) = front.lower(sql).blocks
    assert counted.exact(block.aggregates[0].numerator[0]) == counted.connection.execute(sql).fetchall()[0][0]


def test_groups_keep_their_name_and_values(front: FrontEnd, counted: Counted) -> None:
    text = "SELECT date_diff('year', born, admitted), COUNT(*) FROM t GROUP BY date_diff('year', born, admitted)"
    statement = front.lower(text)
    (block,) = statement.blocks
    truth = dict(counted.connection.execute(text).fetchall())
    found = {g[0]: counted.exact(n) for g, n in zip(block.groups, block.aggregates[0].numerator, strict=True)}
    assert {k: n for k, n in found.items() if n} == truth
    assert counted.connection.execute(text).description[0][0] in statement.outer_sql


@pytest.mark.parametrize("difference", ["year(admitted) - year(born)", "date_part('year', admitted) + 1 - year(born)"])
def test_parts_of_dates_are_summed_apart(front: FrontEnd, difference: str) -> None:
    (block,) = front.lower(f"SELECT AVG({difference}) FROM t").blocks
    assert all(len(f.columns) == 1 for t in block.aggregates[0].numerator[0].terms for f in t.query.factors)


def test_whole_years_of_age_are_refused_with_what_to_write(front: FrontEnd) -> None:
    with pytest.raises(UnsupportedQuery, match="tied together") as refused:
        front.lower("SELECT COUNT(*) FROM t WHERE date_part('year', age(admitted, born)) >= 65")
    assert refused.value.hint is not None and "year(admitted) - year(born)" in refused.value.hint
