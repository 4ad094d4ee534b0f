"""Extracts from a real PostgreSQL server: one moment of all tables, every type by its meaning, no value in an error."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import dpsql
from dpsql.dialect.address import ServerAddress
from dpsql.domain import CategoryDomain, DateDomain, IntegerDomain, NumberDomain, TableDomain, TextDomain
from dpsql.engine import MemoryEngine
from dpsql.engine.duckdb import DuckDbEngine
from dpsql.engine.extracting import Reading, Relation, extract
from dpsql.engine.extracting.postgresql import PostgresSource
from dpsql.engine.postgresql import Snapshot
from dpsql.engine.postgresql.database import PostgresDatabase
from dpsql.engine.sql import SqlEngine
from dpsql.errors import EngineError, Error, InterfaceError, PolicyError
from tests.contracts.engine_contract import policy_of
from tests.support.postgres import server

dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="pip install 'dpsql[postgresql]'")
CANARY = "Zaphod-48842"
PEOPLE = TableDomain(
    "People",
    (
        IntegerDomain("age", 0, 9),
        NumberDomain("amount", (0.0, 1.0, 2.5, 9.0)),
        NumberDomain("free", (0.0, 1.0, 2.5, 9.0)),
        DateDomain("day", date(2020, 1, 1), date(2020, 1, 31)),
        DateDomain("seen", date(2020, 1, 1), date(2020, 1, 31)),
        CategoryDomain("mood", ("ok", "bad")),
        CategoryDomain("code", ("x", "y")),
        TextDomain("Name"),
    ),
    unit="owner",
    max_rows_per_unit=2,
)


@pytest.fixture(scope="module")
def uri() -> Iterator[str]:
    with server() as address:
        run(
            address,
            "CREATE TYPE mood AS ENUM ('ok', 'bad', 'other')",
            "CREATE DOMAIN years AS int2",
            "CREATE TABLE people (age years, amount numeric(5,2), free numeric, day date, seen timestamptz, mood mood, "
            f"code bpchar(4), \"Name\" text, owner numeric, secret text DEFAULT '{CANARY}')",
            "INSERT INTO people SELECT i % 12, (i % 37) / 4.0, "
            "CASE WHEN i % 7 = 0 THEN 'NaN' WHEN i % 7 < 6 THEN (i % 11)::numeric END, "
            "CASE WHEN i % 9 = 0 THEN 'infinity'::date ELSE date '2020-01-01' + i % 40 END, "
            "timestamptz '2020-01-05 23:30:00-05' + i % 3 * interval '1 hour', "
            "(ARRAY['ok', 'bad', 'other', NULL])[1 + i % 4]::mood, (ARRAY['x', 'y', 'z'])[1 + i % 3], "
            "CASE WHEN i % 5 > 0 THEN 'nä' || i % 5 END, "
            "CASE WHEN i % 2 = 0 THEN (i / 6)::numeric ELSE (i / 6) + 0.00 END "
            "FROM generate_series(0, 299) AS i",
            "CREATE TABLE accounts (amount int)",
            "INSERT INTO accounts VALUES (1), (2)",
            "CREATE TABLE savings AS SELECT * FROM accounts",
            "CREATE VIEW rich AS SELECT * FROM accounts",
            "CREATE TABLE strange (box box)",
        )
        yield address


def run(uri: str, *statements: str) -> None:
    with dbapi.connect(uri, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def rows_of(uri: str) -> dict[str, list[Any]]:
    """The people as Python values, read by another way than the extract's: as text, one value after the other."""
    with dbapi.connect(uri) as connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT age::int4, amount::float8, free::float8, CASE WHEN isfinite(day) THEN day END AS day, seen, "
            'mood::text, code::text, "Name", trim_scale(owner)::text AS owner FROM people'
        )
        found: dict[str, list[Any]] = cursor.fetch_arrow_table().to_pydict()
        return found


