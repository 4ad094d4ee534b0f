"""Sums of a curve of a number column: a chord in each bin is summed by value, the rest is as near as is said."""

import pytest

from dpsql.domain import (
    FIXED_POINT,
    BooleanDomain,
    CategoryDomain,
    IntegerDomain,
    NumberDomain,
    TableDomain,
    TextDomain,
)
from dpsql.query import VALUE_UNIT, Form
from dpsql.sql import FrontEnd
from dpsql.sql.counting.values.spans import MOST_CURVED
from tests.support.contingency import Counted, seeded
from tests.support.exact import forms_of, front_of, off_by

TABLE = TableDomain(
    "t",
    (
        NumberDomain("x", (0.0, 1.0, 2.5, 10.0, 25.0, 40.0)),
        NumberDomain("gain", (-20.0, -12.5, -10.0, 0.0, 7.0, 30.0)),
        NumberDomain("rest", (0.0, 0.5, 1.0), nullable=False),
        IntegerDomain("n", 1, 9),
        IntegerDomain("many", 0, MOST_CURVED),
        BooleanDomain("b"),
        CategoryDomain("g", ("x", "y")),
        TextDomain("w"),
    ),
)
CURVES = (
    "x * x", "x * x * x", "(x - 20) * (x - 20)", "gain * gain", "gain * (1 - gain)", "abs(gain - 3)", "sqrt(x)",
    "exp(-x / 20)", "abs(x - 17.3)", "floor(x)", "round(x / 3)", "ceil(gain)", "greatest(x, 12)", "x % 7", "ln(x + 1)",
    "CASE WHEN b THEN x * x ELSE x END", "n * x * x", "CASE WHEN x > 12 THEN x * x ELSE 5 END", "x * x / n",
    "1e6 * x * x", "rest * rest",
)  # fmt: skip
LINES = ("abs(gain)", "greatest(x, 10)", "least(gain, 7)", "abs(x - 10)", "CASE WHEN x >= 10 THEN 2 * x ELSE x END")
CONDITIONS = ("TRUE", "g = 'x'", "x >= 2.5", "x BETWEEN 3 AND 30", "gain > -11", "b AND n > 3", "x > 12 OR b")


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return front_of(TABLE)


@pytest.fixture(scope="module")
def counted() -> Counted:
    rng = seeded(31)
    rows = [
        (
            rng.choice([None, 0.0, 1.0, 17.3, 40.0, 1e-9, rng.uniform(0, 40), rng.uniform(0, 3)]),
            rng.choice([None, -20.0, 0.0, 30.0, rng.uniform(-20, 30), 3.0]),
            rng.random(),
            rng.choice([None, 1, 2, 5, 9]),
            rng.randint(0, MOST_CURVED),
            rng.choice([None, True, False]),
            rng.choice([None, "x", "y"]),
            rng.choice([None, "one", "two"]),
        )
        for _ in range(1500)
    ]
    return Counted(TABLE, rows)


def is_curved(form: Form) -> bool:
    return any(t.query.value in t.query.scope and t.query.value is not None for t in form.terms)


@pytest.mark.parametrize("where", CONDITIONS)
@pytest.mark.parametrize("value", CURVES)
def test_curves_are_what_is_said_of_them(front: FrontEnd, counted: Counted, value: str, where: str) -> None:
    for by in ("NULL", "g", "b"):
        for gap, doubt in off_by(front, counted, f"SELECT {by} AS c, SUM({value}) FROM t WHERE {where} GROUP BY ALL"):
            assert gap <= doubt + 5e-2


@pytest.mark.parametrize("value", ["x * x", "gain * (1 - gain)", "abs(gain - 3)", "floor(x)", "ln(x + 1)", "n * x * x"])
def test_less_is_guessed_than_from_bins_alone(front: FrontEnd, counted: Counted, value: str) -> None:
    sql, plain = f"SELECT NULL AS c, SUM({value}) FROM t GROUP BY ALL", front_of(TABLE, curves=False)
    ((_, doubt),), ((_, before),) = off_by(front, counted, sql), off_by(plain, counted, sql)
    assert doubt < before / 2
    assert is_curved(forms_of(front, sql)[None])
    assert not is_curved(forms_of(plain, sql)[None])


