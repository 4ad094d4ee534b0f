"""The engine on SQL databases keeps the contract on a real PostgreSQL server, and counts as the twin in memory does."""

from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dpsql.domain import (
    FIXED_POINT,
    CategoryDomain,
    DateDomain,
    IntegerDomain,
    NumberDomain,
    TableDomain,
    TextDomain,
    code_of,
)
from dpsql.engine import MemoryEngine
from dpsql.engine.duckdb import DuckDbEngine
from dpsql.engine.extracting import extract
from dpsql.engine.extracting.postgresql import PostgresSource
from dpsql.engine.partition import Partition
from dpsql.engine.postgresql.database import PostgresDatabase
from dpsql.engine.protocol import OwnersEngine
from dpsql.engine.sql import SqlEngine
from dpsql.errors import PolicyError
from dpsql.policy import Policy
from dpsql.query import Regions
from tests.contracts.distinct_contract import DistinctContract
from tests.contracts.engine_contract import EngineContract, policy_of
from tests.contracts.test_engines import check_agreement, some_table
from tests.contracts.text_engine_contract import TextEngineContract
from tests.support.postgres import server

dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="pip install 'dpsql[postgresql]'")
_SCHEMAS = count()


@pytest.fixture(scope="module")
def uri() -> Iterator[str]:
    with server() as address:
        yield address


def kind_of(arrow: pa.DataType) -> str:
    if pa.types.is_dictionary(arrow):
        return "text"
    if pa.types.is_decimal(arrow):
        return f"numeric({arrow.precision}, {arrow.scale})"
    if pa.types.is_timestamp(arrow):
        return "timestamp" if arrow.tz is None else "timestamptz"
    names = {"int8": "int2", "int16": "int2", "int32": "int4", "uint64": "numeric(20)", "float": "float4"}
    others = {"bool": "bool", "date32[day]": "date", "string": "text", "int64": "int8", "double": "float8"}
    return names.get(str(arrow)) or others.get(str(arrow), "text")


def literal(value: Any) -> str:
    if value is None:
        return "NULL"
    text = value.isoformat() if hasattr(value, "isoformat") else str(value)
    return "'" + text.replace("'", "''") + "'"


