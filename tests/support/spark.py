"""A Spark session of the tests' own on two threads; skipped with a reason where there is none."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

_SCHEMAS = count()


@contextmanager
def spark_session(folder: Path, *, master: str = "local[2]", compiled: bool = False) -> Iterator[Any]:
    """A session with an empty catalog, everything it writes below ``folder``.

    ``compiled``: queries become Java code, which for the small tables of tests takes longer than it saves.
    """
    sql = pytest.importorskip("pyspark.sql", reason="pip install 'dpsql[spark]'")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java: no java on the PATH")
    settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.log.level": "OFF",
    }
    if not compiled:
        settings |= {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    builder = sql.SparkSession.builder.master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def load_parquet(session: Any, folder: Path, tables: Mapping[str, pa.Table]) -> None:
    """These tables in a schema of their own, which becomes the current one."""
    schema = f"s{next(_SCHEMAS)}"
    session.sql(f"CREATE DATABASE {schema}")
    session.sql(f"USE {schema}")
    for name, table in tables.items():
        place = folder / schema / name
        place.mkdir(parents=True)
        pq.write_table(table, place / "part.parquet")
        session.sql(f"CREATE TABLE `{name}` USING parquet LOCATION '{place}'")
