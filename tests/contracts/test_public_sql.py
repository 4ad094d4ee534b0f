"""The locked DuckDB keeps the contract; its caches and threads."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing

import pyarrow as pa
import pytest

from dpsql.errors import InterfaceError, ProgrammingError, UnsupportedQuery
from dpsql.public import DuckDbPublicSql, locked_duckdb
from dpsql.sql.public_sql import GridColumn, PublicSql
from tests.contracts.public_sql_contract import AGE, PublicSqlContract, public_table


class TestDuckDbPublicSql(PublicSqlContract):
    @pytest.fixture
    def sql(self) -> Iterator[PublicSql]:
        with closing(self.build(public_table, 0.4)) as sql:
            yield sql

    def build(self, public_table: Callable[[str], pa.Table], seconds: float) -> DuckDbPublicSql:
        return DuckDbPublicSql(public_table, seconds=seconds)


def test_domain_tables_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locked_duckdb, "GRID_TABLES", 3)
    sql = DuckDbPublicSql(public_table)
    for turn in range(10):
        columns = [GridColumn(f"c{turn + i}", "BIGINT", (1, 2)) for i in range(5)]
        assert sql.truth(columns, [f"c{turn} = 1"])[0].sum() == 16
    assert sql.run("SELECT count(*) AS n FROM duckdb_tables()", {}).to_pydict() == {"n": [3]}


def test_predicates_are_asked_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locked_duckdb, "BATCH_CELLS", 9)
    found = DuckDbPublicSql(public_table).truth([AGE], [f"age = {17 + i}" for i in range(5)])
    assert [w.tolist() for w in found] == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0] * 4, [0] * 4]


def test_too_much_memory() -> None:
    sql = DuckDbPublicSql(public_table, memory=400 << 20, seconds=20)
    with pytest.raises(UnsupportedQuery, match="memory"):
        sql.run("SELECT list(a.n) FROM t a, t b", {"t": pa.table({"n": range(6000)})})
    assert sql.truth([AGE], ["age = 17"])[0].sum() == 1


def test_types_that_cannot_be_compared_are_refused_with_the_cast_to_write() -> None:
    with pytest.raises(ProgrammingError, match="cast is required") as refused:
        DuckDbPublicSql(public_table).truth([AGE], ["age < 30 AND DATE '2020-01-01' < TIME '10:00:00'"])
    assert "CAST(x AS VARCHAR)" in refused.value.hint


def test_closed() -> None:
    sql = DuckDbPublicSql(public_table)
    sql.close()
    sql.close()
    with pytest.raises(InterfaceError):
        sql.truth([AGE], ["age = 17"])


def test_threads_share_one_connection() -> None:
    sql = DuckDbPublicSql(public_table)
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for i in range(20):
                column = GridColumn(f"c{number % 3}", "BIGINT", (i, number))
                assert sql.truth([column], [f"c{number % 3} = {number}"])[0].tolist() == [int(i == number), 1]
                text = "SELECT sum(n) AS s FROM released"
                assert sql.run(text, {"released": pa.table({"n": [number, i]})}).to_pydict() == {"s": [number + i]}
        except BaseException as e:  # noqa: BLE001 - a thread hands its failure to the test
            failures.append(e)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
