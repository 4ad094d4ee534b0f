"""All engines digest the same values to the same, whatever the types and the order of their columns."""

import struct
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from random import Random
from typing import Any
from uuid import UUID

import duckdb
import pyarrow as pa
import pytest

from dpsql.domain import BooleanDomain, TableDomain, TextDomain
from dpsql.engine import MemoryEngine, Rules
from dpsql.engine.duckdb import DuckDbEngine
from dpsql.engine.values import content_of, field
from tests.contracts.engine_contract import policy_of
from tests.contracts.test_engines import load

TABLE = TableDomain("t", (BooleanDomain("declared"),))
POLICY = policy_of(TABLE)
ODD_TEXTS = (
    "",
    "a",
    "1:a",
    ",",
    "-",
    "Re\0x",
    "\0",
    "Žába",
    "日本",
    "\U0001f41f",
    "é",
    "e\u0301",
    " ",
    "'",
    '"',
    "x" * 300,
)
BITS = (0.0, -0.0, float("nan"), float("inf"), -float("inf"), 5e-324, 1.0, 0.1, 1e308)

Draw = Callable[[Random], Any]


def bits(random: Random) -> float:
    found: float = struct.unpack("<d", random.randbytes(8))[0]
    return random.choice([*BITS, found, random.uniform(-9, 9)])


def decimal(scale: int, digits: int) -> Draw:
    def draw(random: Random) -> Decimal:
        size = random.choice([10, 100, 10**digits])
        return Decimal(f"{random.randrange(-size + 1, size)}e-{scale}")

    return draw


def moment(random: Random) -> datetime:
    far = ("0001-01-01", "9999-12-31T23:59:59.999999", "1970-01-01")
    if random.random() < 0.2:
        return datetime.fromisoformat(random.choice(far))
    return datetime.fromisoformat("2000-02-28") + timedelta(microseconds=random.randrange(-(10**16), 10**16))


KINDS: Mapping[str, tuple[pa.DataType, Draw]] = {
    "tiny": (pa.int8(), lambda r: r.randrange(-128, 128)),
    "big": (pa.int64(), lambda r: r.choice([r.randrange(-5, 5), -(2**63), 2**63 - 1])),
    "unsigned": (pa.uint64(), lambda r: r.choice([0, r.randrange(99), 2**64 - 1])),
    "double": (pa.float64(), bits),
    "float": (pa.float32(), lambda r: struct.unpack("<f", r.randbytes(4))[0]),
    "money": (pa.decimal128(10, 2), decimal(2, 9)),
    "fraction": (pa.decimal128(4, 4), decimal(4, 4)),
    "fractions": (pa.decimal128(38, 38), decimal(38, 38)),
    "whole": (pa.decimal128(20, 0), decimal(0, 19)),
    "boolean": (pa.bool_(), lambda r: r.random() < 0.5),
    "text": (pa.string(), lambda r: r.choice([*ODD_TEXTS, *map(str, range(20))])),
    "blob": (pa.binary(), lambda r: r.randbytes(r.randrange(4))),
    "day": (
        pa.date32(),
        lambda r: r.choice([date.min, date.max, date(1970, 1, 1) + timedelta(days=r.randrange(-9999, 9999))]),
    ),
    "moment": (pa.timestamp("us"), moment),
    "second": (pa.timestamp("s"), lambda r: moment(r).replace(microsecond=0)),
    "zoned": (pa.timestamp("us", tz="UTC"), lambda r: moment(r).replace(tzinfo=UTC)),
    "hour": (
        pa.time64("us"),
        lambda r: r.choice([time.min, time.max, time(r.randrange(24), 5, 6, r.randrange(10**6))]),
    ),
    "list": (pa.list_(pa.int64()), lambda r: [r.randrange(3)]),
}


