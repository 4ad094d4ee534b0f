"""What is asked of number and date columns means what DuckDB means, whatever their bins: give or take a stated doubt.

Rows are drawn from few values, many of them edges, literals and their neighbours, where a wrong <= would show.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from itertools import pairwise
from math import inf, nextafter
from typing import Any

import pytest

from dpsql.domain import CategoryDomain, DateDomain, IntegerDomain, NumberDomain, TableDomain, TextDomain
from dpsql.errors import UnsupportedQuery
from dpsql.policy import Policy, Privacy
from dpsql.public import DuckDbPublicSql
from dpsql.query import Form, Interval, Term
from dpsql.sql import FrontEnd
from dpsql.sql.statement import Statement
from tests.support.contingency import Counted, seeded

PRIVACY = Privacy(Fraction(1), Fraction(1, 10**6))
EDGES = (-5.0, -1.0, 0.0, 2.5, 10.0, 40.0)
TABLE = TableDomain(
    "t",
    (
        NumberDomain("x", EDGES),
        NumberDomain("y", (0.0, 0.1, 0.30000000000000004, 1.0)),
        DateDomain("d", date(2019, 11, 1), date(2020, 3, 1), "month"),
        DateDomain("w", date(2020, 1, 1), date(2020, 2, 28), "week", nullable=False),
        CategoryDomain("g", ("a", "b", "c")),
    ),
)
LITERALS = (-5, -1, -0.5, 0, 0.1, 1, 2.5, 3, 7.25, 9.999, 10, 25, 40, 41)
WRITTEN = ("-1e1", "-1e15", "10 / 4", "5 * 5 - 15", "'3'", "'7.25'::DOUBLE", "'inf'::DOUBLE", "'nan'::DOUBLE")
PIECES = (
    "coalesce(x, 0)",
    "coalesce(x, y)",
    "ifnull(x, 3)",
    "nullif(x, 1)",
    "coalesce(nullif(x, 2.5), 7)",
    "greatest(x, 0)",
    "greatest(x, y)",
    "greatest(x, 2 * x - 3)",
    "least(x, 3)",
    "least(greatest(x, -1), 10)",
    "abs(greatest(x, 1) - 3)",
    "1 - abs(x)",
    "2 * coalesce(x, 1) - 1",
    "-greatest(x, 0)::DOUBLE",
    "sign(x - 1)",
    "if(g = 'a', x, 3)",
    "CASE WHEN x > 3 THEN x WHEN y > 0.3 THEN -x ELSE 2 END",
)
CYCLES = ("x % 30", "x % 7.5", "mod(x, 30)", "(2 * x - 1) % 25", "floor(x % 30)", "greatest(x, 7) % 30", "x % -30")
"""Expressions that are one straight line or another, which change at known places."""
CURVES = (
    *("sqrt(x + 5)", "ln(x + 6)", "log(2 * x + 11)", "log10(x + 6)", "log2(x + 5.5)"),
    *("sqrt(greatest(x, 0))", "ln(abs(x) + 1)", "-sqrt(x + 5)", "1 - 2 * ln(7 + x)", "sqrt(coalesce(x, 3) + 5)"),
)
"""Functions that rise with such expressions."""
BELOW_0 = ("ln(x)", "sqrt(3 - x)", "-log2(x - 1)", "log(greatest(x, 2 * x))", "log10(-x)")
"""The same, of numbers below 0 as well: there they are NaN, which is above all numbers."""


def _rows(seed: int, number: int) -> list[tuple[Any, ...]]:
    rng = seeded(seed)
    near = [v for e in (*EDGES, *LITERALS) for v in _beside(e) if -5 <= v <= 40]
    days = [date(2019, 11, 1) + timedelta(days=i) for i in range(152)]
    weeks = [date(2019, 12, 30) + timedelta(days=i) for i in range(63)]
    return [
        (
            rng.choice([*near, rng.uniform(-5, 40), rng.randint(-5, 40) / 4, None]),
            rng.choice([rng.random(), 0.0, 0.1, 0.2, 0.3, 1.0, None]),
            rng.choice([*days, None]),
            rng.choice(weeks),
            rng.choice(["a", "b", "c", None]),
        )
        for _ in range(number)
    ]


def _front(table: TableDomain, *, by_value: bool) -> FrontEnd:
    return FrontEnd(Policy(PRIVACY, (table,)), DuckDbPublicSql(dict[str, Any]().__getitem__), by_value=by_value)


@pytest.fixture(scope="module", params=[True, False], ids=["by value", "by bins"])
def front(request: pytest.FixtureRequest) -> FrontEnd:
    return _front(TABLE, by_value=request.param)


def _beside(edge: float) -> tuple[float, float, float]:
    """It and its neighbours; those of 0 as far away as ``x + 1`` can tell."""
    if edge == 0.0:
        return -1e-15, 0.0, 1e-15
    return nextafter(edge, -inf), float(edge), nextafter(edge, inf)


@pytest.fixture(scope="module")
def counted() -> Counted:
    return Counted(TABLE, _rows(3, 1500))


def _atom(rng: Any) -> str:
    x = rng.choice(["x", "y", "x", "(x)", "x * 2", "x + 1", "10 - x", "x / 4", "-x", "2 * (x - 1)", "x::DOUBLE"])
    x = rng.choice([x, x, rng.choice([*PIECES, *CYCLES, *CURVES])])
    number = str(rng.choice([rng.choice(LITERALS), rng.choice(LITERALS), rng.choice(WRITTEN)]))
    return str(
        rng.choice(
            [
                f"{x} {rng.choice(['<', '<=', '>', '>=', '=', '<>'])} {number}",
                f"{x} BETWEEN {number} AND {rng.choice(LITERALS)}",
                f"{x} IN ({number}, {rng.choice(LITERALS)}, 1e0)",
                f"{rng.choice(['floor', 'ceil', 'round', 'trunc'])}({x}) {rng.choice(['<', '=', '>='])} {number}",
                f"CAST({x} AS INTEGER) % 2 = 0",
                f"{x} IS NOT NULL",
                f"abs({x}) < {number}",
                f"{number} < {x}",
                "x < y",
                f"{x} >= {x}",
                f"{rng.choice(['isnan', 'isfinite', 'isinf'])}(x)",
                "g = 'a'",
                f"CASE WHEN {x} < {number} THEN g = 'b' ELSE {x} > 20 END",
                f"d >= DATE '2020-01-{rng.randint(1, 31):02}'",
                "date_trunc('week', d) = DATE '2020-01-06'",
                f"w < DATE '2020-02-{rng.randint(1, 28):02}'",
                "month(w) = 1",
                "day(d) IN (1, 15)",
            ]
        )
    )


def _predicate(rng: Any, depth: int) -> str:
    if depth == 0 or rng.random() < 0.3:
        return _atom(rng)
    parts = [_predicate(rng, depth - 1) for _ in range(2)]
    text = f" {rng.choice(['AND', 'OR'])} ".join(f"({p})" for p in parts)
    return f"NOT ({text})" if rng.random() < 0.2 else text


def _check(statement: Statement, counted: Counted, truth: Sequence[tuple[Any, ...]], text: str) -> float:
    """The largest doubt of the statement's numbers, after each was found no further from the truth than its doubt."""
    (block,) = statement.blocks
    width, most = len(block.group_columns), 0.0
    wanted = {row[:width]: row[width:] for row in truth}
    assert set(wanted) <= set(block.groups), text
    for i, group in enumerate(block.groups):
        expected = wanted.get(group, (0,) * len(block.aggregates))
        for aggregate, value in zip(block.aggregates, expected, strict=True):
            form = aggregate.numerator[i]
            assert all(type(t.coefficient) is type(t.doubt) is float for t in form.terms), text
            found, doubt = counted.exact(form), counted.doubt(form)
            slack = 1e-6 * (1 + abs(found)) + 45 * len(form.terms) * 1500 / (1 << 24)
            assert abs(found - float(value or 0)) <= doubt + slack, (text, group, found, value, doubt)
            most = max(most, doubt)
    return most