def test_a_table_counts_as_in_the_server(uri: str, tmp_path: Path) -> None:
    """Decimals with and without digits, NaN, infinite days, zones, enumerations, blanks, and units that are equal."""
    policy = policy_of(PEOPLE)
    dpsql.extract(uri, policy, tmp_path / "x.duckdb")
    twin, engine = MemoryEngine(policy, {"people": rows_of(uri)}), DuckDbEngine(tmp_path / "x.duckdb", policy)
    names = [c.name for c in PEOPLE.finite]
    for scope in [(n,) for n in names] + list(pairwise(names)):
        found, wanted = (e.contingency("People", scope).reveal() for e in (engine, twin))
        assert found.tolist() == wanted.tolist(), scope
    for number in ("amount", "free"):
        found, wanted = (e.sums("People", number, ("mood",)).reveal() for e in (engine, twin))
        assert found.tolist() == wanted.tolist()
    strings, others = (e.key_counts("People", "Name").reveal() for e in (engine, twin))
    assert (strings.keys, strings.counts.tolist()) == (others.keys, others.counts.tolist())
    tally = engine.row_tally("People")
    assert (tally.units, tally.counted, tally.beyond_cap) == (50, 100, 0)
    assert engine.origins == (ServerAddress.of(uri).public,) and "owner@" not in engine.origins[0]
    engine.close()
    assert CANARY.encode() not in (tmp_path / "x.duckdb").read_bytes()


@dataclass(frozen=True)
class Meanwhile:
    """A source that somebody writes to between two of its tables."""

    source: PostgresSource
    uri: str
    written: list[str] = field(default_factory=list, hash=False)

    holds_one_table = False

    @contextmanager
    def open(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Reading]:
        with self.source.open(connection) as reading:
            yield _Written(reading, self)


@dataclass(frozen=True)
class _Written:
    reading: Reading
    source: Meanwhile

    address = snapshot = ""

    def relation(
        self,
        table: str,
        columns: Sequence[str] | None,
        *,
        unit: str | None = None,
        strings: Sequence[str] = (),
        private: bool = True,
    ) -> Relation:
        if table == "savings":
            run(self.source.uri, "WITH a AS (UPDATE accounts SET amount = 0) UPDATE savings SET amount = 9")
            self.source.written.append(table)
        return self.reading.relation(table, columns, unit=unit, strings=strings, private=private)


def test_a_read_is_never_torn(uri: str, tmp_path: Path) -> None:
    source = Meanwhile(PostgresSource(uri), uri)
    tables = [TableDomain(name, (IntegerDomain("amount", 0, 9),)) for name in ("accounts", "savings")]
    extract({"accounts": source, "savings": source}, policy_of(*tables), tmp_path / "x.duckdb")
    with duckdb.connect(str(tmp_path / "x.duckdb"), read_only=True) as con:
        found = con.execute("SELECT (SELECT sum(amount) FROM accounts), (SELECT sum(amount) FROM savings)").fetchall()
    assert found == [(3, 3)] and source.written == ["savings"]
    with dbapi.connect(uri) as connection, connection.cursor() as cursor:  # without a snapshot it would be
        cursor.execute("SELECT sum(amount) FROM savings")
        assert cursor.fetchall() == [(18,)]
    run(
        uri, "TRUNCATE accounts, savings", "INSERT INTO accounts VALUES (1), (2)", "INSERT INTO savings VALUES (1), (2)"
    )


def moved(uri: str, stop: threading.Event) -> Iterator[int]:
    """Moves an amount from one table to the other and back, a transaction each; how many were committed."""
    with dbapi.connect(uri) as connection, connection.cursor() as cursor:
        for number in count(1):
            taken = 1 if number % 2 else -1
            cursor.execute(f"UPDATE accounts SET amount = amount - {taken} WHERE amount < 9")
            cursor.execute(f"UPDATE savings SET amount = amount + {taken} WHERE amount < 9")
            connection.commit()
            yield number
            if stop.is_set():
                return