def fingerprints(rows: pa.Table) -> list[str]:
    """Of the same table, by every engine, each in a session of its own."""
    con = load({"t": rows})
    con.execute("SET TimeZone = 'Asia/Tokyo'").fetchall()
    engines = (MemoryEngine(POLICY, {"t": rows}), DuckDbEngine(con, POLICY))
    assert len({e.fingerprint() for e in engines}) == 1
    return [one for e in engines for one in e.table_fingerprints()]


def table(random: Random, kinds: Sequence[str], number: int) -> pa.Table:
    columns: dict[str, Any] = {"declared": pa.array([True] * number)}
    for kind in kinds:
        arrow, draw = KINDS[kind]
        columns[kind] = pa.array([None if random.random() < 0.1 else draw(random) for _ in range(number)], type=arrow)
    return pa.table(columns)


@pytest.mark.parametrize("kind", KINDS)
def test_engines_agree_on_every_kind_of_value(kind: str) -> None:
    one, other = fingerprints(table(Random(kind), [kind], 300))  # noqa: S311 - draws test tables
    assert one == other


@pytest.mark.parametrize("seed", range(6))
def test_engines_agree_on_random_tables(seed: int) -> None:
    random = Random(seed)  # noqa: S311 - draws test tables
    rows = table(random, random.sample(list(KINDS), 6), random.randrange(0, 40))
    one, other = fingerprints(rows)
    shuffled = rows.take(random.sample(range(rows.num_rows), rows.num_rows)).select(rows.column_names[::-1])
    assert [one, one] == [one, other] == fingerprints(shuffled)


def test_a_value_is_what_it_is_and_not_the_width_of_its_column() -> None:
    columns: list[list[Any]] = [
        [
            pa.array([7, None], type=kind)
            for kind in (pa.int8(), pa.uint64(), pa.decimal128(5, 2), pa.decimal128(30, 0))
        ],
        [pa.array([0.5, -0.0], type=kind) for kind in (pa.float32(), pa.float64())],
        [pa.array(["x", None]), pa.array(["x", None]).dictionary_encode()],
        [pa.array([datetime.fromisoformat("2020-01-01"), None], type=pa.timestamp(unit)) for unit in ("s", "ms", "us")],
        [pa.array([None, None], type=kind) for kind in (pa.int8(), pa.string(), pa.float64(), pa.binary())],
    ]
    digests = [
        {f for c in kinds for f in fingerprints(pa.table({"declared": [True] * 2, "c": c}))} for kinds in columns
    ]
    assert [len(d) for d in digests] == [1] * len(columns) and len(set().union(*digests)) == len(columns)


def test_every_nan_is_one_value_and_zeros_are_two() -> None:
    def digest(*values: float) -> str:
        found = set(fingerprints(pa.table({"declared": [True] * len(values), "x": list(values)})))
        assert len(found) == 1
        return found.pop()

    payload: float = struct.unpack("<d", struct.pack("<Q", 0xFFF8_0000_0000_0123))[0]
    assert digest(float("nan")) == digest(payload) != digest(0.0) != digest(-0.0)


def test_no_two_rows_have_one_text() -> None:
    """Neighbouring fields cannot be told otherwise: every pair of different rows differs in its text."""
    values = (None, "", ",", "1:a", "a", "1", "1,", ",1", "2:1,", "\0")
    rows = [(a, b, c) for a in values for b in values for c in values]
    assert len({content_of(["a", "b", "c"], [row]) for row in rows}) == len(rows)
    numbers = [(a, b, c) for a in (None, 1, 11, -1) for b in (None, 1, 11, -1) for c in (None, 1, 11, -1)]
    assert len({content_of(["a", "b", "c"], [row]) for row in numbers}) == len(numbers)