def _agrees(front: FrontEnd, counted: Counted, sql: str) -> float:
    """The same of a statement that DuckDB answers, too."""
    return _check(front.lower(sql), counted, counted.connection.execute(sql).fetchall(), sql)


@pytest.mark.parametrize("seed", range(12))
def test_counts_and_sums_of_conditions(front: FrontEnd, counted: Counted, seed: int) -> None:
    rng = seeded(100 + seed)
    for _ in range(12):
        where = _predicate(rng, 2)
        sql = f"SELECT COUNT(*), SUM(x), SUM(3 - 2 * x), COUNT(x) FILTER (WHERE {_atom(rng)}) FROM t WHERE {where}"
        try:
            _agrees(front, counted, sql)
        except UnsupportedQuery as error:
            assert re.search("too many columns|tied together", str(error)), sql


def test_conditions_on_edges_are_exact(front: FrontEnd, counted: Counted) -> None:
    for low, high in pairwise(EDGES[:-1]):  # the last bin is closed: x < 40 cuts it
        for where in (f"x >= {low} AND x < {high}", f"x < {low}", f"NOT x >= {high}", "x IS NULL"):
            sql = f"SELECT COUNT(*), SUM(x), SUM(x + 7) FROM t WHERE {where}"
            assert _agrees(front, counted, sql) == 0.0
    for where in (
        "d >= DATE '2019-12-01'",
        "year(d) = 2020",
        "w < DATE '2020-01-13'",
        "date_trunc('month', d) IS NULL",
    ):
        sql = f"SELECT COUNT(*) FROM t WHERE {where}"
        assert _agrees(front, counted, sql) == 0.0


@pytest.mark.parametrize(
    "group",
    [
        "floor(x / 10) * 10",
        "round(x)",
        "CASE WHEN x < 3 THEN 'low' WHEN x < 20 THEN 'middle' ELSE 'high' END",
        "x > 2.5, g",
        "date_trunc('month', d)",
        "date_trunc('week', d)",
        "year(w), g",
    ],
)
def test_groups(front: FrontEnd, counted: Counted, group: str) -> None:
    names = ", ".join(f"g{i}" for i in range(1 + group.count(", ") * (not group.startswith(("CASE", "date")))))
    sql = f"SELECT {group}, COUNT(*), SUM(x) FROM t GROUP BY ALL"
    rows = counted.connection.execute(sql).fetchall()
    assert names and _check(front.lower(sql), counted, rows, sql) >= 0.0


