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
