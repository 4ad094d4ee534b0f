"""The one table of types: every type of DuckDB has a row, and DuckDB itself agrees with each row."""

import duckdb
import pyarrow as pa
import pytest

from dpsql.dialect.types import FLOATS, INTEGERS, TYPES, SqlType, released_type, sql_type, type_name
from dpsql.errors import UnsupportedQuery
from dpsql.public import DuckDbPublicSql
from dpsql.sql.expressions.types import CASTS

EXAMPLES = {
    "BOOLEAN": "true",
    "VARCHAR": "'a'",
    "UUID": "uuid()",
    "DATE": "DATE '2020-01-02'",
    "NULL": "NULL",
    **{t: f"7::{t}" for t in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "BIGNUM", "FLOAT", "DOUBLE")},
    **{t: f"7::{t}" for t in ("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT")},
    "DECIMAL": "1.25::DECIMAL(10,2)",
    "ENUM": "'a'::ENUM('a', 'b')",
    "JSON": "'1'::JSON",
    "BLOB": "'a'::BLOB",
    "BIT": "'101'::BIT",
    "INTERVAL": "INTERVAL 1 DAY",
    "TIME": "TIME '01:02:03'",
    "TIME_NS": "'01:02:03'::TIME_NS",
    "TIME WITH TIME ZONE": "'01:02:03+00'::TIMETZ",
    **{t: f"'2020-01-02 03:04:05'::{t}" for t in ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")},
    **{t: f"'2020-01-02 03:04:05+00'::{t}" for t in ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS")},
    "LIST": "[1]",
    "ARRAY": "[1, 2]::INTEGER[2]",
    "STRUCT": "{'a': 1}",
    "MAP": "MAP {'a': 1}",
    "UNION": "union_value(a := 1)",
    "GEOMETRY": "'POINT(1 1)'::GEOMETRY",
    "VARIANT": "1::VARIANT",
}
HARD_TO_WRITE = {"TUPLE", "TYPE"}
ROWS = [t for t in TYPES if t.name not in HARD_TO_WRITE]


def example(row: SqlType) -> tuple[str, pa.DataType]:
    """The name and the Arrow type that DuckDB itself gives to the row's example."""
    with duckdb.connect() as con:
        con.execute("SET TimeZone = 'UTC'")
        found = con.sql(f"SELECT {EXAMPLES[row.name]} AS x")
        return str(found.types[0]), found.to_arrow_table().schema.types[0]


def test_every_type_of_duckdb_has_a_row() -> None:
    listed = {name for (name,) in duckdb.sql("SELECT DISTINCT logical_type FROM duckdb_types()").fetchall()}
    assert listed - {t.name for t in TYPES} == set()
    assert {t.name for t in TYPES} - listed == {"JSON"}  # an alias of VARCHAR that keeps its name
    assert set(EXAMPLES) | HARD_TO_WRITE == {t.name for t in TYPES}


@pytest.mark.parametrize("row", ROWS, ids=lambda t: t.name)
def test_duckdbs_own_name_leads_to_the_row(row: SqlType) -> None:
    name, _ = example(row)
    nested = name.endswith("]")
    assert sql_type(name) is (None if nested else row)
    assert sql_type(name.lower()) is (None if nested else row)


@pytest.mark.parametrize("row", [t for t in ROWS if t.arrow is not None], ids=lambda t: t.name)
def test_what_duckdb_hands_out_shows_the_type(row: SqlType) -> None:
    name, arrow = example(row)
    assert arrow == row.arrow
    assert type_name(arrow) == name.strip('"')


@pytest.mark.parametrize("row", [t for t in ROWS if t.arrow is None], ids=lambda t: t.name)
def test_a_type_without_an_arrow_type_looks_like_another(row: SqlType) -> None:
    """Or depends on its sizes, values or members; where it is shown, it is of the row's family or of none."""
    shown = sql_type(type_name(example(row)[1]))
    assert shown is None or shown.family in (row.family, "BINARY")


@pytest.mark.parametrize("row", ROWS, ids=lambda t: t.name)
def test_a_released_column_holds_the_values_that_come_as_group_keys(row: SqlType) -> None:
    public = DuckDbPublicSql(lambda name: pa.table({}))
    if row.released is None:
        with pytest.raises(UnsupportedQuery, match="cannot be used here"):
            public.codes([], EXAMPLES[row.name])
        return
    found = public.codes([], EXAMPLES[row.name])
    values, name = list(found.values), found.sql_type
    column = pa.array(values, released_type(name))
    assert column.type == row.released
    assert column.to_pylist() == values


def test_shown_names() -> None:
    assert type_name(pa.decimal128(38, 0)) == "HUGEINT"
    assert type_name(pa.decimal128(38, 1)) == "DECIMAL(38,1)"
    assert type_name(pa.large_string()) == "VARCHAR"
    assert type_name(pa.list_(pa.int32())) == "INTEGER[]"


@pytest.mark.parametrize("name", ["", "BIGINT[]", "ENUM('a')[]", "VARCHAR[3]", "BIGINT BIGINT", "no type"])
def test_other_names_have_no_row(name: str) -> None:
    assert sql_type(name) is None
    with pytest.raises(UnsupportedQuery, match="cannot be used here"):
        released_type(name)


def test_numeric_names() -> None:
    unsigned = {f"U{t}" for t in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")}
    assert unsigned | {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"} == INTEGERS
    assert {"FLOAT", "DOUBLE"} == FLOATS


def test_every_type_that_a_cast_may_name_has_a_row() -> None:
    assert [name for name in CASTS.values() if sql_type(name) is None] == []
