"""Every engine keeps the contract, and all give the same counts on random tables of every column type."""

import struct
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import get_args

import duckdb
import numpy as np
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
from dpsql.engine import MemoryEngine, Rules
from dpsql.engine.duckdb import DuckDbEngine, text_index
from dpsql.engine.duckdb.reader import Reader
from dpsql.engine.protocol import OwnersEngine
from dpsql.policy import Policy
from tests.contracts.distinct_contract import DistinctContract
from tests.contracts.engine_contract import EngineContract, policy_of
from tests.contracts.text_engine_contract import TextEngineContract


def load(tables: Mapping[str, pa.Table], settings: Sequence[str] = ()) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    for setting in settings:
        con.execute(f"SET {setting}").fetchall()
    for name, table in tables.items():
        con.register("incoming", table)
        con.execute(f'CREATE TABLE "{name}" AS SELECT * FROM incoming').fetchall()
        con.unregister("incoming")
    return con


class TestMemoryEngine(EngineContract, TextEngineContract, DistinctContract):
    def engine(self, policy: Policy, tables: Mapping[str, pa.Table]) -> OwnersEngine:
        return MemoryEngine(policy, tables)

    def over_a_view(self, policy: Policy, tables: Mapping[str, pa.Table]) -> OwnersEngine:
        return MemoryEngine(policy, tables, views=tuple(tables))


class TestDuckDbEngine(EngineContract, TextEngineContract, DistinctContract):
    settings: tuple[str, ...] = ()

    def engine(self, policy: Policy, tables: Mapping[str, pa.Table]) -> OwnersEngine:
        return DuckDbEngine(load(tables, self.settings), policy)

    def over_a_view(self, policy: Policy, tables: Mapping[str, pa.Table]) -> OwnersEngine:
        con = load({f"{name}_behind": table for name, table in tables.items()}, self.settings)
        for name in tables:
            con.execute(f'CREATE VIEW "{name}" AS SELECT * FROM "{name}_behind"').fetchall()
        return DuckDbEngine(con, policy)


class TestDuckDbEngineOnAnOwnersSettings(TestDuckDbEngine):
    """A connection that is handed over may read statements otherwise than a new one does."""

    settings = (
        "default_order = 'desc'",
        "default_null_order = 'nulls_first'",
        "default_collation = 'NOCASE'",
        "TimeZone = 'Asia/Kolkata'",
        "integer_division = true",
        "preserve_insertion_order = false",
        "threads = 1",
    )

    def test_the_current_schema_goes_first(self) -> None:
        con = load({"t": pa.table({"a": [1, 2]})}, self.settings)
        con.execute("CREATE SCHEMA z; CREATE TABLE z.t AS SELECT 1 AS a").fetchall()
        table = TableDomain("t", (IntegerDomain("a", 0, 9),))
        assert int(DuckDbEngine(con, policy_of(table)).contingency("t", ()).reveal()) == 2


class TestDuckDbEngineWithManyStrings(TestDuckDbEngine):
    """Strings stay in DuckDB however few they are."""

    @pytest.fixture(autouse=True)
    def held_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(text_index, "FEW", -1)

    def test_rare_strings_are_counted_and_read_by_their_places(self) -> None:
        rows = pa.table({"w": ["b", "é", "a", "é", "c", "c", "d", "d", "d", None], "x": [True] * 10})
        table = TableDomain("t", (TextDomain("w", (1,)), BooleanDomain("x")))
        found = self.engine(policy_of(table), {"t": rows}).key_counts("t", "w", 3).reveal()
        assert (found.keys, found.counts.tolist(), found.fewer.tolist()) == (("d",), [3], [0, 2, 2])
        assert found.number == 5  # NULL is no string
        assert not found.fewer.flags.writeable
        assert set(found.named({1: [1], 2: [0, 1]})) == {"b", "c", "é"}  # in the order of bytes, from 0
        assert found.named({1: [0]}) == ("a",)

    def test_strings_are_looked_up_once_whether_they_occur_or_not(self, monkeypatch: pytest.MonkeyPatch) -> None:
        table = TableDomain("t", (TextDomain("w"), TextDomain("v")))
        engine = self.engine(policy_of(table), {"t": pa.table({"w": ["a", "a", None], "v": ["x", None, None]})})
        asked: list[str] = []
        rows = Reader.rows
        monkeypatch.setattr(Reader, "rows", lambda self, what, *rest: (asked.append(what), rows(self, what, *rest))[1])
        for _ in range(2):
            keys = (("a",), ("b",), (None,), ("a",), ("\ud800",))
            assert engine.keyed_counts("t", ("w",), keys, ()).reveal().tolist() == [2, 0, 1, 2, 0]
            pairs = (("a", None), ("a", "x"), (None, None), (None, "x"))
            assert engine.keyed_counts("t", ("w", "v"), pairs, ()).reveal().tolist() == [1, 1, 1, 0]
        assert asked.count("looking strings of t up") == 2


