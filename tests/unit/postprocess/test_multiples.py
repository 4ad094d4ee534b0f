"""Numbers of one statement that are multiples of the same released numbers are off together."""

from dataclasses import replace

import numpy as np
import pytest

from dpsql.postprocess.multiples import multiples
from dpsql.postprocess.variants import ReleasedColumn
from dpsql.query import Factor, Form, LinearQuery, Term
from dpsql.result import Answer

ROWS, PART = (LinearQuery("t", factors) for factors in ((), (Factor(("a",), np.array([1, 0, 1], dtype=np.int64)),)))


def column(*forms: tuple[Form, ...], values: tuple[float | None, ...] = (5.0,)) -> ReleasedColumn:
    answers = tuple([Answer(v, 2.0, None, "exact", "measurement", certified=True) for v in values])
    none = (None,) * len(values)
    return ReleasedColumn(answers, tuple(range(len(values))), False, none, (False,) * len(values), forms)


def form(rows: float, part: float, constant: float = 0.0, doubt: float = 0.0) -> Form:
    return Form(constant, (Term(rows, ROWS), Term(part, PART, doubt)))


BASE = column((form(2.0, 3.0),))


def told(own: ReleasedColumn, base: ReleasedColumn = BASE, table: str = "b") -> tuple[list[float], list[float]] | None:
    """Factors and offsets of a column by one before it."""
    found = multiples([("b", "a0"), (table, "a1")], {("b", "a0"): base, (table, "a1"): own})
    assert found.keys() <= {(table, "a1")}
    return next(((m.times.tolist(), m.offsets.tolist()) for m in found.values()), None)


def test_what_is_a_multiple_moves_with_it() -> None:
    assert told(column((form(4.0, 6.0),))) == ([2.0], [0.0])
    assert told(column((form(-1.0, -1.5, 7.0),))) == ([-0.5], [7.0])
    assert told(BASE) == ([1.0], [0.0])
    (found,) = multiples(
        [("b", "a0"), ("b", "a1")], {("b", "a0"): BASE, ("b", "a1"): column((form(4.0, 6.0, 1.0),))}
    ).values()
    assert found.values(np.array([[5.0], [6.0]])).tolist() == [[11.0], [13.0]]


def test_of_groups_each_has_its_own() -> None:
    base = column((form(2.0, 3.0),), (form(1.0, 1.0),), values=(5.0, None))
    assert told(column((form(4.0, 6.0),), (form(3.0, 3.0),), values=(9.0, None)), base) == ([2.0, 3.0], [0.0, 0.0])
    assert told(column((form(4.0, 6.0),), (form(3.0, 3.0),), values=(9.0, 1.0)), base) is None  # not where one is NULL


def test_quotients_move_together_where_their_divisors_are_one() -> None:
    base = column((form(2.0, 3.0), form(1.0, 0.0)))
    assert told(column((form(4.0, 6.0), form(1.0, 0.0))), base) == ([2.0], [0.0])
    assert told(column((form(4.0, 6.0), form(1.0, 1.0))), base) is None
    assert told(column((form(4.0, 6.0, 1.0), form(1.0, 0.0))), base) is None  # (2 s + 1) / n is no multiple of s / n
    centered = [replace(c, centers=(m,)) for c, m in ((base, 10.0), (column((form(4.0, 6.0), form(1.0, 0.0))), 23.0))]
    assert told(centered[1], centered[0]) == ([2.0], [3.0])  # of 10 + x and 23 + 2 x


@pytest.mark.parametrize(
    "own",
    [
        column((form(4.0, 6.1),)),
        column((form(4.0, 6.0, doubt=0.5),)),  # which part of a bin it is may differ
        column((Form(0.0, (Term(4.0, ROWS),)),)),
        column((Form(3.0),)),
        replace(BASE, forms=()),
    ],
)
def test_others_do_not(own: ReleasedColumn) -> None:
    assert told(own) is None


def test_columns_of_different_tables_do_not() -> None:
    assert told(BASE, table="c") is None
