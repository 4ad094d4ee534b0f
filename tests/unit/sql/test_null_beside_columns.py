"""Conditions that compare with NULL, and sums that make a value of it."""

from fractions import Fraction

import pytest

from dpsql.domain import BooleanDomain, IntegerDomain, NumberDomain, TableDomain
from dpsql.policy import Policy, Privacy
from dpsql.sql import FrontEnd, Statement
from dpsql.sql.undeclared_notes import notes_of
from tests.support.exact import public_sql

COLUMNS = (IntegerDomain("grade", 0, 5), BooleanDomain("late"), NumberDomain("x", (0.0, 10.0, 20.0, 40.0)))
POLICY = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (TableDomain("w", COLUMNS),))


def lowered(text: str) -> Statement:
    return FrontEnd(POLICY, public_sql()).lower(text)


@pytest.mark.parametrize(
    ("condition", "same"),
    [
        ("x = NULL", "FALSE"),
        ("x > NULL", "FALSE"),
        ("x NOT IN (13, NULL)", "FALSE"),
        ("x IN (13, NULL)", "x = 13"),
        ("x BETWEEN 13 AND NULL", "FALSE"),
        ("NOT (x BETWEEN 13 AND NULL)", "x < 13"),
        ("x IS DISTINCT FROM NULL", "x IS NOT NULL"),
        ("x IS NOT DISTINCT FROM NULL", "x IS NULL"),
        ("abs(x - 15) IN (2, NULL)", "abs(x - 15) = 2"),
    ],
)
def test_null_does_not_cut_bins(condition: str, same: str) -> None:
    """``x IN (13, NULL)`` was 0 with a bar as wide as the table: nobody knew where in a bin it holds."""
    found, known = (lowered(f"SELECT COUNT(*) FROM w WHERE {c}") for c in (condition, same))
    assert all(b.cut == () for b in found.blocks)
    assert [q.digest for q in found.queries] == [q.digest for q in known.queries]


@pytest.mark.parametrize(
    ("value", "noted"),
    [
        ("CASE WHEN grade < 3 THEN 0 ELSE 1 END", True),
        ("CASE WHEN grade < 3 THEN 2 ELSE -1 END", True),
        ("CASE WHEN grade < 3 THEN 1 ELSE 0 END", False),
        ("CASE WHEN grade < 3 THEN 1 END", False),
        ("CASE WHEN late THEN 0 ELSE 1 END", False),
    ],
)
def test_a_sum_that_adds_something_where_a_condition_is_null_says_so(value: str, noted: bool) -> None:
    remarks = lowered(f"SELECT SUM({value}) FROM w").remarks
    note = "NULL of grade stands for values that are not declared, too"
    assert [str(n) for n in notes_of(remarks)] == ([note] if noted else [])