def some_float(random: Random) -> float:
    return random.choice(
        [
            *(
                random.uniform(-2, 12),
                random.randrange(-1, 12),
                random.randrange(0, 40) / 4,
                random.randrange(100) * 0.1,
            ),
            *(float("nan"), float("inf"), -0.0, struct.unpack("<d", random.randbytes(8))[0]),
        ]
    )


def some_day(random: Random) -> date:
    return random.choice([date(2018, 11, 1) + timedelta(days=random.randrange(900)), date.min, date.max])


def edges(random: Random) -> tuple[float, ...]:
    regular = tuple(0.1 * i for i in range(random.randrange(2, 101)))
    few = tuple(sorted({round(random.uniform(0, 10), 1) for _ in range(random.randrange(3, 20))} | {0.0, 10.5}))
    many = tuple(sorted({random.uniform(0, 1) ** 4 * 10 for _ in range(100)}))
    return random.choice([regular, few, many])


def columns(random: Random) -> list[tuple[FiniteDomain, pa.DataType, object]]:
    """A domain, an Arrow type and a way to draw a value, for every type that DuckDB stores a declared column in."""
    integer = IntegerDomain("i", -2, 9)
    number = NumberDomain("n", edges(random))
    category = CategoryDomain("c", ("a", "A", "", "b b", "1", "true", "nul\0", "Ä"))
    day = DateDomain(
        "d", date(2019, 2, 3), date(2020, 5, 6), random.choice(["day", "week", "month", "quarter", "year"])
    )

    def whole(low: int, high: int) -> object:
        return lambda: random.choice([random.randrange(max(low, -4), 12), low, high - 1])

    def moment() -> datetime:
        return datetime.combine(some_day(random), datetime.min.time()) + timedelta(seconds=random.randrange(86400))

    decimal = Decimal("0.01")
    return [
        (integer, pa.int8(), whole(-128, 128)),
        (integer, pa.int64(), whole(-(2**63), 2**63)),
        (integer, pa.uint64(), whole(0, 2**64)),
        (integer, pa.float64(), lambda: some_float(random)),
        (integer, pa.decimal128(5, 2), lambda: random.randrange(-300, 1200) * decimal),
        (integer, pa.decimal128(38, 2), lambda: random.choice([random.randrange(12), 10**35]) + decimal * 0),
        (number, pa.float64(), lambda: some_float(random)),
        (number, pa.float32(), lambda: float(np.float32(random.uniform(-1, 12)))),
        (number, pa.int32(), whole(-(2**31), 2**31)),
        (number, pa.decimal128(5, 2), lambda: random.randrange(-100, 1200) * decimal),
        (category, pa.string(), lambda: random.choice([*category.values, "z", "A ", "ä"])),
        (category, pa.dictionary(pa.int8(), pa.string()), lambda: random.choice([*category.values[:6], "z"])),
        (category, pa.int16(), lambda: random.randrange(3)),
        (category, pa.bool_(), lambda: random.random() < 0.5),
        (BooleanDomain("b"), pa.bool_(), lambda: random.random() < 0.5),
        (day, pa.date32(), lambda: some_day(random)),
        (day, pa.timestamp("us"), moment),
        (day, pa.timestamp("s"), moment),
        (day, pa.timestamp("us", tz="UTC"), lambda: moment().replace(tzinfo=UTC)),
    ]