def test_what_python_cannot_hold_has_a_digest_too() -> None:
    """Infinite and far dates, nanoseconds, half past midnight: equal only where equal."""
    values = {
        "TIMESTAMP": ("'infinity'", "'-infinity'", "'290309-12-22 (BC) 00:00:00'", "'2020-01-01'"),
        "TIMESTAMP_MS": ("'infinity'", "'2020-01-01'", "'2020-01-01 00:00:00.001'"),
        "TIMESTAMP_NS": (
            "'infinity'",
            "'2020-01-01 00:00:00.000000001'",
            "'2020-01-01'",
            "'1969-12-31 23:59:59.999999999'",
        ),
        "TIMESTAMPTZ": ("'infinity'", "'-infinity'", "'2020-01-01 00:00:00+00'"),
        "DATE": ("'infinity'", "'-infinity'", "'0044-03-15 (BC)'", "'0044-03-15'", "'20000-01-01'"),
        "TIME": ("'24:00:00'", "'00:00:00'"),
        "HUGEINT": ("170141183460469231731687303715884105727", "-1"),
    }
    for kind, listed in values.items():
        found = []
        for value in (*listed, "NULL"):
            with duckdb.connect() as con:
                con.execute(f"CREATE TABLE t AS SELECT true AS declared, {value}::{kind} AS x").fetchall()
                found.append(DuckDbEngine(con, POLICY).fingerprint())
        assert len(set(found)) == len(listed) + 1, kind


@pytest.mark.parametrize(
    "unit", ["big", "double", "money", "boolean", "text", "blob", "day", "moment", "zoned", "hour"]
)
def test_engines_keep_the_same_rows_of_a_unit(unit: str) -> None:
    random = Random(unit)  # noqa: S311 - draws test tables
    few = [KINDS[unit][1](random) for _ in range(5)]
    units = pa.array([random.choice([*few, None]) for _ in range(120)], type=KINDS[unit][0])
    texts = pa.array([random.choice([*ODD_TEXTS[:8], None]) for _ in range(120)], type=pa.string())
    rows = pa.table({"u": units, "s": texts, "declared": [i % 3 == 0 for i in range(120)]})
    domain = TableDomain("t", (BooleanDomain("declared"), TextDomain("s")), unit="u", max_rows_per_unit=2)
    engines = (MemoryEngine(policy_of(domain), {"t": rows}), DuckDbEngine(load({"t": rows}), policy_of(domain)))
    keys = tuple((text,) for text in (*ODD_TEXTS[:8], None))
    one, other = (e.keyed_counts("t", ("s",), keys, ("declared",)).reveal().tolist() for e in engines)
    assert one == other and sum(map(sum, one)) <= 12


def test_units_are_told_apart_by_their_bytes() -> None:
    """A collation must not join what the digest tells apart: one unit's rows would decide about another's."""
    domain = TableDomain("t", (BooleanDomain("declared"),), unit="u", max_rows_per_unit=1)
    counts = {}
    for rule in (1, 2):
        with duckdb.connect() as con:
            con.execute("CREATE TABLE t (u VARCHAR COLLATE NOCASE, declared BOOLEAN)").fetchall()
            con.execute("INSERT INTO t VALUES ('ann', true), ('ANN', true), ('Ann', false)").fetchall()
            engine = DuckDbEngine(con, policy_of(domain), Rules(unit_rows=rule))
            counts[rule] = int(engine.contingency("t", ()).reveal())
    assert counts == {1: 1, 2: 3}


def test_texts_of_values_are_frozen() -> None:
    values = (
        None,
        True,
        -12,
        Decimal("-0.050"),
        Decimal("1E+3"),
        -0.0,
        date(9, 8, 7),
        datetime.fromisoformat("1969-12-31"),
        time(1, 2),
    )
    texts = [field(v) for v in (*values, b"\x00\xff", UUID(int=1), "a\0b", float("nan"))]
    assert texts == [
        ",",
        "true,",
        "-12,",
        "-0.05,",
        "1000,",
        "9223372036854775808,",
        "0009-08-07,",
        "-86400000000,",
        "3720000000,",
        "4:00FF",
        "36:00000000-0000-0000-0000-000000000001",
        "3:a\0b",
        "nan,",
    ]
    rows = [[1, "x"], [None, "Žába"]]
    assert content_of(["A", "b"], rows) == "2:8d7a846eed3cc472725c2ce0caa03126368aa92856126bb2567850045de4dc9e"