@pytest.mark.parametrize("seed", range(6))
def test_expressions_of_subqueries_are_what_they_are_where_they_stand(
    front: FrontEnd, counted: Counted, seed: int
) -> None:
    rng = seeded(300 + seed)
    for _ in range(8):
        number, other = rng.choice(LITERALS), rng.choice(LITERALS)
        inner = f"SELECT 2 * x AS z, x + 0 AS same, abs(x) AS far, {_atom(rng)} AS p, {_atom(rng)} AS q, g FROM t"
        for sql in (
            f"SELECT COUNT(*), SUM(z), SUM(same) FROM ({inner}) WHERE p AND z > {number}",
            f"WITH u AS ({inner}) SELECT COUNT(*), COUNT(*) FILTER (WHERE q) FROM u WHERE NOT p OR far < {abs(other)}",
            f"SELECT z >= {number}, COUNT(*), SUM(same) FROM (SELECT * FROM ({inner}) WHERE q) GROUP BY ALL",
        ):
            _agrees(front, counted, sql)


UNKNOWN = (
    "x % 10 = 3",
    "x % 2 < 0.2",
    "sin(50 * x) > 0.9",
    "sqrt(abs(x)) BETWEEN 1.9 AND 2",
    "x % 1 = 0.25 AND y % 0.2 < 0.01",
)


@pytest.mark.parametrize("where", UNKNOWN)
def test_what_may_hold_between_the_points_leaves_groups_and_sums_open(
    front: FrontEnd, counted: Counted, where: str
) -> None:
    for sql in (
        f"SELECT COUNT(*), SUM(x), SUM(x * x), SUM(floor(x)), SUM(y) FROM t WHERE {where}",
        f"SELECT SUM(x) FILTER (WHERE {where}), COUNT(*) FILTER (WHERE {where} AND x > 3) FROM t",
        f"SELECT x > 2.5, COUNT(*), SUM(x), SUM(x * x), SUM(y) FROM t WHERE {where} GROUP BY ALL",
        f"SELECT x > 2.5, g, COUNT(*) FILTER (WHERE {where}), SUM(y) FILTER (WHERE {where}) FROM t GROUP BY ALL",
        f"SELECT floor(x / 10), COUNT(*) FROM t WHERE NOT ({where}) GROUP BY ALL",
        f"SELECT g, COUNT(*), SUM(x) FROM (SELECT {where} AS p, x, g FROM t) WHERE p GROUP BY g",
    ):
        _agrees(front, counted, sql)


STEADY = (
    "x * x",
    "abs(x - 3)",
    "coalesce(x, y)",
    "coalesce(x, 0)",
    "x / 4 + y",
    "x / (y - 0.1)",
    "greatest(x, y)",
    "round(x, 1)",
    "CAST(x AS INTEGER)",
    "x / nullif(ascii(g), 97)",
    "x % nullif(length(g), 2)",
    "CASE WHEN g = 'a' THEN x * y END",
    "x * x > y",
)
OPEN = (
    "TRY_CAST(x * 1e9 AS INTEGER)",
    "x % y",
)
CHOSEN = ("nullif(x, 7.25)", "CASE WHEN x > 3 THEN y END")
"""They are NULL where values of x say so: exactly known by value, and to a part of a bin by bins."""


def test_whether_an_expression_is_null_is_known_where_its_values_do_not_tell(front: FrontEnd, counted: Counted) -> None:
    for inner in (*STEADY, *OPEN, *CHOSEN):
        for sql in (
            f"SELECT COUNT({inner}), COUNT(*) FILTER (WHERE ({inner}) IS NULL) FROM t",
            f"SELECT g, COUNT({inner}) FROM t WHERE g <> 'c' GROUP BY g",
        ):
            doubt = _agrees(front, counted, sql)
            assert inner in CHOSEN or (doubt == 0.0) == (inner in STEADY), sql


def test_whole_numbers_over_rows_that_are_guessed() -> None:
    """Shares of bins times whole numbers are finer than the fixed point: coarser by no more than their doubt says."""
    table = TableDomain("t", (*TABLE.columns, IntegerDomain("k", 1, 4), IntegerDomain("m", -40, 90)))
    front = _front(table, by_value=True)
    counted = Counted(table, [(*row, 1 + i % 4, i % 131 - 40) for i, row in enumerate(_rows(3, 800))])
    for sql in (
        "SELECT SUM(k), SUM(m), SUM(k * m) FROM t WHERE sin(x) > 0.3",
        "SELECT g, SUM(k) FROM t WHERE NOT (abs(x) < 7 AND x > 2) GROUP BY g",
        "SELECT SUM(k) FROM t WHERE sin(x) > 0.3 AND sin(y) > 0.2 AND day(d) IN (1, 15)",
    ):
        _agrees(front, counted, sql)
    columns = [NumberDomain(c, tuple(map(float, range(12)))) for c in "abcdef"]
    many = " AND ".join(f"(sin({c.name}) > 0.3 OR {c.name} BETWEEN 3.37 AND 3.4)" for c in columns)
    with pytest.raises(UnsupportedQuery, match="weighed by too many columns"):
        _front(TableDomain("t", tuple(columns)), by_value=True).lower(f"SELECT COUNT(*) FROM t WHERE {many}")


