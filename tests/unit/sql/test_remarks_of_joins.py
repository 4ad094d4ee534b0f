"""What notes say of joins whose keys are not declared, and of rows that are joined or kept for their NULL."""

from datetime import date
from fractions import Fraction

import pyarrow as pa
import pytest

from dpsql.domain import BooleanDomain, CategoryDomain, DateDomain, IntegerDomain, TableDomain
from dpsql.policy import Policy, Privacy
from dpsql.public import DuckDbPublicSql
from dpsql.sql import FrontEnd
from dpsql.sql.undeclared_notes import notes_of

LOANS = TableDomain(
    "loans", (CategoryDomain("state", ("Paid", "Late")), IntegerDomain("grade", 0, 5), BooleanDomain("big"))
)
POLICY = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (LOANS,), public_tables=("states", "grades"))
STATES = "'Due' and 'PAID' are not among the declared values of state (did you mean 'Paid'?)"
GRADES = "grade = 7 goes beyond the declared values of grade, 0 to 5"
NULL = "NULL of {} stands for values that are not declared, too"


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    states = {"state": ["Paid", "PAID", "Late", "Due"], "grp": [1, 1, 2, 3]}
    tables = {"states": pa.table(states), "grades": pa.table({"grade": [1, 7, None], "word": ["a", "b", "n"]})}
    return FrontEnd(POLICY, DuckDbPublicSql(tables.__getitem__, seconds=20.0))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT grp, COUNT(*) FROM loans JOIN states USING (state) GROUP BY grp", STATES),
        ("SELECT COUNT(*) FROM loans AS l, states AS s WHERE s.state = l.state", STATES),
        ("SELECT COUNT(*) FROM loans JOIN states USING (state) WHERE grp = 2", ""),
        (
            "SELECT COUNT(*) FROM loans JOIN states USING (state) WHERE grp = 3",
            "'Due' is not among the declared values",
        ),
        ("SELECT word, COUNT(*) FROM loans JOIN grades USING (grade) GROUP BY word", GRADES),
        ("SELECT COUNT(*) FROM loans LEFT JOIN states USING (state) WHERE grp IS NULL", NULL.format("state")),
        (
            "SELECT COUNT(*) FROM loans AS l JOIN grades AS g ON l.grade IS NOT DISTINCT FROM g.grade",
            NULL.format("grade"),
        ),
        (
            "SELECT COUNT(*) FROM loans AS l WHERE NOT EXISTS (SELECT 1 FROM states AS s WHERE s.state = l.state)",
            NULL.format("state"),
        ),
        ("SELECT COUNT(*) FROM loans AS l WHERE EXISTS (SELECT 1 FROM states AS s WHERE s.state = l.state)", ""),
        ("SELECT big, COUNT(*) FROM loans JOIN (SELECT TRUE AS big) USING (big) GROUP BY big", ""),
    ],
)
def test_keys_that_are_not_declared_and_null(front: FrontEnd, text: str, expected: str) -> None:
    """Rows with 'PAID', which counts as NULL, find no row of ``states``: nothing said so."""
    notes = [str(note) for note in notes_of(front.lower(text).remarks)]
    assert [n for n in notes if expected and n.startswith(expected)] == notes
    assert bool(notes) == bool(expected)


def test_keys_without_a_form_here_are_no_reason_to_refuse_a_join() -> None:
    """No declared key finds a day without an end, nor a number of 39 digits."""
    loans = TableDomain("loans", (DateDomain("due", date(2020, 1, 1), date(2020, 1, 31)), IntegerDomain("grade", 0, 5)))
    days = pa.array([18262, 2**31 - 1], pa.int32()).view(pa.date32())
    tables = {"days": pa.table({"due": days}), "big": pa.table({"x": [0, 1]})}
    policy = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (loans,), public_tables=("days", "big"))
    front = FrontEnd(policy, DuckDbPublicSql(tables.__getitem__, seconds=20.0))
    for text in (
        "days USING (due)",
        "(SELECT x * 170141183460469231731687303715884105727 AS grade FROM big) AS b USING (grade)",
    ):
        assert front.lower(f"SELECT COUNT(*) FROM loans JOIN {text}").blocks


def test_average_of_different_values_is_advised_as_a_quotient(front: FrontEnd) -> None:
    statement = front.lower("SELECT SUM(DISTINCT grade) / COUNT(DISTINCT grade) FROM loans")
    assert len(statement.blocks) == 1
