"""Public views: none tells of the rows of a private table, by whatever name it reads them."""

import duckdb
import pytest

from dpsql.domain import IntegerDomain, TableDomain
from dpsql.engine.duckdb import DuckDbEngine
from dpsql.errors import PolicyError
from dpsql.policy import Policy
from tests.contracts.engine_contract import policy_of


def opened(private: str, public: str, *made: str) -> None:
    table = TableDomain(private, (IntegerDomain("age", 0, 9),))
    with duckdb.connect() as owner:
        for sql in ("CREATE TABLE folk AS SELECT 1 AS age, 7 AS zip", "CREATE TABLE zips AS SELECT 7 AS zip", *made):
            owner.execute(sql)
        DuckDbEngine(owner, Policy(policy_of(table).privacy, (table,), public_tables=(public,))).close()


@pytest.mark.parametrize(
    "view",
    [
        "SELECT table_name, estimated_size FROM duckdb_tables()",
        "SELECT * FROM duckdb_tables",
        "SELECT count, stats FROM pragma_storage_info('folk')",
        "SELECT relname, reltuples FROM pg_catalog.pg_class",
        "SELECT relname, reltuples FROM pg_class",
        "SELECT count(*) AS n FROM query_table('folk')",
        "SELECT * FROM (SELECT 1 AS k) x JOIN query('SELECT age, 1 AS k FROM ' || chr(102) || 'olk') USING (k)",
        "SELECT * FROM sizes()",
    ],
)
def test_what_tells_of_all_tables_is_refused(view: str) -> None:
    sizes = "CREATE MACRO sizes() AS TABLE SELECT table_name, estimated_size FROM duckdb_tables()"
    with pytest.raises(PolicyError, match="which tells of private tables, too"):
        opened("folk", "p", sizes, f"CREATE VIEW p AS {view}")


def test_the_rows_of_a_private_view_are_not_public_as_a_table() -> None:
    view = "CREATE VIEW v AS SELECT age FROM folk"
    with pytest.raises(PolicyError, match=r"all rows that the private .* reads would be public"):
        opened("v", "folk", view)
    joined = "CREATE VIEW v AS SELECT age FROM folk JOIN zips USING (zip)"
    opened("v", "zips", joined)  # a table that everybody may know beside it


def test_other_public_views_are_read() -> None:
    opened("folk", "p", "CREATE VIEW p AS SELECT zip AS query, zip AS duckdb FROM zips")