@pytest.mark.parametrize("inner", [*PIECES, *CYCLES])
def test_one_line_or_another_is_compared_and_summed(front: FrontEnd, counted: Counted, inner: str) -> None:
    for sql in (
        f"SELECT SUM({inner}), SUM({inner}) FILTER (WHERE x > 1) FROM t"
        if "nullif" not in inner
        else f"SELECT COUNT({inner}) FROM t",
        f"SELECT {f'sign({inner})' if inner in CYCLES else f'floor({inner} / 5)'}, COUNT(*) FROM t GROUP BY ALL",
        f"SELECT {inner} > 2.5, g, COUNT(*), SUM(x) FROM t WHERE CAST({inner} AS INTEGER) < 9 GROUP BY ALL",
        f"SELECT COUNT(*), SUM(y) FROM (SELECT {inner} AS z, y FROM t) WHERE z BETWEEN -1 AND 7.25",
    ):
        _agrees(front, counted, sql)


@pytest.mark.parametrize(
    "where",
    [
        *("x > 3 * month(d)", "x + quarter(d) < 20", "x - dayofweek(d) >= 7", "extract(day FROM d) > x"),
        *("2 * date_part('months', d) - x > 1", "x / isodow(d) < 4", "sqrt(x) < month(d)", "x = day(d::DATE)"),
    ],
)
def test_numbers_beside_parts_of_a_date_cut_few_bins(where: str) -> None:
    """For each of the few numbers that a month may be there is a place; nearly all rows are in doubt where none is
    known."""
    table = TableDomain(
        "t",
        (NumberDomain("x", tuple(map(float, range(161)))), DateDomain("d", date(2020, 1, 1), date(2020, 12, 31))),
    )
    rng = seeded(17)
    days = [date(2020, 1, 1) + timedelta(days=i) for i in range(366)]
    rows = [
        (rng.choice([rng.uniform(0, 160), rng.randint(0, 160), None]), rng.choice([*days, None])) for _ in range(900)
    ]
    doubt = _agrees(_front(table, by_value=True), Counted(table, rows), f"SELECT COUNT(*) FROM t WHERE {where}")
    assert doubt < 0.3 * len(rows)


SETTLED = (
    *("x > y", "x + y < 20", "y - x >= -9", "x * y > 40", "floor(x) > round(y)", "NOT x > y"),
    *("greatest(x, y) > 30", "least(x, y) < 12", "coalesce(x, y) > 30", "x > k * k"),
    *("cbrt(x) * k < 4", "x - 2 * y > k", "x * k > y", "(x - 10) * (y - 10) > 30", "x > y AND k > 2"),
    *("trunc(x / 3)::DOUBLE >= y", "-x < y - 25"),
    *("x = y", "x <> y", "x BETWEEN y AND 2 * y", "NOT x BETWEEN y AND 2 * y", "y NOT BETWEEN x - 5 AND x + k"),
    *("abs(x - y) < 4", "3 >= abs(y - x)", "NOT abs(x - y) > k", "abs(x - 20) > y", "abs(x - y) = 2"),
    *("x > y AND x * y < 200", "x > y OR y > 30", "x > y AND y > 2 * x - 20", "x < y AND x + y > 30"),
    *("x > y OR x + y < 12 OR k = 2", "NOT (x > y AND x + y > 30)", "abs(x + y - 30) <= abs(k - 3)"),
)
UNSETTLED = (
    *("x * x > 9 * y", "x * (20 - x) > y", "sqrt(x - 5) < y", "ln(x) > y", "y / x < 2", "x / (y - 3) > 1"),
    *(
        "x - x % 3 > y",
        "CASE WHEN x > y THEN x ELSE y END > 7",
        "exp(x / 10) < y",
        "sin(x) > y / 40",
        "sin(x) = y",
        "abs(sin(x)) < y",
    ),
)


@pytest.mark.parametrize("by_value", [True, False])
@pytest.mark.parametrize("where", [*SETTLED, *UNSETTLED])
def test_conditions_on_two_number_columns_are_settled_by_the_corners(where: str, *, by_value: bool) -> None:
    """Where what is compared rises or falls along each column, or comparisons that make it do, cells are cut by the
    lines where it changes, and no others; elsewhere all may be. Sums and groups of what is beside follow."""
    table = TableDomain(
        "t",
        (
            NumberDomain("x", tuple(map(float, range(0, 41, 4)))),
            NumberDomain("y", tuple(map(float, range(-4, 41, 4)))),
            IntegerDomain("k", 1, 5),
        ),
    )
    rng = seeded(23)

    def number(low: int) -> Any:
        return rng.choice([rng.uniform(low, 40), float(rng.randint(low, 40)), rng.randint(4 * low, 160) / 4, None])

    rows = [(number(0), number(-4), rng.choice([1, 2, 3, 4, 5, None])) for _ in range(600)]
    front, counted = _front(table, by_value=by_value), Counted(table, rows)
    doubt = _agrees(front, counted, f"SELECT COUNT(*) FROM t WHERE {where}")
    assert (doubt < 0.5 * len(rows)) == (where in SETTLED)
    for sql in (
        f"SELECT SUM(x), SUM(k), COUNT(y) FROM t WHERE {where}",
        f"SELECT k, COUNT(*) FROM t WHERE {where} GROUP BY k",
        f"SELECT x > 12, COUNT(*) FILTER (WHERE {where}) FROM t GROUP BY ALL",
    ):
        _agrees(front, counted, sql)