def without_nul(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """PostgreSQL stores no U+0000."""
    values = column.to_pylist()
    return pa.array([v and v.replace("\0", "?") for v in values]) if "nul\0" in values else column


def load(uri: str, tables: Mapping[str, pa.Table], *, views: bool = False) -> str:
    """The address of these tables in a schema of their own."""
    schema = f"s{next(_SCHEMAS)}"
    with dbapi.connect(uri, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE SCHEMA {schema}")
        for name, table in tables.items():
            stored = f'{schema}."{name}{"_behind" if views else ""}"'
            columns = ", ".join(f'"{f.name}" {kind_of(f.type)}' for f in table.schema)
            cursor.execute(f"CREATE TABLE {stored} ({columns})")
            lines = zip(*(table.column(i).to_pylist() for i in range(table.num_columns)), strict=True)
            rows = [f"({', '.join(map(literal, line))})" for line in lines]
            if rows:
                cursor.execute(f"INSERT INTO {stored} VALUES {', '.join(rows)}")
            if views:
                cursor.execute(f'CREATE VIEW {schema}."{name}" AS SELECT * FROM {stored}')
    return f"{uri}&options=-csearch_path%3D{schema}"


class TestPostgres(EngineContract, TextEngineContract, DistinctContract):
    stores_nul = False

    @pytest.fixture(autouse=True)
    def _server(self, uri: str) -> Iterator[None]:
        self.uri, self.opened = uri, list[OwnersEngine]()
        yield
        for engine in self.opened:
            engine.close()

    def engine(self, policy: Policy, tables: Mapping[str, pa.Table]) -> OwnersEngine:
        return self._opened(policy, load(self.uri, tables))

    def over_a_view(self, policy: Policy, tables: Mapping[str, pa.Table]) -> OwnersEngine:
        return self._opened(policy, load(self.uri, tables, views=True))

    def _opened(self, policy: Policy, uri: str) -> OwnersEngine:
        self.opened.append(SqlEngine(PostgresDatabase(uri), policy))
        return self.opened[-1]


@pytest.mark.parametrize("seed", range(8))
def test_engines_agree_on_random_tables(uri: str, seed: int) -> None:
    random = Random(1000 + seed)  # noqa: S311 - draws test tables
    table, drawn = some_table(random)
    data = pa.table({f.name: without_nul(drawn.column(f.name)) for f in drawn.schema})
    policy = policy_of(table)
    engine = SqlEngine(PostgresDatabase(load(uri, {"t": data})), policy)
    try:
        check_agreement(random, table, [MemoryEngine(policy, {"t": data}), engine])
    finally:
        engine.close()


STRANGE = TableDomain(
    "strange",
    (
        NumberDomain("n", (0.0, 1e-300, 0.5, 9.0)),
        NumberDomain("f", (0.0, 1e-300, 0.5, 9.0)),
        IntegerDomain("i", 0, 9),
        IntegerDomain("j", 0, 9),
        DateDomain("d", date(2020, 1, 1), date(2020, 12, 31), "month"),
        DateDomain("t", date(2020, 1, 1), date(2020, 12, 31), "week"),
        DateDomain("z", date(2020, 1, 1), date(2020, 12, 31)),
    ),
    unit="u",
    max_rows_per_unit=1,
)
NUMERICS = ("NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e-400", "0.25", "9")
FLOATS = ("NaN", "Infinity", "-Infinity", "1e308", "-1e308", "5e-324", "0.25", "9")
DAYS = (
    "infinity",
    "-infinity",
    "0044-03-15 BC",
    "20000-01-01",
    "4713-01-01 BC",
    "2020-02-29",
    "2020-12-31",
    "9999-12-31",
)


class Noted(PostgresDatabase):
    """What was asked of the server."""

    def __init__(self, uri: str) -> None:
        super().__init__(uri)
        self.asked: list[str] = []

    def arrow(self, what: str, sql: str) -> pa.Table:
        self.asked.append(sql)
        return super().arrow(what, sql)


@pytest.mark.parametrize(("room", "scans"), [(1 << 20, 1), (40, 6)], ids=["held", "too many"])
@pytest.mark.parametrize("unit", [None, "u"])
def test_a_wide_table_is_scanned_once(
    uri: str, monkeypatch: pytest.MonkeyPatch, room: int, scans: int, unit: str | None
) -> None:
    """Unless more combinations occur than there is room for: then each scope is a scan, after the first try."""
    monkeypatch.setattr("dpsql.engine.sql.engine.WHOLE_CELLS", 10)
    monkeypatch.setattr("dpsql.engine.sql.engine.HELD_BYTES", room)
    columns = tuple(IntegerDomain(c, 0, 9) for c in "abc")
    table = TableDomain("t", columns, unit=unit, max_rows_per_unit=2 if unit else 1)
    rows = {
        c: [(i * k + i // 7) % 11 if i % 13 else None for i in range(200)] for c, k in {"a": 1, "b": 3, "c": 7}.items()
    }
    data = pa.table({**rows, "u": [i // 5 for i in range(200)]})
    database, twin = Noted(load(uri, {"t": data})), MemoryEngine(policy_of(table), {"t": data})
    engine = SqlEngine(database, policy_of(table))
    try:
        scopes = [("a",), ("b", "a"), ("b", "c"), ("a", "b", "c"), ("c",), ()]
        for scope in scopes:
            found, wanted = (e.contingency("t", scope).reveal() for e in (engine, twin))
            assert found.tolist() == wanted.tolist(), scope
        halves = tuple(Partition((c,), np.arange(11) % 2, 2) for c in "ab")
        found, wanted = (e.part_counts("t", halves).reveal() for e in (engine, twin))
        assert found.tolist() == wanted.tolist()
        assert sum("count(*)" in sql for sql in database.asked) == scans
    finally:
        engine.close()


def test_a_row_is_digested_once(uri: str) -> None:
    """And not once for each byte of its digest."""
    address = load(uri, {"t": pa.table({"a": [1, 2]})})
    database = Noted(address)
    engine = SqlEngine(database, policy_of(TableDomain("t", (IntegerDomain("a", 0, 9),))))
    engine.fingerprint()
    engine.close()
    (asked,) = [sql for sql in database.asked if "md5" in sql]
    with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})
        cursor.execute(f"EXPLAIN (VERBOSE) {asked}")
        plan = "".join(line for (line,) in cursor.fetchall())
    assert "md5(" in plan.rpartition("Output:")[2]  # of the scan, which is the last


def test_no_row_makes_a_question_fail(uri: str, tmp_path: Path) -> None:
    """An error would tell of the row: what PostgreSQL cannot cast, multiply or send is kept away from it."""
    lines = ", ".join(
        f"('{n}', '{f}', '{n}', '{f}', '{d}', '{d}', '{d}', {k})"
        for k, (n, f, d) in enumerate(zip(NUMERICS, FLOATS, DAYS, strict=True))
    )
    address = load(uri, {})
    with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE strange (n numeric, f float8, i numeric, j float8, d date, t timestamp, z timestamptz, "
            "u numeric)"
        )
        cursor.execute(f"INSERT INTO strange VALUES {lines}")
    policy = policy_of(STRANGE)
    extract({"strange": PostgresSource(address)}, policy, tmp_path / "x.duckdb")
    copy, engine = DuckDbEngine(tmp_path / "x.duckdb", policy), SqlEngine(PostgresDatabase(address), policy)
    for each in (engine, copy):
        assert each.contingency("strange", ("n",)).reveal().tolist() == [3, 1, 3, 1]
        assert each.contingency("strange", ("f",)).reveal().tolist() == [3, 1, 3, 1]
        assert each.contingency("strange", ("i", "j")).reveal()[9, 9] == 1
        for moment in ("d", "t", "z"):
            assert int(each.contingency("strange", (moment,)).reveal()[:-1].sum()) == 2
        assert int(each.sums("strange", "f", ()).reveal()) == 3 * FIXED_POINT + FIXED_POINT // 36
        assert each.row_tally("strange").counted == len(NUMERICS)
    assert engine.fingerprint() and engine.positions("strange", "f").reveal().tolist()
    assert engine.out_of_domain("strange")["d"] == 6
    engine.close()
    copy.close()


FIRST = datetime(1969, 12, 31, 22, 30)  # noqa: DTZ001


def test_units_are_told_apart_by_their_bytes(uri: str) -> None:
    """Under a collation that calls them equal, rows of one unit would decide which rows of another are kept."""
    address = load(uri, {})
    with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_collation WHERE collprovider = 'i'")
        if not cursor.fetchall()[0][0]:
            pytest.skip("this PostgreSQL has no collation that calls different strings equal")
        cursor.execute("CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
        cursor.execute("CREATE TABLE people (u text COLLATE nocase, a int4)")
        units = "unnest(ARRAY['Ann', 'ann', 'ANN'])"
        cursor.execute(f"INSERT INTO people SELECT x, i FROM {units} AS x, generate_series(0, 4) AS i")
    table = TableDomain("people", (IntegerDomain("a", 0, 4),), unit="u", max_rows_per_unit=2)
    engine = SqlEngine(PostgresDatabase(address), policy_of(table))
    try:
        assert int(engine.contingency("people", ("a",)).reveal().sum()) == 6
        assert engine.row_tally("people").units == 3
        everywhere = Regions((), np.zeros((), dtype=np.int64), 1)
        assert engine.distinct_counts("people", "u", everywhere).reveal().tolist() == [[3]]
    finally:
        engine.close()


def test_strings_are_read_whatever_the_client_encoding(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver takes all bytes for UTF-8, and the server those of a statement for what it was told."""
    table = TableDomain("rows", (CategoryDomain("ä", ("é", "日本")), TextDomain("s")))
    data = {"rows": pa.table({"ä": ["é", "日本", "é", None], "s": ["é", "日本", "é", "é"]})}
    policy, address = policy_of(table), load(uri, data)
    found = []
    for encoding in ("UTF8", "LATIN1"):
        monkeypatch.setenv("PGCLIENTENCODING", encoding)
        engine = SqlEngine(PostgresDatabase(address), policy)
        assert engine.contingency("rows", ("ä",)).reveal().tolist() == [2, 1, 1]
        assert engine.keyed_counts("rows", ("s",), (("é",), ("日本",)), ()).reveal().tolist() == [3, 1]
        found.append(engine.fingerprint())
        engine.close()
    assert found[0] == found[1]


MOMENTS = TableDomain(
    "moments",
    (
        DateDomain("t", FIRST, FIRST + timedelta(hours=3), "hour"),
        DateDomain("z", FIRST, FIRST + timedelta(hours=3), "minute"),
    ),
)
ODD = ("infinity", "-infinity", "4713-01-01 BC", "20000-01-01", "9999-12-31 23:59:59.999999")


def test_hours_and_minutes_are_counted_alike(uri: str, tmp_path: Path) -> None:
    places = [FIRST + timedelta(minutes=m, microseconds=u) for m in range(-40, 260, 10) for u in (-1, 0, 1)]
    written = [*(str(p) for p in places), *ODD]
    address = load(uri, {})
    with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE moments (t timestamp, z timestamptz)")
        cursor.execute(
            "INSERT INTO moments VALUES (NULL, NULL), "
            + ", ".join(f"('{w}', '{w}+00')" for w in written if "BC" not in w and "inf" not in w)
        )
        cursor.execute(
            "INSERT INTO moments VALUES " + ", ".join(f"('{w}', '{w}')" for w in written if "BC" in w or "inf" in w)
        )
    policy = policy_of(MOMENTS)
    extract({"moments": PostgresSource(address)}, policy, tmp_path / "x.duckdb")
    copy, engine = DuckDbEngine(tmp_path / "x.duckdb", policy), SqlEngine(PostgresDatabase(address), policy)
    data = pa.table({"t": pa.array(places, pa.timestamp("us")), "z": pa.array(places, pa.timestamp("us", "UTC"))})
    memory = MemoryEngine(policy, {"moments": data})
    for name in ("t", "z"):
        domain = MOMENTS.finite_domain(name)
        wanted = [0] * domain.size
        for place in places:
            code = code_of(domain, place)
            wanted[-1 if code is None else code] += 1
        assert memory.contingency("moments", (name,)).reveal().tolist() == wanted
        wanted[-1] += len(ODD) + 1
        for each in (engine, copy):
            assert each.contingency("moments", (name,)).reveal().tolist() == wanted
    engine.close()
    copy.close()


def test_days_are_no_hours(uri: str) -> None:
    address = load(uri, {})
    with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE moments (t date, z timestamptz)")
    with pytest.raises(PolicyError, match="cannot be declared"):
        SqlEngine(PostgresDatabase(address), policy_of(MOMENTS))


@pytest.mark.parametrize("arguments", ["real", "float8"], ids=["that fit closer", "on an earlier path"])
def test_functions_of_the_owners_are_not_called_in_place_of_postgresqls(uri: str, arguments: str) -> None:
    """One that fails on some rows would tell of these."""
    address = load(uri, {"t": pa.table({"x": pa.array([1.0, 9.0], pa.float32())})})
    schema = address.partition("search_path%3D")[2]
    with dbapi.connect(uri, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(
            f"CREATE FUNCTION {schema}.floor({arguments}) RETURNS {arguments} LANGUAGE plpgsql AS "
            "'BEGIN RAISE EXCEPTION USING MESSAGE = $1; END'"
        )
    policy = policy_of(TableDomain("t", (IntegerDomain("x", 0, 9),)))
    engine = SqlEngine(PostgresDatabase(f"{address},pg_catalog"), policy)
    try:
        assert engine.contingency("t", ("x",)).reveal().tolist() == [0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0]
    finally:
        engine.close()
