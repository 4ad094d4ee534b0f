"""Sums and averages beside conditions on the same column: known where the conditions are, and between their ends."""

import pytest

from dpsql.domain import CategoryDomain, IntegerDomain, NumberDomain, TableDomain
from dpsql.sql import Block, FrontEnd
from tests.support.contingency import Counted, seeded
from tests.support.exact import front_of

TABLE = TableDomain(
    "t",
    (
        NumberDomain("x", (-20.0, -10.0, 0.0, 10.0, 30.0)),
        NumberDomain("y", (0.0, 1.0, 2.0, 5.0)),
        IntegerDomain("k", -3, 6),
        CategoryDomain("g", ("a", "b")),
    ),
)
LATTICES = ("floor(x) = 2", "round(x) IN (2, 12, -3)", "x::INT < 7", "ceil(x / 5) = 1", "trunc(x) = 0")
CONDITIONS = (
    "x BETWEEN 2 AND 3", "x >= 10", "x < -10", "x > 5 OR x < -15", "abs(x) < 4", "x = 12", "x > 3 AND g = 'a'",
    "x > 3 OR g = 'a'", "NOT x > 3", "floor(x) = 2", "k BETWEEN 1 AND 2", "k > 2 OR g = 'b'", "k IS NULL", "y < 1.5",
    "x % 3 < 1", "k % 2 = 0 AND x < 20", "coalesce(k, 6) > 5",
)  # fmt: skip
VALUES = ("x", "3 - 2 * x", "k", "k * k", "coalesce(k, -9)", "abs(k)", "y", "k + 0.5")


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return front_of(TABLE)


@pytest.fixture(scope="module")
def counted() -> Counted:
    rng = seeded(11)
    rows = [
        (
            rng.choice([None, -20.0, -10.0, 0.0, 2.0, 3.0, 10.0, 12.0, 30.0, rng.uniform(-20, 30), rng.uniform(2, 3)]),
            rng.choice([None, 0.0, 1.0, 1.5, 5.0, rng.uniform(0, 5)]),
            rng.choice([None, -3, -1, 0, 1, 2, 6]),
            rng.choice([None, "a", "b"]),
        )
        for _ in range(1200)
    ]
    return Counted(TABLE, rows)


def lowered(front: FrontEnd, sql: str) -> Block:
    (block,) = front.lower(sql).blocks
    return block


@pytest.mark.parametrize("where", LATTICES)
def test_a_sum_is_known_where_its_rows_are(front: FrontEnd, counted: Counted, where: str) -> None:
    for aggregate in ("SUM(x)", "SUM(1 - 2 * x)", f"SUM(x) FILTER (WHERE {where} OR g = 'a')"):
        sql = f"SELECT {aggregate} FROM t WHERE {where} OR g IS NULL"
        (found,) = lowered(front, sql).aggregates
        ((expected,),) = counted.connection.execute(sql).fetchall()
        assert counted.doubt(found.numerator[0]) == 0.0
        assert counted.exact(found.numerator[0]) == pytest.approx(expected, abs=5e-3)  # shares are in fixed point


@pytest.mark.parametrize("where", CONDITIONS)
@pytest.mark.parametrize("by", ["", "g", "k > 1", "floor(x / 10)", "x > 2.5"])
def test_averages_lie_where_the_conditions_let_them(front: FrontEnd, counted: Counted, where: str, by: str) -> None:
    found = ", ".join(f"AVG({value})" for value in VALUES)
    sql = f"SELECT {by or 'NULL'} AS b, {found} FROM t WHERE {where} GROUP BY ALL"
    block = lowered(front, sql)
    truth = {row[0]: row[1:] for row in counted.connection.execute(sql).fetchall()}
    looked_at = 0
    for i, group in enumerate(block.groups):
        for aggregate, expected in zip(block.aggregates, truth.get((*group, None)[0], ()), strict=False):
            if aggregate.spans and expected is not None:
                looked_at += 1
                low, high = aggregate.spans[i]
                assert low - 1e-9 <= expected <= high + 1e-9, (sql, group, aggregate.column)
    assert looked_at > 0