@pytest.mark.parametrize("by_value", [True, False])
@pytest.mark.parametrize(
    ("group", "most"),
    [
        ("x > y", 0.5),
        ("x + y < 30 OR x > y", 0.5),
        ("x BETWEEN y AND 2 * y", 0.5),
        ("NOT abs(x - y) > k", 0.5),
        ("CASE WHEN x > y THEN 'more' WHEN x + y < 20 THEN 'few' ELSE 'rest' END", 0.5),
        ("CASE WHEN x > y THEN 1 WHEN x = y THEN 0 WHEN x < y THEN -1 END", 0.5),
        ("if(abs(x - y) < 9, TRUE, x > 30)", 1.0),
        ("if(x > y, 'a', 'b')", 0.5),
        ("x = y + 0.37", 0.5),
        ("CASE WHEN x = y + 0.37 THEN 'same' WHEN x > y THEN 'more' END", 0.5),
        ("if(x = y + 0.37, 1, 0)", 0.5),
        ("CASE WHEN x > y THEN 'a' WHEN k = 2 THEN 'b' WHEN x < 10 THEN 'a' ELSE NULL END", 0.5),
        ("CASE WHEN x > y THEN 1 ELSE 2.5 END", 0.5),
        ("x * x > 9 * y", 1.0),
        ("floor(x * 1000)::INT % 2", 1.0),
        ("floor(x * 1000 + 0.5)::INT % 2 = 1 OR k = 5", 1.0),
        ("if(floor(x * 1000 + 0.5)::INT % 2 = 1 OR k = 5, 'a', 'b')", 1.0),
    ],
)
def test_groups_of_conditions_that_change_anywhere(group: str, most: float, *, by_value: bool) -> None:
    """Of two number columns beside each other, or at more places than are looked at: rows between the points may be in
    either group."""
    edges = tuple(map(float, range(0, 41, 4)))
    table = TableDomain("t", (NumberDomain("x", edges), NumberDomain("y", edges), IntegerDomain("k", 1, 5)))
    rng = seeded(29)
    rows = [
        (rng.choice([rng.uniform(0, 40), float(rng.randint(0, 40)), None]), rng.uniform(0, 40), rng.randint(1, 5))
        for _ in range(596)
    ]
    rows += [(y + 0.37, y, k) for y, k in ((3.25, 1), (7.5, 2), (11.125, 2), (30.0, 3))]
    front, counted = _front(table, by_value=by_value), Counted(table, rows)
    for sql in (
        f"SELECT {group} AS found, COUNT(*) FROM t GROUP BY found",
        f"SELECT k, {group}, COUNT(*), SUM(k) FROM t WHERE x > 3 GROUP BY ALL",
        f"SELECT {group}, COUNT(*), SUM(x) FROM t WHERE y < 30 OR k = 2 GROUP BY ALL",
    ):
        doubt = _agrees(front, counted, sql)
        assert (0.0 if most == 1.0 else 1.0) < doubt <= most * 600 * (40 if "SUM" in sql else 1)


def test_a_group_of_what_is_null_is_as_sure_as_its_columns(front: FrontEnd, counted: Counted) -> None:
    """NULL rows are points of their own."""
    (block,) = front.lower("SELECT x < y AS less, COUNT(*) FROM t GROUP BY less").blocks
    (form,) = [block.aggregates[0].numerator[i] for i, group in enumerate(block.groups) if group == (None,)]
    truth = counted.connection.execute("SELECT COUNT(*) FROM t WHERE (x < y) IS NULL").fetchall()
    assert [(counted.exact(form),)] == truth and counted.doubt(form) == 0.0


@pytest.mark.parametrize(
    "group",
    [
        "CASE x > y WHEN TRUE THEN 'a' ELSE 'c' END",
        "if(x > y, k, 2)",
        "x - y",
        "CASE WHEN x > y THEN '1' WHEN x < 9 THEN 1 ELSE 2 END",
        "if(x > y, DATE '2020-01-01', DATE '2021-01-01')",
    ],
)
def test_other_groups_of_several_number_columns_are_refused(front: FrontEnd, group: str) -> None:
    with pytest.raises(UnsupportedQuery, match="more values than can be groups") as caught:
        front.lower(f"SELECT {group.replace('k', 'length(g)')}, COUNT(*) FROM t GROUP BY ALL")
    assert "FILTER (WHERE ...)" in (caught.value.hint or "")


