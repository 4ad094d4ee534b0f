"""Macros of the owner's database: none is called in place of DuckDB's own functions."""

from datetime import date
from pathlib import Path

import duckdb
import pytest

from dpsql.domain import DateDomain, TableDomain
from dpsql.engine.duckdb import DuckDbEngine
from dpsql.errors import EngineError
from tests.contracts.engine_contract import policy_of

FISCAL = "CREATE MACRO {}(d) AS date_part('year', d) + (date_part('month', d) >= 10)::INT"


def opened(database: Path | duckdb.DuckDBPyConnection) -> DuckDbEngine:
    year = DateDomain("d", date(2020, 1, 1), date(2023, 12, 31), "year", nullable=False)
    return DuckDbEngine(database, policy_of(TableDomain("t", (year,))))


@pytest.mark.parametrize(
    "macro",
    [
        FISCAL.format("year"),
        FISCAL.format("YEAR"),
        'CREATE MACRO "+"(a, b) AS a',
        "CREATE MACRO least(a, b) AS a",
        "CREATE MACRO sum(x) AS max(x)",
        "CREATE MACRO unnest(x) AS TABLE SELECT x",
    ],
)
def test_a_macro_that_stands_in_the_way_of_a_function_is_refused(macro: str, tmp_path: Path) -> None:
    """A year of its own made one row of the last quarter end every statement in an error, which told of that row."""
    file = tmp_path / "t.duckdb"
    with duckdb.connect(str(file)) as con:
        con.execute("CREATE TABLE t AS SELECT DATE '2023-11-01' AS d")
        con.execute(macro)
        with pytest.raises(EngineError, match="stands in the way of DuckDB's function") as told:
            opened(con)
        assert "rows and ledger stay" in (told.value.hint or "")
    with pytest.raises(EngineError, match="stands in the way of DuckDB's function"):
        opened(file)


def test_other_macros_are_the_owners(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as con:
        con.execute("CREATE TABLE t AS SELECT DATE '2023-11-01' AS d; CREATE SCHEMA s")
        con.execute(FISCAL.format("fiscal_year"))
        con.execute(FISCAL.format("s.year"))  # called as s.year alone
        opened(con).close()