@pytest.mark.parametrize("where", CONDITIONS)
@pytest.mark.parametrize("by", ["", "g", "k > 1", "x > 2.5"])
def test_signs_of_sums_are_those_of_all_their_rows(front: FrontEnd, counted: Counted, where: str, by: str) -> None:
    values = (*VALUES, "-x", "-abs(k)")
    found = ", ".join(f"SUM({value})" for value in values)
    ends = ", ".join(f"MIN({value}), MAX({value})" for value in values)
    block = lowered(front, f"SELECT {by or 'NULL'} AS b, {found} FROM t WHERE {where} GROUP BY ALL")
    rows = counted.connection.execute(f"SELECT {by or 'NULL'} AS b, {ends} FROM t WHERE {where} GROUP BY ALL")
    truth = {row[0]: row[1:] for row in rows.fetchall()}
    for i, group in enumerate(block.groups):
        of = truth.get((*group, None)[0], (None,) * 2 * len(values))
        for aggregate, low, high in zip(block.aggregates, of[::2], of[1::2], strict=True):
            sign = aggregate.sign(i)
            assert low is None or sign == 0 or sign * low >= 0 <= sign * high, (where, group, aggregate.column)
            assert aggregate.sign(i, conditions=False) == aggregate.nonnegative


@pytest.mark.parametrize(
    ("sql", "signs"),
    [
        ("SELECT SUM(x) FROM t", [0]),
        ("SELECT SUM(x) FROM t WHERE x > 12", [1]),
        ("SELECT SUM(x) FROM t WHERE x < 0 AND g = 'a'", [-1]),
        ("SELECT SUM(-x) FROM t WHERE x < 0", [1]),
        ("SELECT SUM(x) FROM t WHERE x > 12 OR g = 'a'", [0]),
        ("SELECT SUM(x) FILTER (WHERE x < -3) FROM t", [-1]),
        ("SELECT SUM(k) FROM t WHERE k BETWEEN -2 AND 0", [-1]),
        ("SELECT k > 0 AS p, SUM(k) FROM t GROUP BY p", [-1, 1, 0]),
        ("SELECT SUM(y) FROM t", [1]),
        ("SELECT SUM(-y) FROM t", [-1]),
        ("SELECT SUM(k + x) FROM t WHERE k > 3 AND x > 3", [0]),
    ],
)
def test_what_conditions_say_of_signs(front: FrontEnd, sql: str, signs: list[int]) -> None:
    (found,) = lowered(front, sql).aggregates
    assert [found.sign(i) for i in range(len(signs))] == signs


@pytest.mark.parametrize(
    ("sql", "spans"),
    [
        ("SELECT AVG(x) FROM t WHERE x BETWEEN 2 AND 3", [(2.0, 3.0)]),
        ("SELECT AVG(3 - 2 * x) FROM t WHERE x BETWEEN 2 AND 3", [(-3.0, -1.0)]),
        ("SELECT AVG(x) FROM t WHERE x >= 10", [(10.0, 30.0)]),
        ("SELECT AVG(x) FROM t WHERE x BETWEEN 2 AND 3 OR g = 'a'", [(-20.0, 30.0)]),
        ("SELECT AVG(k) FROM t WHERE k BETWEEN 1 AND 2", [(1.0, 2.0)]),
        ("SELECT AVG(k * k) FROM t WHERE k < 0", [(1.0, 9.0)]),
        ("SELECT g, AVG(k) FROM t WHERE k = 4 OR g = 'a' GROUP BY g", [(-3.0, 6.0), (4.0, 4.0), (4.0, 4.0)]),
        ("SELECT AVG(k + x) FROM t WHERE k = 4", None),
    ],
)
def test_how_far_apart_the_ends_are(front: FrontEnd, sql: str, spans: list[tuple[float, float]] | None) -> None:
    (found,) = lowered(front, sql).aggregates
    if spans is None:
        assert found.spans == ()
    else:
        assert found.spans == tuple(pytest.approx(s, abs=1e-9) for s in spans)
