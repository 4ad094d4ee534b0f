"""pandas, polars and Arrow read a statement with exactly one execution."""

import io
import json
import warnings
from decimal import Decimal

import duckdb
import pandas
import polars
import pyarrow as pa
import pytest
from pyarrow import parquet

from dpsql import Connection, InterfaceError, Result
from dpsql.dialect.types import written_column
from dpsql.interface.render.structured import render_csv, render_jsonl, render_parquet
from tests.support.fake_session import FakeSession

SQL = "SELECT g, COUNT(*) AS n FROM t GROUP BY g"
ROWS = {"g": ["g0", "g1", "g2"], "n": [10, 20, 30]}


def read_pandas(con: Connection, **options: object) -> pandas.DataFrame:
    with warnings.catch_warnings():
        # pandas says this of every connection but SQLAlchemy's and sqlite3's
        warnings.filterwarnings("ignore", message="pandas only supports SQLAlchemy", category=UserWarning)
        return pandas.read_sql(SQL, con, **options)


@pytest.mark.parametrize("params", [None, [30], {"age": 30}])
def test_pandas_read_sql(params: object) -> None:
    session = FakeSession()
    con = Connection(session)
    frame = read_pandas(con, params=params)
    assert frame.to_dict("list") == ROWS
    assert session.executed == [(SQL, params)] and not con.closed


def test_pandas_read_sql_in_chunks() -> None:
    session = FakeSession()
    chunks = list(read_pandas(Connection(session), chunksize=2))
    assert [len(c) for c in chunks] == [2, 1]
    assert len(session.executed) == 1


def test_polars_read_database() -> None:
    session = FakeSession()
    con = Connection(session)
    frame = polars.read_database(SQL, con)
    assert frame.to_dict(as_series=False) == ROWS
    assert frame.schema == {"g": polars.String(), "n": polars.Int64()}
    assert session.executed == [(SQL, None)] and not con.closed


def test_polars_passes_parameters_by_name() -> None:
    session = FakeSession()
    polars.read_database(SQL, Connection(session), execute_options={"parameters": [30]})
    assert session.executed == [(SQL, [30])]


def test_polars_reads_from_a_cursor_and_in_batches() -> None:
    session = FakeSession()
    cur = Connection(session).cursor()
    frames = list(polars.read_database(SQL, cur, iter_batches=True, batch_size=2))
    assert [len(f) for f in frames] == [2, 1]
    assert len(session.executed) == 1


def test_frames_hold_the_whole_result_after_a_partial_fetch() -> None:
    cur = Connection(FakeSession()).execute(SQL)
    cur.fetchone()
    assert cur.df().to_dict("list") == ROWS
    assert cur.pl().to_dict(as_series=False) == ROWS
    assert cur.to_arrow_table().to_pydict() == ROWS
    assert pa.table(cur).to_pydict() == ROWS
    assert polars.DataFrame(cur).to_dict(as_series=False) == ROWS
    assert cur.fetchone() == ("g1", 20)


@pytest.mark.parametrize(("package", "method"), [("pandas", "df"), ("polars", "pl")])
def test_a_missing_package_is_named(package: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, package, None)
    cur = Connection(FakeSession()).execute(SQL)
    with pytest.raises(InterfaceError, match=package) as caught:
        getattr(cur, method)()
    assert package in caught.value.hint and caught.value.__context__ is None


TYPED = duckdb.sql(
    "SELECT * FROM (VALUES (INTERVAL '14 months -1 day 90.5 seconds', DATE '2020-01-31', 1.50::DECIMAL(18, 4), "
    "5::HUGEINT), (NULL, NULL, NULL, NULL)) AS t(span, day, x, n)"
)


def typed() -> Result:
    return Result(TYPED.to_arrow_table(), ("INTERVAL", "DATE", "DECIMAL(18,4)", "DECIMAL(38,0)"), {})


def test_pandas_has_the_types_that_duckdb_gives_it() -> None:
    cursor = Connection(FakeSession(default=typed())).execute(SQL)
    pandas.testing.assert_frame_equal(cursor.df(), TYPED.df())
    fetched = TYPED.fetchall()
    assert cursor.fetchall() == [(*fetched[0][:3], Decimal(fetched[0][3])), fetched[1]]


def test_decimals_are_numbers_and_intervals_text_where_they_are_written() -> None:
    first = json.loads(render_jsonl(typed()).splitlines()[0])
    span = TYPED.project("span::VARCHAR").fetchall()[0][0]
    assert first == {"span": span, "day": "2020-01-31", "x": 1.5, "n": 5}
    assert render_csv(typed()).splitlines()[1] == f"{span},2020-01-31,1.5000,5"
    assert parquet.read_table(io.BytesIO(render_parquet(typed())))["span"].to_pylist() == [span, None]


@pytest.mark.parametrize(
    "span", ["1 year", "-14 months -3 days -1 second", "0 days", "90 seconds", "30 hours", "-1 day", "2 years 1 month"]
)
def test_intervals_are_written_as_duckdb_writes_them(span: str) -> None:
    found = duckdb.sql(f"SELECT INTERVAL '{span}' AS i, (INTERVAL '{span}')::VARCHAR AS t").to_arrow_table()
    assert written_column(found["i"]) == found["t"].to_pylist()


INTERVAL = pa.scalar((1, 2, 3), pa.month_day_nano_interval())


@pytest.mark.parametrize("table", [pa.table([[1], [2]], names=["n", "n"]), pa.table({"i": [INTERVAL]})])
def test_what_polars_cannot_hold_is_said(table: pa.Table) -> None:
    result = Result(table, ("BIGINT",) * table.num_columns, {})
    cursor = Connection(FakeSession(default=result)).execute(SQL)
    with pytest.raises(InterfaceError, match="polars cannot hold this result") as caught:
        cursor.pl()
    assert caught.value.hint == "use to_arrow_table()"
    assert cursor.to_arrow_table().num_columns == table.num_columns
