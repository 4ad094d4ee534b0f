"""Sessions on Spark: one ledger with a copy of the rows, one state of the files, and no sentence that a row fails."""

import math
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpsql
from dpsql.domain import DateDomain, IntegerDomain, NumberDomain, TableDomain, TextDomain
from dpsql.engine import MemoryEngine
from dpsql.engine.spark import SparkDatabase
from dpsql.engine.sql import SqlEngine
from dpsql.errors import EngineError, LedgerError
from tests.contracts.engine_contract import policy_of
from tests.support.spark import load_parquet, spark_session

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
POLICY = """\
version = 1
privacy = { epsilon = 1.0, delta = 1e-6 }
[tables.people]
unit = "id"
max_rows_per_unit = 2
[tables.people.columns]
age = { type = "integer", min = 0, max = 9 }
name = { type = "text" }
[public]
tables = ["towns"]
"""
PEOPLE = pa.table(
    {
        "id": [i // 3 for i in range(3000)],
        "age": [i % 10 for i in range(3000)],
        "name": [f"n{i % 3}" for i in range(3000)],
    }
)
TOWNS = pa.table({"id": [1], "name": ["Brno"], "price": [Decimal("2.50")]})
ASKED = "SELECT name, count(*) AS n FROM people WHERE age < 5 GROUP BY name ORDER BY name"


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with spark_session(tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture
def folder(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "p.dpsql.toml").write_text(POLICY)
    load_parquet(spark, tmp_path, {"people": PEOPLE, "towns": TOWNS})
    return tmp_path


def part(folder: Path) -> Path:
    return next(folder.glob("s*/people/part.parquet"))


def test_one_ledger_for_spark_and_for_a_file_of_the_same_rows(spark: Any, folder: Path) -> None:
    with dpsql.connect(spark, "p.dpsql.toml", "p.ledger") as con:
        found, spent = con.execute(ASKED).fetchall(), con.budget.spent_epsilon
        assert [row[0] for row in found[:3]] == ["n0", "n1", "n2"] and spent > 0
        assert con.execute("SELECT price FROM towns").fetchall() == [(Decimal("2.50"),)]
    with duckdb.connect("copy.duckdb") as made:
        for name in ("people", "towns"):
            made.execute(f"CREATE TABLE {name} AS FROM '{part(folder).parent.parent / name}/*.parquet'")
    with dpsql.connect("copy.duckdb", "p.dpsql.toml", "p.ledger") as con:
        assert con.execute(ASKED).fetchall() == found and con.budget.spent_epsilon == spent
    with pytest.raises(LedgerError, match="already ha"):
        dpsql.connect("copy.duckdb", "p.dpsql.toml", "other.ledger")
    with dpsql.connect(spark, "p.dpsql.toml", "p.ledger") as con:
        assert con.execute(ASKED).fetchall() == found and con.budget.spent_epsilon == spent
    assert spark.sql("SELECT 1").collect()  # the owner's session goes on


def test_files_that_change_end_a_session_and_a_ledger(spark: Any, folder: Path) -> None:
    con = dpsql.connect(spark, "p.dpsql.toml", "p.ledger")
    con.execute("SELECT count(*) FROM people WHERE age < 5")
    pq.write_table(PEOPLE.slice(0, 10), part(folder).with_name("more.parquet"))
    with pytest.raises(EngineError, match="others than at opening"):
        con.execute("SELECT name, count(*) AS n FROM people GROUP BY name")
    con.close()
    with pytest.raises(LedgerError, match="other data"):
        dpsql.connect(spark, "p.dpsql.toml", "p.ledger")


VIEW = "VIEW people AS SELECT 1 AS id, 2 AS age, 'x' AS name"
CSV = "TABLE people (id INT, age INT, name STRING) USING csv"


@pytest.mark.parametrize("made", [VIEW, CSV])
def test_a_table_without_a_state_is_refused(spark: Any, folder: Path, made: str) -> None:
    spark.sql("DROP TABLE people")
    spark.sql(f"CREATE {made}")
    with pytest.raises(EngineError, match="no state of it can be held") as caught:
        dpsql.connect(spark, "p.dpsql.toml", "p.ledger")
    assert "dpsql.extract" in str(caught.value.hint)
    assert not (folder / "p.ledger").exists()


def test_a_temporary_view_does_not_take_a_tables_place(spark: Any, folder: Path) -> None:
    engine = SqlEngine(SparkDatabase(spark), dpsql.load_policy("p.dpsql.toml"))
    spark.sql("CREATE TEMP VIEW people AS SELECT 1 AS id, 1 AS age, 'x' AS name")
    try:
        assert int(engine.contingency("people", ()).reveal()) == 2000
        with pytest.raises(EngineError, match="no state of it can be held"):
            dpsql.connect(spark, "p.dpsql.toml", "p.ledger")
    finally:
        spark.sql("DROP VIEW people")


def test_another_time_zone_is_refused_at_opening_and_later(spark: Any, folder: Path) -> None:
    engine = SqlEngine(SparkDatabase(spark), dpsql.load_policy("p.dpsql.toml"))
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        for refused in (lambda: engine.contingency("people", ()), lambda: SparkDatabase(spark)):
            with pytest.raises(EngineError, match="not UTC"):
                refused()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


STRANGE = TableDomain(
    "strange",
    (
        NumberDomain("n", (0.0, 1e-300, 0.5, 9.0)),
        NumberDomain("f", (0.0, 1e-300, 0.5, 9.0)),
        IntegerDomain("i", 0, 9),
        IntegerDomain("j", 0, 9),
        DateDomain("d", date(2020, 1, 1), date(2020, 12, 31), "month"),
        DateDomain("z", date(2020, 1, 1), date(2020, 12, 31), "week"),
        TextDomain("s"),
    ),
    unit="u",
    max_rows_per_unit=1,
)

NUMERICS = (None, "-99999999999999999999999999.999999999999", "0.000000000001", "8.999999999999", "0.25", "9", "0")
FLOATS = (math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0)
DAYS = (
    date(1, 1, 1),
    date(1582, 10, 4),
    date(9999, 12, 31),
    date(2020, 2, 29),
    date(2020, 12, 31),
    None,
    date(2020, 1, 1),
)
MOMENTS = [d and datetime(d.year, d.month, d.day, 23, 59, 59, 999999, UTC) for d in DAYS]
LINES = pa.table(
    {
        "n": pa.array([n and Decimal(n) for n in NUMERICS], pa.decimal128(38, 12)),
        "f": FLOATS,
        "i": pa.array([n and Decimal(n) for n in NUMERICS], pa.decimal128(38, 12)),
        "j": FLOATS,
        "d": pa.array(DAYS, pa.date32()),
        "z": pa.array(MOMENTS, pa.timestamp("us", "UTC")),
        "s": ["", "'", "\\", '"', "\0", "ß,x", None],
        "u": FLOATS,
        "b": pa.array([b"", b"\xff", None, b"a", b"b", b"c", b"d"], pa.binary()),
    }
)


@pytest.mark.parametrize(("ansi", "codegen"), [("true", "FALLBACK"), ("false", "NO_CODEGEN")])
def test_no_row_makes_a_question_fail(spark: Any, tmp_path: Path, ansi: str, codegen: str) -> None:
    """An error would tell of the row; checked against the twin in Python."""
    load_parquet(spark, tmp_path, {"strange": LINES})
    settings = {"spark.sql.ansi.enabled": ansi, "spark.sql.codegen.factoryMode": codegen}
    before = {key: spark.conf.get(key, None) for key in settings}
    try:
        for key, value in settings.items():
            spark.conf.set(key, value)
        policy = policy_of(STRANGE)
        engine, twin = SqlEngine(SparkDatabase(spark), policy), MemoryEngine(policy, {"strange": LINES})
        for scope in (("n", "f"), ("i", "j"), ("d", "z")):
            assert (engine.contingency("strange", scope).reveal() == twin.contingency("strange", scope).reveal()).all()
        for number in ("n", "f"):
            for asked in ("sums", "positions"):
                one, other = (
                    e.sums("strange", number, ()) if asked == "sums" else e.positions("strange", number)
                    for e in (engine, twin)
                )
                assert one.reveal().tolist() == other.reveal().tolist(), (number, asked)
        keys = tuple((s,) for s in LINES.column("s").to_pylist())
        one, other = (e.keyed_counts("strange", ("s",), keys, ()).reveal().tolist() for e in (engine, twin))
        assert one == other
        assert engine.fingerprint() == twin.fingerprint()
        assert engine.out_of_domain("strange") == twin.out_of_domain("strange")
        assert engine.row_tally("strange") == twin.row_tally("strange")
    finally:
        for key, value in before.items():
            spark.conf.unset(key) if value is None else spark.conf.set(key, value)