def test_random_tables_have_every_kind_of_column() -> None:
    drawn = {type(domain) for domain, _, _ in columns(Random(0))}  # noqa: S311 - draws test tables
    assert drawn == set(get_args(FiniteDomain))


def some_table(random: Random) -> tuple[TableDomain, pa.Table]:
    """A table of eight finite columns and two of text, with or without a unit, and its rows."""
    domains: list[FiniteDomain | TextDomain] = []
    data: dict[str, pa.Array] = {}
    rows = random.randrange(1, 60)
    nulls = random.choice([0.0, 0.2])
    for i, (domain, kind, draw) in enumerate(random.sample(columns(random), 8)):
        name = f"{domain.name}{i}"
        nullable = random.random() < 0.8
        fields = {f: getattr(domain, f) for f in ("low", "high", "edges", "values", "unit") if hasattr(domain, f)}
        if not isinstance(domain, CategoryDomain):
            fields.pop("values", None)
        domains.append(type(domain)(name, **fields, nullable=nullable))
        values = [None if random.random() < nulls else draw() for _ in range(rows)]  # type: ignore[operator]
        data[name] = pa.array(values, type=kind.value_type if pa.types.is_dictionary(kind) else kind)
        if pa.types.is_dictionary(kind):
            data[name] = data[name].dictionary_encode()
    for name in ("t1", "t2"):
        domains.append(TextDomain(name, (1,)))
        data[name] = pa.array([random.choice(["x", "xy", "X", "", "y", None]) for _ in range(rows)], type=pa.string())
    unit = random.choice([None, "u"])
    owners, owner_type = random.choice([([1, 2, 3, None], pa.int32()), (["a", "b:c", "", None], pa.string())])
    data["u"] = pa.array([random.choice(owners) for _ in range(rows)], type=owner_type)
    table = TableDomain("t", tuple(domains), unit=unit, max_rows_per_unit=random.randrange(1, 4) if unit else 1)
    return table, pa.table(data)


def check_agreement(random: Random, table: TableDomain, engines: Sequence[OwnersEngine]) -> None:
    """Two engines over the same rows give the same counts, strings, fingerprints and tallies."""
    names = [c.name for c in table.finite]
    for _ in range(12):
        scope = tuple(random.sample(names, random.randrange(0, 3)))
        one, other = (e.contingency("t", scope).reveal() for e in engines)
        assert one.tolist() == other.tolist(), scope
        texts = random.choice([("t1",), ("t2",), ("t1", "t2"), ("t2", "t1"), ("t1[:1]", "t2")])
        keys = tuple(tuple(random.choice(["x", "X", "", None, "none"]) for _ in texts) for _ in range(5))
        one, other = (e.keyed_counts("t", texts, keys, scope).reveal() for e in engines)
        assert one.tolist() == other.tolist(), (texts, scope)
        strings, others = (e.key_counts("t", texts[0]).reveal() for e in engines)
        assert (strings.keys, strings.counts.tolist()) == (others.keys, others.counts.tolist())
    assert len({e.fingerprint() for e in engines}) == len({e.table_fingerprints() for e in engines}) == 1
    assert engines[0].out_of_domain("t") == engines[1].out_of_domain("t")
    tally = engines[0].row_tally("t")
    assert tally == engines[1].row_tally("t")
    assert tally.counted == int(engines[0].contingency("t", ()).reveal())


@pytest.mark.parametrize("seed", range(12))
def test_engines_agree_on_random_tables(seed: int) -> None:
    random = Random(seed)  # noqa: S311 - draws test tables
    table, data = some_table(random)
    policy, rules = policy_of(table), Rules(unit_rows=1 + seed % 2)
    check_agreement(
        random,
        table,
        [MemoryEngine(policy, {"t": data}, rules=rules), DuckDbEngine(load({"t": data}), policy, rules)],
    )