_MONTH = DateDomain("m", date(2020, 1, 1), date(2020, 6, 30), "month")
_DAY = DateDomain("d", date(2020, 1, 1), date(2020, 12, 31))
_WIDE, _TENS = NumberDomain("x", (-20.0, 35.0)), NumberDomain("x", (0.0, 10.0))
_SMALL, _LARGE = NumberDomain("x", (-5.0, -1.0, 7.0, 20.0)), NumberDomain("x", (0.5, 20.0, 2e5))
_CUT, _HALVES = NumberDomain("x", (-5.0, -1.5, 7.0)), NumberDomain("x", (-16.0, 0.0, 16.0))
_Y, _K = NumberDomain("y", (0.0, 5.0, 10.0)), IntegerDomain("k", 0, 3)
LONE: tuple[tuple[tuple[Any, ...], tuple[Any, ...], str, str], ...] = (
    # beside a part of a date that its column's bins do not tell apart
    ((_WIDE, _MONTH), (10.0, date(2020, 3, 20)), "COUNT(*)", "round(x + day(m)) > 20"),
    ((_WIDE, _MONTH), (-2.0, date(2020, 3, 6)), "COUNT(*)", "CAST(x + isodow(m) AS INTEGER) > 2"),
    ((_WIDE, _MONTH), (10.0, date(2020, 3, 5)), "COUNT(*)", "sign(x - day(m)) > 0"),
    ((_WIDE, _MONTH), (6.0, date(2020, 3, 1)), "COUNT(*)", "nullif(x - day(m), 5) IS NULL"),
    ((_WIDE, _MONTH), (10.0, date(2020, 3, 20)), "SUM(floor(x + day(m)))", "TRUE"),
    ((_WIDE, _MONTH), (1.0, date(2020, 3, 2)), "COUNT(*)", "x * quarter(m) > abs(isodow(m)) - 1"),
    # divided by what may be 0
    ((_SMALL, _DAY), (-0.5, date(2020, 1, 5)), "COUNT(*)", "x / dayofweek(d) > 5"),
    ((_SMALL, _K), (-0.5, 0), "COUNT(*)", "x / k > 5"),
    # of columns that decide, but are in no line
    ((_SMALL, _Y), (None, 1.0), "COUNT(*)", "CASE WHEN y > 4 THEN x ELSE 2 END > y * y"),
    # at places that a part of a condition knows
    ((_K, _Y), (1, 1.0), "COUNT(*)", "k BETWEEN y AND y"),
    ((_K, _Y), (1, 1.0), "SUM(3 - 2 * y)", "k = y"),
    # sums of a stretch whose ends are in and whose middle is not
    ((_HALVES,), (6.4,), "SUM(x)", "exp(x / 10) < 1.9"),
    ((_HALVES, _Y), (6.4, 3.0), "SUM(x)", "x < 2 * y + 0.41"),
    ((_HALVES, _Y), (-6.4, 3.0), "SUM(x)", "x > -2 * y - 0.41"),
    # lines and curves are rounded operation by operation
    ((_LARGE,), (1000.0,), "COUNT(*)", "log10(x) / 10 <= 0.3"),
    ((_LARGE,), (64.0,), "COUNT(*)", "log2(x) / 10 > 0.6"),
    ((_LARGE,), (10000.0,), "COUNT(*)", "log10(x) + 0.1 = 4.1"),
    ((_CUT,), (-1.0,), "COUNT(*)", "(x + 4) / 3 = 1"),
    ((_CUT,), (-1.0,), "COUNT(*)", "(x + 4) / 3 > 1"),
    ((_TENS,), (3.0,), "COUNT(*)", "x * 0.1 - 100.2 > -99.9"),
    ((_TENS,), (3.00000003,), "COUNT(*)", "x + 1000000000 > 1000000003"),
    ((_TENS,), (3.00000003,), "COUNT(*)", "-1000000003 < -1000000000 - x"),
    # infinite times 0
    ((_WIDE, _Y), (15.0, 0.0), "COUNT(*)", "exp(1000 * x) * y > 'inf'::DOUBLE"),
)


@pytest.mark.parametrize(("columns", "row", "aggregate", "where"), LONE)
def test_one_row_many_times(columns: tuple[Any, ...], row: tuple[Any, ...], aggregate: str, where: str) -> None:
    """All rows are alike, so that nothing else hides what one of them is taken for."""
    table = TableDomain("t", columns)
    for by_value in (True, False):
        counted = Counted(table, [row] * 100)
        _agrees(_front(table, by_value=by_value), counted, f"SELECT {aggregate} FROM t WHERE {where}")


def test_steps_of_many_lattices_are_looked_at_together() -> None:
    """Each of 31 has fewer than are looked at; all of them, beside a year of days, would take minutes."""
    table = TableDomain("t", (NumberDomain("x", (0.0, 100.0, 300.0)), _DAY))
    counted = Counted(table, [(1.0, date(2020, 1, 5)), (0.01, date(2020, 1, 6)), (7.0, None)])
    assert _agrees(_front(table, by_value=True), counted, "SELECT COUNT(*) FROM t WHERE round(x * day(d)) >= 0.3") > 0.0


def test_a_part_of_a_length_of_time_may_be_any_number() -> None:
    """``day`` of an interval of 40 days is 40, which no day of a month is."""
    table = TableDomain(
        "t", (NumberDomain("x", (0.0, 20.0, 60.0)), DateDomain("d", date(2020, 1, 1), date(2020, 12, 31)))
    )
    rows = [(float(i % 60), date(2020, 1, 1) + timedelta(days=i)) for i in range(366)]
    for where in ("x > day(d - TIMESTAMP '2020-01-01')", "x > day(to_days(40))", "x > extract(day FROM to_days(45))"):
        _agrees(_front(table, by_value=True), Counted(table, rows), f"SELECT COUNT(*) FROM t WHERE {where}")


