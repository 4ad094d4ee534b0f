"""Days between two dates are summed as the days of each: there are too many pairs of days to look at."""

from datetime import date, timedelta

import pytest

from dpsql.domain import CategoryDomain, DateDomain, IntegerDomain, TableDomain
from dpsql.sql import FrontEnd
from tests.support.contingency import Counted, seeded
from tests.support.exact import front_of

TABLE = TableDomain(
    "t",
    (
        DateDomain("entered", date(2010, 1, 1), date(2015, 12, 31), "day"),
        DateDomain("gone", date(2011, 1, 1), date(2025, 12, 31), "day"),
        DateDomain("closed", date(2011, 1, 1), date(2025, 12, 31), "month"),
        CategoryDomain("g", ("a", "b")),
        IntegerDomain("n", 0, 9),
    ),
)


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return front_of(TABLE)


@pytest.fixture(scope="module")
def counted() -> Counted:
    rng = seeded(8)
    rows = []
    for _ in range(500):
        entered = date(2010, 1, 1) + timedelta(days=rng.randrange(2190))
        gone = date(2011, 1, 1) + timedelta(days=rng.randrange(5400))
        row = (entered, gone, gone, rng.choice("ab"), rng.randrange(10))
        rows.append(tuple(None if rng.random() < 0.1 else v for v in row))
    return Counted(TABLE, rows)


@pytest.mark.parametrize(
    "difference",
    [
        "date_diff('day', entered, gone)",
        "datediff('DAYS', gone, entered)",
        "gone - entered",
        "(gone::DATE - (entered))",
        "(gone - entered) / 365.25",
        "(gone - entered) * 2",
    ],
)
def test_sums_and_averages(front: FrontEnd, counted: Counted, difference: str) -> None:
    sql = f"SELECT SUM({difference}), AVG({difference}), COUNT({difference}) FROM t WHERE n > 2"
    (block,) = front.lower(sql).blocks
    summed, averaged, number = block.aggregates
    total, average, rows = counted.connection.sql(sql).fetchall()[0]
    assert counted.exact(summed.numerator[0]) == pytest.approx(total, abs=1)
    assert averaged.denominator is not None
    assert counted.exact(averaged.denominator[0]) == counted.exact(number.numerator[0]) == rows
    center = averaged.centers[0] if averaged.centers else 0.0
    assert counted.exact(averaged.numerator[0]) == pytest.approx((average - center) * rows, abs=1)
    assert all(len(f.columns) == 1 for t in summed.numerator[0].terms for f in t.query.factors)


def test_days_within_months_are_estimates(front: FrontEnd, counted: Counted) -> None:
    (block,) = front.lower("SELECT AVG(closed - entered) FROM t").blocks
    (form,) = block.aggregates[0].numerator
    average, rows = counted.connection.sql("SELECT AVG(closed - entered), COUNT(closed - entered) FROM t").fetchall()[0]
    center = block.aggregates[0].centers[0] if block.aggregates[0].centers else 0.0
    assert abs(counted.exact(form) - (average - center) * rows) <= counted.doubt(form) <= 16 * rows
