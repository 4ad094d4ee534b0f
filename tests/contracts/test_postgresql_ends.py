"""Values at both ends of PostgreSQL's types make no question fail: an error would tell of the row that has one.

In a column that nobody declared, in one that is declared, and as the unit.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime

import duckdb
import pyarrow as pa
import pytest

from dpsql.domain import (
    BooleanDomain,
    CategoryDomain,
    DateDomain,
    FiniteDomain,
    IntegerDomain,
    NumberDomain,
    TableDomain,
    TextDomain,
)
from dpsql.engine import MemoryEngine
from dpsql.engine.duckdb import DuckDbEngine
from dpsql.engine.postgresql.database import PostgresDatabase
from dpsql.engine.protocol import OwnersEngine
from dpsql.engine.sql import SqlEngine
from dpsql.query import Interval
from tests.contracts.engine_contract import policy_of
from tests.contracts.test_sql_engines import dbapi, load
from tests.support.postgres import server

INFINITE = ("infinity", "-infinity")
LAST = ("294247-01-10 04:00:54.775806", "294247-01-10 04:00:54.775807", "294276-12-31 23:59:59.999998")
MOMENTS = ("4714-11-24 00:00:00 BC", *LAST, "294276-12-31 23:59:59.999999", *INFINITE)
ENDS: Mapping[str, tuple[str, ...]] = {
    "int2": ("-32768", "32767"),
    "int4": ("-2147483648", "2147483647"),
    "int8": ("-9223372036854775808", "9223372036854775807"),
    "numeric": ("-1e131071", "1e131071", "1e-16383", "-1e-16383", "NaN", "Infinity", "-Infinity"),
    "numeric(9, 4)": ("-99999.9999", "99999.9999", "NaN"),
    "float4": ("-3.4028235e38", "3.4028235e38", "1e-45", "-0", "NaN", "Infinity", "-Infinity"),
    "float8": ("-1.7976931348623157e308", "1.7976931348623157e308", "5e-324", "-0", "NaN", "Infinity", "-Infinity"),
    "date": ("4714-11-24 BC", "5874897-12-31", *INFINITE),
    "timestamp": MOMENTS,
    "timestamptz": tuple(m.replace(":00 BC", ":00+00 BC") if "BC" in m else m for m in MOMENTS),
    "time": ("00:00:00", "23:59:59.999999", "24:00:00"),
    "timetz": ("00:00:00+15:59:59", "24:00:00-15:59:59"),
    "interval": ("-178000000 years", "178000000 years 24:00:00", "00:00:00.000001"),
    "money": ("-92233720368547758.08", "92233720368547758.07"),
    "bool": ("false", "true"),
    "text": ("", "\U0010ffff", "\uffff" * 9, "x" * 100_000),
    "bpchar(7)": ("", "\U0010ffff"),
    "bytea": ("", "\\x00ff"),
    "uuid": ("00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"),
    "int8[]": ("{}", "{-9223372036854775808,9223372036854775807,NULL}"),
    "timestamp[]": ('{"4714-11-24 00:00:00 BC","294276-12-31 23:59:59.999999",infinity}',),
    "tsrange": ("empty", "(,)", "[4714-11-24 00:00:00 BC,294276-12-31 23:59:59.999999]"),
    "bit(3)": ("000", "111"),
    "inet": ("0.0.0.0/0", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    "jsonb": ("null", '{"a": 1e131071}'),
}
UNTOLD = ("timetz", "interval", "money", "int8[]", "timestamp[]", "tsrange", "bit(3)", "inet", "jsonb")
NUMBERS = (
    IntegerDomain("x", -5, 5),
    NumberDomain("x", (-1.7e308, -1.0, 0.0, 1.7e308)),
    NumberDomain("x", (0.0, 1e-320, 1.0)),
    NumberDomain("x", (-1e-315, 0.0, 5e-324), outside="null"),
)
DAYS = (
    DateDomain("x", date(1, 1, 1), date(9999, 12, 31), "year"),
    DateDomain("x", date(2020, 1, 1), date(2020, 12, 30), "week"),
)
HOURS = (*DAYS, DateDomain("x", datetime(2020, 1, 1), datetime(2020, 1, 2), "hour"))  # noqa: DTZ001
WORDS = (TextDomain("x", (1, 3)), CategoryDomain("x", ("", "a", "5", "true")))
DECLARED: Mapping[str, Sequence[FiniteDomain | TextDomain]] = {
    **dict.fromkeys(("int2", "int4", "int8"), (*NUMBERS, *WORDS)),
    **dict.fromkeys(("numeric", "numeric(9, 4)", "float4", "float8"), NUMBERS),
    "date": DAYS,
    **dict.fromkeys(("timestamp", "timestamptz"), HOURS),
    "bool": (BooleanDomain("x"), *WORDS),
    **dict.fromkeys(("text", "bpchar(7)", "uuid"), WORDS),
}
OTHER = IntegerDomain("a", 0, 9)


@pytest.fixture(scope="module")
def uri() -> Iterator[str]:
    with server() as address:
        yield address


def stored(uri: str, kind: str, values: Sequence[str]) -> str:
    """The address of a table with these values, each in a row of its own, and one without."""
    address = load(uri, {})
    schema = address.partition("search_path%3D")[2]
    with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("SET TimeZone = 'UTC'")
        cursor.execute(f"CREATE TABLE {schema}.ends (a int4, x {kind})")
        for i, value in enumerate(values):
            cursor.execute(f"INSERT INTO {schema}.ends VALUES ({i}, '{value}')")
        cursor.execute(f"INSERT INTO {schema}.ends VALUES (9, NULL)")
    return address


def opened(address: str, *columns: FiniteDomain | TextDomain, unit: str | None = None) -> SqlEngine:
    table = TableDomain("ends", (OTHER, *columns), unit=unit, max_rows_per_unit=2 if unit else 1)
    return SqlEngine(PostgresDatabase(address), policy_of(table))


def answers(engine: OwnersEngine, columns: Sequence[FiniteDomain | TextDomain], rows: int) -> None:
    """Every private question about the table, and all of its rows."""
    assert engine.fingerprint() and engine.table_fingerprints()
    assert engine.row_tally("ends").counted == rows
    assert engine.out_of_domain("ends")
    for column in columns:
        if isinstance(column, TextDomain):
            assert engine.key_counts("ends", column.name).reveal().keys
            assert int(engine.keyed_counts("ends", ("x[:1]",), ((None,),), ("a",)).reveal().sum()) == 1
            continue
        assert int(engine.contingency("ends", ("a", column.name)).reveal().sum()) == rows
        if isinstance(column, NumberDomain):
            inside = (Interval(column.name, column.edges[0], column.edges[1]),)
            assert int(engine.sums("ends", column.name, ("a",)).reveal().min()) >= 0
            assert int(engine.positions("ends", column.name).reveal().min()) >= 0
            assert int(engine.value_counts("ends", column.name, column.edges[:2]).reveal().sum()) <= rows
            assert int(engine.part_counts("ends", (), inside).reveal()) <= rows
            assert int(engine.part_sums("ends", column.name, (), inside).reveal().min()) >= 0


@pytest.mark.parametrize("kind", ENDS)
def test_ends_of_a_type_are_read_wherever_they_stand(uri: str, kind: str) -> None:
    values, units = ENDS[kind], (None, "a") if kind in UNTOLD else (None, "a", "x")
    address, rows = stored(uri, kind, values), len(values) + 1
    for columns in [(), *((column,) for column in DECLARED.get(kind, ()))]:
        for unit in units:
            engine = opened(address, *columns, unit=unit)
            try:
                answers(engine, columns, rows)
                assert engine.row_tally("ends").units == (0 if unit is None else rows)
            finally:
                engine.close()


@pytest.mark.parametrize("kind", [kind for kind in ENDS if kind not in UNTOLD])
def test_ends_of_a_type_are_told_apart(uri: str, kind: str) -> None:
    found = set()
    for value in ENDS[kind]:
        engine = opened(stored(uri, kind, (value,)))
        found.add(engine.fingerprint())
        engine.close()
    assert len(found) == len(ENDS[kind])


@pytest.mark.parametrize("kind", ["timestamp", "timestamptz", "time"])
def test_moments_are_known_again_in_duckdb(uri: str, kind: str) -> None:
    """All that both databases have: before Christ, before 1970, to the microsecond."""
    last = "294246-12-31" if kind == "timestamp" else "9999-12-31"  # DuckDB 1.5 writes far moments of a zone wrongly
    early, late = ("4714-11-24", "0001-01-01", "0044-03-15"), ("0001-01-01", "1969-12-31", "2000-01-01", last)
    hours = ("00:00:00", "00:00:00.000001", "23:59:59.999999")
    if kind == "time":
        values = [*hours, "24:00:00"]
    else:
        values = [f"{day} {hour}" for day in [*(f"{day} (BC)" for day in early), *late] for hour in hours]
    zone = "+00" if kind == "timestamptz" else ""
    address = stored(uri, kind, [v.replace(" (BC)", "") + zone + " BC" * ("BC" in v) for v in values])
    engine = opened(address)
    with duckdb.connect() as con:
        con.execute("SET TimeZone = 'UTC'")
        con.execute(f"CREATE TABLE ends (a INTEGER, x {kind.upper()})")
        con.executemany("INSERT INTO ends VALUES (?, ?)", [*enumerate(values), (9, None)])
        twin = DuckDbEngine(con, policy_of(TableDomain("ends", (OTHER,))))
        assert engine.fingerprint() == twin.fingerprint()
        twin.close()
    engine.close()


def test_narrow_spans_are_counted_as_by_the_twin(uri: str) -> None:
    """A part of them that PostgreSQL takes for an error is 0 elsewhere."""
    tiny = 5e-324
    x = [-1e300, -1e-315, -5e-316, -tiny, 0.0, tiny, 2 * tiny, 3 * tiny, 1e-320, 5e-321, 1e-308, 0.25, 1e300, None]
    data = {"ends": pa.table({"a": [0] * len(x), "x": x})}
    for edges in ((-1e-315, 0.0, tiny, 1.0), (0.0, 1e-320, 1.0), (-1e-311, 1e-311, 1e-308), (-tiny, 0.0, 2 * tiny)):
        column = NumberDomain("x", edges)
        policy = policy_of(TableDomain("ends", (OTHER, column)))
        engine, twin = opened(load(uri, data), column), MemoryEngine(policy, data)
        try:
            for ask in ("sums", "positions"):
                scope = (("a",),) if ask == "sums" else ()
                found, wanted = (getattr(e, ask)("ends", "x", *scope).reveal().tolist() for e in (engine, twin))
                assert found == wanted, (edges, ask)
        finally:
            engine.close()


# --- strings and bytes that are too long to be made a text of --------------------------------------------------------


def of_bytes(uri: str, *sizes: int, last: str = "a", kind: str = "text", unit: str | None = None) -> tuple[str, int]:
    """The fingerprint and the number of units of a table with strings of these lengths, in a row of their own each."""
    values = ["x" * (size - 1) + last for size in sizes]
    engine = opened(stored(uri, kind, values), unit=unit)
    try:
        tally = engine.row_tally("ends")
        assert tally.counted == len(sizes) + 1
        return engine.fingerprint(), tally.units
    finally:
        engine.close()


@pytest.mark.parametrize(("kind", "most"), [("text", 60), ("bytea", 30), ("bpchar(90)", 60)])
def test_longer_strings_are_known_by_length_and_digest(
    uri: str, monkeypatch: pytest.MonkeyPatch, kind: str, most: int
) -> None:
    """Those that are no longer than allowed are known as before; of longer ones each byte counts, as a unit too."""
    before = [of_bytes(uri, size, kind=kind) for size in (most, most + 1)]
    monkeypatch.setattr("dpsql.engine.postgresql.dialect.LARGEST", 60)
    assert of_bytes(uri, most, kind=kind) == before[0]
    other = of_bytes(uri, most + 1, kind=kind)
    assert other == of_bytes(uri, most + 1, kind=kind) != before[1]
    assert other != of_bytes(uri, most + 1, kind=kind, last="b")
    assert of_bytes(uri, most, most + 1, most + 2, kind=kind, unit="x")[1] == 4


def test_strings_that_are_too_long_together_are_known_by_length_and_digest(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpsql.engine.postgresql.dialect.LARGEST", 60)

    def known(*strings: str | None) -> str:
        rows = pa.table({"a": [1], **{f"x{i}": pa.array([s], pa.string()) for i, s in enumerate(strings)}})
        policy = policy_of(TableDomain("ends", (OTHER,)))
        engine, twin = opened(load(uri, {"ends": rows})), MemoryEngine(policy, {"ends": rows})
        try:
            found = engine.fingerprint()
            assert (found == twin.fingerprint()) == (sum(len(s or "") for s in strings) <= 60)
            return found
        finally:
            engine.close()

    told = [known("x" * 30, "y" * 30), known("x" * 30, "y" * 31), known("x" * 31, "y" * 30), known("x" * 61, None)]
    told += [known(None, "x" * 61), known("x" * 30, "y" * 30 + "z"), known("x" * 60, "")]
    assert len(set(told)) == len(told)


@pytest.mark.slow
def test_fields_beyond_what_a_text_holds_are_read(uri: str) -> None:
    """Half a gigabyte of bytes, and two columns of more than a gigabyte together."""
    address = load(uri, {})
    with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"SET search_path = {address.partition('search_path%3D')[2]}")
        cursor.execute("CREATE TABLE ends (a int4, x bytea, y text, z text)")
        cursor.execute("INSERT INTO ends VALUES (1, repeat('x', 540000000)::bytea, NULL, NULL), (2, NULL, NULL, NULL)")
        cursor.execute("INSERT INTO ends SELECT 3, NULL, repeat('y', 600000000), NULL")
        cursor.execute("UPDATE ends SET z = y")
    for unit in (None, "x"):
        engine = opened(address, unit=unit)
        assert engine.fingerprint() and engine.row_tally("ends").counted == 3
        engine.close()