MANY = {
    ("(2 * x - 1) % 25", "IN (0, 10)"),
    *(("x % 7.5", c) for c in ("> 1", "<= 2.5", "= 3", "<> 7.25", "BETWEEN -1 AND 3", "IN (0, 10)")),
}
"""Of more stretches than are asked by value."""


@pytest.mark.parametrize("inner", [*(p for p in PIECES if "y" not in p), *CYCLES, *CURVES, *BELOW_0])
@pytest.mark.parametrize("compared", ["> 1", "<= 2.5", "= 3", "<> 7.25", "BETWEEN -1 AND 3", "IN (0, 10)"])
def test_one_line_or_another_is_compared_as_it_is_written(counted: Counted, inner: str, compared: str) -> None:
    sql = f"SELECT COUNT(*) FROM t WHERE {inner} {compared}"
    doubt = _agrees(_front(TABLE, by_value=True), counted, sql)
    assert doubt == 0.0 or (inner, compared) in MANY, sql


@pytest.mark.parametrize("by_value", [True, False])
def test_what_holds_for_every_value_or_none_is_known(counted: Counted, *, by_value: bool) -> None:
    for where in (
        *("x > -1e6", "x >= -1e15", "x BETWEEN -1e15 AND 1e15", "NOT x < -1e15", "x < 'inf'::DOUBLE"),
        *("x = 'nan'::DOUBLE", "x = x", "x >= (x)", "2 * x <> 2 * x", "x IS DISTINCT FROM x", "x < 24 * 60"),
        *("isnan(x)", "NOT isnan(x)", "isfinite(x)", "isinf(x)", "x > '-100'"),
    ):
        assert _agrees(_front(TABLE, by_value=by_value), counted, f"SELECT COUNT(*) FROM t WHERE {where}") == 0.0, where


CUTS = (
    "x > 3",
    "x > 2.5",
    "x = 7",
    "x <= -1",
    "x BETWEEN 3 AND 12",
    "x <> 3",
    "NOT x BETWEEN 1 AND 7",
    "x IN (1, 3)",
    "abs(x - 5) <= 3",
    "7 > abs(2 * x)",
    "x + 1 <= 2",
    "x + 1 >= 2",
    "NOT (abs(x) < 7 AND x > 2)",
    "x IN (1, 3, 5, 7, 9, 11)",
    "x % 2 < 1",
)
GUESSED = ("sin(x) > 0.5", "d > DATE '2020-01-01'", "day(w) = 9", "x < y")


def test_a_condition_that_cuts_a_bin_is_never_exact_by_bins(counted: Counted) -> None:
    front = _front(TABLE, by_value=False)
    for where in (*CUTS, *GUESSED):
        sql = f"SELECT COUNT(*) FROM t WHERE {where}"
        assert _agrees(front, counted, sql) > 0.0, where


def test_a_few_stretches_of_values_are_asked_as_they_are_written(counted: Counted) -> None:
    front = _front(TABLE, by_value=True)
    for where in CUTS:
        for also in ("", " AND g = 'a'", " AND y < 0.25", " AND d >= DATE '2020-01-01'"):
            sql = f"SELECT COUNT(*), SUM(x), SUM(y), SUM(3 - 2 * x), COUNT(x) FROM t WHERE {where}{also}"
            assert _agrees(front, counted, sql) == 0.0, sql
    for where in ("x > 3 OR g = 'a'", "CASE WHEN g = 'a' THEN x > 3 WHEN g = 'b' THEN x < 7 ELSE x = 1 END"):
        sql = f"SELECT COUNT(*), SUM(x) FROM t WHERE {where}"
        assert _agrees(front, counted, sql) == 0.0, sql


def test_what_no_few_stretches_say_is_guessed(counted: Counted) -> None:
    front = _front(TABLE, by_value=True)
    for where in (*GUESSED, "x > 3 OR y > 0.05"):
        sql = f"SELECT COUNT(*) FROM t WHERE {where}"
        assert _agrees(front, counted, sql) > 0.0, where


def test_equal_conditions_are_equal_questions() -> None:
    front = _front(TABLE, by_value=True)
    same = ("x > 3 AND x < 12", "x < 12 AND NOT x <= 3", "2 * x > 6 AND x + 1 < 13", "x > 3 AND (x < 12 OR x IS NULL)")
    asked = set()
    for where in same:
        (block,) = front.lower(f"SELECT COUNT(*) FROM t WHERE {where}").blocks
        (form,) = block.aggregates[0].numerator
        asked.add(tuple(t.query.digest for t in form.terms))
    assert len(asked) == 1


def test_zero_is_written_in_one_way_whoever_asks_first() -> None:
    first, *others = (
        {t.query.digest for where in order for t in _terms_of(_front(TABLE, by_value=True), where)}
        for order in (("x >= 0", "-x <= 0", "x >= -0.0"), ("-x <= 0", "x >= 0"), ("abs(x) > 0", "x >= -0.0"))
    )
    assert len(first) == 1 and others[0] == first and first < others[1]
    assert Interval("x", -0.0, 1.0).words == Interval("x", 0.0, 1.0).words


