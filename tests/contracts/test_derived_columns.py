"""Derived columns: what DuckDB makes of them is what Python does, and no row can make them fail."""

import math
from contextlib import nullcontext
from datetime import datetime
from typing import Any

import duckdb
import pytest

from dpsql.domain import Derived
from dpsql.domain.derived import FIXED
from dpsql.engine.duckdb.derived import derived_sql
from dpsql.errors import PolicyError
from dpsql.sql import derived_expression
from tests.support.contingency import seeded
from tests.support.derived import text_of, value

at = datetime.fromisoformat
MOMENT = at("2021-03-31 23:30")
ROWS: list[tuple[Any, ...]] = [
    (1, "a", 1.5, 3, True, MOMENT),
    (2, " Ab ", math.nan, 9223372036854775807, False, at("1969-12-31")),
    (3, "", math.inf, -9223372036854775808, None, at("2020-02-29 12:00")),
    (4, "12", -math.inf, 0, True, at("0001-01-01")),
    (5, "1e3", -2.5, 7, False, at("9999-12-31 23:59:59")),
    (6, "it's", 0.0, -1, True, MOMENT),
    (7, "x\ny", 1e308, 2, None, MOMENT),
    (8, None, None, None, None, None),
]
TYPES = {"k": "INTEGER", "s": "VARCHAR", "d": "DOUBLE", "i": "BIGINT", "b": "BOOLEAN", "t": "TIMESTAMP"}
SORTS = {"s": "text", "d": "number", "i": "number", "b": "boolean", "t": "moment"}


@pytest.fixture(scope="module")
def rows() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    con.execute(f"CREATE TABLE rows ({', '.join(f'{n} {t}' for n, t in TYPES.items())})")
    con.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?)", ROWS)
    return con


def written(sql: str, types: dict[str, str] = TYPES) -> str:
    return derived_sql(Derived("x", sql, derived_expression(sql)), types, "here")[0]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return (math.isnan(one) and math.isnan(other)) or one == other or math.isclose(one, other, rel_tol=1e-12)
    return type(one) is type(other) and bool(one == other)


@pytest.mark.parametrize("seed", range(80))
def test_duckdb_and_python_agree_on_random_expressions(rows: duckdb.DuckDBPyConnection, seed: int) -> None:
    """Twelve at once: what they share is evaluated for all of them together."""
    rng = seeded(seed)
    texts = [text_of(rng, rng.choice(["number", "text", "boolean"]), SORTS, 4) for _ in range(12)]
    texts = [t for t in texts if len(t) < 3000 and any(derived_columns(t))]
    found = rows.execute(f"SELECT {', '.join(map(written, texts))} FROM rows ORDER BY k").fetchall()
    for row, answers in zip(ROWS, found, strict=True):
        names = dict(zip(TYPES, (None if x is None else float(x) if type(x) is int else x for x in row), strict=True))
        for text, answer in zip(texts, answers, strict=True):
            assert same(value(derived_expression(text), names), answer), (text, row)


def derived_columns(text: str) -> list[str]:
    try:
        return list(derived_expression(text).columns)
    except PolicyError as error:
        assert "says nothing of a column" in error.message or "too long" in error.message
        return []


def test_the_random_expressions_use_every_operation() -> None:
    used: set[str] = set()
    for seed in range(80):
        rng = seeded(seed)
        for _ in range(12):
            text = text_of(rng, rng.choice(["number", "text", "boolean"]), SORTS, 4)
            if derived_columns(text):
                todo = [derived_expression(text)]
                while todo:
                    e = todo.pop()
                    used.add(e.operation)
                    todo += e.parts
    assert used >= {*FIXED, "in", "case", "coalesce", "nullif", "is null"}


def test_a_part_that_fails_would_fail_outside_of_try(rows: duckdb.DuckDBPyConnection) -> None:
    """Why there is no TRY: of two that share a cast, DuckDB before 2.0.1 evaluates the cast by itself."""
    mended = tuple(map(int, duckdb.__version__.split(".")[:3])) >= (2, 0, 1)
    with nullcontext() if mended else pytest.raises(duckdb.Error):
        rows.execute("SELECT TRY(CAST(s AS INTEGER) > 3), TRY(CAST(s AS INTEGER) < 9) FROM rows").fetchall()
    shared = [written(f"TRY_CAST(s AS DOUBLE) {c} 3") for c in ("<", ">")]
    assert rows.execute(f"SELECT count({shared[0]}), count({shared[1]}) FROM rows").fetchall() == [(2, 2)]


