"""Days and moments of public tables that Python has no form for: lists of them are taken, joins say what to write."""

from collections.abc import Iterator

import duckdb
import pytest

import dpsql

POLICY = """\
version = 1
privacy = { epsilon = 100, delta = 0.05 }
[tables.t.columns]
a = { type = "integer", min = 0, max = 9 }
w = { type = "date", min = 2024-01-01, max = 2024-01-31 }
[public]
tables = ["p"]
"""
BOUNDED = "(SELECT k, least(greatest(until, DATE '0001-01-01'), DATE '9999-12-31') AS until FROM p) AS p"


@pytest.fixture(scope="module")
def con() -> Iterator[dpsql.Connection]:
    private = duckdb.connect()
    private.execute("CREATE TABLE p (k INTEGER, until DATE, seen TIMESTAMP, exact TIMESTAMP_NS)").fetchall()
    private.execute(
        "INSERT INTO p VALUES (1, 'infinity', '-infinity', '2024-01-05 00:00:00.123456789'), "
        "(2, '2024-01-16', '20000-01-01 10:00:00', '2024-01-05'), (3, '0044-03-15 (BC)', '0044-03-15 (BC) 10:00', NULL)"
    ).fetchall()
    private.execute(
        "CREATE TABLE t AS SELECT i % 10 AS a, DATE '2024-01-01' + (i % 30)::INTEGER AS w FROM range(3000) r(i)"
    )
    with private, dpsql.connect(private, policy=dpsql.load_policy(POLICY), ledger=":memory:") as opened:
        yield opened


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        ("w IN (SELECT until FROM p)", 100),
        ("w < (SELECT max(until) FROM p)", 3000),
        ("w > (SELECT min(until) FROM p)", 3000),
        ("w < (SELECT max(seen) FROM p)", 3000),
        ("w < (SELECT min(seen) FROM p)", 0),
        ("w <= (SELECT until FROM p WHERE k = 2) AND w NOT IN (SELECT seen::DATE FROM p WHERE k = 2)", 1600),
    ],
)
def test_lists_of_them_are_taken(con: dpsql.Connection, condition: str, wanted: int) -> None:
    (found,) = con.execute(f"SELECT count(*) FROM t WHERE {condition}").fetchone() or ()
    assert abs(found - wanted) < 100


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT count(*) FROM t JOIN p ON t.a = p.k WHERE w < until",
        "SELECT until, count(*) FROM t JOIN p ON t.a = p.k GROUP BY until",
        "SELECT count(*) FROM t JOIN p ON t.a = p.k WHERE w < exact",
        "SELECT a, (SELECT max(until) FROM p WHERE p.k = t.a) AS u, count(*) FROM t GROUP BY ALL",
    ],
)
def test_joins_say_what_to_write(con: dpsql.Connection, statement: str) -> None:
    with pytest.raises(dpsql.DataError, match="public table has no Python form") as caught:
        con.execute(statement)
    assert "least(" in (caught.value.hint or "")


def test_what_is_written_then_is_answered(con: dpsql.Connection) -> None:
    (found,) = con.execute(f"SELECT count(*) FROM t JOIN {BOUNDED} ON t.a = p.k WHERE k < 3 AND w < until").fetchone()
    assert abs(found - 500) < 100
