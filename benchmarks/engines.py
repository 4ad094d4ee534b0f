"""The same session on each engine: ``python -m benchmarks.engines [--rows 1000000] [--spark] [--table NAME]``.

Adult with 14 columns, pets with a text column, and generated rows of four columns: in a DuckDB file, in a PostgreSQL
server that the benchmark starts itself, with ``--spark`` in Spark on two threads, as Parquet files. Wall seconds, since
the work is another process's; each engine has a ledger of its own, and begins with nothing known. ``statements``: a
hundred questions of the ad-hoc workload. ``next session`` connects again and asks one question that was not asked.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import click
import duckdb

import dpsql
from benchmarks.connect import SETTLED
from benchmarks.report import show
from benchmarks.tables import BenchmarkTable, adult14
from benchmarks.text_tables import pets
from benchmarks.workload import Column, questions
from dpsql.domain import IntegerDomain, TableDomain

SIZES = {"a": 3, "b": 101, "c": 21, "d": 21}
FILES = 8
Source = Callable[[], Any]
"""What ``dpsql.connect`` is given."""


def generated(rows: int) -> Callable[[Path], BenchmarkTable]:
    def build(folder: Path) -> BenchmarkTable:
        path = folder / "grown.duckdb"
        with duckdb.connect(str(path)) as con:
            values = ", ".join(f"(hash(i, {k}) % {n})::INTEGER AS {c}" for k, (c, n) in enumerate(SIZES.items()))
            con.execute(f"CREATE TABLE grown AS SELECT {values} FROM range({rows}) r(i)")
        columns = tuple(IntegerDomain(c, 0, n - 1, nullable=False) for c, n in SIZES.items())
        asked = tuple(Column(c, tuple(range(n)), ordered=True) for c, n in SIZES.items())
        return BenchmarkTable(path, TableDomain("grown", columns), asked)

    return build


def statements(table: BenchmarkTable) -> list[str]:
    return [q.sql for q in questions(table.domain.name, table.columns, 101, seed=1, text=table.text)]


@contextmanager
def in_postgresql(table: BenchmarkTable) -> Iterator[Source]:
    from adbc_driver_postgresql import dbapi

    from tests.support.postgres import server

    with server() as uri:
        with dbapi.connect(uri) as con, con.cursor() as cursor, duckdb.connect(str(table.path), read_only=True) as own:
            name = table.domain.name
            cursor.adbc_ingest(name, own.sql(f"FROM {name}").to_arrow_reader())
            con.commit()
        yield lambda: uri


@contextmanager
def in_spark(table: BenchmarkTable) -> Iterator[Source]:
    from tests.support.spark import spark_session

    name, folder = table.domain.name, table.path.parent / "spark"
    place = folder / name
    place.mkdir(parents=True)
    with duckdb.connect(str(table.path), read_only=True) as own:
        for i in range(FILES):
            part = f"FROM {name} WHERE rowid % {FILES} = {i}"
            own.execute(f"COPY ({part}) TO '{place}/{i}.parquet'")
    with spark_session(folder, compiled=True) as session:
        session.sql(f"CREATE TABLE {name} USING parquet LOCATION '{place}'")
        yield lambda: session


@contextmanager
def in_duckdb(table: BenchmarkTable) -> Iterator[Source]:
    time.sleep(SETTLED)
    yield lambda: table.path


def session(table: BenchmarkTable, given: Source, ledger: Path) -> dict[str, object]:
    """Wall seconds of the parts of a session, and of the next one."""
    said: dict[str, object] = {}

    def timed(name: str, work: Callable[[], Any]) -> Any:
        begun = time.perf_counter()
        found = work()
        said[name] = time.perf_counter() - begun
        return found

    def connected() -> dpsql.Connection:
        return dpsql.connect(given(), policy=table.policy(strategy="auto"), ledger=str(ledger))

    def each(asked: list[str]) -> None:
        for statement in asked:
            con.execute(statement).fetchall()

    first, *others = statements(table)
    grouped = [c.name for c in sorted(table.columns, key=lambda c: len(c.values))[-2:]]
    with closing(timed("connect", connected)) as con:
        timed("first question", lambda: each([first]))
        timed("100 statements", lambda: each(others))
        crosstab = f"SELECT {', '.join(grouped)}, COUNT(*) FROM {table.domain.name} GROUP BY ALL"
        timed("crosstab", lambda: each([crosstab]))
    with closing(timed("next session: connect", connected)) as con:
        other = table.columns[0]
        condition = f"{other.name} IS NOT NULL AND {grouped[0]} IS NOT NULL"
        timed("a question", lambda: each([f"SELECT COUNT(*) FROM {table.domain.name} WHERE {condition}"]))
    return said


@click.command()
@click.option("--rows", default=1_000_000, show_default=True, help="Of the generated table.")
@click.option("--spark", is_flag=True, help="Spark too: pip install 'dpsql[spark]', and Java.")
@click.option("--table", "chosen", multiple=True, type=click.Choice(["adult14", "pets", "grown"]))
def main(rows: int, spark: bool, chosen: tuple[str, ...]) -> None:
    tables = {"adult14": adult14, "pets": pets, "grown": generated(rows)}
    engines = {"DuckDB": in_duckdb, "PostgreSQL": in_postgresql} | ({"Spark": in_spark} if spark else {})
    found: list[dict[str, object]] = []
    for table in chosen or tables:
        for engine, opened in engines.items():
            with ExitStack() as stack:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                os.environ["DPSQL_STATE_HOME"] = str(folder / "state")
                made = tables[table](folder)
                given = stack.enter_context(opened(made))
                found.append({"table": table, "engine": engine} | session(made, given, folder / "ledger"))
                print(found[-1], flush=True)
    show(f"Engines, wall seconds; grown has {rows:,} rows", found, "engines")


if __name__ == "__main__":
    main()