@pytest.mark.parametrize(
    ("kind", "values", "sql"),
    [
        ("DECIMAL(38, 2)", ["99999999999999999999999999999999999.99", "-1", None], "x * x > 1"),
        ("HUGEINT", ["170141183460469231731687303715884105727", "0", None], "-x + abs(x) = x"),
        ("UBIGINT", ["18446744073709551615", "0"], "x + 1 > 3 AND x - 5 < 0"),
        ("DATE", ["infinity", "-infinity", "5881580-07-10", "5877642-06-25 (BC)"], "year(x) + isodow(x) > 3"),
        ("TIMESTAMP", ["-infinity", "294247-01-10 04:00:54", "290309-12-22 (BC) 00:00:00"], "day(x) < hour(x)"),
        ("TIMESTAMP WITH TIME ZONE", ["infinity", "294247-01-10 04:00:54+00"], "x > DATE '2020-01-01'"),
        ("TIMESTAMP_NS", ["infinity", "2262-04-11 00:00:00", "1677-09-22 00:00:00"], "minute(x) = 0 OR quarter(x) = 1"),
        ("UUID", ["00000000-0000-0000-0000-000000000000", None], "lower(x) LIKE '0%'"),
        ("FLOAT", ["nan", "inf", "3.4e38", "-0.0"], "round(x) % 0 = 1 OR x / 0 = 2"),
        ("VARCHAR", ["a" * 100_000, "\U0001f600", "0x1F", "1_000"], "TRY_CAST(upper(x) || x AS DOUBLE) > length(x)"),
    ],
)  # fmt: skip
def test_extreme_values_fail_nowhere(kind: str, values: list[str | None], sql: str) -> None:
    con = duckdb.connect()
    con.execute(f"SET TimeZone = 'Asia/Kathmandu'; CREATE TABLE rows (x {kind})")
    con.executemany(f"INSERT INTO rows VALUES (CAST(? AS {kind}))", [[v] for v in values])
    assert len(con.execute(f"SELECT {written(sql, {'x': kind})} FROM rows").fetchall()) == len(values)


def test_zones_of_the_session_do_not_matter() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE rows AS SELECT TIMESTAMPTZ '2020-01-01 02:00:00+05' AS x")
    for zone in ("UTC", "America/New_York", "Pacific/Auckland"):
        con.execute(f"SET TimeZone = '{zone}'")
        assert con.execute(f"SELECT {written('year(x)', {'x': 'TIMESTAMP WITH TIME ZONE'})} FROM rows").fetchall() == [
            (2019.0,)
        ]


def test_collations_do_not_matter() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE rows (x VARCHAR COLLATE NOCASE); INSERT INTO rows VALUES ('a'), ('A')")
    for sql in ("x = 'a'", "x IN ('a')", "nullif(x, 'A') IS NOT NULL"):
        assert con.execute(f"SELECT count(*) FROM rows WHERE {written(sql, {'x': 'VARCHAR'})}").fetchall() == [(1,)]


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("i = s", "is about a number and a text"),
        ("length(i) > 2", "length needs a text, not a number"),
        ("b + 1", r"\+ needs a number, not a boolean"),
        ("nothing > 3", "has no column 'nothing'"),
        ("s > DATE '2020-01-01'", "a moment and a text"),
        ("CASE WHEN i THEN 1 END", "CASE needs a boolean"),
        ("CASE WHEN b THEN 1 ELSE 'x' END", "a number and a text"),
        ("i LIKE '1%'", "like needs a text"),
    ],
)
def test_what_does_not_go_together_is_refused(sql: str, words: str) -> None:
    with pytest.raises(PolicyError, match=words) as refused:
        written(sql)
    assert refused.value.path == "here" and refused.value.hint
