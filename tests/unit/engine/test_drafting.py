"""Describing a database from its catalog, and looking at its data on the owner's wish."""

import traceback
from pathlib import Path

import duckdb
import pytest

from dpsql.engine.duckdb import describe, look_at
from dpsql.errors import EngineError, UnknownName


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "pets.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TYPE kinds AS ENUM ('Dog', 'it''s, a \"cat\"', '')").fetchall()
        con.execute("CREATE TABLE pets (id INTEGER NOT NULL, kind kinds, name VARCHAR, seen TIMESTAMPTZ)").fetchall()
        con.execute("INSERT INTO pets SELECT i, 'Dog', 'n' || i, NULL FROM range(300) r(i)").fetchall()
        con.execute('CREATE VIEW "a view" AS SELECT id, name::INTEGER AS number FROM pets').fetchall()
        con.execute("CREATE TABLE empty (x DECIMAL(5, 2))").fetchall()
    return path


def test_describe_reads_the_catalog(database: Path) -> None:
    found = dict(describe(database))
    assert list(found) == ["a view", "empty", "pets"]
    enum = "ENUM('Dog', 'it''s, a \"cat\"', '')"
    assert found["pets"] == (
        ("id", "INTEGER", True, ()),
        ("kind", enum, False, ("Dog", 'it\'s, a "cat"', "")),
        ("name", "VARCHAR", False, ()),
        ("seen", "TIMESTAMP WITH TIME ZONE", False, ()),
    )
    assert [c.sql_type for c in found["a view"]] == ["INTEGER", "INTEGER"]


def test_look_at_reads_rows(database: Path) -> None:
    ids = look_at(database, "PETS", "ID")
    assert (ids.low, ids.high, ids.has_null, ids.values) == (0, 299, False, None)
    kinds = look_at(database, "pets", "kind")
    assert (kinds.low, kinds.high, kinds.has_null, kinds.values) == ("Dog", "Dog", False, ("Dog",))
    nothing = look_at(database, "empty", "x")
    assert (nothing.low, nothing.high, nothing.has_null, nothing.values) == (None, None, False, ())
    assert look_at(database, "pets", "seen").has_null


def test_an_open_connection_works_too() -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT unnest([3, 1, NULL]) AS x").fetchall()
        assert describe(con) == [("t", (("x", "INTEGER", False, ()),))]
        assert look_at(con, "t", "x").values == (1, 3)


def test_what_is_no_number_is_not_the_largest_one() -> None:
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE t AS SELECT unnest(['3.5', 'nan', 'inf', '-inf', '1.5', '2.5']::FLOAT[]) AS x"
        ).fetchall()
        found = look_at(con, "t", "x")
        assert (found.low, found.high, found.middle, found.has_null) == (1.5, 3.5, 2.5, True)


def test_refusals(database: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownName):
        look_at(database, "pats", "id")
    with pytest.raises(UnknownName):
        look_at(database, "pets", "ids")
    with pytest.raises(EngineError):
        describe(tmp_path / "missing.duckdb")
    with pytest.raises(EngineError) as e:
        look_at(database, "a view", "number")
    assert "'n0'" not in "".join(traceback.format_exception(e.value))  # which names the folder of the tests, too
    assert e.value.__context__ is None
