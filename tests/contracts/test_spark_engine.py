"""The engine on SQL databases keeps the contract on Spark, with ANSI and without, and counts as the local one does."""

import warnings
from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dpsql.domain import DateDomain, IntegerDomain, NumberDomain, TableDomain
from dpsql.engine import MemoryEngine
from dpsql.engine.protocol import OwnersEngine
from dpsql.engine.spark import SparkDatabase
from dpsql.engine.sql import SqlEngine
from dpsql.policy import Policy
from tests.contracts.distinct_contract import DistinctContract
from tests.contracts.engine_contract import EngineContract, policy_of
from tests.contracts.test_engines import check_agreement, some_table
from tests.contracts.text_engine_contract import TextEngineContract
from tests.support.spark import load_parquet, spark_session

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with spark_session(tmp_path_factory.mktemp("spark")) as session:
            yield session


class TestSpark(EngineContract, TextEngineContract, DistinctContract):
    @pytest.fixture(autouse=True)
    def _session(self, spark: Any, tmp_path: Path) -> None:
        self.spark, self.folder = spark, tmp_path

    def engine(self, policy: Policy, tables: Mapping[str, pa.Table]) -> OwnersEngine:
        load_parquet(self.spark, self.folder, tables)
        return SqlEngine(SparkDatabase(self.spark), policy)

    def over_a_view(self, policy: Policy, tables: Mapping[str, pa.Table]) -> OwnersEngine:
        pytest.skip("no view of Spark's is counted in: tests/interface/test_spark.py")


@pytest.mark.parametrize("seed", range(6))
def test_engines_agree_on_random_tables(spark: Any, tmp_path: Path, seed: int) -> None:
    random = Random(2000 + seed)  # noqa: S311 - draws test tables
    table, data = some_table(random)
    policy = policy_of(table)
    load_parquet(spark, tmp_path, {"t": data})
    spark.conf.set("spark.sql.ansi.enabled", str(seed % 2 == 0).lower())
    try:
        check_agreement(random, table, [MemoryEngine(policy, {"t": data}), SqlEngine(SparkDatabase(spark), policy)])
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_hours_and_minutes_are_counted_alike(spark: Any, tmp_path: Path, ansi: str) -> None:
    first = datetime(1969, 12, 31, 22, 30)  # noqa: DTZ001
    last = first + timedelta(hours=3)
    table = TableDomain("t", (DateDomain("h", first, last, "hour"), DateDomain("m", first, last, "minute")))
    places = [first + timedelta(minutes=m, microseconds=u) for m in range(-40, 260, 10) for u in (-1, 0, 1)]
    held = [None, datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999), *places]  # noqa: DTZ001
    data = pa.table({"h": pa.array(held, pa.timestamp("us")), "m": pa.array(held, pa.timestamp("us", "UTC"))})
    policy = policy_of(table)
    load_parquet(spark, tmp_path, {"t": data})
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        engines = [MemoryEngine(policy, {"t": data}), SqlEngine(SparkDatabase(spark), policy)]
        for scope in (("h",), ("m",), ("h", "m")):
            memory, cluster = (e.contingency("t", scope).reveal().tolist() for e in engines)
            assert memory == cluster
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def whole(bits: int, kind: pa.DataType) -> pa.Array:
    """The first and the last value of a type that is kept as whole numbers."""
    ends = np.iinfo(f"int{bits}")
    return pa.array(np.array([ends.min, ends.max], dtype=f"int{bits}")).view(kind)


NUMBERS = (IntegerDomain("x", -5, 5), NumberDomain("x", (-1.7e308, -1.0, 0.0, 1e-320, 1.7e308)))
DAYS = (DateDomain("x", date(1, 1, 1), date(9999, 12, 31), "year"),)
HOURS = (DateDomain("x", datetime(2020, 1, 1), datetime(2020, 1, 2), "hour"),)  # noqa: DTZ001
DIGITS = "9" * 28 + "." + "9" * 10
ENDS = {
    "bigint": (whole(64, pa.int64()), NUMBERS),
    "decimal": (pa.array([Decimal(f"-{DIGITS}"), Decimal(DIGITS)], pa.decimal128(38, 10)), NUMBERS),
    "double": (pa.array([-1.7976931348623157e308, 5e-324, float("nan"), float("inf"), -float("inf")]), NUMBERS),
    "date": (whole(32, pa.date32()), DAYS),
    "timestamp_ntz": (whole(64, pa.timestamp("us")), (*DAYS, *HOURS)),
    "timestamp": (whole(64, pa.timestamp("us", "UTC")), (*DAYS, *HOURS)),
}


@pytest.mark.parametrize("kind", ENDS)
def test_ends_of_a_type_are_read_wherever_they_stand(spark: Any, tmp_path: Path, kind: str) -> None:
    """An error would tell of the row that has one: in a column that nobody declared, one that is declared, the unit."""
    values, domains = ENDS[kind]
    rows, other = len(values), IntegerDomain("a", 0, 9)
    load_parquet(spark, tmp_path, {"t": pa.table({"a": list(range(rows)), "x": values})})
    for columns in [(), *((domain,) for domain in domains)]:
        for unit in (None, "x"):
            table = TableDomain("t", (other, *columns), unit=unit, max_rows_per_unit=2 if unit else 1)
            engine = SqlEngine(SparkDatabase(spark), policy_of(table))
            assert engine.fingerprint() and engine.out_of_domain("t")
            tally, scope = engine.row_tally("t"), ("a", *(c.name for c in columns))
            assert (tally.counted, tally.units) == (rows, rows if unit else 0)
            assert int(engine.contingency("t", scope).reveal().sum()) == rows
            for column in (c for c in columns if isinstance(c, NumberDomain)):
                assert int(engine.sums("t", column.name, ()).reveal()) >= 0
                assert int(engine.positions("t", column.name).reveal().min()) >= 0