def test_a_writer_is_never_seen_half(uri: str, tmp_path: Path) -> None:
    """Somebody moves amounts all the while: each extract has the sum that every state has, two reads do not always."""
    tables = [TableDomain(name, (IntegerDomain("amount", 0, 9),)) for name in ("accounts", "savings")]
    run(uri, "TRUNCATE accounts, savings", *(f"INSERT INTO {t.name} VALUES (4), (5)" for t in tables))
    total = "SELECT (SELECT sum(amount) FROM accounts) + (SELECT sum(amount) FROM savings)"
    stop, committed = threading.Event(), [0]

    def write() -> None:
        for committed[0] in moved(uri, stop):
            pass

    writer = threading.Thread(target=write)
    writer.start()
    try:
        extracted, before = [], committed[0]
        for i in range(8):
            dpsql.extract(uri, policy_of(*tables), tmp_path / f"{i}.duckdb")
            with duckdb.connect(str(tmp_path / f"{i}.duckdb"), read_only=True) as con:
                extracted += con.execute(total).fetchall()
        during = committed[0] - before
        torn, until = False, time.monotonic() + 60
        with dbapi.connect(uri, autocommit=True) as connection, connection.cursor() as cursor:
            while not torn and time.monotonic() < until:
                parts = []
                for table in tables:
                    cursor.execute(f"SELECT sum(amount) FROM {table.name}")
                    parts.append(int(cursor.fetchall()[0][0]))
                torn = sum(parts) != 18
    finally:
        stop.set()
        writer.join()
        run(uri, "TRUNCATE accounts, savings", *(f"INSERT INTO {t.name} VALUES (1), (2)" for t in tables))
    assert extracted == [(18,)] * 8 and during > 8
    assert torn  # without a snapshot it would be


def test_a_snapshot_reads_and_never_writes(uri: str) -> None:
    held = Snapshot(uri)
    assert held.rows("counting", "SELECT count(*) FROM accounts") == [(2,)]
    run(uri, "INSERT INTO accounts VALUES (3)")
    assert held.rows("counting", "SELECT count(*) FROM accounts") == [(2,)]
    with pytest.raises(EngineError, match="failed while writing"):
        held.run("writing", "DELETE FROM accounts")
    held.close()
    held.close()
    with pytest.raises(EngineError, match="closed"):
        held.rows("counting", "SELECT 1")
    run(uri, "DELETE FROM accounts WHERE amount = 3")


def test_what_cannot_be_extracted_says_so(uri: str, tmp_path: Path) -> None:
    def refused(error: type[Error], table: TableDomain, words: str, **options: Any) -> None:
        with pytest.raises(error, match=words) as caught:
            dpsql.extract(options.pop("source", uri), policy_of(table, **options), tmp_path / "x.duckdb")
        assert caught.value.hint and CANARY not in repr(caught.value.__context__)

    accounts = TableDomain("accounts", (IntegerDomain("amount", 0, 9),))
    refused(PolicyError, TableDomain("nobody", (TextDomain("a"),)), "no such table")
    refused(PolicyError, TableDomain("accounts", (TextDomain("a"),)), "no such column")
    refused(
        PolicyError, TableDomain("accounts", (DateDomain("amount", date(2020, 1, 1), date(2020, 1, 2)),)), "cannot be"
    )
    refused(PolicyError, TableDomain("strange", (TextDomain("box"),)), "type box")
    refused(PolicyError, accounts, "view", public=("rich",))
    refused(EngineError, accounts, "no connection", source="postgresql://ann:secret@127.0.0.1:9/none")
    refused(EngineError, accounts, "no connection", source=uri.replace("/postgres?", "/nothing?"))
    assert not (tmp_path / "x.duckdb").exists()
    assert isinstance(InterfaceError("x"), dpsql.Error)


def test_a_lost_connection_is_to_be_opened_again(uri: str) -> None:
    lost = Snapshot(uri)
    ((process,),) = lost.rows("asking", "SELECT pg_backend_pid()::int4")
    run(uri, f"SELECT pg_terminate_backend({process}, 10000)::text")
    for _ in range(2):
        with pytest.raises(EngineError, match="was lost while asking") as caught:
            lost.rows("asking", "SELECT 1::int4")
        assert "connect again" in caught.value.hint
    lost.close()