@pytest.mark.parametrize("value", LINES)
def test_lines_that_meet_at_edges_are_exact(front: FrontEnd, counted: Counted, value: str) -> None:
    """But for what slopes lose that are multiples of a part of the steepest."""
    ((gap, doubt),) = off_by(front, counted, f"SELECT NULL AS c, SUM({value}) FROM t GROUP BY ALL")
    assert gap <= doubt + 5e-2
    assert doubt <= 1500 * 40 / 2**12


def test_rows_are_weighed_between_0_and_1_and_exactly(front: FrontEnd) -> None:
    for value in CURVES:
        for form in forms_of(front, f"SELECT g, SUM({value}) FROM t GROUP BY g").values():
            for term in form.terms:
                term.query.check_sensitivity()
                assert term.query.value is None or term.query.unit <= VALUE_UNIT


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT w AS c, SUM(x * x) FROM t WHERE w IN ('one', 'two') GROUP BY c",  # listed strings are of cells
        "SELECT many AS c, SUM(x * x) FROM t GROUP BY c",  # so many groups are small
        "SELECT NULL AS c, SUM(sin(50 * x)) FROM t GROUP BY ALL",  # nearer to a constant than to a line
        "SELECT NULL AS c, SUM(x * gain) FROM t WHERE x > gain GROUP BY ALL",  # a curve of two
    ],
)
def test_where_a_chord_is_no_better_cells_are_summed(front: FrontEnd, sql: str) -> None:
    for form in forms_of(front, sql).values():
        assert not is_curved(form)


@pytest.mark.parametrize("value", ["floor(big)", "big::BIGINT", "big - big % 50"])
def test_steps_that_are_too_many_to_be_looked_at_may_be_anywhere(value: str) -> None:
    """Points at eighths of these bins are whole numbers, where nothing of a step is seen."""
    table = TableDomain("t", (NumberDomain("big", tuple([50_000.0 * i for i in range(21)])),))
    for place in (999_999.97, 49.98, 25_000.499):
        counted = Counted(table, [(place,)] * 200)
        ((gap, doubt),) = off_by(front_of(table), counted, f"SELECT NULL AS c, SUM({value}) FROM t GROUP BY ALL")
        assert gap <= doubt + 200 * 1e6 / FIXED_POINT
        assert doubt <= 200 * 100.0  # of bins alone 200 times 50,000


@pytest.mark.parametrize("value", ["x * x", "x * x - 9e14", "x * x / 9 * n", "x * x / 9 * (n * n) / 9"])
def test_values_that_chords_reach_beyond_are_those_of_cells(value: str) -> None:
    """The chord of the last bin makes more than 1e15 of the range, and no value is more than 9e14."""
    numbers = NumberDomain("x", tuple([1.5e6 * i for i in range(21)]))
    table = TableDomain("t", (numbers, IntegerDomain("n", 1, 9)))
    counted = Counted(table, [(3e7, 9), (1.0, 1), (2.2e7, 5)])
    ((gap, doubt),) = off_by(front_of(table), counted, f"SELECT NULL AS c, SUM({value}) FROM t GROUP BY ALL")
    assert gap <= doubt + 1e9


def test_of_several_numbers_one_alone_is_summed_by_value(front: FrontEnd, counted: Counted) -> None:
    for value in ("x * x * (gain * gain)", "sqrt(x) * abs(gain)", "x * (rest * rest) * n"):
        ((gap, doubt),) = off_by(front, counted, f"SELECT NULL AS c, SUM({value}) FROM t GROUP BY ALL")
        assert gap <= doubt + 1.0
        (form,) = forms_of(front, f"SELECT NULL AS c, SUM({value}) FROM t GROUP BY ALL").values()
        assert len({t.query.value for t in form.terms} - {None}) <= 1


def test_variances_are_of_such_sums(front: FrontEnd, counted: Counted) -> None:
    (block,) = front.lower("SELECT VAR_POP(gain) FROM t").blocks
    summary = block.aggregates[0].summary
    assert summary is not None
    rows, distances, squares = summary.forms(0)
    ((truth,),) = counted.connection.execute("SELECT VAR_POP(gain) FROM t").fetchall()
    n, s, q = (counted.exact(f) for f in (rows, distances, squares))
    assert abs((q - s * s / n) / n - truth) <= counted.doubt(squares) / n + 1e-3
    assert counted.doubt(squares) / n < 40.0  # a quarter of the widest bin's width squared is 132
    assert is_curved(squares)
