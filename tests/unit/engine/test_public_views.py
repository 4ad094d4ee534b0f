"""Public views: none tells of the rows of a private table, by whatever name it reads them."""

from pathlib import Path

import duckdb
import pytest

from dpsql.domain import IntegerDomain, TableDomain
from dpsql.engine.duckdb import DuckDbEngine
from dpsql.errors import EngineError, PolicyError
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
        "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT age FROM folk'))",
        "SELECT * FROM histogram('fol' || 'k', age)",
        "SELECT * FROM histogram_values('folk', age)",
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
    opened("folk", "p", "CREATE VIEW p AS SELECT i AS zip FROM range(3) r(i) JOIN zips ON zip = i")
    named = '(SELECT zip, 1 AS "a.b" FROM zips)'
    view = f'SELECT zip, zip IS DISTINCT FROM "a.b" AS x, coalesce(1, "a.b") AS y FROM {named} q JOIN zips USING (zip)'
    opened("folk", "p", f"CREATE VIEW p AS {view}")


NAMES = ("folk", "folk-2024", "my folk", 'fo"lk', "a.b", 'a."b', "Ünder", "folk(2)", "folk AS f")
RENAMED = (
    "SELECT f.age FROM {0} AS f",
    "SELECT f.age FROM main.{0} f, zips",
    "SELECT age FROM {0} AS f(age, z)",
    "SELECT f.age FROM {0} AS f TABLESAMPLE 50%",
    "SELECT age FROM {0} TABLESAMPLE 1 ROWS",
    "WITH w AS (SELECT * FROM {0} AS zips) SELECT w.age FROM w",
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("view", RENAMED)
def test_a_view_that_renames_or_samples_a_private_table_is_not_public(view: str, name: str) -> None:
    """DuckDB says ``folk AS f`` and ``folk TABLESAMPLE ..`` where it names the tables of a query."""
    quoted = '"' + name.replace('"', '""') + '"'
    table = f"CREATE TABLE {quoted} AS SELECT 1 AS age, 7 AS zip"
    with pytest.raises(PolicyError, match="reads a private table"):
        opened(name, "p", *[table] * (name != "folk"), f"CREATE VIEW p AS {view.format(quoted)}")
    with pytest.raises(PolicyError, match="reads a private table"):
        opened("v", "p", f"CREATE VIEW v AS {view.format('folk')}", "CREATE VIEW p AS SELECT f.zip FROM folk AS f")
    with pytest.raises(PolicyError, match=r"all rows that the private .* reads would be public"):
        opened("v", "folk", f"CREATE VIEW v AS {view.format('folk').replace(', zips', '')}")


@pytest.mark.parametrize("table", ["o.folk", "o.main.folk", "o.folk AS f", "o.folk AS f JOIN zips USING (zip)"])
def test_rows_of_an_attached_database_are_not_public_however_a_view_names_them(table: str) -> None:
    attached = "ATTACH ':memory:' AS o; CREATE TABLE o.folk AS SELECT 1 AS age, 7 AS zip"
    views = f"CREATE VIEW v AS SELECT age FROM {table}", "CREATE VIEW p AS SELECT zip FROM o.folk"
    with pytest.raises(PolicyError, match="reads a private table"):
        opened("v", "p", attached, *views)


@pytest.mark.parametrize(
    "view",
    [
        "'{}'",
        "'{}' AS f",
        "'{}' JOIN zips USING (zip)",
        "(FROM '{}' f JOIN zips USING (zip))",
        "zips JOIN zips z USING (zip), '{}' AS f",
        "zips JOIN zips z USING (zip), ('{}' AS f JOIN zips w ON w.zip = f.zip)",
        "zips JOIN (SELECT z.zip FROM zips z, '{}') AS f USING (zip)",
    ],
)
@pytest.mark.parametrize("private", ["VIEW v AS SELECT age, zip AS zips FROM '{}'", "TABLE v AS SELECT age FROM '{}'"])
def test_a_file_of_rows_is_not_public_by_its_name_either(private: str, view: str, tmp_path: Path) -> None:
    file = tmp_path / "folk.parquet"
    made = f"COPY folk TO '{file}'", f"CREATE {private.format(file)}"
    with pytest.raises(PolicyError, match=r"reads .*folk.parquet, which tells of private tables, too"):
        opened("v", "p", *made, f"CREATE VIEW p AS SELECT * FROM {view.format(file)}")
    opened("v", "zips", *made)  # a column of the file's has the name of a public table


@pytest.mark.parametrize("view", ["information_schema.tables", "sqlite_master"])
def test_lists_of_all_tables_are_not_public(view: str) -> None:
    with pytest.raises(PolicyError, match="which tells of private tables, too"):
        opened("folk", "p", f"CREATE VIEW p AS SELECT * FROM {view}")


@pytest.mark.parametrize("name", NAMES)
def test_a_view_of_a_private_table_of_any_name_is_not_public(name: str) -> None:
    """DuckDB names no table of a join with USING, so that the definition is searched for the names there are."""
    quoted = '"' + name.replace('"', '""') + '"'
    table = f"CREATE TABLE {quoted} AS SELECT 1 AS age, 7 AS zip"
    with pytest.raises(PolicyError, match="reads a private table"):
        opened(
            name, "p", *[table] * (name != "folk"), f"CREATE VIEW p AS SELECT age FROM {quoted} JOIN zips USING (zip)"
        )


@pytest.mark.parametrize("name", NAMES[1:])
@pytest.mark.parametrize(
    "view", ["CREATE VIEW {0} AS", "CREATE SCHEMA s; CREATE VIEW s.{0} AS", "CREATE MACRO {0}() AS TABLE"]
)
def test_nor_is_one_by_way_of_a_view_or_macro_of_any_name(name: str, view: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    way = ("s." if "SCHEMA" in view else "") + quoted + ("()" if "MACRO" in view else "")
    with pytest.raises(PolicyError, match="reads a private table"):
        opened(
            "folk",
            "p",
            f"{view.format(quoted)} SELECT * FROM folk",
            f"CREATE VIEW p AS SELECT age FROM {way} JOIN zips USING (zip)",
        )


def test_the_rows_of_private_views_of_any_table_are_not_public() -> None:
    made = (
        'CREATE TABLE "folk-2024" AS SELECT 1 AS age, 7 AS zip',
        'CREATE VIEW v AS SELECT age FROM "folk-2024" JOIN "folk-2024" AS other USING (age)',
    )
    with pytest.raises(PolicyError, match=r"all rows that the private .* reads would be public"):
        opened("v", "folk-2024", *made)


@pytest.mark.parametrize(
    "view",
    [
        "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT age FROM folk'))",
        "SELECT age FROM query('FROM fol' || 'k') JOIN zips USING (zip)",
    ],
)
def test_a_private_view_whose_tables_nobody_can_tell_is_refused(view: str) -> None:
    with pytest.raises(EngineError, match="nobody can tell which tables the view v reads"):
        opened("v", "zips", f"CREATE VIEW v AS {view}")


def test_a_private_view_of_a_table_in_a_string_that_duckdb_names_is_read() -> None:
    opened("v", "zips", "CREATE VIEW v AS SELECT age FROM query_table('folk')")


@pytest.mark.parametrize("name", NAMES)
def test_a_private_view_is_known_by_the_table_behind_it_whatever_its_name(name: str) -> None:
    """So that a ledger of the view is found again by who declares the table, and is no second budget."""
    quoted = '"' + name.replace('"', '""') + '"'
    with duckdb.connect() as owner:
        owner.execute(f"CREATE TABLE {quoted} AS SELECT 1 AS age, 7 AS zip")
        owner.execute("CREATE TABLE zips AS SELECT 7 AS zip")
        owner.execute(f"CREATE VIEW v AS SELECT age FROM {quoted} JOIN zips USING (zip)")
        known = []
        for table in (
            TableDomain("v", (IntegerDomain("age", 0, 9),)),
            TableDomain(name, (IntegerDomain("age", 0, 9),)),
        ):
            engine = DuckDbEngine(owner, Policy(policy_of(table).privacy, (table,)))
            known.append(set(engine.table_fingerprints()))
            engine.close()
    assert known[1] < known[0]


@pytest.mark.parametrize("view", RENAMED)
def test_nor_does_another_name_of_the_table_hide_it(view: str) -> None:
    known = []
    for name in ("v", "folk"):
        table = TableDomain(name, (IntegerDomain("age", 0, 9),))
        with duckdb.connect() as owner:
            owner.execute("CREATE TABLE folk AS SELECT 1 AS age, 7 AS zip; CREATE TABLE zips AS SELECT 7 AS zip")
            owner.execute(f"CREATE VIEW v AS {view.format('folk').replace('50%', '100%')}")
            engine = DuckDbEngine(owner, policy_of(table))
            known.append(set(engine.table_fingerprints()))
            engine.close()
    assert known[1] < known[0]
