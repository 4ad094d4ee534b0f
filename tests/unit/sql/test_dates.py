"""What asks for a time of day of a column that holds days is refused, in every spelling; what does not is answered."""

from datetime import date
from fractions import Fraction

import pytest

from dpsql.domain import DateDomain, IntegerDomain, TableDomain
from dpsql.errors import UnsupportedQuery
from dpsql.policy import Policy, Privacy
from dpsql.sql import FrontEnd
from dpsql.sql.expressions.bound import Bound
from dpsql.sql.expressions.dates import DAY, HOUR, MINUTE, SECOND, part_fineness, span_fineness
from dpsql.sql.expressions.functions import SCALAR
from dpsql.sql.public_sql import GridColumn
from tests.support.exact import public_sql

VISITS = TableDomain(
    "visits",
    (
        DateDomain("seen", date(2024, 1, 1), date(2024, 1, 9)),
        DateDomain("born", date(2000, 1, 1), date(2003, 12, 31), "month"),
        IntegerDomain("hours", 0, 3),
    ),
)
TIMES = GridColumn("t", "VARCHAR", ("2024-01-02 00:00:00", "2024-01-02 13:14:15.123456"))
FINER = (
    "hour(seen)",
    "EXTRACT(MINUTE FROM seen)",
    "EXTRACT(epoch FROM seen)",
    "epoch_ms(seen)",
    "date_part('secs', seen)",
    "date_part('year' || '', seen)",
    "date_trunc('hour', seen)",
    "date_diff('minute', seen, DATE '2024-01-01')",
    "strftime(seen, '%d.%m. %-I')",
    "strftime('%X', seen)",
    "time_bucket(INTERVAL '90 minutes', seen)",
    "time_bucket(INTERVAL 1 DAY, seen, INTERVAL 6 HOUR)",
    "time_bucket(INTERVAL 1 DAY, seen, TIMESTAMP '2024-01-01 06:00:00')",
    "date_trunc('day', seen - INTERVAL 7 HOUR)",
    "date_trunc('day', seen - INTERVAL '1 day 7 hours')",
    "seen - INTERVAL '1 month 2 hours'",
    "seen + INTERVAL '1 month 2.5 days'",
    "seen + INTERVAL '1 month 2 days 03:00:00'",
    "date_trunc('day', seen - (hours + 1) * INTERVAL '1 hour')",
    "date_trunc('day', seen + INTERVAL (hours) HOUR)",
    "date_trunc('day', seen + CAST('7 hours' AS INTERVAL))",
    "seen + to_minutes(hours)",
    "CAST(seen AS TIME)",
    "hour(CAST(seen AS TIMESTAMP))",
    "hour(CASE WHEN hours > 1 THEN seen END)",
    "hour(born)",
)
OF_DAYS = (
    "seen",
    "dayname(seen)",
    "EXTRACT(dow FROM seen)",
    "date_part('years', seen)",
    "date_trunc('week', seen)",
    "date_diff('day', seen, TIMESTAMP '2024-01-01 12:00:00')",
    "strftime(seen, '%Y-%m-%d %%H')",
    "strftime(date_trunc('month', seen), '%Y-%m-%d %H:%M:%S')",
    "time_bucket(INTERVAL '7 days', seen)",
    "time_bucket(INTERVAL 2 DAY, seen, DATE '2024-01-02')",
    "date_trunc('day', seen - INTERVAL '7 days')",
    "seen + INTERVAL (hours) DAY",
    "seen + INTERVAL '1 month 2 days'",
    "seen - CAST(' 1 year 2months -3 days ' AS INTERVAL)",
    "hour(TIMESTAMP '2024-01-01 12:00:00')",
    "seen > TIMESTAMP '2024-01-02 00:00:00' - INTERVAL 7 HOUR",
)


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return FrontEnd(Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (VISITS,)), public_sql())


@pytest.mark.parametrize("expression", FINER)
def test_a_question_finer_than_the_declared_unit_is_refused_with_the_unit(front: FrontEnd, expression: str) -> None:
    unit = "month" if "born" in expression else "day"
    with pytest.raises(UnsupportedQuery, match=rf"line 1.*is declared by {unit}, and .* is finer"):
        front.lower(f"SELECT {expression} AS x, COUNT(*) FROM visits GROUP BY x")


@pytest.mark.parametrize("expression", OF_DAYS)
def test_questions_about_days_are_answered(front: FrontEnd, expression: str) -> None:
    (block,) = front.lower(f"SELECT {expression} AS x, COUNT(*) FROM visits GROUP BY x").blocks
    assert block.groups


def test_names_within_names_keep_what_they_hold(front: FrontEnd) -> None:
    with pytest.raises(UnsupportedQuery, match=r"hour\(\) is finer"):
        front.lower("SELECT CAST(seen AS TIMESTAMP) AS t, hour(t) AS h, COUNT(*) FROM visits GROUP BY t, h")
    with pytest.raises(UnsupportedQuery, match=r"hour\(\) is finer"):
        front.lower("SELECT COUNT(*) FROM (SELECT seen AS t FROM visits) WHERE hour(t) > 1")


@pytest.mark.parametrize(
    ("part", "fineness"),
    [("days", DAY), ("centuries", DAY), ("hrs", HOUR), ("m", MINUTE), ("ms", SECOND), ("us", SECOND), ("what", SECOND)],
)
def test_parts_by_each_of_their_names(part: str, fineness: int) -> None:
    assert part_fineness(part) == fineness


def test_intervals_of_days_are_whole_numbers_of_them() -> None:
    assert span_fineness(Bound("3", number=3), "DAYS") == DAY
    assert span_fineness(Bound("0.5", number=0.5), "DAY") == SECOND
    assert span_fineness(Bound("'2 weeks'", literal="2 weeks"), "") == DAY
    assert span_fineness(Bound("'2'", literal="2"), "MINUTE") == MINUTE
    assert span_fineness(Bound("'1 day 2 hours'", literal="1 day 2 hours"), "") == HOUR
    assert span_fineness(Bound("'2 hours 1 day'", literal="2 hours 1 day"), "") == HOUR
    assert span_fineness(Bound("'1 month 2'", literal="1 month 2"), "") == SECOND
    assert span_fineness(Bound("'1 month 2'", literal="1 month 2"), "DAY") == SECOND


def test_an_interval_of_days_and_less_is_said_to_be_so(front: FrontEnd) -> None:
    with pytest.raises(UnsupportedQuery, match="an interval that is not of whole days is finer"):
        front.lower("SELECT COUNT(*) FROM visits WHERE seen - INTERVAL '1 day 7 hours' > DATE '2024-01-02'")


def test_every_function_that_reads_a_time_of_day_is_known(front: FrontEnd) -> None:
    """Of the functions of one date, those that tell two times of one day apart are refused, or keep the time."""
    public = public_sql()
    told_apart = []
    for name in sorted(SCALAR):
        call = f"{name}(CAST(t AS TIMESTAMP))"
        try:
            found = public.codes([TIMES], call)
        except Exception:  # noqa: BLE001, S112  (no function of one time)
            continue
        if len(found.values) > 1:
            told_apart.append(name)
    assert {"hour", "minute", "second", "epoch"} <= set(told_apart)
    for name in told_apart:
        with pytest.raises(UnsupportedQuery):
            front.lower(f"SELECT hour(CAST({name}(seen) AS TIMESTAMP)) AS x, COUNT(*) FROM visits GROUP BY x")
