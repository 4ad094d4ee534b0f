"""What notes say of dates whose cells at both ends hold more than the policy's ``min`` and ``max``."""

from datetime import date, datetime
from fractions import Fraction

import pytest

from dpsql.domain import DateDomain, TableDomain
from dpsql.policy import Policy, Privacy
from dpsql.sql import FrontEnd
from dpsql.sql.undeclared_notes import declared_ends, notes_of
from tests.support.exact import public_sql


@pytest.mark.parametrize(
    ("condition", "beyond"),
    [
        ("d >= '2024-02-01' AND d < '2024-03-01'", False),
        ("d BETWEEN '2024-06-01' AND '2024-11-30'", False),
        ("d = '2024-11-20'", False),
        ("d > '2024-11-10'", False),
        ("d > '2024-11-30'", True),
        ("d < '2024-02-01'", True),
        ("t <= '2024-03-09 12:59:59'", False),
        ("t >= '2024-03-01 08:00'", False),
        ("t > '2024-03-09 12:59:59'", True),
        ("t <= '2024-03-09 13:00:00'", True),
    ],
)
def test_first_and_last_cells_of_dates_are_declared_as_a_whole(condition: str, beyond: bool) -> None:
    """Rows of 2024-11-20 are counted where ``max`` is 2024-11-10 by month: nothing about them goes beyond."""
    start, last = (datetime.fromisoformat(f"2024-03-{at}") for at in ("01 08:20", "09 12:20"))
    columns = (DateDomain("d", date(2024, 2, 15), date(2024, 11, 10), "month"), DateDomain("t", start, last, "hour"))
    policy = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (TableDomain("w", columns),))
    found = FrontEnd(policy, public_sql())
    notes = [str(n) for n in notes_of(found.lower(f"SELECT COUNT(*) FROM w WHERE {condition}").remarks)]
    ends = "d, 2024-02-01 to 2024-11-30" if condition[0] == "d" else "t, 2024-03-01 08:00:00 to 2024-03-09 12:59:59"
    expected = [f"{condition} goes beyond the declared values of {ends}; rows with other values count as NULL"]
    assert notes == (expected if beyond else [])


def test_hours_of_the_last_day_of_all_end_where_they_end() -> None:
    first = datetime.fromisoformat("9999-12-31 00:00")
    ends = [declared_ends(DateDomain("t", first, first.replace(hour=hour), "hour"))[1] for hour in (5, 23)]
    assert [str(end) for end in ends] == ["9999-12-31 05:59:59", "9999-12-31 23:59:59.999999"]


MOMENTS = TableDomain(
    "w",
    (
        DateDomain("d", date(2024, 3, 1), date(2024, 3, 31)),
        DateDomain("t", datetime.fromisoformat("2024-03-01"), datetime.fromisoformat("2024-03-31 23:00"), "hour"),
        DateDomain("m", datetime.fromisoformat("2024-03-01"), datetime.fromisoformat("2024-03-01 23:59"), "minute"),
    ),
)


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return FrontEnd(Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (MOMENTS,)), public_sql())


@pytest.mark.parametrize(
    ("condition", "moments"),
    [
        ("t = '2024-03-02 08:00:00'", "'2024-03-02 08:00:00'"),
        ("t <> TIMESTAMP '2024-03-02 08:00:00'", "'2024-03-02 08:00:00'"),
        ("t <= '2024-03-02 17:00:00'", "'2024-03-02 17:00:00'"),
        ("t > '2024-03-02 17:00'", "'2024-03-02 17:00'"),
        ("'2024-03-02 17:00' >= t", "'2024-03-02 17:00'"),
        ("t BETWEEN '2024-03-02 08:00:00' AND '2024-03-02 17:00:00'", "'2024-03-02 17:00:00'"),
        ("t IN ('2024-03-02 08:00', '2024-03-02 09:00')", "'2024-03-02 08:00' and '2024-03-02 09:00'"),
        ("t = '2024-03-02'", "'2024-03-02'"),
        ("t <= DATE '2024-03-02'", "'2024-03-02'"),
        ("t = '2024-03-02 08:59:59'", "'2024-03-02 08:59:59'"),
        ("t BETWEEN '2024-03-02 07:59:59' AND '2024-03-02 16:59:59'", "'2024-03-02 07:59:59'"),
        ("m <= '2024-03-01 08:05:00'", "'2024-03-01 08:05:00'"),
        ("m = '2024-03-01 08:05:00'", "'2024-03-01 08:05:00'"),
        ("d = '2024-03-02 23:59:59'", "'2024-03-02 23:59:59'"),
    ],
)
def test_starts_of_rows_that_compare_unlike_their_times_are_told(front: FrontEnd, condition: str, moments: str) -> None:
    """``<= '... 17:00:00'`` takes in 17:59, which counts as 17:00."""
    column = condition[0] if condition[0] in "dmt" else condition[-1]
    part, counts = {
        "d": ("day", "17:59 counts as 00:00 of its day"),
        "t": ("hour", "17:59 counts as 17:00"),
        "m": ("minute", "17:00:59 counts as 17:00:00"),
    }[column]
    (note,) = notes_of(front.lower(f"SELECT COUNT(*) FROM w WHERE {condition}").remarks)
    told = f"{column} is compared with {moments} as the start of each row's {part}, the finest that is declared"
    assert str(note) == f"{told}: {counts}, so < and >= a whole {part} are exact"


@pytest.mark.parametrize(
    "condition",
    [
        "t < '2024-03-02 17:00:00'",
        "t >= '2024-03-02 08:00:00' AND '2024-03-02 17:00' > t",
        "t >= '2024-03-02'",
        "t <= '2024-03-02 16:59:59'",
        "t > '2024-03-02 16:59:59.999'",
        "t BETWEEN '2024-03-02 08:00:00' AND '2024-03-02 16:59:59'",
        "date_trunc('hour', t) = '2024-03-02 08:00:00'",
        "m < '2024-03-01 08:05:00'",
        "m BETWEEN '2024-03-01 08:05' AND '2024-03-01 08:06:59'",
        "d <= '2024-03-02'",
        "d IN ('2024-03-02', '2024-03-03 00:00:00')",
    ],
)
def test_starts_of_rows_that_compare_as_their_times_do_need_no_note(front: FrontEnd, condition: str) -> None:
    assert notes_of(front.lower(f"SELECT COUNT(*) FROM w WHERE {condition}").remarks) == ()
