"""Tables that a handed-over connection sees elsewhere: what is said of them."""

import duckdb
import pytest

from dpsql.domain import IntegerDomain, TableDomain
from dpsql.engine.duckdb import DuckDbEngine
from dpsql.errors import PolicyError
from tests.contracts.engine_contract import policy_of


@pytest.mark.parametrize(
    ("name", "told"),
    [("t", "this database has no such table or view, the attached other has one"), ("s", "the database has no such")],
    ids=["attached", "temporary"],
)
def test_a_table_of_an_attached_database_is_named(name: str, told: str) -> None:
    """A session's own cursor does not know what USE said, and sees no temporary table."""
    con = duckdb.connect()
    con.execute("ATTACH ':memory:' AS other; CREATE TABLE other.T AS SELECT 1 AS a; USE other").fetchall()
    con.execute("CREATE TEMP TABLE s AS SELECT 1 AS a").fetchall()
    with pytest.raises(PolicyError, match=told):
        DuckDbEngine(con, policy_of(TableDomain(name, (IntegerDomain("a", 0, 9),))))
