"""A standalone Spark cluster of a master and two workers counts as the local engine does, in the local one's ledger."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import dpsql
from dpsql.engine import MemoryEngine
from dpsql.engine.spark import SparkDatabase
from dpsql.engine.sql import SqlEngine
from tests.contracts.engine_contract import policy_of
from tests.contracts.test_engines import check_agreement, some_table
from tests.support.spark import load_parquet, spark_session

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
WORKERS = 2
POLICY = """version = 1
privacy = { epsilon = 1.0, delta = 1e-6 }
[tables.people]
unit = "id"
max_rows_per_unit = 2
[tables.people.columns]
age = { type = "integer", min = 0, max = 9 }
name = { type = "text" }
"""
PEOPLE = pa.table(
    {
        "id": [i // 3 for i in range(6000)],
        "age": [i % 10 for i in range(6000)],
        "name": [f"n{i % 3}" for i in range(6000)],
    }
)


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, Path]]:
    """The address of a new master with two workers of one core each, and the folder of the workers' logs."""
    pyspark = pytest.importorskip("pyspark", reason="pip install 'dpsql[spark]'")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java: no java on the PATH")
    home = Path(pyspark.__file__).parent
    environment = os.environ | {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    running: list[subprocess.Popen[bytes]] = []

    def start(name: str, *words: str) -> Path:
        log = folder / f"{name}.log"
        program = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{words[0]}", *words[1:]]
        with log.open("wb") as out:
            running.append(subprocess.Popen(program, stdout=out, stderr=out, env=environment, cwd=folder))
        return log

    def said(log: Path, pattern: str) -> str:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            found = re.search(pattern, log.read_text(errors="replace"))
            if found is not None:
                return found[0]
            time.sleep(0.2)
        raise AssertionError(log.read_text(errors="replace")[-2000:])

    here = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    try:
        master = said(start("master", "master.Master", *here), r"spark://127\.0\.0\.1:\d+")
        for i in range(WORKERS):
            work = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work{i}"))
            said(start(f"worker{i}", "worker.Worker", *here, *work, master), "Successfully registered")
        yield master, folder
    finally:
        for process in reversed(running):
            process.terminate()
        for process in running:
            process.wait(30)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("cluster")
    with cluster(folder) as (master, logs), spark_session(folder, master=master) as session:
        yield session
        ran = [any((logs / f"work{i}").glob("app-*/*/stderr")) for i in range(WORKERS)]
        assert ran == [True] * WORKERS  # each worker had an executor of its own


@pytest.mark.parametrize("seed", range(2))
def test_engines_agree_on_random_tables(spark: Any, tmp_path: Path, seed: int) -> None:
    random = Random(3000 + seed)  # noqa: S311 - draws test tables
    table, data = some_table(random)
    policy = policy_of(table)
    load_parquet(spark, tmp_path, {"t": data})
    check_agreement(random, table, [MemoryEngine(policy, {"t": data}), SqlEngine(SparkDatabase(spark), policy)])


def test_one_ledger_for_the_cluster_and_for_a_file(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    Path("p.dpsql.toml").write_text(POLICY)
    load_parquet(spark, tmp_path, {"people": PEOPLE})
    asked = "SELECT name, count(*) AS n FROM people WHERE age < 5 GROUP BY name ORDER BY name"
    with dpsql.connect(spark, "p.dpsql.toml", "p.ledger") as con:
        found, spent = con.execute(asked).fetchall(), con.budget.spent_epsilon
    assert [row[0] for row in found[:3]] == ["n0", "n1", "n2"] and spent > 0
    with duckdb.connect("copy.duckdb") as made:
        made.register("rows", PEOPLE)
        made.execute("CREATE TABLE people AS FROM rows")
    with dpsql.connect("copy.duckdb", "p.dpsql.toml", "p.ledger") as con:
        assert con.execute(asked).fetchall() == found and con.budget.spent_epsilon == spent
