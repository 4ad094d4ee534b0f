"""The engine on SQL databases keeps the contract on Spark, with ANSI and without, and counts as the local one does."""

import warnings
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from dpsql.domain import DateDomain, TableDomain
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