def _terms_of(front: FrontEnd, where: str) -> tuple[Term, ...]:
    (block,) = front.lower(f"SELECT COUNT(*) FROM t WHERE {where}").blocks
    return block.aggregates[0].numerator[0].terms


def test_what_a_cast_makes_of_a_constant_is_what_is_compared(front: FrontEnd, counted: Counted) -> None:
    for cut in ("CAST(7.4 AS INTEGER)", "2.5::TINYINT", "CAST(7.46 AS DECIMAL(5,1))", "CAST(7.25 AS DECIMAL(5,2))"):
        for where in (f"x < {cut}", f"abs(x) <= {cut}", f"x * {cut} > 20", f"x BETWEEN -1 AND {cut}"):
            sql = f"SELECT COUNT(*), SUM(x) FROM t WHERE {where}"
            _agrees(front, counted, sql)
    sql = "SELECT SUM(x * CAST(2.5 AS INTEGER)), SUM(x * 7.0::INTEGER), SUM(x * -2) FROM t"
    _agrees(front, counted, sql)


def test_values_that_unknown_conditions_choose_are_refused_and_others_are_not(
    front: FrontEnd, counted: Counted
) -> None:
    for chosen in ("abs(CASE WHEN sin(x) > 0.3 THEN x END)", "sqrt(if(sin(x) > 0.3, x, 0))"):
        for text in (
            f"SELECT SUM({chosen}) FROM t",
            f"SELECT g, AVG(v) FROM (SELECT {chosen} AS v, g FROM t) GROUP BY g",
        ):
            with pytest.raises(UnsupportedQuery, match="may change anywhere"):
                front.lower(text)
    sums = ("CASE WHEN sin(x) > 0.3 THEN x END", "if(sin(x) > 0.3, x, 0)", "coalesce(nullif(x * x, 3), 1000)")
    _agrees(front, counted, f"SELECT {', '.join(f'SUM({s})' for s in (*sums, 'nullif(x * x, 3) * x'))} FROM t")
    sums = ("CASE WHEN x > 3 THEN x * x END", "CASE WHEN day(d) = 1 THEN x * x END", "CASE g WHEN 'a' THEN x END")
    sql = f"SELECT {', '.join(f'SUM({s})' for s in sums)} FROM t"
    _agrees(front, counted, sql)


def test_small_numbers_of_a_long_range_keep_their_doubt() -> None:
    """Rounding shares of rows to few levels must not make little weights nothing."""
    for high in (20_000, 250_000):
        table = TableDomain("t", (*TABLE.columns, IntegerDomain("n", 0, high)))
        front, rows = _front(table, by_value=True), [(*row, i % 29) for i, row in enumerate(_rows(3, 800))]
        counted = Counted(table, rows)
        sql = "SELECT SUM(n), COUNT(*) FROM t WHERE (sin(x) > 0.3 OR x BETWEEN 3.37 AND 3.4) AND dayofweek(w) = 6"
        try:
            statement = front.lower(sql)
        except UnsupportedQuery as error:
            assert high == 250_000 and "too many columns" in str(error)
            continue
        assert _check(statement, counted, counted.connection.execute(sql).fetchall(), sql) > 0.0


def test_sums_beside_strings_and_shares_of_rows() -> None:
    """The same sum with and without a list of strings: one is asked by value, the other by cells; rows by value."""
    table = TableDomain("t", (*TABLE.columns, TextDomain("s")))
    front = _front(table, by_value=True)
    counted = Counted(table, [(*row, "ab"[i % 2]) for i, row in enumerate(_rows(3, 800))])
    for where in (
        "g = 'a'",
        "g = 'a' AND s = 'b'",
        "s = 'b' OR x > 3",
        "sin(y) > 0.3 AND x > 7",
        "x * y > 2",
        "s = 'a'",
    ):
        sql = f"SELECT SUM(x), AVG(x), COUNT(*) FROM t WHERE {where}"
        (block,) = front.lower(sql).blocks
        assert all(
            t.query.value is None or t.query.keyed is None for a in block.aggregates for t in a.numerator[0].terms
        )
        sums = f"SELECT SUM(x), COUNT(*) FROM t WHERE {where}"
        _agrees(front, counted, sums)


def test_what_is_left_of_a_whole_is_a_count() -> None:
    """So that it is never shown below 0; a whole in other values than its part is none."""
    front = _front(TABLE, by_value=True)
    for where in ("x <> 3", "NOT x BETWEEN 1 AND 7", "x <> 3 AND g = 'a'"):
        (block,) = front.lower(f"SELECT COUNT(*) FROM t WHERE {where}").blocks
        (form,) = block.aggregates[0].numerator
        assert len(form.terms) == 2 and form.is_count, where
    whole, part = (t.query for t in form.terms)
    other = replace(whole, intervals=(Interval("x", 0.0, 1.0),))
    assert Form(0.0, (Term(1.0, whole), Term(-1.0, part))).is_count
    assert not Form(0.0, (Term(1.0, other), Term(-1.0, part))).is_count
    assert not Form(0.0, (Term(1.0, other), Term(-1.0, whole))).is_count
