"""The catalog's relations have DuckDB's columns and types, and the policy's rows."""

import duckdb
import pytest

from dpsql.domain import BooleanDomain, CategoryDomain, IntegerDomain, TableDomain
from dpsql.errors import Error
from dpsql.policy import Policy, Privacy
from dpsql.sql import FrontEnd
from dpsql.sql.catalog import catalog_of
from tests.support.exact import POLICY, front_end, public_sql

RELATIONS = {
    "information_schema.tables": ("information_schema", "tables"),
    "information_schema.columns": ("information_schema", "columns"),
    "information_schema.schemata": ("information_schema", "schemata"),
    "duckdb_tables()": ("()", "duckdb_tables"),
    "duckdb_columns()": ("()", "duckdb_columns"),
    "duckdb_schemas()": ("()", "duckdb_schemas"),
    "duckdb_databases()": ("()", "duckdb_databases"),
    "duckdb_views()": ("()", "duckdb_views"),
}
COMMANDS = ("DESCRIBE people", "SHOW ALL TABLES", "PRAGMA table_info('people')", "SUMMARIZE people", "SHOW DATABASES")
PUBLIC = public_sql()


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return front_end()


def answer(front: FrontEnd, text: str) -> list[tuple[object, ...]]:
    statement = front.lower(text)
    assert statement.blocks == ()
    table = PUBLIC.run(statement.outer_sql or "", {}, statement.public_tables)
    return list(zip(*(c.to_pylist() for c in table.columns), strict=True))


@pytest.mark.parametrize("name", RELATIONS)
def test_columns_are_some_of_duckdb_s_in_its_order(name: str) -> None:
    theirs = {d[0]: str(d[1]) for d in duckdb.execute(f"SELECT * FROM {name} LIMIT 0").description}
    made = catalog_of(POLICY, PUBLIC).relation(*RELATIONS[name])
    ours = {d[0]: str(d[1]) for d in duckdb.execute(f"SELECT * FROM ({made}) LIMIT 0").description}
    assert ours.items() <= theirs.items()
    assert list(ours) == [c for c in theirs if c in ours]


@pytest.mark.parametrize("text", COMMANDS)
def test_commands_show_the_columns_that_duckdb_shows(front: FrontEnd, text: str) -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE people (age BIGINT)")
        theirs = [d[0] for d in con.execute(text).description]
    statement = front.lower(text)
    assert PUBLIC.run(statement.outer_sql or "", {}, statement.public_tables).column_names == theirs


def test_tables_and_columns_are_the_policy_s(front: FrontEnd) -> None:
    text = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' ORDER BY 1"
    assert answer(front, text) == [("cities",), ("people",), ("pets",), ("twins",)]
    text = "SELECT column_name, data_type, is_nullable FROM information_schema.columns WHERE table_name = 'pets'"
    assert answer(front, text) == [("species", "VARCHAR", "YES"), ("animal_name", "VARCHAR", "YES")]
    text = "SELECT column_name FROM duckdb_columns() JOIN duckdb_tables() USING (table_name) WHERE data_type = 'DATE'"
    assert answer(front, text) == [("joined",), ("joined",)]
    assert answer(front, "SELECT name, pk FROM pragma_table_info('pets')") == [
        ("species", False),
        ("animal_name", False),
    ]
    assert answer(front, "FROM duckdb_views()") == []
    assert answer(front, "SELECT count(*), sum(estimated_size) FROM duckdb_tables()") == [(4, None)]


def test_the_catalog_stands_beside_counts(front: FrontEnd) -> None:
    statement = front.lower(
        "SELECT t.table_type, p.n FROM information_schema.tables t, (SELECT COUNT(*) AS n FROM people) p "
        "WHERE t.table_name = 'people'"
    )
    assert [b.table for b in statement.blocks] == ["people"]


def test_names_may_stand_in_the_database_that_is_told(front: FrontEnd) -> None:
    assert front.lower("SELECT COUNT(*) FROM memory.main.people WHERE memory.main.people.age > 18").blocks
    for name in ("other.main.people", "memory.other.people", "other.people"):
        with pytest.raises(Error):
            front.lower(f"SELECT COUNT(*) FROM {name}")
    assert answer(front, "SELECT current_schema(), current_database()") == [("main", "memory")]


def test_odd_names_are_only_values() -> None:
    odd = "a\"b'; DROP TABLE x; --"
    table = TableDomain(odd, (CategoryDomain(odd, ("it's", "ü")), IntegerDomain("n", -3, 4, nullable=False)))
    policy = Policy(
        Privacy(POLICY.privacy.epsilon, POLICY.privacy.delta), (table, TableDomain("t", (BooleanDomain("b"),)))
    )
    front = FrontEnd(policy, PUBLIC)
    assert answer(front, "SHOW TABLES") == [(odd,), ("t",)]
    escaped = odd.replace('"', '""')
    assert [r[:3] for r in answer(front, f'DESCRIBE "{escaped}"')] == [(odd, "VARCHAR", "YES"), ("n", "BIGINT", "NO")]
    assert [r[2:5] for r in answer(front, f'SUMMARIZE "{escaped}"')] == [("it's", "ü", 2), ("-3", "4", 8)]


def test_a_sample_or_another_function_of_the_catalog_is_refused(front: FrontEnd) -> None:
    for name in ("duckdb_settings()", "duckdb_tables(1)", "information_schema.views", "duckdb_tables() TABLESAMPLE 5%"):
        with pytest.raises(Error):
            front.lower(f"SELECT * FROM {name}")
