"""Sums that are known as a whole: which forms are one, and bars that are narrowed by it."""

import numpy as np
import pytest

from dpsql.postprocess import line_in, narrowed, sum_in
from dpsql.query import Factor, Form, Interval, LinearQuery, Term
from dpsql.result import Answer

GROUP = Factor(("g",), np.array([1, 0, 0]))
KNOWN = Factor(("x",), np.array([1, 1, 0]))  # all but NULL
SOME = Factor(("x",), np.array([0, 1, 0]))
TOLD = (Interval("x", 1.0, 2.0),)


def rows(*factors: Factor, intervals: tuple[Interval, ...] = ()) -> LinearQuery:
    return LinearQuery("t", factors, intervals=intervals)


def shares(*factors: Factor, intervals: tuple[Interval, ...] = ()) -> LinearQuery:
    return LinearQuery("t", factors, value="x", intervals=intervals)


@pytest.mark.parametrize(
    ("count", "total", "found"),
    [
        (rows(GROUP), shares(GROUP), True),
        (rows(GROUP, KNOWN), shares(GROUP), True),  # NULL adds nothing
        (rows(GROUP, SOME), shares(GROUP, SOME), True),
        (rows(intervals=TOLD), shares(intervals=TOLD), True),
        (rows(), shares(GROUP), False),
        (rows(GROUP, KNOWN), shares(GROUP, SOME), False),
        (rows(GROUP, SOME), shares(GROUP), False),  # sides of a UNION ALL may count and sum different rows
        (rows(GROUP), shares(GROUP, intervals=TOLD), False),
    ],
)
def test_a_count_and_a_sum_of_the_same_rows_are_a_line(count: LinearQuery, total: LinearQuery, found: bool) -> None:
    line = line_in(Form(0.0, (Term(-500.0, count), Term(900.0, total))))
    assert (line is not None) == found
    if line is not None:
        assert line.query is total and (line.scale, line.origin) == (900.0, pytest.approx(500 / 900))


def test_what_is_no_line() -> None:
    one, other = Term(-500.0, rows(GROUP)), Term(900.0, shares(GROUP))
    assert line_in(Form(1.0, (one, other))) is None
    assert line_in(Form(0.0, (one,))) is None and line_in(Form(0.0, (other,))) is None
    assert line_in(Form(0.0, (Term(-500.0, rows(GROUP), 2.0), other))) is None
    assert line_in(Form(0.0, (one, other, Term(1.0, shares())))) is None
    assert sum_in(Form(0.0, (other,))) == (other.query, 900.0, 0.0) and sum_in(Form(0.0, (one,))) is None


def test_a_bar_is_narrowed_and_never_widened() -> None:
    answer = Answer(10.0, 6.0, (4.0, 16.0), "exact", "hypothesis", False)
    assert narrowed(answer, 6.0) is narrowed(answer, 7.0) is answer
    found = narrowed(answer, 4.0, low=8.0)
    assert (found.error, found.interval, found.error_kind) == (4.0, (8.0, 14.0), "calibrated")
    assert narrowed(Answer(10.0, None, None, "exact", "hypothesis", False), 4.0).interval == (6.0, 14.0)
    assert narrowed(Answer(None, None, None, "exact", "hypothesis", False), 4.0).error is None