def test_a_cancelled_statement_tells_of_the_time_that_it_may_take(uri: str) -> None:
    asked = Snapshot(uri)
    asked.run("setting", "SET statement_timeout = 1")
    with pytest.raises(EngineError, match="cancelled its work while asking") as caught:
        asked.rows("asking", "SELECT pg_sleep(1)::text")
    assert "statement_timeout" in caught.value.hint
    with pytest.raises(EngineError, match="was lost while asking"):  # the transaction is over, and so is its snapshot
        asked.rows("asking", "SELECT 1::int4")
    asked.close()
    with pytest.raises(EngineError, match="cancelled its work while connecting") as caught:
        Snapshot(f"{uri}&options=-cstatement_timeout%3D1")
    assert "statement_timeout" in caught.value.hint and "password" not in caught.value.hint


def test_rows_that_a_server_hides_are_an_error(uri: str, tmp_path: Path) -> None:
    run(
        uri,
        "CREATE ROLE clerk LOGIN",
        "CREATE TABLE ours (amount int, who text)",
        "INSERT INTO ours VALUES (1, 'clerk'), (2, 'owner')",
        "ALTER TABLE ours ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY mine ON ours USING (who = current_user)",
        "GRANT SELECT ON ours TO clerk",
    )
    table = policy_of(TableDomain("ours", (IntegerDomain("amount", 0, 9),)))
    with pytest.raises(EngineError, match="reading ours"):
        dpsql.extract(uri.replace("owner@", "clerk@"), table, tmp_path / "x.duckdb")
    dpsql.extract(uri, table, tmp_path / "x.duckdb")


def test_public_tables_are_whole(uri: str, tmp_path: Path) -> None:
    run(uri, "CREATE TABLE towns AS SELECT 1 AS id, 'Brno' AS name, 1.50::numeric(4,2) AS price, 'a'::\"char\" AS mark")
    policy = policy_of(TableDomain("accounts", (IntegerDomain("amount", 0, 9),)), public=("Towns",))
    dpsql.extract(uri, policy, tmp_path / "x.duckdb")
    engine = DuckDbEngine(tmp_path / "x.duckdb", policy)
    assert pa.Table.to_pylist(engine.public_table("towns").select(["id", "name"])) == [{"id": 1, "name": "Brno"}]
    engine.close()


def test_public_values_without_end(uri: str, tmp_path: Path) -> None:
    """The driver wraps infinite days around, and what is beyond a double is infinite, as in a session on the server."""
    run(
        uri,
        "CREATE TABLE terms AS SELECT x::date AS d, x::timestamp AS t, x::timestamptz AS z "
        "FROM unnest(ARRAY['infinity', '-infinity', '0044-03-15 BC', '2020-01-01', NULL]) AS x",
        "CREATE TABLE steps AS SELECT x::numeric AS n "
        "FROM unnest(ARRAY['Infinity', '-1e400', 'NaN', '0.1', NULL]) AS x",
    )
    policy = policy_of(TableDomain("accounts", (IntegerDomain("amount", 0, 9),)), public=("terms", "steps"))
    dpsql.extract(uri, policy, tmp_path / "x.duckdb")
    end, begun = "infinity", "-infinity"
    for engine in (DuckDbEngine(tmp_path / "x.duckdb", policy), SqlEngine(PostgresDatabase(uri), policy)):
        with duckdb.connect(config={"threads": 1}) as shown:
            shown.execute("SET TimeZone = 'UTC'")
            terms, steps = engine.public_table("terms"), engine.public_table("steps")
            shown.register("terms", terms)
            shown.register("steps", steps)
            found = shown.execute(f"SELECT {', '.join(f'{c}::VARCHAR' for c in 'dtz')} FROM terms").fetchall()
            numbers = shown.execute("SELECT n::VARCHAR FROM steps").fetchall()
        engine.close()
        old, day = "0044-03-15 (BC)", "2020-01-01"
        zoned = [(old, f"{old} 00:00:00", f"{old} 00:00:00+00"), (day, f"{day} 00:00:00", f"{day} 00:00:00+00")]
        assert set(found) == {(end,) * 3, (begun,) * 3, (None,) * 3, *zoned}
        assert set(numbers) == {("inf",), ("-inf",), ("nan",), ("0.1",), (None,)}


def test_a_table_that_is_not_there(uri: str, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="no such table") as caught:
        dpsql.extract(uri, policy_of(TableDomain("none", (IntegerDomain("a", 0, 9),))), tmp_path / "x.duckdb")
    assert "empty" not in (caught.value.hint or "")
